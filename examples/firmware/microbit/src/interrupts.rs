//! The interrupts of the serial port and of the clock, and the sleep between them.

use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;
use cortex_m_rt::exception;
use mcp_sansio::Instant;

use crate::clock;
use crate::uart::Uart;

#[derive(Clone, Copy)]
enum Interrupt {
    Uart = 2,
    Timer = 8,
}

// SAFETY: these are their numbers in the nRF51822.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

pub(crate) fn enable() {
    // SAFETY: no code relies on these interrupts being masked.
    unsafe {
        NVIC::unmask(Interrupt::Uart);
        NVIC::unmask(Interrupt::Timer);
    }
}

/// Sleeps until bytes come, or until this time.
pub(crate) fn wait(due: Option<Instant>) {
    // An interrupt between the checks and the sleep ends the sleep, and is handled after it.
    cortex_m::interrupt::free(|_| {
        if due.is_none_or(clock::wake_at) && Uart::is_silent() {
            cortex_m::asm::wfi();
        }
    });
}

#[exception]
unsafe fn DefaultHandler(number: i16) {
    if number == Interrupt::Uart as i16 {
        Uart::interrupt();
    } else {
        clock::interrupt();
    }
}
