//! Registers of the board, by address: some are bytes, most are words.

use core::ptr;

/// A register that is part of a peripheral.
#[derive(Clone, Copy)]
pub(crate) struct Register<T>(*mut T);

// SAFETY: an address; who uses it from where is the affair of the code that does.
unsafe impl<T> Sync for Register<T> {}

impl<T> Register<T> {
    /// The register at this address.
    ///
    /// # Safety
    /// It is one, and no access to it goes behind the back of the memory that Rust knows of.
    pub(crate) const unsafe fn at(address: usize) -> Self {
        Self(ptr::without_provenance_mut(address))
    }

    pub(crate) fn read(self) -> T {
        // SAFETY: promised when it was made.
        unsafe { ptr::read_volatile(self.0) }
    }

    pub(crate) fn write(self, value: T) {
        // SAFETY: promised when it was made.
        unsafe { ptr::write_volatile(self.0, value) }
    }
}

/// Names for registers of one peripheral.
macro_rules! registers {
    ($type:ty, $peripheral:literal: $($name:ident = $offset:literal),+ $(,)?) => {
        $(
            // SAFETY: a register of QEMU's board that does nothing but what the code here makes it do.
            const $name: $crate::registers::Register<$type> = unsafe { $crate::registers::Register::at($peripheral + $offset) };
        )+
    };
}
pub(crate) use registers;
