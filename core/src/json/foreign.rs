//! Names by which the types of other crates tell the serializer of their own format more than
//! serde's data model can say.
//!
//! They begin with `$` and come as the name of a struct or newtype struct, and as the key of its
//! field. serde_json's two stand for JSON text, which ours writes as the JSON that it is. The
//! others are refused, since the private name and what it stands for are no JSON that a peer
//! understands.

use core::marker::PhantomData;

use serde::de::{self, DeserializeSeed, value::BorrowedStrDeserializer};

/// The struct, and its field, as which a `serde_json::Number` comes with the feature
/// `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";

/// The same of a `serde_json::value::RawValue`.
pub(crate) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Name of the newtype struct around a string that is JSON text. This crate's serializer copies the
/// text; others serialize the value (see [`RawJson`](super::RawJson)).
pub(crate) const RAW: &str = "$mcp:raw";

/// Whether the struct or field with this name is a string of JSON text.
pub(crate) fn is_json_text(name: &str) -> bool {
    name == RAW_VALUE || name == NUMBER
}

/// Whether a struct is meant for a certain serializer. Not every name with a `$` is: those of
/// MongoDB's extended JSON (`$oid`) are plain JSON.
#[inline]
pub(crate) fn is_private_struct(name: &str) -> bool {
    name.starts_with('$') && (name.starts_with("$__") || name.bytes().any(|byte| byte == b':'))
}

/// The same for a newtype struct. Those of bson (`$__private__bson_RawDocument`) have JSON inside
/// for serializers that do not know them.
pub(crate) fn is_private_newtype(name: &str) -> bool {
    name.starts_with('$') && !name.starts_with("$mcp") && name.bytes().any(|byte| byte == b':')
}

/// Whether a map's key is the field of such a struct, which comes as a map's when it is flattened.
#[cfg_attr(not(small), inline)]
#[cfg_attr(small, inline(never))]
pub(crate) fn is_private_key(key: &str) -> bool {
    key.starts_with("$serde_json::private::") || key.starts_with("$__toml_private_")
}

/// JSON text in the shape that a `RawValue` reads: a map of one member, its private name and the
/// text.
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
