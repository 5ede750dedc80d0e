//! Errors of a connection.

use core::fmt;

use ::embedded_io_async::ErrorKind;

/// An error of a connection. `R` and `W` are the errors of its reader and its writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error<R, W> {
    /// Reading failed permanently.
    Read(R),
    /// Writing failed.
    Write(W),
    /// The writer accepts no more bytes.
    WriteZero,
    /// The connection serves another port already.
    InUse,
}

impl<R: fmt::Display, W: fmt::Display> fmt::Display for Error<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
            Self::WriteZero => f.write_str("the port accepts no more bytes"),
            Self::InUse => f.write_str("a connection serves one port at a time"),
        }
    }
}

impl<R: core::error::Error, W: core::error::Error> core::error::Error for Error<R, W> {}

/// Returns whether an error is permanent: further reads would fail too.
pub(super) fn is_permanent(kind: ErrorKind) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}
