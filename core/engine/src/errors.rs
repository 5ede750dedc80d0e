//! Why there is no connection, and why a call has no result.

#[cfg(feature = "http")]
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;
#[cfg(all(feature = "http", feature = "std"))]
use std::io::{self, ErrorKind};

#[cfg(feature = "http")]
use mcp_sansio::http::client::HttpFailure;
use mcp_sansio::{Encode, Encoder, OwnedJson, PeerError, Printable, Violation};

/// Error response of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ServerError {
    /// Error code, see [`ErrorCode`](mcp_sansio::ErrorCode).
    pub code: i64,
    /// Error message.
    pub message: String,
    /// Additional data.
    pub data: Option<OwnedJson>,
}

impl From<PeerError<'_>> for ServerError {
    fn from(error: PeerError<'_>) -> Self {
        let message = error.message().map(|message| message.to_string()).unwrap_or_default();
        Self { code: error.code(), message, data: error.data().map(OwnedJson::from) }
    }
}

impl ServerError {
    /// Returns the error object.
    #[must_use]
    pub fn to_json(&self) -> OwnedJson {
        let json = OwnedJson::new(self, mcp_sansio::Revision::LATEST);
        json.unwrap_or_else(|_| mcp_sansio::RawJson::EMPTY.into())
    }
}

impl Encode for ServerError {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("code", &self.code);
        to.member("message", self.message.as_str());
        if let Some(data) = &self.data {
            to.member("data", data);
        }
        to.end_object();
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", Printable::new(&self.message), self.code)
    }
}

impl core::error::Error for ServerError {}

/// The reason why connecting failed: an owned [`mcp_sansio::ConnectError`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The server responded with an error.
    Refused(ServerError),
    /// The server supports no revision that the client supports. The value is the server's list of
    /// revisions, if it sent one.
    NoCommonRevision(Option<OwnedJson>),
    /// The response is not a valid result.
    Invalid(Violation),
    /// The server did not respond in time.
    TimedOut,
    /// The request failed in HTTP.
    #[cfg(feature = "http")]
    Http(HttpError),
}

impl From<mcp_sansio::ConnectError<'_>> for ConnectError {
    fn from(error: mcp_sansio::ConnectError<'_>) -> Self {
        match error {
            mcp_sansio::ConnectError::Refused(error) => Self::Refused(error.into()),
            mcp_sansio::ConnectError::NoCommonRevision(theirs) => {
                Self::NoCommonRevision(theirs.map(OwnedJson::from))
            }
            mcp_sansio::ConnectError::Invalid(violation) => Self::Invalid(violation),
            #[cfg(feature = "http")]
            mcp_sansio::ConnectError::Http(failure) => Self::Http(failure.into()),
            _ => Self::TimedOut,
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the server rejected the connection: {error}"),
            Self::NoCommonRevision(Some(theirs)) => {
                write!(
                    f,
                    "no common revision: the server supports {}",
                    Printable::new(theirs.as_raw())
                )
            }
            Self::NoCommonRevision(None) => f.write_str("no common revision"),
            Self::Invalid(violation) => {
                write!(f, "the response of the server is invalid: {violation}")
            }
            Self::TimedOut => f.write_str("the server did not respond in time"),
            #[cfg(feature = "http")]
            Self::Http(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ConnectError {}

#[cfg(feature = "http")]
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

#[cfg(feature = "http")]
impl HttpError {
    /// Returns the error as the core has it.
    #[must_use]
    pub fn as_core(&self) -> HttpFailure<'_> {
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

#[cfg(feature = "http")]
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
#[cfg(all(feature = "http", feature = "std"))]
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

#[cfg(feature = "http")]
impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_core().fmt(f)
    }
}

#[cfg(feature = "http")]
impl core::error::Error for HttpError {}
