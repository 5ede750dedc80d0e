//! Binary data.

use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};

use super::{Source, Text};
use crate::bytes::copy;
use crate::encode::{Base64, Encode, Encoder};

/// Binary data, base64 on the wire: bytes of the application, or base64 text of a message, which is
/// decoded on request.
#[derive(Clone, Copy)]
pub struct Blob<'a>(Source<Bytes<'a>, Text<'a>>);

/// Bytes with the code that writes them: firmware that only passes base64 text on does not link it.
#[derive(Clone, Copy)]
struct Bytes<'a> {
    bytes: &'a [u8],
    write: fn(&[u8], &mut Encoder<'_>),
}

/// The reason why a [`Blob`] could not be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BlobError {
    /// The text is not valid base64 (RFC 4648, section 4, with padding).
    InvalidBase64,
    /// The output buffer is too small.
    OutputTooSmall,
}

impl<'a> Blob<'a> {
    /// Creates a blob from bytes, which are encoded while they are written.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(Source::Own(Bytes { bytes, write: |bytes, to| Base64(bytes).encode(to) }))
    }

    /// Creates a blob from base64 text. The text is not validated.
    #[must_use]
    pub const fn from_base64(text: Text<'a>) -> Self {
        Self(Source::Received(text))
    }

    /// Returns the base64 text of a blob that was received or created by
    /// [`from_base64`](Self::from_base64).
    #[must_use]
    pub const fn as_base64(&self) -> Option<Text<'a>> {
        self.0.received()
    }

    /// Decodes the data into the beginning of `out` and returns that part.
    ///
    /// # Errors
    /// If the text is not valid base64 or `out` is too small.
    pub fn decode_to<'o>(&self, out: &'o mut [u8]) -> Result<&'o mut [u8], BlobError> {
        let len = match self.0 {
            Source::Own(Bytes { bytes, .. }) => {
                copy(bytes, out.get_mut(..bytes.len()).ok_or(BlobError::OutputTooSmall)?);
                bytes.len()
            }
            Source::Received(text) => {
                let mut len = 0;
                decode(text, &mut |bytes| {
                    let room = out.get_mut(len..).and_then(|out| out.get_mut(..bytes.len()));
                    copy(bytes, room.ok_or(BlobError::OutputTooSmall)?);
                    len += bytes.len();
                    Ok(())
                })?;
                len
            }
        };
        out.get_mut(..len).ok_or(BlobError::OutputTooSmall)
    }

    /// Returns the number of bytes. Decodes received text to count them.
    ///
    /// # Errors
    /// If the text is not valid base64.
    pub fn decoded_len(&self) -> Result<usize, BlobError> {
        match self.0 {
            Source::Own(Bytes { bytes, .. }) => Ok(bytes.len()),
            Source::Received(text) => {
                let mut len = 0;
                decode(text, &mut |bytes| {
                    len += bytes.len();
                    Ok(())
                })?;
                Ok(len)
            }
        }
    }
}

/// Decodes in chunks of 64 characters, so that text of any length, with JSON escapes, needs no
/// buffer.
fn decode(
    text: Text<'_>,
    put: &mut dyn FnMut(&[u8]) -> Result<(), BlobError>,
) -> Result<(), BlobError> {
    let mut chars = text.chars();
    loop {
        let mut piece = [0; 64];
        let mut len = 0;
        for (place, c) in piece.iter_mut().zip(&mut chars) {
            *place = u8::try_from(c).map_err(|_| BlobError::InvalidBase64)?;
            len += 1;
        }
        let piece = piece.get(..len).unwrap_or_default();
        let mut decoded = [0; 48];
        let len =
            STANDARD.decode_slice(piece, &mut decoded).map_err(|_| BlobError::InvalidBase64)?;
        put(decoded.get(..len).unwrap_or_default())?;
        if piece.len() < 64 || len < 48 {
            // A short chunk or padding ends the data.
            return if chars.next().is_none() { Ok(()) } else { Err(BlobError::InvalidBase64) };
        }
    }
}

impl<'a> From<&'a [u8]> for Blob<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::new(bytes)
    }
}

impl fmt::Debug for Blob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Source::Own(Bytes { bytes, .. }) => write!(f, "Blob({} bytes)", bytes.len()),
            Source::Received(text) => write!(f, "Blob({text:?})"),
        }
    }
}

impl Encode for Blob<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Source::Own(Bytes { bytes, write }) => write(bytes, to),
            Source::Received(text) => text.encode(to),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Blob<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::deserialize(deserializer).map(Self::from_base64)
    }
}

impl fmt::Display for BlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidBase64 => "invalid base64",
            Self::OutputTooSmall => "output buffer too small",
        })
    }
}

impl core::error::Error for BlobError {}
