//! Elicitation: a server requests input from the user, with a form or at a URL. Since 2025-06-18.

mod defaults;
mod enums;
mod form;
mod validation;

pub use defaults::FormDefaults;
pub use enums::{
    EnumOption, EnumOptions, MultiSelectEnumSchema, MultiSelectItems, SingleSelectEnumSchema,
};
pub use form::{
    BooleanSchema, Field, Fields, MAX_FORM_FIELDS, NumberKind, NumberSchema, PrimitiveSchema,
    RequestedSchema, StringSchema,
};
pub use validation::{FormError, FormErrorKind};

use serde::{Deserialize, Deserializer, de};

use crate::encode::Encoder;
use crate::error::InvalidPayload;
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revision};
use crate::types::TaskMetadata;
use crate::types::macros::{encode_one_of, names, payload};

/// Parameters of `elicitation/create`. Since 2025-06-18, schema type `ElicitRequestParams`.
///
/// ```
/// use mcp_sansio::types::{ElicitParams, Field, RequestedSchema, StringSchema};
///
/// const FORM: RequestedSchema = RequestedSchema::new(&[
///     Field::required("name", StringSchema::new().max_length(40).schema()),
/// ]);
/// const BY_FORM: ElicitParams = ElicitParams::form("What is your name?", FORM);
/// const BY_URL: ElicitParams = ElicitParams::url("Please sign in.", "https://example.com/login");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ElicitParams<'a> {
    /// Form mode.
    Form(ElicitFormParams<'a>),
    /// URL mode. Since 2025-11-25.
    Url(ElicitUrlParams<'a>),
}

impl<'a> ElicitParams<'a> {
    /// Creates the parameters of form mode.
    #[must_use]
    pub const fn form(message: &'a str, requested_schema: RequestedSchema<'a>) -> Self {
        Self::Form(ElicitFormParams::new(message, requested_schema))
    }

    /// Creates the parameters of URL mode. Complete for 2026-07-28; 2025-11-25 also requires an
    /// [`elicitation_id`](ElicitUrlParams::elicitation_id).
    #[must_use]
    pub const fn url(message: &'a str, url: &'a str) -> Self {
        Self::Url(ElicitUrlParams::new(message, url))
    }

    /// Returns the client capability that the request requires.
    #[must_use]
    pub const fn required_capabilities(&self) -> ClientFeatures {
        match self {
            Self::Form(_) => ClientFeatures::ELICITATION_FORM,
            Self::Url(_) => ClientFeatures::ELICITATION_URL,
        }
    }
}

encode_one_of! {
    ElicitParams<'_> {
        Self::Form(form) => form,
        Self::Url(url) => url,
    }
}

/// Reads form mode if `mode` is missing.
impl<'de: 'a, 'a> Deserialize<'de> for ElicitParams<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let is_url = raw.get("mode").and_then(RawJson::as_string).is_some_and(|mode| mode == "url");
        // `FormMode` rejects other modes.
        let read = if is_url { raw.to().map(Self::Url) } else { raw.to().map(Self::Form) };
        read.map_err(de::Error::custom)
    }
}

payload! {
    /// Parameters of `elicitation/create` in form mode. Since 2025-06-18, schema type
    /// `ElicitRequestFormParams`.
    pub struct ElicitFormParams<'a> {
        writer write_members;
        new {
            /// Message that explains the request to the user.
            "message" message: text;
            /// Fields of the form.
            "requestedSchema" requested_schema: of(RequestedSchema<'a>);
        }
        with {
            /// Mode of the request; the same as if it is missing. Since 2025-11-25.
            "mode" mode: of(FormMode), since V2025_11_25;
            /// Asks for execution as a task. 2025-11-25 only.
            "task" task: of(TaskMetadata), only V2025_11_25;
            /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
            "_meta" meta: object, until V2025_11_25;
        }
    }
}

impl<'a> ElicitFormParams<'a> {
    /// Creates the result of a user who submitted the form, after validating `content` against it,
    /// as a client should (client/elicitation).
    ///
    /// # Errors
    /// The first invalid field, for the user to correct.
    pub fn accept(&self, content: RawJson<'a>) -> Result<ElicitResult<'a>, FormError<'a>> {
        self.requested_schema.validate_content(content).map(|()| ElicitResult::accept(content))
    }
}

names! {
    /// Mode of an [`ElicitFormParams`].
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum FormMode {
        /// Form mode.
        Form = "form",
    }
}

payload! {
    /// Parameters of `elicitation/create` in URL mode. Since 2025-11-25, schema type
    /// `ElicitRequestURLParams`.
    pub struct ElicitUrlParams<'a> {
        tag "mode" = "url";
        writer write_if_valid;
        new {
            /// Message that explains to the user why to visit the URL.
            "message" message: text;
            /// URL that the user should visit.
            "url" url: text;
        }
        with {
            /// Id of the elicitation, for `notifications/elicitation/complete`. 2025-11-25 only,
            /// and required there.
            "elicitationId" elicitation_id: text, only V2025_11_25;
            /// Asks for execution as a task. 2025-11-25 only.
            "task" task: of(TaskMetadata), only V2025_11_25;
            /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
            "_meta" meta: object, until V2025_11_25;
        }
    }
}

impl ElicitUrlParams<'_> {
    fn write_if_valid(&self, to: &mut Encoder<'_>) {
        if !self.is_valid_for(to.revision()) {
            to.invalid(InvalidPayload::Url);
        }
        self.write_members(to);
    }

    /// Returns whether the parameters are valid in `revision`: the URL has a scheme and no
    /// whitespace, and in 2025-11-25 there is an `elicitationId`.
    #[must_use]
    pub fn is_valid_for(&self, revision: Revision) -> bool {
        validation::looks_like_uri(self.url)
            && (revision != Revision::V2025_11_25 || self.elicitation_id.is_some())
    }
}

payload! {
    /// Result of `elicitation/create`. Since 2025-06-18, schema type `ElicitResult`.
    pub struct ElicitResult<'a> {
        writer write_members;
        new {
            /// Action of the user.
            "action" action: of(ElicitAction);
        }
        with {
            /// Submitted form data if the action is `accept`: an object of strings, numbers,
            /// booleans and, since 2025-11-25, arrays of strings.
            "content" content: object;
            /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
            "_meta" meta: object, until V2025_11_25;
        }
    }
}

impl<'a> ElicitResult<'a> {
    /// Creates the result of a user who submitted the form. Does not validate `content`:
    /// [`ElicitFormParams::accept`] does.
    #[must_use]
    pub const fn accept(content: RawJson<'a>) -> Self {
        Self::new(ElicitAction::Accept).content(content)
    }

    /// Returns whether the result is valid in `revision`: content only if the action is `accept`,
    /// of strings, numbers and booleans and, since 2025-11-25, arrays of strings.
    #[must_use]
    pub fn is_valid_for(&self, revision: Revision) -> bool {
        let lists = revision >= Revision::V2025_11_25;
        let is_flat = |value: RawJson<'_>| {
            let is_list =
                value.is_array() && value.elements().all(|element| element.as_string().is_some());
            !value.is_object() && !value.is_null() && (!value.is_array() || (lists && is_list))
        };
        match self.content {
            Some(content) => {
                self.action == ElicitAction::Accept
                    && content.members().all(|(_, value)| is_flat(value))
            }
            None => true,
        }
    }
}

names! {
    /// Action of the user on an elicitation: `action` of schema type `ElicitResult`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum ElicitAction {
        /// The user submitted the form or agreed to visit the URL.
        Accept = "accept",
        /// The user declined explicitly.
        Decline = "decline",
        /// The user dismissed the request without a choice.
        Cancel = "cancel",
    }
}

payload! {
    /// Parameters of `notifications/elicitation/complete`. 2025-11-25 only, in schema type
    /// `ElicitationCompleteNotification`.
    pub struct ElicitationCompleteParams<'a> {
        new {
            /// Id of the completed elicitation.
            "elicitationId" elicitation_id: text;
        }
        with {
            /// Metadata by key: see [`meta`](crate::types::meta).
            "_meta" meta: object;
        }
    }
}
