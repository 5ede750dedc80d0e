//! What was read and has not been put into the receive buffer: while a line is worked on, that may
//! be full.

use mcp_sansio::Instant;

/// A chunk of bytes.
pub(super) struct ReadBuffer {
    bytes: [u8; CHUNK],
    from: usize,
    to: usize,
    /// The last byte that was ever in it, and when it came.
    last: u8,
    heard: Instant,
}

impl ReadBuffer {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; CHUNK], from: 0, to: 0, last: b'\n', heard: Instant::from_millis(0) }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Whether the last byte that came was in the middle of a line.
    pub(super) const fn is_mid_line(&self) -> bool {
        self.last != b'\n'
    }

    /// When it came.
    pub(super) const fn heard(&self) -> Instant {
        self.heard
    }

    /// Takes bytes in, as many as there is room for. `None` until the ones before have been put
    /// elsewhere.
    pub(super) fn take_in<'b>(&mut self, bytes: &'b [u8], now: Instant) -> Option<&'b [u8]> {
        if !self.is_empty() {
            return None;
        }
        let (taken, rest) = bytes.split_at_checked(CHUNK).unwrap_or((bytes, &[]));
        self.bytes.get_mut(..taken.len())?.copy_from_slice(taken);
        (self.from, self.to, self.heard) = (0, taken.len(), now);
        self.last = taken.last().copied().unwrap_or(self.last);
        Some(rest)
    }

    /// Puts bytes elsewhere. `None` when there are none, or no room for any.
    pub(super) fn pour(&mut self, into: &mut [u8]) -> Option<usize> {
        let bytes = self.bytes.get(self.from..self.to)?;
        let len = bytes.len().min(into.len());
        into.get_mut(..len)?.copy_from_slice(bytes.get(..len)?);
        self.from += len;
        (len > 0).then_some(len)
    }
}

/// Bytes that are read or written at once.
pub(super) const CHUNK: usize = 64;
