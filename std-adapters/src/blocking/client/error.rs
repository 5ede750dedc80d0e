//! Errors of a client.

use std::{fmt, io};

use mcp_sansio::{OwnedJson, PeerError, Printable, ReadError, SendError, Violation};

use super::transport::ConnectionEnd;
use super::{MAX_LIST, MAX_PAGES};

/// An error of a client. `Debug` prints the same as `Display`, for a `main` that returns it.
#[non_exhaustive]
pub enum Error {
    /// The server could not be started, or the transport could not connect.
    Start {
        /// The command line, or the name of the transport.
        server: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The transport is connected, but neither `server/discover` nor `initialize` succeeded.
    ConnectFailed {
        /// The reason.
        why: String,
        /// How the connection ended then.
        ended: ConnectionEnd,
    },
    /// The connection ended before the response came. [`reconnect`](super::Client::reconnect)
    /// starts the server again.
    Closed(ConnectionEnd),
    /// The server responded with an error.
    Server(ServerError),
    /// No response came in time. The call has been cancelled.
    TimedOut {
        /// The method.
        method: String,
    },
    /// The server requires input that the [handler](super::Handler) refused to give. Contains the
    /// `InputRequiredResult`.
    InputRequired(OwnedJson),
    /// The response is invalid.
    Invalid {
        /// The method.
        method: String,
        /// The rule that it violates.
        violation: Violation,
    },
    /// The server does not support the method: its revision does not have it, or it did not declare
    /// the capability. Nothing was sent.
    Unsupported {
        /// The method.
        method: String,
    },
    /// The [handler](super::Handler) panicked on an input request for this call.
    HandlerPanicked {
        /// The method.
        method: String,
    },
    /// The list has more than [`MAX_PAGES`](super::MAX_PAGES) pages.
    TooManyPages {
        /// The method.
        method: String,
    },
    /// The pages of the list have more than [`MAX_LIST`](super::MAX_LIST) bytes.
    ListTooLong {
        /// The method.
        method: String,
    },
    /// A cursor of the list leads back to an earlier page.
    RepeatedCursor {
        /// The method.
        method: String,
    },
    /// The result of the call was returned already, or the call was cancelled.
    UnknownCall,
    /// The core rejected the message and nothing was sent.
    NotSent(SendError),
    /// A result does not match the requested type.
    Read(ReadError),
    /// The tool failed (`isError`), with this text for a model.
    ToolFailed {
        /// The first block of text.
        why: String,
    },
    /// The structured content of a result is missing or not of its type.
    InvalidOutput {
        /// The name of the tool.
        tool: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// Reading or writing failed.
    Io(io::Error),
}

/// Error response of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerError {
    /// Error code, see [`ErrorCode`](mcp_sansio::ErrorCode).
    pub code: i64,
    /// Error message.
    pub message: String,
    /// Additional data.
    pub data: Option<OwnedJson>,
}

impl From<PeerError<'_>> for ServerError {
    fn from(error: PeerError<'_>) -> Self {
        let message = error.message().map(|message| message.to_string()).unwrap_or_default();
        Self { code: error.code(), message, data: error.data().map(OwnedJson::from) }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", Printable::new(&self.message), self.code)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { server, error } if error.kind() == io::ErrorKind::NotFound => {
                write!(
                    f,
                    "cannot start `{server}`: no such program: give its path, or install it in a directory of PATH"
                )
            }
            Self::Start { server, error } => write!(f, "cannot start `{server}`: {error}"),
            Self::ConnectFailed { why, ended } => {
                write!(
                    f,
                    "cannot connect to `{}`: {}",
                    Printable::new(&ended.server),
                    Printable::new(why)
                )?;
                if !ended.stderr.is_empty() {
                    f.write_str("; the last lines of its standard error:")?;
                }
                ended.stderr.iter().try_for_each(|line| write!(f, "\n  {}", Printable::new(line)))
            }
            Self::Closed(ended) => ended.fmt(f),
            Self::Server(error) => write!(f, "the server responded with an error: {error}"),
            Self::TimedOut { method } => {
                write!(
                    f,
                    "`{method}` got no response in time: use a longer CallOptions::timeout, or request progress"
                )
            }
            Self::InputRequired(_) => {
                f.write_str("the server requires input that the handler refused")
            }
            Self::Invalid { method, violation } => {
                write!(f, "the response to `{method}` is invalid: {violation}")
            }
            Self::Unsupported { method } => write!(f, "the server does not support `{method}`"),
            Self::HandlerPanicked { method } => {
                write!(f, "the handler panicked on an input request for `{method}`")
            }
            Self::TooManyPages { method } => {
                write!(f, "`{method}` has more than {MAX_PAGES} pages")
            }
            Self::ListTooLong { method } => {
                write!(f, "the pages of `{method}` have more than {MAX_LIST} bytes")
            }
            Self::RepeatedCursor { method } => {
                write!(f, "the pages of `{method}` repeat: a cursor leads back to an earlier page")
            }
            Self::UnknownCall => {
                f.write_str("unknown call: its result was returned already, or it was cancelled")
            }
            Self::NotSent(error) => error.fmt(f),
            Self::Read(error) => write!(f, "the result does not match its type: {error}"),
            Self::ToolFailed { why } => write!(f, "the tool failed: {}", Printable::new(why)),
            Self::InvalidOutput { tool, why } => write!(f, "`{tool}`: {}", Printable::new(why)),
            Self::Io(error) => Printable::new(error).fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start { error, .. } | Self::Io(error) => Some(error),
            Self::NotSent(error) => Some(error),
            Self::Read(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        Self::NotSent(error)
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}
