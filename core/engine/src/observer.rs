//! Events for the observer of a server: connections, requests and failures, for logs and metrics.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use core::fmt;
use core::time::Duration;

use mcp_sansio::{Request, ResponseKind, ToolError, Violation};

/// An event of a server. `Copy`, so that an observer can hand it on to several others.
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
    },
    /// A request for the application has arrived. Requests that the library responds to by itself,
    /// such as `initialize` and `ping`, are not told.
    Began {
        /// The request.
        request: &'e RequestInfo,
    },
    /// A request that [began](Self::Began) has ended.
    Ended {
        /// The request.
        request: &'e RequestInfo,
        /// The kind of its end.
        how: Ended,
        /// The time since it began.
        took: Duration,
    },
    /// The library has refused a message.
    Refused {
        /// Number of its connection.
        connection: u64,
        /// `None` if the message is not a request for the application; otherwise
        /// [`Ended`](Self::Ended) follows.
        request: Option<&'e RequestInfo>,
        /// The reason.
        why: Refusal,
    },
    /// A handler has returned an error, or its arguments are invalid. [`Ended`](Self::Ended)
    /// follows.
    Failed {
        /// The request.
        request: &'e RequestInfo,
        /// The error, whose `Display` has what the client is not told.
        error: &'e ToolError<'e>,
    },
    /// Code of the application has panicked. The default panic hook also prints it to standard
    /// error.
    Panicked {
        /// The request whose handler panicked; `None` for other code.
        request: Option<&'e RequestInfo>,
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
/// The texts are those of the client, and may have control characters: print them as the `Display`
/// of this type does, through [`Printable`](mcp_sansio::Printable).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestInfo {
    /// Number of the request, unique in the process.
    pub number: u64,
    /// Number of the connection, unique in the process; 0 over HTTP without a session.
    pub connection: u64,
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
        let printable = mcp_sansio::Printable::new;
        write!(f, "{}", printable(&self.method))?;
        if !self.name.is_empty() {
            write!(f, " {}", printable(&self.name))?;
        }
        write!(f, " (id {})", printable(&self.id))
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

/// The end of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Ended {
    /// The client gets a result.
    Responded,
    /// The client gets a result with `isError`.
    ToolFailed,
    /// The client is asked for input, and sends another request with it (2026-07-28).
    InputRequired,
    /// The client gets an error with this code.
    Error(i32),
    /// The client cancelled it.
    Cancelled,
    /// It was open longer than
    /// [`request_timeout`](mcp_sansio::ServerConfig::request_timeout).
    TimedOut,
    /// The handler panicked.
    Panicked,
    /// The connection ended before.
    Gone,
}

impl Ended {
    /// Returns whether the request failed, not by the will of the client.
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::ToolFailed | Self::Error(_) | Self::TimedOut | Self::Panicked)
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
            Self::Error(code) => return write!(f, "error {code}"),
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed out",
            Self::Panicked => "panicked",
            Self::Gone => "connection ended",
        })
    }
}

/// The reason why the library has refused a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// The client violated the protocol.
    Violation(Violation),
    /// A name, a URI, a cursor or arguments are invalid: the catalog has responded.
    InvalidParams,
    /// Too many requests are in flight.
    Limit,
    /// The application is shutting down.
    ShuttingDown,
    /// The function that authorizes HTTP requests has denied one, or has panicked.
    Unauthorized,
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
            Self::InvalidParams => f.write_str("invalid parameters"),
            Self::Limit => f.write_str("too many requests in flight"),
            Self::ShuttingDown => f.write_str("shutting down"),
            Self::Unauthorized => f.write_str("unauthorized"),
        }
    }
}

/// The end of a connection.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Disconnect<'e> {
    /// The client closed it.
    Closed,
    /// It was idle too long.
    Idle,
    /// The client did not respond to a ping.
    Unresponsive,
    /// The application has shut down.
    ShutDown,
    /// A session over HTTP has ended: the client deleted it, it was idle too long or made room for
    /// another one, or the application has shut down.
    SessionEnded,
    /// Reading or writing failed, or the application returned an error.
    Failed(&'e (dyn core::error::Error + Send + Sync)),
}

impl fmt::Display for Disconnect<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed by the client"),
            Self::Idle => f.write_str("idle"),
            Self::Unresponsive => f.write_str("no response to a ping"),
            Self::ShutDown => f.write_str("shut down"),
            Self::SessionEnded => f.write_str("session ended"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

/// Maximum number of characters of a text that an observer is told.
pub const MAX_TEXT: usize = 256;
/// Maximum number of bytes of [`RequestInfo::tracestate`]. Longer ones are left out.
pub const MAX_TRACESTATE: usize = 512;
