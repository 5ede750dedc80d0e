//! An output buffer and what has left it.

use mcp_sansio::{SendError, Tx, TxBuffer};

/// An output buffer, and the bytes drained from it.
pub struct Line {
    /// The buffer.
    pub tx: TxBuffer<Vec<u8>>,
    /// The bytes.
    pub sent: Vec<u8>,
}

impl Line {
    /// Creates a buffer of `room` bytes.
    #[must_use]
    pub fn new(room: usize) -> Self {
        Self { tx: TxBuffer::new(vec![0; room]), sent: Vec::new() }
    }

    /// Drains all bytes.
    pub fn drain(&mut self) {
        self.sent.extend_from_slice(self.tx.pending());
        self.tx.advance(usize::MAX);
    }

    /// Repeats a call while the buffer is full, and drains what it writes.
    ///
    /// # Errors
    /// That of the call.
    ///
    /// # Panics
    /// When there is no end.
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        for _ in 0..100_000 {
            let result = call(&mut self.tx);
            self.drain();
            if !matches!(result, Err(SendError::Full)) {
                return result;
            }
        }
        panic!("a repeated call does not terminate");
    }

    /// Asserts that these lines were sent.
    ///
    /// # Panics
    /// When others were.
    pub fn is(&self, lines: &[&str]) {
        let expected: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(String::from_utf8_lossy(&self.sent), expected);
    }

    /// Returns the text that was sent since the last call.
    ///
    /// # Panics
    /// When it is not UTF-8.
    pub fn take(&mut self) -> String {
        self.drain();
        String::from_utf8(std::mem::take(&mut self.sent)).expect("UTF-8")
    }
}
