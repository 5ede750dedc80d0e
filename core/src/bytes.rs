//! Copying, encoding and splitting without a panic path, which the functions of the standard
//! library have when they are compiled for size.

/// Copies as many bytes as both slices have.
#[inline]
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// Writes the UTF-8 bytes of a character to `out` and returns them.
#[inline]
pub(crate) fn utf8(c: char, out: &mut [u8; 4]) -> &[u8] {
    let code = u32::from(c);
    let low = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
    let len = c.len_utf8();
    *out = match len {
        1 => [code as u8, 0, 0, 0],
        2 => [0xc0 | (code >> 6) as u8, low(0), 0, 0],
        3 => [0xe0 | (code >> 12) as u8, low(6), low(0), 0],
        _ => [0xf0 | (code >> 18) as u8, low(12), low(6), low(0)],
    };
    out.get(..len).unwrap_or_default()
}

/// Splits a text at the first `at`. Given as a character instead of an array, the standard library
/// searches in another way, which has a panic path.
#[cfg(feature = "http")]
pub(crate) fn split_once(text: &str, at: char) -> Option<(&str, &str)> {
    text.split_once([at])
}

/// Returns the parts of a text between all `at`.
#[cfg(feature = "http")]
pub(crate) fn split(text: &str, at: char) -> core::str::Split<'_, [char; 1]> {
    text.split([at])
}

#[cfg(test)]
mod tests {
    #[test]
    fn characters_are_encoded_as_the_standard_library_does() {
        for c in '\0'..=char::MAX {
            assert_eq!(super::utf8(c, &mut [0; 4]), c.encode_utf8(&mut [0; 4]).as_bytes(), "{c:?}");
        }
    }
}
