//! Registers of a chip, by address, as the boards here have them that no crate describes.
#![no_std]

use core::ptr;

/// A register that is part of a peripheral: `u32`, or `u8` where they are bytes.
#[derive(Clone, Copy, Debug)]
pub struct Register<T>(*mut T);

// SAFETY: an address; what it is used for, from where, is promised when it is made.
unsafe impl<T> Sync for Register<T> {}

impl<T: Copy> Register<T> {
    /// The register at this address.
    ///
    /// # Safety
    /// It is one, and no access to it goes behind the back of the memory that Rust knows of (as one
    /// that starts a transfer by the chip itself would).
    #[must_use]
    pub const unsafe fn at(address: usize) -> Self {
        Self(ptr::without_provenance_mut(address))
    }

    /// What is in it.
    #[must_use]
    pub fn read(self) -> T {
        // SAFETY: promised when it was made.
        unsafe { ptr::read_volatile(self.0) }
    }

    /// Puts something into it.
    pub fn write(self, value: T) {
        // SAFETY: promised when it was made.
        unsafe { ptr::write_volatile(self.0, value) }
    }
}

/// Names for registers of one peripheral: `registers! { u32, 0x4000_4000: DATA = 0x0, STATE = 0x4
/// }`. They must be such as [`Register::at`] wants them.
#[macro_export]
macro_rules! registers {
    ($type:ty, $peripheral:literal: $($name:ident = $offset:literal),+ $(,)?) => {
        $(
            // SAFETY: a register of the board that does nothing but what the code here makes it do.
            const $name: $crate::Register<$type> = unsafe { $crate::Register::at($peripheral + $offset) };
        )+
    };
}
