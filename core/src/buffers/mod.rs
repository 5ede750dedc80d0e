//! Memory of the buffers: an array, a borrowed slice or, with `alloc`, a vector that grows.

pub(crate) mod checksum;
pub(crate) mod framing;
pub(crate) mod rx;
pub(crate) mod tx;

use crate::text::copy;

/// Memory for an [`RxBuffer`](crate::RxBuffer) or a [`TxBuffer`](crate::TxBuffer).
///
/// Object safe, so that session methods are not generic over buffers.
pub trait Storage: Send {
    /// Returns the whole memory, used or not.
    fn bytes(&self) -> &[u8];
    /// Returns the whole memory for writing.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Grows to `len` bytes and keeps the contents. Returns `false` when that fails, as it always
    /// does for storage of fixed size.
    fn try_grow(&mut self, len: usize) -> bool {
        let _ = len;
        false
    }
    /// Returns whether [`try_grow`](Self::try_grow) can succeed at all.
    fn can_grow(&self) -> bool {
        false
    }
}

impl<const N: usize> Storage for [u8; N] {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl Storage for &mut [u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
}

#[cfg(feature = "alloc")]
impl Storage for alloc::vec::Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
    fn try_grow(&mut self, len: usize) -> bool {
        let more = len.saturating_sub(self.len());
        if self.try_reserve_exact(more).is_err() {
            return false;
        }
        self.resize(self.len() + more, 0);
        true
    }
    fn can_grow(&self) -> bool {
        true
    }
}

/// Grows `storage` to at least `min` bytes, by doubling, but not beyond `limit`. Returns whether it
/// has grown.
pub fn grow(storage: &mut (impl Storage + ?Sized), min: usize, limit: usize) -> bool {
    let len = storage.bytes().len();
    let want = len.saturating_mul(2).max(FIRST_GROWTH).max(min).min(limit);
    want > len && storage.can_grow() && storage.try_grow(want)
}

/// Moves the bytes `from..end` down to `to`. Written so that the compiler can elide the bounds
/// checks.
pub fn move_down(bytes: &mut [u8], from: usize, end: usize, to: usize) {
    let Some(mut part) = bytes.get_mut(to..end) else { return };
    let by = from - to;
    if cfg!(not(small)) {
        if (1..=part.len()).contains(&by) {
            part.copy_within(by.., 0);
        }
        return;
    }
    // Copies parts that do not overlap their destination: code for overlapping copies takes a
    // kilobyte on a small processor.
    while by > 0
        && let Some((to, from)) = part.split_at_mut_checked(by)
        && !from.is_empty()
    {
        let len = by.min(from.len());
        if let (Some(to), Some(from)) = (to.get_mut(..len), from.get(..len)) {
            copy(from, to);
        }
        part = from;
    }
}

/// Size in bytes to which empty storage grows first.
const FIRST_GROWTH: usize = 1024;
