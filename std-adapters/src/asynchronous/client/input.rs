//! Input requests of servers, and the responses to them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use mcp_sansio::types::InputRequest;
use mcp_sansio::{Encode, ErrorCode, OwnedJson, Printable, RawJson, ReadError, Revision, RpcError};
use mcp_sansio_engine::{Question, Refusal};

/// A request of the server for elicitation, sampling or roots.
///
/// It stands for a request of a legacy server, and for an input request in the result of a modern
/// one. The client has declared the capability that it needs.
#[derive(Clone, Debug)]
pub struct OwnedInputRequest {
    /// An object with the members `method` and `params`.
    json: OwnedJson,
    revision: Revision,
}

impl OwnedInputRequest {
    pub(crate) fn of(question: &Question<'_>) -> Result<Self, InputRefusal> {
        let json = OwnedJson::new(question, question.revision);
        let json = json.map_err(|_| InputRefusal::unsupported())?;
        Ok(Self { json, revision: question.revision })
    }

    /// Returns the typed request.
    #[must_use]
    pub fn as_input_request(&self) -> InputRequest<'_> {
        self.json.to().unwrap_or(InputRequest::Other(self.json.as_raw()))
    }

    /// Returns the request as JSON: an object with the members `method` and `params`.
    #[must_use]
    pub fn as_raw(&self) -> RawJson<'_> {
        self.json.as_raw()
    }

    /// Returns the protocol revision of the connection.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Serializes the response; return it from the handler. `result` is an
    /// [`ElicitResult`](mcp_sansio::types::ElicitResult), a
    /// [`CreateMessageResult`](mcp_sansio::types::CreateMessageResult) or a
    /// [`ListRootsResult`](mcp_sansio::types::ListRootsResult), depending on the request.
    ///
    /// # Errors
    /// If `Serialize` fails, or the value is not an object.
    pub fn respond<T: Encode + ?Sized>(&self, result: &T) -> Result<InputResponse, InputRefusal> {
        match OwnedJson::new(result, self.revision) {
            Ok(json) if json.as_raw().is_object() => Ok(InputResponse(json)),
            _ => {
                Err(InputRefusal::error(ErrorCode::InternalError, "Response cannot be serialized"))
            }
        }
    }
}

/// The serialized response to an input request: see [`OwnedInputRequest::respond`].
#[derive(Clone, Debug)]
pub struct InputResponse(pub(crate) OwnedJson);

/// The reason why an input request has no response. A legacy server gets it as a JSON-RPC error;
/// with a modern server the call that needs the input fails with
/// [`CallError::InputRefused`](super::CallError::InputRefused).
///
/// If the user says no to an elicitation, respond with `decline` or `cancel` instead.
#[derive(Clone, Debug)]
pub struct InputRefusal {
    code: ErrorCode,
    message: String,
}

impl InputRefusal {
    /// Creates a refusal with code -1, which the specification's examples use if the user rejects a
    /// request.
    pub fn new(message: impl Into<String>) -> Self {
        Self::error(ErrorCode::Application(-1), message)
    }

    /// Creates a refusal with another code.
    pub fn error(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Creates a refusal for requests that the client does not support.
    #[must_use]
    pub fn unsupported() -> Self {
        Self::error(ErrorCode::MethodNotFound, "Request is not supported")
    }

    pub(crate) fn panicked() -> Self {
        Self::error(ErrorCode::InternalError, "Input request handler panicked")
    }
}

impl From<InputRefusal> for Refusal {
    fn from(refusal: InputRefusal) -> Self {
        Self::Error(RpcError::new(refusal.code, &refusal.message).into())
    }
}

impl From<Refusal> for InputRefusal {
    fn from(refusal: Refusal) -> Self {
        let error = refusal.as_error();
        Self::error(error.code, error.message)
    }
}

impl From<ReadError> for InputRefusal {
    fn from(error: ReadError) -> Self {
        Self::error(ErrorCode::InvalidParams, error.to_string())
    }
}

impl fmt::Display for InputRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable::new(&self.message).fmt(f)
    }
}

impl std::error::Error for InputRefusal {}

/// A response that is being computed.
pub(crate) type InputFuture =
    Pin<Box<dyn Future<Output = Result<InputResponse, InputRefusal>> + Send>>;
/// Computes responses. Boxed, so that clients and connections have no type parameter for it: input
/// requests are rare.
pub(crate) type InputHandler = Box<dyn Fn(OwnedInputRequest) -> InputFuture + Send + Sync>;
