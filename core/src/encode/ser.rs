//! serde `Serializer` into a frame. It interprets our [markers](super::marker) and adds the members
//! that results of the modern era require.

use core::fmt;

use serde::ser::{self, Serialize};

use super::marker::{ABSENT, BLOB, known_until};
use super::raw_value::RawValueSerializer;
use super::write::{WriteError, Writer};
use crate::error::{InvalidPayload, SendError};
use crate::json::foreign::{self, RAW};
use crate::json::{RawJson, same_text, skip_value};
use crate::lifecycle::Revision;

/// Writes a value.
pub(crate) fn write_value<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    value: &T,
) -> Result<(), WriteError> {
    value.serialize(ValueSerializer { writer, slot: Slot::Alone, mode: Mode::Value, extras: None })
}

/// Writes a value, completed where that is due.
#[inline]
pub(super) fn serialize_into<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    value: &T,
    extras: Option<Extras<'_>>,
) -> Result<(), WriteError> {
    value.serialize(ValueSerializer { writer, slot: Slot::Alone, mode: Mode::Value, extras })
}

/// The same for JSON text.
pub(super) fn write_raw_completed(
    writer: &mut Writer<'_>,
    json: RawJson<'_>,
    extras: Extras<'_>,
) -> Result<(), WriteError> {
    ValueSerializer { writer, slot: Slot::Alone, mode: Mode::Value, extras: Some(extras) }
        .raw(json.as_str())
}

/// Writes a value that must be an object, and adds the members of `extras` that it does not have.
pub(crate) fn write_result<T: Serialize + ?Sized>(
    writer: &mut Writer<'_>,
    value: &T,
    extras: Extras<'_>,
) -> Result<(), WriteError> {
    value.serialize(ValueSerializer {
        writer,
        slot: Slot::Alone,
        mode: Mode::Value,
        extras: Some(extras),
    })
}

/// Writes an object whose members `write` writes, and adds those of `extras`.
pub(super) fn write_members(
    writer: &mut Writer<'_>,
    extras: Extras<'_>,
    write: impl Fn(&mut Writer<'_>) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    writer.open(b'{')?;
    write(writer)?;
    extras.complete(Seen::default(), writer)?;
    writer.close(b"}")
}

/// What our serializer writes. Where code is scarce it comes as a `dyn`: one function writes
/// members of all types, and what is made anew for each is only how it tells what it is.
trait Value {
    fn write(&self, to: ValueSerializer<'_, '_, '_>) -> Result<(), WriteError>;
}

impl<T: Serialize> Value for T {
    #[cfg_attr(not(small), inline(always))]
    fn write(&self, to: ValueSerializer<'_, '_, '_>) -> Result<(), WriteError> {
        self.serialize(to)
    }
}

/// How a result is written.
pub(crate) type WriteResult<'x> = &'x dyn Fn(&mut Writer<'_>, Extras<'_>) -> Result<(), WriteError>;

/// What is added to an object while it is written.
#[derive(Clone, Copy)]
pub(crate) enum Extras<'e> {
    /// Nothing, but it must be an object.
    Nothing,
    /// To params or a result. By reference, since this is handed on with each value.
    Members(&'e Additions<'e>),
    /// To the `_meta` of one.
    Meta(&'e [Addition<'e>]),
}

/// What params and results of the modern era have beside what the application put into them. What
/// is there already is not added.
pub(crate) struct Additions<'e> {
    pub(crate) members: &'e [Addition<'e>],
    pub(crate) meta: &'e [Addition<'e>],
}

/// A member, by its key and what writes its value. An object gets fewer than 15 of them.
pub(crate) type Addition<'e> = (&'static str, &'e dyn AddedValue);

/// A function that writes a value. Closures have a trait of their own here, since the `dyn` of
/// theirs also has ways to call them by value.
pub(crate) trait AddedValue {
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError>;
}

impl<F: Fn(&mut Writer<'_>) -> Result<(), WriteError>> AddedValue for F {
    #[inline]
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        self(writer)
    }
}

pub(super) struct ValueSerializer<'w, 'b, 's> {
    writer: &'w mut Writer<'b>,
    slot: Slot,
    mode: Mode,
    extras: Option<Extras<'s>>,
}

/// Where a value goes. Comma and key are written when the value is, so that a field can turn out to
/// be absent.
enum Slot {
    Alone,
    Element,
    Member(&'static str),
    Key,
    /// The field of a [foreign](foreign) struct: a string that is JSON text.
    Text,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Value,
    /// For a revision that does not know the value: it takes its older form.
    Older,
}

impl<'w, 'b, 's> ValueSerializer<'w, 'b, 's> {
    /// Writes what precedes the value. Only a string or an integer may be a key, and only a string
    /// may be JSON text.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn begin(self) -> Result<&'w mut Writer<'b>, WriteError> {
        if self.extras.is_some() {
            return Err(WriteError::Value(InvalidPayload::NotAnObject));
        }
        Self::open(self.writer, self.slot)
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn open(writer: &'w mut Writer<'b>, slot: Slot) -> Result<&'w mut Writer<'b>, WriteError> {
        match slot {
            Slot::Alone => {}
            Slot::Element => writer.separate()?,
            Slot::Member(key) => writer.member(key)?,
            Slot::Key | Slot::Text => return Err(WriteError::Value(InvalidPayload::Serialize)),
        }
        Ok(writer)
    }

    fn number(
        self,
        write: impl FnOnce(&mut Writer<'b>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        if let Slot::Key = self.slot {
            self.writer.separate()?;
            self.writer.put(b"\"")?;
            write(self.writer)?;
            return self.writer.put(b"\"");
        }
        write(self.begin()?)
    }

    #[cfg_attr(not(small), inline(always))]
    fn text(
        self,
        write: impl FnOnce(&mut Writer<'b>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let writer = match self.slot {
            Slot::Key => {
                self.writer.separate()?;
                self.writer
            }
            _ => self.begin()?,
        };
        write(writer)
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn object(self) -> Result<Compound<'w, 'b, 's>, WriteError> {
        let writer = Self::open(self.writer, self.slot)?;
        writer.open(b'{')?;
        Ok(Compound {
            writer,
            close: Close::Object,
            extras: self.extras.unwrap_or(Extras::Nothing),
            seen: Seen::default(),
            next: None,
        })
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn array(self) -> Result<Compound<'w, 'b, 's>, WriteError> {
        let writer = self.begin()?;
        writer.open(b'[')?;
        Ok(Compound {
            writer,
            close: Close::Array,
            extras: Extras::Nothing,
            seen: Seen::default(),
            next: None,
        })
    }

    /// Bytes, as a base64 string.
    pub(super) fn base64(self, bytes: &[u8]) -> Result<(), WriteError> {
        let writer = self.begin()?;
        writer.put(b"\"")?;
        writer.base64(bytes)?;
        writer.put(b"\"")
    }

    /// A struct of a foreign serializer: its only field is JSON text, which is the value.
    #[cold]
    #[inline(never)]
    fn foreign(self, name: &str) -> Result<Compound<'w, 'b, 's>, WriteError> {
        if !foreign::is_json_text(name) {
            return Err(WriteError::Value(InvalidPayload::PrivateType));
        }
        let writer = Self::open(self.writer, self.slot)?;
        Ok(Compound {
            writer,
            close: Close::Text,
            extras: Extras::Nothing,
            seen: Seen::default(),
            next: self.extras,
        })
    }

    /// A string that a foreign type says is JSON text. It is checked, since that type is not ours.
    #[cold]
    #[inline(never)]
    fn foreign_text(self, text: &str) -> Result<(), WriteError> {
        match skip_value(text.as_bytes(), 0, 0) {
            Ok(end) if end == text.len() => ValueSerializer { slot: Slot::Alone, ..self }.raw(text),
            _ => Err(WriteError::Value(InvalidPayload::PrivateType)),
        }
    }

    /// JSON text. Completed like any other object where that is due.
    #[cfg_attr(not(small), inline(always))]
    pub(super) fn raw(self, text: &str) -> Result<(), WriteError> {
        match self.extras {
            // Of JSON texts only a string may be a key.
            None if matches!(self.slot, Slot::Key) && !text.starts_with('"') => {
                Err(WriteError::Value(InvalidPayload::Serialize))
            }
            None => self.text(|writer| writer.raw(text)),
            Some(_) => self.raw_completed(text),
        }
    }

    fn raw_completed(self, text: &str) -> Result<(), WriteError> {
        match self.extras {
            _ if !text.starts_with('{') => Err(WriteError::Value(InvalidPayload::NotAnObject)),
            None | Some(Extras::Nothing) => Self::open(self.writer, self.slot)?.raw(text),
            Some(_) => {
                let mut compound = self.object()?;
                for (key, value) in RawJson::scanned(text).members() {
                    let extras = compound.note(key.inner());
                    compound.writer.separate()?;
                    compound.writer.raw(key.as_json())?;
                    compound.writer.put(b":")?;
                    ValueSerializer {
                        writer: compound.writer,
                        slot: Slot::Alone,
                        mode: Mode::Value,
                        extras,
                    }
                    .raw(value.as_str())?;
                }
                compound.finish()
            }
        }
    }
}

macro_rules! numbers {
    ($($method:ident $type:ty => $write:ident as $wide:ty),*) => {$(
        fn $method(self, value: $type) -> Result<(), WriteError> {
            self.number(|writer| writer.$write(<$wide>::from(value)))
        }
    )*};
}

impl<'w, 'b, 's> ser::Serializer for ValueSerializer<'w, 'b, 's> {
    type Ok = ();
    type Error = WriteError;
    type SerializeSeq = Compound<'w, 'b, 's>;
    type SerializeTuple = Compound<'w, 'b, 's>;
    type SerializeTupleStruct = Compound<'w, 'b, 's>;
    type SerializeTupleVariant = Compound<'w, 'b, 's>;
    type SerializeMap = Compound<'w, 'b, 's>;
    type SerializeStruct = Compound<'w, 'b, 's>;
    type SerializeStructVariant = Compound<'w, 'b, 's>;

    fn is_human_readable(&self) -> bool {
        self.mode == Mode::Value
    }

    fn serialize_bool(self, value: bool) -> Result<(), WriteError> {
        self.begin()?.put(if value { b"true" } else { b"false" })
    }

    numbers! {
        serialize_i8 i8 => signed as i64, serialize_i16 i16 => signed as i64,
        serialize_i32 i32 => signed as i64, serialize_i64 i64 => signed as i64,
        serialize_u8 u8 => unsigned as u64, serialize_u16 u16 => unsigned as u64,
        serialize_u32 u32 => unsigned as u64,
        serialize_u64 u64 => unsigned as u64
    }

    fn serialize_i128(self, value: i128) -> Result<(), WriteError> {
        self.number(|writer| writer.plain(&value))
    }

    fn serialize_u128(self, value: u128) -> Result<(), WriteError> {
        self.number(|writer| writer.plain(&value))
    }

    fn serialize_f32(self, value: f32) -> Result<(), WriteError> {
        // Debug, since it keeps the point of a whole number and writes large ones with an exponent.
        if value.is_finite() {
            self.begin()?.plain(&format_args!("{value:?}"))
        } else {
            self.serialize_unit()
        }
    }

    fn serialize_f64(self, value: f64) -> Result<(), WriteError> {
        if value.is_finite() {
            self.begin()?.plain(&format_args!("{value:?}"))
        } else {
            self.serialize_unit()
        }
    }

    fn serialize_char(self, value: char) -> Result<(), WriteError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), WriteError> {
        match self.slot {
            Slot::Text => return self.foreign_text(value),
            Slot::Key if foreign::is_private_key(value) => {
                return Err(WriteError::Value(InvalidPayload::PrivateType));
            }
            _ => {}
        }
        self.text(|writer| writer.string(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), WriteError> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), WriteError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), WriteError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), WriteError> {
        self.begin()?.put(b"null")
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<(), WriteError> {
        if name == ABSENT { Ok(()) } else { self.serialize_unit() }
    }

    #[cfg_attr(not(small), inline(always))]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), WriteError> {
        self.text(|writer| writer.name(variant))
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline)]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        if !name.starts_with('$') {
            return value.serialize(self);
        }
        if name == RAW || name == BLOB {
            return value.serialize(RawValueSerializer(self));
        }
        if foreign::is_private_newtype(name) {
            return Err(WriteError::Value(InvalidPayload::PrivateType));
        }
        if cfg!(not(small)) {
            self.known(name, &value)
        } else {
            self.known::<dyn Value>(name, &value)
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), WriteError> {
        let mut object = self.object()?;
        ser::SerializeStruct::serialize_field(&mut object, variant, value)?;
        object.finish()
    }

    #[cfg_attr(not(small), inline(always))]
    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, WriteError> {
        self.array()
    }

    #[cfg_attr(not(small), inline(always))]
    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, WriteError> {
        self.array()
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, WriteError> {
        self.array()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, WriteError> {
        self.variant(variant, b'[', Close::ArrayVariant)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, WriteError> {
        self.object()
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline)]
    fn serialize_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStruct, WriteError> {
        if foreign::is_private_struct(name) { self.foreign(name) } else { self.object() }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, WriteError> {
        self.variant(variant, b'{', Close::ObjectVariant)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<(), WriteError> {
        self.text(|writer| {
            writer.put(b"\"")?;
            writer.display(&value)?;
            writer.put(b"\"")
        })
    }
}

impl<'w, 'b, 's> ValueSerializer<'w, 'b, 's> {
    /// A value that only some revisions know.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn known<T: Value + ?Sized>(self, name: &str, value: &T) -> Result<(), WriteError> {
        match known_until(name) {
            Some(known) if !known.includes(self.writer.revision()) => {
                if known.has_older_form {
                    value.write(ValueSerializer { mode: Mode::Older, ..self })
                } else {
                    Ok(())
                }
            }
            _ => value.write(ValueSerializer { mode: Mode::Value, ..self }),
        }
    }

    fn variant(
        self,
        variant: &'static str,
        open: u8,
        close: Close,
    ) -> Result<Compound<'w, 'b, 's>, WriteError> {
        let object = self.object()?;
        object.writer.member(variant)?;
        object.writer.open(open)?;
        Ok(Compound { close, extras: Extras::Nothing, ..object })
    }
}

/// An object or array that is being written.
pub(super) struct Compound<'w, 'b, 's> {
    writer: &'w mut Writer<'b>,
    close: Close,
    extras: Extras<'s>,
    seen: Seen,
    /// What the value of the key just written is to be completed with.
    next: Option<Extras<'s>>,
}

/// How it ends.
#[derive(Clone, Copy)]
enum Close {
    Object,
    Array,
    ObjectVariant,
    ArrayVariant,
    /// A foreign struct's, whose field is still to come.
    Text,
    /// The same, whose field has been written.
    Nothing,
}

/// Which members that would be added are there already: a bit each, in the order of the additions.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen(u16);

impl Seen {
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    const META: Self = Self(1 << 15);

    /// The bit of this key, if it has one.
    fn of(key: &str, additions: &[Addition<'_>]) -> Self {
        Self(additions.iter().position(|(added, _)| same_text(key, added)).map_or(0, |at| 1 << at))
    }

    /// Adds those that are not there.
    fn add(self, additions: &[Addition<'_>], writer: &mut Writer<'_>) -> Result<(), WriteError> {
        for (at, (key, write)) in additions.iter().enumerate() {
            if self.0 & (1 << at) == 0 {
                writer.member(key)?;
                write.write(writer)?;
            }
        }
        Ok(())
    }
}

// Passed by value and not inlined, so that the common case stays in registers.
impl<'s> Extras<'s> {
    /// Whether a key is one of those that would be added, and what its value is to be completed
    /// with.
    #[inline(never)]
    pub(super) fn note(self, key: &str) -> (Seen, Option<Self>) {
        match self {
            Self::Nothing => (Seen(0), None),
            Self::Members(additions) if !additions.meta.is_empty() && same_text(key, "_meta") => {
                (Seen::META, Some(Self::Meta(additions.meta)))
            }
            Self::Members(additions) => (Seen::of(key, additions.members), None),
            Self::Meta(meta) => (Seen::of(key, meta), None),
        }
    }

    /// Adds what is not there.
    #[inline(never)]
    pub(super) fn complete(self, seen: Seen, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        match self {
            Self::Nothing => Ok(()),
            Self::Members(additions) => {
                seen.add(additions.members, writer)?;
                if additions.meta.is_empty() || seen.0 & Seen::META.0 != 0 {
                    return Ok(());
                }
                writer.member("_meta")?;
                writer.open(b'{')?;
                Seen(0).add(additions.meta, writer)?;
                writer.close(b"}")
            }
            Self::Meta(meta) => seen.add(meta, writer),
        }
    }
}

impl<'s> Compound<'_, '_, 's> {
    /// Looks at a key (the inside of a JSON string) before its value is written. Returns what that
    /// is to be completed with.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn note(&mut self, key: &str) -> Option<Extras<'s>> {
        if matches!(self.extras, Extras::Nothing) {
            return None;
        }
        let (seen, extras) = self.extras.note(key);
        self.seen.0 |= seen.0;
        extras
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn finish(self) -> Result<(), WriteError> {
        if !matches!(self.extras, Extras::Nothing) {
            self.extras.complete(self.seen, self.writer)?;
        }
        match self.close {
            Close::Object => self.writer.close(b"}"),
            Close::Array => self.writer.close(b"]"),
            Close::ObjectVariant => self.writer.close(b"}}"),
            Close::ArrayVariant => self.writer.close(b"]}"),
            Close::Text => Err(WriteError::Value(InvalidPayload::PrivateType)),
            Close::Nothing => Ok(()),
        }
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn element<T: Value + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        value.write(ValueSerializer {
            writer: self.writer,
            slot: Slot::Element,
            mode: Mode::Value,
            extras: None,
        })
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn field<T: Value + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), WriteError> {
        if let Close::Text | Close::Nothing = self.close {
            return self.foreign_field(key, value);
        }
        let extras = self.note(key);
        value.write(ValueSerializer {
            writer: self.writer,
            slot: Slot::Member(key),
            mode: Mode::Value,
            extras,
        })
    }
}

impl Compound<'_, '_, '_> {
    /// The only field of a foreign struct. More than one, as with a tag added to it, are not
    /// understood.
    #[cold]
    #[inline(never)]
    fn foreign_field<T: Value + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), WriteError> {
        if !foreign::is_json_text(key) || !matches!(self.close, Close::Text) {
            return Err(WriteError::Value(InvalidPayload::PrivateType));
        }
        self.close = Close::Nothing;
        let (start, extras) = (self.writer.position(), self.next.take());
        value.write(ValueSerializer {
            writer: self.writer,
            slot: Slot::Text,
            mode: Mode::Value,
            extras,
        })?;
        if self.writer.position() == start {
            Err(WriteError::Value(InvalidPayload::PrivateType))
        } else {
            Ok(())
        }
    }
}

macro_rules! sequences {
    ($($trait:ident $method:ident),*) => {$(
        impl ser::$trait for Compound<'_, '_, '_> {
            type Ok = ();
            type Error = WriteError;
            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
                if cfg!(not(small)) {
                    self.element(&value)
                } else {
                    self.element::<dyn Value>(&value)
                }
            }
            #[cfg_attr(not(small), inline(always))]
            fn end(self) -> Result<(), WriteError> {
                self.finish()
            }
        }
    )*};
}

sequences! {
    SerializeSeq serialize_element, SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field, SerializeTupleVariant serialize_field
}

macro_rules! structs {
    ($($trait:ident),*) => {$(
        impl ser::$trait for Compound<'_, '_, '_> {
            type Ok = ();
            type Error = WriteError;
            #[cfg_attr(not(small), inline(always))]
            #[cfg_attr(small, inline)]
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), WriteError> {
                if cfg!(not(small)) {
                    self.field(key, &value)
                } else {
                    self.field::<dyn Value>(key, &value)
                }
            }
            #[cfg_attr(not(small), inline(always))]
            fn end(self) -> Result<(), WriteError> {
                self.finish()
            }
        }
    )*};
}

structs! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Compound<'_, '_, '_> {
    type Ok = ();
    type Error = WriteError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), WriteError> {
        if !matches!(self.extras, Extras::Nothing) {
            // The key is formatted into a small buffer; one that does not fit is not one of the
            // known keys.
            let mut text = [0; 64];
            let mut window = Writer::new(&mut text, 0, self.writer.revision(), false);
            let seen = key.serialize(ValueSerializer {
                writer: &mut window,
                slot: Slot::Key,
                mode: Mode::Value,
                extras: None,
            });
            let len = window.position();
            if seen.is_ok()
                && let Some(key) =
                    text.get(1..len.saturating_sub(1)).and_then(|t| core::str::from_utf8(t).ok())
            {
                self.next = self.note(key);
            }
        }
        key.serialize(ValueSerializer {
            writer: self.writer,
            slot: Slot::Key,
            mode: Mode::Value,
            extras: None,
        })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), WriteError> {
        self.writer.put(b":")?;
        let extras = self.next.take();
        let start = self.writer.position();
        value.serialize(ValueSerializer {
            writer: self.writer,
            slot: Slot::Alone,
            mode: Mode::Value,
            extras,
        })?;
        // The key is there already.
        if self.writer.position() == start { self.writer.put(b"null") } else { Ok(()) }
    }

    fn serialize_entry<K: Serialize + ?Sized, T: Serialize + ?Sized>(
        &mut self,
        key: &K,
        value: &T,
    ) -> Result<(), WriteError> {
        // The fields of a flattened struct come this way. Without a window, the first byte of a
        // value ends the writing of it.
        let mut probe = Writer::new(&mut [], 0, self.writer.revision(), false);
        let probed = value.serialize(ValueSerializer {
            writer: &mut probe,
            slot: Slot::Alone,
            mode: Mode::Value,
            extras: None,
        });
        if probed.is_ok() && probe.position() == 0 {
            return Ok(());
        }
        self.serialize_key(key)?;
        self.serialize_value(value)
    }

    fn end(self) -> Result<(), WriteError> {
        self.finish()
    }
}

impl ser::Error for WriteError {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Value(InvalidPayload::Serialize)
    }
}

impl core::error::Error for WriteError {}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overflow => "the window is full",
            Self::Value(_) => "the value cannot be written",
        })
    }
}

/// Encodes `value` as JSON into `out`, omitting members that `revision` does not define, and
/// returns the text.
///
/// Use it for values that are to be kept or inspected; messages are encoded directly into a
/// [`TxBuffer`](crate::TxBuffer).
///
/// # Errors
/// [`SendError::TooLarge`] if it does not fit, [`SendError::Invalid`] if the value's `Serialize`
/// fails.
pub fn to_slice<'o, T: Serialize + ?Sized>(
    value: &T,
    revision: Revision,
    out: &'o mut [u8],
) -> Result<RawJson<'o>, SendError> {
    let mut writer = Writer::new(out, 0, revision, false);
    let result = write_value(&mut writer, value);
    let len = writer.position();
    match result {
        Ok(()) => {
            let text = out
                .get(..len)
                .and_then(|text| core::str::from_utf8(text).ok())
                .ok_or(SendError::Invalid(InvalidPayload::Serialize))?;
            RawJson::parse(text).map_err(|_| SendError::Invalid(InvalidPayload::Serialize))
        }
        Err(WriteError::Overflow) => Err(SendError::TooLarge),
        Err(WriteError::Value(rule)) => Err(SendError::Invalid(rule)),
    }
}
