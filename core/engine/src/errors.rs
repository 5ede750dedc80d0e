//! Why there is no connection, and why a call has no result.

#[cfg(feature = "http")]
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;
#[cfg(all(feature = "http", feature = "std"))]
use std::io::{self, ErrorKind};

#[cfg(feature = "http")]
use mcp_sansio::http::client::HttpFailure;
use mcp_sansio::{
    Encode, Encoder, ErrorCode, OwnedJson, OwnedRpcError, PeerError, Printable, ReadError,
    RpcError, SendError, SkillError, TaskGone, Violation,
};

use crate::results::{ListError, ToolCallError};
#[cfg(doc)]
use crate::tasks::TaskRef;

/// The reason why a call has no result.
#[derive(Clone)]
#[non_exhaustive]
pub enum CallError {
    /// The server responded with an error.
    Server(ServerError),
    /// No response came in time. The call has been cancelled.
    TimedOut,
    /// The server requires input that it does not get.
    InputRefused {
        /// The reason.
        refusal: InputRefusal,
        /// The `InputRequiredResult`, or the input requests of a task.
        result: OwnedJson,
    },
    /// The response is invalid: of an unknown type, longer than the limit, or with an input request
    /// whose capability the client did not declare.
    Invalid(Violation),
    /// A result, or a request for input, does not match its type.
    Read(ReadError),
    /// A list was not read to its end.
    List(ListError),
    /// The result of a typed call has no output.
    ToolCall(ToolCallError),
    /// A skill or a file of it must not be used.
    Skill(SkillError),
    /// The task of the call was cancelled, by the server or by another client.
    TaskCancelled,
    /// The server does not have the task of the call any more.
    TaskGone(TaskGone),
    /// The [task](TaskRef) belongs to another server, or to another protocol revision.
    OtherServer,
    /// The request was not sent: the server did not declare the capability that it needs, the
    /// revision does not have the method, or the parameters are invalid.
    NotSent(SendError),
    /// The request failed in HTTP.
    #[cfg(feature = "http")]
    Http(HttpError),
    /// `initialize` or `server/discover` failed.
    ConnectFailed {
        /// The URL of the server, if it has one.
        server: Option<String>,
        /// The reason.
        why: ConnectError,
    },
    /// The connection ended before the response came.
    Closed,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(error) => write!(f, "the server responded with an error: {error}"),
            Self::TimedOut => f.write_str(
                "no response came in time: use a longer CallOptions::timeout, or request progress",
            ),
            Self::InputRefused { refusal, .. } => {
                write!(f, "the server requires input that it does not get: {refusal}")
            }
            Self::Invalid(violation) => write!(f, "the response is invalid: {violation}"),
            Self::Read(error) => write!(f, "the result does not match its type: {error}"),
            Self::List(error) => error.fmt(f),
            Self::ToolCall(error) => error.fmt(f),
            Self::Skill(error) => error.fmt(f),
            Self::TaskCancelled => f.write_str("the task was cancelled"),
            Self::TaskGone(why) => why.fmt(f),
            Self::OtherServer => f.write_str("the task belongs to another server or revision"),
            Self::NotSent(error) => error.fmt(f),
            #[cfg(feature = "http")]
            Self::Http(error) => error.fmt(f),
            Self::ConnectFailed { server: Some(server), why } => {
                write!(f, "cannot connect to `{}`: {why}", Printable::new(server))
            }
            Self::ConnectFailed { server: None, why } => write!(f, "cannot connect: {why}"),
            Self::Closed => f.write_str("the connection has ended"),
        }
    }
}

mcp_sansio::error_type!(CallError);

mcp_sansio::wraps!(CallError {
    NotSent(SendError),
    Read(ReadError),
    List(ListError),
    ToolCall(ToolCallError),
    Skill(SkillError),
});

/// The response of the application to a request for input, or why there is none.
pub type InputResponse = Result<OwnedJson, InputRefusal>;

/// The reason why a request for input has no response. A legacy server gets it as a JSON-RPC error;
/// the call for which a modern server needs the input ends with [`CallError::InputRefused`].
///
/// If the user says no to an elicitation, respond with `ElicitResult::decline` or `cancel` instead.
#[derive(Clone)]
#[non_exhaustive]
pub enum InputRefusal {
    /// The application refused.
    Refused,
    /// The application refused with this error, for a legacy server.
    Error(OwnedRpcError),
    /// The response cannot be serialized.
    NotSerializable(SendError),
    /// The function of the application panicked.
    Panicked,
    /// There are more requests than [`Limits::max_inputs`](crate::Limits::max_inputs).
    TooMany,
}

impl InputRefusal {
    /// Creates a refusal with code -1, which the specification's examples use if the user rejects a
    /// request.
    pub fn new(message: &str) -> Self {
        Self::error(ErrorCode::Application(-1), message)
    }

    /// Creates a refusal with another code.
    pub fn error(code: ErrorCode, message: &str) -> Self {
        Self::Error(RpcError::new(code, message).into())
    }

    /// Creates a refusal of a kind of request that the client does not support.
    pub fn unsupported() -> Self {
        Self::error(ErrorCode::MethodNotFound, "Request is not supported")
    }

    /// Returns the error for a legacy server.
    pub fn as_error(&self) -> RpcError<'_> {
        match self {
            Self::Refused => REFUSED,
            Self::Error(error) => error.as_error(),
            Self::NotSerializable(_) => RpcError::internal("The response cannot be serialized"),
            Self::Panicked => RpcError::internal("The handler panicked"),
            Self::TooMany => RpcError::invalid_params("Too many input requests"),
        }
    }
}

impl fmt::Display for InputRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSerializable(error) => error.fmt(f),
            _ => Printable::new(self.as_error().message).fmt(f),
        }
    }
}

mcp_sansio::error_type!(InputRefusal);

impl From<ReadError> for InputRefusal {
    fn from(error: ReadError) -> Self {
        Self::error(ErrorCode::InvalidParams, &error.to_string())
    }
}

const REFUSED: RpcError<'_> = RpcError::new(ErrorCode::Application(-1), "The request was refused");

/// Error response of a server.
#[derive(Clone, PartialEq, Eq)]
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
    pub fn to_json(&self) -> OwnedJson {
        let json = OwnedJson::new(self, mcp_sansio::Revision::LATEST);
        json.unwrap_or_else(|_| mcp_sansio::RawJson::EMPTY.into())
    }
}

impl Encode for ServerError {
    fn encode(&self, to: &mut Encoder<'_>) {
        mcp_sansio::object!(to, { "code": self.code, "message": self.message, "data"?: self.data });
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", Printable::new(&self.message), self.code)
    }
}

mcp_sansio::error_type!(ServerError);

/// The reason why connecting failed: an owned [`mcp_sansio::ConnectError`].
#[derive(Clone)]
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
                    Printable::new(theirs.as_json())
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

mcp_sansio::error_type!(ConnectError);

#[cfg(feature = "http")]
/// The reason why a call got no response over HTTP: an owned [`HttpFailure`]. `Display` says what
/// happened and what to do.
#[derive(Clone, PartialEq, Eq)]
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
    /// An HTTP error status whose body is this JSON-RPC error, with which a call ends as
    /// [`CallError::Server`].
    JsonRpc(OwnedJson),
    /// The response is invalid, or the request cannot be sent.
    Invalid(String),
}

#[cfg(feature = "http")]
impl HttpError {
    /// Returns the error as the core has it.
    pub fn as_core(&self) -> HttpFailure<'_> {
        match self {
            Self::Status(status) => HttpFailure::Status(*status),
            Self::Unauthorized { status, challenge } => {
                HttpFailure::Unauthorized { status: *status, challenge }
            }
            Self::NotAuthorized(reason) => HttpFailure::NotAuthorized(reason),
            Self::NotConnected(reason) => HttpFailure::NotConnected(reason),
            Self::ConnectionLost => HttpFailure::ConnectionLost,
            Self::JsonRpc(error) => HttpFailure::JsonRpc(error.as_json()),
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
            HttpFailure::JsonRpc(error) => Self::JsonRpc(error.into()),
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
mcp_sansio::error_type!(HttpError);
