//! When to repeat a call that found no room.

use super::TxBuffer;
use crate::storage::Storage;

/// The state of a call that may have found no room. Each attempt reads or serializes its message
/// anew, so it is repeated only after half of the pending bytes have been taken, or all of them if
/// it is in the middle of its frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Maximum number of pending bytes at which the call is repeated.
    enough: usize,
}

impl Pace {
    pub(crate) const NEW: Self = Self { enough: usize::MAX };

    pub(crate) const fn is_blocked(self) -> bool {
        self.enough < usize::MAX
    }

    pub(crate) fn is_worth_it<W: Storage + ?Sized>(self, tx: &TxBuffer<W>) -> bool {
        tx.pending().len() <= self.enough
    }

    pub(crate) fn found_no_room<W: Storage + ?Sized>(&mut self, tx: &TxBuffer<W>) {
        self.enough = if tx.is_mid_frame() { 0 } else { tx.pending().len() / 2 };
    }

    pub(crate) fn done(&mut self) {
        *self = Self::NEW;
    }
}
