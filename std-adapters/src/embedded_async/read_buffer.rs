//! Bytes that were read and do not fit into the receive buffer yet, which may be full while a line
//! is handled.

use mcp_sansio::Instant;

/// A chunk of bytes.
pub(super) struct ReadBuffer {
    bytes: [u8; CHUNK],
    from: usize,
    to: usize,
    /// The last byte that was ever put in, and when.
    last: u8,
    last_put: Instant,
}

impl ReadBuffer {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; CHUNK], from: 0, to: 0, last: b'\n', last_put: Instant::from_millis(0) }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Returns whether the last byte was in the middle of a line.
    pub(super) const fn is_mid_line(&self) -> bool {
        self.last != b'\n'
    }

    /// Returns when the last byte was put in.
    pub(super) const fn last_put(&self) -> Instant {
        self.last_put
    }

    /// Puts in as many bytes as there is room for and returns the rest. Returns `None` until the
    /// bytes before have been taken.
    pub(super) fn put<'b>(&mut self, bytes: &'b [u8], now: Instant) -> Option<&'b [u8]> {
        if !self.is_empty() {
            return None;
        }
        let (taken, rest) = bytes.split_at_checked(CHUNK).unwrap_or((bytes, &[]));
        self.bytes.get_mut(..taken.len())?.copy_from_slice(taken);
        (self.from, self.to, self.last_put) = (0, taken.len(), now);
        self.last = taken.last().copied().unwrap_or(self.last);
        Some(rest)
    }

    /// Moves bytes into a slice and returns their number. Returns `None` if there are no bytes or
    /// no room.
    pub(super) fn take(&mut self, into: &mut [u8]) -> Option<usize> {
        let bytes = self.bytes.get(self.from..self.to)?;
        let len = bytes.len().min(into.len());
        into.get_mut(..len)?.copy_from_slice(bytes.get(..len)?);
        self.from += len;
        (len > 0).then_some(len)
    }
}

/// Maximum number of bytes that are read or written at once.
pub(super) const CHUNK: usize = 64;
