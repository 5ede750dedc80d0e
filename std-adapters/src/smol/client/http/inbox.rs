//! Messages that have come, as lines, until they are read.

use std::task::Waker;

/// A bounded queue of bytes: who puts a message in waits for room first.
#[derive(Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    read: usize,
    reader: Option<Waker>,
    writers: Vec<Waker>,
}

impl Inbox {
    pub(super) fn is_empty(&self) -> bool {
        self.read == self.bytes.len()
    }

    /// Whether another message may be put in.
    pub(super) fn has_room(&self) -> bool {
        self.bytes.len() - self.read < ENOUGH
    }

    pub(super) fn wait_for_room(&mut self, waker: &Waker) {
        if !self.writers.iter().any(|writer| writer.will_wake(waker)) {
            self.writers.push(waker.clone());
        }
    }

    pub(super) fn wait_for_bytes(&mut self, waker: &Waker) {
        self.reader = Some(waker.clone());
    }

    /// Puts a message in. Line breaks in it are white space between its tokens.
    pub(super) fn put(&mut self, message: &[u8]) -> Option<Waker> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        for byte in self.bytes.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
        self.bytes.push(b'\n');
        self.reader.take()
    }

    /// Takes out what fits. Wakes who waits for room.
    pub(super) fn take(&mut self, into: &mut [u8]) -> (usize, Vec<Waker>) {
        let rest = self.bytes.get(self.read..).unwrap_or_default();
        let n = rest.len().min(into.len());
        if let (Some(into), Some(rest)) = (into.get_mut(..n), rest.get(..n)) {
            into.copy_from_slice(rest);
        }
        self.read += n;
        if self.is_empty() {
            self.bytes.clear();
            self.read = 0;
            // What one long message needed is not kept for ever.
            self.bytes.shrink_to(ENOUGH);
        }
        let wakers = if self.has_room() { std::mem::take(&mut self.writers) } else { Vec::new() };
        (n, wakers)
    }

    /// Whoever waits is to look again.
    pub(super) fn wake_reader(&mut self) -> Option<Waker> {
        self.reader.take()
    }
}

/// Bytes that may wait to be read before another message is put in.
const ENOUGH: usize = 1 << 20;
