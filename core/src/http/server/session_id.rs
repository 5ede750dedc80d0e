//! Session ids.

use core::fmt;

/// The value of `Mcp-Session-Id`: 32 hexadecimal digits. The client sends it with every request of
/// the session.
///
/// A secret, but not a proof of identity: with authenticated users, accept a session only from the
/// user who opened it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// Creates an id from 16 unpredictable bytes: from the operating system's or a hardware source
    /// of randomness, not from a counter, a clock or an ordinary generator.
    #[must_use]
    pub fn from_random(random: [u8; 16]) -> Self {
        let mut text = [0; 32];
        for (digits, byte) in text.chunks_exact_mut(2).zip(random) {
            for (digit, value) in digits.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = if value < 10 { b'0' + value } else { b'a' - 10 + value };
            }
        }
        Self(text)
    }

    /// Returns the value of `Mcp-Session-Id`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Whether `text` is this id, compared in constant time.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        let differing = self
            .0
            .iter()
            .zip(text.as_bytes())
            .fold(0, |differing, (one, other)| differing | (one ^ other));
        text.len() == self.0.len() && differing == 0
    }
}

impl fmt::Debug for SessionId {
    /// Shows four digits only, since logs must not contain the id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({}...)", self.as_str().get(..4).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn an_id_shows_its_random_bytes_and_equals_itself() {
        let id =
            SessionId::from_random([0, 1, 0x9a, 0xff, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(id.as_str(), "00019aff0405060708090a0b0c0d0e0f");
        assert!(id.is(id.as_str()));
        assert_eq!(std::format!("{id:?}"), "SessionId(0001...)");
        for other in [
            "",
            "0",
            "00019aff0405060708090a0b0c0d0e0",
            "00019aff0405060708090a0b0c0d0e0e",
            "00019aff0405060708090a0b0c0d0e0f0",
            "11019aff0405060708090a0b0c0d0e0f",
        ] {
            assert!(!id.is(other), "{other}");
        }
    }
}
