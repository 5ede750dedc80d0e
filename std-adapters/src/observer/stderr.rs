//! An observer that writes to standard error.

use std::fmt;
use std::io::{self, Write as _};
use std::time::Duration;

use mcp_sansio::Printable;

use super::{Disconnect, Event, Observer};

/// Writes one line to standard error for each thing that happens: requests that ended, failures,
/// refusals, connections. Each line is written at once, and an error of writing is ignored.
///
/// ```text
/// mcp: connection 1: connected (stdio)
/// mcp: connection 1: tools/call divide (id 3): division by zero
/// mcp: connection 1: tools/call divide (id 3): tool failed in 0.214 ms
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct StderrObserver {
    /// Leaves out requests that succeed and connections that are opened and closed as they should
    /// be. Default: no.
    pub only_failures: bool,
}

impl StderrObserver {
    /// Creates an observer that writes everything.
    #[must_use]
    pub const fn new() -> Self {
        Self { only_failures: false }
    }
}

/// Writes a line about a connection.
fn write(connection: u64, text: fmt::Arguments<'_>) {
    write_line(format_args!("connection {connection}: {text}"));
}

/// Writes a line with one write, so that lines of threads do not mix.
fn write_line(text: fmt::Arguments<'_>) {
    let _ = io::stderr().write_all(format!("mcp: {text}\n").as_bytes());
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Observer for StderrObserver {
    fn on(&self, event: Event<'_>) {
        let all = !self.only_failures;
        match event {
            Event::Connected { connection, transport } if all => {
                write(connection, format_args!("connected ({transport})"));
            }
            Event::Ended { request, how, took } if all || how.is_failure() => {
                let took = millis(took);
                write(request.connection, format_args!("{request}: {how} in {took:.3} ms"));
            }
            Event::Refused { connection, request: Some(request), why } => {
                write(connection, format_args!("{request}: refused: {why}"));
            }
            Event::Refused { connection, request: None, why } => {
                write(connection, format_args!("refused: {why}"));
            }
            Event::Failed { request, error } => {
                write(request.connection, format_args!("{request}: {}", Printable::new(error)));
            }
            Event::Panicked { request: Some(request), message } => {
                let message = Printable::new(message);
                write(request.connection, format_args!("{request}: panicked: {message}"));
            }
            Event::Panicked { request: None, message } => {
                write_line(format_args!("panicked: {}", Printable::new(message)));
            }
            Event::Stalled { request, after } => {
                let after = millis(after);
                write(
                    request.connection,
                    format_args!("{request}: still runs after {after:.0} ms"),
                );
            }
            Event::Disconnected { connection, how, after }
                if all || matches!(how, Disconnect::Failed(_)) =>
            {
                let (how, after) = (Printable::new(how), after.as_secs_f64());
                write(connection, format_args!("disconnected after {after:.1} s: {how}"));
            }
            _ => {}
        }
    }
}
