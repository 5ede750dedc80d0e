//! The rest of the micro:bit, as far as the programs use it: a clock, pins, a lamp.

use core::ptr;

use mcp_sansio::Instant;

const TIMER: usize = 0x4000_8000;
const START: usize = 0x000;
const CAPTURE: usize = 0x040;
const BIT_MODE: usize = 0x508;
const PRESCALER: usize = 0x510;
const CAPTURED: usize = 0x540;

const GPIO: usize = 0x5000_0000;
const OUT: usize = 0x504;
const OUT_SET: usize = 0x508;
const OUT_CLEAR: usize = 0x50C;
const IN: usize = 0x510;
const DIRECTION_SET: usize = 0x518;

/// How many pins there are.
pub const PINS: u8 = 31;
/// The lamp in the upper left corner lights when its row is high and its column, which is low, is an output.
const LAMP: u8 = 13;
const LAMP_COLUMN: u8 = 4;

/// Starts the clock and makes the lamp's pins outputs.
pub fn open() {
    write(TIMER + BIT_MODE, 3);
    write(TIMER + PRESCALER, 9);
    write(TIMER + START, 1);
    write(GPIO + DIRECTION_SET, 1 << LAMP | 1 << LAMP_COLUMN);
}

/// The time since [`open`], to four milliseconds. It starts again after 38 hours; firmware that runs longer counts the turns.
#[must_use]
pub fn now() -> Instant {
    write(TIMER + CAPTURE, 1);
    // 31,250 ticks a second.
    Instant::from_millis(u64::from(read(TIMER + CAPTURED) / 125 * 4))
}

/// Switches the lamp.
pub fn set_lamp(on: bool) {
    write(GPIO + if on { OUT_SET } else { OUT_CLEAR }, 1 << LAMP);
}

/// Whether the lamp is on.
#[must_use]
pub fn lamp() -> bool {
    read(GPIO + OUT) >> LAMP & 1 == 1
}

/// Whether a pin is high; `None` when there is no such pin.
#[must_use]
pub fn pin(number: u8) -> Option<bool> {
    (number < PINS).then(|| read(GPIO + IN) >> (number & 31) & 1 == 1)
}

fn read(register: usize) -> u32 {
    // SAFETY: a register of a peripheral, aligned.
    unsafe { ptr::read_volatile(register as *const u32) }
}

fn write(register: usize, value: u32) {
    // SAFETY: a register of a peripheral, aligned.
    unsafe { ptr::write_volatile(register as *mut u32, value) }
}
