//! What can go wrong in a session over blocking input and output.

use std::{fmt, io};

use mcp_sansio::SendError;

/// Why a session's call failed.
#[derive(Debug)]
pub enum Error {
    /// Reading or writing failed.
    Io(io::Error),
    /// The core refused it and nothing was sent: the protocol forbids it now, a table is full, or
    /// the value cannot be written. The session can go on; a handler that returns it ends the
    /// session.
    Send(SendError),
}

impl Error {
    /// Whether the client has closed its end.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Send(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::Io(error) => error,
            Self::Send(error) => error,
        })
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        Self::Send(error)
    }
}
