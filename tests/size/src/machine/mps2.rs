//! MPS2 with a Cortex-M4 (AN386).

use super::{read, write};

const UART: usize = 0x4000_4000;
const DATA: usize = UART;
const STATE: usize = UART + 0x04;
const CONTROL: usize = UART + 0x08;
const BAUD_DIVIDER: usize = UART + 0x10;

const BOARD: usize = 0x4002_8000;
const LAMPS: usize = BOARD;
const BUTTONS: usize = BOARD + 0x08;
/// Counter with 100 ticks per second.
const CLOCK: usize = BOARD + 0x14;

/// 115200 baud of 25 MHz.
pub(crate) fn open_port() {
    write(BAUD_DIVIDER, 217);
    write(CONTROL, 3);
}

pub(crate) fn has_byte() -> bool {
    read(STATE) & 2 != 0
}

pub(crate) fn take_byte() -> u8 {
    read(DATA).to_le_bytes()[0]
}

pub(crate) fn send_byte(byte: u8) {
    while read(STATE) & 1 != 0 {}
    write(DATA, u32::from(byte));
}

pub(crate) fn open_board() {}

/// Returns the time in milliseconds, to a resolution of ten.
pub(crate) fn milliseconds() -> u32 {
    read(CLOCK).wrapping_mul(10)
}

pub(crate) fn set_lamp(on: bool) {
    write(LAMPS, u32::from(on));
}

/// Reads a pin; only the two buttons can be read.
pub(crate) fn pins() -> u32 {
    read(BUTTONS)
}
