//! The firmware as a program for this computer: the same application and loop, on standard input
//! and output and a simulated board.
//!
//! Its output is that of the micro:bit, byte for byte, except for the clock, the registers and the
//! stack. The tests compare them.

mod board;
mod port;

use std::sync::OnceLock;
use std::time::{Duration, Instant as Clock};

use firmware_app::{App, Next};
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded::Error;

use board::SimulatedBoard;
use port::Stdio;

fn main() -> Result<(), Error<std::io::Error>> {
    let mut line = firmware_app::open(Stdio::open());
    let mut app = App::new(SimulatedBoard::default());
    loop {
        match app.run(&mut line, now())? {
            Next::Again => {}
            Next::Idle(due) => {
                let left = due.map_or(Duration::MAX, |due| due.saturating_duration_since(now()));
                line.driver().wait(left);
            }
            Next::Closed => return Ok(()),
        }
    }
}

fn now() -> Instant {
    static START: OnceLock<Clock> = OnceLock::new();
    let elapsed = START.get_or_init(Clock::now).elapsed();
    Instant::from_millis(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
