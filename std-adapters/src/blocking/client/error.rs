//! Errors of a client.

use std::{fmt, io};

use mcp_sansio::{OwnedJson, Printable, ReadError, SendError, SkillError, Violation};

use super::transport::ConnectionEnd;
#[cfg(feature = "http")]
use crate::client::HttpError;
use crate::client::{ConnectError, ListError, ServerError, ToolCallError};

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
        why: ConnectError,
        /// The end of the connection after that.
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
    /// The request failed in HTTP.
    #[cfg(feature = "http")]
    Http {
        /// The method.
        method: String,
        /// The reason.
        error: HttpError,
    },
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
    /// The task of the call was cancelled, by the server or by another client.
    TaskCancelled,
    /// The server does not have the task of the call any more.
    TaskGone(mcp_sansio::TaskGone),
    /// The [task](super::TaskRef) belongs to another server, or to another protocol revision.
    OtherServer,
    /// A list was not read to its end.
    List {
        /// The method.
        method: &'static str,
        /// The reason.
        error: ListError,
    },
    /// The result of the call was returned already, or the call was cancelled.
    UnknownCall,
    /// The core rejected the message and nothing was sent.
    NotSent(SendError),
    /// A result does not match the requested type.
    Read(ReadError),
    /// The result of [`call`](super::Client::call) has no output.
    ToolCall(ToolCallError),
    /// A skill or a file of it must not be used.
    Skill(SkillError),
    /// Reading or writing failed.
    Io(io::Error),
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
                write!(f, "cannot connect to `{}`: {why}", Printable::new(&ended.server))?;
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
            #[cfg(feature = "http")]
            Self::Http { method, error } => write!(f, "`{method}` failed: {error}"),
            Self::Invalid { method, violation } => {
                write!(f, "the response to `{method}` is invalid: {violation}")
            }
            Self::Unsupported { method } => write!(f, "the server does not support `{method}`"),
            Self::HandlerPanicked { method } => {
                write!(f, "the handler panicked on an input request for `{method}`")
            }
            Self::TaskCancelled => f.write_str("the task was cancelled"),
            Self::TaskGone(why) => why.fmt(f),
            Self::OtherServer => f.write_str("the task belongs to another server or revision"),
            Self::List { method, error } => write!(f, "`{method}`: {error}"),
            Self::UnknownCall => {
                f.write_str("unknown call: its result was returned already, or it was cancelled")
            }
            Self::NotSent(error) => error.fmt(f),
            Self::Read(error) => write!(f, "the result does not match its type: {error}"),
            Self::ToolCall(error) => error.fmt(f),
            Self::Skill(error) => error.fmt(f),
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

impl From<ToolCallError> for Error {
    fn from(error: ToolCallError) -> Self {
        Self::ToolCall(error)
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<SkillError> for Error {
    fn from(error: SkillError) -> Self {
        Self::Skill(error)
    }
}
