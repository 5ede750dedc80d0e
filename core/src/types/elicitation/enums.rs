//! Fields of a form with a choice.

use serde::{Deserialize, Deserializer, de};

use crate::json::RawJson;
use crate::types::encode::macros::payload;
use crate::types::encode::tell::{Tell, Teller, serialize_told};
use crate::types::{List, PrimitiveSchema, Text};

/// One of several texts. Schema types `UntitledSingleSelectEnumSchema`,
/// `TitledSingleSelectEnumSchema`, `LegacyTitledEnumSchema`; in 2025-06-18 `EnumSchema`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SingleSelectEnumSchema<'a> {
    /// What there is to choose from.
    pub options: EnumOptions<'a>,
    /// The name for people.
    pub title: Option<Text<'a>>,
    /// What it is for.
    pub description: Option<Text<'a>>,
    /// What is chosen already. From 2025-11-25 on.
    pub default: Option<Text<'a>>,
}

/// What there is to choose from.
#[derive(Clone, Copy, Debug)]
pub enum EnumOptions<'a> {
    /// Texts.
    Untitled(List<'a, Text<'a>>),
    /// Texts with names for people. In 2025-06-18 they are written as in [`Legacy`](Self::Legacy).
    Titled(List<'a, EnumOption<'a>>),
    /// Texts, and in another list their names: as in 2025-06-18.
    Legacy {
        /// The texts.
        values: List<'a, Text<'a>>,
        /// Their names for people, in the same order.
        names: List<'a, Text<'a>>,
    },
}

impl<'a> EnumOptions<'a> {
    /// Whether this is one of them.
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
    /// A text to choose, and its name.
    pub struct EnumOption<'a> {
        new {
            /// What the answer will be.
            "const" value: text;
            /// The name for people.
            "title" title: text;
        }
    }
}

impl<'a> SingleSelectEnumSchema<'a> {
    /// One of these texts.
    #[must_use]
    pub const fn untitled(values: &'a [Text<'a>]) -> Self {
        Self::new(EnumOptions::Untitled(List::new(values)))
    }

    /// One of these texts, which have names.
    #[must_use]
    pub const fn titled(choices: &'a [EnumOption<'a>]) -> Self {
        Self::new(EnumOptions::Titled(List::new(choices)))
    }

    /// One of these.
    #[must_use]
    pub const fn new(options: EnumOptions<'a>) -> Self {
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

    /// As the schema of a [`Field`](crate::types::Field).
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::SingleSelect(self)
    }
}

impl Tell for SingleSelectEnumSchema<'_> {
    fn tell(&self, to: &mut dyn Teller) {
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
        to.object(
            "type,title,description,enum,enumNames,oneOf:DE,enum:AC,enumNames:AC,default:DE,",
            &[
                &"string",
                &self.title,
                &self.description,
                &values,
                &names,
                &choices,
                &columns.as_ref().map(|(values, _)| values),
                &columns.as_ref().map(|(_, names)| names),
                &self.default,
            ],
        );
    }
}

serialize_told!(SingleSelectEnumSchema<'_>, MultiSelectItems<'_>);

/// The texts alone, or the names alone.
struct Column<'x, 'a>(&'x List<'a, EnumOption<'a>>, &'static str, fn(&EnumOption<'a>) -> Text<'a>);

impl Tell for Column<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        let json = self.0.as_json().unwrap_or(RawJson::NULL);
        let texts = json
            .elements()
            .filter_map(|choice| choice.get(self.1)?.as_string().map(Text::from_json));
        to.open(b'[');
        self.0
            .as_slice()
            .unwrap_or_default()
            .iter()
            .map(self.2)
            .chain(texts)
            .for_each(|text| to.item(&text));
        to.close();
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for SingleSelectEnumSchema<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Members { title, description, values, names, choices, default } =
            Members::deserialize(deserializer)?;
        let options = match (values, names, choices) {
            (Some(values), Some(names), _) => EnumOptions::Legacy { values, names },
            (Some(values), None, _) => EnumOptions::Untitled(values),
            (None, _, Some(choices)) => EnumOptions::Titled(choices),
            (None, _, None) => return Err(de::Error::missing_field("enum")),
        };
        Ok(Self { options, title, description, default })
    }
}

payload! {
    struct Members<'a> {
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
    /// Any of several texts. From 2025-11-25 on, schema types `UntitledMultiSelectEnumSchema` and `TitledMultiSelectEnumSchema`.
    pub struct MultiSelectEnumSchema<'a> {
        tag "type" = "array";
        new {
            /// What there is to choose from.
            "items" items: of(MultiSelectItems<'a>);
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

impl<'a> MultiSelectEnumSchema<'a> {
    /// Any of these texts.
    #[must_use]
    pub const fn untitled(values: &'a [Text<'a>]) -> Self {
        Self::new(MultiSelectItems(EnumOptions::Untitled(List::new(values))))
    }

    /// Any of these texts, which have names.
    #[must_use]
    pub const fn titled(choices: &'a [EnumOption<'a>]) -> Self {
        Self::new(MultiSelectItems(EnumOptions::Titled(List::new(choices))))
    }

    /// As the schema of a [`Field`](crate::types::Field).
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::MultiSelect(self)
    }

    /// For 2025-06-18: one of them.
    pub(super) fn as_select(&self) -> SingleSelectEnumSchema<'a> {
        SingleSelectEnumSchema {
            title: self.title,
            description: self.description,
            ..SingleSelectEnumSchema::new(self.items.0)
        }
    }
}

/// What there is to choose from in a [`MultiSelectEnumSchema`].
#[derive(Clone, Copy, Debug)]
pub struct MultiSelectItems<'a>(pub EnumOptions<'a>);

impl Tell for MultiSelectItems<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        match &self.0 {
            EnumOptions::Untitled(values) | EnumOptions::Legacy { values, .. } => {
                to.object("type,enum,", &[&"string", values])
            }
            EnumOptions::Titled(choices) => to.object("anyOf,", &[choices]),
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
