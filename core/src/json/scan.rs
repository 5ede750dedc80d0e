//! The scanner: finds where a value ends, and that it is one. Iterative, constant memory, no panic
//! on any input.
//!
//! It is a `const fn`, so that [`RawJson::from_static`](super::RawJson::from_static) is checked
//! while the program is compiled. It works on the bytes of a `str`: that they are UTF-8 has been
//! checked before.

/// How deeply arrays and objects may be nested in a frame, the outermost included. One bit each of
/// a 64-bit stack.
pub const MAX_DEPTH: u32 = 64;

/// Where and why a text is not JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyntaxError {
    /// Offset of the first byte that does not fit, in bytes.
    pub at: usize,
    /// Whether the nesting is deeper than [`MAX_DEPTH`]; otherwise the text is not JSON.
    pub too_deep: bool,
}

impl core::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let what = if self.too_deep { "JSON nested too deeply" } else { "not JSON" };
        write!(f, "{what} at byte {}", self.at)
    }
}

impl core::error::Error for SyntaxError {}

/// A [`SyntaxError`] in one word, so that what the scanner returns stays in registers: no slice
/// reaches the highest bit of an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScanError(usize);

impl ScanError {
    const TOO_DEEP: usize = !(usize::MAX >> 1);

    pub(crate) const fn at(at: usize) -> Self {
        Self(at)
    }

    const fn too_deep(at: usize) -> Self {
        Self(at | Self::TOO_DEEP)
    }

    pub(crate) const fn is_too_deep(self) -> bool {
        self.0 & Self::TOO_DEEP != 0
    }
}

impl From<ScanError> for SyntaxError {
    fn from(fault: ScanError) -> Self {
        Self { at: fault.0 & !ScanError::TOO_DEEP, too_deep: fault.is_too_deep() }
    }
}

/// The end of the value that begins at `at`, which must not be whitespace. `outer_depth` levels of nesting
/// surround it.
pub(crate) const fn skip_value(
    text: &[u8],
    at: usize,
    outer_depth: u32,
) -> Result<usize, ScanError> {
    let mut at = at;
    // One bit a level: set for an object.
    let mut objects = 0u64;
    let mut depth = 0;
    loop {
        // A value is due.
        match byte(text, at) {
            b'"' => match skip_string(text, at) {
                Ok(end) => at = end,
                Err(e) => return Err(e),
            },
            open @ (b'{' | b'[') => {
                let inner = skip_whitespace(text, at + 1);
                if byte(text, inner) == open + 2 && inner < text.len() {
                    if outer_depth + depth >= MAX_DEPTH {
                        return Err(ScanError::too_deep(at));
                    }
                    at = inner + 1;
                } else {
                    if outer_depth + depth >= MAX_DEPTH {
                        return Err(ScanError::too_deep(at));
                    }
                    depth += 1;
                    objects <<= 1;
                    at = inner;
                    if open == b'{' {
                        objects |= 1;
                        match skip_key(text, at) {
                            Ok(value) => at = value,
                            Err(e) => return Err(e),
                        }
                    }
                    continue;
                }
            }
            b'-' | b'0'..=b'9' => match skip_number(text, at) {
                Ok(end) => at = end,
                Err(e) => return Err(e),
            },
            b't' => match skip_word(text, at, b"true") {
                Ok(end) => at = end,
                Err(e) => return Err(e),
            },
            b'f' => match skip_word(text, at, b"false") {
                Ok(end) => at = end,
                Err(e) => return Err(e),
            },
            b'n' => match skip_word(text, at, b"null") {
                Ok(end) => at = end,
                Err(e) => return Err(e),
            },
            _ => return Err(ScanError::at(at)),
        }
        // A value has ended: close what ends here, or go on to the next member or element.
        loop {
            if depth == 0 {
                return Ok(at);
            }
            at = skip_whitespace(text, at);
            let in_object = objects & 1 == 1;
            match byte(text, at) {
                b',' => {
                    at = skip_whitespace(text, at + 1);
                    if in_object {
                        match skip_key(text, at) {
                            Ok(value) => at = value,
                            Err(e) => return Err(e),
                        }
                    }
                    break;
                }
                b'}' if in_object => {}
                b']' if !in_object => {}
                _ => return Err(ScanError::at(at)),
            }
            at += 1;
            depth -= 1;
            objects >>= 1;
        }
    }
}

/// Whether two members of one object have the same key, as it is written, somewhere in scanned
/// text. For text of a program's own: keys are compared with all that come before.
pub(crate) const fn has_duplicate_key(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => match skip_string(text, at) {
                Ok(end) => at = end,
                Err(_) => return false,
            },
            b'{' => {
                if object_has_duplicate_key(text, at) {
                    return true;
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    false
}

/// The same of the object that begins at `open`, without what is inside of its values.
const fn object_has_duplicate_key(text: &[u8], open: usize) -> bool {
    let first = skip_whitespace(text, open + 1);
    let mut at = first;
    while byte(text, at) == b'"' {
        let mut earlier = first;
        while earlier < at {
            if same_key(text, earlier, at) {
                return true;
            }
            earlier = next_key(text, earlier);
        }
        at = next_key(text, at);
    }
    false
}

/// Where the key behind the member at `key` begins; the end of the text where that was the last
/// one.
const fn next_key(text: &[u8], key: usize) -> usize {
    if let Ok(value) = skip_key(text, key)
        && let Ok(end) = skip_value(text, value, 0)
    {
        let comma = skip_whitespace(text, end);
        if byte(text, comma) == b',' {
            return skip_whitespace(text, comma + 1);
        }
    }
    text.len()
}

const fn same_key(text: &[u8], one: usize, other: usize) -> bool {
    let mut i = 1;
    while byte(text, one + i) == byte(text, other + i) {
        match byte(text, one + i) {
            b'"' => return true,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    false
}

/// The same as [`skip_value`], without its machinery for what has no inside. The value's first byte
/// is known.
#[cfg_attr(not(small), inline(always))]
#[cfg_attr(small, inline(never))]
pub(crate) fn skip_member(
    text: &[u8],
    at: usize,
    first: u8,
    outer_depth: u32,
) -> Result<usize, ScanError> {
    match first {
        b'"' => skip_string(text, at),
        // Ids and most other numbers are digits alone.
        b'1'..=b'9' if cfg!(not(small)) => {
            let end = skip_digits(text, at + 1);
            if matches!(byte(text, end), b'.' | b'e' | b'E') {
                skip_number(text, at)
            } else {
                Ok(end)
            }
        }
        b'-' | b'0'..=b'9' => skip_number(text, at),
        _ => skip_value(text, at, outer_depth),
    }
}

/// The next byte that is not whitespace, and where it is. Zero at the end.
#[cfg_attr(not(small), inline)]
#[cfg_attr(small, inline(never))]
pub(crate) const fn next_byte(text: &[u8], at: usize) -> (usize, u8) {
    let first = byte(text, at);
    // Most frames have no whitespace.
    if first > b' ' {
        return (at, first);
    }
    let at = skip_spaces(text, at);
    (at, byte(text, at))
}

/// Where the next byte is that is not whitespace.
#[cfg_attr(not(small), inline)]
#[cfg_attr(small, inline(never))]
pub(crate) const fn skip_whitespace(text: &[u8], at: usize) -> usize {
    if byte(text, at) > b' ' { at } else { skip_spaces(text, at) }
}

#[inline(never)]
const fn skip_spaces(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while matches!(byte(text, at), b' ' | b'\t' | b'\n' | b'\r') {
        at += 1;
    }
    at
}

/// The end of the string whose opening quote is at `at`.
#[cfg_attr(not(small), inline)]
#[cfg_attr(small, inline(never))]
pub(crate) const fn skip_string(text: &[u8], at: usize) -> Result<usize, ScanError> {
    let end = skip_clean(text, at + 1);
    if byte(text, end) == b'"' { Ok(end + 1) } else { skip_escapes(text, end) }
}

/// The same from the first byte on that is special and no quote.
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

/// The first byte from `at` on that is special inside a string: a quote, a backslash, a control
/// character; or the end.
///
/// Eight bytes at a time, since most strings are short; whole blocks once it has proved long. A
/// small machine, to which a word is four bytes that it has to load one by one, looks at bytes.
#[cfg_attr(not(small), inline(always))]
#[cfg_attr(small, inline(never))]
pub(crate) const fn skip_clean(text: &[u8], at: usize) -> usize {
    match word(text, at) {
        Some(word) => match special_bytes(word) {
            0 => skip_clean_words(text, at + 8),
            hits => at + (hits.trailing_zeros() / 8) as usize,
        },
        None => skip_clean_end(text, at),
    }
}

/// Whether nothing in a string is special.
#[cfg_attr(not(small), inline)]
#[cfg_attr(small, inline(never))]
pub(crate) const fn is_clean(text: &[u8]) -> bool {
    if cfg!(not(small)) && text.len() < 8 {
        is_clean_key(text)
    } else {
        skip_clean(text, 0) == text.len()
    }
}

/// The same for a short one, in a shape of which nothing is left when the compiler knows it.
#[cfg_attr(not(small), inline(always))]
#[cfg_attr(small, inline(never))]
pub(crate) const fn is_clean_key(text: &[u8]) -> bool {
    if cfg!(not(small)) {
        // Two pieces that overlap, or words of which the last two do: nothing is left over.
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

/// The same when the first word has been clean, and the string may be a long one.
#[inline(never)]
const fn skip_clean_words(text: &[u8], at: usize) -> usize {
    let (_, mut rest) = split(text, at);
    let mut blocks = 0;
    // Blocks, of which the one that ends it is looked at again, by words.
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

/// Marks, in the high bit of its byte, the first byte of `word` that is a quote, a backslash or a
/// control character.
#[inline]
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A byte without its high bit gets it from the subtraction when it was less than that; what a
    // hit borrows from is behind it. With this bit flipped a quote comes right behind the
    // control characters, which stay among themselves.
    let quote_or_control = (word ^ (ONES * 0x02)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (quote_or_control | backslash) & !word & (ONES << 7)
}

/// What is left of a text when blocks in which nothing is special have been skipped.
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

/// Whether anything in a block is special, in a shape that the compiler turns into vector code.
#[inline(always)]
const fn has_special<const N: usize>(block: &[u8; N]) -> bool {
    let mut special = false;
    let mut i = 0;
    while i < N {
        // No `||`, which would be branches.
        let b = block[i];
        special |= ((b ^ 0x02) < 0x21) | (b == b'\\');
        i += 1;
    }
    special
}

/// The same where less than a word is left.
#[inline]
const fn skip_clean_end(text: &[u8], at: usize) -> usize {
    // The last word without what is before: zeros take its place behind, which are special.
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

/// Byte by byte, for few of them.
#[inline(never)]
const fn skip_clean_bytes(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while at < text.len() && !is_special(text[at]) {
        at += 1;
    }
    at
}

/// The eight bytes at `at`, where that many are left and the machine loads them at once.
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

/// From the key at `at` to the value behind its colon.
const fn skip_key(text: &[u8], at: usize) -> Result<usize, ScanError> {
    if byte(text, at) != b'"' {
        return Err(ScanError::at(at));
    }
    match skip_string(text, at) {
        Ok(end) => skip_colon(text, end),
        Err(e) => Err(e),
    }
}

#[inline]
const fn skip_colon(text: &[u8], at: usize) -> Result<usize, ScanError> {
    let at = skip_whitespace(text, at);
    if byte(text, at) != b':' {
        return Err(ScanError::at(at));
    }
    Ok(skip_whitespace(text, at + 1))
}

const fn skip_number(text: &[u8], at: usize) -> Result<usize, ScanError> {
    let mut at = at + (byte(text, at) == b'-') as usize;
    match byte(text, at) {
        b'0' => at += 1,
        b'1'..=b'9' => at = skip_digits(text, at),
        _ => return Err(ScanError::at(at)),
    }
    if byte(text, at) == b'.' {
        let digits = skip_digits(text, at + 1);
        if digits == at + 1 {
            return Err(ScanError::at(digits));
        }
        at = digits;
    }
    if matches!(byte(text, at), b'e' | b'E') {
        let sign = matches!(byte(text, at + 1), b'+' | b'-') as usize;
        let digits = skip_digits(text, at + 1 + sign);
        if digits == at + 1 + sign {
            return Err(ScanError::at(digits));
        }
        at = digits;
    }
    Ok(at)
}

pub(crate) const fn skip_digits(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while byte(text, at).is_ascii_digit() {
        at += 1;
    }
    at
}

const fn skip_word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, ScanError> {
    let mut i = 0;
    while i < word.len() {
        if byte(text, at + i) != word[i] {
            return Err(ScanError::at(at + i));
        }
        i += 1;
    }
    Ok(at + i)
}

/// The byte at `at`; zero, which is legal nowhere, behind the end.
#[inline]
pub(crate) const fn byte(text: &[u8], at: usize) -> u8 {
    if at < text.len() { text[at] } else { 0 }
}

/// `split_at` that cannot panic.
#[inline]
const fn split(text: &[u8], at: usize) -> (&[u8], &[u8]) {
    match text.split_at_checked(at) {
        Some(parts) => parts,
        None => (text, &[]),
    }
}

/// After this many clean blocks a string is taken for a long one.
const LONG_STRING_BLOCKS: u32 = 4;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;

    use super::*;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_is_and_whatever_is_around_it() {
        // What has all bits but one of a special byte, or is next to one, and what is no ASCII.
        for filler in [b'a', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
            for len in (0..40).chain((40..320).step_by(31)) {
                // Of long ones not all places.
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
                        // A second one behind it changes nothing.
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
