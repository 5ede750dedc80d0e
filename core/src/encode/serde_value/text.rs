//! The two places where serde may only give text: the name of a member, and JSON text under a
//! private name.
//!
//! They are serializers of their own, so that the code for everything else, mainly the formatting
//! of floats, is not linked for them.

use core::fmt;

use serde::ser::{self, Impossible, Serialize};

use super::Stop;
use crate::encode::Encoder;
use crate::json::foreign::{self, RAW};
use crate::json::{Decimal, RawJson, skip_value};

/// Writes the name of a member. Returns whether its value follows.
pub(super) struct Key<'e, 'b>(pub(super) &'e mut Encoder<'b>);

/// Writes JSON text. Returns whether a value follows, if the text is a name.
pub(super) struct Text<'e, 'b> {
    pub(super) to: &'e mut Encoder<'b>,
    pub(super) kind: TextKind,
}

pub(super) enum TextKind {
    /// A string, the name of a member.
    Key,
    /// The text of a [`RawJson`].
    Raw,
    /// A text of a type of another crate, which is not trusted.
    Foreign,
}

macro_rules! unsupported {
    ($error:ident: $($method:ident($($arg:ty),*) $(-> $ok:ty)?;)*) => {$(
        fn $method(self, $(_: $arg),*) -> Result<unsupported!(@ok $($ok)?), Stop> {
            Err(Stop::$error)
        }
    )*};
    (@ok) => { Self::Ok };
    (@ok $ok:ty) => { $ok };
}

macro_rules! no_compounds {
    ($error:ident) => {
        type SerializeSeq = Impossible<Self::Ok, Stop>;
        type SerializeTuple = Impossible<Self::Ok, Stop>;
        type SerializeTupleStruct = Impossible<Self::Ok, Stop>;
        type SerializeTupleVariant = Impossible<Self::Ok, Stop>;
        type SerializeMap = Impossible<Self::Ok, Stop>;
        type SerializeStruct = Impossible<Self::Ok, Stop>;
        type SerializeStructVariant = Impossible<Self::Ok, Stop>;

        unsupported! { $error:
            serialize_bool(bool);
            serialize_f32(f32);
            serialize_f64(f64);
            serialize_none();
            serialize_unit();
            serialize_unit_struct(&'static str);
            serialize_seq(Option<usize>) -> Self::SerializeSeq;
            serialize_tuple(usize) -> Self::SerializeTuple;
            serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
            serialize_tuple_variant(&'static str, u32, &'static str, usize)
                -> Self::SerializeTupleVariant;
            serialize_map(Option<usize>) -> Self::SerializeMap;
            serialize_struct(&'static str, usize) -> Self::SerializeStruct;
            serialize_struct_variant(&'static str, u32, &'static str, usize)
                -> Self::SerializeStructVariant;
        }

        fn serialize_newtype_variant<T: Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, Stop> {
            Err(Stop::$error)
        }
    };
}

impl ser::Serializer for Text<'_, '_> {
    type Ok = bool;
    type Error = Stop;
    no_compounds!(PRIVATE_TYPE);

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_str(self, json: &str) -> Result<bool, Stop> {
        match self.kind {
            TextKind::Key => {
                let name = RawJson::scanned(json).as_string().ok_or(Stop::UNSUPPORTED)?;
                return Ok(self.to.key_json(name));
            }
            TextKind::Raw => {}
            TextKind::Foreign if skip_value(json.as_bytes(), 0, 0).ok() == Some(json.len()) => {}
            TextKind::Foreign => return Err(Stop::PRIVATE_TYPE),
        }
        self.to.raw(RawJson::scanned(json));
        Ok(true)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<bool, Stop> {
        Err(Stop::PRIVATE_TYPE)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<bool, Stop> {
        Err(Stop::PRIVATE_TYPE)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Result<bool, Stop> {
        Err(Stop::PRIVATE_TYPE)
    }

    unsupported! { PRIVATE_TYPE:
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_char(char);
        serialize_bytes(&[u8]);
        serialize_unit_variant(&'static str, u32, &'static str);
    }
}

macro_rules! integers {
    ($($method:ident $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result<bool, Stop> {
            self.integer(value < 0, value.unsigned_abs().into())
        }
    )*};
}

macro_rules! naturals {
    ($($method:ident $type:ty,)*) => {$(
        fn $method(self, value: $type) -> Result<bool, Stop> {
            self.integer(false, value.into())
        }
    )*};
}

impl Key<'_, '_> {
    fn integer(self, is_negative: bool, value: u64) -> Result<bool, Stop> {
        Ok(self.0.key(Decimal::new(value, is_negative).as_str()))
    }
}

impl ser::Serializer for Key<'_, '_> {
    type Ok = bool;
    type Error = Stop;
    no_compounds!(UNSUPPORTED);

    integers! {
        serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64,
    }

    naturals! {
        serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64,
    }

    fn serialize_i128(self, value: i128) -> Result<bool, Stop> {
        self.collect_str(&value)
    }

    fn serialize_u128(self, value: u128) -> Result<bool, Stop> {
        self.collect_str(&value)
    }

    fn serialize_char(self, value: char) -> Result<bool, Stop> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, name: &str) -> Result<bool, Stop> {
        if foreign::is_private_key(name) {
            return Err(Stop::PRIVATE_TYPE);
        }
        Ok(self.0.key(name))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<bool, Stop> {
        Err(Stop::UNSUPPORTED)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, name: &T) -> Result<bool, Stop> {
        name.serialize(self)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<bool, Stop> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<bool, Stop> {
        if name == RAW {
            value.serialize(Text { to: self.0, kind: TextKind::Key })
        } else if foreign::is_private_newtype(name) {
            Err(Stop::PRIVATE_TYPE)
        } else {
            value.serialize(self)
        }
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, name: &T) -> Result<bool, Stop> {
        Ok(self.0.key_display(&name))
    }
}
