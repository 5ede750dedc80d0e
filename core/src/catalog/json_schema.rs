//! Validation of a value against the first level of a JSON Schema. Its text is read once for an
//! entry that is constant, while compiling, or that owns it; else at each check.

use core::cmp::Ordering;
use core::fmt;

use crate::json::{
    Budget, Cursor, Indexed, JsonStr, Members, RawJson, begins_with, behind, byte, compare,
    is_whole, same_key, skip_key, skip_string, skip_value, skip_whitespace,
};
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
const DIALECTS: [&[u8]; 4] = [
    b"https://json-schema.org/draft/2020-12/schema",
    b"https://json-schema.org/draft/2020-12/schema#",
    b"http://json-schema.org/draft-07/schema",
    b"http://json-schema.org/draft-07/schema#",
];

pub(super) fn is_known_dialect(schema: RawJson<'_>) -> bool {
    SchemaRow::of(schema.as_str().as_bytes()).is_some()
}

/// Whether the dialect at `at` is draft-07; `None` if it is unknown.
const fn is_draft_07(text: &[u8], at: usize) -> Option<bool> {
    match position(text, at, &DIALECTS) {
        _ if at == 0 => Some(false),
        Some(dialect) => Some(dialect > 1),
        None => None,
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
                budget.spend(key.as_json().as_str().len())?;
                budget.spend(value.as_str().len())?;
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

        const KEYWORDS: &[&[u8]] = &[$($name),*];
    };
}

/// The keywords from here on are rules of any value, beside its type.
const OF_VALUES: usize = Keyword::Minimum as usize;

keywords! {
    Type b"type"
    Properties b"properties"
    Required b"required"
    AdditionalProperties b"additionalProperties"
    PatternProperties b"patternProperties"
    Ref b"$ref"
    Schema b"$schema"
    Minimum b"minimum"
    Maximum b"maximum"
    MinLength b"minLength"
    MaxLength b"maxLength"
    Enum b"enum"
    Items b"items"
    MinItems b"minItems"
    MaxItems b"maxItems"
    Const b"const"
    ExclusiveMinimum b"exclusiveMinimum"
    ExclusiveMaximum b"exclusiveMaximum"
    PrefixItems b"prefixItems"
}

/// The keywords of a schema, which is gone through once. Of duplicate keys the first counts.
#[derive(Clone, Copy, Debug)]
struct Keywords {
    /// Where their values begin in the text; 0 is nowhere.
    places: [u32; KEYWORDS.len()],
    /// The types that are allowed.
    types: u8,
    /// Whether there are other rules of a value.
    more: bool,
    /// Whether the dialect ignores what stands beside a `$ref`.
    is_draft_07: bool,
    /// Length of the schema in bytes.
    len: u32,
}

impl Keywords {
    const NONE: Self = Self {
        places: [0; KEYWORDS.len()],
        types: u8::MAX,
        more: false,
        is_draft_07: false,
        len: 0,
    };

    /// Reads the schema at `at`. In draft-07 keywords beside `$ref` are ignored; references are not
    /// followed.
    const fn of(text: &[u8], at: usize, is_draft_07: bool) -> Self {
        let none = Self { is_draft_07, ..Self::NONE };
        let (mut found, mut key) = (none, first(text, at, b'{'));
        while let Ok(value) = skip_key(text, key)
            && let Ok(end) = skip_value(text, value, 0)
        {
            if let Some(keyword) = position(text, key, KEYWORDS)
                && keyword < found.places.len()
                && found.places[keyword] == 0
            {
                found.places[keyword] = value as u32;
                found.more |= keyword >= OF_VALUES;
            }
            found.len = (end - at) as u32;
            key = behind(text, end);
        }
        let kind = found.place(Keyword::Type);
        if is_draft_07 && found.place(Keyword::Ref) > 0 {
            found = none;
        } else if kind > 0 {
            found.types = types(text, kind);
        } else if byte(text, at) == b'f' {
            found.types = 0;
        }
        found
    }

    const fn place(&self, keyword: Keyword) -> usize {
        self.places[keyword as usize] as usize
    }

    fn get<'x>(&self, schema: RawJson<'x>, keyword: Keyword) -> Option<RawJson<'x>> {
        let start = Some(self.place(keyword)).filter(|start| *start > 0)?;
        let end = skip_value(schema.as_str().as_bytes(), start, 0).ok()?;
        schema.as_str().get(start..end).map(RawJson::scanned)
    }
}

/// The keywords of a schema, or of one of its properties, that was read.
#[derive(Clone, Copy, Debug)]
pub struct SchemaRow {
    /// The bounds of the name in the text.
    name: [u32; 2],
    /// The place of the property among the required names from 1 on, or 0. Of the whole schema, the
    /// number of these names.
    required: u8,
    keywords: Keywords,
}

impl SchemaRow {
    pub(super) const NONE: Self = Self { name: [0; 2], required: 0, keywords: Keywords::NONE };

    /// Reads a schema without its properties; `None` if its dialect is unknown.
    const fn of(text: &[u8]) -> Option<Self> {
        let mut keywords = Keywords::of(text, 0, false);
        let Some(is_draft_07) = is_draft_07(text, keywords.place(Keyword::Schema)) else {
            return None;
        };
        if is_draft_07 && keywords.place(Keyword::Ref) > 0 {
            keywords = Keywords::NONE;
        }
        keywords.is_draft_07 = is_draft_07;
        let required = place(text, keywords.place(Keyword::Required), None);
        Some(Self { name: [0; 2], required, keywords })
    }

    /// Returns the name as it is written in the schema, with its quotes.
    fn name<'x>(&self, schema: RawJson<'x>) -> &'x [u8] {
        let [start, end] = self.name.map(|at| at as usize);
        schema.as_str().as_bytes().get(start..end).unwrap_or(b"\"\"")
    }

    fn is(&self, name: JsonStr<'_>, schema: RawJson<'_>) -> bool {
        let [start, end] = self.name.map(|at| at as usize);
        let own = JsonStr::scanned(schema.as_str().get(start..end).unwrap_or("\"\""));
        own == name
    }
}

/// Writes a row for the schema and one for each property behind `len` others, and returns the
/// number of all. A schema that refers to others or has an unknown dialect has none, since each
/// check tells so; nor has firmware, whose flash they would take.
pub(super) const fn read(schema: RawJson<'_>, out: &mut [SchemaRow], len: usize) -> usize {
    let text = schema.as_str().as_bytes();
    let Some(whole) = SchemaRow::of(text) else { return len };
    if cfg!(small) || refers_outside(schema) {
        return len;
    }
    put(out, len, whole);
    let (mut len, names) = (len + 1, whole.keywords.place(Keyword::Required));
    let properties = whole.keywords.place(Keyword::Properties);
    let mut key = if properties > 0 { first(text, properties, b'{') } else { text.len() };
    while let Ok(name) = skip_string(text, key)
        && let Ok(value) = skip_key(text, key)
        && let Ok(end) = skip_value(text, value, 0)
    {
        let keywords = Keywords::of(text, value, whole.keywords.is_draft_07);
        let required = place(text, names, Some(key));
        put(out, len, SchemaRow { name: [key as u32, name as u32], required, keywords });
        (len, key) = (len + 1, behind(text, end));
    }
    len
}

const fn put(out: &mut [SchemaRow], at: usize, row: SchemaRow) {
    if at < out.len() {
        out[at] = row;
    }
}

/// Returns the place of a name among the first 63 in the list at `at`, or 0; without a name, the
/// number of all.
const fn place(text: &[u8], at: usize, name: Option<usize>) -> u8 {
    let (mut at, mut place) = (first(text, at, b'['), 0u8);
    while let Ok(end) = skip_value(text, at, 0) {
        place = place.saturating_add(1);
        if name.is_some() && place == 64 {
            return 0;
        }
        if let Some(name) = name
            && byte(text, at) == b'"'
            && same_key(text, name, at)
        {
            return place;
        }
        at = behind(text, end);
    }
    if name.is_none() { place } else { 0 }
}

/// Returns the start of the first key or element, or the end of the text if there is none.
const fn first(text: &[u8], at: usize, open: u8) -> usize {
    if byte(text, at) == open { skip_whitespace(text, at + 1) } else { text.len() }
}

/// Returns which of these strings the value at `at` is.
// Where the place is an index its bound is compared once more: a small build does not see that it
// is in bounds, and would link a panic.
const fn position(text: &[u8], at: usize, strings: &[&[u8]]) -> Option<usize> {
    let mut position = 0;
    while position < strings.len() {
        if is_string(text, at, strings[position]) {
            return Some(position);
        }
        position += 1;
    }
    None
}

/// Whether the value at `at` is this string, of which any character may be escaped. It has none of
/// the characters with escapes of their own but `/`.
const fn is_string(text: &[u8], at: usize, plain: &[u8]) -> bool {
    if byte(text, at) != b'"' {
        return false;
    }
    let (mut at, mut i) = (at + 1, 0);
    while i < plain.len() {
        let (character, len) = match byte(text, at) {
            b'\\' if begins_with(text, at, b"\\u00") => (hex(text, at + 4), 6),
            b'\\' if begins_with(text, at, b"\\/") => (b'/', 2),
            character => (character, 1),
        };
        if character != plain[i] {
            return false;
        }
        (at, i) = (at + len, i + 1);
    }
    byte(text, at) == b'"'
}

/// Returns the byte of two hexadecimal digits.
const fn hex(text: &[u8], at: usize) -> u8 {
    match ((byte(text, at) as char).to_digit(16), (byte(text, at + 1) as char).to_digit(16)) {
        (Some(high), Some(low)) => (high << 4 | low) as u8,
        _ => 0,
    }
}

/// Whether a `$ref` or `$dynamicRef` does not begin with `#`. Searches the text for the keys, since
/// schemas may be nested to any depth.
pub(super) const fn refers_outside(schema: RawJson<'_>) -> bool {
    let (text, mut at) = (schema.as_str().as_bytes(), 0);
    while at < text.len() {
        if (is_string(text, at, b"$ref") || is_string(text, at, b"$dynamicRef"))
            && let Ok(value) = skip_key(text, at)
            && byte(text, value) == b'"'
            && byte(text, value + 1) != b'#'
        {
            return true;
        }
        at += 1;
    }
    false
}

/// Checks a value and, if it is an object, its members. Deeper values and unknown keywords are not
/// checked. `rows` is what was [`read`] of the schema.
pub(super) fn check<'x>(
    schema: RawJson<'x>,
    rows: &[SchemaRow],
    Indexed { json: value, ends }: Indexed<'x>,
) -> Result<(), SchemaError<'x>> {
    let error = |member, (rule, value)| Err(SchemaError { member, rule, value });
    let text = |member, text| Err(SchemaError::text(member, text));
    let budget = &mut Budget::new(schema, value);
    let own;
    let (whole, properties) = match rows.split_first() {
        Some(read) => read,
        None => {
            let Some(read) = SchemaRow::of(schema.as_str().as_bytes()) else {
                return text("$schema", "the dialect must be JSON Schema 2020-12 or draft-07");
            };
            own = read;
            let len = schema.as_str().len().saturating_add(value.as_str().len());
            budget.0 = budget.0.saturating_sub(len);
            (&own, rows)
        }
    };
    let get = |keyword| whole.keywords.get(schema, keyword);
    let broken = fits(schema, &whole.keywords, value, NESTED, budget);
    broken.or_else(|broken| error("the value", broken))?;
    if !value.is_object() {
        return Ok(());
    }
    // Each member of the value is checked, duplicate keys too: the tool may read either.
    let known = || get(Keyword::Properties).unwrap_or(RawJson::EMPTY);
    let mut lookup = Lookup::new(if rows.is_empty() { known() } else { RawJson::EMPTY });
    let (mut behind, mut seen, mut unknown) = (properties.iter(), 0u64, None);
    let (mut cursor, mut ends) = (Cursor::new(value), ends.iter());
    cursor.skip(b'{');
    while cursor.has_next() {
        let (member, mut name, mut spent) = (cursor.clone(), None, Ok(()));
        // Most peers write members in the order of the schema, and alike.
        let row = match behind.as_slice().first() {
            Some(row) if cursor.skip_key(row.name(schema)) => behind.next(),
            _ => {
                let name = *name.insert(cursor.key());
                let is = |row: &&SchemaRow| row.is(name, schema);
                let next = behind.find(is);
                if next.is_none() {
                    // Equal lengths are compared, many bytes at once.
                    let each = 1 + name.inner_bytes().len() / 16;
                    spent = budget.spend(properties.len().saturating_mul(each));
                    behind = properties.iter();
                }
                next.or_else(|| behind.find(is))
            }
        };
        let name = || name.unwrap_or_else(|| member.clone().key());
        let value = cursor.value_until(ends.next().map_or(0, |end| *end as usize));
        cursor.skip(b',');
        if let Err(found) = spent {
            return text(name().inner(), found);
        }
        let broken = if let Some(row) = row {
            seen |= 1 << (row.required & 63);
            fits(schema, &row.keywords, value, NESTED, budget)
        } else {
            match lookup.find(name(), budget) {
                Ok(Some(property)) => {
                    let dialect = whole.keywords.is_draft_07;
                    let keywords = Keywords::of(property.as_str().as_bytes(), 0, dialect);
                    fits(property, &keywords, value, NESTED, budget)
                }
                Ok(None) => {
                    unknown = unknown.or_else(|| Some(name()));
                    continue;
                }
                Err(found) => return text(name().inner(), found),
            }
        };
        broken.or_else(|broken| error(name().inner(), broken))?;
    }
    // Without a search, if the rows show that all of them are there.
    if (seen | 1).trailing_ones() != u32::from(whole.required) + 1 {
        let mut members = Lookup::new(value);
        let required = get(Keyword::Required).unwrap_or(RawJson::NULL);
        for name in required.elements().filter_map(RawJson::as_string) {
            match members.find(name, budget) {
                Ok(Some(_)) => {}
                Ok(None) => return text(name.inner(), "is missing"),
                Err(found) => return text(name.inner(), found),
            }
        }
    }
    let Some(unknown) = unknown else { return Ok(()) };
    let additional = get(Keyword::AdditionalProperties).and_then(RawJson::as_bool);
    if additional == Some(false) && get(Keyword::PatternProperties).is_none() {
        return error(unknown.inner(), (Rule::Known(known()), RawJson::NULL));
    }
    Ok(())
}

/// Checks the keywords that do not concern members of objects; elements of arrays too, up to
/// `nested` levels.
#[cfg_attr(not(small), inline(always))]
fn fits<'x>(
    schema: RawJson<'x>,
    keywords: &Keywords,
    value: RawJson<'x>,
    nested: u8,
    budget: &mut Budget,
) -> Result<(), Broken<'x>> {
    if keywords.types & type_of(value) == 0 {
        let kind = keywords.get(schema, Keyword::Type);
        return Err((kind.map_or(Rule::Text("is not allowed"), Rule::Type), value));
    }
    if keywords.more { fits_more(schema, keywords, value, nested, budget) } else { Ok(()) }
}

fn fits_more<'x>(
    schema: RawJson<'x>,
    keywords: &Keywords,
    value: RawJson<'x>,
    nested: u8,
    budget: &mut Budget,
) -> Result<(), Broken<'x>> {
    let broken = |rule| Err((rule, value));
    let get = |keyword| keywords.get(schema, keyword);
    for len in [keywords.len as usize, value.as_str().len()] {
        budget.spend(len).or_else(|text| broken(Rule::Text(text)))?;
    }
    if let Some(choices) = get(Keyword::Enum)
        && !choices.elements().any(|choice| may_equal(choice, value))
    {
        return broken(Rule::Enum(choices));
    }
    if let Some(only) = get(Keyword::Const).filter(|only| !may_equal(*only, value)) {
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
            if let Some(bound) = get(keyword).filter(|bound| bound.is_number())
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
    let [min, max] = limits.map(|keyword| get(keyword).filter(|bound| bound.is_number()));
    let bound = |bound: Option<RawJson<'_>>| bound.and_then(RawJson::as_u64);
    let (least, most) = (bound(min).unwrap_or(0), bound(max).unwrap_or(u64::MAX));
    // A character takes 1 to 12 bytes: most texts need not be counted.
    let is_clear = |text: JsonStr<'_>| {
        let bytes = text.inner_bytes().len() as u64;
        bytes <= most && bytes >= least.saturating_mul(12)
    };
    if (min.is_some() || max.is_some()) && !value.as_string().is_some_and(is_clear) {
        let count = match value.as_string() {
            Some(text) => text.chars().count(),
            None => value.elements().count(),
        };
        if (count as u64) < least {
            let min = min.unwrap_or(RawJson::NULL);
            return broken(Rule::Count("must have at least ", min, unit, count));
        }
        if count as u64 > most {
            let max = max.unwrap_or(RawJson::NULL);
            return broken(Rule::Count("must have at most ", max, unit, count));
        }
    }
    let items = keywords.place(Keyword::Items);
    if nested == 0 || items == 0 || keywords.place(Keyword::PrefixItems) > 0 {
        return Ok(());
    }
    let keywords = Keywords::of(schema.as_str().as_bytes(), items, keywords.is_draft_07);
    value.elements().try_for_each(|element| fits(schema, &keywords, element, nested - 1, budget))
}

const STRING: u8 = 1;
const INTEGER: u8 = 2;
const FRACTION: u8 = 4;
const BOOLEAN: u8 = 8;
const OBJECT: u8 = 16;
const ARRAY: u8 = 32;
const NULL: u8 = 64;
const TYPES: [&[u8]; 7] =
    [b"string", b"integer", b"number", b"boolean", b"object", b"array", b"null"];
const BITS: [u8; 7] = [STRING, INTEGER, INTEGER | FRACTION, BOOLEAN, OBJECT, ARRAY, NULL];

/// Returns the types that one name or a list of names allows. Unknown types allow any value.
const fn types(text: &[u8], at: usize) -> u8 {
    let is_list = byte(text, at) == b'[';
    let (mut at, mut types) = (if is_list { first(text, at, b'[') } else { at }, 0);
    while let Ok(end) = skip_value(text, at, 0) {
        types |= match position(text, at, &TYPES) {
            Some(kind) if kind < BITS.len() => BITS[kind],
            _ if byte(text, at) == b'"' => u8::MAX,
            _ => 0,
        };
        at = if is_list { behind(text, end) } else { text.len() };
    }
    types
}

/// Returns the type of a value. `4.0` is an integer, and so are integers of more than 64 bits.
fn type_of(value: RawJson<'_>) -> u8 {
    match value.as_str().as_bytes() {
        [b'"', ..] => STRING,
        [b'{', ..] => OBJECT,
        [b'[', ..] => ARRAY,
        [b't' | b'f', ..] => BOOLEAN,
        [b'n', ..] => NULL,
        digits if digits.iter().all(u8::is_ascii_digit) => INTEGER,
        _ if is_whole(value.as_str()) => INTEGER,
        _ => FRACTION,
    }
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
/// Maximum length of a value that an error shows, in bytes of JSON.
const LONGEST_SHOWN: usize = 42;
