//! Registers of the nRF51822, by address.

use core::ptr;

/// A register that is part of a peripheral.
#[derive(Clone, Copy)]
pub(crate) struct Register(usize);

impl Register {
    /// The register at this offset of the peripheral at this address.
    ///
    /// # Safety
    /// The address is that of a register, and no access to it changes memory of the program (as a
    /// register that starts a DMA transfer would).
    pub(crate) const unsafe fn at(peripheral: usize, offset: usize) -> Self {
        Self(peripheral + offset)
    }

    pub(crate) fn read(self) -> u32 {
        // SAFETY: guaranteed by the caller of `at`.
        unsafe { ptr::read_volatile(self.0 as *const u32) }
    }

    pub(crate) fn write(self, value: u32) {
        // SAFETY: guaranteed by the caller of `at`.
        unsafe { ptr::write_volatile(self.0 as *mut u32, value) }
    }
}

/// Declares registers of a peripheral.
macro_rules! registers {
    ($peripheral:literal: $($name:ident = $offset:literal),+ $(,)?) => {
        $(
            // SAFETY: a register of the nRF51822 whose accesses change no memory of the program.
            const $name: $crate::registers::Register =
                unsafe { $crate::registers::Register::at($peripheral, $offset) };
        )+
    };
}
pub(crate) use registers;
