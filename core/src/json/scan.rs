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

    const fn at(at: usize) -> Self {
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

/// The same as [`skip_value`], without its machinery for what has no inside.
#[inline]
pub(crate) fn skip_member(text: &[u8], at: usize, used: u32) -> Result<usize, Fault> {
    match byte(text, at) {
        b'"' => skip_string(text, at),
        b'-' | b'0'..=b'9' => skip_number(text, at),
        _ => skip_value(text, at, used),
    }
}

/// Takes the members of an object one by one, so that what surrounds a value is read in the same pass that checks it.
pub(crate) trait MemberSink {
    /// A member whose value begins at `value`. Returns where the value ends, which it must check.
    fn member(&mut self, key: Key<'_>, value: usize) -> Result<usize, Fault>;
}

/// The inside of a key.
#[derive(Clone, Copy)]
pub(crate) struct Key<'t> {
    /// Where the inside begins.
    pub(crate) start: usize,
    pub(crate) inner: &'t [u8],
    /// Whether there is a backslash in it, so that its spelling is not its meaning.
    pub(crate) is_escaped: bool,
}

impl Key<'_> {
    /// What it means, among names of ours; most keys are spelled as they are meant.
    #[inline]
    pub(crate) fn resolve<'k>(&'k self, names: &[&'static str]) -> &'k [u8] {
        if self.is_escaped { self.resolve_escaped(names) } else { self.inner }
    }

    #[cold]
    #[inline(never)]
    fn resolve_escaped(&self, names: &[&'static str]) -> &[u8] {
        let inner = core::str::from_utf8(self.inner).unwrap_or_default();
        names.iter().find(|name| super::same_text(inner, name)).map_or(&[], |name| name.as_bytes())
    }
}

/// Hands each member of the object that begins at `at` to `sink`; returns the end of the object.
#[inline]
pub(crate) fn read_members(text: &[u8], at: usize, sink: &mut impl MemberSink) -> Result<usize, Fault> {
    if byte(text, at) != b'{' {
        return Err(Fault::at(at));
    }
    let mut at = skip_whitespace(text, at + 1);
    if byte(text, at) == b'}' {
        return Ok(at + 1);
    }
    loop {
        if byte(text, at) != b'"' {
            return Err(Fault::at(at));
        }
        let start = at + 1;
        let mut end = skip_clean(text, start);
        let is_escaped = byte(text, end) != b'"';
        if is_escaped {
            end = skip_string(text, at)? - 1;
        }
        let key = Key { start, inner: text.get(start..end).unwrap_or_default(), is_escaped };
        at = skip_colon(text, end + 1)?;
        at = skip_whitespace(text, sink.member(key, at)?);
        match byte(text, at) {
            b',' => at = skip_whitespace(text, at + 1),
            b'}' => return Ok(at + 1),
            _ => return Err(Fault::at(at)),
        }
    }
}

/// The next byte that is not whitespace.
#[inline]
pub(crate) const fn skip_whitespace(text: &[u8], at: usize) -> usize {
    let mut at = at;
    // One comparison where there is none, as in most frames.
    while byte(text, at) <= b' ' && matches!(byte(text, at), b' ' | b'\t' | b'\n' | b'\r') {
        at += 1;
    }
    at
}

/// The end of the string whose opening quote is at `at`.
#[inline]
pub(crate) const fn skip_string(text: &[u8], at: usize) -> Result<usize, Fault> {
    let mut at = at + 1;
    loop {
        at = skip_clean(text, at);
        match byte(text, at) {
            b'"' => return Ok(at + 1),
            b'\\' => match skip_escape(text, at) {
                Ok(end) => at = end,
                Err(e) => return Err(e),
            },
            _ => return Err(Fault::at(at)),
        }
    }
}

/// The first byte from `at` on that is special inside a string: a quote, a backslash, a control character; or the end.
///
/// Eight bytes at a time, since most strings are short; whole blocks once it has proved long, in a shape that the compiler turns
/// into vector code.
#[inline]
pub(crate) const fn skip_clean(text: &[u8], at: usize) -> usize {
    let (_, mut rest) = split(text, at);
    let mut words = 0;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let hits = special_bytes(u64::from_le_bytes(*word));
        if hits != 0 {
            return text.len() - rest.len() + (hits.trailing_zeros() / 8) as usize;
        }
        rest = after;
        words += 1;
        if words == LONG_STRING_WORDS {
            rest = skip_clean_blocks(rest);
        }
    }
    let mut at = text.len() - rest.len();
    while at < text.len() && !matches!(byte(text, at), 0..0x20 | b'"' | b'\\') {
        at += 1;
    }
    at
}

/// Marks, in the high bit of its byte, the first byte of `word` that is a quote, a backslash or a control character.
#[inline]
const fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGH
}

/// What is left when blocks in which nothing is special are skipped.
#[inline(never)]
const fn skip_clean_blocks(text: &[u8]) -> &[u8] {
    let mut rest = text;
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
    rest
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
const fn byte(text: &[u8], at: usize) -> u8 {
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
