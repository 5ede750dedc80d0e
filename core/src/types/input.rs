//! Questions of a server that travel in results and are answered in the next attempt (2026-07-28, basic/patterns/mrtr).

use super::macros::{payload, with_serde};
use super::value::{Object, Payload, Value};
use super::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ListRootsResult, Map, Text};
use crate::json::{RawJson, ReadError};
use crate::lifecycle::ClientCapability;

/// Questions, each with a key of the server's choice. 2026-07-28, schema type `InputRequests`.
pub type InputRequests<'a> = Map<'a, InputRequest<'a>>;
/// Answers, each with the key of its question. 2026-07-28, schema type `InputResponses`.
pub type InputResponses<'a> = Map<'a, InputResponse<'a>>;

payload! {
    /// The answer to `tools/call`, `prompts/get` or `resources/read` that asks for more. 2026-07-28, schema type `InputRequiredResult`.
    ///
    /// It must have questions, a state, or both.
    pub struct InputRequiredResult<'a> {
        tag "resultType" = "input_required";
        new {}
        with {
            /// The questions. The client sends the same request again, with answers.
            "inputRequests" input_requests: of(InputRequests<'a>);
            /// What the server wants back with the next attempt. A client can read and change it: protect what must not be.
            "requestState" request_state: text;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

impl<'a> InputRequiredResult<'a> {
    /// With these questions.
    #[must_use]
    pub const fn ask(requests: &'a [(&'a str, InputRequest<'a>)]) -> Self {
        Self::new().input_requests(Map::new(requests))
    }

    /// Whether it has neither questions nor a state, which the protocol does not allow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request_state.is_none() && self.input_requests.is_none_or(|requests| requests.is_empty())
    }

    /// What the client must have declared.
    #[must_use]
    pub fn needs(&self) -> ClientCapability {
        let requests = self.input_requests.iter().flat_map(Map::iter).filter_map(|(_, request)| request.ok());
        requests.fold(ClientCapability::NONE, |needs, request| needs.and(request.needs()))
    }
}

/// A question. 2026-07-28, schema type `InputRequest`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum InputRequest<'a> {
    /// To the person.
    Elicit(ElicitParams<'a>),
    /// To the model. Deprecated.
    CreateMessage(CreateMessageParams<'a>),
    /// For the roots. Deprecated.
    ListRoots,
    /// By a method that is not known.
    Other(RawJson<'a>),
}

impl InputRequest<'_> {
    /// What the client must have declared.
    #[must_use]
    pub const fn needs(&self) -> ClientCapability {
        match self {
            Self::Elicit(params) => params.needs(),
            Self::CreateMessage(params) => params.needs(),
            Self::ListRoots => ClientCapability::ROOTS,
            Self::Other(_) => ClientCapability::NONE,
        }
    }
}

impl Object for InputRequest<'_> {
    fn keys(&self) -> &'static str {
        "method params"
    }

    fn field(&self, index: usize) -> Value<'_> {
        let (method, params) = match self {
            Self::Elicit(params) => ("elicitation/create", params.value()),
            Self::CreateMessage(params) => ("sampling/createMessage", params.value()),
            Self::ListRoots | Self::Other(_) => ("roots/list", Value::Absent),
        };
        if index == 0 { Value::Text(Text::new(method)) } else { params }
    }
}

impl<'a> Payload<'a> for InputRequest<'a> {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Other(raw) => Value::Raw(*raw),
            _ => Value::Object(self),
        }
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        let method = raw.get("method").and_then(RawJson::as_string).ok_or(ReadError::missing("method"))?;
        let params = || raw.get("params").ok_or(ReadError::missing("params"));
        if method == "elicitation/create" {
            ElicitParams::read(params()?).map(Self::Elicit)
        } else if method == "sampling/createMessage" {
            CreateMessageParams::read(params()?).map(Self::CreateMessage)
        } else if method == "roots/list" {
            Ok(Self::ListRoots)
        } else {
            Ok(Self::Other(raw))
        }
    }
}

with_serde! { InputRequest<'a> }

/// An answer: it does not say to what, its key does. 2026-07-28, schema type `InputResponse`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum InputResponse<'a> {
    /// The person's.
    Elicit(ElicitResult<'a>),
    /// The model's. Deprecated.
    CreateMessage(CreateMessageResult<'a>),
    /// The roots. Deprecated.
    ListRoots(ListRootsResult<'a>),
    /// Of a shape that is not known.
    Other(RawJson<'a>),
}

impl<'a> Payload<'a> for InputResponse<'a> {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Elicit(result) => result.value(),
            Self::CreateMessage(result) => result.value(),
            Self::ListRoots(result) => result.value(),
            Self::Other(raw) => Value::Raw(*raw),
        }
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        if !raw.is_object() {
            return Err(ReadError::wrong("an object"));
        }
        if raw.get("action").is_some() {
            ElicitResult::read(raw).map(Self::Elicit)
        } else if raw.get("roots").is_some() {
            ListRootsResult::read(raw).map(Self::ListRoots)
        } else if raw.get("model").is_some() {
            CreateMessageResult::read(raw).map(Self::CreateMessage)
        } else {
            Ok(Self::Other(raw))
        }
    }
}

with_serde! { InputResponse<'a> }
