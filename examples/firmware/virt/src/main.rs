//! The firmware under embassy on a RISC-V: the same application as on the micro:bit, with a future
//! for each slow call.
#![no_std]
#![no_main]

mod board;
mod stack;
mod time;
mod uart;

use core::panic::PanicInfo;

use embassy_executor::Spawner;
use firmware_embassy::Firmware;
use riscv::interrupt::Interrupt;
use riscv::register::{mie, mstatus};
use riscv_rt::core_interrupt;
use static_cell::StaticCell;

use board::Virt;
use uart::PORT;

static FIRMWARE: StaticCell<Firmware<Virt>> = StaticCell::new();

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    stack::paint();
    time::start();
    uart::open();
    // SAFETY: no code relies on these interrupts being masked.
    unsafe {
        mie::set_mtimer();
        mie::set_mext();
        mstatus::set_mie();
    }
    let (receiver, sender) = PORT.split();
    firmware_embassy::serve(firmware_embassy::build(&FIRMWARE, Virt), receiver, sender).await;
}

#[core_interrupt(Interrupt::MachineTimer)]
fn timer() {
    time::wake();
}

#[core_interrupt(Interrupt::MachineExternal)]
fn external() {
    uart::interrupt();
}

#[panic_handler]
#[inline(never)]
fn panic(_: &PanicInfo<'_>) -> ! {
    PORT.write_now(b"\nThe firmware panicked and starts again\n");
    board::reset()
}
