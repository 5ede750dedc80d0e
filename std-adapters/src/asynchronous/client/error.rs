//! Errors of calls.

use std::fmt;

use mcp_sansio::{OwnedJson, PeerError, Printable, SendError, Violation};

use super::input::InputRefusal;

/// The reason why a call has no result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The server responded with an error.
    Server(ServerError),
    /// `initialize` or `server/discover` failed.
    ConnectFailed(ConnectError),
    /// The request was not sent: the server did not declare the capability that it needs, the
    /// revision does not have the method, or the parameters are invalid.
    NotSent(SendError),
    /// The response is invalid: of an unknown type, longer than
    /// [`Connector::max_line`](super::Connector::max_line), or with an input request whose
    /// capability the client did not declare.
    Invalid(Violation),
    /// The server requested input first, and the handler refused it (2026-07-28).
    InputRefused(InputRefusal),
    /// The call timed out. The server has been notified that it is cancelled.
    TimedOut,
    /// The list has more pages than [`MAX_PAGES`](super::MAX_PAGES).
    TooManyPages,
    /// The list has more bytes than [`Connector::max_list`](super::Connector::max_list).
    ListTooLong,
    /// A page of the list has the same `nextCursor` as an earlier page, so the list would never
    /// end.
    RepeatedCursor,
    /// The connection has ended.
    Closed,
}

/// A JSON-RPC error of the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerError {
    /// Code of the error.
    pub code: i64,
    /// Message of the error.
    pub message: String,
    /// Member `data` of the error.
    pub data: Option<OwnedJson>,
}

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
}

impl From<PeerError<'_>> for ServerError {
    fn from(error: PeerError<'_>) -> Self {
        let message = error.message().map_or_else(String::new, |message| message.to_string());
        Self { code: error.code(), message, data: error.data().map(OwnedJson::from) }
    }
}

impl From<mcp_sansio::ConnectError<'_>> for ConnectError {
    fn from(error: mcp_sansio::ConnectError<'_>) -> Self {
        match error {
            mcp_sansio::ConnectError::Refused(error) => Self::Refused(error.into()),
            mcp_sansio::ConnectError::NoCommonRevision(theirs) => {
                Self::NoCommonRevision(theirs.map(OwnedJson::from))
            }
            mcp_sansio::ConnectError::Invalid(violation) => Self::Invalid(violation),
            _ => Self::TimedOut,
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", Printable::new(&self.message), self.code)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "connecting failed: {error}"),
            Self::NoCommonRevision(Some(theirs)) => {
                write!(
                    f,
                    "no common revision: the server supports {}",
                    Printable::new(theirs.as_raw())
                )
            }
            Self::NoCommonRevision(None) => f.write_str("no common revision"),
            Self::Invalid(violation) => write!(f, "invalid response: {violation}"),
            Self::TimedOut => f.write_str("request timed out"),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => error.fmt(f),
            Self::ConnectFailed(failure) => failure.fmt(f),
            Self::NotSent(error) => error.fmt(f),
            Self::Invalid(violation) => write!(f, "invalid response: {violation}"),
            Self::InputRefused(refusal) => {
                write!(f, "input request refused: {refusal}")
            }
            Self::TimedOut => f.write_str("request timed out"),
            Self::TooManyPages => f.write_str("the list has too many pages"),
            Self::ListTooLong => f.write_str("the list is longer than Connector::max_list"),
            Self::RepeatedCursor => {
                f.write_str("the list never ends: a page repeats an earlier cursor")
            }
            Self::Closed => f.write_str("the connection has ended"),
        }
    }
}

impl std::error::Error for ServerError {}
impl std::error::Error for ConnectError {}
impl std::error::Error for CallError {}
