//! Strings.

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Source;
use crate::bytes::copy;
use crate::encode::{Encode, Encoder};
use crate::json::{Chars, JsonStr};

/// A string of the application, or one of a message with its JSON escapes untouched.
///
/// Two texts are equal if they are equal after decoding; `Display` writes the decoded string.
#[derive(Clone, Copy)]
pub struct Text<'a>(Source<&'a str, JsonStr<'a>>);

impl<'a> Text<'a> {
    /// Creates a text from a string of the application.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self(Source::Own(text))
    }

    /// Creates a text from a string of a message.
    #[must_use]
    pub const fn from_json(text: JsonStr<'a>) -> Self {
        Self(Source::Received(text))
    }

    /// Returns the string if it contains no JSON escapes, which is the usual case.
    #[must_use]
    pub fn as_plain(self) -> Option<&'a str> {
        match self.0 {
            Source::Own(text) => Some(text),
            Source::Received(text) => text.as_plain(),
        }
    }

    /// Iterates over the decoded characters.
    pub fn chars(self) -> impl Iterator<Item = char> + 'a {
        match self.0 {
            Source::Own(text) => Chars::plain(text),
            Source::Received(text) => text.decoded(),
        }
    }

    /// Decodes the string into the beginning of `out`. Returns `None` if it does not fit.
    pub fn copy_to(self, out: &mut [u8]) -> Option<&str> {
        match self.0 {
            Source::Own(text) => {
                let out = out.get_mut(..text.len())?;
                copy(text.as_bytes(), out);
                core::str::from_utf8(out).ok()
            }
            Source::Received(text) => text.copy_to(out),
        }
    }

    /// Returns the string of the application.
    pub(crate) const fn as_own(self) -> Option<&'a str> {
        self.0.own()
    }

    pub(in crate::types) const fn source(self) -> Source<&'a str, JsonStr<'a>> {
        self.0
    }

    /// Writes the string as the name of a member.
    pub(in crate::types) fn encode_key(self, to: &mut Encoder<'_>) -> bool {
        match self.0 {
            Source::Own(text) => to.key(text),
            Source::Received(text) => to.key_json(text),
        }
    }

    /// Returns whether the string is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        match self.0 {
            Source::Own(text) => text.is_empty(),
            Source::Received(text) => text.inner().is_empty(),
        }
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self::new(text)
    }
}

impl<'a> From<JsonStr<'a>> for Text<'a> {
    fn from(text: JsonStr<'a>) -> Self {
        Self::from_json(text)
    }
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self::new("")
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        match self.0 {
            Source::Own(text) => text == other,
            Source::Received(text) => text == *other,
        }
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq<JsonStr<'_>> for Text<'_> {
    fn eq(&self, other: &JsonStr<'_>) -> bool {
        match self.0 {
            Source::Own(plain) => *other == *plain,
            Source::Received(json) => json == *other,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Source::Own(text), _) => *other == *text,
            (_, Source::Own(text)) => *self == *text,
            (Source::Received(one), Source::Received(other)) => one == other,
        }
    }
}

impl Eq for Text<'_> {}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Source::Own(text) => f.write_str(text),
            Source::Received(text) => fmt::Display::fmt(&text, f),
        }
    }
}

/// For values of the application that contain a text: see [`Json`](crate::Json).
impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Source::Own(text) => serializer.serialize_str(text),
            Source::Received(text) => text.serialize(serializer),
        }
    }
}

impl Encode for Text<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Source::Own(text) => to.string(text),
            Source::Received(text) => to.raw(text.into()),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonStr::deserialize(deserializer).map(Self::from_json)
    }
}
