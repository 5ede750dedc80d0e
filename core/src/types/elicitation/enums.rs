//! Fields of a form with options.

use serde::{Deserialize, Deserializer, de};

use crate::encode::{Encode, Encoder, object};
use crate::json::RawJson;
use crate::lifecycle::Revision;
use crate::types::macros::{Writer, payload};
use crate::types::{List, PrimitiveSchema, Text};

/// Schema of a string that is one of several options. Schema types
/// `UntitledSingleSelectEnumSchema`, `TitledSingleSelectEnumSchema` and `LegacyTitledEnumSchema`;
/// in 2025-06-18 `EnumSchema`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SingleSelectEnumSchema<'a> {
    /// The options: the members `enum`, `oneOf` or `enum` and `enumNames`.
    pub options: EnumOptions<'a>,
    /// Display name for user interfaces.
    pub title: Option<Text<'a>>,
    /// Description of the field.
    pub description: Option<Text<'a>>,
    /// Default value. Since 2025-11-25.
    pub default: Option<Text<'a>>,
    writer: Writer<fn(&SingleSelectEnumSchema<'_>, &mut Encoder<'_>)>,
}

/// Options of a [`SingleSelectEnumSchema`] or [`MultiSelectEnumSchema`].
#[derive(Clone, Copy, Debug)]
pub enum EnumOptions<'a> {
    /// Values without display names: the member `enum`.
    Untitled(List<'a, Text<'a>>),
    /// Values with display names: the member `oneOf` or `anyOf`. Written as
    /// [`Legacy`](Self::Legacy) for 2025-06-18.
    Titled(List<'a, EnumOption<'a>>),
    /// Values and display names in two lists, as in 2025-06-18: the members `enum` and `enumNames`.
    Legacy {
        /// Values.
        values: List<'a, Text<'a>>,
        /// Display names, in the same order.
        names: List<'a, Text<'a>>,
    },
}

impl<'a> EnumOptions<'a> {
    /// Returns whether `text` is the value of an option.
    #[must_use]
    pub fn contains(&self, text: Text<'_>) -> bool {
        match self {
            Self::Untitled(values) | Self::Legacy { values, .. } => {
                values.iter().flatten().any(|value| value == text)
            }
            Self::Titled(choices) => choices.iter().flatten().any(|choice| choice.value == text),
        }
    }
}

payload! {
    /// An option with a display name.
    pub struct EnumOption<'a> {
        new {
            /// Value of the option: the member `const`.
            "const" value: text;
            /// Display name for user interfaces.
            "title" title: text;
        }
    }
}

impl<'a> SingleSelectEnumSchema<'a> {
    /// Creates a schema with options without display names.
    #[must_use]
    pub const fn untitled(values: &'a [Text<'a>]) -> Self {
        Self::new(EnumOptions::Untitled(List::new(values)))
    }

    /// Creates a schema with options with display names.
    #[must_use]
    pub const fn titled(choices: &'a [EnumOption<'a>]) -> Self {
        Self::new(EnumOptions::Titled(List::new(choices)))
    }

    /// Creates a schema with these options.
    #[must_use]
    pub const fn new(options: EnumOptions<'a>) -> Self {
        Self {
            options,
            title: None,
            description: None,
            default: None,
            writer: Writer(|this, to| this.write_members(to)),
        }
    }

    /// Sets the display name.
    #[must_use]
    pub const fn title(mut self, title: &'a str) -> Self {
        self.title = Some(Text::new(title));
        self
    }

    /// Sets the description of the field.
    #[must_use]
    pub const fn description(mut self, description: &'a str) -> Self {
        self.description = Some(Text::new(description));
        self
    }

    /// Sets the default value. Since 2025-11-25.
    #[must_use]
    pub const fn default(mut self, default: &'a str) -> Self {
        self.default = Some(Text::new(default));
        self
    }

    /// Converts to the schema of a [`Field`](crate::types::Field).
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::SingleSelect(self)
    }

    fn write_members(&self, to: &mut Encoder<'_>) {
        let (mut values, mut names, mut choices, mut columns) = (None, None, None, None);
        match &self.options {
            EnumOptions::Untitled(list) => values = Some(list),
            EnumOptions::Titled(list) => {
                choices = Some(list);
                columns = Some((
                    Column(list, "const", |choice| choice.value),
                    Column(list, "title", |choice| choice.title),
                ));
            }
            EnumOptions::Legacy { values: list, names: of_list } => {
                (values, names) = (Some(list), Some(of_list))
            }
        }
        object!(to, {
            "type" = "string",
            "title"?: self.title,
            "description"?: self.description,
            "enum"?: values,
            "enumNames"?: names,
            "oneOf"? since V2025_11_25: choices,
            "enum"? until V2025_06_18: columns.as_ref().map(|(values, _)| values),
            "enumNames"? until V2025_06_18: columns.as_ref().map(|(_, names)| names),
            "default"? since V2025_11_25: self.default,
        });
    }
}

impl Encode for SingleSelectEnumSchema<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        (self.writer.0)(self, to);
    }
}

/// One member of each option: the value or the display name.
struct Column<'x, 'a>(&'x List<'a, EnumOption<'a>>, &'static str, fn(&EnumOption<'a>) -> Text<'a>);

impl Encode for Column<'_, '_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let json = self.0.as_json().unwrap_or(RawJson::NULL);
        let texts = json
            .elements()
            .filter_map(|choice| choice.get(self.1)?.as_string().map(Text::from_json));
        let own = self.0.as_slice().unwrap_or_default().iter().map(self.2);
        to.array(own.chain(texts));
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for SingleSelectEnumSchema<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let EnumMembers { title, description, values, names, choices, default } =
            EnumMembers::deserialize(deserializer)?;
        let options = match (values, names, choices) {
            (Some(values), Some(names), _) => EnumOptions::Legacy { values, names },
            (Some(values), None, _) => EnumOptions::Untitled(values),
            (None, _, Some(choices)) => EnumOptions::Titled(choices),
            (None, _, None) => return Err(de::Error::missing_field("enum")),
        };
        Ok(Self { title, description, default, ..Self::new(options) })
    }
}

payload! {
    struct EnumMembers<'a> {
        tag "type" = "string";
        new {}
        with {
            "title" title: text;
            "description" description: text;
            "enum" values: list(Text<'a>);
            "enumNames" names: list(Text<'a>);
            "oneOf" choices: list(EnumOption<'a>);
            "default" default: text;
        }
    }
}

payload! {
    /// Schema of an array of strings, each of which is one of several options. Since 2025-11-25,
    /// schema types `UntitledMultiSelectEnumSchema` and `TitledMultiSelectEnumSchema`.
    pub struct MultiSelectEnumSchema<'a> {
        tag "type" = "array";
        writer write_for_revision;
        new {
            /// The options.
            "items" items: of(MultiSelectItems<'a>);
        }
        with {
            /// Display name for user interfaces.
            "title" title: text;
            /// Description of the field.
            "description" description: text;
            /// Minimum number of selected options.
            "minItems" min_items: of(u64);
            /// Maximum number of selected options.
            "maxItems" max_items: of(u64);
            /// Default value: the options selected initially.
            "default" default: list(Text<'a>);
        }
    }
}

impl<'a> MultiSelectEnumSchema<'a> {
    /// Creates a schema with options without display names.
    #[must_use]
    pub const fn untitled(values: &'a [Text<'a>]) -> Self {
        Self::new(MultiSelectItems(EnumOptions::Untitled(List::new(values))))
    }

    /// Creates a schema with options with display names.
    #[must_use]
    pub const fn titled(choices: &'a [EnumOption<'a>]) -> Self {
        Self::new(MultiSelectItems(EnumOptions::Titled(List::new(choices))))
    }

    /// Converts to the schema of a [`Field`](crate::types::Field).
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::MultiSelect(self)
    }

    /// Writes the schema; for 2025-06-18 that of a single selection.
    fn write_for_revision(&self, to: &mut Encoder<'_>) {
        if to.revision() >= Revision::V2025_11_25 {
            return self.write_members(to);
        }
        let (title, description) = (self.title, self.description);
        SingleSelectEnumSchema { title, description, ..SingleSelectEnumSchema::new(self.items.0) }
            .write_members(to);
    }
}

/// Options of a [`MultiSelectEnumSchema`]: its member `items`.
#[derive(Clone, Copy, Debug)]
pub struct MultiSelectItems<'a>(pub EnumOptions<'a>);

impl Encode for MultiSelectItems<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match &self.0 {
            EnumOptions::Untitled(values) | EnumOptions::Legacy { values, .. } => {
                object!(to, { "type" = "string", "enum": values })
            }
            EnumOptions::Titled(choices) => object!(to, { "anyOf": choices }),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for MultiSelectItems<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if let Some(choices) = raw.get("anyOf").and_then(List::from_json) {
            return Ok(Self(EnumOptions::Titled(choices)));
        }
        match raw.get("enum").and_then(List::from_json) {
            Some(values) => Ok(Self(EnumOptions::Untitled(values))),
            None => Err(de::Error::missing_field("enum")),
        }
    }
}
