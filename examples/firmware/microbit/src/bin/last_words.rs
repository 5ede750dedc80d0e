//! Panics on `p` and faults on `f`, so that the tests see the firmware's message. The firmware
//! itself cannot panic, which `tests/image` checks.
#![no_std]
#![no_main]

#[path = "../fault.rs"]
mod fault;
#[path = "../registers.rs"]
mod registers;
#[path = "../ring.rs"]
mod ring;
#[path = "../uart.rs"]
#[allow(dead_code)]
mod uart;

use cortex_m_rt::{entry, exception};
use embedded_io::{Read as _, ReadReady as _};

use uart::Uart;

#[entry]
fn main() -> ! {
    let mut port = Uart::open();
    Uart::write_now(b"ready\n");
    loop {
        Uart::interrupt();
        let mut byte = [0];
        if port.read_ready() == Ok(true) && port.read(&mut byte) == Ok(1) {
            match byte {
                [b'p'] => panic!("requested"),
                [b'f'] => cortex_m::asm::udf(),
                _ => {}
            }
        }
    }
}

#[exception]
unsafe fn DefaultHandler(_: i16) {}
