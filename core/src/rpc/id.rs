//! Request ids and progress tokens. They are compared by value and echoed in their original
//! spelling.

use crate::json::{JsonStr, RawJson, Scientific, skip_clean};
use heapless::String;

/// A request id or progress token in its original spelling: a string or an integer, as JSON text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id<'f> {
    text: &'f str,
    hash: u32,
}

/// An id that outlives its frame: up to [`MAX_ID`] bytes, and their number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OwnedId(String<MAX_ID, u8>);

/// Maximum length of an id or progress token, in bytes of JSON text, quotes included: 96, and 48 on
/// bare metal. A UUID with a prefix fits into either; the ids of requests that belong to a task of
/// the Python SDK 1.x have 92. Each open request holds an id and a token of this size. The error
/// response to a longer id repeats it up to 1,024 bytes, and has no id beyond that.
pub const MAX_ID: usize = if cfg!(small) { 48 } else { 96 };

impl<'f> Id<'f> {
    /// Parses `text`, which is a scanned value. Returns `None` for a value that is not a valid id:
    /// null, a fraction, an object...
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn parse(text: &'f str) -> Option<Self> {
        // Most ids consist of digits only.
        if cfg!(not(small))
            && matches!(text.as_bytes(), [b'1'..=b'9', ..])
            && let Some(hash) = hash_digits(text.as_bytes())
        {
            return Some(Self { text, hash: hash.max(1) });
        }
        Self::parse_any(text)
    }

    #[cfg_attr(not(small), inline(never))]
    fn parse_any(text: &'f str) -> Option<Self> {
        let bytes = text.as_bytes();
        let hash = match bytes {
            [b'"', ..] if cfg!(small) => {
                let text = JsonStr::scanned(text);
                text.chars().fold(STRING, |hash, c| mix_word(hash, u32::from(c)))
            }
            // Without escapes, a string has only one spelling.
            [b'"', inner @ .., b'"'] if skip_clean(bytes, 1) > inner.len() => {
                hash_bytes(STRING, inner)
            }
            [b'"', ..] => {
                // An id that does not fit is rejected as too long, so its hash does not matter.
                let mut decoded = [0; MAX_ID];
                hash_bytes(
                    STRING,
                    JsonStr::scanned(text).copy_to(&mut decoded).unwrap_or_default().as_bytes(),
                )
            }
            [b'-' | b'0'..=b'9', ..] => hash_number(text)?,
            _ => return None,
        };
        Some(Self { text, hash: hash.max(1) })
    }

    pub(crate) fn as_str(self) -> &'f str {
        self.text
    }

    /// Returns the value, if it is a number that this library may have assigned.
    pub(crate) fn as_u32(self) -> Option<u32> {
        RawJson::scanned(self.text).as_u64()?.try_into().ok()
    }

    /// Returns whether it is too long for an [`OwnedId`].
    pub(crate) fn is_too_long(self) -> bool {
        self.text.len() > MAX_ID
    }

    /// Returns a hash of the value, never zero.
    pub(crate) fn hash(self) -> u32 {
        self.hash
    }

    pub(crate) fn matches(self, other: &OwnedId) -> bool {
        let other = other.as_str();
        if self.text == other {
            return true;
        }
        let (a, b) = (RawJson::scanned(self.text), RawJson::scanned(other));
        match (a.as_string(), b.as_string()) {
            (Some(a), Some(b)) => a == b,
            (None, None) => Scientific::new(self.text) == Scientific::new(other),
            _ => false,
        }
    }
}

impl OwnedId {
    pub(crate) const EMPTY: Self = Self(String::new());

    /// Assigns in place; an `OwnedId` is 49 bytes.
    pub(crate) fn set(&mut self, id: Id<'_>) {
        self.0.clear();
        // Longer ids have been rejected before.
        let _ = self.0.push_str(id.text);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Hashes an integer in any spelling. Returns `None` if it is no integer.
fn hash_number(text: &str) -> Option<u32> {
    let number = Scientific::new(text);
    let seed = if number.sign < 0 { !INTEGER } else { INTEGER };
    Some(number.integer()?.fold(seed, |hash, digit| mix_word(hash, u32::from(digit))))
}

/// Hashes digits, of which the first is not zero, as [`hash_number`] does. Returns `None` if there
/// are other bytes, or more digits than an id can have.
fn hash_digits(bytes: &[u8]) -> Option<u32> {
    let mut hash = INTEGER;
    for digit in bytes {
        if !digit.is_ascii_digit() {
            return None;
        }
        hash = mix_word(hash, u32::from(*digit));
    }
    (bytes.len() <= MAX_ID).then_some(hash)
}

fn mix_word(hash: u32, word: u32) -> u32 {
    (hash ^ word).wrapping_mul(0x9e37_79b1).rotate_left(15)
}

/// Hashes bytes, four at a time: ids may be as long as a UUID.
fn hash_bytes(seed: u32, bytes: &[u8]) -> u32 {
    let (mut hash, mut rest) = (seed, bytes);
    while let Some((word, after)) = rest.split_first_chunk() {
        hash = mix_word(hash, u32::from_le_bytes(*word));
        rest = after;
    }
    rest.iter().fold(hash, |hash, b| mix_word(hash, u32::from(*b)))
}

/// Seeds that make `"1"` and `1` differ.
const STRING: u32 = 0x811c_9dc5;
const INTEGER: u32 = 0x5c9d_11c8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ids_have_equal_hashes() {
        let hash = |text| Id::parse(text).map(Id::hash);
        let same = [
            ["1", "1.0", "10e-1"],
            ["-20", "-2e1", "-20.00"],
            ["0", "-0", "0e9"],
            ["\"abcdefg\"", "\"\\u0061bcdefg\"", "\"abcd\\u0065fg\""],
            ["\"\"", "\"\"", "\"\""],
            ["\"/\"", "\"\\/\"", "\"\\u002f\""],
        ];
        for (at, spellings) in same.iter().enumerate() {
            for spelling in spellings {
                assert!(
                    hash(spelling).is_some_and(|hash| hash != 0)
                        && hash(spelling) == hash(spellings[0]),
                    "{spelling}"
                );
                let mut kept = OwnedId::default();
                kept.set(Id::parse(spelling).unwrap());
                for (other, others) in same.iter().enumerate() {
                    assert_eq!(
                        Id::parse(others[1]).unwrap().matches(&kept),
                        at == other,
                        "{spelling} {}",
                        others[1]
                    );
                }
            }
        }
        assert_ne!(hash("1"), hash("\"1\""));
        assert_ne!(hash("1"), hash("-1"));
        for no_id in ["1.5", "null", "{}", "[1]", "true", "1e400"] {
            assert!(Id::parse(no_id).is_none(), "{no_id}");
        }
    }
}
