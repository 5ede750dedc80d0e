//! Errors of the codec.

use core::fmt;

/// Invalid or unsupported HTTP. Respond with its status and close the connection, since the start
/// of the next message is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HttpError {
    status: u16,
    reason: &'static str,
}

impl HttpError {
    pub(super) const fn new(status: u16, reason: &'static str) -> Self {
        Self { status, reason }
    }

    pub(super) const fn bad(reason: &'static str) -> Self {
        Self::new(400, reason)
    }

    pub(super) const TRUNCATED: Self = Self::bad("the connection ended within a message");

    /// The status that a server responds with.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.status
    }
}

impl HttpError {
    /// A description of the error.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        self.reason
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl core::error::Error for HttpError {}
