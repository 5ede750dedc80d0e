//! Serializer of the value inside of a [marker](super::marker): it accepts only JSON text, which it
//! copies, and bytes, which it encodes as base64.
//!
//! It is a separate type so that the code for other serializers, mainly parsing and formatting of
//! floats, is not linked.

use core::fmt;

use serde::ser::{self, Impossible, Serialize};

use super::ser::ValueSerializer;
use super::write::WriteError;
use crate::error::InvalidPayload;

pub(super) struct RawValueSerializer<'w, 'b, 's>(pub(super) ValueSerializer<'w, 'b, 's>);

macro_rules! unsupported {
    ($($method:ident($($arg:ty),*) $(-> $ok:ty)?;)*) => {$(
        fn $method(self, $(_: $arg),*) -> Result<unsupported!(@ok $($ok)?), WriteError> {
            Err(WriteError::Value(InvalidPayload::PrivateType))
        }
    )*};
    (@ok) => { () };
    (@ok $ok:ty) => { $ok };
}

type Unsupported = Impossible<(), WriteError>;

impl ser::Serializer for RawValueSerializer<'_, '_, '_> {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = Unsupported;
    type SerializeTuple = Unsupported;
    type SerializeTupleStruct = Unsupported;
    type SerializeTupleVariant = Unsupported;
    type SerializeMap = Unsupported;
    type SerializeStruct = Unsupported;
    type SerializeStructVariant = Unsupported;

    fn is_human_readable(&self) -> bool {
        false
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline)]
    fn serialize_str(self, json: &str) -> Result<(), WriteError> {
        self.0.raw(json)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), WriteError> {
        self.0.base64(bytes)
    }

    unsupported! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
        serialize_seq(Option<usize>) -> Unsupported;
        serialize_tuple(usize) -> Unsupported;
        serialize_tuple_struct(&'static str, usize) -> Unsupported;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Unsupported;
        serialize_map(Option<usize>) -> Unsupported;
        serialize_struct(&'static str, usize) -> Unsupported;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Unsupported;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), WriteError> {
        Err(WriteError::Value(InvalidPayload::PrivateType))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<(), WriteError> {
        Err(WriteError::Value(InvalidPayload::PrivateType))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), WriteError> {
        Err(WriteError::Value(InvalidPayload::PrivateType))
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<(), WriteError> {
        Err(WriteError::Value(InvalidPayload::PrivateType))
    }
}
