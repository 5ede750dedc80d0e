//! Searches for members in scanned text, while compiling.

use super::{byte, skip_key, skip_string, skip_value, skip_whitespace};

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

const fn begins_with(text: &[u8], at: usize, part: &[u8]) -> bool {
    let mut i = 0;
    while i < part.len() && byte(text, at + i) == part[i] {
        i += 1;
    }
    i == part.len()
}

/// Returns the start of the key after the member at `key`, or the end of the text if that was the
/// last one.
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
