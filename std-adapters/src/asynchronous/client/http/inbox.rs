//! Messages that have come, as lines, until they are read.

use std::task::Waker;

/// A bounded queue of bytes: who puts a message in waits for room first. It holds up to [`ENOUGH`]
/// and one message, and as much again that has been read.
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
        } else if self.read >= ENOUGH.max(self.bytes.len() - self.read) {
            // It may never be empty. Moving the rest is paid for by what has been read.
            self.bytes.drain(..self.read);
            self.read = 0;
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
            // One message always waits: it is never empty.
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
