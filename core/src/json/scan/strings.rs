//! Finds the end of strings, many bytes at a time.
//!
//! In this module a byte is *special* if it cannot be part of a string as it is: a quote, a
//! backslash or a control character. Text without special bytes is *clean*.

use super::{ScanError, byte};

/// Returns the end of the string whose opening quote is at `at`.
#[cfg_attr(not(small), inline)]
pub(crate) const fn skip_string(text: &[u8], at: usize) -> Result<usize, ScanError> {
    let end = skip_clean(text, at + 1);
    if byte(text, end) == b'"' { Ok(end + 1) } else { skip_escapes(text, end) }
}

/// Returns the end of a string from its first special byte on.
#[inline(never)]
pub(crate) const fn skip_escapes(text: &[u8], at: usize) -> Result<usize, ScanError> {
    let mut at = at;
    loop {
        match byte(text, at) {
            b'"' => return Ok(at + 1),
            b'\\' => match skip_escape(text, at) {
                Ok(end) => at = skip_clean(text, end),
                Err(e) => return Err(e),
            },
            _ => return Err(ScanError::at(at)),
        }
    }
}

/// Returns the offset of the first special byte from `at` on, or the end.
///
/// Reads eight bytes at a time, since most strings are short, and larger blocks in long strings.
/// With the cfg `small` it reads single bytes: such processors have words of four bytes and no
/// unaligned loads.
#[cfg_attr(not(small), inline(always))]
pub(crate) const fn skip_clean(text: &[u8], at: usize) -> usize {
    match word(text, at) {
        Some(word) => match special_bytes(word) {
            0 => skip_clean_words(text, at + 8),
            hits => at + (hits.trailing_zeros() / 8) as usize,
        },
        None => skip_clean_end(text, at),
    }
}

/// Whether the text contains no special byte.
#[cfg_attr(not(small), inline)]
pub(crate) const fn is_clean(text: &[u8]) -> bool {
    if cfg!(not(small)) && text.len() < 8 {
        is_clean_key(text)
    } else {
        skip_clean(text, 0) == text.len()
    }
}

/// Like [`is_clean`], for short text. It is constant-folded if the text is known at compile time.
#[cfg_attr(not(small), inline(always))]
#[cfg_attr(small, inline(never))]
pub(crate) const fn is_clean_key(text: &[u8]) -> bool {
    if cfg!(not(small)) {
        // The last word may overlap the one before it, so no bytes are left over.
        if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
            let mut found = special_bytes(u64::from_le_bytes(*first))
                | special_bytes(u64::from_le_bytes(*last));
            let mut at = 8;
            while at + 8 < text.len() {
                found |= match word(text, at) {
                    Some(word) => special_bytes(word),
                    None => 0,
                };
                at += 8;
            }
            return found == 0;
        }
        if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
            return special_bytes(
                u32::from_le_bytes(*first) as u64 | (u32::from_le_bytes(*last) as u64) << 32,
            ) == 0;
        }
    }
    skip_clean_bytes(text, 0) == text.len()
}

/// [`skip_clean`] after a clean first word: the string may be long.
#[inline(never)]
const fn skip_clean_words(text: &[u8], at: usize) -> usize {
    let (_, mut rest) = split(text, at);
    let mut blocks = 0;
    // The block with a special byte is searched again below, by words.
    while let Some((block, after)) = rest.split_first_chunk::<16>() {
        if has_special(block) {
            break;
        }
        rest = after;
        blocks += 1;
        if blocks == LONG_STRING_BLOCKS {
            rest = skip_clean_blocks(rest);
        }
    }
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let hits = special_bytes(u64::from_le_bytes(*word));
        if hits != 0 {
            return text.len() - rest.len() + (hits.trailing_zeros() / 8) as usize;
        }
        rest = after;
    }
    skip_clean_end(text, text.len() - rest.len())
}

/// Sets the high bit of the first special byte of `word`, in memory order. Bits of later bytes may
/// be wrong.
#[inline]
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The subtraction sets the high bit of an ASCII byte that is less than the subtrahend, and
    // borrows only from later bytes. Flipping 0x02 turns a quote into 0x20, right after the control
    // characters, which it maps to control characters: one comparison finds both.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (quote_or_control | backslash) & !word & (ONES << 7)
}

/// Returns the rest of the text after its leading clean blocks of 64 bytes.
#[inline(never)]
const fn skip_clean_blocks(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some((block, after)) = rest.split_first_chunk::<64>() {
        if has_special(block) {
            break;
        }
        rest = after;
    }
    rest
}

/// Whether a block contains a special byte, written so that the compiler vectorizes it.
#[inline(always)]
const fn has_special<const N: usize>(block: &[u8; N]) -> bool {
    let mut special = false;
    let mut i = 0;
    while i < N {
        // `||` would compile to branches.
        let b = block[i];
        special |= ((b ^ 0x02) < 0x21) | (b == b'\\');
        i += 1;
    }
    special
}

/// [`skip_clean`] for less than a word at the end of the text.
#[inline]
const fn skip_clean_end(text: &[u8], at: usize) -> usize {
    // Shifts the bytes before `at` out of the last word. The zeros that fill it are special and
    // mark the end.
    if cfg!(not(small))
        && let Some(word) = text.last_chunk::<8>()
        && at < text.len()
    {
        let left = (text.len() - at) as u32;
        let word = u64::from_le_bytes(*word) >> (64 - 8 * left);
        return at + (special_bytes(word).trailing_zeros() / 8) as usize;
    }
    skip_clean_bytes(text, at)
}

/// [`skip_clean`] byte by byte, for short text.
#[inline(never)]
const fn skip_clean_bytes(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while at < text.len() && !is_special(text[at]) {
        at += 1;
    }
    at
}

/// Returns the eight bytes at `at`, if that many are left; never with the cfg `small`.
#[inline]
const fn word(text: &[u8], at: usize) -> Option<u64> {
    if cfg!(not(small))
        && let Some((_, rest)) = text.split_at_checked(at)
        && let Some(word) = rest.first_chunk::<8>()
    {
        return Some(u64::from_le_bytes(*word));
    }
    None
}

#[inline]
const fn is_special(byte: u8) -> bool {
    matches!(byte, 0..0x20 | b'"' | b'\\')
}

const fn skip_escape(text: &[u8], at: usize) -> Result<usize, ScanError> {
    match byte(text, at + 1) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' => {
            let mut i = at + 2;
            while i < at + 6 {
                if !byte(text, i).is_ascii_hexdigit() {
                    return Err(ScanError::at(i));
                }
                i += 1;
            }
            Ok(i)
        }
        _ => Err(ScanError::at(at + 1)),
    }
}

/// `split_at` without a panic: the whole text and nothing if `at` is past the end.
#[inline]
const fn split(text: &[u8], at: usize) -> (&[u8], &[u8]) {
    match text.split_at_checked(at) {
        Some(parts) => parts,
        None => (text, &[]),
    }
}

/// Number of clean 16-byte blocks after which larger blocks are used.
const LONG_STRING_BLOCKS: u32 = 4;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;

    use super::*;

    #[test]
    fn the_first_special_byte_is_found_at_any_offset_among_any_bytes() {
        // Bytes that differ from a special one by one bit or by one, and bytes outside of ASCII.
        for filler in [b'a', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
            for len in (0..40).chain((40..320).step_by(31)) {
                // Not all offsets of long text.
                let step = 1 + len / 40;
                for special in [b'"', b'\\', 0, 1, 0x1f, b'\n'] {
                    let mut text = vec![filler; len];
                    assert!(is_clean(&text) && is_clean_key(&text));
                    assert_eq!(skip_clean(&text, len + 1), len + 1);
                    for at in (0..=len).step_by(step) {
                        assert_eq!(skip_clean(&text, at), len, "{filler} {at}");
                    }
                    for place in (0..len).step_by(step) {
                        text[place] = special;
                        // A second special byte after it must not matter.
                        *text.last_mut().unwrap() = special;
                        assert!(!is_clean(&text) && !is_clean_key(&text));
                        for at in (0..=place).step_by(step + 2) {
                            assert_eq!(
                                skip_clean(&text, at),
                                place,
                                "{filler} {special} {len} {at}"
                            );
                        }
                        text = vec![filler; len];
                    }
                }
            }
        }
    }
}
