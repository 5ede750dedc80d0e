//! Private struct names by which types of other crates are recognized by the serializer of their
//! own format.
//!
//! They begin with `$` and are the name of a struct or newtype struct, and the key of its field.
//! The two of serde_json hold JSON text, which this crate writes unchanged. All others are
//! rejected: a peer cannot interpret the private name or its value.

use core::marker::PhantomData;

use serde::de::{self, DeserializeSeed, value::BorrowedStrDeserializer};

/// Name of the struct, and of its field, that `serde_json::Number` serializes as with the feature
/// `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";

/// Name of the struct, and of its field, that `serde_json::value::RawValue` serializes as.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Name of the newtype struct around a [`RawJson`](super::RawJson) or
/// [`JsonStr`](super::JsonStr). This crate's serializer copies the JSON text; others serialize the
/// value.
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

/// JSON text in the form that `serde_json::value::RawValue` deserializes from: a map with one
/// entry, of its private name and the text.
pub(crate) struct RawValue<'de, E> {
    text: &'de str,
    read: bool,
    error: PhantomData<E>,
}

impl<'de, E> RawValue<'de, E> {
    pub(crate) fn new(text: &'de str) -> Self {
        Self { text, read: false, error: PhantomData }
    }
}

impl<'de, E: de::Error> de::MapAccess<'de> for RawValue<'de, E> {
    type Error = E;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, E> {
        if core::mem::replace(&mut self.read, true) {
            return Ok(None);
        }
        seed.deserialize(BorrowedStrDeserializer::new(RAW_VALUE)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, E> {
        seed.deserialize(BorrowedStrDeserializer::new(self.text))
    }
}
