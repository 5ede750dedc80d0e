//! The serial port: a 16550 behind the interrupt controller.

use core::sync::atomic::{AtomicU8, Ordering};

use firmware_embassy::{Chip, Port};

use registers::{Register, registers};

registers! { u8, 0x1000_0000: DATA = 0, INTERRUPTS = 1, LINE = 3, STATE = 5 }
registers! { u32, 0x0C00_0000: ENABLED = 0x2000, THRESHOLD = 0x20_0000, CLAIMED = 0x20_0004 }

/// Takes the number of an interrupt, and gives it back.
pub(crate) const CLAIM: Register<u32> = CLAIMED;

/// The registers.
pub struct Uart16550 {
    /// Value of the interrupt register.
    interrupts: AtomicU8,
    /// Errors that [`Chip::has_lost`] has not returned yet. Each read of their register clears it.
    lost: AtomicU8,
}

/// The port. There is only one.
pub static PORT: Port<Uart16550> =
    Port::new(Uart16550 { interrupts: AtomicU8::new(0), lost: AtomicU8::new(0) });

/// Enables the port and its interrupt, but not its FIFOs: that would drop bytes that have been
/// received already.
pub(crate) fn open() {
    LINE.write(0b11);
    enable(NUMBER);
    THRESHOLD.write(0);
}

/// Lets an interrupt with this number come.
pub(crate) fn enable(number: u32) {
    // SAFETY: the register has the priority of this interrupt.
    unsafe { Register::<u32>::at(0x0C00_0000 + 4 * number as usize) }.write(1);
    ENABLED.write(ENABLED.read() | 1 << number);
}

impl Uart16550 {
    fn set(&self, bit: u8, on: bool) {
        critical_section::with(|_| {
            let before = self.interrupts.load(Ordering::Relaxed);
            let interrupts = if on { before | bit } else { before & !bit };
            self.interrupts.store(interrupts, Ordering::Relaxed);
            INTERRUPTS.write(interrupts);
        });
    }

    /// Returns whether the register of states has one of these bits.
    fn has(&self, bits: u8) -> bool {
        critical_section::with(|_| {
            let state = STATE.read();
            self.lost.fetch_or(state & LOST, Ordering::Relaxed);
            state & bits != 0
        })
    }
}

impl Chip for Uart16550 {
    fn take(&self) -> Option<u8> {
        self.has(RECEIVED).then(|| DATA.read())
    }

    fn has_lost(&self) -> bool {
        self.has(LOST);
        self.lost.swap(0, Ordering::Relaxed) != 0
    }

    fn put(&self, byte: u8) -> bool {
        let has_room = self.has(HAS_ROOM);
        if has_room {
            DATA.write(byte);
        }
        has_room
    }

    fn interrupt_on_byte(&self, on: bool) {
        self.set(0b01, on);
    }

    fn interrupt_on_room(&self, on: bool) {
        self.set(0b10, on);
    }
}

/// The number of its interrupt.
pub(crate) const NUMBER: u32 = 10;
const RECEIVED: u8 = 1 << 0;
/// Overrun, parity, framing.
const LOST: u8 = 0b111 << 1;
const HAS_ROOM: u8 = 1 << 5;
