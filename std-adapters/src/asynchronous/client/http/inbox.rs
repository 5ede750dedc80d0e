//! Received messages, as lines, until they are read.

use std::task::Waker;

/// A bounded queue of bytes; writers wait for room first. It holds up to [`ENOUGH`] and one
/// message, and as much again that has been read.
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

    /// Returns whether another message may be added.
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

    /// Adds a message. Line breaks in it are white space between its tokens.
    pub(super) fn put(&mut self, message: &[u8]) -> Option<Waker> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        for byte in self.bytes.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
        self.bytes.push(b'\n');
        self.reader.take()
    }

    /// Takes as many bytes as fit. Returns the wakers of writers that wait for room.
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
            // Releases the memory that a long message needed.
            self.bytes.shrink_to(ENOUGH);
        } else if self.read >= ENOUGH.max(self.bytes.len() - self.read) {
            // The queue may never be empty. Moving the rest is amortized by the bytes that were
            // read.
            self.bytes.drain(..self.read);
            self.read = 0;
        }
        let wakers = if self.has_room() { std::mem::take(&mut self.writers) } else { Vec::new() };
        (n, wakers)
    }

    /// Returns the waker of the reader.
    pub(super) fn wake_reader(&mut self) -> Option<Waker> {
        self.reader.take()
    }
}

/// Number of bytes that may wait before another message is added.
const ENOUGH: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c2_what_has_been_read_is_given_back_while_more_comes() {
        let mut inbox = Inbox::default();
        let (message, mut into) = ([b'x'; 4095], [0; 4096]);
        inbox.put(&message);
        for _ in 0..10_000 {
            assert!(inbox.has_room());
            inbox.put(&message);
            assert_eq!(inbox.take(&mut into).0, into.len());
            // One message always waits: the queue is never empty.
            assert!(!inbox.is_empty());
            assert!(inbox.bytes.len() <= 2 * ENOUGH + into.len(), "{}", inbox.bytes.len());
        }
        assert!(
            inbox.bytes.capacity() <= 4 * ENOUGH + 2 * into.len(),
            "{}",
            inbox.bytes.capacity()
        );
    }

    #[test]
    fn c2_a_message_has_no_room_when_enough_waits() {
        let mut inbox = Inbox::default();
        let mut messages = 0;
        while inbox.has_room() {
            inbox.put(&[b'x'; 1023]);
            messages += 1;
        }
        assert_eq!(messages, ENOUGH / 1024);
    }
}
