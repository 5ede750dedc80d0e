//! Registers of a chip, by address, for boards without a peripheral access crate.
#![no_std]

use core::ptr;

/// A register of a peripheral: of type `u32`, or `u8`.
#[derive(Clone, Copy, Debug)]
pub struct Register<T>(*mut T);

// SAFETY: only an address; the caller of `at` guarantees that accesses are sound.
unsafe impl<T> Sync for Register<T> {}

impl<T: Copy> Register<T> {
    /// The register at this address.
    ///
    /// # Safety
    /// The address is that of a register, and no access to it changes memory of the program (as a
    /// register that starts a DMA transfer would).
    #[must_use]
    pub const unsafe fn at(address: usize) -> Self {
        Self(ptr::without_provenance_mut(address))
    }

    /// Reads the register.
    #[must_use]
    pub fn read(self) -> T {
        // SAFETY: guaranteed by the caller of `at`.
        unsafe { ptr::read_volatile(self.0) }
    }

    /// Writes the register.
    pub fn write(self, value: T) {
        // SAFETY: guaranteed by the caller of `at`.
        unsafe { ptr::write_volatile(self.0, value) }
    }
}

/// Declares registers of a peripheral: `registers! { u32, 0x4000_4000: DATA = 0x0, STATE = 0x4 }`.
/// They must satisfy the contract of [`Register::at`].
#[macro_export]
macro_rules! registers {
    ($type:ty, $peripheral:literal: $($name:ident = $offset:literal),+ $(,)?) => {
        $(
            // SAFETY: a register of the board whose accesses change no memory of the program.
            const $name: $crate::Register<$type> =
                unsafe { $crate::Register::at($peripheral + $offset) };
        )+
    };
}
