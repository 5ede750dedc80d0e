//! JSON values that stay text until they are read.

use core::fmt;

use super::deserializer::Reader;
use super::scan::{
    SyntaxError, byte, has_duplicate_key, has_member, skip_clean, skip_string, skip_value,
    skip_whitespace,
};
use super::{RAW, ReadError, number};
use crate::text::{Printable, copy, utf8};
use serde::ser::{self, SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A JSON value as borrowed text, checked once and never copied. It is `Copy`, of the size of a
/// `&str`.
///
/// ```
/// use mcp_sansio::RawJson;
/// // A constant that is not JSON does not compile.
/// const LED: RawJson = RawJson::from_static(r#"{"pin": 13, "on": true}"#);
/// assert_eq!(LED.get("pin").and_then(|pin| pin.as_i64()), Some(13));
/// let (pin, on): (u8, bool) = LED.to::<Pin>().map(|p| (p.pin, p.on)).unwrap();
/// assert_eq!((pin, on), (13, true));
/// #[derive(serde::Deserialize)]
/// struct Pin { pin: u8, on: bool }
/// ```
///
/// Strings keep their escapes ([`JsonStr`]) and numbers their digits. It serializes as the JSON
/// value with any serializer. It deserializes only from another `RawJson`, from which it borrows
/// the text.
#[derive(Clone, Copy)]
pub struct RawJson<'f>(&'f str);

impl<'f> RawJson<'f> {
    /// The empty object, `{}`.
    pub const EMPTY: RawJson<'static> = RawJson("{}");
    /// The value `null`.
    pub const NULL: RawJson<'static> = RawJson("null");

    /// Creates a value from a literal; in a `const` it is checked at compile time.
    ///
    /// # Panics
    /// If `json` is not one JSON value without whitespace around it, or if two members of an object
    /// have the same key (checked up to 16 KiB). In a `const`, this is a compile error.
    pub const fn from_static(json: &'static str) -> RawJson<'static> {
        match skip_value(json.as_bytes(), 0, 0) {
            Ok(end) if end == json.len() => {
                assert!(
                    json.len() > LONGEST_COMPARED || !has_duplicate_key(json.as_bytes()),
                    "two members of an object have the same key"
                );
                RawJson(json)
            }
            Ok(end) => panic_at("trailing characters after the JSON value, from byte ", end),
            Err(e) if e.is_too_deep() => panic!("the JSON value is nested too deeply"),
            Err(e) if e.position() >= json.len() => {
                panic!("the JSON value has no end: a brace, a bracket or a quote is missing")
            }
            Err(_) if matches!(json.as_bytes(), [b' ' | b'\t' | b'\r' | b'\n', ..]) => {
                panic!("a JSON value must not begin with whitespace")
            }
            Err(e) => panic_at("invalid JSON at byte ", e.position()),
        }
    }

    /// Parses one JSON value, with optional whitespace around it.
    ///
    /// # Errors
    /// If `json` is not one JSON value, or is nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    pub fn parse(json: &'f str) -> Result<Self, SyntaxError> {
        let bytes = json.as_bytes();
        let start = skip_whitespace(bytes, 0);
        let end = skip_value(bytes, start, 0)?;
        let after = skip_whitespace(bytes, end);
        match json.get(start..end) {
            Some(value) if after == json.len() => Ok(Self(value)),
            _ => Err(SyntaxError { at: after, too_deep: false }),
        }
    }

    /// Whether two members of the same object have the same key, at any depth: implementations
    /// differ in which of them they use. Takes time quadratic in the number of members.
    pub(crate) fn has_duplicate_key(self) -> bool {
        has_duplicate_key(self.0.as_bytes())
    }

    /// Wraps text that has been scanned and is one value.
    pub(crate) const fn scanned(json: &'f str) -> Self {
        Self(json)
    }

    /// Returns the JSON text, for example for another parser:
    /// `serde_json::from_str(raw.as_str())`.
    pub const fn as_str(self) -> &'f str {
        self.0
    }

    /// Whether the value is an object.
    pub fn is_object(self) -> bool {
        self.first_byte() == b'{'
    }

    /// Whether the value is an object with `"type": "object"`, both written without escapes.
    pub(crate) const fn is_object_schema(self) -> bool {
        has_member(self.0.as_bytes(), b"\"type\"", b"\"object\"")
    }

    /// Returns the first byte, which shows the JSON type.
    fn first_byte(self) -> u8 {
        byte(self.0.as_bytes(), 0)
    }

    /// Whether the value is an array.
    pub fn is_array(self) -> bool {
        self.first_byte() == b'['
    }

    /// Whether the value is `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Returns the value if it is a boolean.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// Returns the value if it is a string.
    pub fn as_string(self) -> Option<JsonStr<'f>> {
        (self.first_byte() == b'"').then_some(JsonStr::scanned(self.0))
    }

    /// Whether the value is a number.
    pub fn is_number(self) -> bool {
        matches!(self.first_byte(), b'-' | b'0'..=b'9')
    }

    /// Returns the value if it is an integer that fits in an `i64`. `4.0` and `1e2` are integers.
    pub fn as_i64(self) -> Option<i64> {
        self.integer().and_then(number::signed)
    }

    /// Returns the value if it is an integer that fits in a `u64`. `4.0` and `1e2` are integers.
    pub fn as_u64(self) -> Option<u64> {
        self.integer().and_then(|(negative, value)| (!negative || value == 0).then_some(value))
    }

    /// Returns the nearest `f64` if the value is a number; `None` if it exceeds the largest `f64`.
    pub fn as_f64(self) -> Option<f64> {
        self.is_number().then(|| self.0.parse().ok()).flatten().filter(|n: &f64| n.is_finite())
    }

    fn integer(self) -> Option<(bool, u64)> {
        self.is_number().then(|| number::integer(self.0)).flatten()
    }

    /// Returns the value of the first member with this key; `None` if there is no such member, or
    /// if this is not an object.
    pub fn get(self, key: &str) -> Option<RawJson<'f>> {
        self.members().find(|(k, _)| same_text(k.inner(), key)).map(|(_, value)| value)
    }

    /// Returns the members of an object in order; an empty iterator for any other value.
    pub fn members(self) -> Members<'f> {
        Members(Cursor::new(self.0, b'{'))
    }

    /// Returns the elements of an array in order; an empty iterator for any other value.
    pub fn elements(self) -> Elements<'f> {
        Elements(Cursor::new(self.0, b'['))
    }

    /// Returns the elements of an array, or the one value that it is.
    pub(crate) fn elements_or_self(self) -> Elements<'f> {
        Elements(Cursor { text: self.0, at: usize::from(self.is_array()) })
    }

    /// Deserializes the value into a `T`, which may borrow from the text.
    ///
    /// A `serde_json::value::RawValue` gets the text. A `serde_json::Value` gets numbers as `u64`,
    /// `i64` or the nearest `f64`, also with serde_json's feature `arbitrary_precision`: to keep
    /// all digits, use a `RawValue`, or `serde_json::from_str(raw.as_str())`.
    ///
    /// # Errors
    /// If the value does not match the type, or if a number that is read as any type exceeds the
    /// largest `f64`.
    pub fn to<T: Deserialize<'f>>(self) -> Result<T, ReadError> {
        T::deserialize(&mut Reader::new(self))
    }
}

/// Formats the JSON text with control characters escaped, so that it is safe to log (see
/// [`Printable`]).
impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Printable::new(self.0), f)
    }
}

impl fmt::Display for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Compares the text, not the value: `1.0` is not equal to `1`.
impl PartialEq for RawJson<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<'f> From<JsonStr<'f>> for RawJson<'f> {
    fn from(string: JsonStr<'f>) -> Self {
        string.as_json()
    }
}

/// Iterator over the members of an object, returned by [`RawJson::members`].
#[derive(Clone, Debug)]
pub struct Members<'f>(Cursor<'f>);

impl<'f> Members<'f> {
    /// Returns the next key; [`next_value`](Self::next_value) is behind it.
    pub(crate) fn next_key(&mut self) -> Option<JsonStr<'f>> {
        let bytes = self.0.text.as_bytes();
        let start = self.0.next_start()?;
        let key_end = skip_string(bytes, start).ok()?;
        let colon = skip_whitespace(bytes, key_end);
        // The colon is missing where the text was cut.
        if byte(bytes, colon) != b':' {
            return None;
        }
        self.0.at = skip_whitespace(bytes, colon + 1);
        self.0.text.get(start..key_end).map(JsonStr::scanned)
    }

    pub(crate) fn next_value(&mut self) -> Option<RawJson<'f>> {
        self.0.value(self.0.at)
    }

    /// Returns the position in the text.
    pub(crate) fn position(&self) -> usize {
        self.0.at
    }

    /// Goes to a position before a key.
    pub(crate) fn go_to(&mut self, position: usize) {
        self.0.at = position.min(self.0.text.len());
    }

    /// As [`next_value`](Self::next_value), if the end of the value is known.
    pub(crate) fn value_until(&mut self, end: usize) -> Option<RawJson<'f>> {
        let value = self.0.text.get(self.0.at..end)?;
        self.0.at = end;
        Some(RawJson(value))
    }
}

impl<'f> Iterator for Members<'f> {
    type Item = (JsonStr<'f>, RawJson<'f>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.next_key()?;
        Some((key, self.next_value()?))
    }
}

/// Iterator over the elements of an array, returned by [`RawJson::elements`].
#[derive(Clone, Debug)]
pub struct Elements<'f>(Cursor<'f>);

impl<'f> Iterator for Elements<'f> {
    type Item = RawJson<'f>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.0.next_start()?;
        self.0.value(start)
    }
}

/// A position between two members of a scanned object or two elements of an array.
#[derive(Clone, Debug)]
struct Cursor<'f> {
    text: &'f str,
    at: usize,
}

impl<'f> Cursor<'f> {
    fn new(text: &'f str, open: u8) -> Self {
        let at = if text.as_bytes().first() == Some(&open) { 1 } else { text.len() };
        Self { text, at }
    }

    /// Returns the start of the next member or element, if there is one.
    fn next_start(&mut self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let at = skip_whitespace(bytes, self.at);
        match bytes.get(at)? {
            b',' => Some(skip_whitespace(bytes, at + 1)),
            b'}' | b']' => None,
            _ => Some(at),
        }
    }

    fn value(&mut self, start: usize) -> Option<RawJson<'f>> {
        let end = skip_value(self.text.as_bytes(), start, 0).ok()?;
        self.at = end;
        self.text.get(start..end).map(RawJson)
    }
}

/// This crate's serializer copies the text; others serialize the value.
impl Serialize for RawJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(RAW, &Inner(*self))
    }
}

struct Inner<'a>(RawJson<'a>);

impl Serialize for Inner<'_> {
    #[cfg_attr(not(small), inline(always))]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.value(serializer)
        } else {
            serializer.serialize_str(self.0.0)
        }
    }
}

impl Inner<'_> {
    /// Serializes the value with a serializer of another crate.
    fn value<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = self.0;
        match raw.0.as_bytes().first() {
            Some(b'{') => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in raw.members() {
                    map.serialize_entry(&key, &Inner(value))?;
                }
                map.end()
            }
            Some(b'[') => {
                let mut seq = serializer.serialize_seq(None)?;
                for element in raw.elements() {
                    seq.serialize_element(&Inner(element))?;
                }
                seq.end()
            }
            Some(b'"') => serializer.collect_str(&JsonStr::scanned(raw.0)),
            Some(b't' | b'f') => serializer.serialize_bool(raw.0 == "true"),
            Some(b'n') | None => serializer.serialize_unit(),
            Some(_) => match number::Number::parse(raw.0) {
                number::Number::Unsigned(n) => serializer.serialize_u64(n),
                number::Number::Signed(n) => serializer.serialize_i64(n),
                number::Number::Float(n) if n.is_finite() => serializer.serialize_f64(n),
                number::Number::Float(_) => Err(ser::Error::custom("number out of range")),
            },
        }
    }
}

impl<'de: 'f, 'f> Deserialize<'de> for RawJson<'f> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RawJson<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON text to borrow (deserialize it from a RawJson)")
            }
            fn visit_borrowed_str<E: de::Error>(self, json: &'de str) -> Result<RawJson<'de>, E> {
                RawJson::parse(json).map_err(|_| {
                    E::invalid_type(de::Unexpected::Other("another deserializer's string"), &self)
                })
            }
        }
        deserializer.deserialize_newtype_struct(RAW, Visitor)
    }
}

/// Maximum length, in bytes, of text whose keys [`RawJson::from_static`] compares: more would take
/// the compiler too long.
const LONGEST_COMPARED: usize = 16 << 10;

// JSON strings that keep their escapes.

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

    /// Returns the string with its quotes.
    pub const fn as_json(self) -> RawJson<'f> {
        RawJson(self.0)
    }

    /// Returns the text between the quotes, with escapes not decoded.
    pub fn inner(self) -> &'f str {
        self.0.get(1..self.0.len().saturating_sub(1)).unwrap_or_default()
    }

    /// Returns [`inner`](Self::inner) as bytes, without a check of character boundaries.
    pub(crate) fn inner_bytes(self) -> &'f [u8] {
        if let [_, inner @ .., _] = self.0.as_bytes() { inner } else { &[] }
    }

    /// Returns the value if it contains no escapes, which is the common case.
    pub fn as_plain(self) -> Option<&'f str> {
        let inner = self.inner();
        (skip_clean(inner.as_bytes(), 0) == inner.len()).then_some(inner)
    }

    /// Returns whether the value is text: no escape names half of a surrogate pair without the
    /// other (RFC 8259, 8.2). Values that differ in such escapes alone are equal here.
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

    /// Copies the decoded value into `out` and returns it; `None` if it does not fit, but `out` has
    /// as much of it as does.
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

/// Panics with a number behind the text, which a constant cannot format.
const fn panic_at(what: &str, at: usize) -> ! {
    let mut text = [0; 80];
    let (begin, digits) = text.split_at_mut(what.len());
    begin.copy_from_slice(what.as_bytes());
    let (mut len, mut rest) = (1, at / 10);
    while rest > 0 {
        (len, rest) = (len + 1, rest / 10);
    }
    let (mut place, mut rest) = (len, at);
    while place > 0 {
        place -= 1;
        digits[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    match core::str::from_utf8(text.split_at(what.len() + len).0) {
        Ok(text) => panic!("{}", text),
        Err(_) => panic!("invalid JSON"),
    }
}

/// Whether the inside of a JSON string is equal to `text` when decoded.
#[inline]
fn same_text(inner: &str, text: &str) -> bool {
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
