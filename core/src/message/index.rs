//! An index of the first members of an object.

use super::span::Span;
use crate::json::{JsonStr, byte, skip_string, skip_whitespace};

/// Up to [`INDEXED`] members, each as two positions of four bytes; `end` is zero in unused entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index([Entry; INDEXED]);

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Position of the first character of the key. If the key is empty or contains an escape,
    /// position of its opening quote, which no character of a key can be.
    key: u32,
    /// End of the value.
    end: u32,
}

impl Index {
    pub(crate) const EMPTY: Self = Self([Entry { key: 0, end: 0 }; INDEXED]);

    /// Records a member as entry `at`, if there is room. `quote` is the position of its opening
    /// quote, `key_end` the end of its key, `escaped` whether the key contains an escape, and `end`
    /// the end of its value.
    #[inline]
    pub(crate) fn add(
        &mut self,
        at: usize,
        quote: usize,
        key_end: usize,
        escaped: bool,
        end: usize,
    ) {
        if let Some(entry) = self.0.get_mut(at) {
            let key = if escaped || key_end == quote + 1 { quote } else { quote + 1 };
            *entry = Entry { key: key as u32, end: end as u32 };
        }
    }

    /// Returns the index for a text whose first `by` bytes were removed.
    pub(crate) fn moved_down(self, by: usize) -> Self {
        let by = by as u32;
        Self(self.0.map(|entry| Entry {
            key: entry.key.saturating_sub(by),
            end: entry.end.saturating_sub(by),
        }))
    }

    /// Returns whether the object may have more members than the index.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.0.last().is_some_and(|entry| entry.end != 0)
    }

    /// Returns the value of the member with this key.
    #[inline]
    pub(crate) fn find(&self, text: &str, key: &str) -> Option<Span> {
        let bytes = text.as_bytes();
        let entry = self
            .0
            .iter()
            .take_while(|entry| entry.end != 0)
            .find(|entry| entry.matches(text, key))?;
        // Only a colon stands between the closing quote of the key, which is the next quote, and
        // the value.
        let mut quote = entry.key as usize + key.len();
        if byte(bytes, entry.key as usize) == b'"' {
            quote = skip_string(bytes, entry.key as usize).ok()? - 1;
        }
        let colon = skip_whitespace(bytes, quote + 1);
        Some(Span::new(skip_whitespace(bytes, colon + 1), entry.end as usize))
    }
}

impl Entry {
    #[inline]
    fn matches(self, text: &str, key: &str) -> bool {
        let start = self.key as usize;
        match text.as_bytes().get(start..) {
            Some([b'"', ..]) => self.matches_escaped(text, key),
            // A searched key with a quote could match beyond the end of the key in the text.
            Some(rest) => {
                rest.starts_with(key.as_bytes())
                    && rest.get(key.len()) == Some(&b'"')
                    && !key.as_bytes().contains(&b'"')
            }
            None => false,
        }
    }

    /// Compares a key that is empty or contains an escape.
    #[cold]
    #[inline(never)]
    fn matches_escaped(self, text: &str, key: &str) -> bool {
        let start = self.key as usize;
        let end = skip_string(text.as_bytes(), start);
        end.ok()
            .and_then(|end| text.get(start..end))
            .is_some_and(|written| JsonStr::scanned(written) == key)
    }
}

/// Number of arguments found without a search. They take 32 bytes of stack.
const INDEXED: usize = 4;

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::json::RawJson;

    /// Indexes an object as `Envelope::read` does.
    fn index(text: &str) -> Index {
        let mut index = Index::EMPTY;
        for (at, (key, value)) in RawJson::scanned(text).members().enumerate() {
            let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
            let (quote, end) = (place(key.as_json()), place(value.as_str()) + value.as_str().len());
            index.add(
                at,
                quote,
                quote + key.as_json().len() - 1,
                key.as_json().contains('\\'),
                end,
            );
        }
        index
    }

    #[test]
    fn keys_are_compared_by_value() {
        let text = r#"{"a" : 1,"":[2],"\u0061b":"3", "ab\"":{} }"#;
        let index = index(text);
        let find = |key| index.find(text, key).and_then(|span| span.of(text));
        assert_eq!(
            (find("a"), find(""), find("ab"), find("ab\"")),
            (Some("1"), Some("[2]"), Some("\"3\""), Some("{}"))
        );
        for other in ["b", "a\"", "aa", "a\" : 1,\"", "\"", "ab\\\""] {
            assert_eq!(find(other), None, "{other}");
        }
        assert!(index.is_full());
    }

    #[test]
    fn the_first_of_equal_keys_is_found_and_later_members_are_left_out() {
        let text = r#"{"a":1,"a":2,"b":3,"c":4,"d":5}"#;
        let index = index(text);
        let find = |key| index.find(text, key).and_then(|span| span.of(text));
        assert_eq!((find("a"), find("c"), find("d")), (Some("1"), Some("4"), None));
        assert!(index.is_full() && !Index::EMPTY.is_full());
        assert_eq!(Index::EMPTY.find(text, ""), None);
    }
}
