//! Registers of the nRF51822, by address.

use core::ptr;

/// A register that is part of a peripheral.
#[derive(Clone, Copy)]
pub(crate) struct Register(usize);

impl Register {
    /// The register at this offset of the peripheral at this address.
    ///
    /// # Safety
    /// It is one, and no access to it goes behind the back of the memory that Rust knows of (as one
    /// that starts a transfer by the chip itself would).
    pub(crate) const unsafe fn at(peripheral: usize, offset: usize) -> Self {
        Self(peripheral + offset)
    }

    pub(crate) fn read(self) -> u32 {
        // SAFETY: promised when it was made.
        unsafe { ptr::read_volatile(self.0 as *const u32) }
    }

    pub(crate) fn write(self, value: u32) {
        // SAFETY: promised when it was made.
        unsafe { ptr::write_volatile(self.0 as *mut u32, value) }
    }
}

/// Names for registers of one peripheral.
macro_rules! registers {
    ($peripheral:literal: $($name:ident = $offset:literal),+ $(,)?) => {
        $(
            // SAFETY: a register of the nRF51822 that does nothing but what the code here makes it do.
            const $name: $crate::registers::Register = unsafe { $crate::registers::Register::at($peripheral, $offset) };
        )+
    };
}
pub(crate) use registers;
