//! Errors that say that the other side is gone.

use std::io::{self, ErrorKind};

/// Returns whether the other side has closed the stream.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionReset | ConnectionAborted)
}
