//! Object-safe encoding of payloads.
//!
//! serde instantiates `Serialize` for each type and serializer, and with it the code for each
//! member, which would be most of a firmware's code. [`Tell`] is called through `dyn` instead: a
//! type contributes an array of references and one string with the names of its members, and the
//! code for a member exists once. Without the cfg `small`, payloads use `Serialize`, which is
//! faster.

use core::fmt;

use super::{Payload, Pen, WriteError, Writer};
use crate::json::{Decimal, RawJson};

/// A value that describes itself to a [`Teller`].
pub(crate) trait Tell {
    /// Calls one method of `to` once, or `open`, `item`s and `close`. A value that calls no method
    /// is omitted.
    fn tell(&self, to: &mut dyn Teller);
}

/// Receiver of the description of a value.
pub(crate) trait Teller {
    fn text(&mut self, text: &str);
    fn json(&mut self, json: RawJson<'_>);
    /// A string that is formatted while it is written. A trait object, so that a program links only
    /// the kinds that it uses.
    fn made(&mut self, text: &dyn Made);
    /// An object. Each name ends with a comma; `name,title:CE,` has two members, the second one for
    /// the third to the fifth revision only.
    fn object(&mut self, names: &'static str, members: &[&dyn Tell]);
    /// Begins an array (`[`) of items, or an object (`{`) whose items are keys and values in turn.
    fn open(&mut self, bracket: u8);
    fn item(&mut self, item: &dyn Tell);
    /// Ends the array or object.
    fn close(&mut self);
    /// A value for the revisions of a marker (`$mcp?CE`: the third to the fifth), and its
    /// replacement for the others.
    fn or_else(&mut self, known: &'static str, value: &dyn Tell, older: &dyn Tell);
    /// Fails the encoding: the value is invalid.
    fn refuse(&mut self);
}

/// A string that is formatted while it is written.
pub(crate) trait Made {
    /// Writes the string without quotes, for our writer.
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError>;

    /// Formats the string, for any other serializer.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Adapts `Display` to [`Made`].
pub(crate) struct Shown<'x>(pub(crate) &'x dyn fmt::Display);

impl Made for Shown<'_> {
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        writer.display(self.0)
    }

    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Tell for Shown<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.made(self);
    }
}

/// An object that is no payload type.
pub(crate) struct Object<'x> {
    pub(crate) names: &'static str,
    pub(crate) members: &'x [&'x dyn Tell],
}

impl Tell for Object<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.object(self.names, self.members);
    }
}

impl Payload for Object<'_> {
    fn write(&self, to: Pen<'_, '_, '_>) -> Result<(), WriteError> {
        to.tell(self)
    }
}

/// Splits off the first name of a list. Returns it, its revisions and the rest.
pub(crate) fn first(names: &'static str) -> (&'static str, &'static str, &'static str) {
    let (entry, rest) = cut(names, b',');
    let (name, known) = cut(entry, b':');
    (name, known, rest)
}

fn cut(text: &'static str, at: u8) -> (&'static str, &'static str) {
    let end = text.as_bytes().iter().position(|byte| *byte == at).unwrap_or(text.len());
    (text.get(..end).unwrap_or_default(), text.get(end + 1..).unwrap_or_default())
}

impl<T: Tell> Tell for Option<T> {
    fn tell(&self, to: &mut dyn Teller) {
        if let Some(value) = self {
            value.tell(to);
        }
    }
}

impl Tell for bool {
    fn tell(&self, to: &mut dyn Teller) {
        to.json(RawJson::scanned(if *self { "true" } else { "false" }));
    }
}

impl Tell for u64 {
    fn tell(&self, to: &mut dyn Teller) {
        to.json(RawJson::scanned(Decimal::new(*self, false).as_str()));
    }
}

impl Tell for i64 {
    fn tell(&self, to: &mut dyn Teller) {
        to.json(RawJson::scanned(Decimal::new(self.unsigned_abs(), *self < 0).as_str()));
    }
}

impl<T: Tell + ?Sized> Tell for &T {
    fn tell(&self, to: &mut dyn Teller) {
        (*self).tell(to);
    }
}

impl Tell for &str {
    fn tell(&self, to: &mut dyn Teller) {
        to.text(self);
    }
}

impl Tell for RawJson<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.json(*self);
    }
}

impl<T: Tell, const N: usize> Tell for [T; N] {
    fn tell(&self, to: &mut dyn Teller) {
        self.as_slice().tell(to);
    }
}

impl<T: Tell> Tell for [T] {
    fn tell(&self, to: &mut dyn Teller) {
        to.open(b'[');
        for item in self {
            to.item(item);
        }
        to.close();
    }
}

/// Implements `Serialize` by [`Tell`], for types that are too rare to need a faster
/// implementation.
macro_rules! serialize_told {
    ($($type:ty),* $(,)?) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                crate::encode::told::Told(self).serialize(serializer)
            }
        }

    )*};
}

/// Implements `Serialize` and [`Tell`] for an enum. Without the cfg `small`, `Serialize` does not
/// use `dyn`.
macro_rules! tell_one_of {
    ($type:ty { $($pattern:pat => $value:expr),* $(,)? }) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if cfg!(not(small)) {
                    match self {
                        $($pattern => serde::Serialize::serialize(&$value, serializer),)*
                    }
                } else {
                    crate::encode::told::Told(self).serialize(serializer)
                }
            }
        }

        impl crate::encode::tell::Tell for $type {
            fn tell(&self, to: &mut dyn crate::encode::tell::Teller) {
                match self {
                    $($pattern => crate::encode::tell::Tell::tell(&$value, to),)*
                }
            }
        }
    };
}

/// Implements `Payload`.
macro_rules! payload_told {
    ($type:ident $(<$lifetime:lifetime>)?) => {
        impl $(<$lifetime>)? crate::encode::Payload for $type $(<$lifetime>)? {
            fn write(
                &self,
                to: crate::encode::Pen<'_, '_, '_>,
            ) -> Result<(), crate::encode::WriteError> {
                if cfg!(not(small)) { to.serialize(self) } else { to.tell(self) }
            }
        }
    };
}

pub(crate) use {payload_told, serialize_told, tell_one_of};
