//! Keys of maps, which may be integers.

use serde::de::{self, Visitor};

use super::Reader;
use crate::json::foreign::RAW;
use crate::json::read_error::ReadError;

/// Deserializer of an object's key: a string, or the integer in it for maps with integer keys.
pub(super) struct Key<'r, 'de>(pub(super) &'r mut Reader<'de>);

macro_rules! integer_keys {
    ($($method:ident $visit:ident $type:ty),*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            let key = self.0.string("a key")?;
            let key: $type =
                key.inner().parse().map_err(|_| ReadError::expected("an integer as key"))?;
            visitor.$visit(key)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for Key<'_, 'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.0.visit_string(visitor)
    }

    integer_keys! {
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64,
        deserialize_i128 visit_i128 i128, deserialize_u128 visit_u128 u128
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        // The inner type may be an integer, which only `Key` parses from a string.
        if name == RAW {
            visitor.visit_borrowed_str(self.0.value()?)
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        bool f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct
        map struct identifier ignored_any
    }
}
