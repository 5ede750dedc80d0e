//! The firmware under embassy on a Cortex-M4: the same application as on the micro:bit, with a
//! future for each slow call.
#![no_std]
#![no_main]

mod board;
mod fault;
#[path = "../../microbit/src/stack.rs"]
mod stack;
mod time;
mod uart;

use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;
use cortex_m_rt::exception;
use embassy_executor::Spawner;
use firmware_embassy::Firmware;
use static_cell::StaticCell;

use board::Mps2;
use uart::PORT;

static FIRMWARE: StaticCell<Firmware<Mps2>> = StaticCell::new();

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    time::start();
    uart::open();
    for interrupt in Interrupt::ALL {
        // SAFETY: no code relies on these interrupts being masked.
        unsafe { NVIC::unmask(interrupt) }
    }
    let (receiver, sender) = PORT.split();
    firmware_embassy::serve(firmware_embassy::build(&FIRMWARE, Mps2), receiver, sender).await;
}

#[derive(Clone, Copy)]
enum Interrupt {
    Received = 0,
    Sent = 1,
    Turn = 8,
    Wake = 9,
}

impl Interrupt {
    const ALL: [Self; 4] = [Self::Received, Self::Sent, Self::Turn, Self::Wake];

    /// Triggers the interrupt.
    fn pend(self) {
        NVIC::pend(self);
    }
}

// SAFETY: these are their numbers on this board.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

#[exception]
unsafe fn DefaultHandler(number: i16) {
    match number {
        8 => time::turn(),
        9 => time::wake(),
        _ => uart::interrupt(),
    }
}
