//! The first serial line, to the server: an interrupt fills a ring buffer while the program runs.

use core::convert::Infallible;

use cortex_m::interrupt::InterruptNumber;
use cortex_m::peripheral::NVIC;
use cortex_m_rt::exception;
use embedded_io::{ErrorType, Read, ReadReady, Write};

use crate::ring::Ring;
use registers::registers;

registers! {
    u32, 0x4000_C000: DATA = 0x000, FLAGS = 0x018, LINE = 0x02C, CONTROL = 0x030, INTERRUPTS = 0x038
}
registers! { u32, 0x400F_E000: CLOCKS = 0x104 }

/// The port, enabled. There is only one.
pub(crate) struct Uart(());

static RING: Ring = Ring::new();

impl Uart {
    pub(crate) fn open() -> Self {
        CLOCKS.write(CLOCKS.read() | 0b11);
        LINE.write(EIGHT_BITS | QUEUES);
        CONTROL.write(ON);
        INTERRUPTS.write(RECEIVED | WAITED);
        // SAFETY: no code relies on this interrupt being masked.
        unsafe { NVIC::unmask(Interrupt) }
        Self(())
    }
}

impl ErrorType for Uart {
    type Error = Infallible;
}

impl ReadReady for Uart {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(!RING.is_empty())
    }
}

impl Read for Uart {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
        while RING.is_empty() && !into.is_empty() {}
        let mut read = 0;
        for (place, byte) in into.iter_mut().zip(core::iter::from_fn(|| RING.take())) {
            *place = byte;
            read += 1;
        }
        INTERRUPTS.write(RECEIVED | WAITED);
        Ok(read)
    }
}

impl Write for Uart {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        for byte in bytes {
            while FLAGS.read() & SEND_FULL != 0 {}
            DATA.write(u32::from(*byte));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Interrupt;

// SAFETY: 5 is its number in the LM3S6965.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        5
    }
}

#[exception]
unsafe fn DefaultHandler(_: i16) {
    while FLAGS.read() & RECEIVE_EMPTY == 0 {
        if RING.is_full() {
            // Bytes that do not fit stay in the receiver; with flow control the sender waits.
            return INTERRUPTS.write(0);
        }
        RING.put(DATA.read().to_le_bytes()[0]);
    }
}

const RECEIVE_EMPTY: u32 = 1 << 4;
const SEND_FULL: u32 = 1 << 5;
const QUEUES: u32 = 1 << 4;
const EIGHT_BITS: u32 = 0b11 << 5;
const ON: u32 = 0b11 << 8 | 1;
const RECEIVED: u32 = 1 << 4;
const WAITED: u32 = 1 << 6;
