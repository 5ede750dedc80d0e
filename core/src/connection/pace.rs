//! When to repeat a call that found no room.

use crate::storage::Storage;
use crate::tx::TxBuffer;

/// The state of a call that may have found no room. Each attempt reads or serializes its message
/// anew, so it is repeated only after half of the pending bytes have been taken, or all of them if
/// it is in the middle of its frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    is_blocked: bool,
    /// Maximum number of pending bytes at which the call is repeated.
    enough: usize,
}

impl Pace {
    pub(super) const NEW: Self = Self { is_blocked: false, enough: 0 };

    pub(super) const fn is_blocked(self) -> bool {
        self.is_blocked
    }

    pub(super) fn is_worth_it<W: Storage + ?Sized>(self, tx: &TxBuffer<W>) -> bool {
        !self.is_blocked || tx.pending().len() <= self.enough
    }

    pub(super) fn found_no_room<W: Storage + ?Sized>(&mut self, tx: &TxBuffer<W>) {
        let enough = if tx.is_mid_frame() { 0 } else { tx.pending().len() / 2 };
        *self = Self { is_blocked: true, enough };
    }

    pub(super) fn done(&mut self) {
        self.is_blocked = false;
    }
}
