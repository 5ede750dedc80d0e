//! JSON without an allocator and independent of MCP: a scanner, borrowed values and a deserializer.

mod cursor;
mod deserializer;
mod number;
mod scan;
mod value;

#[cfg(not(small))]
pub(crate) use cursor::INDEXED;
pub use cursor::Indexed;
pub(crate) use cursor::{Cursor, Ends};
pub use number::Decimal;
pub(crate) use number::{Scientific, compare, divide_by_ten, is_whole};
#[cfg(feature = "skills")]
pub(crate) use scan::has_duplicate_key;
pub use scan::{MAX_DEPTH, SyntaxError};
pub(crate) use scan::{
    ScanError, begins_with, behind, byte, is_clean, is_clean_key, same, same_key, skip_clean,
    skip_key, skip_string, skip_value, skip_whitespace,
};
#[cfg(not(small))]
pub(crate) use scan::{next_byte, skip_digits, skip_escapes, skip_member};
pub(crate) use value::Chars;
pub use value::{Elements, JsonStr, Members, RawJson};

use core::{fmt, iter};

use crate::text::{copy, utf8};
use serde::de;
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};

// Private struct names by which types of other crates are recognized by the serializer of their
// own format.
//
// They begin with `$` and are the name of a struct or newtype struct, and the key of its field.
// The two of serde_json hold JSON text, which this crate writes unchanged. All others are
// rejected: a peer cannot interpret the private name or its value.

/// Name of the struct, and of its field, that `serde_json::Number` serializes as with the feature
/// `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";

/// Name of the struct, and of its field, that `serde_json::value::RawValue` serializes as.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Name of the newtype struct around a [`RawJson`] or [`JsonStr`]. This crate's serializer copies
/// the JSON text; others serialize the value.
pub(crate) const RAW: &str = "$mcp:raw";

/// Whether the struct or field with this name holds a string of JSON text.
pub(crate) fn is_json_text(name: &str) -> bool {
    name == RAW_VALUE || name == NUMBER
}

/// Whether a struct is meant for the serializer of another format. Not every name with a `$` is:
/// those of MongoDB's extended JSON (`$oid`) are plain JSON.
#[inline]
pub(crate) fn is_private_struct(name: &str) -> bool {
    name.starts_with('$') && (name.starts_with("$__") || name.bytes().any(|byte| byte == b':'))
}

/// Whether a newtype struct is meant for the serializer of another format. Those of bson
/// (`$__private__bson_RawDocument`) serialize as JSON with serializers that do not know them, so
/// they are allowed.
pub(crate) fn is_private_newtype(name: &str) -> bool {
    name.starts_with('$') && !name.starts_with("$mcp") && name.bytes().any(|byte| byte == b':')
}

/// Whether a map's key is the field of such a struct: `#[serde(flatten)]` turns the fields of a
/// struct into entries of a map.
#[cfg_attr(not(small), inline)]
pub(crate) fn is_private_key(key: &str) -> bool {
    key.starts_with("$serde_json::private::") || key.starts_with("$__toml_private_")
}

/// Returns JSON text in the form that `serde_json::value::RawValue` deserializes from: a map with
/// one entry, of its private name and the text.
fn raw_value(text: &str) -> impl de::MapAccess<'_, Error = ReadError> {
    MapDeserializer::new(iter::once((RAW_VALUE, BorrowedStrDeserializer::new(text))))
}

/// Error of deserializing a value into a type.
///
/// With the feature `alloc` it has the message that serde formats, without only the kind of error.
#[derive(Clone, PartialEq, Eq)]
pub struct ReadError {
    kind: ReadErrorKind,
    #[cfg(feature = "alloc")]
    message: Option<alloc::string::String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReadErrorKind {
    WrongType {
        expected: &'static str,
    },
    MissingField(&'static str),
    #[cfg(not(feature = "alloc"))]
    UnknownField,
    DuplicateField(&'static str),
    OutOfRange,
    #[cfg(not(feature = "alloc"))]
    EscapedTooLong,
    Other,
}

impl ReadError {
    const fn new(kind: ReadErrorKind) -> Self {
        Self {
            kind,
            #[cfg(feature = "alloc")]
            message: None,
        }
    }

    const fn expected(expected: &'static str) -> Self {
        Self::new(ReadErrorKind::WrongType { expected })
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "alloc")]
        if let Some(message) = &self.message {
            return crate::text::Printable::new(message).fmt(f);
        }
        match self.kind {
            ReadErrorKind::WrongType { expected } => write!(f, "expected {expected}"),
            ReadErrorKind::MissingField(field) => write!(f, "missing field `{field}`"),
            #[cfg(not(feature = "alloc"))]
            ReadErrorKind::UnknownField => f.write_str("unknown field"),
            ReadErrorKind::DuplicateField(field) => write!(f, "duplicate field `{field}`"),
            ReadErrorKind::OutOfRange => f.write_str("number out of range"),
            #[cfg(not(feature = "alloc"))]
            ReadErrorKind::EscapedTooLong => {
                f.write_str("a string with escapes exceeds 128 bytes without `alloc`: use JsonStr")
            }
            ReadErrorKind::Other => f.write_str("the value does not match the type"),
        }
    }
}

crate::text::error_type!(ReadError);

impl de::Error for ReadError {
    #[cfg(feature = "alloc")]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { kind: ReadErrorKind::Other, message: Some(alloc::format!("{message}")) }
    }

    #[cfg(not(feature = "alloc"))]
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::new(ReadErrorKind::Other)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(ReadErrorKind::MissingField(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(ReadErrorKind::DuplicateField(field))
    }

    #[cfg(not(feature = "alloc"))]
    fn unknown_field(_: &str, _: &'static [&'static str]) -> Self {
        Self::new(ReadErrorKind::UnknownField)
    }
}

// Base64 encoder. The one of the crate `base64` has panic paths and is five times the size.

/// Encodes `bytes` into the beginning of `out`, which must have room for all of the text.
pub(crate) fn encode_base64(bytes: &[u8], out: &mut [u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| DIGITS[(bits & 63) as usize];
    let (mut bytes, mut places) = (bytes, out.chunks_exact_mut(4));
    while let Some((group, rest)) = bytes.split_first_chunk::<3>()
        && let Some(place) = places.next()
    {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        copy(&[digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)], place);
        bytes = rest;
    }
    if let (&[first, ref rest @ ..], Some(place)) = (bytes, places.next()) {
        let bits = u32::from(first) << 16 | u32::from(rest.first().copied().unwrap_or(0)) << 8;
        let third = if rest.is_empty() { b'=' } else { digit(bits >> 6) };
        copy(&[digit(bits >> 18), digit(bits >> 12), third, b'='], place);
    }
}

/// Returns the length of the text of `len` bytes.
pub(crate) const fn base64_len(len: usize) -> usize {
    if cfg!(not(small)) {
        return len.div_ceil(3) * 4;
    }
    // A Cortex-M0 cannot divide: a sum of powers of two is a third or a little less.
    let mut third = (len >> 2) + (len >> 4);
    third += third >> 4;
    third += third >> 8;
    third += third >> 16;
    while len > 3 * third {
        third += 1;
    }
    4 * third
}

// FNV-1a, for tables in memory.

/// Hashes the value of a string, for tables of URIs.
pub(crate) fn hash_text(text: JsonStr<'_>) -> u64 {
    match text.as_plain() {
        Some(plain) => hash_str(plain),
        None => text.chars().fold(BASIS_64, |hash, c| fnv_64(hash, utf8(c, &mut [0; 4]))),
    }
}

/// Hashes a string that is not JSON, to the same value as [`hash_text`].
pub(crate) fn hash_str(text: &str) -> u64 {
    fnv_64(BASIS_64, text.as_bytes())
}

/// Hashes a string without regard to the case of its ASCII letters.
#[cfg(feature = "http")]
pub(crate) fn hash_lower_case(text: &str) -> u64 {
    text.bytes().fold(BASIS_64, |hash, byte| fnv_64_byte(hash, byte.to_ascii_lowercase()))
}

fn fnv_64(hash: u64, text: &[u8]) -> u64 {
    text.iter().copied().fold(hash, fnv_64_byte)
}

fn fnv_64_byte(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

const BASIS_64: u64 = 0xcbf2_9ce4_8422_2325;

/// Remaining bytes that a check may read. Members are searched one by one, so that a long schema
/// with a long value would cost the product of their lengths.
pub(crate) struct Budget(pub(crate) usize);

impl Budget {
    /// A constant times the length of both, and at least [`LEAST_BUDGET`].
    pub(crate) fn new(schema: RawJson<'_>, value: RawJson<'_>) -> Self {
        let len = schema.as_str().len().saturating_add(value.as_str().len());
        Self(LEAST_BUDGET.saturating_add(len.saturating_mul(BUDGET_PER_BYTE)))
    }

    pub(crate) fn spend(&mut self, len: usize) -> Result<(), &'static str> {
        self.0 = self.0.checked_sub(len).ok_or("is too large to be checked")?;
        Ok(())
    }
}

/// Bytes that a check may read at least, and per byte of schema and value: 1 MiB takes about a
/// millisecond on a desktop.
const LEAST_BUDGET: usize = 1 << 20;
const BUDGET_PER_BYTE: usize = 128;

#[cfg(test)]
mod tests {
    use super::base64_len;

    #[test]
    fn three_bytes_are_four_characters() {
        for len in (0..10_000).chain((1 << 24) - 5..=1 << 24) {
            assert_eq!(base64_len(len), len.div_ceil(3) * 4, "{len}");
        }
    }
}
