//! The trait that payloads implement, and values that are no payload types.

use core::fmt;

use super::{Encoder, Tracker};
use crate::error::{InvalidPayload, SendError};
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Revision;

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
                to.$method($wide::from(*self));
            }
        }
    )*)*};
}

integers! {
    unsigned u64: u8 u16 u32 u64;
    signed i64: i8 i16 i32 i64;
}

impl Encode for usize {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.unsigned(*self as u64);
    }
}

impl Encode for isize {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.signed(*self as i64);
    }
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
impl<T: Encode> Encode for alloc::vec::Vec<T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        self.as_slice().encode(to);
    }
}

#[cfg(feature = "alloc")]
impl Encode for alloc::string::String {
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

/// A value that a function writes.
pub(crate) struct With<F>(pub(crate) F);

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
) -> Result<RawJson<'o>, SendError> {
    let len = write_to_slice(&value, revision, out)?;
    let text = out.get(..len).and_then(|text| core::str::from_utf8(text).ok());
    text.and_then(|text| RawJson::parse(text).ok())
        .ok_or(SendError::Invalid(InvalidPayload::Serialize))
}

/// Returns the length of the text.
fn write_to_slice(
    value: &dyn Encode,
    revision: Revision,
    out: &mut [u8],
) -> Result<usize, SendError> {
    let size = out.len();
    let mut encoder = Encoder::new(out, 0, revision);
    value.encode(&mut encoder);
    match (encoder.is_invalid(), encoder.position()) {
        (Some(rule), _) => Err(SendError::Invalid(rule)),
        (None, len) if len > size => Err(SendError::TooLarge),
        (None, len) => Ok(len),
    }
}
