//! The serial port: UART 0 of the CMSDK.

use core::sync::atomic::{AtomicU32, Ordering};

use firmware_embassy::{Chip, Port};

use registers::registers;

registers! {
    u32, 0x4000_4000: DATA = 0x0, STATE = 0x4, CONTROL = 0x8, INTERRUPTS = 0xC, BAUD_DIVIDER = 0x10
}

/// The registers.
pub(crate) struct Uart0 {
    /// Value of the control register.
    control: AtomicU32,
}

/// The port. There is only one.
pub(crate) static PORT: Port<Uart0> = Port::new(Uart0 { control: AtomicU32::new(SEND | RECEIVE) });

/// Enables the port: 115,200 baud from a clock of 25 MHz.
pub(crate) fn open() {
    BAUD_DIVIDER.write(217);
    CONTROL.write(SEND | RECEIVE);
}

/// Handles the interrupts of both directions.
pub(crate) fn interrupt() {
    INTERRUPTS.write(0b1111);
    PORT.interrupt();
}

impl Uart0 {
    fn set(&self, bit: u32, on: bool) {
        critical_section::with(|_| {
            let before = self.control.load(Ordering::Relaxed);
            let control = if on { before | bit } else { before & !bit };
            self.control.store(control, Ordering::Relaxed);
            CONTROL.write(control);
        });
    }
}

impl Chip for Uart0 {
    fn take(&self) -> Option<u8> {
        (STATE.read() & RECEIVED != 0).then(|| DATA.read().to_le_bytes()[0])
    }

    fn has_lost(&self) -> bool {
        let overrun = STATE.read() & OVERRUN;
        STATE.write(overrun);
        overrun != 0
    }

    fn put(&self, byte: u8) -> bool {
        let has_room = STATE.read() & FULL == 0;
        if has_room {
            DATA.write(u32::from(byte));
        }
        has_room
    }

    fn interrupt_on_byte(&self, on: bool) {
        self.set(RECEIVE_INTERRUPT, on);
        // The interrupt only occurs when a byte comes: triggers it for bytes that came before.
        if on && STATE.read() & RECEIVED != 0 {
            crate::Interrupt::Received.pend();
        }
    }

    fn interrupt_on_room(&self, on: bool) {
        self.set(SEND_INTERRUPT, on);
        if on && STATE.read() & FULL == 0 {
            crate::Interrupt::Sent.pend();
        }
    }
}

const SEND: u32 = 1 << 0;
const RECEIVE: u32 = 1 << 1;
const SEND_INTERRUPT: u32 = 1 << 2;
const RECEIVE_INTERRUPT: u32 = 1 << 3;
const FULL: u32 = 1 << 0;
const RECEIVED: u32 = 1 << 1;
const OVERRUN: u32 = 1 << 3;
