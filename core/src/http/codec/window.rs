//! What was read and not taken yet.

use super::fault::Fault;
use crate::storage::{self, Storage};

#[derive(Debug)]
pub(super) struct Window<S: Storage + ?Sized> {
    /// First byte that was not taken.
    start: usize,
    /// Everything before this was searched for a line's end.
    scanned: usize,
    end: usize,
    limit: usize,
    storage: S,
}

impl<S: Storage> Window<S> {
    pub(super) const fn new(storage: S, limit: usize) -> Self {
        Self { start: 0, scanned: 0, end: 0, limit, storage }
    }
}

impl<S: Storage + ?Sized> Window<S> {
    pub(super) fn spare(&mut self) -> &mut [u8] {
        let cap = self.storage.bytes().len();
        if self.start == self.end {
            (self.start, self.scanned, self.end) = (0, 0, 0);
        } else if self.start > 0 && cap - self.end <= cap / 4 && self.start >= self.end - self.start {
            self.move_to_front();
        }
        if self.end == self.storage.bytes().len() && !storage::grow(&mut self.storage, self.end + 1, self.limit) {
            self.move_to_front();
        }
        let end = self.end;
        self.storage.bytes_mut().get_mut(end..).unwrap_or_default()
    }

    pub(super) fn reserve(&mut self, bytes: usize) {
        let bytes = bytes.min(self.limit);
        if bytes > self.storage.bytes().len() {
            storage::grow(&mut self.storage, bytes, self.limit);
        }
    }

    fn move_to_front(&mut self) {
        let (start, end) = (self.start, self.end);
        storage::move_down(self.storage.bytes_mut(), start, end, 0);
        (self.start, self.scanned, self.end) = (0, self.scanned - start, end - start);
    }

    pub(super) fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.storage.bytes().len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether no more can be held.
    fn is_full(&self) -> bool {
        self.len() >= self.storage.bytes().len().max(if self.storage.can_grow() { self.limit } else { 0 })
    }

    pub(super) fn take(&mut self, n: usize) -> Taken {
        let start = self.start;
        self.start = (start + n).min(self.end);
        self.scanned = self.scanned.max(self.start);
        Taken { start, end: self.start }
    }

    pub(super) fn bytes(&self, taken: Taken) -> &[u8] {
        self.storage.bytes().get(taken.start..taken.end).unwrap_or_default()
    }

    /// Takes a line with its end, which must be a carriage return and a line feed. `None`: read more.
    pub(super) fn line(&mut self, limit: usize, too_long: Fault) -> Result<Option<Taken>, Fault> {
        let Some(end) = self.line_end()? else {
            return if self.len() >= limit || self.is_full() { Err(too_long) } else { Ok(None) };
        };
        let len = end - self.start;
        if len > limit { Err(too_long) } else { Ok(Some(self.take(len))) }
    }

    /// Takes all lines up to an empty one, and that.
    pub(super) fn head(&mut self, too_long: Fault) -> Result<Option<Taken>, Fault> {
        loop {
            let line_start = self.scanned_line();
            let Some(end) = self.line_end()? else {
                return if self.is_full() { Err(too_long) } else { Ok(None) };
            };
            self.scanned = end;
            if end - line_start > 2 {
                continue;
            }
            if line_start > self.start {
                return Ok(Some(self.take(end - self.start)));
            }
            // Empty lines in front of a message are nothing (RFC 9112, 2.2).
            self.take(2);
        }
    }

    /// Whether there is a whole line.
    pub(super) fn has_line(&self) -> bool {
        self.rest(self.start).contains(&b'\n')
    }

    /// Where the line that is being searched for its end begins.
    fn scanned_line(&self) -> usize {
        let before = self.storage.bytes().get(self.start..self.scanned).unwrap_or_default();
        self.start + before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
    }

    /// The place behind the next line feed.
    fn line_end(&mut self) -> Result<Option<usize>, Fault> {
        let Some(at) = self.rest(self.scanned).iter().position(|byte| *byte == b'\n') else {
            self.scanned = self.end;
            return Ok(None);
        };
        let end = self.scanned + at;
        let before = end.checked_sub(1).filter(|before| *before >= self.start);
        match before.and_then(|before| self.storage.bytes().get(before)) {
            Some(b'\r') => Ok(Some(end + 1)),
            _ => Err(Fault::bad("a line ends with a line feed alone")),
        }
    }

    fn rest(&self, from: usize) -> &[u8] {
        self.storage.bytes().get(from..self.end).unwrap_or_default()
    }
}

/// Bytes that were taken; they stay where they are until more is read.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    start: usize,
    end: usize,
}
