//! How payloads are written: each type says what its value is made of, and one writer writes all types.
//!
//! With a writer for each type and field, as serde's derive makes them, what a small server writes would cost twice the flash.

use core::fmt;
use core::ops::ControlFlow;

use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use super::{Annotations, Text};
use crate::json::{ABSENT, RawJson, ReadError};

/// What a [`List`](super::List) or [`Map`](super::Map) can hold: the types of this module, and of the standard ones those that the protocol has.
pub trait Payload<'a>: Copy {
    #[doc(hidden)]
    fn value(&self) -> Value<'_>;
    #[doc(hidden)]
    fn read(raw: RawJson<'a>) -> Result<Self, ReadError>;
}

/// What a value is made of.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Value<'x> {
    /// Nothing, not even a key.
    Absent,
    Text(Text<'x>),
    Raw(RawJson<'x>),
    Bool(bool),
    Unsigned(u64),
    /// A base64 string.
    Bytes(&'x [u8]),
    /// A string.
    Shown(&'x dyn fmt::Display),
    Object(&'x dyn Object),
    /// An object with those of the flags that are set.
    Flags(&'static Flags, u16),
    Array(&'x dyn Array),
    Map(&'x dyn Entries),
    /// One value for some revisions, another for all others.
    Versions(Gate, &'x dyn Versions),
    /// JSON that only some revisions know.
    Only(Gate, RawJson<'x>),
    /// Cannot be written.
    Invalid,
}

/// Which revisions know something: the first and the last of them, by their place in the order of publication.
#[doc(hidden)]
pub(super) type Gate = &'static str;
/// All of them.
pub(super) const ALL: Gate = "AE";

/// The [marker](crate::json) that leaves out what is not known.
fn marker(gate: &str) -> &'static str {
    match gate {
        "AD" => "$mcp:AD",
        "BE" => "$mcp:BE",
        "CE" => "$mcp:CE",
        "DD" => "$mcp:DD",
        "DE" => "$mcp:DE",
        "EE" => "$mcp:EE",
        _ => "$mcp:AE",
    }
}

/// The marker for a value that has another form.
fn marker_with_older_form(gate: &str) -> &'static str {
    match gate {
        "BE" => "$mcp?BE",
        "CE" => "$mcp?CE",
        "DE" => "$mcp?DE",
        _ => "$mcp?AE",
    }
}

/// Members that are all `true` or all `{}`, each there when its bit is: the first one's, and so on.
#[doc(hidden)]
pub struct Flags {
    pub names: &'static str,
    pub first: u16,
    pub objects: bool,
}

/// Flags, and which of them are set.
struct FlagSet(&'static Flags, u16);

impl Object for FlagSet {
    fn keys(&self) -> &'static str {
        self.0.names
    }

    fn field(&self, index: usize) -> Value<'_> {
        let bit = self.0.first.wrapping_shl(index as u32);
        match self.1 & bit {
            0 => Value::Absent,
            _ if self.0.objects => Value::Raw(RawJson::EMPTY),
            _ => Value::Bool(true),
        }
    }
}

/// Whether to go on.
pub(super) type Flow = ControlFlow<()>;
/// Takes an element, or the one value that there is.
pub(super) type Put<'p> = &'p mut dyn FnMut(Value<'_>) -> Flow;
/// Takes a member with any key.
pub(super) type PutEntry<'p> = &'p mut dyn FnMut(Text<'_>, Value<'_>) -> Flow;

/// Something with members whose keys are known.
#[doc(hidden)]
pub trait Object {
    /// The keys in order, with spaces between them; behind a colon the revisions that know one.
    fn keys(&self) -> &'static str;
    /// The value of the key at `index`.
    fn field(&self, index: usize) -> Value<'_>;
}

/// Something with elements: those that exist, and behind them those that are made while they are written.
#[doc(hidden)]
pub trait Array {
    /// The element at `index`; `Absent` behind the last one.
    fn element(&self, _index: usize) -> Value<'_> {
        Value::Absent
    }

    fn made(&self, _put: Put<'_>) -> Flow {
        Flow::Continue(())
    }
}

/// Something with members that have any keys.
#[doc(hidden)]
pub trait Entries {
    fn entries(&self, put: PutEntry<'_>) -> Flow;
}

/// Something that older revisions want in another form.
#[doc(hidden)]
pub trait Versions {
    fn newer(&self, put: Put<'_>) -> Flow;
    fn older(&self, put: Put<'_>) -> Flow;
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Absent => serializer.serialize_unit_struct(ABSENT),
            Self::Text(text) => text.serialize(serializer),
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Bool(value) => serializer.serialize_bool(value),
            Self::Unsigned(value) => serializer.serialize_u64(value),
            Self::Bytes(bytes) => crate::json::Blob(bytes).serialize(serializer),
            Self::Shown(value) => serializer.collect_str(value),
            Self::Object(object) => write_object(serializer, object),
            Self::Flags(flags, bits) => write_object(serializer, &FlagSet(flags, bits)),
            Self::Array(array) => {
                let mut out = serializer.serialize_seq(None)?;
                let mut index = 0;
                loop {
                    match array.element(index) {
                        Self::Absent => break,
                        value => out.serialize_element(&value)?,
                    }
                    index += 1;
                }
                let mut error = None;
                let _ = array.made(&mut |value| keep(&mut error, out.serialize_element(&value)));
                error.map_or_else(|| out.end(), Err)
            }
            Self::Map(map) => {
                let mut out = serializer.serialize_map(None)?;
                let mut error = None;
                let _ = map.entries(&mut |key, value| {
                    keep(&mut error, out.serialize_key(&key).and_then(|()| out.serialize_value(&value)))
                });
                error.map_or_else(|| out.end(), Err)
            }
            Self::Versions(gate, versions) => {
                serializer.serialize_newtype_struct(marker_with_older_form(gate), &Choice(versions))
            }
            Self::Only(gate, raw) => Gated(gate, Value::Raw(raw)).serialize(serializer),
            Self::Invalid => Err(S::Error::custom("a value that was read is not of its type")),
        }
    }
}

#[inline(never)]
fn write_object<S: Serializer>(serializer: S, object: &dyn Object) -> Result<S::Ok, S::Error> {
    // The count is not that of the fields: it only says that there may be some.
    let mut out = serializer.serialize_struct("", 1)?;
    let (mut keys, mut index) = (object.keys(), 0);
    while !keys.is_empty() {
        let (entry, rest) = split(keys, b' ');
        let value = object.field(index);
        if !matches!(value, Value::Absent) {
            let (key, gate) = split(entry, b':');
            out.serialize_field(key, &Gated(gate, value))?;
        }
        keys = rest;
        index += 1;
    }
    out.end()
}

/// What is before the first `at`, and what is behind it.
fn split(text: &'static str, at: u8) -> (&'static str, &'static str) {
    let end = text.bytes().position(|byte| byte == at).unwrap_or(text.len());
    (text.get(..end).unwrap_or_default(), text.get(end + 1..).unwrap_or_default())
}

fn keep<E>(error: &mut Option<E>, result: Result<(), E>) -> Flow {
    match result {
        Ok(()) => Flow::Continue(()),
        Err(e) => {
            *error = Some(e);
            Flow::Break(())
        }
    }
}

struct Gated<'x>(Gate, Value<'x>);

impl Serialize for Gated<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(marker(self.0), &self.1)
    }
}

/// Inside of the marker: the serializer says by its mode which is wanted.
struct Choice<'x>(&'x dyn Versions);

impl Serialize for Choice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let newer = serializer.is_human_readable();
        let (mut serializer, mut result) = (Some(serializer), None);
        let mut put = |value: Value<'_>| {
            if let Some(serializer) = serializer.take() {
                // In a marker for all revisions the mode is the usual one again.
                result = Some(Gated(ALL, value).serialize(serializer));
            }
            Flow::Break(())
        };
        let _ = if newer { self.0.newer(&mut put) } else { self.0.older(&mut put) };
        result.unwrap_or_else(|| Err(S::Error::custom("nothing was written")))
    }
}

/// Text for people, in the place of what a revision does not know: a text content block.
pub(super) struct Notice<'x> {
    pub(super) text: &'x dyn fmt::Display,
    pub(super) annotations: Option<&'x Annotations<'x>>,
}

impl Object for Notice<'_> {
    fn keys(&self) -> &'static str {
        "type text annotations"
    }

    fn field(&self, index: usize) -> Value<'_> {
        match index {
            0 => Value::Text(Text::new("text")),
            1 => Value::Shown(self.text),
            _ => self.annotations.map_or(Value::Absent, Payload::value),
        }
    }
}
