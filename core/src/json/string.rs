//! JSON strings that keep their escapes.

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::foreign::RAW;
use super::scan::{skip_clean, skip_string};
use crate::bytes::{copy, utf8};
use crate::printable::Printable;

/// A JSON string as borrowed text, with its quotes and escapes.
///
/// Comparison decodes escapes: `"tools\/call"` equals `"tools/call"`.
#[derive(Clone, Copy)]
pub struct JsonStr<'f>(&'f str);

impl<'f> JsonStr<'f> {
    /// Creates a string from a literal; in a `const` it is checked at compile time:
    /// `JsonStr::from_static("\"caf\\u00e9\"")`.
    ///
    /// # Panics
    /// If `json` is not a JSON string with its quotes. In a `const`, this is a compile error.
    #[must_use]
    pub const fn from_static(json: &'static str) -> JsonStr<'static> {
        let bytes = json.as_bytes();
        if bytes.is_empty() || bytes[0] != b'"' {
            panic!("not a JSON string: it must begin with a quote");
        }
        match skip_string(bytes, 0) {
            Ok(end) if end == bytes.len() => JsonStr(json),
            _ => panic!("not a JSON string"),
        }
    }

    /// Wraps text that has been scanned and is a string with its quotes.
    pub(crate) const fn scanned(json: &'f str) -> Self {
        Self(json)
    }

    /// Returns the JSON text with its quotes.
    #[must_use]
    pub const fn as_json(self) -> &'f str {
        self.0
    }

    /// Returns the text between the quotes, with escapes not decoded.
    #[must_use]
    #[cfg_attr(small, inline(never))]
    pub fn inner(self) -> &'f str {
        self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default()
    }

    /// Returns [`inner`](Self::inner) as bytes, without a check of character boundaries.
    pub(crate) fn inner_bytes(self) -> &'f [u8] {
        if let [_, inner @ .., _] = self.0.as_bytes() { inner } else { &[] }
    }

    /// Returns the value if it contains no escapes, which is the common case.
    #[must_use]
    #[cfg_attr(small, inline(never))]
    pub fn as_plain(self) -> Option<&'f str> {
        let inner = self.inner();
        (skip_clean(inner.as_bytes(), 0) == inner.len()).then_some(inner)
    }

    /// Returns whether the value is text: no escape names half of a surrogate pair without the
    /// other (RFC 8259, 8.2). Values that differ in such escapes alone are equal here.
    #[must_use]
    pub fn is_well_formed(self) -> bool {
        let mut chars = self.decoded();
        loop {
            let rest = chars.chars.as_str();
            let is_escape = rest.starts_with("\\u");
            match chars.next() {
                None => return true,
                // U+FFFD itself may be escaped.
                Some(char::REPLACEMENT_CHARACTER) if is_escape => {
                    if !rest.get(2..6).is_some_and(|hex| hex.eq_ignore_ascii_case("fffd")) {
                        return false;
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Returns the decoded characters. A lone surrogate is decoded as U+FFFD.
    pub fn chars(self) -> impl Iterator<Item = char> + 'f {
        self.decoded()
    }

    pub(crate) fn decoded(self) -> Chars<'f> {
        Chars::escaped(self.inner())
    }

    /// Copies the decoded value into `out` and returns it; `None` if it does not fit.
    pub fn copy_to(self, out: &mut [u8]) -> Option<&str> {
        let mut len = 0;
        for c in self.chars() {
            let mut bytes = [0; 4];
            let bytes = utf8(c, &mut bytes);
            copy(bytes, out.get_mut(len..len + bytes.len())?);
            len += bytes.len();
        }
        core::str::from_utf8(out.get(..len)?).ok()
    }
}

impl PartialEq<str> for JsonStr<'_> {
    fn eq(&self, other: &str) -> bool {
        if cfg!(small) {
            return same_text(self.inner(), other);
        }
        // Without a backslash equal bytes are equal text; only escapes make the JSON longer.
        self.inner_bytes() == other.as_bytes() && is_plain(other)
            || self.0.len() > other.len() + 2 && same_text(self.inner(), other)
    }
}

impl PartialEq<&str> for JsonStr<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq for JsonStr<'_> {
    fn eq(&self, other: &Self) -> bool {
        cfg!(not(small)) && self.0 == other.0 || self.chars().eq(other.chars())
    }
}

impl Eq for JsonStr<'_> {}

/// Formats the JSON text with control characters escaped, so that it is safe to log (see
/// [`Printable`]).
impl fmt::Debug for JsonStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Printable::new(self.0), f)
    }
}

/// Formats the decoded value.
impl fmt::Display for JsonStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        match self.as_plain() {
            Some(plain) => f.write_str(plain),
            None => self.chars().try_for_each(|c| f.write_char(c)),
        }
    }
}

/// This crate's serializer copies the JSON text; others serialize the decoded value.
impl Serialize for JsonStr<'_> {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Inner<'a>(JsonStr<'a>);
        impl Serialize for Inner<'_> {
            #[cfg_attr(not(small), inline(always))]
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(&self.0)
                } else {
                    serializer.serialize_str(self.0.0)
                }
            }
        }
        serializer.serialize_newtype_struct(RAW, &Inner(*self))
    }
}

/// Borrows the JSON text from this crate's deserializer. Other deserializers are an error, and so
/// is a value that serde buffers (`untagged`, `flatten`, internally tagged), because they have no
/// JSON text.
impl<'de: 'f, 'f> Deserialize<'de> for JsonStr<'f> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = JsonStr<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, json: &'de str) -> Result<JsonStr<'de>, E> {
                match skip_string(json.as_bytes(), 0) {
                    Ok(end) if json.starts_with('"') && end == json.len() => Ok(JsonStr(json)),
                    _ => Err(E::invalid_type(de::Unexpected::Other("another value"), &self)),
                }
            }
        }
        deserializer.deserialize_newtype_struct(RAW, Visitor)
    }
}

/// Whether the inside of a JSON string is equal to `text` when decoded.
#[inline]
pub(crate) fn same_text(inner: &str, text: &str) -> bool {
    if cfg!(small) {
        return Chars::escaped(inner).eq(text.chars());
    }
    // Without a backslash equal bytes are equal text; only escapes make the JSON longer.
    inner == text && is_plain(text)
        || (inner.len() > text.len()
            && inner.contains('\\')
            && Chars::escaped(inner).eq(text.chars()))
}

/// Whether the inside of a string contains no backslash, and so needs no decoding.
#[inline]
fn is_plain(text: &str) -> bool {
    !text.as_bytes().contains(&b'\\')
}

/// Iterator over the characters of a text, or over the decoded ones of a scanned string.
#[derive(Clone)]
pub(crate) struct Chars<'f> {
    chars: core::str::Chars<'f>,
    escaped: bool,
}

impl<'f> Chars<'f> {
    pub(crate) fn plain(text: &'f str) -> Self {
        Self { chars: text.chars(), escaped: false }
    }

    fn escaped(inner: &'f str) -> Self {
        Self { chars: inner.chars(), escaped: true }
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let c = next_char(&mut self.chars)?;
        if c != '\\' || !self.escaped {
            return Some(c);
        }
        Some(match next_char(&mut self.chars)? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.unicode_escape(),
            other => other,
        })
    }
}

impl Chars<'_> {
    fn unicode_escape(&mut self) -> char {
        let unit = hex4(&mut self.chars);
        if !(0xd800..0xdc00).contains(&unit) {
            return char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        }
        let mut ahead = self.chars.clone();
        if next_char(&mut ahead) == Some('\\') && next_char(&mut ahead) == Some('u') {
            let low = hex4(&mut ahead);
            if (0xdc00..0xe000).contains(&low) {
                self.chars = ahead;
                return char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
                    .unwrap_or(char::REPLACEMENT_CHARACTER);
            }
        }
        char::REPLACEMENT_CHARACTER
    }
}

fn hex4(chars: &mut core::str::Chars<'_>) -> u32 {
    (0..4)
        .fold(0, |value, _| value << 4 | next_char(chars).and_then(|c| c.to_digit(16)).unwrap_or(0))
}

#[cfg_attr(not(small), inline)]
fn next_char(chars: &mut core::str::Chars<'_>) -> Option<char> {
    chars.next()
}
