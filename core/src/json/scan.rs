//! JSON scanner: validates a value and finds its end. It is iterative, uses constant memory and
//! panics on no input.
//!
//! Its functions are `const`, so that [`RawJson::from_static`](super::RawJson::from_static) can
//! check literals at compile time. It works on the bytes of a `str`, so they are known to be UTF-8.

mod members;
mod strings;

pub(crate) use members::{has_duplicate_key, has_member};
#[cfg(not(small))]
pub(crate) use strings::skip_escapes;
pub(crate) use strings::{is_clean, is_clean_key, skip_clean, skip_string};

/// Maximum nesting depth of arrays and objects in a frame, including the outermost. The scanner
/// keeps one bit a level, in a `u64`.
pub const MAX_DEPTH: u32 = 64;

/// Error of parsing JSON text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

impl core::error::Error for SyntaxError {}

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
        _ => skip_value(text, at, outer_depth),
    }
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

#[inline(never)]
const fn skip_spaces(text: &[u8], at: usize) -> usize {
    let mut at = at;
    while matches!(byte(text, at), b' ' | b'\t' | b'\n' | b'\r') {
        at += 1;
    }
    at
}

/// Skips the key at `at` and its colon, and returns the start of the value.
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

/// Returns the byte at `at`; past the end zero, which is not valid anywhere in JSON.
#[inline]
pub(crate) const fn byte(text: &[u8], at: usize) -> u8 {
    if at < text.len() { text[at] } else { 0 }
}
