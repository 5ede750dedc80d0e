//! Ring buffer between the receiver's interrupt and the main loop: single producer, single
//! consumer, lock-free. (The queue of heapless divides by a length that is only known at run time,
//! which on this processor is a function call, and a panic for zero.)

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// A queue of bytes between an interrupt handler and the code that it interrupts.
pub(crate) struct Ring {
    bytes: [AtomicU8; LEN],
    /// Number of bytes ever put in. Only the interrupt handler writes it.
    put: AtomicUsize,
    /// Number of bytes ever taken out. Only the main loop writes it.
    taken: AtomicUsize,
}

impl Ring {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [const { AtomicU8::new(0) }; LEN],
            put: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.put.load(Ordering::Acquire).wrapping_sub(self.taken.load(Ordering::Acquire))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() == LEN
    }

    /// Puts a byte in. Drops it if there is no room.
    pub(crate) fn put(&self, byte: u8) {
        let put = self.put.load(Ordering::Relaxed);
        if let Some(place) = self.bytes.get(put % LEN).filter(|_| !self.is_full()) {
            place.store(byte, Ordering::Relaxed);
            self.put.store(put.wrapping_add(1), Ordering::Release);
        }
    }

    pub(crate) fn take(&self) -> Option<u8> {
        let taken = self.taken.load(Ordering::Relaxed);
        let byte =
            self.bytes.get(taken % LEN).filter(|_| !self.is_empty())?.load(Ordering::Relaxed);
        self.taken.store(taken.wrapping_add(1), Ordering::Release);
        Some(byte)
    }
}

/// Size in bytes. A power of two, since the counters wrap around. Has room for requests that come
/// while a long response is written.
const LEN: usize = 2048;
