//! Fields of a form with a choice.

use super::macros::{payload, with_serde};
use super::read::{self, How, Slot};
use super::value::{Array, Flow, Object, Payload, Put, Value, Versions};
use super::{FieldSchema, List, Text};
use crate::json::{RawJson, ReadError};

/// One of several texts. Schema types `UntitledSingleSelectEnumSchema`, `TitledSingleSelectEnumSchema`, `LegacyTitledEnumSchema`; in
/// 2025-06-18 `EnumSchema`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SelectSchema<'a> {
    /// What there is to choose from.
    pub options: Options<'a>,
    /// The name for people.
    pub title: Option<Text<'a>>,
    /// What it is for.
    pub description: Option<Text<'a>>,
    /// What is chosen already. From 2025-11-25 on.
    pub default: Option<Text<'a>>,
}

/// What there is to choose from.
#[derive(Clone, Copy, Debug)]
pub enum Options<'a> {
    /// Texts.
    Plain(List<'a, Text<'a>>),
    /// Texts with names for people. In 2025-06-18 they are written as in [`Legacy`](Self::Legacy).
    Titled(List<'a, Choice<'a>>),
    /// Texts, and in another list their names: as in 2025-06-18.
    Legacy {
        /// The texts.
        values: List<'a, Text<'a>>,
        /// Their names for people, in the same order.
        names: List<'a, Text<'a>>,
    },
}

impl<'a> Options<'a> {
    /// Whether this is one of them.
    #[must_use]
    pub fn contains(&self, text: Text<'_>) -> bool {
        match self {
            Self::Plain(values) | Self::Legacy { values, .. } => values.iter().flatten().any(|value| value == text),
            Self::Titled(choices) => choices.iter().flatten().any(|choice| choice.value == text),
        }
    }
}

payload! {
    /// A text to choose, and its name.
    pub struct Choice<'a> {
        new {
            /// What the answer will be.
            "const" value: text;
            /// The name for people.
            "title" title: text;
        }
    }
}

impl<'a> SelectSchema<'a> {
    /// One of these texts.
    #[must_use]
    pub const fn plain(values: &'a [Text<'a>]) -> Self {
        Self::of(Options::Plain(List::new(values)))
    }

    /// One of these texts, which have names.
    #[must_use]
    pub const fn titled(choices: &'a [Choice<'a>]) -> Self {
        Self::of(Options::Titled(List::new(choices)))
    }

    /// One of these.
    #[must_use]
    pub const fn of(options: Options<'a>) -> Self {
        Self { options, title: None, description: None, default: None }
    }

    /// The name for people.
    #[must_use]
    pub const fn title(mut self, title: &'a str) -> Self {
        self.title = Some(Text::new(title));
        self
    }

    /// What it is for.
    #[must_use]
    pub const fn description(mut self, description: &'a str) -> Self {
        self.description = Some(Text::new(description));
        self
    }

    /// What is chosen already. From 2025-11-25 on.
    #[must_use]
    pub const fn default(mut self, default: &'a str) -> Self {
        self.default = Some(Text::new(default));
        self
    }

    /// As the schema of a [`Field`](super::Field).
    #[must_use]
    pub const fn schema(self) -> FieldSchema<'a> {
        FieldSchema::Select(self)
    }
}

impl Object for SelectSchema<'_> {
    fn keys(&self) -> &'static str {
        "type title description enum enumNames oneOf default:DE"
    }

    fn field(&self, index: usize) -> Value<'_> {
        match (index, &self.options) {
            (0, _) => Value::Text(Text::new("string")),
            (1, _) => self.title.map_or(Value::Absent, Value::Text),
            (2, _) => self.description.map_or(Value::Absent, Value::Text),
            (3, Options::Plain(values) | Options::Legacy { values, .. }) => values.value(),
            (4, Options::Legacy { names, .. }) => names.value(),
            (5, Options::Titled(choices)) => choices.value(),
            (6, _) => self.default.map_or(Value::Absent, Value::Text),
            _ => Value::Absent,
        }
    }
}

/// With titles in a list of their own, as 2025-06-18 has them.
struct Legacy<'x, 'a> {
    schema: &'x SelectSchema<'a>,
    values: Column<'x, 'a>,
    names: Column<'x, 'a>,
}

impl Object for Legacy<'_, '_> {
    fn keys(&self) -> &'static str {
        self.schema.keys()
    }

    fn field(&self, index: usize) -> Value<'_> {
        match index {
            3 => Value::Array(&self.values),
            4 => Value::Array(&self.names),
            5 => Value::Absent,
            _ => self.schema.field(index),
        }
    }
}

/// The texts alone, or the names alone.
struct Column<'x, 'a>(&'x List<'a, Choice<'a>>, fn(Choice<'a>) -> Text<'a>);

impl Array for Column<'_, '_> {
    fn made(&self, put: Put<'_>) -> Flow {
        self.0.iter().try_for_each(|choice| put(choice.map_or(Value::Invalid, |choice| Value::Text((self.1)(choice)))))
    }
}

impl Versions for SelectSchema<'_> {
    fn newer(&self, put: Put<'_>) -> Flow {
        put(Value::Object(self))
    }

    fn older(&self, put: Put<'_>) -> Flow {
        let Options::Titled(choices) = &self.options else { return put(Value::Object(self)) };
        let (values, names) = (Column(choices, |choice| choice.value), Column(choices, |choice| choice.title));
        put(Value::Object(&Legacy { schema: self, values, names }))
    }
}

impl<'a> Payload<'a> for SelectSchema<'a> {
    fn value(&self) -> Value<'_> {
        Value::Versions("DE", self)
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        let [mut title, mut description, mut default]: [Option<Text<'a>>; 3] = [None; 3];
        let [mut values, mut names]: [Option<List<'a, Text<'a>>>; 2] = [None; 2];
        let mut choices: Option<List<'a, Choice<'a>>> = None;
        read::object(
            raw,
            Some(("type", "string")),
            &mut [
                Slot::new("title", How::Optional, &mut title),
                Slot::new("description", How::Optional, &mut description),
                Slot::new("enum", How::Optional, &mut values),
                Slot::new("enumNames", How::Optional, &mut names),
                Slot::new("oneOf", How::Optional, &mut choices),
                Slot::new("default", How::Optional, &mut default),
            ],
        )?;
        let options = match (values, names, choices) {
            (Some(values), Some(names), _) => Options::Legacy { values, names },
            (Some(values), None, _) => Options::Plain(values),
            (None, _, Some(choices)) => Options::Titled(choices),
            (None, _, None) => return Err(ReadError::missing("enum")),
        };
        Ok(Self { options, title, description, default })
    }
}

with_serde! { SelectSchema<'a> }

payload! {
    /// Any of several texts. From 2025-11-25 on, schema types `UntitledMultiSelectEnumSchema` and `TitledMultiSelectEnumSchema`.
    pub struct SelectManySchema<'a> {
        tag "type" = "array";
        new {
            /// What there is to choose from.
            "items" items: of(Items<'a>);
        }
        with {
            /// The name for people.
            "title" title: text;
            /// What it is for.
            "description" description: text;
            /// The least number of choices.
            "minItems" min_items: of(u64);
            /// The greatest number of choices.
            "maxItems" max_items: of(u64);
            /// What is chosen already.
            "default" default: list(Text<'a>);
        }
    }
}

impl<'a> SelectManySchema<'a> {
    /// Any of these texts.
    #[must_use]
    pub const fn plain(values: &'a [Text<'a>]) -> Self {
        Self::new(Items(Options::Plain(List::new(values))))
    }

    /// Any of these texts, which have names.
    #[must_use]
    pub const fn titled(choices: &'a [Choice<'a>]) -> Self {
        Self::new(Items(Options::Titled(List::new(choices))))
    }

    /// As the schema of a [`Field`](super::Field).
    #[must_use]
    pub const fn schema(self) -> FieldSchema<'a> {
        FieldSchema::SelectMany(self)
    }
}

impl Versions for SelectManySchema<'_> {
    fn newer(&self, put: Put<'_>) -> Flow {
        put(self.value())
    }

    /// One of them.
    fn older(&self, put: Put<'_>) -> Flow {
        let one = SelectSchema { title: self.title, description: self.description, ..SelectSchema::of(self.items.0) };
        put(one.value())
    }
}

/// What there is to choose from in a [`SelectManySchema`].
#[derive(Clone, Copy, Debug)]
pub struct Items<'a>(pub Options<'a>);

impl Object for Items<'_> {
    fn keys(&self) -> &'static str {
        "type enum anyOf"
    }

    fn field(&self, index: usize) -> Value<'_> {
        match (index, &self.0) {
            (0, Options::Plain(_) | Options::Legacy { .. }) => Value::Text(Text::new("string")),
            (1, Options::Plain(values) | Options::Legacy { values, .. }) => values.value(),
            (2, Options::Titled(choices)) => choices.value(),
            _ => Value::Absent,
        }
    }
}

impl<'a> Payload<'a> for Items<'a> {
    fn value(&self) -> Value<'_> {
        Value::Object(self)
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        if let Some(choices) = raw.get("anyOf").and_then(List::from_json) {
            return Ok(Self(Options::Titled(choices)));
        }
        raw.get("enum").and_then(List::from_json).map(|values| Self(Options::Plain(values))).ok_or(ReadError::missing("enum"))
    }
}

with_serde! { Items<'a> }
