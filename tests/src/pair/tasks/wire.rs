//! One direction of a connection.

use std::collections::VecDeque;

use mcp_sansio::{RxBuffer, TxBuffer};

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives.
    Arrives,
    /// It is lost, and the connection stays.
    Lost,
    /// It arrives twice.
    Doubled,
    /// The connection is lost after so many of its bytes.
    Cut(usize),
}

/// An output buffer, the lines written, and the bytes in transit.
pub(super) struct Wire {
    pub(super) tx: TxBuffer<Vec<u8>>,
    unfinished: Vec<u8>,
    /// Whole lines whose fate is not known yet.
    pub(super) lines: VecDeque<Vec<u8>>,
    way: VecDeque<u8>,
}

impl Wire {
    pub(super) fn new(room: usize) -> Self {
        let tx = TxBuffer::new(vec![0; room]);
        Self { tx, unfinished: Vec::new(), lines: VecDeque::new(), way: VecDeque::new() }
    }

    /// Empties the output buffer.
    pub(super) fn drain(&mut self) {
        let pending = self.tx.pending();
        for piece in pending.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.lines.push_back(std::mem::take(&mut self.unfinished));
            }
        }
        self.tx.advance(pending.len());
    }

    /// Puts bytes on their way.
    pub(super) fn carry(&mut self, bytes: &[u8]) {
        self.way.extend(bytes);
    }

    /// Delivers at most `n` bytes. Returns how many.
    pub(super) fn deliver(&mut self, n: usize, rx: &mut RxBuffer<Vec<u8>>) -> usize {
        let spare = rx.spare();
        let n = n.min(spare.len()).min(self.way.len());
        for (to, from) in spare.iter_mut().zip(self.way.drain(..n)) {
            *to = from;
        }
        rx.commit(n);
        n
    }

    /// Whether something is in transit.
    pub(super) fn is_busy(&self) -> bool {
        !(self.way.is_empty() && self.lines.is_empty() && self.tx.is_idle())
    }
}
