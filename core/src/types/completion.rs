//! Completions of what a person types into an argument.

use super::macros::{payload, with_serde};
use super::read::{self, How, Slot};
use super::value::{Array, Flow, Object, Payload, Put, Value};
use super::{List, Text};
use crate::json::{RawJson, ReadError};

payload! {
    /// What `completion/complete` asks for. Schema type `CompleteRequestParams`.
    pub struct CompleteParams<'a> {
        new {
            /// Whose argument it is.
            "ref" reference: of(CompletionRef<'a>);
            /// What has been typed.
            "argument" argument: of(CompletionArgument<'a>);
        }
        with {
            /// From 2025-06-18 on.
            "context" context: of(CompletionContext<'a>), in CE;
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

/// Whose argument is to be completed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CompletionRef<'a> {
    /// A prompt's.
    Prompt(PromptReference<'a>),
    /// A resource template's.
    Resource(ResourceTemplateReference<'a>),
    /// Of a type that is not known.
    Other(RawJson<'a>),
}

impl<'a> Payload<'a> for CompletionRef<'a> {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Prompt(reference) => reference.value(),
            Self::Resource(reference) => reference.value(),
            Self::Other(reference) => Value::Raw(*reference),
        }
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        let kind = raw.get("type").and_then(RawJson::as_string).ok_or(ReadError::missing("type"))?;
        if kind == "ref/prompt" {
            PromptReference::read(raw).map(Self::Prompt)
        } else if kind == "ref/resource" {
            ResourceTemplateReference::read(raw).map(Self::Resource)
        } else {
            Ok(Self::Other(raw))
        }
    }
}

with_serde! { CompletionRef<'a> }

payload! {
    /// A prompt by its name. Schema type `PromptReference`.
    pub struct PromptReference<'a> {
        tag "type" = "ref/prompt";
        new {
            /// The prompt.
            "name" name: text;
        }
        with {
            /// The name for people. From 2025-06-18 on.
            "title" title: text, in CE;
        }
    }
}

payload! {
    /// A resource template by its URI. Schema type `ResourceTemplateReference`, before 2025-06-18 `ResourceReference`.
    pub struct ResourceTemplateReference<'a> {
        tag "type" = "ref/resource";
        new {
            /// A URI, or the template of URIs.
            "uri" uri: text;
        }
    }
}

payload! {
    /// An argument, as far as it has been typed.
    pub struct CompletionArgument<'a> {
        new {
            /// Which one.
            "name" name: text;
            /// What has been typed.
            "value" value: text;
        }
    }
}

payload! {
    /// What else is known. From 2025-06-18 on.
    pub struct CompletionContext<'a> {
        new {}
        with {
            /// The arguments that have been filled in: names and strings.
            "arguments" arguments: object;
        }
    }
}

impl<'a> CompleteParams<'a> {
    /// What has been filled in for another argument, the one with this name.
    #[must_use]
    pub fn resolved(&self, name: &str) -> Option<Text<'a>> {
        self.context?.arguments?.get(name).and_then(RawJson::as_string).map(Text::from_json)
    }
}

payload! {
    /// The answer to `completion/complete`. Schema type `CompleteResult`.
    pub struct CompleteResult<'a> {
        new {
            /// The values.
            "completion" completion: of(Completion<'a>);
        }
        with {
            /// Anything else.
            "_meta" meta: object;
        }
    }
}

/// Values for an argument. At most 100 are written: of more, the first 100, with `hasMore` and how many there are.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Completion<'a> {
    /// The best first.
    pub values: List<'a, Text<'a>>,
    /// How many there are, those that are not among the values included.
    pub total: Option<u64>,
    /// Whether there are more than these.
    pub has_more: Option<bool>,
}

/// What one answer may hold.
const MAX_VALUES: usize = 100;

impl<'a> Completion<'a> {
    /// The best value first.
    #[must_use]
    pub const fn new(values: &'a [Text<'a>]) -> Self {
        Self { values: List::new(values), total: None, has_more: None }
    }

    /// How many there are, those that are not among the values included.
    #[must_use]
    pub const fn total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Whether there are more than these.
    #[must_use]
    pub const fn has_more(mut self, has_more: bool) -> Self {
        self.has_more = Some(has_more);
        self
    }
}

impl Object for Completion<'_> {
    fn keys(&self) -> &'static str {
        "values total hasMore"
    }

    fn field(&self, index: usize) -> Value<'_> {
        let count = self.values.len();
        let cut = count > MAX_VALUES;
        match index {
            0 if cut => Value::Array(self),
            0 => self.values.value(),
            1 => self.total.or(cut.then_some(count as u64)).map_or(Value::Absent, Value::Unsigned),
            _ => if cut { Some(true) } else { self.has_more }.map_or(Value::Absent, Value::Bool),
        }
    }
}

/// The first values, as many as one answer may hold.
impl Array for Completion<'_> {
    fn made(&self, put: Put<'_>) -> Flow {
        self.values.iter().take(MAX_VALUES).try_for_each(|text| put(text.map_or(Value::Invalid, Value::Text)))
    }
}

impl<'a> Payload<'a> for Completion<'a> {
    fn value(&self) -> Value<'_> {
        Value::Object(self)
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        let (mut values, mut total, mut has_more): (Option<List<'a, Text<'a>>>, Option<u64>, Option<bool>) = (None, None, None);
        read::object(
            raw,
            None,
            &mut [
                Slot::new("values", How::Given, &mut values),
                Slot::new("total", How::Optional, &mut total),
                Slot::new("hasMore", How::Optional, &mut has_more),
            ],
        )?;
        Ok(Self { values: values.ok_or(ReadError::missing("values"))?, total, has_more })
    }
}

with_serde! { Completion<'a> }
