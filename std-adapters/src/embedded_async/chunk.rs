//! Bytes on their way between a driver and the core's buffers, which may be in use meanwhile.

/// A chunk of bytes. It is filled anew once all its bytes have been taken.
pub(super) struct Chunk {
    pub(super) bytes: [u8; CHUNK],
    from: usize,
    to: usize,
}

impl Chunk {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; CHUNK], from: 0, to: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.from >= self.to
    }

    /// Returns the bytes that have not been taken.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.get(self.from..self.to).unwrap_or_default()
    }

    /// Records that the first `len` bytes of the memory were filled.
    pub(super) const fn filled(&mut self, len: usize) {
        (self.from, self.to) = (0, len);
    }

    /// Records that the first `len` bytes of the rest were taken.
    pub(super) const fn advance(&mut self, len: usize) {
        self.from += len;
    }

    /// Fills an empty chunk and returns the number of bytes taken.
    pub(super) fn put(&mut self, bytes: &[u8]) -> usize {
        if !self.is_empty() {
            return 0;
        }
        let filled = self.bytes.iter_mut().zip(bytes).map(|(to, from)| *to = *from).count();
        self.filled(filled);
        filled
    }

    /// Moves bytes into a slice and returns their number.
    pub(super) fn take(&mut self, into: &mut [u8]) -> usize {
        let taken = into.iter_mut().zip(self.rest()).map(|(to, from)| *to = *from).count();
        self.advance(taken);
        taken
    }
}

/// Maximum number of bytes that are read or written at once.
pub(super) const CHUNK: usize = 64;
