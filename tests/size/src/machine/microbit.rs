//! BBC micro:bit: a Cortex-M0 (nRF51822). The programs also run on the real board.

use super::{read, write};

const UART: usize = 0x4000_2000;
const START_RX: usize = UART;
const START_TX: usize = UART + 0x008;
const RX_READY: usize = UART + 0x108;
const TX_READY: usize = UART + 0x11C;
const ENABLE: usize = UART + 0x500;
const PIN_TX: usize = UART + 0x50C;
const PIN_RX: usize = UART + 0x514;
const RXD: usize = UART + 0x518;
const TXD: usize = UART + 0x51C;
const BAUD_RATE: usize = UART + 0x524;

const TIMER: usize = 0x4000_8000;
const START: usize = TIMER;
const CAPTURE: usize = TIMER + 0x040;
const BIT_MODE: usize = TIMER + 0x508;
const PRESCALER: usize = TIMER + 0x510;
const CAPTURED: usize = TIMER + 0x540;

const GPIO: usize = 0x5000_0000;
const OUT_SET: usize = GPIO + 0x508;
const OUT_CLEAR: usize = GPIO + 0x50C;
const IN: usize = GPIO + 0x510;
const DIRECTION_SET: usize = GPIO + 0x518;

/// The lamp in the upper left corner lights when its row is high and its column, which is low, is
/// an output.
const LAMP: u32 = 1 << 13;
const LAMP_COLUMN: u32 = 1 << 4;

/// 115200 baud on the pins that the USB interface listens to.
pub(crate) fn open_port() {
    write(PIN_TX, 24);
    write(PIN_RX, 25);
    write(BAUD_RATE, 0x01D7_E000);
    write(ENABLE, 4);
    write(START_TX, 1);
    write(START_RX, 1);
}

pub(crate) fn has_byte() -> bool {
    read(RX_READY) != 0
}

pub(crate) fn take_byte() -> u8 {
    write(RX_READY, 0);
    read(RXD).to_le_bytes()[0]
}

pub(crate) fn send_byte(byte: u8) {
    write(TX_READY, 0);
    write(TXD, u32::from(byte));
    while read(TX_READY) == 0 {}
}

pub(crate) fn open_board() {
    write(BIT_MODE, 3);
    write(PRESCALER, 9);
    write(START, 1);
    write(DIRECTION_SET, LAMP | LAMP_COLUMN);
}

/// Returns the time in milliseconds, 0.001 % slow.
pub(crate) fn milliseconds() -> u32 {
    write(CAPTURE, 1);
    // 31,250 ticks a second. The processor cannot divide, so 1.024 is a sum of powers of two.
    let ticks = read(CAPTURED) >> 5;
    ticks + (ticks >> 6) + (ticks >> 7) + (ticks >> 11) + (ticks >> 14)
}

pub(crate) fn set_lamp(on: bool) {
    write(if on { OUT_SET } else { OUT_CLEAR }, LAMP);
}

pub(crate) fn pins() -> u32 {
    read(IN)
}
