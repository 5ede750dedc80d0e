//! Encoding and comparison of field values.

use core::fmt::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::bytes;
use crate::json::{RawJson, encode_base64};
use crate::types::Text;

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidFieldValue;

impl<'v> FieldValue<'v> {
    /// Creates a value from text: a name, a URI.
    #[must_use]
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
                value.as_i64().filter(|number| number.abs() <= MOST).ok_or(InvalidFieldValue)?,
            ),
        };
        Ok(Some(Self(form)))
    }

    /// Whether a field, without surrounding white space, carries this value: texts byte by byte,
    /// integers as numbers (`42.0` is 42). Values marked as base64 are decoded strictly; others
    /// match only if they consist of characters allowed in fields.
    #[must_use]
    pub fn matches(&self, field: &[u8]) -> bool {
        let encoded = base64_of(field);
        match self.0 {
            Form::Text(text) => {
                let mut bytes = text.chars().flat_map(utf8);
                let is_equal = match encoded {
                    Some(encoded) => {
                        decode(encoded, |part| part.iter().all(|byte| bytes.next() == Some(*byte)))
                    }
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
                f.write_str(PREFIX)?;
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
                        return f.write_str(SUFFIX);
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
    let begins = text.chars().take(PREFIX.len()).eq(PREFIX.chars());
    let ends = len >= SUFFIX.len() && text.chars().skip(len - SUFFIX.len()).eq(SUFFIX.chars());
    !(last == Some(' ') || begins && ends)
}

/// Returns the base64 between the markers, if both are present.
fn base64_of(field: &[u8]) -> Option<&[u8]> {
    field.strip_prefix(PREFIX.as_bytes())?.strip_suffix(SUFFIX.as_bytes())
}

fn is_visible(field: &[u8]) -> bool {
    field.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

/// Passes the decoded bytes to `take` in parts; returns whether the base64 was valid and `take`
/// returned `true` each time.
fn decode(encoded: &[u8], mut take: impl FnMut(&[u8]) -> bool) -> bool {
    let mut parts = encoded.chunks(4 * PART).peekable();
    while let Some(part) = parts.next() {
        let mut bytes = [0; 3 * PART];
        match STANDARD.decode_slice(part, &mut bytes) {
            Ok(len)
                if (len == bytes.len() || parts.peek().is_none())
                    && take(bytes.get(..len).unwrap_or_default()) => {}
            _ => return false,
        }
    }
    true
}

/// Compares a short value as one text.
fn plain(field: &[u8], encoded: Option<&[u8]>, matches: impl Fn(&str) -> bool) -> bool {
    let matches = |bytes: &[u8]| core::str::from_utf8(bytes).is_ok_and(&matches);
    match encoded {
        Some(encoded) => {
            encoded.len() <= 4 * PART && !encoded.is_empty() && decode(encoded, matches)
        }
        None => matches(field),
    }
}

/// Returns the UTF-8 bytes of a character.
fn utf8(c: char) -> impl Iterator<Item = u8> {
    let mut bytes = [0; 4];
    let len = bytes::utf8(c, &mut bytes).len();
    bytes.into_iter().take(len)
}

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";
/// Number of base64 groups decoded at once.
const PART: usize = 16;
/// The largest integer that all JSON parsers read exactly: 2^53 - 1.
const MOST: i64 = (1 << 53) - 1;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;

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
            let text: std::string::String = "aé世\u{1f600}".chars().cycle().take(len).collect();
            let value = FieldValue::text(&*text);
            assert!(value.matches(value.to_string().as_bytes()), "{len}");
            assert!(
                !FieldValue::text(&*(text.clone() + "x")).matches(value.to_string().as_bytes()),
                "{len}"
            );
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
        assert!(
            ["42", "42.0", "4.2e1", "=?base64?NDI=?="]
                .iter()
                .all(|field| number.matches(field.as_bytes()))
        );
        assert!(
            ["43", "042", "+42", "", "\"42\"", "true", "=?base64??="]
                .iter()
                .all(|field| !number.matches(field.as_bytes()))
        );
        assert_eq!(value("-7").unwrap().unwrap().to_string(), "-7");
        let yes = value("true").unwrap().unwrap();
        assert!(yes.matches(b"true") && !yes.matches(b"True") && !yes.matches(b"1"));
        assert!(value("null").unwrap().is_none());
        assert!(value("9007199254740991").is_ok());
        for json in ["9007199254740992", "-9007199254740992", "1.5", "1e300", "[]", "{}"] {
            assert!(value(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_number_is_encoded_in_48_bytes_at_most() {
        let number = FieldValue::argument(RawJson::from_static("42")).unwrap().unwrap();
        let encoded = |text: &str| {
            let mut digits = [0; 100];
            let len = STANDARD.encode_slice(text, &mut digits).unwrap();
            std::format!("=?base64?{}?=", core::str::from_utf8(&digits[..len]).unwrap())
        };
        let long = std::format!("42.{}", "0".repeat(45));
        for text in ["42", "42.0000000000000000000", &long] {
            assert!(number.matches(encoded(text).as_bytes()), "{text}");
        }
        // Each part is the same number, but not the whole.
        assert!(!number.matches(encoded(&std::format!("{long}42")).as_bytes()));
    }
}
