//! Elicitation: a server requests input from the user, with a form or at a URL. Since 2025-06-18.

mod validation;

pub use validation::{FormDefaults, FormError, FormErrorKind};

use core::fmt;

use super::macros::{Writer, names, one_of, payload, wrong};
use super::{List, Number, TaskMetadata, Text};
use crate::encode::{Encode, Encoder, With, object};
use crate::json::{JsonStr, Members, RawJson, ReadError, hash_text};
use crate::protocol::error::InvalidPayload;
use crate::protocol::{ClientFeatures, Revision};
use serde::{Deserialize, Deserializer, de};
use validation::is_valid_json;

one_of! {
    /// Parameters of `elicitation/create`. Since 2025-06-18, schema type `ElicitRequestParams`.
    ///
    /// ```
    /// use mcp_sansio::types::{ElicitParams, Field, RequestedSchema, StringSchema};
    ///
    /// const FORM: RequestedSchema = RequestedSchema::new(&[
    ///     Field::required("name", StringSchema::new().max_length(40).schema()),
    /// ]);
    /// const BY_FORM: ElicitParams = ElicitParams::form("What is your name?", FORM);
    /// const BY_URL: ElicitParams =
    ///     ElicitParams::url("Please sign in.", "https://example.com/login");
    /// ```
    #[non_exhaustive]
    pub enum ElicitParams<'a> {
        /// Form mode.
        Form(ElicitFormParams<'a>),
        /// URL mode. Since 2025-11-25.
        Url(ElicitUrlParams<'a>),
    }
}

impl<'a> ElicitParams<'a> {
    /// Creates the parameters of form mode.
    pub const fn form(message: &'a str, requested_schema: RequestedSchema<'a>) -> Self {
        Self::Form(ElicitFormParams::new(message, requested_schema))
    }

    /// Creates the parameters of URL mode. Complete for 2026-07-28; 2025-11-25 also requires an
    /// [`elicitation_id`](ElicitUrlParams::elicitation_id).
    pub const fn url(message: &'a str, url: &'a str) -> Self {
        Self::Url(ElicitUrlParams::new(message, url))
    }

    /// Returns the client capability that the request requires.
    pub const fn required_capabilities(&self) -> ClientFeatures {
        match self {
            Self::Form(_) => ClientFeatures::ELICITATION_FORM,
            Self::Url(_) => ClientFeatures::ELICITATION_URL,
        }
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
        /// Message that explains the request to the user.
        "message" message: text;
        /// Fields of the form.
        "requestedSchema" requested_schema: of(RequestedSchema<'a>);
        optional:
        /// Mode of the request; the same as if it is missing. Since 2025-11-25.
        "mode" mode: of(FormMode), since V2025_11_25;
        /// Asks for execution as a task. 2025-11-25 only.
        "task" task: of(TaskMetadata), only V2025_11_25;
        /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
        "_meta" meta: object, until V2025_11_25;
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
        /// Message that explains to the user why to visit the URL.
        "message" message: text;
        /// URL that the user should visit.
        "url" url: text;
        optional:
        /// Id of the elicitation, for `notifications/elicitation/complete`. 2025-11-25 only,
        /// and required there.
        "elicitationId" elicitation_id: text, only V2025_11_25;
        /// Asks for execution as a task. 2025-11-25 only.
        "task" task: of(TaskMetadata), only V2025_11_25;
        /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
        "_meta" meta: object, until V2025_11_25;
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
    pub fn is_valid_for(&self, revision: Revision) -> bool {
        validation::looks_like_uri(self.url)
            && (revision != Revision::V2025_11_25 || self.elicitation_id.is_some())
    }
}

payload! {
    /// Result of `elicitation/create`. Since 2025-06-18, schema type `ElicitResult`.
    pub struct ElicitResult<'a> {
        writer write_members;
        /// Action of the user.
        "action" action: of(ElicitAction);
        optional:
        /// Submitted form data if the action is `accept`: an object of strings, numbers,
        /// booleans and, since 2025-11-25, arrays of strings.
        "content" content: object;
        /// Metadata by key: see [`meta`](crate::types::meta). Up to 2025-11-25.
        "_meta" meta: object, until V2025_11_25;
    }
}

impl<'a> ElicitResult<'a> {
    /// Creates the result of a user who submitted the form. Does not validate `content`:
    /// [`ElicitFormParams::accept`] does.
    pub const fn accept(content: RawJson<'a>) -> Self {
        Self::new(ElicitAction::Accept).content(content)
    }

    /// Creates the result of a user who said no.
    pub const fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Creates the result of a user who closed the form without a choice.
    pub const fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }

    /// Returns whether the result is valid in `revision`: content only if the action is `accept`,
    /// of strings, numbers and booleans and, since 2025-11-25, arrays of strings.
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
        /// Id of the completed elicitation.
        "elicitationId" elicitation_id: text;
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

// Forms: the subset of JSON Schema that elicitation allows, objects without nesting.

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
pub struct RequestedSchema<'a>(Form<'a>);

/// With function pointers, so that the code is linked only with such forms.
#[derive(Clone, Copy)]
enum Form<'a> {
    Fields(&'a [Field<'a>]),
    /// Written unchanged, in the revisions in which it may be sent.
    Json(RawJson<'a>, fn(RawJson<'_>, Revision) -> bool),
    /// Made of a type, for the latest revision; written for any.
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
    pub const fn required(name: &'a str, schema: PrimitiveSchema<'a>) -> Self {
        Self { name: Text::new(name), schema, required: true }
    }

    /// Creates an optional field.
    pub const fn optional(name: &'a str, schema: PrimitiveSchema<'a>) -> Self {
        Self { name: Text::new(name), schema, required: false }
    }
}

impl<'a> RequestedSchema<'a> {
    /// Creates a form with these fields.
    pub const fn new(fields: &'a [Field<'a>]) -> Self {
        Self(Form::Fields(fields))
    }

    pub(crate) const fn typed(schema: RawJson<'static>) -> Self {
        Self(Form::Typed(schema, write_typed))
    }

    /// Creates a form from a JSON Schema. Returns `None` if that is not an object; anything else is
    /// checked by [`validate`](Self::validate).
    pub fn from_json(schema: RawJson<'a>) -> Option<Self> {
        schema.is_object().then_some(Self(Form::Json(schema, is_valid_json)))
    }

    /// Returns the JSON Schema of a form that was received or made of a type.
    pub const fn as_json(&self) -> Option<RawJson<'a>> {
        match self.0 {
            Form::Fields(_) => None,
            Form::Json(schema, _) => Some(schema),
            Form::Typed(schema, _) => Some(schema),
        }
    }

    /// Iterates over the fields. In a received form, a field with an invalid schema is an `Err`
    /// item, and so is the one after [`MAX_FORM_FIELDS`], which ends the iteration.
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
            Form::Typed(schema, write) => write(schema, to),
            Form::Fields(fields) => {
                let properties = With(|to: &mut Encoder<'_>| {
                    to.begin_object();
                    for field in fields {
                        if field.name.encode_key(to) {
                            field.schema.encode(to);
                        }
                    }
                    to.end_object();
                });
                let has_required = fields.iter().any(|field| field.required);
                let required = With(|to: &mut Encoder<'_>| {
                    to.array(fields.iter().filter(|field| field.required).map(|field| field.name));
                });
                object!(to, {
                    "type" = "object",
                    "properties": properties,
                    "required"?: has_required.then_some(&required),
                });
            }
        }
    }
}

/// Writes the form of a type.
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

impl<'de: 'a, 'a> Deserialize<'de> for RequestedSchema<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(RawJson::deserialize(deserializer)?).ok_or_else(|| wrong(&"an object"))
    }
}

one_of! {
    /// Schema of a field. Schema type `PrimitiveSchemaDefinition`.
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
        /// Type `array` with options, of which the user selects any number. Since 2025-11-25;
        /// written as [`SingleSelect`](Self::SingleSelect) for 2025-06-18, whose value is one
        /// string.
        MultiSelect(MultiSelectEnumSchema<'a>),
        /// Schema that no revision allows, as JSON.
        Other(RawJson<'a>),
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
enum FieldKind {
    String,
    Number,
    Boolean,
    SingleSelect,
    MultiSelect,
}

impl FieldKind {
    fn of(schema: RawJson<'_>) -> Option<Self> {
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
        optional:
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

impl<'a> StringSchema<'a> {
    /// Converts to the schema of a [`Field`].
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::String(self)
    }
}

payload! {
    /// Schema of a number. Schema type `NumberSchema`.
    pub struct NumberSchema<'a> {
        writer write_members;
        /// Whether the value must be an integer: the member `type`.
        "type" kind: of(NumberKind);
        optional:
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

names! {
    /// Type of a [`NumberSchema`].
    pub enum NumberKind {
        /// Any number.
        Number = "number",
        /// Integers only.
        Integer = "integer",
    }
}

impl<'a> NumberSchema<'a> {
    /// Creates the schema of a number.
    pub const fn number() -> Self {
        Self::new(NumberKind::Number)
    }

    /// Creates the schema of an integer.
    pub const fn integer() -> Self {
        Self::new(NumberKind::Integer)
    }

    /// Converts to the schema of a [`Field`].
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::Number(self)
    }
}

payload! {
    /// Schema of a boolean. Schema type `BooleanSchema`.
    pub struct BooleanSchema<'a> {
        tag "type" = "boolean";
        writer write_members;
        optional:
        /// Display name for user interfaces.
        "title" title: text;
        /// Description of the field.
        "description" description: text;
        /// Default value.
        "default" default: of(bool);
    }
}

impl<'a> BooleanSchema<'a> {
    /// Converts to the schema of a [`Field`].
    pub const fn schema(self) -> PrimitiveSchema<'a> {
        PrimitiveSchema::Boolean(self)
    }
}

// Fields of a form with options.

/// Schema of a string that is one of several options. Schema types
/// `UntitledSingleSelectEnumSchema`, `TitledSingleSelectEnumSchema` and `LegacyTitledEnumSchema`;
/// in 2025-06-18 `EnumSchema`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
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
#[non_exhaustive]
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
        /// Value of the option: the member `const`.
        "const" value: text;
        /// Display name for user interfaces.
        "title" title: text;
    }
}

impl<'a> SingleSelectEnumSchema<'a> {
    /// Creates a schema with options without display names.
    pub const fn untitled(values: &'a [Text<'a>]) -> Self {
        Self::new(EnumOptions::Untitled(List::new(values)))
    }

    /// Creates a schema with options with display names.
    pub const fn titled(choices: &'a [EnumOption<'a>]) -> Self {
        Self::new(EnumOptions::Titled(List::new(choices)))
    }

    /// Creates a schema with these options.
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
    pub const fn title(mut self, title: &'a str) -> Self {
        self.title = Some(Text::new(title));
        self
    }

    /// Sets the description of the field.
    pub const fn description(mut self, description: &'a str) -> Self {
        self.description = Some(Text::new(description));
        self
    }

    /// Sets the default value. Since 2025-11-25.
    pub const fn default(mut self, default: &'a str) -> Self {
        self.default = Some(Text::new(default));
        self
    }

    /// Converts to the schema of a [`Field`](crate::types::Field).
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
        optional:
        "title" title: text;
        "description" description: text;
        "enum" values: list(Text<'a>);
        "enumNames" names: list(Text<'a>);
        "oneOf" choices: list(EnumOption<'a>);
        "default" default: text;
    }
}

payload! {
    /// Schema of an array of strings, each of which is one of several options. Since 2025-11-25,
    /// schema types `UntitledMultiSelectEnumSchema` and `TitledMultiSelectEnumSchema`.
    pub struct MultiSelectEnumSchema<'a> {
        tag "type" = "array";
        writer write_for_revision;
        /// The options.
        "items" items: of(MultiSelectItems<'a>);
        optional:
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

impl<'a> MultiSelectEnumSchema<'a> {
    /// Creates a schema with options without display names.
    pub const fn untitled(values: &'a [Text<'a>]) -> Self {
        Self::new(MultiSelectItems(EnumOptions::Untitled(List::new(values))))
    }

    /// Creates a schema with options with display names.
    pub const fn titled(choices: &'a [EnumOption<'a>]) -> Self {
        Self::new(MultiSelectItems(EnumOptions::Titled(List::new(choices))))
    }

    /// Converts to the schema of a [`Field`](crate::types::Field).
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
