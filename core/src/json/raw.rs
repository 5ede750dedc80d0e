//! Values that stay text until somebody asks.

use core::fmt;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

use super::de::{ReadError, Reader};
use super::foreign::RAW;
use super::number;
use super::scan::{SyntaxError, has_duplicate_key, skip_string, skip_value, skip_whitespace};
use super::string::{JsonStr, same_text};
use crate::printable::Printable;

/// A JSON value as text: checked once, borrowed, never copied. Sixteen bytes, `Copy`.
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
/// Strings keep their escapes ([`JsonStr`]) and numbers their digits. It serializes as the value
/// that it is, with any serializer; it deserializes only from another `RawJson`, since only there
/// the text to lend exists.
#[derive(Clone, Copy)]
pub struct RawJson<'f>(&'f str);

impl<'f> RawJson<'f> {
    /// `{}`
    pub const EMPTY: RawJson<'static> = RawJson("{}");
    /// `null`
    pub const NULL: RawJson<'static> = RawJson("null");

    /// JSON in a program's text, checked while it compiles.
    ///
    /// # Panics
    /// When `json` is not one JSON value without whitespace around it, or, up to 16 KiB, when two
    /// members of an object have the same key: in a `const`, that is a compile error.
    #[must_use]
    pub const fn from_static(json: &'static str) -> RawJson<'static> {
        match skip_value(json.as_bytes(), 0, 0) {
            Ok(end) if end == json.len() => {
                assert!(
                    json.len() > LONGEST_COMPARED || !has_duplicate_key(json.as_bytes()),
                    "two members of an object have the same key"
                );
                RawJson(json)
            }
            Ok(_) => panic!("there is something behind the JSON value"),
            Err(e) if e.is_too_deep() => panic!("the JSON value is nested too deeply"),
            Err(_) => panic!("not a JSON value (it must not begin with whitespace)"),
        }
    }

    /// Checks that `json` is one JSON value, whitespace around it allowed.
    ///
    /// # Errors
    /// Where it is not, or is nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
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

    /// Whether two members of an object in it have the same key: readers differ in which of them
    /// they take. Quadratic in the members of an object.
    pub(crate) fn has_duplicate_key(self) -> bool {
        has_duplicate_key(self.0.as_bytes())
    }

    /// `json` has been scanned and is one value.
    pub(crate) const fn scanned(json: &'f str) -> Self {
        Self(json)
    }

    /// The JSON text. `serde_json::from_str(raw.as_str())` is the bridge to other parsers.
    #[must_use]
    pub const fn as_str(self) -> &'f str {
        self.0
    }

    /// Whether it is an object.
    #[must_use]
    #[cfg_attr(small, inline(never))]
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether it is an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.0.starts_with('[')
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// The boolean that it is.
    #[must_use]
    #[cfg_attr(small, inline(never))]
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The string that it is.
    #[must_use]
    #[cfg_attr(small, inline(never))]
    pub fn as_string(self) -> Option<JsonStr<'f>> {
        self.0.starts_with('"').then_some(JsonStr::scanned(self.0))
    }

    /// Whether it is a number.
    #[must_use]
    #[cfg_attr(small, inline(never))]
    pub fn is_number(self) -> bool {
        self.0.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    }

    /// The integer that it is. `4.0` and `1e2` are integers; what does not fit is none.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        self.integer().and_then(number::signed)
    }

    /// The same for unsigned integers.
    #[must_use]
    pub fn as_u64(self) -> Option<u64> {
        self.integer().and_then(|(negative, value)| (!negative || value == 0).then_some(value))
    }

    /// The number that it is, as near as a `f64` comes to it; what is beyond the largest is none.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        self.is_number().then(|| self.0.parse().ok()).flatten().filter(|n: &f64| n.is_finite())
    }

    fn integer(self) -> Option<(bool, u64)> {
        self.is_number().then(|| number::integer(self.0)).flatten()
    }

    /// The value of the first member with this key; `None` also when it is not an object.
    #[must_use]
    #[cfg_attr(small, inline(never))]
    pub fn get(self, key: &str) -> Option<RawJson<'f>> {
        self.members().find(|(k, _)| same_text(k.inner(), key)).map(|(_, value)| value)
    }

    /// The members of an object, in order; nothing for any other value.
    #[must_use]
    pub fn members(self) -> Members<'f> {
        Members(Cursor::new(self.0, b'{'))
    }

    /// The elements of an array, in order; nothing for any other value.
    #[must_use]
    pub fn elements(self) -> Elements<'f> {
        Elements(Cursor::new(self.0, b'['))
    }

    /// The value as a type of yours, borrowing where it can.
    ///
    /// A `serde_json::value::RawValue` gets the text. A `serde_json::Value` gets numbers as `u64`,
    /// `i64` or the nearest `f64`, with serde_json's feature `arbitrary_precision`, too: for all
    /// digits take a `RawValue`, or `serde_json::from_str(raw.as_str())`.
    ///
    /// # Errors
    /// What did not fit the type; a number beyond the largest `f64` where any value would do.
    pub fn to<T: Deserialize<'f>>(self) -> Result<T, ReadError> {
        T::deserialize(&mut Reader::new(self))
    }
}

/// As it was written, but harmless for a log: [`Printable`].
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

/// Equal as text, not as value: `1.0` is not `1`.
impl PartialEq for RawJson<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<'f> From<JsonStr<'f>> for RawJson<'f> {
    fn from(string: JsonStr<'f>) -> Self {
        Self(string.as_json())
    }
}

/// Members of an object: see [`RawJson::members`].
#[derive(Clone, Debug)]
pub struct Members<'f>(Cursor<'f>);

impl<'f> Iterator for Members<'f> {
    type Item = (JsonStr<'f>, RawJson<'f>);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.0.text.as_bytes();
        let start = self.0.next_start()?;
        let key_end = skip_string(bytes, start).ok()?;
        let key = JsonStr::scanned(self.0.text.get(start..key_end)?);
        let colon = skip_whitespace(bytes, key_end);
        let value = self.0.value(skip_whitespace(bytes, colon + 1))?;
        Some((key, value))
    }
}

/// Elements of an array: see [`RawJson::elements`].
#[derive(Clone, Debug)]
pub struct Elements<'f>(Cursor<'f>);

impl<'f> Iterator for Elements<'f> {
    type Item = RawJson<'f>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = self.0.next_start()?;
        self.0.value(start)
    }
}

/// A place between two children of a scanned object or array.
#[derive(Clone, Debug)]
struct Cursor<'f> {
    text: &'f str,
    at: usize,
}

impl<'f> Cursor<'f> {
    #[cfg_attr(small, inline(never))]
    fn new(text: &'f str, open: u8) -> Self {
        let at = if text.as_bytes().first() == Some(&open) { 1 } else { text.len() };
        Self { text, at }
    }

    /// Where the next child begins, if there is one.
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

/// Our serializer copies the text; any other gets the value.
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
    /// For other serializers than ours.
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

/// Keys of longer text are not compared while a program is compiled, which would take the compiler
/// long.
const LONGEST_COMPARED: usize = 16 << 10;
