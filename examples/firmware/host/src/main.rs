//! The firmware as a program for this computer: the same application and loop, on standard input
//! and output and a simulated board.
//!
//! Its output is that of the micro:bit, byte for byte, except for the clock, the registers and the
//! stack. The tests compare them.

mod board;
mod port;

use std::sync::OnceLock;
use std::time::{Duration, Instant as Clock};

use firmware_app::{App, CONFIG, IN_FLIGHT, SUBSCRIPTIONS};
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded::{Connection, Error, PollResult};

use board::SimulatedBoard;
use port::Stdio;

const RX_BYTES: usize = 2048;
const TX_BYTES: usize = 512;

fn main() -> Result<(), Error<std::io::Error>> {
    let mut connection: Connection<'_, Stdio, RX_BYTES, TX_BYTES, IN_FLIGHT, SUBSCRIPTIONS> =
        Connection::new(Stdio::open(), &CONFIG, now);
    let mut app = App::new(SimulatedBoard::default());
    loop {
        match connection.poll(&mut app)? {
            PollResult::Active => {}
            PollResult::Closed => return Ok(()),
            PollResult::Idle => {
                let due = [connection.poll_timeout(), app.wake()].into_iter().flatten().min();
                let left = due.map_or(Duration::MAX, |due| due.saturating_duration_since(now()));
                connection.context().port().wait(left);
            }
        }
    }
}

fn now() -> Instant {
    static START: OnceLock<Clock> = OnceLock::new();
    let elapsed = START.get_or_init(Clock::now).elapsed();
    Instant::from_millis(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
}
