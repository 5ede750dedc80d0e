//! One direction of a connection.

use std::collections::VecDeque;

use mcp_sansio::{RxBuffer, SendError, Tx, TxBuffer};

use crate::frames::record;

/// An output buffer, the bytes in transit, and the lines written.
pub struct Line {
    /// The output buffer.
    pub tx: TxBuffer<Vec<u8>>,
    /// Whether the last call was `Full` and wrote a part of its frame.
    pub wrote_part: bool,
    way: VecDeque<u8>,
    unfinished: Vec<u8>,
    /// Whole lines, without their ends.
    pub said: Vec<Vec<u8>>,
}

impl Line {
    /// Creates a line with an output buffer of `room` bytes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self {
            tx: TxBuffer::new(vec![0; room]),
            wrote_part: false,
            way: VecDeque::new(),
            unfinished: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Repeats a call until it succeeds, draining the buffer while it is full.
    ///
    /// # Errors
    /// Those of the call, other than `Full`.
    ///
    /// # Panics
    /// When the buffer is empty and the call still returns `Full`.
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        loop {
            let result = call(&mut self.tx);
            match result {
                Err(SendError::Full) => {
                    assert!(!self.tx.pending().is_empty(), "Full, but nothing is pending");
                    self.drain(usize::MAX);
                }
                other => return other,
            }
        }
    }

    /// Moves at most `n` bytes out of the output buffer.
    pub fn drain(&mut self, n: usize) {
        let n = n.min(self.tx.pending().len());
        for piece in self.tx.pending()[..n].split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(piece);
            if self.unfinished.pop_if(|byte| *byte == b'\n').is_some() {
                self.said.push(std::mem::take(&mut self.unfinished));
            }
        }
        self.way.extend(&self.tx.pending()[..n]);
        self.tx.advance(n);
    }

    /// Takes the lines that were written since the last call off their way.
    pub(super) fn take_back(&mut self) -> Vec<Vec<u8>> {
        assert!(self.is_whole());
        let said = std::mem::take(&mut self.said);
        let bytes: usize = said.iter().map(|line| line.len() + 1).sum();
        self.way.truncate(self.way.len() - bytes);
        said
    }

    /// Puts bytes on their way.
    pub(super) fn carry(&mut self, bytes: &[u8]) {
        self.way.extend(bytes);
    }

    /// Delivers at most `n` bytes, and returns how many.
    pub fn deliver(&mut self, n: usize, rx: &mut RxBuffer<Vec<u8>>) -> usize {
        let spare = rx.spare();
        let n = n.min(spare.len()).min(self.way.len());
        for (to, from) in spare.iter_mut().zip(self.way.drain(..n)) {
            *to = from;
        }
        rx.commit(n);
        n
    }

    /// Whether bytes are in transit.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.way.is_empty() || !self.tx.is_idle()
    }

    /// Whether every line is finished.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.unfinished.is_empty()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.is_whole() {
            record("cut", self.unfinished.escape_ascii());
        }
    }
}

/// A receive buffer that is large enough for every frame.
pub(super) fn rx() -> RxBuffer<Vec<u8>> {
    RxBuffer::new(vec![0; 16 << 10])
}
