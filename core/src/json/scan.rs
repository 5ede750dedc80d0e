//! The scanner: finds where a value ends, and that it is one. Iterative, constant memory, no panic on any input.
//!
//! It is a `const fn`, so that [`RawJson::from_static`](super::RawJson::from_static) is checked while the program is compiled. It works on the bytes of a
//! `str`: that they are UTF-8 has been checked before.

/// How deeply arrays and objects may be nested in a frame, the outermost included. One bit each of a 64-bit stack.
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

/// A [`SyntaxError`] in one word, so that what the scanner returns stays in registers: no slice reaches the highest bit of an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault(usize);

impl Fault {
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

impl From<Fault> for SyntaxError {
    fn from(fault: Fault) -> Self {
        Self { at: fault.0 & !Fault::TOO_DEEP, too_deep: fault.is_too_deep() }
    }
}

/// The end of the value that begins at `at`, which must not be whitespace. `used` levels of nesting surround it.
pub(crate) const fn skip_value(text: &[u8], at: usize, used: u32) -> Result<usize, Fault> {
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
                    if used + depth >= MAX_DEPTH {
                        return Err(Fault::too_deep(at));
                    }
                    at = inner + 1;
                } else {
                    if used + depth >= MAX_DEPTH {
                        return Err(Fault::too_deep(at));
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
            _ => return Err(Fault::at(at)),
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
                _ => return Err(Fault::at(at)),
            }
            at += 1;
            depth -= 1;
            objects >>= 1;
        }
    }
}

/// The same as [`skip_value`], without its machinery for what has no inside. The value's first byte is known.
#[cfg_attr(target_pointer_width = "64", inline)]
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
pub(crate) fn skip_member(text: &[u8], at: usize, first: u8, used: u32) -> Result<usize, Fault> {
    match first {
        b'"' => skip_string(text, at),
        b'-' | b'0'..=b'9' => skip_number(text, at),
        _ => skip_value(text, at, used),
    }
}

/// The next byte that is not whitespace, and where it is. Zero at the end.
#[cfg_attr(target_pointer_width = "64", inline)]
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
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
#[cfg_attr(target_pointer_width = "64", inline)]
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
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
#[cfg_attr(target_pointer_width = "64", inline)]
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
pub(crate) const fn skip_string(text: &[u8], at: usize) -> Result<usize, Fault> {
    let end = skip_clean(text, at + 1);
    if byte(text, end) == b'"' { Ok(end + 1) } else { skip_escapes(text, end) }
}

/// The same from the first byte on that is special and no quote.
#[inline(never)]
pub(crate) const fn skip_escapes(text: &[u8], at: usize) -> Result<usize, Fault> {
    let mut at = at;
    loop {
        match byte(text, at) {
            b'"' => return Ok(at + 1),
            b'\\' => match skip_escape(text, at) {
                Ok(end) => at = skip_clean(text, end),
                Err(e) => return Err(e),
            },
            _ => return Err(Fault::at(at)),
        }
    }
}

/// The first byte from `at` on that is special inside a string: a quote, a backslash, a control character; or the end.
///
/// Eight bytes at a time, since most strings are short; whole blocks once it has proved long. A small machine, to which a word is four bytes that it has to
/// load one by one, looks at bytes.
#[cfg_attr(target_pointer_width = "64", inline)]
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
pub(crate) const fn skip_clean(text: &[u8], at: usize) -> usize {
    match word(text, at) {
        Some(word) => match special_bytes(word) {
            0 => skip_clean_words(text, at + 8),
            hits => at + (hits.trailing_zeros() / 8) as usize,
        },
        None => skip_clean_bytes(text, at),
    }
}

/// Whether nothing in a string is special.
#[cfg_attr(target_pointer_width = "64", inline)]
#[cfg_attr(not(target_pointer_width = "64"), inline(never))]
pub(crate) const fn is_clean(text: &[u8]) -> bool {
    // What is shorter than a word is two halves, which overlap.
    if cfg!(target_pointer_width = "64")
        && text.len() < 8
        && let Some(first) = text.first_chunk::<4>()
        && let Some(last) = text.last_chunk::<4>()
    {
        return special_bytes(u32::from_le_bytes(*first) as u64 | (u32::from_le_bytes(*last) as u64) << 32) == 0;
    }
    skip_clean(text, 0) == text.len()
}

/// The same when the first word has been clean, and the string may be a long one.
#[inline(never)]
const fn skip_clean_words(text: &[u8], at: usize) -> usize {
    let mut at = at;
    let mut words = 0;
    while let Some(word) = word(text, at) {
        let hits = special_bytes(word);
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
        words += 1;
        if words == LONG_STRING_WORDS {
            at = skip_clean_blocks(text, at);
        }
    }
    skip_clean_bytes(text, at)
}

/// Marks, in the high bit of its byte, the first byte of `word` that is a quote, a backslash or a control character.
#[inline]
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A byte without its high bit gets it from the subtraction when it was zero (below a space); what a hit borrows from is behind it.
    let quote = (word ^ (ONES * b'"' as u64)).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    let control = word.wrapping_sub(ONES * 0x20);
    (quote | backslash | control) & !word & (ONES << 7)
}

/// Skips blocks in which nothing is special, in a shape that the compiler turns into vector code.
#[inline(never)]
const fn skip_clean_blocks(text: &[u8], at: usize) -> usize {
    let (_, mut rest) = split(text, at);
    while let Some((block, after)) = rest.split_first_chunk::<BLOCK>() {
        let mut special = 0u8;
        let mut i = 0;
        while i < BLOCK {
            let b = block[i];
            special |= (b < 0x20) as u8 | (b == b'"') as u8 | (b == b'\\') as u8;
            i += 1;
        }
        if special != 0 {
            break;
        }
        rest = after;
    }
    text.len() - rest.len()
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
    if cfg!(target_pointer_width = "64")
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

const fn skip_escape(text: &[u8], at: usize) -> Result<usize, Fault> {
    match byte(text, at + 1) {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' => {
            let mut i = at + 2;
            while i < at + 6 {
                if !byte(text, i).is_ascii_hexdigit() {
                    return Err(Fault::at(i));
                }
                i += 1;
            }
            Ok(i)
        }
        _ => Err(Fault::at(at + 1)),
    }
}

/// From the key at `at` to the value behind its colon.
const fn skip_key(text: &[u8], at: usize) -> Result<usize, Fault> {
    if byte(text, at) != b'"' {
        return Err(Fault::at(at));
    }
    match skip_string(text, at) {
        Ok(end) => skip_colon(text, end),
        Err(e) => Err(e),
    }
}

#[inline]
const fn skip_colon(text: &[u8], at: usize) -> Result<usize, Fault> {
    let at = skip_whitespace(text, at);
    if byte(text, at) != b':' {
        return Err(Fault::at(at));
    }
    Ok(skip_whitespace(text, at + 1))
}

const fn skip_number(text: &[u8], at: usize) -> Result<usize, Fault> {
    let mut at = at + (byte(text, at) == b'-') as usize;
    match byte(text, at) {
        b'0' => at += 1,
        b'1'..=b'9' => at = skip_digits(text, at),
        _ => return Err(Fault::at(at)),
    }
    if byte(text, at) == b'.' {
        let digits = skip_digits(text, at + 1);
        if digits == at + 1 {
            return Err(Fault::at(digits));
        }
        at = digits;
    }
    if matches!(byte(text, at), b'e' | b'E') {
        let sign = matches!(byte(text, at + 1), b'+' | b'-') as usize;
        let digits = skip_digits(text, at + 1 + sign);
        if digits == at + 1 + sign {
            return Err(Fault::at(digits));
        }
        at = digits;
    }
    Ok(at)
}

const fn skip_digits(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while byte(text, at).is_ascii_digit() {
        at += 1;
    }
    at
}

const fn skip_word(text: &[u8], at: usize, word: &[u8]) -> Result<usize, Fault> {
    let mut i = 0;
    while i < word.len() {
        if byte(text, at + i) != word[i] {
            return Err(Fault::at(at + i));
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

/// After this many clean words a string is taken for a long one.
const LONG_STRING_WORDS: u32 = 8;
const BLOCK: usize = 64;
