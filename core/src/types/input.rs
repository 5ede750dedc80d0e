//! Questions of a server that travel in results and are answered in the next attempt (2026-07-28,
//! basic/patterns/mrtr).

use serde::{Deserialize, Deserializer, de};

use super::encode::macros::{payload, wrong};
use super::encode::tell::{Tell, Teller, payload_told, serialize_told, tell_one_of};
use super::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult,
    ElicitUrlParams, IncludeContext, List, ListRootsResult, Map, RequestedSchema, Text,
};
use crate::json::{JsonStr, RawJson, ReadError};
use crate::lifecycle::ClientFeatures;

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
    pub const fn with_input_requests(requests: &'a [(&'a str, InputRequest<'a>)]) -> Self {
        Self::new().input_requests(Map::new(requests))
    }

    /// Whether it has neither questions nor a state, which the protocol does not allow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request_state.is_none()
            && self.input_requests.is_none_or(|requests| requests.is_empty())
    }

    /// What the client must have declared.
    #[must_use]
    pub fn required_capabilities(&self) -> ClientFeatures {
        let mut features = ClientFeatures::NONE;
        self.all_requests(&mut |_, question| {
            features = features
                .with(question.map_or(ClientFeatures::NONE, InputRequest::required_capabilities));
            true
        });
        features
    }

    /// Whether all questions are like that: each with its key, none where it is JSON that asks
    /// nothing known.
    pub(crate) fn all_requests(
        &self,
        is: &mut dyn FnMut(Text<'a>, Option<&InputRequest<'a>>) -> bool,
    ) -> bool {
        let Some(requests) = self.input_requests else { return true };
        requests
            .as_slice()
            .unwrap_or_default()
            .iter()
            .all(|(key, question)| is(Text::new(key), Some(question)))
            && requests.as_json().unwrap_or(RawJson::NULL).members().all(|(key, question)| {
                is(Text::from_json(key), InputRequest::summary(question).as_ref())
            })
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

impl<'a> InputRequest<'a> {
    /// The question that a request with this method and these parameters asks.
    ///
    /// # Errors
    /// What in the parameters does not fit, or that there are none. An unknown method is
    /// [`Other`](Self::Other), with the parameters.
    pub fn from_parts(method: JsonStr<'_>, params: Option<RawJson<'a>>) -> Result<Self, ReadError> {
        let params = params.unwrap_or(RawJson::EMPTY);
        if method == "elicitation/create" {
            params.to().map(Self::Elicit)
        } else if method == "sampling/createMessage" {
            params.to().map(Self::CreateMessage)
        } else if method == "roots/list" {
            Ok(Self::ListRoots)
        } else {
            Ok(Self::Other(params))
        }
    }

    /// As much of a question in JSON as the sender of it has to know: what it needs, and whether it
    /// can be answered. Reading all of it is for a client.
    fn summary(question: RawJson<'a>) -> Option<Self> {
        let method = question.get("method").and_then(RawJson::as_string)?;
        let params = question.get("params").unwrap_or(RawJson::EMPTY);
        let text = |key| params.get(key).and_then(RawJson::as_string).map(Text::from_json);
        if method == "roots/list" {
            Some(Self::ListRoots)
        } else if method == "elicitation/create" {
            let message = text("message")?;
            Some(Self::Elicit(if text("mode").is_some_and(|mode| mode == "url") {
                ElicitParams::Url(ElicitUrlParams {
                    message,
                    url: text("url")?,
                    ..ElicitUrlParams::new("", "")
                })
            } else {
                let requested_schema = RequestedSchema::from_json(params.get("requestedSchema")?)?;
                ElicitParams::Form(ElicitFormParams {
                    message,
                    ..ElicitFormParams::new("", requested_schema)
                })
            }))
        } else if method == "sampling/createMessage" {
            let mut params_summary =
                CreateMessageParams::new(&[], params.get("maxTokens")?.as_u64()?);
            params_summary.messages = List::from_json(params.get("messages")?)?;
            params_summary.tools = params
                .get("tools")
                .or(params.get("toolChoice"))
                .filter(|tools| !tools.is_null())
                .map(|_| List::EMPTY);
            params_summary.include_context = params
                .get("includeContext")
                .and_then(RawJson::as_string)
                .and_then(IncludeContext::from_json);
            Some(Self::CreateMessage(params_summary))
        } else {
            None
        }
    }

    /// What the client must have declared.
    #[must_use]
    pub const fn required_capabilities(&self) -> ClientFeatures {
        match self {
            Self::Elicit(params) => params.required_capabilities(),
            Self::CreateMessage(params) => params.required_capabilities(),
            Self::ListRoots => ClientFeatures::ROOTS,
            Self::Other(_) => ClientFeatures::NONE,
        }
    }
}

impl Tell for InputRequest<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        let (method, params): (&'static str, Option<&dyn Tell>) = match self {
            Self::Elicit(params) => ("elicitation/create", Some(params)),
            Self::CreateMessage(params) => ("sampling/createMessage", Some(params)),
            Self::ListRoots => ("roots/list", None),
            Self::Other(raw) => return to.json(*raw),
        };
        match params {
            Some(params) => to.object("method,params,", &[&method, params]),
            None => to.object("method,", &[&method]),
        }
    }
}

serialize_told!(InputRequest<'_>);

impl<'de: 'a, 'a> Deserialize<'de> for InputRequest<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let Some(method) = raw.get("method").and_then(RawJson::as_string) else {
            return Err(de::Error::missing_field("method"));
        };
        let read = match Self::from_parts(method, raw.get("params")) {
            Ok(Self::Other(_)) => Ok(Self::Other(raw)),
            read => read,
        };
        read.map_err(de::Error::custom)
    }
}

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

tell_one_of! {
    InputResponse<'_> {
        Self::Elicit(result) => result,
        Self::CreateMessage(result) => result,
        Self::ListRoots(result) => result,
        Self::Other(raw) => raw,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for InputResponse<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if !raw.is_object() {
            return Err(wrong(&"an object"));
        }
        let read = if raw.get("action").is_some() {
            raw.to().map(Self::Elicit)
        } else if raw.get("roots").is_some() {
            raw.to().map(Self::ListRoots)
        } else if raw.get("model").is_some() {
            raw.to().map(Self::CreateMessage)
        } else {
            Ok(Self::Other(raw))
        };
        read.map_err(de::Error::custom)
    }
}

payload_told! { InputRequest<'a> }

payload_told! { InputResponse<'a> }
