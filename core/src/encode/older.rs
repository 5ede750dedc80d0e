//! Downgrades for older revisions.

use serde::{Serialize, Serializer};

use super::tell::{Tell, Teller};

/// A value that only the revisions of a marker define (`$mcp:CE`: the third to the fifth).
pub(crate) struct Known<'x, T: ?Sized>(pub(crate) &'static str, pub(crate) &'x T);

impl<T: Serialize + ?Sized> Serialize for Known<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(self.0, self.1)
    }
}

/// A value, and its replacement for revisions outside of the range of the marker.
pub(crate) struct OrElse<'x, T: ?Sized, O: ?Sized>(
    pub(crate) &'static str,
    pub(crate) &'x T,
    pub(crate) &'x O,
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
pub(crate) struct Absent;

impl Serialize for Absent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit_struct(super::marker::ABSENT)
    }
}

impl Tell for Absent {
    fn tell(&self, _: &mut dyn Teller) {}
}
