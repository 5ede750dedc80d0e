//! Multi round-trip requests: a result carries requests for input, and the client repeats its
//! request with the responses (2026-07-28, basic/patterns/mrtr).

use super::macros::{one_of, payload, wrong};
use super::{CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, Map, Text};
use crate::encode::{Encode, Encoder, object};
use crate::json::{JsonStr, RawJson, ReadError};
use crate::protocol::ClientFeatures;
use crate::protocol::error::InvalidPayload;
use serde::{Deserialize, Deserializer, de};

/// Input requests, by keys that the server chooses. 2026-07-28, schema type `InputRequests`.
pub type InputRequests<'a> = Map<'a, InputRequest<'a>>;
/// Input responses, by the keys of their requests. 2026-07-28, schema type `InputResponses`.
pub type InputResponses<'a> = Map<'a, InputResponse<'a>>;

payload! {
    /// Result of `tools/call`, `prompts/get` or `resources/read` that requires input from the
    /// client first. 2026-07-28, schema type `InputRequiredResult`.
    ///
    /// It must have input requests, a request state, or both.
    pub struct InputRequiredResult<'a> {
        tag "resultType" = "input_required";
        optional:
        /// Input requests. The client sends its request again with the responses.
        "inputRequests" input_requests: of(InputRequests<'a>);
        /// State that the client returns unchanged with the repeated request. A client can read
        /// and modify it: encrypt or sign what it must not.
        "requestState" request_state: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

/// A request for input. 2026-07-28, schema type `InputRequest`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum InputRequest<'a> {
    /// `elicitation/create`.
    Elicit(ElicitParams<'a>),
    /// `sampling/createMessage`. Deprecated.
    CreateMessage(CreateMessageParams<'a>),
    /// `roots/list`. Deprecated.
    ListRoots,
    /// Unknown method. The whole request as JSON; of [`from_parts`](Self::from_parts), its
    /// parameters.
    Other(RawJson<'a>),
}

impl<'a> InputRequest<'a> {
    /// Reads an input request from the method and the parameters of a request.
    ///
    /// # Errors
    /// If the parameters are missing or invalid. An unknown method is no error:
    /// [`Other`](Self::Other) holds its parameters.
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

    /// Returns the client capabilities that the request requires.
    pub const fn required_capabilities(&self) -> ClientFeatures {
        match self {
            Self::Elicit(params) => params.required_capabilities(),
            Self::CreateMessage(params) => params.required_capabilities(),
            Self::ListRoots => ClientFeatures::ROOTS,
            Self::Other(_) => ClientFeatures::NONE,
        }
    }
}

impl Encode for InputRequest<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Elicit(params) => {
                object!(to, { "method" = "elicitation/create", "params": params });
            }
            Self::CreateMessage(params) => {
                object!(to, { "method" = "sampling/createMessage", "params": params });
            }
            Self::ListRoots => object!(to, { "method" = "roots/list" }),
            Self::Other(raw) => to.raw(*raw),
        }
    }
}

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

one_of! {
    /// Response to an [`InputRequest`], told apart by its members. 2026-07-28, schema type
    /// `InputResponse`.
    #[non_exhaustive]
    pub enum InputResponse<'a> {
        /// Result of `elicitation/create`.
        Elicit(ElicitResult<'a>),
        /// Result of `sampling/createMessage`. Deprecated.
        CreateMessage(CreateMessageResult<'a>),
        /// Result of `roots/list`. Deprecated.
        ListRoots(ListRootsResult<'a>),
        /// Unknown kind of result, as JSON.
        Other(RawJson<'a>),
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

// Roots: the directories and files that a client exposes to a server. Deprecated in 2026-07-28.

payload! {
    /// A directory or file that a server may operate on. Schema type `Root`.
    pub struct Root<'a> {
        /// URI of the root. Must be [valid](Root::is_valid), otherwise encoding fails with
        /// [`RootUri`](InvalidPayload::RootUri).
        "uri" uri: text => via FileUri;
        optional:
        /// Display name for user interfaces.
        "name" name: text;
        /// Metadata by key: see [`meta`](crate::types::meta). Since 2025-06-18.
        "_meta" meta: object, since V2025_06_18;
    }
}

impl Root<'_> {
    /// Returns whether the URI has the scheme `file`, which all revisions require, and no path
    /// traversal: no segment `.` or `..`, no backslash, no control character, and no NUL, slash or
    /// backslash that is percent-encoded (client/roots, "Security Considerations"). A `?` and a `#`
    /// end a segment.
    pub fn is_valid(&self) -> bool {
        check_file_uri(self.uri).is_some()
    }
}

/// Returns `Some` if the URI is a safe `file:` URI.
fn check_file_uri(uri: Text<'_>) -> Option<()> {
    let mut chars = uri.chars();
    for expected in "file://".chars() {
        chars.next().filter(|c| c.to_ascii_lowercase() == expected)?;
    }
    // Number of characters of the current segment, and of dots among them.
    let (mut len, mut dots) = (0, 0);
    loop {
        let c = match chars.next() {
            Some('%') => {
                let (high, low) = (chars.next()?.to_digit(16)?, chars.next()?.to_digit(16)?);
                char::from_u32(high << 4 | low)
                    .filter(|c| !matches!(c, '/' | '\\' | '\0'))
                    .map(Some)?
            }
            Some('\\' | '\0'..='\x1f' | '\x7f') => return None,
            Some('?' | '#') => Some('/'),
            c => c,
        };
        match c {
            Some('/') | None if len == dots && matches!(dots, 1 | 2) => return None,
            Some('/') => (len, dots) = (0, 0),
            Some(c) => (len, dots) = (len + 1, dots + u32::from(c == '.')),
            None => return Some(()),
        }
    }
}

/// Refuses to encode an unsafe URI.
struct FileUri<'x, 'a>(&'x Text<'a>);

impl Encode for FileUri<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        if check_file_uri(*self.0).is_none() {
            to.invalid(InvalidPayload::RootUri);
        }
        self.0.encode(to);
    }
}

payload! {
    /// Result of `roots/list`. Schema type `ListRootsResult`.
    pub struct ListRootsResult<'a> {
        writer write_members;
        /// Roots of the client.
        "roots" roots: list(Root<'a>);
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
        "_meta" meta: object, until V2025_11_25;
    }
}
