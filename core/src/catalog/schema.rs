//! Validation of a value against the first level of a JSON Schema.

use core::cmp::Ordering;

use super::CatalogError;
use crate::json::{JsonStr, Members, RawJson, compare};

/// Supported dialects, with and without the trailing `#`. 2020-12 is the default.
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema";
const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
    DRAFT_07,
    "http://json-schema.org/draft-07/schema#",
];

pub(crate) fn is_known_dialect(schema: RawJson<'_>) -> bool {
    schema.get("$schema").is_none_or(|dialect| {
        dialect.as_string().is_some_and(|dialect| DIALECTS.iter().any(|known| dialect == **known))
    })
}

/// Remaining bytes that a check may read. Members are searched one by one, so that a long schema
/// with a long value would cost the product of their lengths.
struct Budget(usize);

impl Budget {
    /// A constant times the length of both, and at least [`LEAST_BUDGET`].
    fn new(schema: RawJson<'_>, value: RawJson<'_>) -> Self {
        let len = schema.as_str().len().saturating_add(value.as_str().len());
        Self(LEAST_BUDGET.saturating_add(len.saturating_mul(BUDGET_PER_BYTE)))
    }

    fn spend(&mut self, text: RawJson<'_>) -> Result<(), &'static str> {
        self.0 = self.0.checked_sub(text.as_str().len()).ok_or("is too large to be checked")?;
        Ok(())
    }
}

/// Search for members of an object. Keys are mostly wanted in the order of the object, so each
/// search continues behind the last hit before it starts again. Of duplicate keys either may be
/// found.
struct Lookup<'x> {
    object: RawJson<'x>,
    behind: Members<'x>,
}

impl<'x> Lookup<'x> {
    fn new(object: RawJson<'x>) -> Self {
        Self { object, behind: object.members() }
    }

    fn find(
        &mut self,
        name: JsonStr<'_>,
        budget: &mut Budget,
    ) -> Result<Option<RawJson<'x>>, &'static str> {
        for _ in 0..2 {
            for (key, value) in self.behind.by_ref() {
                budget.spend(key.into())?;
                budget.spend(value)?;
                if key == name {
                    return Ok(Some(value));
                }
            }
            self.behind = self.object.members();
        }
        Ok(None)
    }
}

/// Checks a value and, if it is an object, its members. Deeper values and unknown keywords are not
/// checked.
pub(super) fn check<'x>(schema: RawJson<'x>, value: RawJson<'x>) -> Result<(), CatalogError<'x>> {
    let reason = |entry, reason| Err(CatalogError { entry, reason });
    let budget = &mut Budget::new(schema, value);
    if !is_known_dialect(schema) {
        return reason("$schema", "the dialect must be JSON Schema 2020-12 or draft-07");
    }
    // In draft-07 keywords beside `$ref` are ignored; references are not followed.
    let refers = schema
        .get("$schema")
        .and_then(RawJson::as_string)
        .is_some_and(|d| d.chars().take(DRAFT_07.len()).eq(DRAFT_07.chars()));
    let refers = |schema: RawJson<'_>| refers && schema.get("$ref").is_some();
    if refers(schema) {
        return Ok(());
    }
    fits(schema, value, NESTED, budget).or_else(|found| reason("the value", found))?;
    if !value.is_object() {
        return Ok(());
    }
    // Each member of the value is checked, duplicate keys too: the tool may read either.
    let mut properties = Lookup::new(schema.get("properties").unwrap_or(RawJson::EMPTY));
    let closed = schema.get("additionalProperties").and_then(RawJson::as_bool) == Some(false)
        && schema.get("patternProperties").is_none();
    let mut unknown = None;
    for (name, value) in value.members() {
        let found = properties.find(name, budget).and_then(|property| match property {
            Some(property) if !refers(property) => fits(property, value, NESTED, budget),
            Some(_) => Ok(()),
            None => {
                unknown = unknown.or(Some(name).filter(|_| closed));
                Ok(())
            }
        });
        found.or_else(|found| reason(name.inner(), found))?;
    }
    let mut members = Lookup::new(value);
    for name in
        schema.get("required").unwrap_or(RawJson::NULL).elements().filter_map(RawJson::as_string)
    {
        match members.find(name, budget) {
            Ok(Some(_)) => {}
            Ok(None) => return reason(name.inner(), "is missing"),
            Err(found) => return reason(name.inner(), found),
        }
    }
    match unknown {
        Some(name) => reason(name.inner(), "is unknown"),
        None => Ok(()),
    }
}

/// Checks the keywords that do not concern members of objects; elements of arrays too, up to
/// `nested` levels.
fn fits(
    schema: RawJson<'_>,
    value: RawJson<'_>,
    nested: u8,
    budget: &mut Budget,
) -> Result<(), &'static str> {
    // Each keyword is a search through the schema.
    for _ in 0..4 {
        budget.spend(schema)?;
    }
    budget.spend(value)?;
    if schema.as_bool() == Some(false) {
        return Err("is not allowed");
    }
    if let Some(kind) = schema.get("type") {
        let listed =
            kind.elements().filter_map(RawJson::as_string).any(|kind| is_of_type(value, kind));
        if !listed && !kind.as_string().is_some_and(|kind| is_of_type(value, kind)) {
            return Err("is of a type that the schema does not allow");
        }
    }
    let chosen = schema
        .get("enum")
        .is_none_or(|choices| choices.elements().any(|choice| may_equal(choice, value)));
    if !chosen || schema.get("const").is_some_and(|only| !may_equal(only, value)) {
        return Err("is not one of the values that the schema allows");
    }
    let within = |least: &str, most: &str, count: usize| {
        let bound = |key| schema.get(key).and_then(RawJson::as_u64);
        bound(least).is_none_or(|least| count as u64 >= least)
            && bound(most).is_none_or(|most| count as u64 <= most)
    };
    if value.is_number() {
        let holds = |key, wanted: fn(Ordering) -> bool| {
            bound(schema, key).is_none_or(|bound| wanted(compare(value.as_str(), bound.as_str())))
        };
        let in_range = holds("minimum", Ordering::is_ge)
            && holds("maximum", Ordering::is_le)
            && holds("exclusiveMinimum", Ordering::is_gt)
            && holds("exclusiveMaximum", Ordering::is_lt);
        return if in_range { Ok(()) } else { Err("is out of range") };
    }
    if let Some(text) = value.as_string() {
        let has_bounds = schema.get("minLength").is_some() || schema.get("maxLength").is_some();
        let fits = !has_bounds || within("minLength", "maxLength", text.chars().count());
        return if fits { Ok(()) } else { Err("is too short or too long") };
    }
    if !value.is_array() {
        return Ok(());
    }
    if !within("minItems", "maxItems", value.elements().count()) {
        return Err("has too few elements, or too many");
    }
    match schema.get("items").filter(|_| nested > 0 && schema.get("prefixItems").is_none()) {
        Some(items) => {
            value.elements().try_for_each(|element| fits(items, element, nested - 1, budget))
        }
        None => Ok(()),
    }
}

/// Unknown types allow any value.
fn is_of_type(value: RawJson<'_>, kind: JsonStr<'_>) -> bool {
    match kind.as_plain() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.as_string().is_some(),
        Some("number") => value.is_number(),
        Some("integer") => is_integer(value),
        Some("boolean") => value.as_bool().is_some(),
        Some("null") => value.is_null(),
        _ => true,
    }
}

/// Whether the number is an integer: `4.0` is one, and so are integers of more than 64 bits.
fn is_integer(value: RawJson<'_>) -> bool {
    value.is_number()
        && (value.as_i64().is_some()
            || value.as_u64().is_some()
            || !value.as_str().contains(['.', 'e', 'E']))
}

fn bound<'x>(schema: RawJson<'x>, key: &str) -> Option<RawJson<'x>> {
    schema.get(key).filter(|bound| bound.is_number())
}

/// Compares scalars. Arrays and objects count as equal: they are not compared.
fn may_equal(one: RawJson<'_>, other: RawJson<'_>) -> bool {
    match (one.as_string(), other.as_string()) {
        (Some(one), Some(other)) => return one == other,
        (None, None) => {}
        _ => return false,
    }
    if one.is_number() && other.is_number() {
        return compare(one.as_str(), other.as_str()) == Ordering::Equal;
    }
    let compound = one.is_object() && other.is_object() || one.is_array() && other.is_array();
    compound || one.as_str() == other.as_str()
}

/// Levels of nested arrays that are checked.
const NESTED: u8 = 2;
/// Bytes that a check may read at least, and per byte of schema and value: 1 MiB takes about a
/// millisecond on a desktop.
const LEAST_BUDGET: usize = 1 << 20;
const BUDGET_PER_BYTE: usize = 128;
