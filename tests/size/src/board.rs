//! Other parts of the board that the programs use: a clock, pins, a lamp.

use mcp_sansio::Instant;

use crate::machine;

/// Number of pins.
pub const PINS: u8 = 31;

/// Starts the clock and makes the lamp's pins outputs.
pub fn open() {
    machine::open_board();
}

/// Returns the time since [`open`], to a few milliseconds. It wraps around after about a day;
/// firmware that runs longer must count the wraps.
#[must_use]
pub fn now() -> Instant {
    Instant::from_millis(u64::from(machine::milliseconds()))
}

/// Switches the lamp.
pub fn set_lamp(on: bool) {
    machine::set_lamp(on);
}

/// Returns whether a pin is high; `None` if there is no such pin.
#[must_use]
pub fn pin(number: u8) -> Option<bool> {
    (number < PINS).then(|| machine::pins() >> (number & 31) & 1 == 1)
}
