//! Request ids and progress tokens: compared by meaning, echoed by spelling.

use heapless::String;

use crate::json::{Decimal, JsonStr, RawJson, integer};

/// A request id or progress token as it came: a string or an integer, as JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id<'f>(&'f str);

/// An id that outlives its frame. [`MAX_ID`] bytes and a length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct IdText(String<MAX_ID, u8>);

/// The longest id or progress token accepted, in bytes of JSON text, quotes included: a UUID with a prefix fits. Each request in
/// flight holds an id and a token of this size.
pub const MAX_ID: usize = 48;

impl<'f> Id<'f> {
    /// `text` is a scanned value. `None` when it may not be an id: null, a fraction, an object...
    pub(crate) fn parse(text: &'f str) -> Option<Self> {
        let valid = match text.as_bytes().first()? {
            b'"' => true,
            b'-' | b'0'..=b'9' => is_plain_integer(text) || integer::<u64>(text).is_some(),
            _ => false,
        };
        valid.then_some(Self(text))
    }

    pub(crate) fn as_str(self) -> &'f str {
        self.0
    }

    /// Its value, when it is a number of our own making.
    pub(crate) fn as_u32(self) -> Option<u32> {
        if self.0.starts_with('"') {
            None
        } else {
            integer::<u64>(self.0).and_then(|(negative, n)| if negative { None } else { n.try_into().ok() })
        }
    }

    /// Whether it is too long to be kept.
    pub(crate) fn is_too_long(self) -> bool {
        self.0.len() > MAX_ID
    }

    /// A hash of what it means, never zero.
    pub(crate) fn hash(self) -> u32 {
        let hash = if let Some(string) = RawJson::scanned(self.0).as_string() {
            match string.as_plain() {
                Some(plain) => fnv(fnv(BASIS, b"\""), plain.as_bytes()),
                None => string.chars().fold(fnv(BASIS, b"\""), |hash, c| fnv(hash, c.encode_utf8(&mut [0; 4]).as_bytes())),
            }
        } else {
            fnv(BASIS, canonical(self.0, &mut None))
        };
        hash.max(1)
    }

    pub(crate) fn means_the_same(self, other: &IdText) -> bool {
        let other = other.as_str();
        if self.0 == other {
            return true;
        }
        let (a, b) = (RawJson::scanned(self.0), RawJson::scanned(other));
        match (a.as_string(), b.as_string()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => canonical(self.0, &mut None) == canonical(other, &mut None),
            _ => false,
        }
    }
}

impl IdText {
    /// Where it is, since it is large.
    pub(crate) fn set(&mut self, id: Id<'_>) {
        self.0.clear();
        // What is too long has been refused.
        let _ = self.0.push_str(id.0);
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A hash of what a string means, for tables of URIs.
pub(crate) fn hash_text(text: JsonStr<'_>) -> u64 {
    match text.as_plain() {
        Some(plain) => hash_str(plain),
        None => text.chars().fold(BASIS_64, |hash, c| fnv_64(hash, c.encode_utf8(&mut [0; 4]))),
    }
}

/// The same for a text that is no JSON.
pub(crate) fn hash_str(text: &str) -> u64 {
    fnv_64(BASIS_64, text)
}

fn fnv_64(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Digits that have only one spelling: hashed and compared as they are.
fn is_plain_integer(text: &str) -> bool {
    let digits = match text.as_bytes() {
        b"-0" => return false,
        [b'-', digits @ ..] => digits,
        digits => digits,
    };
    text.len() <= MAX_ID && digits.iter().all(u8::is_ascii_digit)
}

/// An integer in its only spelling.
fn canonical<'t>(text: &'t str, digits: &'t mut Option<Decimal>) -> &'t [u8] {
    if is_plain_integer(text) {
        return text.as_bytes();
    }
    // Written with an exponent or a fraction of zero, which nobody does.
    let (negative, value) = integer(text).unwrap_or_default();
    digits.insert(Decimal::new(value, negative && value > 0)).as_bytes()
}

fn fnv(hash: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(hash, |hash, b| (hash ^ u32::from(*b)).wrapping_mul(0x0100_0193))
}

const BASIS: u32 = 0x811c_9dc5;
const BASIS_64: u64 = 0xcbf2_9ce4_8422_2325;
