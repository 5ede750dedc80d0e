//! Requests that failed in HTTP.

use std::fmt;
use std::io::{self, ErrorKind};

use mcp_sansio::http::client::HttpFailure;

/// The reason why a call got no response over HTTP: an owned [`HttpFailure`]. `Display` says what
/// happened and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HttpError {
    /// An HTTP error status.
    Status(u16),
    /// Status 401 or 403.
    Unauthorized {
        /// 401: authentication required; 403: insufficient permissions.
        status: u16,
        /// The value of `WWW-Authenticate`; empty if the server sent none.
        challenge: String,
    },
    /// The client could not get the permission that the server asks for, for this reason.
    NotAuthorized(String),
    /// There is no connection, for this reason. Nothing was sent.
    NotConnected(String),
    /// The connection ended before the response.
    ConnectionLost,
    /// The response is invalid, or the request cannot be sent.
    Invalid(String),
}

impl HttpError {
    pub(crate) fn as_core(&self) -> HttpFailure<'_> {
        match self {
            Self::Status(status) => HttpFailure::Status(*status),
            Self::Unauthorized { status, challenge } => {
                HttpFailure::Unauthorized { status: *status, challenge }
            }
            Self::NotAuthorized(reason) => HttpFailure::NotAuthorized(reason),
            Self::NotConnected(reason) => HttpFailure::NotConnected(reason),
            Self::ConnectionLost => HttpFailure::ConnectionLost,
            Self::Invalid(reason) => HttpFailure::Invalid(reason),
        }
    }
}

impl From<HttpFailure<'_>> for HttpError {
    fn from(failure: HttpFailure<'_>) -> Self {
        match failure {
            HttpFailure::Status(status) => Self::Status(status),
            HttpFailure::Unauthorized { status, challenge } => {
                Self::Unauthorized { status, challenge: challenge.to_owned() }
            }
            HttpFailure::NotAuthorized(reason) => Self::NotAuthorized(reason.to_owned()),
            HttpFailure::NotConnected(reason) => Self::NotConnected(reason.to_owned()),
            HttpFailure::ConnectionLost => Self::ConnectionLost,
            other => Self::Invalid(other.to_string()),
        }
    }
}

/// An error of a connection that was made.
impl From<io::Error> for HttpError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe => Self::ConnectionLost,
            _ => Self::Invalid(error.to_string()),
        }
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_core().fmt(f)
    }
}

impl std::error::Error for HttpError {}
