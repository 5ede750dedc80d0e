//! What can go wrong in a call.

use std::fmt;

use mcp_sansio::{OwnedJson, PeerError, Printable, SendError, Violation};

use super::input::InputRefusal;

/// Why a call has no result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error.
    Server(ServerError),
    /// The server could not be spoken with.
    ConnectFailed(ConnectError),
    /// It was not sent: the server did not declare what it needs, its revision does not know the
    /// method, or the parameters cannot be written.
    NotSent(SendError),
    /// The answer is none: of an unknown kind, longer than the longest line, or asking for what was
    /// not declared.
    Invalid(Violation),
    /// The server wanted to know something first, and was not told (2026-07-28).
    InputRefused(InputRefusal),
    /// No answer in time. The server has been told that it is not wanted any more.
    TimedOut,
    /// A list with more pages than [`MAX_PAGES`](super::MAX_PAGES).
    TooManyPages,
    /// A list with more bytes than [`Connector::max_list`](super::Connector::max_list).
    ListTooLong,
    /// A page of a list names a cursor that another page of it has named: the list would have no
    /// end.
    RepeatedCursor,
    /// The connection has ended.
    Closed,
}

/// An error of the server's.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerError {
    /// Its number.
    pub code: i64,
    /// One short sentence.
    pub message: String,
    /// What came with it.
    pub data: Option<OwnedJson>,
}

/// Why a server could not be spoken with: an [`mcp_sansio::ConnectError`] that is kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// It refused.
    Refused(ServerError),
    /// It speaks no revision that we speak. These are its own, where it said so.
    NoCommonRevision(Option<OwnedJson>),
    /// Its answer is none.
    Invalid(Violation),
    /// It did not answer in time.
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
            Self::Refused(error) => write!(f, "the server refused to begin: {error}"),
            Self::NoCommonRevision(Some(theirs)) => {
                write!(
                    f,
                    "no common revision: the server speaks {}",
                    Printable::new(theirs.as_raw())
                )
            }
            Self::NoCommonRevision(None) => f.write_str("no common revision"),
            Self::Invalid(violation) => write!(f, "the server's answer is invalid: {violation}"),
            Self::TimedOut => f.write_str("the server did not answer in time"),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => error.fmt(f),
            Self::ConnectFailed(failure) => failure.fmt(f),
            Self::NotSent(error) => error.fmt(f),
            Self::Invalid(violation) => write!(f, "the server's answer is invalid: {violation}"),
            Self::InputRefused(refusal) => {
                write!(f, "the server's question was not answered: {refusal}")
            }
            Self::TimedOut => f.write_str("the server did not answer in time"),
            Self::TooManyPages => f.write_str("the list has too many pages"),
            Self::ListTooLong => {
                f.write_str("the list is longer than what is kept (Connector::max_list)")
            }
            Self::RepeatedCursor => f.write_str(
                "the list goes round in circles: a page names a cursor that was there before",
            ),
            Self::Closed => f.write_str("the connection has ended"),
        }
    }
}

impl std::error::Error for ServerError {}
impl std::error::Error for ConnectError {}
impl std::error::Error for CallError {}
