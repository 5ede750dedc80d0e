//! Connections that failed.

use std::fmt;

use mcp_sansio::{OwnedJson, Printable, Violation};

#[cfg(feature = "http")]
use super::HttpError;
use super::ServerError;

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

impl std::error::Error for ConnectError {}
