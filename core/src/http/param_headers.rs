//! `Mcp-Name` and `Mcp-Param-*`: header fields that repeat parts of the body (2026-07-28,
//! basic/transports/streamable-http).
//!
//! Values that every intermediary passes unchanged are sent as they are, others as
//! `=?base64?...?=`:
//!
//! ```
//! use mcp_sansio::http::param_headers::FieldValue;
//!
//! assert_eq!(FieldValue::text("us-west1").to_string(), "us-west1");
//! assert_eq!(FieldValue::text("Hello, 世界").to_string(), "=?base64?SGVsbG8sIOS4lueVjA==?=");
//! assert!(FieldValue::text(" padded ").matches(b"=?base64?IHBhZGRlZCA=?="));
//! ```
//!
//! The input schema of a tool marks the arguments to repeat with `x-mcp-header`: see
//! [`header_params`].

use core::fmt::{self, Write as _};

use crate::json::{JsonStr, Members, RawJson, encode_base64, hash_lower_case};
use crate::protocol::error::require;
use crate::text::{self, copy};
use crate::types::Text;

// Arguments of a tool that are repeated in header fields: those annotated with `x-mcp-header` in
// its input schema.

/// Returns the annotated properties of an input schema, each with its argument.
///
/// ```
/// use mcp_sansio::RawJson;
/// use mcp_sansio::http::param_headers::{FieldValue, header_params};
///
/// let schema = RawJson::from_static(
///     r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}"#,
/// );
/// let arguments = RawJson::from_static(r#"{"region":"us-west1"}"#);
/// for param in header_params(schema, arguments) {
///     let name = param.name().unwrap();
///     let value = FieldValue::argument(param.value.unwrap()).unwrap().unwrap();
///     assert_eq!(format!("{}: {value}", name.as_str()), "Mcp-Param-Region: us-west1");
/// }
/// ```
pub fn header_params<'s, 'a>(schema: RawJson<'s>, arguments: RawJson<'a>) -> HeaderParams<'s, 'a> {
    let mut found = HeaderParams { levels: [const { None }; MAX_SCHEMA_DEPTH], depth: 0 };
    found.enter(schema, Some(arguments));
    found
}

/// Iterator of [`header_params`].
#[derive(Clone, Debug)]
pub struct HeaderParams<'s, 'a> {
    levels: [Option<Level<'s, 'a>>; MAX_SCHEMA_DEPTH],
    /// Number of levels in use.
    depth: usize,
}

/// The properties of one schema object, and the argument object that they describe.
#[derive(Clone, Debug)]
struct Level<'s, 'a> {
    properties: Members<'s>,
    arguments: Option<RawJson<'a>>,
}

/// An annotated property.
#[derive(Clone, Copy, Debug)]
pub struct HeaderParam<'s, 'a> {
    /// The value of `x-mcp-header`: a string, if the schema is valid.
    pub annotation: RawJson<'s>,
    /// The schema of the property.
    pub schema: RawJson<'s>,
    /// The argument, if present; may be null.
    pub value: Option<RawJson<'a>>,
}

impl<'s, 'a> HeaderParams<'s, 'a> {
    fn enter(&mut self, schema: RawJson<'s>, arguments: Option<RawJson<'a>>) {
        let Some(properties) = schema.get("properties").filter(|properties| properties.is_object())
        else {
            return;
        };
        if let Some(level) = self.levels.get_mut(self.depth) {
            *level = Some(Level { properties: properties.members(), arguments });
            self.depth += 1;
        }
    }
}

impl<'s, 'a> Iterator for HeaderParams<'s, 'a> {
    type Item = HeaderParam<'s, 'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let level = self.levels.get_mut(self.depth.checked_sub(1)?)?.as_mut()?;
            let Some((name, schema)) = level.properties.next() else {
                self.depth -= 1;
                continue;
            };
            let annotation = schema.get(ANNOTATION);
            // Finding an argument takes as long as all of them are.
            let is_needed = annotation.is_some() || schema.get("properties").is_some();
            let arguments = level.arguments.filter(|_| is_needed);
            let value = arguments.and_then(|arguments| find(arguments, name));
            self.enter(schema, value);
            if let Some(annotation) = annotation {
                return Some(HeaderParam { annotation, schema, value });
            }
        }
    }
}

impl HeaderParam<'_, '_> {
    /// Returns the field name, including `Mcp-Param-`; `None` if the annotation is not a valid
    /// field name.
    pub fn name(&self) -> Option<HeaderName> {
        HeaderName::new(self.annotation.as_string()?)
    }

    /// Whether `type` is one that a field can carry: string, integer or boolean.
    fn has_field_type(&self) -> bool {
        let kind = self.schema.get("type").and_then(RawJson::as_string);
        kind.is_some_and(|kind| kind == "string" || kind == "integer" || kind == "boolean")
    }
}

/// A field name, e.g. `Mcp-Param-Region`.
#[derive(Clone, Copy, Debug)]
pub struct HeaderName {
    bytes: [u8; FIELD_PREFIX.len() + MAX_HEADER_NAME],
    len: usize,
}

impl HeaderName {
    fn new(annotation: JsonStr<'_>) -> Option<Self> {
        let mut bytes = [0; FIELD_PREFIX.len() + MAX_HEADER_NAME];
        let (prefix, rest) = bytes.split_at_mut_checked(FIELD_PREFIX.len())?;
        copy(FIELD_PREFIX.as_bytes(), prefix);
        let name = annotation
            .copy_to(rest)
            .filter(|name| !name.is_empty() && name.bytes().all(is_token))?;
        let len = FIELD_PREFIX.len() + name.len();
        Some(Self { bytes, len })
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        self.bytes
            .get(..self.len)
            .and_then(|name| core::str::from_utf8(name).ok())
            .unwrap_or_default()
    }
}

/// Checks the annotations of an input schema. HTTP clients must ignore a tool whose annotations are
/// invalid.
///
/// # Errors
/// [`InvalidHeaderParams`] with the first broken rule.
pub fn check_schema(schema: RawJson<'_>) -> Result<(), InvalidHeaderParams> {
    check(schema).map_err(|reason| InvalidHeaderParams { reason })
}

/// The annotations of an input schema break a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidHeaderParams {
    /// The rule.
    pub reason: &'static str,
}

crate::text::error_type!(InvalidHeaderParams => |it| it.reason);

pub(crate) fn check(schema: RawJson<'_>) -> Result<(), &'static str> {
    let mut found = 0;
    let mut names = [0; MAX_PARAMS];
    for param in header_params(schema, RawJson::EMPTY) {
        let name = param.name().ok_or(
            "x-mcp-header must be a token of at most 100 characters: letters, digits and !#$%&'*+-.^_`|~",
        )?;
        require(
            param.has_field_type(),
            "x-mcp-header is allowed only on properties of type string, integer or boolean",
        )?;
        // Compares hashes, since a name takes 110 bytes.
        let hash = hash_lower_case(name.as_str());
        let is_new = !names.iter().take(found).any(|other| *other == hash);
        require(is_new, "two x-mcp-header names of the schema are equal (case-insensitively)")?;
        let place = names.get_mut(found).ok_or("more than 64 x-mcp-header annotations")?;
        *place = hash;
        found += 1;
    }
    // A property may have this name too: its value is an object.
    let key = "\"x-mcp-header\"";
    let text = schema.as_str();
    let written = text.match_indices(key).filter(|(at, _)| {
        let behind = text.get(at + key.len()..).unwrap_or_default().trim_start();
        behind.strip_prefix(':').is_some_and(|value| !value.trim_start().starts_with('{'))
    });
    require(
        written.count() <= found,
        "x-mcp-header is allowed only under `properties`, at most 16 levels deep: not in items, allOf, $defs or any other keyword",
    )
}

fn find<'x>(object: RawJson<'x>, name: JsonStr<'_>) -> Option<RawJson<'x>> {
    object.members().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Whether the byte may be in a token (RFC 9110, 5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Maximum nesting of `properties` in which annotations are found.
pub const MAX_SCHEMA_DEPTH: usize = 16;
/// Maximum number of annotated arguments of a tool. Checking a schema takes eight bytes of stack
/// for each.
pub const MAX_PARAMS: usize = 64;
/// Maximum length of a name in an annotation, in bytes.
pub const MAX_HEADER_NAME: usize = 100;

const ANNOTATION: &str = "x-mcp-header";
const FIELD_PREFIX: &str = "Mcp-Param-";

// Encoding and comparison of field values.

/// A value of `Mcp-Name` or `Mcp-Param-*`. `Display` encodes it without allocating,
/// [`matches`](Self::matches) compares it with a received field.
#[derive(Clone, Copy, Debug)]
pub struct FieldValue<'v>(Form<'v>);

#[derive(Clone, Copy, Debug)]
enum Form<'v> {
    Text(Text<'v>),
    Integer(i64),
    Boolean(bool),
}

/// An argument that a field cannot carry: not a string, a boolean, or an integer within ±(2^53 -
/// 1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InvalidFieldValue;

crate::text::error_type!(InvalidFieldValue => |_| {
    "a header field carries a string, a boolean, or an integer within 2^53 - 1"
});

impl<'v> FieldValue<'v> {
    /// Creates a value from text: a name, a URI.
    pub fn text(text: impl Into<Text<'v>>) -> Self {
        Self(Form::Text(text.into()))
    }

    /// Creates a value from an argument; `None` for null, for which no field is sent.
    ///
    /// # Errors
    /// [`InvalidFieldValue`] if a field cannot carry the argument.
    pub fn argument(value: RawJson<'v>) -> Result<Option<Self>, InvalidFieldValue> {
        if value.is_null() {
            return Ok(None);
        }
        let form = match (value.as_string(), value.as_bool()) {
            (Some(text), _) => Form::Text(Text::from_json(text)),
            (_, Some(boolean)) => Form::Boolean(boolean),
            _ => Form::Integer(
                value
                    .as_i64()
                    .filter(|number| number.unsigned_abs() <= MAX_INTEGER)
                    .ok_or(InvalidFieldValue)?,
            ),
        };
        Ok(Some(Self(form)))
    }

    /// Whether a field, without surrounding white space, carries this value: texts byte by byte,
    /// integers as numbers (`42.0` is 42). Values marked as base64 are decoded strictly; others
    /// match only if they consist of characters allowed in fields.
    pub fn matches(&self, field: &[u8]) -> bool {
        let encoded = base64_of(field);
        match self.0 {
            Form::Text(text) => {
                let mut bytes = text.chars().flat_map(utf8);
                let is_equal = match encoded {
                    Some(encoded) => decode(encoded, &mut |part| {
                        part.iter().all(|byte| bytes.next() == Some(*byte))
                    }),
                    None => {
                        is_visible(field) && field.iter().all(|byte| bytes.next() == Some(*byte))
                    }
                };
                is_equal && bytes.next().is_none()
            }
            Form::Integer(number) => plain(field, encoded, |text| {
                RawJson::parse(text).ok().filter(|json| json.is_number()).and_then(RawJson::as_i64)
                    == Some(number)
            }),
            Form::Boolean(boolean) => {
                plain(field, encoded, |text| text == if boolean { "true" } else { "false" })
            }
        }
    }
}

impl fmt::Display for FieldValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Form::Integer(number) => number.fmt(f),
            Form::Boolean(boolean) => boolean.fmt(f),
            Form::Text(text) if is_safe(text) => text.chars().try_for_each(|c| f.write_char(c)),
            Form::Text(text) => {
                f.write_str(BASE64_PREFIX)?;
                let mut bytes = text.chars().flat_map(utf8);
                let mut group = [0; 3];
                loop {
                    let mut len = 0;
                    for (to, from) in group.iter_mut().zip(&mut bytes) {
                        *to = from;
                        len += 1;
                    }
                    let mut digits = [0; 4];
                    encode_base64(group.get(..len).unwrap_or_default(), &mut digits);
                    if len > 0 {
                        f.write_str(core::str::from_utf8(&digits).unwrap_or_default())?;
                    }
                    if len < 3 {
                        return f.write_str(BASE64_SUFFIX);
                    }
                }
            }
        }
    }
}

/// Whether the text needs no encoding: visible ASCII and inner spaces, and not of the form of an
/// encoded value.
fn is_safe(text: Text<'_>) -> bool {
    let (mut len, mut last) = (0, None);
    for c in text.chars() {
        if !matches!(c, ' '..='~') || len == 0 && c == ' ' {
            return false;
        }
        (len, last) = (len + 1, Some(c));
    }
    let begins = text.chars().take(BASE64_PREFIX.len()).eq(BASE64_PREFIX.chars());
    let ends = len >= BASE64_SUFFIX.len()
        && text.chars().skip(len - BASE64_SUFFIX.len()).eq(BASE64_SUFFIX.chars());
    !(last == Some(' ') || begins && ends)
}

/// Returns the base64 between the markers, if both are present.
fn base64_of(field: &[u8]) -> Option<&[u8]> {
    field.strip_prefix(BASE64_PREFIX.as_bytes())?.strip_suffix(BASE64_SUFFIX.as_bytes())
}

fn is_visible(field: &[u8]) -> bool {
    field.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

/// Passes the decoded bytes to `take` in parts; returns whether the base64 was valid and `take`
/// returned `true` each time. What is encoded again must be the same, which is all that there is to
/// check; the decoder of the crate `base64` has panic paths and takes 2 KB of flash.
fn decode(encoded: &[u8], take: &mut dyn FnMut(&[u8]) -> bool) -> bool {
    if !encoded.len().is_multiple_of(4) {
        return false;
    }
    let mut parts = encoded.chunks(4 * PART_GROUPS).peekable();
    while let Some(part) = parts.next() {
        let (mut bytes, mut again) = ([0; 3 * PART_GROUPS], [0; 4 * PART_GROUPS]);
        let mut len = 0;
        for (group, place) in part.chunks(4).zip(bytes.chunks_exact_mut(3)) {
            let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit_value(*digit));
            let [_, decoded @ ..] = bits.to_be_bytes();
            copy(&decoded, place);
            len += 3 - group.iter().filter(|digit| **digit == b'=').count().min(2);
        }
        let decoded = bytes.get(..len).unwrap_or_default();
        encode_base64(decoded, &mut again);
        let is_valid =
            again.get(..part.len()) == Some(part) && (len == bytes.len() || parts.peek().is_none());
        if !is_valid || !take(decoded) {
            return false;
        }
    }
    true
}

/// Returns the value of a digit of base64, and any value of another byte.
fn digit_value(digit: u8) -> u32 {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    value.into()
}

/// Compares a short value as one text.
fn plain(field: &[u8], encoded: Option<&[u8]>, matches: impl Fn(&str) -> bool) -> bool {
    let mut matches = |bytes: &[u8]| core::str::from_utf8(bytes).is_ok_and(&matches);
    match encoded {
        Some(encoded) => {
            encoded.len() <= 4 * PART_GROUPS && !encoded.is_empty() && decode(encoded, &mut matches)
        }
        None => matches(field),
    }
}

/// Returns the UTF-8 bytes of a character.
fn utf8(c: char) -> impl Iterator<Item = u8> {
    let mut bytes = [0; 4];
    let len = text::utf8(c, &mut bytes).len();
    bytes.into_iter().take(len)
}

const BASE64_PREFIX: &str = "=?base64?";
const BASE64_SUFFIX: &str = "?=";
/// Number of base64 groups decoded at once.
const PART_GROUPS: usize = 16;
/// The largest integer that all JSON parsers read exactly: 2^53 - 1.
const MAX_INTEGER: u64 = (1 << 53) - 1;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::{String, ToString as _};
    use std::{format, vec::Vec};

    use super::*;

    fn check(schema: &str) -> Result<(), &'static str> {
        super::check(RawJson::parse(schema).unwrap())
    }

    fn property(name: &str, schema: &str) -> String {
        format!(r#"{{"type":"object","properties":{{"{name}":{schema}}}}}"#)
    }

    #[test]
    fn nested_properties_are_found_with_their_arguments() {
        let inner = property("b", r#"{"type":"integer","x-mcp-header":"B"}"#);
        let schema = format!(
            r#"{{"properties":{{"a":{inner},"c":{{"type":"string","x-mcp-header":"C"}}}}}}"#
        );
        let schema = RawJson::parse(&schema).unwrap();
        let arguments = RawJson::from_static(r#"{"c":null,"a":{"b":1}}"#);
        let found: Vec<_> = header_params(schema, arguments)
            .map(|p| format!("{} {}", p.name().unwrap().as_str(), p.value.unwrap()))
            .collect();
        assert_eq!(found, ["Mcp-Param-B 1", "Mcp-Param-C null"]);
        assert!(header_params(schema, RawJson::EMPTY).all(|param| param.value.is_none()));
        assert_eq!(check_schema(schema), Ok(()));
    }

    #[test]
    fn hdr_12_hdr_13_hdr_14_hdr_15_hdr_16_hdr_18_hdr_19_annotations_that_break_a_rule_are_seen() {
        let string = |name: &str| format!(r#"{{"type":"string","x-mcp-header":{name}}}"#);
        let x = &string("\"X\"");
        assert_eq!(check(&property("a", &string("\"X-1\""))), Ok(()));
        assert_eq!(check(&property("x-mcp-header", "{\"type\":\"string\"}")), Ok(()));
        let names =
            ["\"\"", "\"a b\"", "\"a:b\"", "\"\\u00e9\"", "\"a\\r\\nb\"", "1", "null", "[]", "{}"]
                .map(|name| property("a", &string(name)));
        let kinds = ["\"number\"", "\"object\"", "\"array\"", "\"null\"", "[\"string\"]", "1"]
            .map(|kind| property("a", &format!(r#"{{"type":{kind},"x-mcp-header":"X"}}"#)));
        let inner = ["items", "additionalProperties", "not", "if"]
            .map(|keyword| property("a", &format!(r#"{{"{keyword}":{x}}}"#)));
        let lists = ["allOf", "anyOf", "oneOf", "prefixItems"]
            .map(|keyword| format!(r#"{{"{keyword}":[{}]}}"#, property("a", x)));
        let (one, other) = (string("\"One\""), string("\"oNE\""));
        let others = [
            format!(r#"{{"properties":{{"a":{one},"b":{other}}}}}"#),
            format!(r#"{{"$defs":{{"a":{x}}}}}"#),
            property("a", &string(&format!("\"{}\"", "x".repeat(101)))),
        ];
        for schema in names.iter().chain(&kinds).chain(&inner).chain(&lists).chain(&others) {
            assert!(check(schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn annotations_nested_too_deep_are_reported() {
        let mut schema = r#"{"type":"string","x-mcp-header":"X"}"#.to_string();
        for _ in 0..MAX_SCHEMA_DEPTH {
            schema = property("a", &schema);
        }
        assert_eq!(check(&schema), Ok(()));
        assert!(check(&property("a", &schema)).is_err());
    }

    /// The specification's examples, and edge cases of its rules.
    const TEXTS: [(&str, &str); 15] = [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="),
        ("=?BASE64?literal?=", "=?BASE64?literal?="),
        ("=?base64?literal", "=?base64?literal"),
        ("", ""),
        (" ", "=?base64?IA==?="),
        ("a b", "a b"),
        ("a ", "=?base64?YSA=?="),
        ("a\tb", "=?base64?YQli?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("~!#", "~!#"),
    ];

    #[test]
    fn a_text_is_encoded_as_specified_and_matches_its_encoding() {
        for (text, field) in TEXTS {
            let value = FieldValue::text(text);
            assert_eq!(value.to_string(), field);
            assert!(value.matches(field.as_bytes()), "{text:?}");
            for (other, field) in TEXTS.iter().filter(|(other, _)| *other != text) {
                assert!(!value.matches(field.as_bytes()), "{text:?} {other:?}");
            }
        }
        for len in 0..200 {
            let text: String = "aé世\u{1f600}".chars().cycle().take(len).collect();
            let value = FieldValue::text(&*text);
            let field = value.to_string();
            assert!(value.matches(field.as_bytes()), "{len}");
            assert!(!FieldValue::text(&*(text.clone() + "x")).matches(field.as_bytes()), "{len}");
        }
    }

    #[test]
    fn hdr_34_invalid_base64_matches_nothing() {
        let value = FieldValue::text("Hello");
        assert!(value.matches(b"=?base64?SGVsbG8=?="));
        for field in [
            "=?base64?SGVsbG8?=",
            "=?base64?SGVs!G8=?=",
            "=?base64?SGVsbG9=?=",
            "=?base64?SGVs=G8=?=",
            "=?BASE64?SGVsbG8=?=",
            "SGVsbG8=",
        ] {
            assert!(!value.matches(field.as_bytes()), "{field}");
        }
        // Zeros are encoded like the digits that are missing.
        assert!(FieldValue::text("\0\0\0").matches(b"=?base64?AAAA?="));
        for field in ["=?base64?A?=", "=?base64?AA?=", "=?base64?AAA?="] {
            assert!(!FieldValue::text("\0\0\0").matches(field.as_bytes()), "{field}");
        }
        // Without the exact marker the value is literal.
        assert!(FieldValue::text("SGVsbG8=").matches(b"SGVsbG8="));
        assert!(FieldValue::text("=?BASE64?SGVsbG8=?=").matches(b"=?BASE64?SGVsbG8=?="));
        // Not encoded, but with characters that a field may not contain.
        assert!(!FieldValue::text("世").matches("世".as_bytes()));
    }

    #[test]
    fn integers_are_compared_as_numbers_and_booleans_as_words() {
        let value = |json| FieldValue::argument(RawJson::from_static(json));
        let number = value("42").unwrap().unwrap();
        assert_eq!(number.to_string(), "42");
        for field in ["42", "42.0", "4.2e1", "=?base64?NDI=?="] {
            assert!(number.matches(field.as_bytes()), "{field}");
        }
        for field in ["43", "042", "+42", "", "\"42\"", "true", "=?base64??="] {
            assert!(!number.matches(field.as_bytes()), "{field}");
        }
        assert_eq!(value("-7").unwrap().unwrap().to_string(), "-7");
        let yes = value("true").unwrap().unwrap();
        assert!(yes.matches(b"true") && !yes.matches(b"True") && !yes.matches(b"1"));
        assert!(value("null").unwrap().is_none());
        assert!(value("9007199254740991").is_ok());
        let least = "-9223372036854775808";
        for json in ["9007199254740992", "-9007199254740992", least, "1.5", "1e300", "[]", "{}"] {
            assert!(value(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_number_is_encoded_in_48_bytes_at_most() {
        let number = FieldValue::argument(RawJson::from_static("42")).unwrap().unwrap();
        use base64::Engine as _;
        let encoded = |text: &str| {
            let mut digits = [0; 100];
            let len =
                base64::engine::general_purpose::STANDARD.encode_slice(text, &mut digits).unwrap();
            format!("=?base64?{}?=", core::str::from_utf8(&digits[..len]).unwrap())
        };
        let long = format!("42.{}", "0".repeat(45));
        for text in ["42", "42.0000000000000000000", &long] {
            assert!(number.matches(encoded(text).as_bytes()), "{text}");
        }
        // Each part is the same number, but not the whole.
        assert!(!number.matches(encoded(&format!("{long}42")).as_bytes()));
    }
}
