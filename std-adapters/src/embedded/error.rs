//! Errors of a port.

use core::fmt;

use ::embedded_io::ErrorKind;
use mcp_sansio::SendError;

/// An error of a connection on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error<E> {
    /// Reading or writing failed.
    Io(E),
    /// The port accepts no more bytes.
    WriteZero,
    /// The input ended while a call was waiting.
    ConnectionClosed,
    /// The core rejected the message and nothing was sent. The connection can continue.
    NotSent(SendError),
}

impl<E> From<SendError> for Error<E> {
    fn from(error: SendError) -> Self {
        Self::NotSent(error)
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::WriteZero => f.write_str("the port accepts no more bytes"),
            Self::ConnectionClosed => f.write_str("the peer has closed the connection"),
            Self::NotSent(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Error<E> {}

/// Returns whether an error is permanent: further reads would fail too.
pub(super) fn is_closed(error: &impl ::embedded_io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}
