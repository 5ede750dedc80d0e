//! The firmware under [embassy](https://embassy.dev), without a board: a board adds the registers of
//! its serial port and of its timer.
#![no_std]
#![forbid(unsafe_code)]

mod clock;
mod port;
mod serve;

pub use clock::{Alarm, Embassy, Ticks};
pub use port::{Chip, LineError, Port, Receiver, Sender};
pub use serve::{Firmware, RX_BYTES, TX_BYTES, build, serve};
