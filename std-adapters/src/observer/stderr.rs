//! An observer that writes to standard error.

use std::fmt;
use std::io::{self, Write as _};
use std::time::Duration;

use mcp_sansio::{Printable, ToolError};

use super::{Disconnect, Ended, Observer, Refusal, RequestInfo, Transport};

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
    only_failures: bool,
}

impl StderrObserver {
    /// Creates an observer that writes everything.
    #[must_use]
    pub const fn new() -> Self {
        Self { only_failures: false }
    }

    /// Leaves out requests that succeed and connections that are opened and closed as they should
    /// be.
    #[must_use]
    pub const fn only_failures(self) -> Self {
        Self { only_failures: true }
    }
}

/// Writes a line about a connection, and with one write, so that lines of threads do not mix.
fn write(connection: u64, text: fmt::Arguments<'_>) {
    let line = format!("mcp: connection {connection}: {text}\n");
    let _ = io::stderr().write_all(line.as_bytes());
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Observer for StderrObserver {
    fn connected(&self, connection: u64, transport: Transport) {
        if !self.only_failures {
            write(connection, format_args!("connected ({transport})"));
        }
    }

    fn ended(&self, request: &RequestInfo, how: Ended, took: Duration) {
        if !self.only_failures || how.is_failure() {
            let took = millis(took);
            write(request.connection, format_args!("{request}: {how} in {took:.3} ms"));
        }
    }

    fn refused(&self, connection: u64, request: Option<&RequestInfo>, why: Refusal) {
        match request {
            Some(request) => write(connection, format_args!("{request}: refused: {why}")),
            None => write(connection, format_args!("refused: {why}")),
        }
    }

    fn failed(&self, request: &RequestInfo, error: &ToolError<'_>) {
        write(request.connection, format_args!("{request}: {}", Printable::new(error)));
    }

    fn panicked(&self, request: Option<&RequestInfo>, message: &str) {
        let message = Printable::new(message);
        match request {
            Some(request) => {
                write(request.connection, format_args!("{request}: panicked: {message}"));
            }
            None => {
                let _ = io::stderr().write_all(format!("mcp: panicked: {message}\n").as_bytes());
            }
        }
    }

    fn stalled(&self, request: &RequestInfo, after: Duration) {
        let after = millis(after);
        write(request.connection, format_args!("{request}: still runs after {after:.0} ms"));
    }

    fn disconnected(&self, connection: u64, how: Disconnect<'_>, after: Duration) {
        if !self.only_failures || matches!(how, Disconnect::Failed(_)) {
            let (how, after) = (Printable::new(how), after.as_secs_f64());
            write(connection, format_args!("disconnected after {after:.1} s: {how}"));
        }
    }
}
