//! Elicitation: a server asks the person, by a form or by a page in the web.

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

use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revision};
use crate::types::TaskMetadata;
use crate::types::encode::macros::{names, payload};
use crate::types::encode::tell::{payload_told, tell_one_of};

/// What `elicitation/create` asks for. From 2025-06-18 on, schema type `ElicitRequestParams`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ElicitParams<'a> {
    /// A form.
    Form(ElicitFormParams<'a>),
    /// A page in the web. From 2025-11-25 on.
    Url(ElicitUrlParams<'a>),
}

impl<'a> ElicitParams<'a> {
    /// A form.
    #[must_use]
    pub const fn form(message: &'a str, requested_schema: RequestedSchema<'a>) -> Self {
        Self::Form(ElicitFormParams::new(message, requested_schema))
    }

    /// A page in the web, for 2026-07-28; 2025-11-25 wants an id as well
    /// ([`ElicitUrlParams::elicitation_id`]).
    #[must_use]
    pub const fn url(message: &'a str, url: &'a str) -> Self {
        Self::Url(ElicitUrlParams::new(message, url))
    }

    /// What the client must have declared.
    #[must_use]
    pub const fn required_capabilities(&self) -> ClientFeatures {
        match self {
            Self::Form(_) => ClientFeatures::ELICITATION_FORM,
            Self::Url(_) => ClientFeatures::ELICITATION_URL,
        }
    }
}

tell_one_of! {
    ElicitParams<'_> {
        Self::Form(form) => form,
        Self::Url(url) => url,
    }
}

/// Without a `mode` it is a form.
impl<'de: 'a, 'a> Deserialize<'de> for ElicitParams<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let is_url = raw.get("mode").and_then(RawJson::as_string).is_some_and(|mode| mode == "url");
        // Any other mode than `form` is refused there.
        let read = if is_url { raw.to().map(Self::Url) } else { raw.to().map(Self::Form) };
        read.map_err(de::Error::custom)
    }
}

payload! {
    /// A form for the person. From 2025-06-18 on, schema type `ElicitRequestFormParams`.
    pub struct ElicitFormParams<'a> {
        new {
            /// What it is for.
            "message" message: text;
            /// Its fields.
            "requestedSchema" requested_schema: of(RequestedSchema<'a>);
        }
        with {
            /// From 2025-11-25 on, and superfluous.
            "mode" mode: of(FormMode), in DE;
            /// To be run as a task. 2025-11-25 only.
            "task" task: of(TaskMetadata), in DD;
            /// Up to 2025-11-25.
            "_meta" meta: object, in AD;
        }
    }
}

impl<'a> ElicitFormParams<'a> {
    /// The answer of a person who filled it in: checked against the form, as a client should before
    /// it answers (client/elicitation).
    ///
    /// # Errors
    /// What does not fit: have it corrected.
    pub fn accept(&self, content: RawJson<'a>) -> Result<ElicitResult<'a>, FormError<'a>> {
        self.requested_schema.validate_content(content).map(|()| ElicitResult::accept(content))
    }
}

names! {
    /// The mode of an [`ElicitFormParams`].
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum FormMode {
        /// A form.
        Form = "form",
    }
}

payload! {
    /// A page for the person. From 2025-11-25 on, schema type `ElicitRequestURLParams`.
    pub struct ElicitUrlParams<'a> {
        tag "mode" = "url";
        new {
            /// What it is for.
            "message" message: text;
            /// The page.
            "url" url: text;
        }
        with {
            /// By which `notifications/elicitation/complete` refers to it. 2025-11-25 only, and required there.
            "elicitationId" elicitation_id: text, in DD;
            /// To be run as a task. 2025-11-25 only.
            "task" task: of(TaskMetadata), in DD;
            /// Up to 2025-11-25.
            "_meta" meta: object, in AD;
        }
    }
}

impl ElicitUrlParams<'_> {
    /// Whether it has what `revision` wants: something that looks like a URL, and in 2025-11-25 an
    /// id.
    #[must_use]
    pub fn is_valid_for(&self, revision: Revision) -> bool {
        validation::looks_like_uri(self.url)
            && (revision != Revision::V2025_11_25 || self.elicitation_id.is_some())
    }
}

payload! {
    /// What the person answered: the answer to `elicitation/create`. From 2025-06-18 on, schema type `ElicitResult`.
    pub struct ElicitResult<'a> {
        new {
            /// What the person did.
            "action" action: of(ElicitAction);
        }
        with {
            /// What was filled in, when a form was accepted: strings, numbers, booleans, lists of strings.
            "content" content: object;
            /// Up to 2025-11-25.
            "_meta" meta: object, in AD;
        }
    }
}

impl<'a> ElicitResult<'a> {
    /// A form, filled in.
    #[must_use]
    pub const fn accept(content: RawJson<'a>) -> Self {
        Self::new(ElicitAction::Accept).content(content)
    }

    /// Whether it has what `revision` wants: content only when something was accepted, and in it
    /// only strings, numbers and booleans, from 2025-11-25 on lists of strings, too.
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
    /// What the person did about an elicitation.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum ElicitAction {
        /// Agreed.
        Accept = "accept",
        /// Said no.
        Decline = "decline",
        /// Went away without a choice.
        Cancel = "cancel",
    }
}

payload! {
    /// What `notifications/elicitation/complete` says. 2025-11-25 only, schema type `ElicitationCompleteNotification`.
    pub struct ElicitationCompleteParams<'a> {
        new {
            /// The elicitation.
            "elicitationId" elicitation_id: text;
        }
        with {
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

payload_told! { ElicitParams<'a> }
