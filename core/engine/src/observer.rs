//! Events for the observer of a server: connections, requests and failures, for logs and metrics.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use mcp_sansio::tasks::TaskId;
use mcp_sansio::{Printable, Request, ResponseKind, Violation};

use crate::places::PeerAddress;

/// An event of a server. `Copy`, so that an observer can hand it on to several others.
///
/// The texts in it are those of clients and of the application, and may have control characters:
/// print them through [`Printable`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A client has connected.
    Connected {
        /// Number of the connection, unique in the process. Over HTTP, it is that of a session;
        /// requests without a session have the number 0, which never connects.
        connection: u64,
        /// The kind of the connection.
        transport: Transport,
        /// The address of the client, if it is known.
        peer: Option<PeerAddress>,
    },
    /// A request for the application has arrived. Requests that the library responds to by itself,
    /// such as `initialize` and `ping`, are not told.
    Began {
        /// The request.
        request: &'e RequestInfo,
    },
    /// A request that [began](Self::Began) has ended. If it ended as [`Ended::Task`], its handler
    /// goes on until [`TaskEnded`](Self::TaskEnded).
    Ended {
        /// The request.
        request: &'e RequestInfo,
        /// The kind of its end.
        how: Ended,
        /// The error, with what the client is not told; `None` if there was none or nothing is
        /// known of it. At most [`MAX_TEXT`] characters.
        error: Option<&'e str>,
        /// The time since it began.
        took: Duration,
    },
    /// A task has ended, whose creation [`Ended::Task`] told, in this process or in an earlier one.
    TaskEnded {
        /// The id of the task.
        task: TaskId,
        /// Name of the tool.
        tool: &'e str,
        /// The request that became the task; `None` if that was in an earlier process.
        request: Option<&'e RequestInfo>,
        /// The kind of its end.
        how: Ended,
        /// As in [`Ended`](Self::Ended).
        error: Option<&'e str>,
        /// The time since its request began; of an earlier process, since the task was created.
        took: Duration,
    },
    /// A call could not become a task, since its record could not be stored, and goes on as a call.
    StoreFailed {
        /// The request.
        request: &'e RequestInfo,
        /// The error of the store. At most [`MAX_TEXT`] characters.
        error: &'e str,
    },
    /// The library has refused a message that is not a request for the application.
    Refused {
        /// Number of its connection.
        connection: u64,
        /// The address of its client, if it is known.
        peer: Option<PeerAddress>,
        /// The reason.
        why: Refusal,
        /// Where a message that cannot be read is invalid, and its first 60 characters, or the
        /// limit that it exceeds: [`PeerViolation::place`](mcp_sansio::PeerViolation::place).
        place: Option<&'e str>,
    },
    /// A request over HTTP was denied before it began: by the check of its credentials, or since
    /// its principal lacks a scope.
    Denied {
        /// The request, as far as it is known, and the reason.
        denial: &'e Denial,
    },
    /// An envelope of another server of the fleet was not used, or the store of its tasks has
    /// failed.
    FleetFailed {
        /// The reason.
        error: &'e str,
    },
    /// Code of the application that is no handler has panicked. The default panic hook also prints
    /// it to standard error.
    Panicked {
        /// At most [`MAX_TEXT`] characters of the message; empty if the payload is not a string.
        message: &'e str,
    },
    /// A handler has run for this time without ending or waiting, and still runs. Told once for
    /// each `Observer::run`, if the application is watched (`App::watch`).
    Stalled {
        /// The request.
        request: &'e RequestInfo,
        /// The time since the handler ran on.
        after: Duration,
    },
    /// A connection has ended. Its requests [ended](Self::Ended) before.
    Disconnected {
        /// Number of the connection.
        connection: u64,
        /// The reason of its end.
        how: Disconnect<'e>,
        /// The time since it connected.
        after: Duration,
    },
}

/// A request, as long as an observer is told about it.
///
/// The texts are those of the client: print them as the `Display` of this type does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestInfo {
    /// Number of the request, unique in the process.
    pub number: u64,
    /// Number of the connection, unique in the process; 0 over HTTP without a session.
    pub connection: u64,
    /// The address of the client, if it is known.
    pub peer: Option<PeerAddress>,
    /// The subject of the principal (HTTP with authorization). Cut after [`MAX_TEXT`] characters.
    pub principal: Option<String>,
    /// The id that the client has chosen, as JSON text: a number, or a string in quotes.
    pub id: String,
    /// The method. Cut after [`MAX_TEXT`] characters.
    pub method: String,
    /// Name of the tool or prompt, or URI of the resource; empty for other requests. Cut after
    /// [`MAX_TEXT`] characters.
    pub name: String,
    /// The `traceparent` in `_meta` (W3C Trace Context), if it is valid.
    pub traceparent: Option<String>,
    /// The `tracestate` in `_meta`, if it is valid and has at most [`MAX_TRACESTATE`] bytes.
    pub tracestate: Option<String>,
}

impl RequestInfo {
    /// Describes a request, which has this number and came with this id, as JSON text.
    pub fn new(number: u64, connection: u64, id: &str, request: &Request<'_>) -> Self {
        let name = request.name().or_else(|| request.uri());
        Self {
            number,
            connection,
            peer: None,
            principal: None,
            id: id.to_owned(),
            method: cut(&request.method),
            name: name.map(|name| cut(&name)).unwrap_or_default(),
            traceparent: request.traceparent().map(|text| cut(&text)),
            tracestate: request
                .tracestate()
                .filter(|text| text.len() <= MAX_TRACESTATE)
                .map(str::to_owned),
        }
    }
}

/// Writes the method, the name and the id on one line.
impl fmt::Display for RequestInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_title(f, &self.method, &self.name)?;
        write!(f, " (id {})", Printable::new(&self.id))
    }
}

fn write_title(f: &mut fmt::Formatter<'_>, method: &str, name: &str) -> fmt::Result {
    write!(f, "{}", Printable::new(method))?;
    match name {
        "" => Ok(()),
        name => write!(f, " {}", Printable::new(name)),
    }
}

/// A request over HTTP that was denied. The texts have at most [`MAX_TEXT`] characters.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct Denial {
    /// The address of the client, if it is known.
    pub peer: Option<PeerAddress>,
    /// The subject of the principal; `None` if the credentials were not accepted.
    pub principal: Option<String>,
    /// The method of the request, or of the first request of a batch. Empty if the credentials were
    /// not accepted: nothing of the body is read then.
    pub method: String,
    /// Name of the tool or prompt, or URI of the resource; empty for other requests.
    pub name: String,
    /// The HTTP status: 401, 403, 404 for the session of a fleet, 400 or 503.
    pub status: u16,
    /// The scopes that the principal lacks, separated by spaces; empty if none is to be had.
    pub missing_scope: String,
    /// The reason.
    pub error: String,
}

/// Writes the method, the name and that it was denied.
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.method.is_empty() {
            write_title(f, &self.method, &self.name)?;
            f.write_str(": ")?;
        }
        f.write_str("denied")
    }
}

/// Writes at most [`MAX_TEXT`] characters of a text.
pub fn cut(text: &dyn fmt::Display) -> String {
    struct Cut(String, usize);

    impl fmt::Write for Cut {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for c in text.chars() {
                self.1 = self.1.checked_sub(1).ok_or(fmt::Error)?;
                self.0.push(c);
            }
            Ok(())
        }
    }

    let mut cut = Cut(String::new(), MAX_TEXT);
    // Fails at the limit, so that no more of a long text is read.
    let _ = fmt::write(&mut cut, format_args!("{text}"));
    cut.0
}

/// The kind of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Transport {
    /// Standard input and output.
    Stdio,
    /// Another stream: a socket, a pipe.
    Stream,
    /// HTTP.
    Http,
    /// A client in the same process, for tests.
    Memory,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio => "stdio",
            Self::Stream => "stream",
            Self::Http => "HTTP",
            Self::Memory => "memory",
        })
    }
}

/// The end of a request, or of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// The client gets a result.
    Responded,
    /// The client gets a result with `isError`.
    ToolFailed,
    /// The client is asked for input, and sends another request with it (2026-07-28).
    InputRequired,
    /// The client gets this task, which goes on.
    Task(TaskId),
    /// The client gets an error with this code.
    Error(i32),
    /// The library has refused it (-32603).
    Refused(Refusal),
    /// The client cancelled it.
    Cancelled,
    /// It was open longer than
    /// [`request_timeout`](mcp_sansio::ServerConfig::request_timeout).
    TimedOut,
    /// The time of the task is over.
    Expired,
    /// The handler panicked.
    Panicked,
    /// The connection ended before.
    Gone,
    /// The task was running when the server shut down.
    ShutDown,
}

impl Ended {
    /// Returns whether the request failed, not by the will of the client.
    pub const fn is_failure(self) -> bool {
        !matches!(
            self,
            Self::Responded | Self::InputRequired | Self::Task(_) | Self::Cancelled | Self::Gone
        )
    }
}

impl From<ResponseKind> for Ended {
    fn from(kind: ResponseKind) -> Self {
        match kind {
            ResponseKind::ToolFailed => Self::ToolFailed,
            ResponseKind::InputRequired => Self::InputRequired,
            ResponseKind::Error(code) => Self::Error(code),
            _ => Self::Responded,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Responded => "responded",
            Self::ToolFailed => "tool failed",
            Self::InputRequired => "input required",
            Self::Task(task) => return write!(f, "became task {task}"),
            Self::Error(code) => return write!(f, "error {code}"),
            Self::Refused(why) => return write!(f, "refused: {why}"),
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed out",
            Self::Expired => "expired",
            Self::Panicked => "panicked",
            Self::Gone => "connection ended",
            Self::ShutDown => "server shut down",
        })
    }
}

/// The reason why the library has refused a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The client violated the protocol.
    Violation(Violation),
    /// Too many requests are in flight.
    Limit,
    /// The application is shutting down.
    ShuttingDown,
}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Self {
        match violation {
            Violation::TooManyRequests => Self::Limit,
            other => Self::Violation(other),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Violation(violation) => violation.fmt(f),
            Self::Limit => f.write_str("too many requests in flight"),
            Self::ShuttingDown => f.write_str("shutting down"),
        }
    }
}

/// The end of a connection, or of a session over HTTP.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Disconnect<'e> {
    /// The client closed it.
    Closed,
    /// The client deleted its session (HTTP).
    Deleted,
    /// It was idle too long.
    Idle,
    /// The client did not respond to a ping.
    Unresponsive,
    /// Its session made room for another one: the client had not sent `notifications/initialized`,
    /// or had used it least recently (HTTP).
    Replaced,
    /// The application has shut down.
    ShutDown,
    /// Reading or writing failed, or the application returned an error.
    Failed(&'e (dyn core::error::Error + Send + Sync)),
}

impl fmt::Display for Disconnect<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed by the client"),
            Self::Deleted => f.write_str("deleted by the client"),
            Self::Idle => f.write_str("idle"),
            Self::Unresponsive => f.write_str("no response to a ping"),
            Self::Replaced => f.write_str("replaced by another session"),
            Self::ShutDown => f.write_str("shut down"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

/// Maximum number of characters of a text that an observer is told.
pub const MAX_TEXT: usize = 256;
/// Maximum number of bytes of [`RequestInfo::tracestate`]. Longer ones are left out.
pub const MAX_TRACESTATE: usize = 512;
