//! Owned JSON: a copy of a borrowed value, or a value that is encoded now and sent later.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use core::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::{Encode, Encoder};
use crate::error::{InvalidPayload, SendError};
use crate::json::{RawJson, ReadError};
use crate::lifecycle::Revision;
use crate::printable::Printable;

/// A JSON value as owned text, for tasks that outlive the frame.
///
/// ```
/// use mcp_sansio::types::TextResult;
/// use mcp_sansio::{OwnedJson, Revision};
/// let written = OwnedJson::new(&TextResult::new("hello"), Revision::LATEST).unwrap();
/// assert_eq!(written.as_raw().as_str(), r#"{"content":[{"type":"text","text":"hello"}]}"#);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OwnedJson(Box<str>);

impl OwnedJson {
    /// Encodes a value, omitting members that `revision` does not define.
    ///
    /// # Errors
    /// [`SendError::Invalid`] if the value is invalid.
    pub fn new<T: Encode + ?Sized>(value: &T, revision: Revision) -> Result<Self, SendError> {
        let mut out = vec![0; INITIAL_CAPACITY];
        loop {
            let mut encoder = Encoder::new(&mut out, 0, revision);
            value.encode(&mut encoder);
            if let Some(rule) = encoder.is_invalid() {
                return Err(SendError::Invalid(rule));
            }
            let len = encoder.position();
            if len <= out.len() {
                out.truncate(len);
                return String::from_utf8(out)
                    .map(|text| Self(text.into()))
                    .map_err(|_| SendError::Invalid(InvalidPayload::Serialize));
            }
            out.resize(len, 0);
        }
    }

    /// Returns the value, to be read or sent.
    #[must_use]
    pub fn as_raw(&self) -> RawJson<'_> {
        RawJson::scanned(&self.0)
    }

    /// Deserializes the value into a `T`, which may borrow from it.
    ///
    /// # Errors
    /// Those of [`RawJson::to`].
    pub fn to<'f, T: Deserialize<'f>>(&'f self) -> Result<T, ReadError> {
        self.as_raw().to()
    }
}

impl From<RawJson<'_>> for OwnedJson {
    fn from(raw: RawJson<'_>) -> Self {
        Self(raw.as_str().into())
    }
}

/// Formats the JSON text with control characters escaped, so that it is safe to log (see
/// [`Printable`]).
impl fmt::Debug for OwnedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Printable::new(&self.0), f)
    }
}

impl Encode for OwnedJson {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.raw(self.as_raw());
    }
}

impl Serialize for OwnedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_raw().serialize(serializer)
    }
}

/// Size in bytes that fits most values; a longer value is formatted twice.
const INITIAL_CAPACITY: usize = 512;

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use serde::ser::Error as _;

    use super::*;
    use crate::Json;
    use crate::types::TextResult;

    #[test]
    fn values_of_any_length_are_encoded() {
        for len in
            [0, INITIAL_CAPACITY - 2, INITIAL_CAPACITY - 1, INITIAL_CAPACITY, 5 * INITIAL_CAPACITY]
        {
            let text: String = core::iter::repeat_n('x', len).collect();
            let owned = OwnedJson::new(&text, Revision::LATEST).unwrap();
            assert_eq!(owned.as_raw().as_str().len(), len + 2);
            assert!(owned.as_raw().as_string().is_some_and(|string| string == text.as_str()));
        }
    }

    #[test]
    fn members_that_a_revision_does_not_define_are_omitted() {
        let result = crate::types::CallToolResult::new(&[]).structured_content(RawJson::EMPTY);
        let at = |revision| {
            OwnedJson::new(&result, revision).unwrap().as_raw().get("structuredContent").is_some()
        };
        assert!(at(Revision::LATEST) && !at(Revision::V2024_11_05));
    }

    #[test]
    fn a_value_that_fails_is_an_error() {
        struct Failing;
        impl Serialize for Failing {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(S::Error::custom("no"))
            }
        }
        assert_eq!(
            OwnedJson::new(&Json(Failing), Revision::LATEST).err(),
            Some(SendError::Invalid(InvalidPayload::Serialize))
        );
    }

    #[test]
    fn an_encoded_value_can_be_decoded_and_encoded_again() {
        let owned = OwnedJson::new(&TextResult::new("a\n\"b\""), Revision::LATEST).unwrap();
        let again = OwnedJson::new(&owned, Revision::V2024_11_05).unwrap();
        assert_eq!(owned, again);
        assert_eq!(owned, OwnedJson::from(owned.as_raw()));
    }
}
