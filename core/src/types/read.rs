//! How payloads are read: one reader for all types, which are told apart by a table of what they want.

use super::Number;
use super::value::{ALL, Flow, Payload, Put, Value, Versions};
use crate::json::{RawJson, ReadError};

/// Where the value of a member goes.
pub(super) struct Slot<'s, 'a> {
    key: &'static str,
    how: How,
    into: &'s mut dyn Take<'a>,
}

/// What a member may be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Anything that its type allows.
    Given,
    /// The same, and `null` means that it is not there.
    Optional,
    /// An object.
    Object,
    /// An object, and `null` means that it is not there.
    OptionalObject,
}

/// What a member's value is put into.
pub(super) trait Take<'a> {
    fn take(&mut self, value: RawJson<'a>) -> Result<(), ReadError>;
}

impl<'a, T: Payload<'a>> Take<'a> for Option<T> {
    fn take(&mut self, value: RawJson<'a>) -> Result<(), ReadError> {
        *self = Some(T::read(value)?);
        Ok(())
    }
}

/// Milliseconds: a negative number counts as 0, and so does a fraction.
pub(super) struct Millis<'s>(pub(super) &'s mut Option<u64>);

impl Take<'_> for Millis<'_> {
    fn take(&mut self, value: RawJson<'_>) -> Result<(), ReadError> {
        if !value.is_number() {
            return Err(ReadError::wrong("a number"));
        }
        *self.0 = Some(value.as_u64().unwrap_or(0));
        Ok(())
    }
}

impl<'s, 'a> Slot<'s, 'a> {
    pub(super) fn new(key: &'static str, how: How, into: &'s mut dyn Take<'a>) -> Self {
        Self { key, how, into }
    }
}

/// Takes the members of an object apart. Unknown ones are skipped; one that is there twice is an error, and so is another `tag`.
pub(super) fn object<'a>(
    raw: RawJson<'a>,
    tag: Option<(&'static str, &'static str)>,
    slots: &mut [Slot<'_, 'a>],
) -> Result<(), ReadError> {
    if !raw.is_object() {
        return Err(ReadError::wrong("an object"));
    }
    let mut seen = 0u32;
    for (key, value) in raw.members() {
        if let Some((_, name)) = tag.filter(|(tag, _)| key == *tag)
            && !value.as_string().is_some_and(|kind| kind == name)
        {
            return Err(ReadError::wrong(name));
        }
        let Some((index, slot)) = slots.iter_mut().enumerate().find(|(_, slot)| key == slot.key) else { continue };
        let bit = 1u32.wrapping_shl(index as u32);
        if seen & bit != 0 {
            return Err(ReadError::duplicate(slot.key));
        }
        seen |= bit;
        if value.is_null() && matches!(slot.how, How::Optional | How::OptionalObject) {
            continue;
        }
        if !value.is_object() && matches!(slot.how, How::Object | How::OptionalObject) {
            return Err(ReadError::wrong("an object"));
        }
        slot.into.take(value)?;
    }
    Ok(())
}

impl<'a> Payload<'a> for RawJson<'a> {
    fn value(&self) -> Value<'_> {
        Value::Raw(*self)
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        Ok(raw)
    }
}

impl<'a> Payload<'a> for bool {
    fn value(&self) -> Value<'_> {
        Value::Bool(*self)
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        raw.as_bool().ok_or(ReadError::wrong("a boolean"))
    }
}

impl<'a> Payload<'a> for u64 {
    fn value(&self) -> Value<'_> {
        Value::Unsigned(*self)
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        raw.as_u64().ok_or(ReadError::wrong("an integer that is not negative"))
    }
}

/// Of any size, but without a place for its digits: they exist only while it is written.
impl<'a> Payload<'a> for i64 {
    fn value(&self) -> Value<'_> {
        Value::Versions(ALL, self)
    }

    fn read(raw: RawJson<'a>) -> Result<Self, ReadError> {
        raw.as_i64().ok_or(ReadError::wrong("an integer"))
    }
}

impl Versions for i64 {
    fn newer(&self, put: Put<'_>) -> Flow {
        Number::new(*self).newer(put)
    }

    fn older(&self, put: Put<'_>) -> Flow {
        self.newer(put)
    }
}
