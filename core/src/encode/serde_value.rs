//! serde's values: a `Serializer` that writes to an [`Encoder`].

use core::fmt;

use super::{Encode, Encoder};
use crate::json::{self, Decimal, RAW, RawJson, skip_value};
use crate::protocol::error::InvalidPayload;
use serde::ser::{self, Impossible, Serialize};

/// Wrapper that sends a type that implements serde's `Serialize`:
/// `server.respond(request, &Json(&value), tx)`.
///
/// The [`types`](crate::types) do not implement `Serialize`, because what is written of them
/// depends on the revision; a type that contains them implements [`Encode`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Json<T>(pub T);

impl<T: Serialize> Encode for Json<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let depth = to.state.depth;
        if let Err(Stop(rule)) = self.0.serialize(Value(to)) {
            if let Some(rule) = rule {
                to.invalid(rule);
            }
            // Ends what is open, behind the window, so that an object is known to be one.
            while to.state.depth > depth {
                to.end_object();
            }
        }
    }
}

/// The reason why a value is not written to its end: the rule that it breaks, or `None` if no more
/// fits.
#[derive(Debug)]
struct Stop(Option<InvalidPayload>);

impl Stop {
    const FULL: Self = Self(None);
    const PRIVATE_TYPE: Self = Self(Some(InvalidPayload::PrivateType));
    const UNSUPPORTED: Self = Self(Some(InvalidPayload::Serialize));
}

impl ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::UNSUPPORTED
    }
}

impl core::error::Error for Stop {}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value cannot be written")
    }
}

struct Value<'e, 'b>(&'e mut Encoder<'b>);

impl<'e, 'b> Value<'e, 'b> {
    fn write(self, write: impl FnOnce(&mut Encoder<'b>)) -> Result<(), Stop> {
        write(self.0);
        Ok(())
    }

    fn compound(self, close: Close) -> Compound<'e, 'b> {
        match close {
            Close::Array => {
                // Known before a part of it is sent, since its end may be left out.
                if self.0.state.depth < self.0.state.completion.depth {
                    self.0.invalid(InvalidPayload::NotAnObject);
                }
                self.0.begin_array();
            }
            Close::Text => {}
            _ => self.0.begin_object(),
        }
        Compound { to: self.0, close, begun: None, at: 0, skips: false }
    }

    fn variant(self, variant: &'static str, close: Close) -> Compound<'e, 'b> {
        let mut compound = self.compound(close);
        match close {
            _ if !compound.to.key(variant) => {
                (compound.close, compound.skips) = (Close::Object, true)
            }
            Close::ArrayVariant => compound.to.begin_array(),
            _ => compound.to.begin_object(),
        }
        compound
    }
}

macro_rules! integers {
    ($($method:ident $type:ty => $write:ident,)*) => {$(
        fn $method(self, value: $type) -> Result<(), Stop> {
            self.write(|to| to.$write(value.into()))
        }
    )*};
}

impl<'e, 'b> ser::Serializer for Value<'e, 'b> {
    type Ok = ();
    type Error = Stop;
    type SerializeSeq = Compound<'e, 'b>;
    type SerializeTuple = Compound<'e, 'b>;
    type SerializeTupleStruct = Compound<'e, 'b>;
    type SerializeTupleVariant = Compound<'e, 'b>;
    type SerializeMap = Compound<'e, 'b>;
    type SerializeStruct = Compound<'e, 'b>;
    type SerializeStructVariant = Compound<'e, 'b>;

    fn serialize_bool(self, value: bool) -> Result<(), Stop> {
        self.write(|to| to.boolean(value))
    }

    integers! {
        serialize_i8 i8 => signed, serialize_i16 i16 => signed, serialize_i32 i32 => signed,
        serialize_i64 i64 => signed, serialize_u8 u8 => unsigned, serialize_u16 u16 => unsigned,
        serialize_u32 u32 => unsigned, serialize_u64 u64 => unsigned,
    }

    fn serialize_i128(self, value: i128) -> Result<(), Stop> {
        self.write(|to| to.put_display(&value))
    }

    fn serialize_u128(self, value: u128) -> Result<(), Stop> {
        self.write(|to| to.put_display(&value))
    }

    // Debug keeps the point of a whole number and writes large ones with an exponent.
    fn serialize_f32(self, value: f32) -> Result<(), Stop> {
        if !value.is_finite() {
            return self.serialize_unit();
        }
        self.write(|to| to.put_display(&format_args!("{value:?}")))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Stop> {
        if !value.is_finite() {
            return self.serialize_unit();
        }
        self.write(|to| to.put_display(&format_args!("{value:?}")))
    }

    fn serialize_char(self, value: char) -> Result<(), Stop> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Stop> {
        self.write(|to| to.string(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Stop> {
        self.write(|to| value.encode(to))
    }

    fn serialize_none(self) -> Result<(), Stop> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Stop> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Stop> {
        self.write(Encoder::null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Stop> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Stop> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        if name == RAW {
            value.serialize(Text { to: self.0, kind: TextKind::Raw }).map(|_| ())
        } else if json::is_private_newtype(name) {
            Err(Stop::PRIVATE_TYPE)
        } else {
            value.serialize(self)
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Stop> {
        let mut object = self.compound(Close::Object);
        ser::SerializeStruct::serialize_field(&mut object, variant, value)?;
        object.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Stop> {
        Ok(self.compound(Close::Array))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Stop> {
        Ok(self.compound(Close::Array))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Stop> {
        Ok(self.compound(Close::Array))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Stop> {
        Ok(self.variant(variant, Close::ArrayVariant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Stop> {
        Ok(self.compound(Close::Object))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Self::SerializeStruct, Stop> {
        if !json::is_private_struct(name) {
            Ok(self.compound(Close::Object))
        } else if json::is_json_text(name) {
            Ok(self.compound(Close::Text))
        } else {
            Err(Stop::PRIVATE_TYPE)
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Stop> {
        Ok(self.variant(variant, Close::ObjectVariant))
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), Stop> {
        self.write(|to| to.display(&value))
    }
}

/// An object or array that is being written.
struct Compound<'e, 'b> {
    to: &'e mut Encoder<'b>,
    close: Close,
    /// Number of elements so far.
    at: usize,
    /// The element that has begun already, of those that are still to come.
    begun: Option<usize>,
    /// Whether the member whose key came last, or what is in a variant, is left out.
    skips: bool,
}

/// The characters that end a compound value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Close {
    Object,
    Array,
    ObjectVariant,
    ArrayVariant,
    /// A struct of another serializer, whose only field is JSON text and still to come.
    Text,
    /// The same, after its field.
    Nothing,
}

impl Compound<'_, '_> {
    fn finish(self) -> Result<(), Stop> {
        match self.close {
            Close::Text => return Err(Stop::PRIVATE_TYPE),
            Close::Nothing => return Ok(()),
            Close::Object | Close::ObjectVariant => self.to.end_object(),
            Close::Array | Close::ArrayVariant => self.to.end_array(),
        }
        if let Close::ObjectVariant | Close::ArrayVariant = self.close {
            self.to.end_object();
        }
        Ok(())
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        if self.skips {
            return Ok(());
        }
        let at = self.at;
        self.at += 1;
        match self.begun.take().or_else(|| self.to.element(at)) {
            Some(next) if next > at => self.begun = Some(next),
            Some(_) => return value.serialize(Value(self.to)),
            None => return Err(Stop::FULL),
        }
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Stop> {
        match self.close {
            Close::Text if json::is_json_text(name) => {
                self.close = Close::Nothing;
                value.serialize(Text { to: self.to, kind: TextKind::Foreign }).map(|_| ())
            }
            // More than one, as with a tag added to it, are not understood.
            Close::Text | Close::Nothing => Err(Stop::PRIVATE_TYPE),
            _ if !self.skips && self.to.key(name) => value.serialize(Value(self.to)),
            _ => Ok(()),
        }
    }
}

macro_rules! compounds {
    ($($trait:ident $method:ident($($name:ident: $type:ty)?) => $write:ident;)*) => {$(
        impl ser::$trait for Compound<'_, '_> {
            type Ok = ();
            type Error = Stop;

            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($name: $type,)?
                value: &T,
            ) -> Result<(), Stop> {
                self.$write($($name,)? value)
            }

            fn end(self) -> Result<(), Stop> {
                self.finish()
            }
        }
    )*};
}

compounds! {
    SerializeSeq serialize_element() => element;
    SerializeTuple serialize_element() => element;
    SerializeTupleStruct serialize_field() => element;
    SerializeTupleVariant serialize_field() => element;
    SerializeStruct serialize_field(name: &'static str) => field;
    SerializeStructVariant serialize_field(name: &'static str) => field;
}

impl ser::SerializeMap for Compound<'_, '_> {
    type Ok = ();
    type Error = Stop;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        self.skips = !key.serialize(Key(self.to))?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        if self.skips { Ok(()) } else { value.serialize(Value(self.to)) }
    }

    fn end(self) -> Result<(), Stop> {
        self.finish()
    }
}

// The two places where serde may only give text: the name of a member, and JSON text under a
// private name.
//
// They are serializers of their own, so that the code for everything else, mainly the formatting
// of floats, is not linked for them.

/// Writes the name of a member. Returns whether its value follows.
struct Key<'e, 'b>(&'e mut Encoder<'b>);

/// Writes JSON text. Returns whether a value follows, if the text is a name.
struct Text<'e, 'b> {
    to: &'e mut Encoder<'b>,
    kind: TextKind,
}

enum TextKind {
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
        if json::is_private_key(name) {
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
        } else if json::is_private_newtype(name) {
            Err(Stop::PRIVATE_TYPE)
        } else {
            value.serialize(self)
        }
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, name: &T) -> Result<bool, Stop> {
        Ok(self.0.key_display(&name))
    }
}
