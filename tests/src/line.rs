//! An output buffer, and the way to the peer.

use std::io::Read as _;

use mcp_sansio::{RxBuffer, SendError, Tx, TxBuffer};

use crate::frames::record;

/// An output buffer, and the bytes drained from it.
pub struct Line {
    pub tx: TxBuffer<Vec<u8>>,
    pub sent: Vec<u8>,
    /// Number of bytes that have arrived.
    arrived: usize,
    /// Number of bytes in the lines that [`Line::lines`] has returned.
    told: usize,
}

impl Line {
    /// Creates a line with a buffer of `room` bytes.
    pub fn new(room: usize) -> Self {
        Self::through(TxBuffer::new(vec![0; room]))
    }

    pub fn through(tx: TxBuffer<Vec<u8>>) -> Self {
        Self { tx, sent: Vec::new(), arrived: 0, told: 0 }
    }

    pub fn drain(&mut self) {
        self.drain_at_most(usize::MAX);
    }

    pub fn drain_at_most(&mut self, n: usize) {
        let n = n.min(self.tx.pending().len());
        self.sent.extend_from_slice(&self.tx.pending()[..n]);
        self.tx.advance(n);
    }

    /// Repeats a call while the buffer is full.
    pub fn write<R>(
        &mut self,
        mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        for _ in 0..100_000 {
            let result = call(&mut self.tx);
            if !matches!(result, Err(SendError::Full)) {
                return result;
            }
            assert!(!self.tx.pending().is_empty(), "Full, but nothing is pending");
            self.drain();
        }
        panic!("a repeated call does not terminate");
    }

    /// Repeats a call while the buffer is full, and drains what it writes.
    pub fn send<R>(
        &mut self,
        call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let result = self.write(call);
        self.drain();
        result
    }

    /// Asserts that these lines were sent.
    pub fn is(&self, lines: &[&str]) {
        let expected: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(String::from_utf8_lossy(&self.sent), expected);
    }

    /// Returns the text that was sent since the last call.
    pub fn take(&mut self) -> String {
        self.drain();
        String::from_utf8(std::mem::take(&mut self.sent)).expect("UTF-8")
    }

    /// Returns the lines that were drained since the last call, without their ends.
    pub fn lines(&mut self) -> Vec<Vec<u8>> {
        let new = &self.sent[self.told..];
        let mut lines: Vec<_> = new.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        self.told = self.sent.len() - lines.pop().map_or(0, |unfinished| unfinished.len());
        lines
    }

    /// Does the same, and takes the lines off their way.
    pub(crate) fn take_back(&mut self) -> Vec<Vec<u8>> {
        assert!(self.is_whole());
        let kept = self.told;
        let lines = self.lines();
        self.sent.truncate(kept);
        self.told = kept;
        lines
    }

    /// Puts bytes on their way.
    pub(crate) fn carry(&mut self, bytes: &[u8]) {
        self.sent.extend_from_slice(bytes);
        self.told = self.sent.len();
    }

    /// Delivers at most `n` bytes, and returns how many.
    pub fn deliver(&mut self, n: usize, rx: &mut RxBuffer<Vec<u8>>) -> usize {
        let on_the_way = (&self.sent[self.arrived..]).take(n as u64).read(rx.spare());
        let n = on_the_way.expect("a slice is read");
        rx.commit(n);
        self.arrived += n;
        n
    }

    /// Whether bytes are in transit.
    pub fn is_busy(&self) -> bool {
        self.arrived < self.sent.len() || !self.tx.is_idle()
    }

    pub fn is_whole(&self) -> bool {
        self.unfinished().is_empty()
    }

    fn unfinished(&self) -> &[u8] {
        let new = self.sent.get(self.told..).unwrap_or_default();
        new.rsplit(|byte| *byte == b'\n').next().unwrap_or_default()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if !self.is_whole() {
            record("cut", self.unfinished().escape_ascii());
        }
    }
}
