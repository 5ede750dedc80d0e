//! Whether what came back fits the form (client/elicitation, "Requested Schema").

use core::fmt;

use super::form::{FieldKind, MAX_FORM_FIELDS};
use crate::json::RawJson;
use crate::lifecycle::Revision;
use crate::printable::Printable;
use crate::types::common::Source;
use crate::types::{
    EnumOptions, Field, Number, NumberKind, PrimitiveSchema, RequestedSchema, Text,
};

/// Why a form, or what was filled in, is not right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormError<'a> {
    /// The field; empty when it is the whole.
    pub field: Text<'a>,
    /// What is wrong with it.
    pub kind: FormErrorKind,
}

/// What is wrong with a field of a form.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FormErrorKind {
    /// The form itself is not one: not an object, or the field's schema is not one of the flat ones
    /// that are allowed.
    InvalidSchema,
    /// It must be filled in.
    Missing,
    /// It is not a text, a number, a boolean or a list of texts, as the field wants.
    InvalidType,
    /// The text has too few characters, or too many.
    InvalidLength,
    /// The number is too small or too great.
    OutOfRange,
    /// The text is not what the field's format wants.
    InvalidFormat,
    /// It is not one of the choices.
    UnknownOption,
    /// Too few choices, or too many.
    InvalidItemCount,
    /// The form has more fields, or requires more, than [`MAX_FORM_FIELDS`].
    TooManyFields,
}

impl<'a> RequestedSchema<'a> {
    /// Whether the form is flat: an object of texts, numbers, booleans and choices. What was made
    /// of [`Field`]s usually is.
    ///
    /// # Errors
    /// The first field that is not.
    pub fn validate(&self) -> Result<(), FormError<'a>> {
        let whole = |kind| FormError { field: Text::new(""), kind };
        if let Some(raw) = self.as_json() {
            let object =
                raw.get("type").and_then(RawJson::as_string).is_some_and(|kind| kind == "object");
            if !object || !raw.get("properties").is_some_and(RawJson::is_object) {
                return Err(whole(FormErrorKind::InvalidSchema));
            }
            // A required name may be none of the properties, so there is a limit to these, too.
            let required = raw.get("required").unwrap_or(RawJson::NULL);
            if required.elements().nth(MAX_FORM_FIELDS).is_some()
                || raw
                    .get("properties")
                    .unwrap_or(RawJson::EMPTY)
                    .members()
                    .nth(MAX_FORM_FIELDS)
                    .is_some()
            {
                return Err(whole(FormErrorKind::TooManyFields));
            }
            for (name, schema) in raw.get("properties").unwrap_or(RawJson::EMPTY).members() {
                match schema.to::<PrimitiveSchema<'_>>() {
                    Ok(PrimitiveSchema::Other(_)) | Err(_) => {
                        return Err(FormError {
                            field: Text::from_json(name),
                            kind: FormErrorKind::InvalidSchema,
                        });
                    }
                    Ok(_) => {}
                }
            }
        }
        for field in self.fields() {
            let field = field.map_err(|_| whole(FormErrorKind::InvalidSchema))?;
            if matches!(field.schema, PrimitiveSchema::Other(_)) {
                return Err(FormError { field: field.name, kind: FormErrorKind::InvalidSchema });
            }
        }
        Ok(())
    }

    /// The same before it is sent, and whether `revision` can have it: fields of our own are
    /// written as 2025-06-18 knows them, JSON is written as it is. Of that only the kinds of
    /// the fields are looked at: whoever sends need not be able to read.
    pub(crate) fn is_valid_for(&self, revision: Revision) -> bool {
        let raw = match self.0 {
            Source::Own(fields) => {
                return !fields
                    .iter()
                    .any(|field| matches!(field.schema, PrimitiveSchema::Other(_)));
            }
            Source::Received(raw) => raw,
        };
        let properties = raw.get("properties").unwrap_or(RawJson::NULL);
        raw.get("type").and_then(RawJson::as_string).is_some_and(|kind| kind == "object")
            && properties.is_object()
            && properties.members().all(|(_, schema)| match FieldKind::of(schema) {
                Some(FieldKind::MultiSelect) => revision != Revision::V2025_06_18,
                kind => kind.is_some(),
            })
    }

    /// Whether `content`, what a person filled in, fits the form: required fields, types, choices,
    /// lengths, ranges, and formats where they are plainly wrong. Other members may be there,
    /// if they are flat. One text counts as a choice of one where several were possible.
    ///
    /// A client checks before it answers, a server what it received.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn validate_content(&self, content: RawJson<'a>) -> Result<(), FormError<'a>> {
        if !content.is_object() {
            return Err(FormError { field: Text::new(""), kind: FormErrorKind::InvalidType });
        }
        self.validate()?;
        for field in self.fields() {
            let field = field.map_err(|_| FormError {
                field: Text::new(""),
                kind: FormErrorKind::InvalidSchema,
            })?;
            match find(content, field.name) {
                Some(value) => check_value(&field, value)
                    .map_err(|kind| FormError { field: field.name, kind })?,
                None if field.required => {
                    return Err(FormError { field: field.name, kind: FormErrorKind::Missing });
                }
                None => {}
            }
        }
        // A required name need not be one of the properties.
        let required = self.as_json().and_then(|raw| raw.get("required")).unwrap_or(RawJson::NULL);
        for name in required.elements().filter_map(RawJson::as_string).map(Text::from_json) {
            if find(content, name).is_none() {
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

fn find<'a>(object: RawJson<'a>, name: Text<'_>) -> Option<RawJson<'a>> {
    object.members().find(|(key, _)| Text::from_json(*key) == name).map(|(_, value)| value)
}

fn check_value(field: &Field<'_>, value: RawJson<'_>) -> Result<(), FormErrorKind> {
    let text = value.as_string().map(Text::from_json);
    match &field.schema {
        PrimitiveSchema::String(schema) => {
            let text = text.ok_or(FormErrorKind::InvalidType)?;
            if schema.min_length.is_some() || schema.max_length.is_some() {
                within(text.chars().count(), schema.min_length, schema.max_length)
                    .then_some(())
                    .ok_or(FormErrorKind::InvalidLength)?;
            }
            fits_format(text, schema.format).then_some(()).ok_or(FormErrorKind::InvalidFormat)
        }
        PrimitiveSchema::Number(schema) => {
            let number = Number::from_json(value).ok_or(FormErrorKind::InvalidType)?;
            if schema.kind == NumberKind::Integer && !is_integer(value) {
                return Err(FormErrorKind::InvalidType);
            }
            let low = schema.minimum.is_some_and(|minimum| less(number, minimum));
            let high = schema.maximum.is_some_and(|maximum| less(maximum, number));
            if low || high { Err(FormErrorKind::OutOfRange) } else { Ok(()) }
        }
        PrimitiveSchema::Boolean(_) => {
            value.as_bool().map(|_| ()).ok_or(FormErrorKind::InvalidType)
        }
        PrimitiveSchema::SingleSelect(schema) => {
            chosen(&schema.options, text.ok_or(FormErrorKind::InvalidType)?)
        }
        PrimitiveSchema::MultiSelect(schema) => {
            let options = &schema.items.0;
            if let Some(text) = text {
                return chosen(options, text);
            }
            if !value.is_array() {
                return Err(FormErrorKind::InvalidType);
            }
            for element in value.elements() {
                chosen(
                    options,
                    Text::from_json(element.as_string().ok_or(FormErrorKind::InvalidType)?),
                )?;
            }
            within(value.elements().count(), schema.min_items, schema.max_items)
                .then_some(())
                .ok_or(FormErrorKind::InvalidItemCount)
        }
        PrimitiveSchema::Other(_) => Err(FormErrorKind::InvalidSchema),
    }
}

fn chosen(options: &EnumOptions<'_>, text: Text<'_>) -> Result<(), FormErrorKind> {
    if options.contains(text) { Ok(()) } else { Err(FormErrorKind::UnknownOption) }
}

fn within(count: usize, least: Option<u64>, most: Option<u64>) -> bool {
    let count = count as u64;
    least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most)
}

fn less(one: Number<'_>, other: Number<'_>) -> bool {
    match (one.as_i64(), other.as_i64()) {
        (Some(one), Some(other)) => one < other,
        _ => one.as_f64() < other.as_f64(),
    }
}

/// Also one that is too great for 64 bits.
fn is_integer(number: RawJson<'_>) -> bool {
    number.as_i64().is_some()
        || number.as_u64().is_some()
        || !number.as_str().contains(['.', 'e', 'E'])
}

/// Leniently: what is plainly something else is refused, and an unknown format accepts anything.
fn fits_format(text: Text<'_>, format: Option<Text<'_>>) -> bool {
    match format {
        Some(format) if format == "email" => looks_like_email(text),
        Some(format) if format == "uri" => looks_like_uri(text),
        Some(format) if format == "date" => text.chars().count() == 10 && begins_with_date(text),
        Some(format) if format == "date-time" => {
            let time: fn(char) -> bool = |c| matches!(c, 'T' | 't' | ' ');
            begins_with_date(text)
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

/// Whether it has a scheme and something behind it, and no whitespace.
pub(super) fn looks_like_uri(text: Text<'_>) -> bool {
    let mut chars = text.chars();
    let mut first = true;
    let scheme = chars.by_ref().take_while(|c| *c != ':').all(|c| {
        let ok = c.is_ascii_alphabetic()
            || (!first && (c.is_ascii_digit() || matches!(c, '+' | '-' | '.')));
        first = false;
        ok
    });
    let mut rest = chars.peekable();
    scheme && !first && rest.peek().is_some() && !rest.any(|c| c.is_whitespace() || c.is_control())
}

/// Four digits, a month, a day.
fn begins_with_date(text: Text<'_>) -> bool {
    let mut numbers = [0u32; 3];
    let mut place = 0;
    for (index, c) in text.chars().take(10).enumerate() {
        match (index, c.to_digit(10)) {
            (4 | 7, None) if c == '-' => place += 1,
            (4 | 7, _) | (_, None) => return false,
            (_, Some(digit)) => {
                if let Some(number) = numbers.get_mut(place) {
                    *number = *number * 10 + digit;
                }
            }
        }
    }
    place == 2 && (1..=12).contains(&numbers[1]) && (1..=31).contains(&numbers[2])
}

impl fmt::Display for FormError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str("the form: ")?;
        } else {
            f.write_str("the field ")?;
            fmt::Display::fmt(&Printable::new(self.field), f)?;
            f.write_str(": ")?;
        }
        f.write_str(match self.kind {
            FormErrorKind::InvalidSchema => "its schema is not one that a form may have",
            FormErrorKind::Missing => "it must be filled in",
            FormErrorKind::InvalidType => "the value is of another type",
            FormErrorKind::InvalidLength => "the text is too short or too long",
            FormErrorKind::OutOfRange => "the number is too small or too great",
            FormErrorKind::InvalidFormat => "the text does not fit the format",
            FormErrorKind::UnknownOption => "it is not one of the choices",
            FormErrorKind::InvalidItemCount => "too few choices, or too many",
            FormErrorKind::TooManyFields => "it has more than 100 fields",
        })
    }
}

impl core::error::Error for FormError<'_> {}
