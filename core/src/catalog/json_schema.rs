//! Validation of a value against the first level of a JSON Schema.

use core::cmp::Ordering;
use core::fmt;

use crate::json::{JsonStr, Members, RawJson, compare, is_whole};
use crate::text::{Printable, write_printable};

/// Error of [`Entry::check_arguments`](crate::Entry::check_arguments) or
/// [`Entry::check_structured`](crate::Entry::check_structured). `Display` writes the member, the
/// rule that it breaks and its value, by which a model can correct itself:
///
/// ```text
/// limit: must be at least 1, is 0
/// kind: must be one of "text", "number", is "txt"
/// sql: is missing
/// ```
#[derive(Clone, Copy)]
pub struct SchemaError<'x> {
    /// The name of the member as it was written; `the value` for all of it.
    pub member: &'x str,
    rule: Rule<'x>,
    value: RawJson<'x>,
}

/// The rule that a value breaks.
#[derive(Clone, Copy, Debug)]
enum Rule<'x> {
    /// In words, without the value.
    Text(&'static str),
    /// It has one of these members.
    Known(RawJson<'x>),
    /// It has this type, or one of these.
    Type(RawJson<'x>),
    /// It is one of these.
    Enum(RawJson<'x>),
    /// It is this.
    Const(RawJson<'x>),
    /// A number: the comparison in words, and the bound.
    Bound(&'static str, RawJson<'x>),
    /// Characters or elements: the comparison in words, the bound, the unit, and how many there
    /// are.
    Count(&'static str, RawJson<'x>, &'static str, usize),
}

/// Whether a number breaks its bound, by how it compares with it.
type Breaks = fn(Ordering) -> bool;

/// A rule that a value breaks: the member itself, or an element of it.
type Broken<'x> = (Rule<'x>, RawJson<'x>);

impl<'x> SchemaError<'x> {
    pub(super) const fn text(member: &'x str, text: &'static str) -> Self {
        Self { member, rule: Rule::Text(text), value: RawJson::NULL }
    }
}

impl fmt::Display for SchemaError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Printable::new(self.member), f)?;
        f.write_str(": ")?;
        match self.rule {
            Rule::Text(text) => return f.write_str(text),
            Rule::Known(properties) => {
                f.write_str("is unknown")?;
                for (at, (name, _)) in properties.members().enumerate() {
                    f.write_str(if at == 0 { ", must be one of " } else { ", " })?;
                    fmt::Display::fmt(&Printable::new(name.inner()), f)?;
                }
                return Ok(());
            }
            Rule::Type(kinds) => {
                f.write_str("must be of type ")?;
                let kinds = Some(kinds)
                    .filter(|kinds| !kinds.is_array())
                    .into_iter()
                    .chain(kinds.elements());
                for (at, kind) in kinds.enumerate() {
                    f.write_str(if at == 0 { "" } else { " or " })?;
                    let name = kind.as_string().map_or(kind.as_str(), JsonStr::inner);
                    fmt::Display::fmt(&Printable::new(name), f)?;
                }
            }
            Rule::Enum(choices) => {
                f.write_str("must be one of ")?;
                for (at, choice) in choices.elements().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    fmt::Debug::fmt(&choice, f)?;
                }
            }
            Rule::Const(only) => {
                f.write_str("must be ")?;
                fmt::Debug::fmt(&only, f)?;
            }
            Rule::Bound(words, bound) => {
                f.write_str(words)?;
                f.write_str(bound.as_str())?;
            }
            Rule::Count(words, bound, unit, count) => {
                f.write_str(words)?;
                f.write_str(bound.as_str())?;
                f.write_str(unit)?;
                f.write_str(if bound.as_u64() == Some(1) { ", has " } else { "s, has " })?;
                return fmt::Display::fmt(&count, f);
            }
        }
        f.write_str(", is ")?;
        write_printable(shown(self.value), f)
    }
}

crate::text::error_type!(SchemaError<'_>);

/// Returns a value in an error: its kind, if it is long. To be written as [`Printable`].
pub(crate) fn shown(value: RawJson<'_>) -> &str {
    let text = value.as_str();
    match text.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        _ if text.len() <= LONGEST_SHOWN => text,
        Some(b'"') => "a longer string",
        _ => "a long number",
    }
}

/// Supported dialects, with and without the trailing `#`. 2020-12 is the default.
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema";
const DIALECTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
    DRAFT_07,
    "http://json-schema.org/draft-07/schema#",
];

pub(crate) fn is_known_dialect(schema: RawJson<'_>) -> bool {
    schema.get("$schema").is_none_or(is_dialect)
}

fn is_dialect(dialect: RawJson<'_>) -> bool {
    dialect.as_string().is_some_and(|dialect| DIALECTS.iter().any(|known| dialect == **known))
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

/// Declares the keywords that a check looks for.
macro_rules! keywords {
    ($($keyword:ident $name:literal)*) => {
        #[derive(Clone, Copy)]
        enum Keyword {
            $($keyword,)*
        }

        const KEYWORDS: &[&str] = &[$($name),*];
    };
}

keywords! {
    Type "type"
    Properties "properties"
    Required "required"
    AdditionalProperties "additionalProperties"
    Minimum "minimum"
    Maximum "maximum"
    MinLength "minLength"
    MaxLength "maxLength"
    Enum "enum"
    Items "items"
    MinItems "minItems"
    MaxItems "maxItems"
    Const "const"
    ExclusiveMinimum "exclusiveMinimum"
    ExclusiveMaximum "exclusiveMaximum"
    PrefixItems "prefixItems"
    PatternProperties "patternProperties"
    Ref "$ref"
    Schema "$schema"
}

/// The values of the keywords in a schema, which is gone through once. Of duplicate keys the first
/// counts.
struct Keywords<'x>([Option<RawJson<'x>>; KEYWORDS.len()]);

impl<'x> Keywords<'x> {
    fn of(schema: RawJson<'x>) -> Self {
        let mut found = [None; KEYWORDS.len()];
        for (name, value) in schema.members() {
            let plain = if cfg!(small) { None } else { name.as_plain() };
            let is = |keyword: &str| plain.map_or_else(|| name == *keyword, |name| name == keyword);
            let mut places = KEYWORDS.iter().zip(&mut found);
            if let Some((_, place)) = places.find(|(keyword, _)| is(keyword)) {
                place.get_or_insert(value);
            }
        }
        Self(found)
    }

    fn get(&self, keyword: Keyword) -> Option<RawJson<'x>> {
        self.0.get(keyword as usize).copied().flatten()
    }

    fn number(&self, keyword: Keyword) -> Option<RawJson<'x>> {
        self.get(keyword).filter(|bound| bound.is_number())
    }
}

/// Checks a value and, if it is an object, its members. Deeper values and unknown keywords are not
/// checked.
pub(super) fn check<'x>(schema: RawJson<'x>, value: RawJson<'x>) -> Result<(), SchemaError<'x>> {
    let error = |member, (rule, value)| Err(SchemaError { member, rule, value });
    let text = |member, text| Err(SchemaError::text(member, text));
    let budget = &mut Budget::new(schema, value);
    let keywords = Keywords::of(schema);
    let dialect = keywords.get(Keyword::Schema);
    if !dialect.is_none_or(is_dialect) {
        return text("$schema", "the dialect must be JSON Schema 2020-12 or draft-07");
    }
    // In draft-07 keywords beside `$ref` are ignored; references are not followed.
    let ignores_siblings = dialect
        .and_then(RawJson::as_string)
        .is_some_and(|d| d.chars().take(DRAFT_07.len()).eq(DRAFT_07.chars()));
    let refers = |keywords: &Keywords<'_>| ignores_siblings && keywords.get(Keyword::Ref).is_some();
    if refers(&keywords) {
        return Ok(());
    }
    let broken = fits(schema, &keywords, value, NESTED, budget);
    broken.or_else(|broken| error("the value", broken))?;
    if !value.is_object() {
        return Ok(());
    }
    // Each member of the value is checked, duplicate keys too: the tool may read either.
    let known = keywords.get(Keyword::Properties).unwrap_or(RawJson::EMPTY);
    let mut properties = Lookup::new(known);
    let additional = keywords.get(Keyword::AdditionalProperties).and_then(RawJson::as_bool);
    let closed = additional == Some(false) && keywords.get(Keyword::PatternProperties).is_none();
    let mut unknown = None;
    for (name, value) in value.members() {
        match properties.find(name, budget) {
            Ok(Some(property)) => {
                let keywords = Keywords::of(property);
                if !refers(&keywords) {
                    let broken = fits(property, &keywords, value, NESTED, budget);
                    broken.or_else(|broken| error(name.inner(), broken))?;
                }
            }
            Ok(None) => unknown = unknown.or(Some(name).filter(|_| closed)),
            Err(found) => return text(name.inner(), found),
        }
    }
    let mut members = Lookup::new(value);
    let required = keywords.get(Keyword::Required).unwrap_or(RawJson::NULL);
    for name in required.elements().filter_map(RawJson::as_string) {
        match members.find(name, budget) {
            Ok(Some(_)) => {}
            Ok(None) => return text(name.inner(), "is missing"),
            Err(found) => return text(name.inner(), found),
        }
    }
    match unknown {
        Some(name) => error(name.inner(), (Rule::Known(known), RawJson::NULL)),
        None => Ok(()),
    }
}

/// Checks the keywords that do not concern members of objects; elements of arrays too, up to
/// `nested` levels.
fn fits<'x>(
    schema: RawJson<'x>,
    keywords: &Keywords<'x>,
    value: RawJson<'x>,
    nested: u8,
    budget: &mut Budget,
) -> Result<(), Broken<'x>> {
    let broken = |rule| Err((rule, value));
    for text in [schema, value] {
        budget.spend(text).or_else(|text| broken(Rule::Text(text)))?;
    }
    if schema.as_bool() == Some(false) {
        return broken(Rule::Text("is not allowed"));
    }
    if let Some(kind) = keywords.get(Keyword::Type) {
        let listed =
            kind.elements().filter_map(RawJson::as_string).any(|kind| is_of_type(value, kind));
        if !listed && !kind.as_string().is_some_and(|kind| is_of_type(value, kind)) {
            return broken(Rule::Type(kind));
        }
    }
    if let Some(choices) = keywords.get(Keyword::Enum)
        && !choices.elements().any(|choice| may_equal(choice, value))
    {
        return broken(Rule::Enum(choices));
    }
    if let Some(only) = keywords.get(Keyword::Const).filter(|only| !may_equal(*only, value)) {
        return broken(Rule::Const(only));
    }
    if value.is_number() {
        let bounds: [(_, _, Breaks); 4] = [
            (Keyword::Minimum, "must be at least ", Ordering::is_lt),
            (Keyword::Maximum, "must be at most ", Ordering::is_gt),
            (Keyword::ExclusiveMinimum, "must be greater than ", Ordering::is_le),
            (Keyword::ExclusiveMaximum, "must be less than ", Ordering::is_ge),
        ];
        for (keyword, words, breaks) in bounds {
            if let Some(bound) = keywords.number(keyword)
                && breaks(compare(value.as_str(), bound.as_str()))
            {
                return broken(Rule::Bound(words, bound));
            }
        }
        return Ok(());
    }
    let (limits, unit) = if value.is_array() {
        ([Keyword::MinItems, Keyword::MaxItems], " element")
    } else if value.as_string().is_some() {
        ([Keyword::MinLength, Keyword::MaxLength], " character")
    } else {
        return Ok(());
    };
    let [min, max] = limits.map(|keyword| keywords.number(keyword));
    if min.is_some() || max.is_some() {
        let count = match value.as_string() {
            Some(text) => text.chars().count(),
            None => value.elements().count(),
        };
        let bound = |bound: Option<RawJson<'_>>| bound.and_then(RawJson::as_u64);
        if bound(min).is_some_and(|min| (count as u64) < min) {
            let min = min.unwrap_or(RawJson::NULL);
            return broken(Rule::Count("must have at least ", min, unit, count));
        }
        if bound(max).is_some_and(|max| count as u64 > max) {
            let max = max.unwrap_or(RawJson::NULL);
            return broken(Rule::Count("must have at most ", max, unit, count));
        }
    }
    let prefix = keywords.get(Keyword::PrefixItems);
    match keywords.get(Keyword::Items).filter(|_| nested > 0 && prefix.is_none()) {
        Some(items) => {
            let keywords = Keywords::of(items);
            value
                .elements()
                .try_for_each(|element| fits(items, &keywords, element, nested - 1, budget))
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
    value.is_number() && is_whole(value.as_str())
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
/// Maximum length of a value that an error shows, in bytes of JSON.
const LONGEST_SHOWN: usize = 42;
