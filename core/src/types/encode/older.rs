//! Downgrades for older revisions.

use core::fmt;

use serde::{Serialize, Serializer};

use super::tell::{Shown, Tell, Teller, serialize_told};
use crate::types::Annotations;

/// A value that only the revisions of a marker define (`$mcp:CE`: the third to the fifth).
pub(in crate::types) struct Known<'x, T: ?Sized>(
    pub(in crate::types) &'static str,
    pub(in crate::types) &'x T,
);

impl<T: Serialize + ?Sized> Serialize for Known<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(self.0, self.1)
    }
}

/// A value, and its replacement for revisions outside of the range of the marker.
pub(in crate::types) struct OrElse<'x, T: ?Sized, O: ?Sized>(
    pub(in crate::types) &'static str,
    pub(in crate::types) &'x T,
    pub(in crate::types) &'x O,
);

impl<T: Serialize + ?Sized, O: Serialize + ?Sized> Serialize for OrElse<'_, T, O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(self.0, &Either(self.1, self.2))
    }
}

impl<T: Tell, O: Tell> Tell for OrElse<'_, T, O> {
    fn tell(&self, to: &mut dyn Teller) {
        to.or_else(self.0, self.1, self.2);
    }
}

struct Either<'x, T: ?Sized, O: ?Sized>(&'x T, &'x O);

impl<T: Serialize + ?Sized, O: Serialize + ?Sized> Serialize for Either<'_, T, O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.0.serialize(serializer)
        } else {
            serializer.serialize_newtype_struct("$mcp:AE", self.1)
        }
    }
}

/// An omitted member.
pub(in crate::types) struct Absent;

impl Serialize for Absent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_struct(crate::json::ABSENT)
    }
}

impl Tell for Absent {
    fn tell(&self, _: &mut dyn Teller) {}
}

/// A text block that replaces content that a revision does not define.
pub(in crate::types) struct Notice<'x, 'a> {
    pub(in crate::types) text: &'x dyn fmt::Display,
    pub(in crate::types) annotations: Option<&'x Annotations<'a>>,
}

impl Tell for Notice<'_, '_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.object("type,text,annotations,", &[&"text", &Shown(self.text), &self.annotations]);
    }
}

serialize_told!(Notice<'_, '_>);
