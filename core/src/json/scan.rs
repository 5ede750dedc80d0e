//! JSON scanner: validates a value and finds its end. It is iterative, uses constant memory and
//! panics on no input.
//!
//! Its functions are `const`, so that [`RawJson::from_static`](super::RawJson::from_static) can
//! check literals at compile time. It works on the bytes of a `str`, so they are known to be UTF-8.

/// Maximum nesting depth of arrays and objects in a frame, including the outermost. The scanner
/// keeps one bit a level, in a `u64`.
pub const MAX_DEPTH: u32 = 64;

/// Error of parsing JSON text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SyntaxError {
    /// Offset in bytes of the first invalid byte.
    pub at: usize,
    /// Whether the nesting is deeper than [`MAX_DEPTH`]; otherwise the text is invalid JSON.
    pub too_deep: bool,
}

impl core::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let reason = if self.too_deep { "JSON nested too deeply" } else { "invalid JSON" };
        write!(f, "{reason} at byte {}", self.at)
    }
}

crate::text::error_type!(SyntaxError);

/// A [`SyntaxError`] in one word, so that results of the scanner are returned in registers. The
/// highest bit says whether the nesting is too deep: no offset in a slice has it set.
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

    pub(crate) const fn position(self) -> usize {
        self.0 & !Self::TOO_DEEP
    }

    pub(crate) const fn is_too_deep(self) -> bool {
        self.0 & Self::TOO_DEEP != 0
    }
}

impl From<ScanError> for SyntaxError {
    fn from(error: ScanError) -> Self {
        Self { at: error.position(), too_deep: error.is_too_deep() }
    }
}

/// Returns the end of the value that begins at `at`, which must not be whitespace. `outer_depth` is
/// the number of arrays and objects around it.
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
        // A value begins here.
        let end = match byte(text, at) {
            b'"' => skip_string(text, at),
            b'{' | b'[' if outer_depth + depth >= MAX_DEPTH => Err(ScanError::too_deep(at)),
            open @ (b'{' | b'[') => {
                let inner = skip_whitespace(text, at + 1);
                if byte(text, inner) == open + 2 {
                    Ok(inner + 1)
                } else {
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
            b'-' | b'0'..=b'9' => skip_number(text, at),
            b't' => skip_word(text, at, b"true"),
            b'f' => skip_word(text, at, b"false"),
            b'n' => skip_word(text, at, b"null"),
            _ => Err(ScanError::at(at)),
        };
        match end {
            Ok(end) => at = end,
            Err(e) => return Err(e),
        }
        // A value has ended: close all that ends here, or move to the next member or element.
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

/// Like [`skip_value`], with fast paths for strings and numbers. `first` is the first byte of the
/// value.
#[cfg(not(small))]
#[inline(always)]
pub(crate) fn skip_member(
    text: &[u8],
    at: usize,
    first: u8,
    outer_depth: u32,
) -> Result<usize, ScanError> {
    match first {
        b'"' => skip_string(text, at),
        // Ids and most other numbers consist of digits only.
        b'1'..=b'9' => {
            let end = skip_digits(text, at + 1);
            if matches!(byte(text, end), b'.' | b'e' | b'E') {
                skip_number(text, at)
            } else {
                Ok(end)
            }
        }
        b'-' | b'0'..=b'9' => skip_number(text, at),
        b'{' if outer_depth < MAX_DEPTH && byte(text, at + 1) == b'}' => Ok(at + 2),
        b'{' if outer_depth < MAX_DEPTH => match skip_plain(text, at + 1) {
            Some(end) => Ok(end),
            None => skip_value(text, at, outer_depth),
        },
        _ => skip_value(text, at, outer_depth),
    }
}

/// Returns the end of an object that began before `at` and is as the members of `_meta` usually
/// are: strings without escapes and without whitespace between them.
#[cfg(not(small))]
fn skip_plain(text: &[u8], at: usize) -> Option<usize> {
    let (mut at, mut is_key) = (at, true);
    while byte(text, at) == b'"' {
        if is_key && let Some(end) = skip_info_key(text, at) {
            (at, is_key) = (end, false);
            continue;
        }
        at = skip_clean(text, at + 1);
        match (byte(text, at), byte(text, at + 1)) {
            (b'"', b':') if is_key => {}
            (b'"', b',') if !is_key => {}
            (b'"', b'}') if !is_key => return Some(at + 2),
            _ => return None,
        }
        (at, is_key) = (at + 2, !is_key);
    }
    None
}

/// Returns the end of a key that each `clientInfo` has, with its colon, if one is at `at`: compared
/// as a whole, without a search for its end.
#[cfg(not(small))]
#[inline(always)]
fn skip_info_key(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if rest.starts_with(b"\"name\":") {
        return Some(at + 7);
    }
    rest.starts_with(b"\"version\":").then_some(at + 10)
}

/// Returns the offset of the next byte that is not whitespace, and the byte: zero at the end.
#[cfg(not(small))]
#[inline]
pub(crate) const fn next_byte(text: &[u8], at: usize) -> (usize, u8) {
    let first = byte(text, at);
    // Most frames have no whitespace.
    if first > b' ' {
        return (at, first);
    }
    let at = skip_spaces(text, at);
    (at, byte(text, at))
}

/// Returns the offset of the next byte that is not whitespace.
#[cfg_attr(not(small), inline)]
pub(crate) const fn skip_whitespace(text: &[u8], at: usize) -> usize {
    if byte(text, at) > b' ' { at } else { skip_spaces(text, at) }
}

#[cfg_attr(not(small), inline(never))]
const fn skip_spaces(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while matches!(byte(text, at), b' ' | b'\t' | b'\n' | b'\r') {
        at += 1;
    }
    at
}

/// Skips the key at `at` and its colon, and returns the start of the value.
pub(crate) const fn skip_key(text: &[u8], at: usize) -> Result<usize, ScanError> {
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

/// Returns the byte at `at`; past the end zero, which is not valid anywhere in JSON.
#[inline]
pub(crate) const fn byte(text: &[u8], at: usize) -> u8 {
    if at < text.len() { text[at] } else { 0 }
}

// Searches for members in scanned text, while compiling.

/// Whether two members of an object have the same key, at any depth of scanned text. Escapes are
/// not decoded. Each key is compared with all before it, so the text must not be a peer's.
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

/// Whether two members of the object that begins at `open` have the same key; its values are not
/// searched.
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

/// Whether scanned text is an object with this member, both parts written alike.
pub(crate) const fn has_member(text: &[u8], key: &[u8], value: &[u8]) -> bool {
    let mut at = skip_whitespace(text, 1);
    while byte(text, at) == b'"' {
        if begins_with(text, at, key)
            && let Ok(start) = skip_key(text, at)
        {
            return begins_with(text, start, value);
        }
        at = next_key(text, at);
    }
    false
}

pub(crate) const fn begins_with(text: &[u8], at: usize, part: &[u8]) -> bool {
    let mut i = 0;
    while i < part.len() && byte(text, at + i) == part[i] {
        i += 1;
    }
    i == part.len()
}

/// `==`, which is not `const`.
pub(crate) const fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && begins_with(one.as_bytes(), 0, other.as_bytes())
}

/// Returns the start of the key after the member at `key`, or the end of the text if that was the
/// last one.
const fn next_key(text: &[u8], key: usize) -> usize {
    if let Ok(value) = skip_key(text, key)
        && let Ok(end) = skip_value(text, value, 0)
    {
        return behind(text, end);
    }
    text.len()
}

/// Returns the start of the member or element behind the one that ends at `end`, or the end of the
/// text if that was the last one.
pub(crate) const fn behind(text: &[u8], end: usize) -> usize {
    let comma = skip_whitespace(text, end);
    if byte(text, comma) == b',' { skip_whitespace(text, comma + 1) } else { text.len() }
}

pub(crate) const fn same_key(text: &[u8], one: usize, other: usize) -> bool {
    let mut i = 1;
    while byte(text, one + i) == byte(text, other + i) {
        match byte(text, one + i) {
            b'"' => return true,
            b'\\' if byte(text, one + i + 1) != byte(text, other + i + 1) => return false,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    false
}

// Finds the end of strings, many bytes at a time.
//
// Here a byte is *special* if it cannot be part of a string as it is: a quote, a backslash or a
// control character. Text without special bytes is *clean*.

/// Returns the end of the string whose opening quote is at `at`.
#[cfg_attr(not(small), inline)]
pub(crate) const fn skip_string(text: &[u8], at: usize) -> Result<usize, ScanError> {
    let end = skip_clean(text, at + 1);
    if byte(text, end) == b'"' { Ok(end + 1) } else { skip_escapes(text, end) }
}

/// Returns the end of a string from its first special byte on.
#[cfg_attr(not(small), inline(never))]
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
#[cfg_attr(not(small), inline(never))]
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
#[cfg_attr(not(small), inline(never))]
const fn skip_clean_blocks(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let Some((block, after)) = rest.split_first_chunk::<64>()
        && !has_special(block)
    {
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
#[cfg_attr(not(small), inline(never))]
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
    #[cfg(not(small))]
    fn plain_objects_end_where_the_scanner_ends_them() {
        let objects = [
            (r#"{"a":"b"}"#, true),
            (r#"{}"#, false),
            (r#"{"name":"a longer name","version":"1.0.0"},"c":1"#, true),
            (r#"{ }"#, false),
            (r#"{"a" :"b"}"#, false),
            (r#"{"a":"b" }"#, false),
            (r#"{"a":1}"#, false),
            (r#"{"name":1}"#, false),
            (r#"{"name":"a","version":null}"#, false),
            (r#"{"a":{}}"#, false),
            (r#"{"a\u0062":"b"}"#, false),
            (r#"{"a":"\""}"#, false),
        ];
        for (object, is_plain) in objects {
            let object = object.as_bytes();
            let end = skip_value(object, 0, 0).ok();
            assert_eq!(skip_plain(object, 1), end.filter(|_| is_plain));
        }
        for invalid in [
            "{",
            "{\"name\":",
            "{\"a",
            "{\"a\"",
            "{\"a\"}",
            "{\"a\":\"b",
            "{\"a\":\"b\",}",
            "{\"a\",\"b\"}",
        ] {
            assert_eq!(skip_plain(invalid.as_bytes(), 1), None, "{invalid}");
        }
    }

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
