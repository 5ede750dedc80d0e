//! Where bytes live: an array, a borrowed slice or, with `alloc`, a vector that grows.

/// Memory for an [`RxBuffer`](crate::RxBuffer) or a [`TxBuffer`](crate::TxBuffer).
///
/// Object safe, so that no session method is generic over buffers.
pub trait Storage: Send {
    /// All bytes.
    fn bytes(&self) -> &[u8];
    /// All bytes, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
    /// Grows to `len` bytes, keeping the contents. `false` when it cannot; fixed storage never can.
    fn try_grow(&mut self, len: usize) -> bool {
        let _ = len;
        false
    }
    /// Whether [`try_grow`](Self::try_grow) may ever succeed.
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

/// Grows `storage` to at least `min` bytes, by doubling, never beyond `limit`.
pub(crate) fn grow(storage: &mut (impl Storage + ?Sized), min: usize, limit: usize) -> bool {
    let len = storage.bytes().len();
    let want = len.saturating_mul(2).max(FIRST_GROWTH).max(min).min(limit);
    want > len && storage.can_grow() && storage.try_grow(want)
}

/// Moves the bytes `from..end` down to `to`. In a shape whose checks the compiler can see to hold.
pub(crate) fn move_down(bytes: &mut [u8], from: usize, end: usize, to: usize) {
    let Some(mut part) = bytes.get_mut(to..end) else { return };
    let by = from - to;
    if cfg!(not(small)) {
        if by <= part.len() {
            part.copy_within(by.., 0);
        }
        return;
    }
    // Piece by piece, none of which overlaps where it goes: what moves those that do takes a small
    // processor a kilobyte of code.
    while by > 0
        && let Some((to, from)) = part.split_at_mut_checked(by)
        && !from.is_empty()
    {
        let len = by.min(from.len());
        if let (Some(to), Some(from)) = (to.get_mut(..len), from.get(..len)) {
            to.copy_from_slice(from);
        }
        part = from;
    }
}

/// What storage that starts empty grows to first, in bytes.
const FIRST_GROWTH: usize = 1024;
