//! An observer that writes to standard error.

use std::fmt;
use std::io::{self, Write as _};
use std::time::Duration;

use mcp_sansio::Printable;
use mcp_sansio_engine::PeerAddress;

use super::{Denial, Disconnect, Ended, Event, Observer, RequestInfo};

/// Writes one line to standard error for each thing that happens: requests and tasks that ended,
/// refusals, connections. Each line is written at once, and an error of writing is ignored.
///
/// ```text
/// mcp: connection 1: connected (stdio)
/// mcp: connection 1: tools/call divide (id 3): tool failed in 0.214 ms: division by zero
/// mcp: address 192.0.2.7, principal ada: tools/call delete: denied: 403 insufficient_scope
/// ```
#[derive(Clone, Copy, Default, Debug)]
pub struct StderrObserver {
    /// Leaves out requests that succeed and connections that are opened and closed as they should
    /// be. Default: no.
    pub only_failures: bool,
}

impl StderrObserver {
    /// Creates an observer that writes everything.
    pub const fn new() -> Self {
        Self { only_failures: false }
    }
}

impl Observer for StderrObserver {
    fn on(&self, event: Event<'_>) {
        let all = !self.only_failures;
        match event {
            Event::Connected { connection, transport, peer } if all => {
                write((connection, peer, None), format_args!("connected ({transport})"));
            }
            Event::Ended { request, how, error, took } if all || how.is_failure() => {
                write(client(request), format_args!("{request}: {}", End(how, took, error)));
            }
            Event::TaskEnded { task, tool, request, how, error, took }
                if all || how.is_failure() =>
            {
                let (tool, end) = (Printable::new(tool), End(how, took, error));
                let client = request.map_or((0, None, None), client);
                write(client, format_args!("task {task} of {tool}: {end}"));
            }
            Event::StoreFailed { request, error } => {
                let error = Printable::new(error);
                write(client(request), format_args!("{request}: not stored as a task: {error}"));
            }
            Event::Refused { connection, peer, why, place: Some(place) } => {
                write((connection, peer, None), format_args!("refused: {why} ({place})"));
            }
            Event::Refused { connection, peer, why, .. } => {
                write((connection, peer, None), format_args!("refused: {why}"));
            }
            Event::FleetFailed { error } => {
                write((0, None, None), format_args!("fleet: {}", Printable::new(error)));
            }
            Event::Denied { denial } => {
                let Denial { peer, principal, status, missing_scope, error, .. } = denial;
                let missing = match &**missing_scope {
                    "" => String::new(),
                    scope => format!(" (missing scope: {})", Printable::new(scope)),
                };
                write(
                    (0, *peer, principal.as_deref()),
                    format_args!("{denial}: {status} {}{missing}", Printable::new(error)),
                );
            }
            Event::Panicked { message } => {
                write((0, None, None), format_args!("panicked: {}", Printable::new(message)));
            }
            Event::Stalled { request, after } => {
                let after = millis(after);
                write(client(request), format_args!("{request}: still runs after {after:.0} ms"));
            }
            Event::Disconnected { connection, how, after }
                if all || matches!(how, Disconnect::Failed(_)) =>
            {
                let (how, after) = (Printable::new(how), after.as_secs_f64());
                write(
                    (connection, None, None),
                    format_args!("disconnected after {after:.1} s: {how}"),
                );
            }
            _ => {}
        }
    }
}

/// The number of a connection, or 0, the address of its client and the subject of the principal.
type Client<'c> = (u64, Option<PeerAddress>, Option<&'c str>);

fn client(request: &RequestInfo) -> Client<'_> {
    (request.connection, request.peer, request.principal.as_deref())
}

/// Writes a line with one write, so that lines of threads do not mix.
fn write((connection, peer, principal): Client<'_>, text: fmt::Arguments<'_>) {
    let known = [
        (connection != 0).then(|| format!("connection {connection}")),
        peer.map(|peer| format!("address {peer}")),
        principal.map(|principal| format!("principal {}", Printable::new(principal))),
    ];
    let known = known.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let colon = if known.is_empty() { "" } else { ": " };
    let _ = io::stderr().write_all(format!("mcp: {known}{colon}{text}\n").as_bytes());
}

/// The end of a request or of a task: its kind, the time since the begin, the error.
struct End<'e>(Ended, Duration, Option<&'e str>);

impl fmt::Display for End<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(how, took, error) = self;
        write!(f, "{how} in {:.3} ms", millis(*took))?;
        match error {
            Some(error) => write!(f, ": {}", Printable::new(error)),
            None => Ok(()),
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
