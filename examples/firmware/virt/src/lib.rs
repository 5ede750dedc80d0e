//! QEMU's RISC-V board, `virt`: what its programs have in common.
#![no_std]

pub mod board;
#[cfg(feature = "card")]
pub mod net;
#[cfg(feature = "room")]
pub mod room;
mod stack;
mod time;
pub mod uart;

use core::panic::PanicInfo;

use riscv::interrupt::Interrupt;
use riscv::register::{mie, mstatus};
use riscv_rt::core_interrupt;

/// Starts the clock, the serial port and interrupts.
pub fn start() {
    stack::paint();
    time::start();
    uart::open();
    // SAFETY: no code relies on these interrupts being masked.
    unsafe {
        mie::set_mtimer();
        mie::set_mext();
        mstatus::set_mie();
    }
}

#[core_interrupt(Interrupt::MachineTimer)]
fn timer() {
    time::wake();
}

#[core_interrupt(Interrupt::MachineExternal)]
fn external() {
    let number = uart::CLAIM.read();
    match number {
        uart::NUMBER => uart::PORT.interrupt(),
        #[cfg(feature = "card")]
        _ => net::interrupt(),
        #[cfg(not(feature = "card"))]
        _ => {}
    }
    uart::CLAIM.write(number);
}

#[panic_handler]
#[inline(never)]
fn panic(_: &PanicInfo<'_>) -> ! {
    uart::PORT.write_now(b"\nThe firmware panicked and starts again\n");
    board::reset()
}
