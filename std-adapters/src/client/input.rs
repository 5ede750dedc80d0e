//! Input requests of servers, and the responses to them.

use mcp_sansio::types::InputRequest;
use mcp_sansio::{Encode, InvalidPayload, OwnedJson, RawJson, Revision, SendError};
use mcp_sansio_engine::{InputRefusal, InputResponse, Question};

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
    /// [`InputRefusal::NotSerializable`] if `Serialize` fails, or the value is not an object.
    pub fn respond<T: Encode + ?Sized>(&self, result: &T) -> InputResponse {
        let json = OwnedJson::new(result, self.revision).map_err(InputRefusal::NotSerializable)?;
        if json.as_raw().is_object() {
            return Ok(json);
        }
        let error = SendError::Invalid(InvalidPayload::NotAnObject);
        Err(InputRefusal::NotSerializable(error))
    }

    /// Refuses the request: return it from the handler.
    ///
    /// # Errors
    /// Always [`InputRefusal::Refused`].
    pub const fn refuse(&self) -> InputResponse {
        Err(InputRefusal::Refused)
    }
}
