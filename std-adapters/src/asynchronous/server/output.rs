//! The output buffer of a stream.

use mcp_sansio::TxBuffer;

/// An output buffer with back-pressure.
pub(super) struct OutputBuffer {
    pub(super) tx: TxBuffer<Vec<u8>>,
    /// Number of bytes that were pending when a response or request did not fit. Nothing else is
    /// written until half of them have been sent.
    blocked: Option<usize>,
}

impl OutputBuffer {
    pub(super) const fn new(tx: TxBuffer<Vec<u8>>) -> Self {
        Self { tx, blocked: None }
    }

    pub(super) const fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// Records that a message did not fit.
    pub(super) fn block(&mut self) {
        self.blocked = Some(self.tx.pending().len());
    }

    /// Returns whether to retry a message that did not fit. Each attempt serializes it again, so
    /// not after every byte that was sent.
    pub(super) fn unblock(&mut self) -> bool {
        let has_room = self.blocked.is_some_and(|pending| self.tx.pending().len() <= pending / 2);
        if has_room {
            self.blocked = None;
        }
        has_room
    }
}
