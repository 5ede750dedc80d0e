//! Raw lines to and from the server, for messages that the client never sends.

use std::io;
use std::time::{Duration, Instant};

use mcp_sansio_adapters::blocking::client::{Direction, Process, Transport as _};

use super::{Unexpected, screen};

/// Sends a line and receives one.
pub(super) fn exchange(server: &mut Process, line: &str) -> Result<String, Unexpected> {
    screen::show(Direction::Sent, line.as_bytes());
    let sent = format!("{line}\n");
    let (mut unsent, mut received) = (sent.as_bytes(), Vec::new());
    let until = Instant::now() + PATIENCE;
    while !received.ends_with(b"\n") {
        let mut chunk = [0; 1024];
        let transferred = server.transfer(
            unsent,
            &mut chunk,
            Some(until.saturating_duration_since(Instant::now())),
        )?;
        if transferred.ended || Instant::now() >= until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no line from the server").into());
        }
        unsent = unsent.get(transferred.written..).unwrap_or_default();
        received.extend_from_slice(chunk.get(..transferred.read).unwrap_or_default());
    }
    screen::show(Direction::Received, received.trim_ascii_end());
    Ok(String::from_utf8(received)?)
}

/// Maximum time for the response to a line.
const PATIENCE: Duration = Duration::from_secs(5);
