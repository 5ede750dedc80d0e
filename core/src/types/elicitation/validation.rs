//! Validation of forms and of submitted content (client/elicitation, "Requested Schema").

use core::fmt;

use super::{FieldKind, Form, MAX_FORM_FIELDS};
use crate::encode::{Encode, Encoder};
use crate::json::{Budget, RawJson, is_whole};
use crate::protocol::Revision;
use crate::text::Printable;
use crate::time::date;
use crate::types::{
    EnumOptions, Field, Number, NumberKind, PrimitiveSchema, RequestedSchema, Text,
};
use crate::uri_template::takes_scheme;

/// The reason why a form or its content is invalid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FormError<'a> {
    /// Name of the field; empty if the error concerns the whole form.
    pub field: Text<'a>,
    /// Rule that the field violates.
    pub kind: FormErrorKind,
}

/// Rule that a form or its content violates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FormErrorKind {
    /// The form is not the schema of an object, or the schema of the field is not one that
    /// elicitation allows.
    InvalidSchema,
    /// A required field is missing.
    Missing,
    /// The value has another type than the schema.
    InvalidType,
    /// The string has fewer than `minLength` or more than `maxLength` characters.
    InvalidLength,
    /// The number is less than `minimum` or greater than `maximum`.
    OutOfRange,
    /// The string does not match the `format`.
    InvalidFormat,
    /// The value is not one of the options.
    UnknownOption,
    /// Fewer than `minItems` or more than `maxItems` options are selected; or more than are
    /// checked: the lengths of the received options, once for each that is selected, are together
    /// at most 1 MiB, and 128 for each byte of form and content.
    InvalidItemCount,
    /// The form has, or requires, more than [`MAX_FORM_FIELDS`] fields.
    TooManyFields,
}

impl<'a> RequestedSchema<'a> {
    /// Validates the form: an object whose properties are strings, numbers, booleans and
    /// selections. A form of [`Field`]s is valid unless one is [`PrimitiveSchema::Other`].
    ///
    /// # Errors
    /// The first invalid field.
    pub fn validate(&self) -> Result<(), FormError<'a>> {
        if let Some(raw) = self.as_json() {
            let object =
                raw.get("type").and_then(RawJson::as_string).is_some_and(|kind| kind == "object");
            let properties = raw.get("properties").unwrap_or(RawJson::NULL);
            if !object || !properties.is_object() {
                return Err(whole(FormErrorKind::InvalidSchema));
            }
            // `required` may name absent properties, so its length is limited as well.
            let required = raw.get("required").unwrap_or(RawJson::NULL);
            if required.elements().nth(MAX_FORM_FIELDS).is_some()
                || properties.members().nth(MAX_FORM_FIELDS).is_some()
            {
                return Err(whole(FormErrorKind::TooManyFields));
            }
            for (name, schema) in properties.members() {
                if !schema.to().is_ok_and(|schema| is_allowed(&schema)) {
                    return Err(FormError {
                        field: Text::from_json(name),
                        kind: FormErrorKind::InvalidSchema,
                    });
                }
            }
        }
        let own = if let Form::Fields(own) = self.0 { own } else { &[] };
        match own.iter().find(|field| !is_allowed(&field.schema)) {
            Some(field) => Err(FormError { field: field.name, kind: FormErrorKind::InvalidSchema }),
            None => Ok(()),
        }
    }

    /// Returns whether the form may be sent in `revision`. [`Field`]s and types are downgraded to
    /// 2025-06-18 while they are written, but JSON is written unchanged.
    pub(crate) fn is_valid_for(&self, revision: Revision) -> bool {
        match self.0 {
            Form::Fields(fields) => {
                !fields.iter().any(|field| matches!(field.schema, PrimitiveSchema::Other(_)))
            }
            Form::Json(raw, is_valid) => is_valid(raw, revision),
            Form::Typed(..) => true,
        }
    }

    /// Validates submitted `content` against the form: required fields, types, options, lengths and
    /// ranges, and obvious violations of formats. Accepts additional members that are not nested,
    /// and a single string for a multiple selection.
    ///
    /// A client should validate content before it responds, a server when it receives it.
    ///
    /// # Errors
    /// The first violation.
    pub fn validate_content(&self, content: RawJson<'a>) -> Result<(), FormError<'a>> {
        if !content.is_object() {
            return Err(whole(FormErrorKind::InvalidType));
        }
        self.validate()?;
        let budget = &mut Budget::new(self.as_json().unwrap_or(RawJson::EMPTY), content);
        for field in self.fields() {
            let field = field.map_err(|_| whole(FormErrorKind::InvalidSchema))?;
            let mut values = find(content, field.name).peekable();
            if field.required && values.peek().is_none() {
                return Err(FormError { field: field.name, kind: FormErrorKind::Missing });
            }
            values
                .try_for_each(|value| check_value(&field, value, budget))
                .map_err(|kind| FormError { field: field.name, kind })?;
        }
        // `required` may name absent properties.
        let required = self.as_json().and_then(|raw| raw.get("required")).unwrap_or(RawJson::NULL);
        for name in required.elements().filter_map(RawJson::as_string).map(Text::from_json) {
            if find(content, name).next().is_none() {
                return Err(FormError { field: name, kind: FormErrorKind::Missing });
            }
        }
        for (name, value) in content.members() {
            if value.is_object()
                || value.is_null()
                || value.elements().any(|element| element.as_string().is_none())
            {
                return Err(FormError {
                    field: Text::from_json(name),
                    kind: FormErrorKind::InvalidType,
                });
            }
        }
        Ok(())
    }
}

/// Returns the error of a form or a content as a whole.
const fn whole(kind: FormErrorKind) -> FormError<'static> {
    FormError { field: Text::new(""), kind }
}

/// Checks the kinds of the fields only, so that a server links no code to read forms.
pub(super) fn is_valid_json(form: RawJson<'_>, revision: Revision) -> bool {
    let properties = form.get("properties").unwrap_or(RawJson::NULL);
    form.get("type").and_then(RawJson::as_string).is_some_and(|kind| kind == "object")
        && properties.is_object()
        && properties.members().all(|(_, schema)| match FieldKind::of(schema) {
            Some(FieldKind::MultiSelect) => revision != Revision::V2025_06_18,
            kind => kind.is_some(),
        })
}

/// Returns whether elicitation allows the schema: options that cannot be read cannot be selected.
fn is_allowed(schema: &PrimitiveSchema<'_>) -> bool {
    let options = match schema {
        PrimitiveSchema::SingleSelect(schema) => &schema.options,
        PrimitiveSchema::MultiSelect(schema) => &schema.items.0,
        PrimitiveSchema::Other(_) => return false,
        _ => return true,
    };
    match options {
        EnumOptions::Untitled(values) | EnumOptions::Legacy { values, .. } => {
            values.iter().all(|value| value.is_ok())
        }
        EnumOptions::Titled(choices) => choices.iter().all(|choice| choice.is_ok()),
    }
}

/// Returns the values of all members of this name: readers differ in which of them they take.
fn find<'a>(object: RawJson<'a>, name: Text<'_>) -> impl Iterator<Item = RawJson<'a>> {
    let members = object.members().filter(move |(key, _)| Text::from_json(*key) == name);
    members.map(|(_, value)| value)
}

/// The budget is for the options of selections, which are read once for each that is selected.
fn check_value(
    field: &Field<'_>,
    value: RawJson<'_>,
    budget: &mut Budget,
) -> Result<(), FormErrorKind> {
    let text = value.as_string().map(Text::from_json);
    match &field.schema {
        PrimitiveSchema::String(schema) => {
            let text = text.ok_or(FormErrorKind::InvalidType)?;
            if schema.min_length.is_some() || schema.max_length.is_some() {
                is_within(text.chars().count(), schema.min_length, schema.max_length)
                    .then_some(())
                    .ok_or(FormErrorKind::InvalidLength)?;
            }
            matches_format(text, schema.format).then_some(()).ok_or(FormErrorKind::InvalidFormat)
        }
        PrimitiveSchema::Number(schema) => {
            let number = Number::from_json(value).ok_or(FormErrorKind::InvalidType)?;
            if schema.kind == NumberKind::Integer && !is_whole(value.as_str()) {
                return Err(FormErrorKind::InvalidType);
            }
            let low = schema.minimum.is_some_and(|minimum| number.is_less(minimum));
            let high = schema.maximum.is_some_and(|maximum| maximum.is_less(number));
            if low || high { Err(FormErrorKind::OutOfRange) } else { Ok(()) }
        }
        PrimitiveSchema::Boolean(_) => {
            value.as_bool().map(|_| ()).ok_or(FormErrorKind::InvalidType)
        }
        PrimitiveSchema::SingleSelect(schema) => {
            check_option(&schema.options, text.ok_or(FormErrorKind::InvalidType)?, budget)
        }
        PrimitiveSchema::MultiSelect(schema) => {
            let options = &schema.items.0;
            if let Some(text) = text {
                return check_option(options, text, budget);
            }
            if !value.is_array() {
                return Err(FormErrorKind::InvalidType);
            }
            for element in value.elements() {
                let text = element.as_string().ok_or(FormErrorKind::InvalidType)?;
                check_option(options, Text::from_json(text), budget)?;
            }
            is_within(value.elements().count(), schema.min_items, schema.max_items)
                .then_some(())
                .ok_or(FormErrorKind::InvalidItemCount)
        }
        PrimitiveSchema::Other(_) => Err(FormErrorKind::InvalidSchema),
    }
}

/// Returns the length of the options; 0 if they are the application's own.
fn text_len(options: &EnumOptions<'_>) -> usize {
    let json = match options {
        EnumOptions::Untitled(values) | EnumOptions::Legacy { values, .. } => values.as_json(),
        EnumOptions::Titled(choices) => choices.as_json(),
    };
    json.map_or(0, |json| json.as_str().len())
}

fn check_option(
    options: &EnumOptions<'_>,
    text: Text<'_>,
    budget: &mut Budget,
) -> Result<(), FormErrorKind> {
    budget.spend(text_len(options)).map_err(|_| FormErrorKind::InvalidItemCount)?;
    if options.contains(text) { Ok(()) } else { Err(FormErrorKind::UnknownOption) }
}

fn is_within(count: usize, least: Option<u64>, most: Option<u64>) -> bool {
    let count = count as u64;
    least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most)
}

/// Rejects obvious violations only; an unknown format accepts every string.
fn matches_format(text: Text<'_>, format: Option<Text<'_>>) -> bool {
    match format {
        Some(format) if format == "email" => looks_like_email(text),
        Some(format) if format == "uri" => looks_like_uri(text),
        Some(format) if format == "date" => text.chars().count() == 10 && starts_with_date(text),
        Some(format) if format == "date-time" => {
            let time: fn(char) -> bool = |c| matches!(c, 'T' | 't' | ' ');
            starts_with_date(text)
                && text.chars().nth(10).is_some_and(time)
                && text.chars().count() >= 16
        }
        _ => true,
    }
}

fn looks_like_email(text: Text<'_>) -> bool {
    let at = text.chars().filter(|c| *c == '@').count();
    let inside = !text.chars().any(char::is_whitespace);
    at >= 1 && inside && text.chars().next() != Some('@') && text.chars().last() != Some('@')
}

/// Returns whether the text has a scheme, a non-empty rest and no whitespace.
pub(super) fn looks_like_uri(text: Text<'_>) -> bool {
    let mut chars = text.chars();
    takes_scheme(&mut chars) && {
        let mut rest = chars.peekable();
        rest.peek().is_some() && !rest.any(|c| c.is_whitespace() || c.is_control())
    }
}

/// Returns whether the text starts with a date as `2025-01-31`.
fn starts_with_date(text: Text<'_>) -> bool {
    date(&mut text.chars())
        .is_some_and(|[_, _, month, day]| (1..=12).contains(&month) && (1..=31).contains(&day))
}

impl fmt::Display for FormError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str("form: ")?;
        } else {
            f.write_str("field ")?;
            fmt::Display::fmt(&Printable::new(self.field), f)?;
            f.write_str(": ")?;
        }
        f.write_str(match self.kind {
            FormErrorKind::InvalidSchema => "schema not allowed in a form",
            FormErrorKind::Missing => "missing value",
            FormErrorKind::InvalidType => "value of the wrong type",
            FormErrorKind::InvalidLength => "text too short or too long",
            FormErrorKind::OutOfRange => "number out of range",
            FormErrorKind::InvalidFormat => "text does not match the format",
            FormErrorKind::UnknownOption => "value is not one of the options",
            FormErrorKind::InvalidItemCount => "too few or too many options selected",
            FormErrorKind::TooManyFields => "more than 100 fields",
        })
    }
}

crate::text::error_type!(FormError<'_>);

/// Default values of a form, serialized as the `content` of an
/// [`ElicitResult`](super::ElicitResult). Created by [`RequestedSchema::defaults`].
#[derive(Clone, Copy, Debug)]
pub struct FormDefaults<'a>(RequestedSchema<'a>);

impl<'a> RequestedSchema<'a> {
    /// Returns the default values, with which a client should pre-populate the form
    /// (client/elicitation). Fields without a default are omitted.
    pub const fn defaults(self) -> FormDefaults<'a> {
        FormDefaults(self)
    }
}

impl Encode for FormDefaults<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for field in self.0.fields().flatten() {
            let default: Option<&dyn Encode> = match &field.schema {
                PrimitiveSchema::String(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::Number(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::Boolean(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::SingleSelect(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::MultiSelect(schema) => schema.default.as_ref().map(|d| d as _),
                PrimitiveSchema::Other(_) => None,
            };
            if let Some(default) = default
                && field.name.encode_key(to)
            {
                default.encode(to);
            }
        }
        to.end_object();
    }
}
