//! The emulated machines, one file each with the same functions. Their code is part of the figures,
//! so it is minimal.

#[cfg(machine = "microbit")]
mod microbit;
#[cfg(machine = "mps2")]
mod mps2;
#[cfg(machine = "virt")]
mod virt;

#[cfg(machine = "microbit")]
pub(crate) use microbit::*;
#[cfg(machine = "mps2")]
pub(crate) use mps2::*;
#[cfg(machine = "virt")]
pub(crate) use virt::*;

use core::ptr;

fn read(register: usize) -> u32 {
    // SAFETY: a register of a peripheral, aligned.
    unsafe { ptr::read_volatile(register as *const u32) }
}

#[cfg(not(machine = "virt"))]
fn write(register: usize, value: u32) {
    // SAFETY: a register of a peripheral, aligned.
    unsafe { ptr::write_volatile(register as *mut u32, value) }
}
