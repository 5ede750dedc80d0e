//! Encoding of payloads: a value describes itself once, to an [`Encoder`], which writes JSON into a
//! window of the frame and knows the revision of the peer.

mod encoder;
mod path;
mod serde_value;
mod write;

pub use encoder::Encoder;
pub(crate) use encoder::{Addition, Additions, Gate};
pub(crate) use path::Tracker;
pub use serde_value::Json;

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
#[cfg(feature = "alloc")]
use alloc::string::String;
#[cfg(feature = "alloc")]
use alloc::vec;
use core::fmt;

#[cfg(feature = "alloc")]
use crate::json::ReadError;
use crate::json::{JsonStr, RawJson};
use crate::protocol::Revision;
use crate::protocol::error::{InvalidPayload, SendError, SendResult};
#[cfg(feature = "alloc")]
use crate::text::Printable;
#[cfg(feature = "alloc")]
use serde::{Deserialize, Serialize, Serializer};

// Objects: names paired with values, and the revisions that define them.

/// Writes an object.
///
/// ```text
/// object!(to, {
///     "type" = "text",                                   // a constant string
///     "text": self.text,                                 // required
///     "_meta"? since V2025_06_18: self.meta,             // an `Option`
///     "task"? only V2025_11_25: self.task,
/// })
/// ```
///
/// Without an encoder it is a value, for a member of another object.
///
/// `since`, `until` and `only` name the revisions that define the member; for others it is omitted.
///
/// Not public API.
#[doc(hidden)]
#[macro_export]
macro_rules! object {
    ($to:ident, { $($members:tt)* }) => {{
        $to.begin_object();
        $crate::object!(@member $to $($members)*);
        $to.end_object();
    }};

    ({ $($members:tt)* }) => {
        $crate::internal::With(|to: &mut $crate::Encoder<'_>| {
            $crate::object!(to, { $($members)* });
        })
    };

    (@member $to:ident) => {};
    (@member $to:ident $name:literal = $text:literal $(, $($rest:tt)*)?) => {
        $to.constant($name, concat!("\"", $name, "\":\"", $text, "\""));
        $($crate::object!(@member $to $($rest)*);)?
    };
    (@member $to:ident $name:literal $($gate:ident $revision:ident)?:
        $value:expr $(, $($rest:tt)*)?
    ) => {
        if $crate::object!(@gate $to $($gate $revision)?) {
            $to.member($name, &$value);
        }
        $($crate::object!(@member $to $($rest)*);)?
    };
    (@member $to:ident $name:literal? $($gate:ident $revision:ident)?:
        $value:expr $(, $($rest:tt)*)?
    ) => {
        if let Some(value) = &$value
            && $crate::object!(@gate $to $($gate $revision)?)
        {
            $to.member($name, value);
        }
        $($crate::object!(@member $to $($rest)*);)?
    };

    (@gate $to:ident) => { true };
    (@gate $to:ident $gate:ident $revision:ident) => {
        $to.knows(const {
            $crate::encode::Gate::$gate($crate::protocol::Revision::$revision)
        })
    };
}

pub(crate) use object;

// The trait that payloads implement, and values that are no payload types.

/// A value that can be sent in a message: the [`types`](crate::types), [`RawJson`], [`JsonStr`],
/// text, numbers, slices of these, and any type that implements serde's `Serialize`, wrapped in
/// [`Json`](crate::Json).
///
/// An implementation writes exactly one value, and the same one each time: a frame that is longer
/// than the buffer is written again for each piece.
///
/// ```
/// use mcp_sansio::types::Text;
/// use mcp_sansio::{Encode, Encoder, Revision, to_slice};
///
/// struct Weather<'a> {
///     city: Text<'a>,
///     celsius: i64,
/// }
///
/// impl Encode for Weather<'_> {
///     fn encode(&self, to: &mut Encoder<'_>) {
///         to.begin_object();
///         to.member("city", &self.city);
///         to.member("celsius", &self.celsius);
///         to.end_object();
///     }
/// }
///
/// let weather = Weather { city: Text::new("Oslo"), celsius: -4 };
/// let mut buffer = [0; 64];
/// let json = to_slice(&weather, Revision::LATEST, &mut buffer).unwrap();
/// assert_eq!(json.as_str(), r#"{"city":"Oslo","celsius":-4}"#);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `Encode`",
    note = "wrap a type that implements `Serialize` in `Json`: `server.respond(request, &Json(&value), tx)`"
)]
pub trait Encode {
    /// Writes the value.
    fn encode(&self, to: &mut Encoder<'_>);
}

impl<T: Encode + ?Sized> Encode for &T {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        (**self).encode(to);
    }
}

impl Encode for RawJson<'_> {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.raw(*self);
    }
}

impl Encode for JsonStr<'_> {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.raw(RawJson::from(*self));
    }
}

impl Encode for str {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.string(self);
    }
}

impl Encode for bool {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.boolean(*self);
    }
}

macro_rules! integers {
    ($($method:ident $wide:ident: $($type:ty)*;)*) => {$($(
        impl Encode for $type {
            fn encode(&self, to: &mut Encoder<'_>) {
                to.$method(*self as $wide);
            }
        }
    )*)*};
}

integers! {
    unsigned u64: u8 u16 u32 u64 usize;
    signed i64: i8 i16 i32 i64 isize;
}

macro_rules! floats {
    ($($type:ident)*) => {$(
        /// JSON has neither infinity nor NaN: they are invalid.
        impl Encode for $type {
            fn encode(&self, to: &mut Encoder<'_>) {
                if !self.is_finite() {
                    return to.invalid(InvalidPayload::Serialize);
                }
                // Debug writes large numbers with an exponent.
                to.put_display(&format_args!("{self:?}"));
            }
        }
    )*};
}

floats! { f32 f64 }

/// `None` is `null`; a member that is to be left out is not written.
impl<T: Encode> Encode for Option<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Some(value) => value.encode(to),
            None => to.null(),
        }
    }
}

impl<T: Encode> Encode for [T] {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_array();
        let mut at = 0;
        // The encoder says where to go on: a list that is sent in pieces is not written from its
        // beginning again.
        while at < self.len()
            && let Some(next) = to.element(at)
        {
            match self.get(next) {
                Some(value) => value.encode(to),
                None => to.invalid(InvalidPayload::Changed),
            }
            at = next.saturating_add(1);
        }
        to.end_array();
    }
}

impl<T: Encode, const N: usize> Encode for [T; N] {
    fn encode(&self, to: &mut Encoder<'_>) {
        self.as_slice().encode(to);
    }
}

#[cfg(feature = "alloc")]
impl<T: Encode> Encode for vec::Vec<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        self.as_slice().encode(to);
    }
}

#[cfg(feature = "alloc")]
impl Encode for String {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.string(self);
    }
}

#[cfg(feature = "alloc")]
impl Encode for alloc::borrow::Cow<'_, str> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.string(self);
    }
}

/// A value that a function writes. Not public API.
pub struct With<F>(pub F);

impl<F: Fn(&mut Encoder<'_>)> Encode for With<F> {
    fn encode(&self, to: &mut Encoder<'_>) {
        (self.0)(to);
    }
}

/// A string that is formatted while it is written.
pub(crate) struct DisplayText<'x>(pub(crate) &'x dyn fmt::Display);

impl Encode for DisplayText<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.display(self.0);
    }
}

/// A value, as a string of its JSON text.
pub(crate) struct JsonText<'x>(pub(crate) &'x dyn Encode);

impl Encode for JsonText<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.put_json_string(self.0);
    }
}

/// Bytes, as a base64 string.
pub(crate) struct Base64<'a>(pub(crate) &'a [u8]);

impl Encode for Base64<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.put(b"\"");
        to.put_base64(self.0);
        to.put(b"\"");
    }
}

/// Whether the JSON text of a value begins as that of an object. Only its first byte is written:
/// what follows is left out, as what is behind the window of a piece.
pub(crate) fn is_object(value: &dyn Encode, revision: Revision) -> bool {
    let mut first = [0];
    let mut tracker = Tracker::START;
    let mut encoder = Encoder::new(&mut first, 0, revision);
    encoder.track(&mut tracker);
    value.encode(&mut encoder);
    first == *b"{"
}

/// Writes `value` into `out`, omitting members that `revision` does not define, and returns the
/// text.
///
/// Use it for values that are to be kept or inspected; messages are written directly into a
/// [`TxBuffer`](crate::TxBuffer).
///
/// # Errors
/// [`SendError::TooLarge`] if it does not fit, [`SendError::Invalid`] if the value is invalid.
pub fn to_slice<'o, T: Encode + ?Sized>(
    value: &T,
    revision: Revision,
    out: &'o mut [u8],
) -> SendResult<RawJson<'o>> {
    let len = write_to_slice(&value, revision, out)?;
    let text = out.get(..len).and_then(|text| core::str::from_utf8(text).ok());
    text.and_then(|text| RawJson::parse(text).ok())
        .ok_or(SendError::Invalid(InvalidPayload::Serialize))
}

/// Returns the length of the text.
fn write_to_slice(value: &dyn Encode, revision: Revision, out: &mut [u8]) -> SendResult<usize> {
    let size = out.len();
    let mut encoder = Encoder::new(out, 0, revision);
    value.encode(&mut encoder);
    match (encoder.is_invalid(), encoder.position()) {
        (Some(rule), _) => Err(SendError::Invalid(rule)),
        (None, len) if len > size => Err(SendError::TooLarge),
        (None, len) => Ok(len),
    }
}

// Owned JSON: a copy of a borrowed value, or a value that is encoded now and sent later.

/// A JSON value as owned text, for tasks that outlive the frame.
///
/// ```
/// use mcp_sansio::types::TextResult;
/// use mcp_sansio::{OwnedJson, Revision};
/// let written = OwnedJson::new(&TextResult::new("hello"), Revision::LATEST).unwrap();
/// assert_eq!(written.as_json().as_str(), r#"{"content":[{"type":"text","text":"hello"}]}"#);
/// ```
#[cfg(feature = "alloc")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct OwnedJson(Box<str>);

#[cfg(feature = "alloc")]
impl OwnedJson {
    /// Encodes a value, omitting members that `revision` does not define.
    ///
    /// # Errors
    /// [`SendError::Invalid`] if the value is invalid.
    pub fn new<T: Encode + ?Sized>(value: &T, revision: Revision) -> SendResult<Self> {
        let encode = |out: &mut [u8]| {
            let mut encoder = Encoder::new(out, 0, revision);
            value.encode(&mut encoder);
            let invalid = encoder.is_invalid().map(SendError::Invalid);
            invalid.map_or(Ok(encoder.position()), Err)
        };
        let (mut first, mut long) = ([0; USUAL_LENGTH], vec::Vec::new());
        let mut len = encode(&mut first)?;
        let text = match first.get(..len) {
            // Copied, so that its memory is asked for once, and with its length.
            Some(text) => core::str::from_utf8(text).ok().map(Box::from),
            None => {
                while len > long.len() {
                    long.resize(len, 0);
                    len = encode(&mut long)?;
                }
                long.truncate(len);
                String::from_utf8(long).ok().map(Box::from)
            }
        };
        text.map(Self).ok_or(SendError::Invalid(InvalidPayload::Serialize))
    }

    /// Returns the value, to be read or sent.
    pub fn as_json(&self) -> RawJson<'_> {
        RawJson::scanned(&self.0)
    }

    /// Deserializes the value into a `T`, which may borrow from it.
    ///
    /// # Errors
    /// Those of [`RawJson::to`].
    pub fn to<'f, T: Deserialize<'f>>(&'f self) -> Result<T, ReadError> {
        self.as_json().to()
    }
}

#[cfg(feature = "alloc")]
impl From<RawJson<'_>> for OwnedJson {
    fn from(raw: RawJson<'_>) -> Self {
        Self(raw.as_str().into())
    }
}

/// Formats the JSON text with control characters escaped, so that it is safe to log (see
/// [`Printable`]).
#[cfg(feature = "alloc")]
impl fmt::Debug for OwnedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Printable::new(&self.0), f)
    }
}

#[cfg(feature = "alloc")]
impl Encode for OwnedJson {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.raw(self.as_json());
    }
}

#[cfg(feature = "alloc")]
impl Serialize for OwnedJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_json().serialize(serializer)
    }
}

/// Length in bytes of most values at most; a longer value is formatted twice.
#[cfg(feature = "alloc")]
const USUAL_LENGTH: usize = 512;

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::types::TextResult;

    #[test]
    fn values_of_any_length_are_encoded() {
        for len in [0, USUAL_LENGTH - 2, USUAL_LENGTH - 1, USUAL_LENGTH, 5 * USUAL_LENGTH] {
            let text: String = core::iter::repeat_n('x', len).collect();
            let owned = OwnedJson::new(&text, Revision::LATEST).unwrap();
            assert_eq!(owned.as_json().as_str().len(), len + 2);
            assert!(owned.as_json().as_string().is_some_and(|string| string == text.as_str()));
        }
    }

    #[test]
    fn members_that_a_revision_does_not_define_are_omitted() {
        let result = crate::types::CallToolResult::new(&[]).structured_content(RawJson::EMPTY);
        let at = |revision| {
            OwnedJson::new(&result, revision).unwrap().as_json().get("structuredContent").is_some()
        };
        assert!(at(Revision::LATEST) && !at(Revision::V2024_11_05));
    }

    #[test]
    fn an_encoded_value_can_be_decoded_and_encoded_again() {
        let owned = OwnedJson::new(&TextResult::new("a\n\"b\""), Revision::LATEST).unwrap();
        let again = OwnedJson::new(&owned, Revision::V2024_11_05).unwrap();
        assert_eq!(owned, again);
        assert_eq!(owned, OwnedJson::from(owned.as_json()));
    }
}
