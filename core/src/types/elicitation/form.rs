//! The fields of a form: the flat schemas that elicitation allows.

use core::fmt;

use serde::{Deserialize, Deserializer, de};

use crate::json::{Members, RawJson, ReadError};
use crate::message::hash_text;
use crate::types::common::Source;
use crate::types::encode::macros::{names, payload, wrong};
use crate::types::encode::tell::{Tell, Teller, serialize_told};
use crate::types::{MultiSelectEnumSchema, Number, SingleSelectEnumSchema, Text};

/// The fields of a form: an object without nesting. The member `requestedSchema` of schema type
/// `ElicitRequestFormParams`.
///
/// Made of [`Field`]s, or read: then written again as it was, with keywords that this library does
/// not know.
///
/// ```
/// use mcp_sansio::types::{
///     ElicitParams, Field, Number, NumberSchema, RequestedSchema, StringSchema,
/// };
/// const FORM: ElicitParams = ElicitParams::form(
///     "Whom may I ask for?",
///     RequestedSchema::new(&[
///         Field::required("email", StringSchema::new().format("email").schema()),
///         Field::optional("age", NumberSchema::integer().minimum(Number::new(0)).schema()),
///     ]),
/// );
/// ```
#[derive(Clone, Copy)]
pub struct RequestedSchema<'a>(pub(super) Source<&'a [Field<'a>], RawJson<'a>>);

/// A field of a form.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The key of its value.
    pub name: Text<'a>,
    /// What may be filled in.
    pub schema: PrimitiveSchema<'a>,
    /// Whether it must be.
    pub required: bool,
}

impl<'a> Field<'a> {
    /// One that must be filled in.
    #[must_use]
    pub const fn required(name: &'a str, schema: PrimitiveSchema<'a>) -> Self {
        Self { name: Text::new(name), schema, required: true }
    }

    /// One that may be left empty.
    #[must_use]
    pub const fn optional(name: &'a str, schema: PrimitiveSchema<'a>) -> Self {
        Self { name: Text::new(name), schema, required: false }
    }
}

impl<'a> RequestedSchema<'a> {
    /// These fields.
    #[must_use]
    pub const fn new(fields: &'a [Field<'a>]) -> Self {
        Self(Source::Own(fields))
    }

    /// A JSON Schema; `None` when it is not an object. Whether it is flat, [`validate`](Self::validate)
    /// says.
    #[must_use]
    pub fn from_json(schema: RawJson<'a>) -> Option<Self> {
        schema.is_object().then_some(Self(Source::Received(schema)))
    }

    /// The JSON Schema, where it was read.
    #[must_use]
    pub const fn as_json(&self) -> Option<RawJson<'a>> {
        self.0.received()
    }

    /// The fields. Of JSON that has more than [`MAX_FORM_FIELDS`] the next one is an error, and the
    /// last.
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        match self.0 {
            Source::Own(fields) => {
                Fields { own: fields, required: 0, at: 0, members: RawJson::EMPTY.members() }
            }
            Source::Received(schema) => {
                let members = schema.get("properties").unwrap_or(RawJson::EMPTY).members();
                let required =
                    required(members.clone(), schema.get("required").unwrap_or(RawJson::NULL));
                Fields { own: &[], required, at: 0, members }
            }
        }
    }
}

/// Fields of a form: see [`RequestedSchema::fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    own: &'a [Field<'a>],
    /// The members that are required, a bit each.
    required: u128,
    /// The number of members that came before.
    at: usize,
    members: Members<'a>,
}

/// The most fields that a peer's form may have. Reading it takes 800 bytes of stack.
pub const MAX_FORM_FIELDS: usize = 100;

/// The first members that the list `required` names. Each is looked up by its hash, so that two
/// long lists cost no more than their length.
fn required(members: Members<'_>, list: RawJson<'_>) -> u128 {
    let mut names = [0; MAX_FORM_FIELDS];
    for (place, (name, _)) in names.iter_mut().zip(members.clone()) {
        *place = hash_text(name);
    }
    let len = members.take(MAX_FORM_FIELDS).count();
    list.elements().filter_map(RawJson::as_string).map(hash_text).fold(0, |required, hash| {
        names
            .iter()
            .take(len)
            .enumerate()
            .filter(|(_, name)| **name == hash)
            .fold(required, |required, (at, _)| required | 1 << at)
    })
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((field, rest)) = self.own.split_first() {
            self.own = rest;
            return Some(Ok(*field));
        }
        if self.at > MAX_FORM_FIELDS {
            return None;
        }
        let (name, schema) = self.members.next()?;
        let required = self.required.checked_shr(self.at as u32).unwrap_or(0) & 1 != 0;
        self.at += 1;
        if self.at > MAX_FORM_FIELDS {
            return Some(Err(wrong(&"at most 100 fields")));
        }
        Some(schema.to().map(|schema| Field { name: Text::from_json(name), schema, required }))
    }
}

impl fmt::Debug for RequestedSchema<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Tell for RequestedSchema<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        match self.0 {
            Source::Received(raw) => to.json(raw),
            Source::Own(fields) => {
                let required =
                    fields.iter().any(|field| field.required).then_some(Required(fields));
                to.object(
                    "type,properties,required,",
                    &[&"object", &Properties(fields), &required],
                );
            }
        }
    }
}

struct Properties<'a>(&'a [Field<'a>]);

impl Tell for Properties<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.open(b'{');
        for field in self.0 {
            to.item(&field.name);
            to.item(&field.schema);
        }
        to.close();
    }
}

struct Required<'a>(&'a [Field<'a>]);

impl Tell for Required<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.open(b'[');
        for field in self.0.iter().filter(|field| field.required) {
            to.item(&field.name);
        }
        to.close();
    }
}

serialize_told!(RequestedSchema<'_>, PrimitiveSchema<'_>);

impl<'de: 'a, 'a> Deserialize<'de> for RequestedSchema<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(RawJson::deserialize(deserializer)?).ok_or_else(|| wrong(&"an object"))
    }
}

/// What may be filled into a field. Schema type `PrimitiveSchemaDefinition`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PrimitiveSchema<'a> {
    /// A text.
    String(StringSchema<'a>),
    /// A number.
    Number(NumberSchema<'a>),
    /// Yes or no.
    Boolean(BooleanSchema<'a>),
    /// One of several texts.
    SingleSelect(SingleSelectEnumSchema<'a>),
    /// Any of several texts. From 2025-11-25 on; in 2025-06-18 the person may choose one, and the
    /// answer is that text.
    MultiSelect(MultiSelectEnumSchema<'a>),
    /// A schema that no revision allows.
    Other(RawJson<'a>),
}

impl Tell for PrimitiveSchema<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        match self {
            Self::String(schema) => schema.tell(to),
            Self::Number(schema) => schema.tell(to),
            Self::Boolean(schema) => schema.tell(to),
            Self::SingleSelect(schema) => schema.tell(to),
            Self::MultiSelect(schema) => to.or_else("$mcp?DE", schema, &schema.as_select()),
            Self::Other(schema) => to.json(*schema),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for PrimitiveSchema<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let read = match FieldKind::of(raw) {
            Some(FieldKind::SingleSelect) => raw.to().map(Self::SingleSelect),
            Some(FieldKind::String) => raw.to().map(Self::String),
            Some(FieldKind::Number) => raw.to().map(Self::Number),
            Some(FieldKind::Boolean) => raw.to().map(Self::Boolean),
            Some(FieldKind::MultiSelect) => raw.to().map(Self::MultiSelect),
            None => Ok(Self::Other(raw)),
        };
        read.map_err(de::Error::custom)
    }
}

/// Which of the schemas that are allowed one in JSON is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKind {
    String,
    Number,
    Boolean,
    SingleSelect,
    MultiSelect,
}

impl FieldKind {
    pub(super) fn of(schema: RawJson<'_>) -> Option<Self> {
        let kind = schema.get("type").and_then(RawJson::as_string)?;
        let has = |schema: RawJson<'_>, one, other| schema.get(one).or(schema.get(other)).is_some();
        if kind == "string" {
            Some(if has(schema, "enum", "oneOf") { Self::SingleSelect } else { Self::String })
        } else if kind == "number" || kind == "integer" {
            Some(Self::Number)
        } else if kind == "boolean" {
            Some(Self::Boolean)
        } else if kind == "array" && has(schema.get("items")?, "enum", "anyOf") {
            Some(Self::MultiSelect)
        } else {
            None
        }
    }
}

payload! {
    /// A text. Schema type `StringSchema`.
    pub struct StringSchema<'a> {
        tag "type" = "string";
        new {}
        with {
            /// The name for people.
            "title" title: text;
            /// What it is for.
            "description" description: text;
            /// The least number of characters.
            "minLength" min_length: of(u64);
            /// The greatest number of characters.
            "maxLength" max_length: of(u64);
            /// `email`, `uri`, `date` or `date-time`.
            "format" format: text;
            /// What is filled in already. From 2025-11-25 on.
            "default" default: text, in DE;
        }
    }
}

impl<'a> StringSchema<'a> {
    /// As the schema of a [`Field`].
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::String(self)
    }
}

payload! {
    /// A number. Schema type `NumberSchema`.
    pub struct NumberSchema<'a> {
        new {
            /// Any number, or only integers.
            "type" kind: of(NumberKind);
        }
        with {
            /// The name for people.
            "title" title: text;
            /// What it is for.
            "description" description: text;
            /// The least.
            "minimum" minimum: of(Number<'a>);
            /// The greatest.
            "maximum" maximum: of(Number<'a>);
            /// What is filled in already. From 2025-11-25 on.
            "default" default: of(Number<'a>), in DE;
        }
    }
}

names! {
    /// Which numbers.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum NumberKind {
        /// Any.
        Number = "number",
        /// Integers.
        Integer = "integer",
    }
}

impl<'a> NumberSchema<'a> {
    /// Any number.
    #[must_use]
    pub const fn number() -> Self {
        Self::new(NumberKind::Number)
    }

    /// An integer.
    #[must_use]
    pub const fn integer() -> Self {
        Self::new(NumberKind::Integer)
    }

    /// As the schema of a [`Field`].
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::Number(self)
    }
}

payload! {
    /// Yes or no. Schema type `BooleanSchema`.
    pub struct BooleanSchema<'a> {
        tag "type" = "boolean";
        new {}
        with {
            /// The name for people.
            "title" title: text;
            /// What it is for.
            "description" description: text;
            /// What is chosen already.
            "default" default: of(bool);
        }
    }
}

impl<'a> BooleanSchema<'a> {
    /// As the schema of a [`Field`].
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::Boolean(self)
    }
}
