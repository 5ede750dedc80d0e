//! What a peer's HTTP can be.

use core::fmt;

/// Why bytes are not taken as HTTP. Answer with its status and close the connection: where the next
/// message would begin is not known.
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

    pub(super) const TRUNCATED: Self = Self::bad("the connection ended in the middle of a message");

    /// What a server answers it with.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.status
    }
}

impl HttpError {
    /// What is wrong.
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
