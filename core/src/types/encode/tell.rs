//! How a payload says what it is, to whatever writes it: without a type parameter.
//!
//! serde makes each `Serialize` anew for each serializer, and in each anew what happens to a
//! member. Where code is scarce that is most of a program. A value that [tells](Tell) is asked
//! through a `dyn` instead: what is made for its type is a list of places and one string with the
//! names of its members, and everything that happens to a member exists once. With room for code,
//! the payload types are serialized as serde would do it, which is faster.

use core::fmt;

use crate::json::{Decimal, Payload, Pen, RawJson, WriteError, Writer};

/// Something that says what it is.
pub(crate) trait Tell {
    /// Calls one method of `to`, once, or opens and closes one list; or does nothing, to be left
    /// out.
    fn tell(&self, to: &mut dyn Teller);
}

/// What it says that to.
pub(crate) trait Teller {
    fn text(&mut self, text: &str);
    fn json(&mut self, json: RawJson<'_>);
    /// A text that is made while it is written. Behind a `dyn` of its own, so that a program has
    /// only those that it uses.
    fn made(&mut self, text: &dyn Made);
    /// Members by their names, each of which ends with a comma: `name,title:CE,` has two, the
    /// second one for some revisions only.
    fn object(&mut self, names: &'static str, members: &[&dyn Tell]);
    /// Items follow, or, behind `{`, keys and values in turn.
    fn open(&mut self, bracket: u8);
    fn item(&mut self, item: &dyn Tell);
    /// The end of what was opened.
    fn close(&mut self);
    /// What the revisions of a marker know (`$mcp?CE`: from the third to the fifth), and what the
    /// others get.
    fn or_else(&mut self, known: &'static str, value: &dyn Tell, older: &dyn Tell);
    /// That it must not be written.
    fn refuse(&mut self);
}

/// A text that is made while it is written.
pub(crate) trait Made {
    /// For our writer, without the quotes.
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), WriteError>;

    /// For any other serializer.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Text that formats itself.
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

/// An object that is made on the way.
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

/// The first name of a list, the revisions that know it, and the names behind it.
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

/// Serializes types that tell and are not written so often that they are worth code of their own
/// for each serializer.
macro_rules! serialize_told {
    ($($type:ty),* $(,)?) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                crate::types::encode::told::Told(self).serialize(serializer)
            }
        }

    )*};
}

/// The same for one that is one of several: with room for code, as serde would do it.
macro_rules! tell_one_of {
    ($type:ty { $($pattern:pat => $value:expr),* $(,)? }) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if cfg!(not(small)) {
                    match self {
                        $($pattern => serde::Serialize::serialize(&$value, serializer),)*
                    }
                } else {
                    crate::types::encode::told::Told(self).serialize(serializer)
                }
            }
        }

        impl crate::types::encode::tell::Tell for $type {
            fn tell(&self, to: &mut dyn crate::types::encode::tell::Teller) {
                match self {
                    $($pattern => crate::types::encode::tell::Tell::tell(&$value, to),)*
                }
            }
        }
    };
}

/// What tells can be sent.
macro_rules! payload_told {
    ($type:ident $(<$lifetime:lifetime>)?) => {
        impl $(<$lifetime>)? crate::json::Payload for $type $(<$lifetime>)? {
            fn write(&self, to: crate::json::Pen<'_, '_, '_>) -> Result<(), crate::json::WriteError> {
                if cfg!(not(small)) { to.serialize(self) } else { to.tell(self) }
            }
        }
    };
}

pub(in crate::types) use {payload_told, serialize_told, tell_one_of};
