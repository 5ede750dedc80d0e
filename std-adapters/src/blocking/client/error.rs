//! Why a call of a client failed.

use std::{fmt, io};

use mcp_sansio::{OwnedJson, PeerError, Printable, ReadError, SendError, Violation};

use super::transport::ConnectionEnd;
use super::{MAX_LIST, MAX_PAGES};

/// Why a call failed. Each says what to do about it; `Debug` says the same as `Display`, for a
/// `main` that returns it.
#[non_exhaustive]
pub enum Error {
    /// The server could not be started, or not be connected to.
    Start {
        /// The command line, or the name of the connection.
        server: String,
        /// Why.
        error: io::Error,
    },
    /// It was started, and there is no way to speak with it.
    ConnectFailed {
        /// What went wrong.
        why: String,
        /// How it ended then.
        ended: ConnectionEnd,
    },
    /// The connection ended before there was an answer. [`reconnect`](super::Client::reconnect) starts
    /// the server again.
    Closed(ConnectionEnd),
    /// The server answered with an error.
    Server(ServerError),
    /// There was no answer in time. The server has been told that the request is cancelled.
    TimedOut {
        /// The method.
        method: String,
    },
    /// The server wants to know something that the [handler](super::Handler) does not tell. The
    /// result says what.
    InputRequired(OwnedJson),
    /// The answer is none.
    Invalid {
        /// The method.
        method: String,
        /// Why.
        violation: Violation,
    },
    /// The server does not have this method: its revision does not know it, or it did not declare
    /// the capability.
    Unsupported {
        /// The method.
        method: String,
    },
    /// The [handler](super::Handler) panicked when the server wanted to know something for this
    /// call.
    HandlerPanicked {
        /// The method.
        method: String,
    },
    /// The server's list has more than [`MAX_PAGES`](super::MAX_PAGES) pages.
    TooManyPages {
        /// The method.
        method: String,
    },
    /// The pages of the server's list have more than [`MAX_LIST`](super::MAX_LIST) bytes.
    ListTooLong {
        /// The method.
        method: String,
    },
    /// The server's list leads back to a page that was there before.
    RepeatedCursor {
        /// The method.
        method: String,
    },
    /// The call has been waited for already, or was cancelled.
    UnknownCall,
    /// The core refused it and nothing was sent.
    NotSent(SendError),
    /// A result does not fit the type that it should be.
    Read(ReadError),
    /// Reading or writing failed.
    Io(io::Error),
}

/// An error that the server answered with.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerError {
    /// What kind of error.
    pub code: i64,
    /// What the server says about it.
    pub message: String,
    /// What came with it.
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
                    "cannot start `{server}`: no such program: give its path, or install it where PATH leads"
                )
            }
            Self::Start { server, error } => write!(f, "cannot start `{server}`: {error}"),
            Self::ConnectFailed { why, ended } => {
                write!(
                    f,
                    "cannot speak with `{}`: {}",
                    Printable::new(&ended.server),
                    Printable::new(why)
                )?;
                if !ended.stderr.is_empty() {
                    f.write_str("; its last stderr_tail on standard error:")?;
                }
                ended.stderr.iter().try_for_each(|line| write!(f, "\n  {}", Printable::new(line)))
            }
            Self::Closed(ended) => ended.fmt(f),
            Self::Server(fault) => write!(f, "the server answered with an error: {fault}"),
            Self::TimedOut { method } => {
                write!(
                    f,
                    "`{method}` was not answered in time: give it longer (CallOptions::timeout), or ask for progress"
                )
            }
            Self::InputRequired(_) => f.write_str(
                "the server wants to know more before it answers, and the handler did not tell it",
            ),
            Self::Invalid { method, violation } => {
                write!(f, "the answer to `{method}` is invalid: {violation}")
            }
            Self::Unsupported { method } => write!(f, "the server does not offer `{method}`"),
            Self::HandlerPanicked { method } => {
                write!(f, "the handler panicked when the server asked it something for `{method}`")
            }
            Self::TooManyPages { method } => {
                write!(f, "`{method}` has more than {MAX_PAGES} pages")
            }
            Self::ListTooLong { method } => {
                write!(f, "the pages of `{method}` have more than {MAX_LIST} bytes")
            }
            Self::RepeatedCursor { method } => {
                write!(f, "the pages of `{method}` do not end: a cursor leads in a circle")
            }
            Self::UnknownCall => {
                f.write_str("no such call: it has been waited for already, or was cancelled")
            }
            Self::NotSent(error) => error.fmt(f),
            Self::Read(error) => write!(f, "the result is not what it should be: {error}"),
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
