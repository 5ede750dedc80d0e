//! Received bytes that were not consumed yet.

use super::error::HttpError;
use crate::rx::newline;
use crate::storage::{self, Storage};

#[derive(Debug)]
pub(super) struct Window<S: Storage + ?Sized> {
    /// First byte not consumed.
    start: usize,
    /// End of the bytes searched for a line end.
    scanned: usize,
    /// Start of the current line while a head is read.
    line_start: usize,
    end: usize,
    limit: usize,
    /// Number of empty lines before the current head.
    empty_lines: u8,
    /// Number of bytes searched for a line end.
    #[cfg(test)]
    searched: usize,
    storage: S,
}

impl<S: Storage> Window<S> {
    pub(super) const fn new(storage: S, limit: usize) -> Self {
        Self {
            start: 0,
            scanned: 0,
            line_start: 0,
            end: 0,
            limit,
            empty_lines: 0,
            #[cfg(test)]
            searched: 0,
            storage,
        }
    }
}

impl<S: Storage + ?Sized> Window<S> {
    pub(super) fn spare(&mut self) -> &mut [u8] {
        let cap = self.storage.bytes().len();
        if self.start == self.end {
            (self.start, self.scanned, self.line_start, self.end) = (0, 0, 0, 0);
        } else if cap - self.end <= cap / 4 && self.start >= self.end - self.start {
            self.move_to_front();
        }
        if self.end == self.storage.bytes().len()
            && !storage::grow(&mut self.storage, self.end + 1, self.limit)
        {
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
        (self.start, self.end) = (0, end - start);
        (self.scanned, self.line_start) = (self.scanned - start, self.line_start - start);
    }

    pub(super) fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.storage.bytes().len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Number of bytes held.
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether no more bytes can be held.
    fn is_full(&self) -> bool {
        self.len()
            >= self.storage.bytes().len().max(if self.storage.can_grow() { self.limit } else { 0 })
    }

    pub(super) fn take(&mut self, n: usize) -> Taken {
        let start = self.start;
        self.start = (start + n).min(self.end);
        self.scanned = self.scanned.max(self.start);
        self.line_start = self.line_start.max(self.start);
        Taken { start, end: self.start }
    }

    pub(super) fn bytes(&self, taken: Taken) -> &[u8] {
        self.storage.bytes().get(taken.start..taken.end).unwrap_or_default()
    }

    /// Takes a line with its end, which must be CR LF; `None` if more bytes are needed.
    pub(super) fn line(
        &mut self,
        limit: usize,
        too_long: HttpError,
    ) -> Result<Option<Taken>, HttpError> {
        let Some(end) = self.line_end()? else {
            return if self.len() >= limit || self.is_full() { Err(too_long) } else { Ok(None) };
        };
        let len = end - self.start;
        if len > limit { Err(too_long) } else { Ok(Some(self.take(len))) }
    }

    /// Takes all lines up to and including an empty one. `too_long` is the error for a head that
    /// does not fit, `line_too_long` for its first line.
    pub(super) fn head(
        &mut self,
        too_long: HttpError,
        line_too_long: HttpError,
    ) -> Result<Option<Taken>, HttpError> {
        loop {
            let Some(end) = self.line_end()? else {
                return match self.is_full() {
                    true if self.line_start > self.start => Err(too_long),
                    true => Err(line_too_long),
                    false => Ok(None),
                };
            };
            let line_start = core::mem::replace(&mut self.line_start, end);
            self.scanned = end;
            if end - line_start > 2 {
                continue;
            }
            if line_start > self.start {
                self.empty_lines = 0;
                return Ok(Some(self.take(end - self.start)));
            }
            // A few empty lines before a message are ignored (RFC 9112, 2.2).
            if self.empty_lines == MAX_EMPTY_LINES {
                return Err(HttpError::bad("too many empty lines before the message"));
            }
            self.empty_lines += 1;
            self.take(2);
        }
    }

    /// Returns the bytes not consumed.
    pub(super) fn untaken(&self) -> &[u8] {
        self.rest(self.start)
    }

    /// Returns the index after the next line feed.
    fn line_end(&mut self) -> Result<Option<usize>, HttpError> {
        let at = newline(self.rest(self.scanned));
        #[cfg(test)]
        {
            self.searched += at.map_or(self.end - self.scanned, |at| at + 1);
        }
        let Some(at) = at else {
            self.scanned = self.end;
            return Ok(None);
        };
        let end = self.scanned + at;
        let before = end.checked_sub(1).filter(|before| *before >= self.start);
        match before.and_then(|before| self.storage.bytes().get(before)) {
            Some(b'\r') => Ok(Some(end + 1)),
            _ => Err(HttpError::bad("a line ends with a bare line feed")),
        }
    }

    fn rest(&self, from: usize) -> &[u8] {
        self.storage.bytes().get(from..self.end).unwrap_or_default()
    }
}

/// A range of consumed bytes, valid until more bytes are read.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    start: usize,
    end: usize,
}

/// Maximum number of empty lines before a request or response.
pub const MAX_EMPTY_LINES: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    const TOO_LONG: HttpError = HttpError::bad("too long");

    /// Returns the number of bytes searched while a head of `len` bytes arrives byte by byte.
    fn searched(line: &[u8], len: usize) -> usize {
        let mut window = Window::new([0; 65_536], 0);
        let head = line.iter().cycle().take(len).chain(b"\r\n\r\n");
        for byte in head {
            assert!(window.head(TOO_LONG, TOO_LONG).is_ok_and(|head| head.is_none()));
            window.spare()[0] = *byte;
            window.commit(1);
        }
        let head =
            window.head(TOO_LONG, TOO_LONG).ok().flatten().map(|head| window.bytes(head).len());
        assert_eq!(head, Some(len + 4));
        window.searched
    }

    #[test]
    fn s8_a_head_that_comes_byte_by_byte_is_searched_once() {
        for line in [&b"x"[..], b"x: y\r\n"] {
            for len in [12_003, 48_003] {
                assert_eq!(searched(line, len), len + 4, "{line:?}");
            }
        }
    }
}
