//! Forms: the subset of JSON Schema that elicitation allows, objects without nesting.

use core::fmt;

use serde::{Deserialize, Deserializer, de};

use super::validation::is_valid_json;
#[cfg(feature = "derive")]
use crate::encode::With;
use crate::encode::{Encode, Encoder, object};
#[cfg(feature = "derive")]
use crate::json::JsonStr;
use crate::json::{Members, RawJson, ReadError};
use crate::lifecycle::Revision;
use crate::message::hash_text;
use crate::types::macros::{encode_one_of, names, payload, wrong};
use crate::types::{MultiSelectEnumSchema, Number, SingleSelectEnumSchema, Text};

/// The fields of a form: `requestedSchema` of schema type `ElicitRequestFormParams`.
///
/// A JSON Schema of an object without nesting. Created from a type (`of`, with the feature
/// `derive`), from [`Field`]s, or received, and then written unchanged with the keywords that this
/// library does not know. `Field`s have what types do not: options that are known at run time.
///
/// ```
/// use mcp_sansio::types::{
///     ElicitParams, Field, Number, NumberSchema, RequestedSchema, StringSchema,
/// };
/// const FORM: ElicitParams = ElicitParams::form(
///     "Your contact data",
///     RequestedSchema::new(&[
///         Field::required("email", StringSchema::new().format("email").schema()),
///         Field::optional("age", NumberSchema::integer().minimum(Number::new(0)).schema()),
///     ]),
/// );
/// ```
#[derive(Clone, Copy)]
pub struct RequestedSchema<'a>(pub(super) Form<'a>);

/// With function pointers, so that the code is linked only with such forms.
#[derive(Clone, Copy)]
pub(super) enum Form<'a> {
    Fields(&'a [Field<'a>]),
    /// Written unchanged, in the revisions in which it may be sent.
    Json(RawJson<'a>, fn(RawJson<'_>, Revision) -> bool),
    /// Made of a type, for the latest revision; written for any.
    #[cfg(feature = "derive")]
    Typed(RawJson<'static>, fn(RawJson<'_>, &mut Encoder<'_>)),
}

/// A field of a form: a property of its [`RequestedSchema`].
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Name of the property.
    pub name: Text<'a>,
    /// Schema of the value.
    pub schema: PrimitiveSchema<'a>,
    /// Whether the field is required.
    pub required: bool,
}

impl<'a> Field<'a> {
    /// Creates a required field.
    #[must_use]
    pub const fn required(name: &'a str, schema: PrimitiveSchema<'a>) -> Self {
        Self { name: Text::new(name), schema, required: true }
    }

    /// Creates an optional field.
    #[must_use]
    pub const fn optional(name: &'a str, schema: PrimitiveSchema<'a>) -> Self {
        Self { name: Text::new(name), schema, required: false }
    }
}

impl<'a> RequestedSchema<'a> {
    /// Creates a form with these fields.
    #[must_use]
    pub const fn new(fields: &'a [Field<'a>]) -> Self {
        Self(Form::Fields(fields))
    }

    #[cfg(feature = "derive")]
    pub(crate) const fn typed(schema: RawJson<'static>) -> Self {
        Self(Form::Typed(schema, write_typed))
    }

    /// Creates a form from a JSON Schema. Returns `None` if that is not an object; anything else is
    /// checked by [`validate`](Self::validate).
    #[must_use]
    pub fn from_json(schema: RawJson<'a>) -> Option<Self> {
        schema.is_object().then_some(Self(Form::Json(schema, is_valid_json)))
    }

    /// Returns the JSON Schema of a form that was received or made of a type.
    #[must_use]
    pub const fn as_json(&self) -> Option<RawJson<'a>> {
        match self.0 {
            Form::Fields(_) => None,
            Form::Json(schema, _) => Some(schema),
            #[cfg(feature = "derive")]
            Form::Typed(schema, _) => Some(schema),
        }
    }

    /// Iterates over the fields. In a received form, a field with an invalid schema is an `Err`
    /// item, and so is the one after [`MAX_FORM_FIELDS`], which ends the iteration.
    #[must_use]
    pub fn fields(&self) -> Fields<'a> {
        if let Form::Fields(fields) = self.0 {
            return Fields { own: fields, required: 0, at: 0, members: RawJson::EMPTY.members() };
        }
        let schema = self.as_json().unwrap_or(RawJson::EMPTY);
        let members = schema.get("properties").unwrap_or(RawJson::EMPTY).members();
        let required = required(members.clone(), schema.get("required").unwrap_or(RawJson::NULL));
        Fields { own: &[], required, at: 0, members }
    }
}

/// Iterator over the fields of a form, created by [`RequestedSchema::fields`].
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    own: &'a [Field<'a>],
    /// Bit set of the members that are required.
    required: u128,
    /// Number of members already returned.
    at: usize,
    members: Members<'a>,
}

/// Maximum number of fields of a received form. Reading one takes 8 bytes of stack for each.
pub const MAX_FORM_FIELDS: usize = 100;

/// Returns the set of members that the array `required` names. Compares hashes, so that a hostile
/// form costs less time than comparing all pairs of strings.
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
        match self.0 {
            Form::Fields(fields) => fields.fmt(f),
            _ => self.as_json().fmt(f),
        }
    }
}

impl Encode for RequestedSchema<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Form::Json(schema, _) => to.raw(schema),
            #[cfg(feature = "derive")]
            Form::Typed(schema, write) => write(schema, to),
            Form::Fields(fields) => {
                let required =
                    fields.iter().any(|field| field.required).then_some(Required(fields));
                object!(to, {
                    "type" = "object",
                    "properties": Properties(fields),
                    "required"?: required,
                });
            }
        }
    }
}

/// Writes the form of a type.
#[cfg(feature = "derive")]
fn write_typed(schema: RawJson<'_>, to: &mut Encoder<'_>) {
    if to.revision() >= Revision::V2025_11_25 {
        return to.raw(schema);
    }
    let fields = With(|to: &mut Encoder<'_>| {
        to.begin_object();
        for (name, field) in schema.get("properties").unwrap_or(RawJson::EMPTY).members() {
            if Text::from_json(name).encode_key(to) {
                downgrade_field(field, to);
            }
        }
        to.end_object();
    });
    object!(to, {
        "type" = "object",
        "properties": fields,
        "required"?: schema.get("required"),
    });
}

/// Writes a field for 2025-06-18: without a default, unless it is a boolean, a selection of several
/// options as a selection of one, and display names in a list of their own.
#[cfg(feature = "derive")]
fn downgrade_field(field: RawJson<'_>, to: &mut Encoder<'_>) {
    let kind = FieldKind::of(field);
    let items = field.get("items").filter(|_| kind == Some(FieldKind::MultiSelect));
    let is_kept = |key: &JsonStr<'_>| match kind {
        Some(FieldKind::MultiSelect) => *key == "title" || *key == "description",
        Some(FieldKind::Boolean) => true,
        _ => *key != "default",
    };
    to.begin_object();
    let items = items.unwrap_or(RawJson::EMPTY).members();
    for (key, value) in items.chain(field.members().filter(|(key, _)| is_kept(key))) {
        let column = |part: &'static str| {
            With(move |to: &mut Encoder<'_>| {
                to.array(value.elements().filter_map(|option| option.get(part)));
            })
        };
        if key == "anyOf" || key == "oneOf" {
            if key == "anyOf" {
                to.member("type", "string");
            }
            to.member("enum", &column("const"));
            to.member("enumNames", &column("title"));
        } else if Text::from_json(key).encode_key(to) {
            to.raw(value);
        }
    }
    to.end_object();
}

struct Properties<'a>(&'a [Field<'a>]);

impl Encode for Properties<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for field in self.0 {
            if field.name.encode_key(to) {
                field.schema.encode(to);
            }
        }
        to.end_object();
    }
}

struct Required<'a>(&'a [Field<'a>]);

impl Encode for Required<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.array(self.0.iter().filter(|field| field.required).map(|field| field.name));
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RequestedSchema<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(RawJson::deserialize(deserializer)?).ok_or_else(|| wrong(&"an object"))
    }
}

/// Schema of a field. Schema type `PrimitiveSchemaDefinition`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PrimitiveSchema<'a> {
    /// Type `string`.
    String(StringSchema<'a>),
    /// Type `number` or `integer`.
    Number(NumberSchema<'a>),
    /// Type `boolean`.
    Boolean(BooleanSchema<'a>),
    /// Type `string` with options, of which the user selects one.
    SingleSelect(SingleSelectEnumSchema<'a>),
    /// Type `array` with options, of which the user selects any number. Since 2025-11-25; written
    /// as [`SingleSelect`](Self::SingleSelect) for 2025-06-18, whose value is one string.
    MultiSelect(MultiSelectEnumSchema<'a>),
    /// Schema that no revision allows, as JSON.
    Other(RawJson<'a>),
}

encode_one_of! {
    PrimitiveSchema<'_> {
        Self::String(schema) => schema,
        Self::Number(schema) => schema,
        Self::Boolean(schema) => schema,
        Self::SingleSelect(schema) => schema,
        Self::MultiSelect(schema) => schema,
        Self::Other(schema) => schema,
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

/// Variants of [`PrimitiveSchema`], for JSON that need not be read completely.
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
    /// Schema of a string. Schema type `StringSchema`.
    pub struct StringSchema<'a> {
        tag "type" = "string";
        writer write_members;
        new {}
        with {
            /// Display name for user interfaces.
            "title" title: text;
            /// Description of the field.
            "description" description: text;
            /// Minimum number of characters.
            "minLength" min_length: of(u64);
            /// Maximum number of characters.
            "maxLength" max_length: of(u64);
            /// Format of the string: `email`, `uri`, `date` or `date-time`.
            "format" format: text;
            /// Default value. Since 2025-11-25.
            "default" default: text, since V2025_11_25;
        }
    }
}

impl<'a> StringSchema<'a> {
    /// Converts to the schema of a [`Field`].
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::String(self)
    }
}

payload! {
    /// Schema of a number. Schema type `NumberSchema`.
    pub struct NumberSchema<'a> {
        writer write_members;
        new {
            /// Whether the value must be an integer: the member `type`.
            "type" kind: of(NumberKind);
        }
        with {
            /// Display name for user interfaces.
            "title" title: text;
            /// Description of the field.
            "description" description: text;
            /// Minimum value.
            "minimum" minimum: of(Number<'a>);
            /// Maximum value.
            "maximum" maximum: of(Number<'a>);
            /// Default value. Since 2025-11-25.
            "default" default: of(Number<'a>), since V2025_11_25;
        }
    }
}

names! {
    /// Type of a [`NumberSchema`].
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum NumberKind {
        /// Any number.
        Number = "number",
        /// Integers only.
        Integer = "integer",
    }
}

impl<'a> NumberSchema<'a> {
    /// Creates the schema of a number.
    #[must_use]
    pub const fn number() -> Self {
        Self::new(NumberKind::Number)
    }

    /// Creates the schema of an integer.
    #[must_use]
    pub const fn integer() -> Self {
        Self::new(NumberKind::Integer)
    }

    /// Converts to the schema of a [`Field`].
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::Number(self)
    }
}

payload! {
    /// Schema of a boolean. Schema type `BooleanSchema`.
    pub struct BooleanSchema<'a> {
        tag "type" = "boolean";
        writer write_members;
        new {}
        with {
            /// Display name for user interfaces.
            "title" title: text;
            /// Description of the field.
            "description" description: text;
            /// Default value.
            "default" default: of(bool);
        }
    }
}

impl<'a> BooleanSchema<'a> {
    /// Converts to the schema of a [`Field`].
    #[must_use]
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::Boolean(self)
    }
}
