//! What boards have in common that run the firmware under [embassy](https://embassy.dev): a board brings the registers of its serial port and of its timer.
#![no_std]
#![forbid(unsafe_code)]

mod clock;
mod port;
mod serve;

pub use clock::{Alarm, Embassy, Ticks};
pub use port::{Chip, LineError, Port, Receiver, Sender};
pub use serve::{Firmware, RX_BYTES, TX_BYTES, build, serve};
