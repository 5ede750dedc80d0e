//! Base64 (RFC 4648) of text that is written in pieces, and base64url back to bytes.

use core::fmt;

use super::writer::Writer;

/// Encodes what is written to it.
pub(super) struct Base64<'w, 'b> {
    out: &'w mut Writer<'b>,
    digits: &'static str,
    /// Bits that have not left yet: 8 or 16 of them, or none.
    held: u32,
    held_bytes: u8,
}

impl<'w, 'b> Base64<'w, 'b> {
    /// Encodes as Base64 with padding.
    pub(super) const fn standard(out: &'w mut Writer<'b>) -> Self {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        Self { out, digits, held: 0, held_bytes: 0 }
    }

    /// Encodes as base64url without padding.
    pub(super) const fn url(out: &'w mut Writer<'b>) -> Self {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        Self { out, digits, held: 0, held_bytes: 0 }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.held = self.held << 8 | u32::from(*byte);
            self.held_bytes += 1;
            if self.held_bytes == 3 {
                self.put_digits(4);
                (self.held, self.held_bytes) = (0, 0);
            }
        }
    }

    /// Writes what is held.
    pub(super) fn finish(mut self) {
        let len = self.held_bytes;
        if len > 0 {
            self.held <<= 8 * (3 - u32::from(len));
            self.put_digits(len + 1);
            if self.digits.ends_with('/') {
                self.out.put(if len == 1 { "==" } else { "=" });
            }
        }
    }

    fn put_digits(&mut self, count: u8) {
        for shift in [18, 12, 6, 0].into_iter().take(usize::from(count)) {
            let at = (self.held >> shift & 63) as usize;
            self.out.put(self.digits.get(at..=at).unwrap_or_default());
        }
    }
}

impl fmt::Write for Base64<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

/// Writes bytes as base64url without padding.
pub fn put_base64url(bytes: &[u8], out: &mut Writer<'_>) {
    let mut base64 = Base64::url(out);
    base64.put(bytes);
    base64.finish();
}

/// Decodes base64url without padding into the beginning of `out` and returns the bytes; `None` if
/// they do not fit, or if the text is not what an encoder writes.
pub fn decode_base64url<'b>(text: &str, out: &'b mut [u8]) -> Option<&'b [u8]> {
    let (mut held, mut bits, mut len) = (0u32, 0, 0);
    for byte in text.bytes() {
        held = held << 6 | u32::from(value_of(byte)?);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            *out.get_mut(len)? = (held >> bits) as u8;
            len += 1;
            held &= (1 << bits) - 1;
        }
    }
    // One text for each sequence of bytes: the last bits are zero, and are no whole digit.
    if held != 0 || bits >= 6 {
        return None;
    }
    out.get(..len)
}

fn value_of(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;

    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::*;

    #[test]
    fn text_is_that_of_the_crate_base64() {
        let mut seed = 1u32;
        for len in 0..70 {
            let bytes: std::vec::Vec<u8> = (0..len)
                .map(|_| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 24) as u8
                })
                .collect();
            for (engine, is_url) in [(STANDARD, false), (URL_SAFE_NO_PAD, true)] {
                let (mut expected, mut memory) = ([0; 96], [0; 96]);
                let expected_len = engine.encode_slice(&bytes, &mut expected).unwrap();
                let mut out = Writer::new(&mut memory);
                let mut base64 =
                    if is_url { Base64::url(&mut out) } else { Base64::standard(&mut out) };
                let (first, second) = bytes.split_at(len / 2);
                base64.put(first);
                base64.put(second);
                base64.finish();
                assert_eq!(out.as_str().as_bytes(), &expected[..expected_len]);
                if is_url {
                    let mut decoded = [0; 70];
                    assert_eq!(decode_base64url(out.as_str(), &mut decoded), Some(&bytes[..]));
                    assert_eq!(
                        decode_base64url(out.as_str(), &mut decoded[..len.max(1) - 1]).is_none(),
                        len > 0
                    );
                }
            }
        }
    }

    #[test]
    fn texts_of_two_characters_are_decoded_as_the_crate_base64_does() {
        for a in 0..=127u8 {
            for b in 0..=127u8 {
                let text = format!("AB{}{}", char::from(a), char::from(b));
                for text in [&text[..], &text[2..], &text[3..], &text[1..]] {
                    let (mut mine, mut theirs) = ([0; 4], [0; 8]);
                    let mine = decode_base64url(text, &mut mine);
                    let theirs = URL_SAFE_NO_PAD.decode_slice(text, &mut theirs).ok();
                    assert_eq!(mine.map(<[u8]>::len), theirs, "{text:?}");
                }
            }
        }
    }
}
