//! The recorder on a BBC micro:bit, on the serial line of its USB interface.
#![no_std]
#![no_main]

#[path = "../clock.rs"]
mod clock;
#[path = "../fault.rs"]
mod fault;
#[path = "../flash.rs"]
mod flash;
#[path = "../interrupts.rs"]
mod interrupts;
#[path = "../registers.rs"]
mod registers;
#[path = "../ring.rs"]
mod ring;
#[path = "../uart.rs"]
mod uart;

use core::mem::MaybeUninit;

use cortex_m_rt::entry;
use firmware_recorder::{Line, Recorder};

use flash::LogFlash;
use uart::Uart;

#[entry]
fn main() -> ! {
    static mut LINE: MaybeUninit<Line<Uart>> = MaybeUninit::uninit();
    static mut RECORDER: MaybeUninit<Recorder<LogFlash>> = MaybeUninit::uninit();

    let (line, recorder) = (open(LINE), RECORDER.write(Recorder::new(LogFlash)));
    loop {
        // The port recovers from errors.
        if let Ok(due) = recorder.run(line, clock::now()) {
            interrupts::wait(due);
        }
    }
}

/// Not inlined: the value is built on the stack first, which is freed when this returns.
#[inline(never)]
fn open(line: &mut MaybeUninit<Line<Uart>>) -> &mut Line<Uart> {
    clock::start();
    let line = line.write(firmware_recorder::open(Uart::open()));
    interrupts::enable();
    line
}
