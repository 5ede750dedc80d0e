//! Errors of a client.

use std::{fmt, io};

use mcp_sansio::{Printable, ReadError, SendError};

use super::transport::ConnectionEnd;
use crate::client::{CallError, ConnectError, ToolCallError};

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
    /// A call has no result.
    Call {
        /// The method.
        method: String,
        /// The reason.
        error: CallError,
    },
    /// The result of the call was returned already, or the call was cancelled.
    UnknownCall,
    /// A result does not match the requested type.
    Read(ReadError),
    /// Reading or writing failed.
    Io(io::Error),
}

impl Error {
    pub(super) fn of(method: &str, error: impl Into<CallError>) -> Self {
        Self::Call { method: method.to_owned(), error: error.into() }
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
                write!(f, "cannot connect to `{}`: {why}", Printable::new(&ended.server))?;
                ended.write_stderr(f)
            }
            Self::Closed(ended) => ended.fmt(f),
            Self::Call { method, error: CallError::NotSent(SendError::NotAllowed(_)) } => {
                write!(f, "the server does not support `{method}`")
            }
            // These say enough, or are the server's own words.
            Self::Call {
                error:
                    error @ (CallError::Server(_)
                    | CallError::InputRefused { .. }
                    | CallError::ToolCall(_)
                    | CallError::Skill(_)
                    | CallError::TaskCancelled
                    | CallError::TaskGone(_)
                    | CallError::OtherServer
                    | CallError::NotSent(_)),
                ..
            } => error.fmt(f),
            Self::Call { method, error } => write!(f, "`{method}`: {error}"),
            Self::UnknownCall => {
                f.write_str("unknown call: its result was returned already, or it was cancelled")
            }
            Self::Read(error) => write!(f, "the result does not match its type: {error}"),
            Self::Io(error) => Printable::new(error).fmt(f),
        }
    }
}

mcp_sansio::error_type!(Error, |error| match error {
    Error::Start { error, .. } | Error::Io(error) => Some(error),
    Error::Call { error, .. } => Some(error),
    Error::Read(error) => Some(error),
    _ => None,
});

mcp_sansio::wraps!(Error { Io(io::Error), Read(ReadError) });

impl From<ToolCallError> for Error {
    fn from(error: ToolCallError) -> Self {
        Self::of("tools/call", error)
    }
}
