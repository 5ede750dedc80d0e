//! The rest of the board, as far as the programs use it: a clock, pins, a lamp.

use mcp_sansio::Instant;

use crate::machine;

/// How many pins there are.
pub const PINS: u8 = 31;

/// Starts the clock and makes the lamp's pins outputs.
pub fn open() {
    machine::open_board();
}

/// The time since [`open`], to a few milliseconds. It starts again after a day or so; firmware that
/// runs longer counts the turns.
#[must_use]
pub fn now() -> Instant {
    Instant::from_millis(u64::from(machine::milliseconds()))
}

/// Switches the lamp.
pub fn set_lamp(on: bool) {
    machine::set_lamp(on);
}

/// Whether a pin is high; `None` when there is no such pin.
#[must_use]
pub fn pin(number: u8) -> Option<bool> {
    (number < PINS).then(|| machine::pins() >> (number & 31) & 1 == 1)
}
