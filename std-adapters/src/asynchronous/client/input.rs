//! What servers ask, and what they are told.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    ErrorCode, JsonStr, OwnedJson, Printable, RawJson, ReadError, Revision, RpcError, ServerRequest,
};
use serde::Serialize;

/// Something that a server wants to know: of the person, of the model, or the roots.
///
/// A request of a legacy server and a question in a modern server's result are the same here. What
/// it asks was declared, for certain.
#[derive(Clone, Debug)]
pub struct OwnedInputRequest {
    /// An object with the members `method` and `params`.
    json: OwnedJson,
    revision: Revision,
}

impl OwnedInputRequest {
    pub(super) fn of(
        request: &ServerRequest<'_>,
        revision: Revision,
    ) -> Result<Self, InputRefusal> {
        request.question()?;
        let wire = Wire { method: request.method, params: request.params.raw() };
        let json = OwnedJson::new(&wire, revision).map_err(|_| InputRefusal::unsupported())?;
        Ok(Self { json, revision })
    }

    pub(super) fn read(json: RawJson<'_>, revision: Revision) -> Result<Self, ReadError> {
        json.to::<InputRequest<'_>>()?;
        Ok(Self { json: json.into(), revision })
    }

    /// What is asked.
    #[must_use]
    pub fn as_input_request(&self) -> InputRequest<'_> {
        self.json.to().unwrap_or(InputRequest::Other(self.json.as_raw()))
    }

    /// The same as JSON: an object with the members `method` and `params`.
    #[must_use]
    pub fn as_raw(&self) -> RawJson<'_> {
        self.json.as_raw()
    }

    /// The revision that the server speaks.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Writes an answer down: an [`ElicitResult`](mcp_sansio::types::ElicitResult), a
    /// [`CreateMessageResult`](mcp_sansio::types::CreateMessageResult) or a
    /// [`ListRootsResult`](mcp_sansio::types::ListRootsResult), by what is asked.
    ///
    /// # Errors
    /// A value that cannot be written, or is no object.
    pub fn respond<T: Serialize + ?Sized>(
        &self,
        result: &T,
    ) -> Result<InputResponse, InputRefusal> {
        match OwnedJson::new(result, self.revision) {
            Ok(json) if json.as_raw().is_object() => Ok(InputResponse(json)),
            _ => Err(InputRefusal::error(ErrorCode::InternalError, "The answer cannot be written")),
        }
    }
}

/// What the server is told: see [`OwnedInputRequest::respond`].
#[derive(Clone, Debug)]
pub struct InputResponse(pub(super) OwnedJson);

/// Why the server is told nothing. A legacy one gets it as an error; with a modern one the call
/// ends that needs the answer ([`CallError::InputRefused`](super::CallError::InputRefused)).
///
/// For a person who says no there are answers: `decline` and `cancel`.
#[derive(Clone, Debug)]
pub struct InputRefusal {
    code: ErrorCode,
    message: String,
}

impl InputRefusal {
    /// With the code that stands for the person's refusal by custom, -1.
    pub fn new(message: impl Into<String>) -> Self {
        Self::error(ErrorCode::Application(-1), message)
    }

    /// With a code of your choice.
    pub fn error(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// For what is not done here.
    #[must_use]
    pub fn unsupported() -> Self {
        Self::error(ErrorCode::MethodNotFound, "Nobody answers this here")
    }

    pub(super) fn panicked() -> Self {
        Self::error(ErrorCode::InternalError, "What answers this has panicked")
    }

    pub(super) fn as_error(&self) -> RpcError<'_> {
        RpcError::new(self.code, &self.message)
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

/// A question as modern servers write it.
#[derive(Serialize)]
struct Wire<'f> {
    method: JsonStr<'f>,
    params: RawJson<'f>,
}

/// An answer that is being found.
pub(super) type InputFuture =
    Pin<Box<dyn Future<Output = Result<InputResponse, InputRefusal>> + Send>>;
/// Who finds it. Its type is not carried along by clients and connections: a question is rare, and
/// an allocation for it cheap.
pub(super) type InputHandler = Box<dyn Fn(OwnedInputRequest) -> InputFuture + Send + Sync>;
