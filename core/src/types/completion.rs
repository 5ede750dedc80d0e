//! Completions of what a person types into an argument.

use serde::{Deserialize, Deserializer, de};

use super::encode::macros::payload;
use super::encode::tell::{Tell, Teller, serialize_told, tell_one_of};
use super::{List, Text};
use crate::json::RawJson;

payload! {
    /// What `completion/complete` asks for. Schema type `CompleteRequestParams`.
    pub struct CompleteParams<'a> {
        new {
            /// Whose argument it is.
            "ref" reference: of(CompletionReference<'a>);
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
pub enum CompletionReference<'a> {
    /// A prompt's.
    Prompt(PromptReference<'a>),
    /// A resource template's.
    Resource(ResourceTemplateReference<'a>),
    /// Of a type that is not known.
    Other(RawJson<'a>),
}

tell_one_of! {
    CompletionReference<'_> {
        Self::Prompt(reference) => reference,
        Self::Resource(reference) => reference,
        Self::Other(reference) => reference,
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for CompletionReference<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let Some(kind) = raw.get("type").and_then(RawJson::as_string) else {
            return Err(de::Error::missing_field("type"));
        };
        let read = if kind == "ref/prompt" {
            raw.to().map(Self::Prompt)
        } else if kind == "ref/resource" {
            raw.to().map(Self::Resource)
        } else {
            Ok(Self::Other(raw))
        };
        read.map_err(de::Error::custom)
    }
}

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
    pub fn context_argument(&self, name: &str) -> Option<Text<'a>> {
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

/// Values for an argument. At most 100 are written: of more, the first 100, with `hasMore` and how
/// many there are.
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

impl Tell for Completion<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        let count = self.values.len();
        let cut = count > MAX_VALUES;
        let total = self.total.or(cut.then_some(count as u64));
        let has_more = if cut { Some(true) } else { self.has_more };
        to.object("values,total,hasMore,", &[&First(&self.values), &total, &has_more]);
    }
}

serialize_told!(Completion<'_>);

struct First<'x, 'a>(&'x List<'a, Text<'a>>);

impl Tell for First<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        // What is not a string is left out, too.
        let json = self
            .0
            .as_json()
            .unwrap_or(RawJson::NULL)
            .elements()
            .filter_map(RawJson::as_string)
            .map(Text::from_json);
        to.open(b'[');
        self.0
            .as_slice()
            .unwrap_or_default()
            .iter()
            .copied()
            .chain(json)
            .take(MAX_VALUES)
            .for_each(|text| to.item(&text));
        to.close();
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Completion<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members { values, total, has_more } = Members::deserialize(deserializer)?;
        Ok(Self { values, total, has_more })
    }
}

payload! {
    struct Members<'a> {
        new {
            "values" values: list(Text<'a>);
        }
        with {
            "total" total: of(u64);
            "hasMore" has_more: of(bool);
        }
    }
}
