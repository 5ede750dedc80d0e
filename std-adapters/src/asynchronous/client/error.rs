//! Errors of calls.

use std::fmt;

use mcp_sansio::{Printable, SendError, SkillError, Violation};

use super::input::InputRefusal;
#[cfg(feature = "http")]
use crate::client::HttpError;
use crate::client::{ConnectError, ListError, ServerError, ToolCallError};

/// The reason why a call has no result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The server responded with an error.
    Server(ServerError),
    /// `initialize` or `server/discover` failed.
    ConnectFailed {
        /// The URL of the server, if it has one.
        server: Option<String>,
        /// The reason.
        why: ConnectError,
    },
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
    /// A list was not read to its end.
    List(ListError),
    /// The result of [`call`](super::Client::call) has no output.
    ToolCall(ToolCallError),
    /// The task of the call was cancelled, by the server or by another client.
    TaskCancelled,
    /// The server does not have the task of the call any more.
    TaskGone(mcp_sansio::TaskGone),
    /// The [task](super::TaskRef) belongs to another server, or to another protocol revision.
    OtherServer,
    /// A skill or a file of it must not be used.
    Skill(SkillError),
    /// The connection has ended.
    Closed,
    /// The request failed in HTTP.
    #[cfg(feature = "http")]
    Http(HttpError),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => error.fmt(f),
            Self::ConnectFailed { server: Some(server), why } => {
                write!(f, "cannot connect to `{}`: {why}", Printable::new(server))
            }
            Self::ConnectFailed { server: None, why } => write!(f, "cannot connect: {why}"),
            Self::NotSent(error) => error.fmt(f),
            Self::Invalid(violation) => write!(f, "invalid response: {violation}"),
            Self::InputRefused(refusal) => {
                write!(f, "input request refused: {refusal}")
            }
            Self::TimedOut => f.write_str("request timed out"),
            Self::List(error) => error.fmt(f),
            Self::ToolCall(error) => error.fmt(f),
            Self::TaskCancelled => f.write_str("the task was cancelled"),
            Self::TaskGone(why) => why.fmt(f),
            Self::OtherServer => f.write_str("the task belongs to another server or revision"),
            Self::Skill(error) => error.fmt(f),
            Self::Closed => f.write_str("the connection has ended"),
            #[cfg(feature = "http")]
            Self::Http(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CallError {}

impl From<mcp_sansio_engine::CallError> for CallError {
    fn from(error: mcp_sansio_engine::CallError) -> Self {
        use mcp_sansio_engine::CallError as E;
        match error {
            E::Server(error) => Self::Server(error),
            E::TimedOut => Self::TimedOut,
            E::InputRefused { refusal, .. } => Self::InputRefused(refusal.into()),
            E::Invalid(violation) => Self::Invalid(violation),
            E::Read(_) => Self::Invalid(Violation::InvalidResult),
            E::TaskCancelled => Self::TaskCancelled,
            E::TaskGone(why) => Self::TaskGone(why),
            E::NotSent(error) => Self::NotSent(error),
            #[cfg(feature = "http")]
            E::Http(error) => Self::Http(error),
            _ => Self::Closed,
        }
    }
}

impl From<ListError> for CallError {
    fn from(error: ListError) -> Self {
        Self::List(error)
    }
}

impl From<ToolCallError> for CallError {
    fn from(error: ToolCallError) -> Self {
        Self::ToolCall(error)
    }
}

impl From<SkillError> for CallError {
    fn from(error: SkillError) -> Self {
        Self::Skill(error)
    }
}
