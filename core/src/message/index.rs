//! Where the first few members of an object are.

use super::span::Span;
use crate::json::{JsonStr, byte, skip_string, skip_whitespace};

/// Up to [`INDEXED`] members, each as two places: eight bytes, of which the second four are zero
/// where nothing is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index([Entry; INDEXED]);

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The first character of the key. Of one that is empty or has an escape its opening quote,
    /// which no character between quotes is.
    key: u32,
    /// Behind the value.
    end: u32,
}

impl Index {
    pub(crate) const EMPTY: Self = Self([Entry { key: 0, end: 0 }; INDEXED]);

    /// Takes in a member, if there is room: its opening quote, the end of its key, whether there is
    /// an escape in that, and the end of its value.
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

    /// The same places when `by` bytes in front of them are gone.
    #[cfg(feature = "alloc")]
    pub(crate) fn moved_down(self, by: usize) -> Self {
        let by = by as u32;
        Self(self.0.map(|entry| Entry {
            key: entry.key.saturating_sub(by),
            end: entry.end.saturating_sub(by),
        }))
    }

    /// Whether there may be members that are not in it.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.0.last().is_some_and(|entry| entry.end != 0)
    }

    /// The value of the member with this key.
    #[inline]
    pub(crate) fn find(&self, text: &str, key: &str) -> Option<Span> {
        let bytes = text.as_bytes();
        let entry = self
            .0
            .iter()
            .take_while(|entry| entry.end != 0)
            .find(|entry| entry.matches(text, key))?;
        // Between the key's closing quote, which is the next one, and the value there is nothing
        // but a colon.
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
            // A key that has a quote goes on behind that of the one that is written there.
            Some(rest) => {
                rest.starts_with(key.as_bytes())
                    && rest.get(key.len()) == Some(&b'"')
                    && !key.as_bytes().contains(&b'"')
            }
            None => false,
        }
    }

    /// The same for a key that is empty or has an escape.
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

/// How many arguments are found without a search: 32 bytes of stack.
const INDEXED: usize = 4;

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::json::RawJson;

    /// The members of an object as the envelope's reader finds them.
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
    fn members_are_found_by_what_their_keys_mean() {
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
    fn the_first_of_equal_keys_counts_and_what_has_no_room_is_left_out() {
        let text = r#"{"a":1,"a":2,"b":3,"c":4,"d":5}"#;
        let index = index(text);
        let find = |key| index.find(text, key).and_then(|span| span.of(text));
        assert_eq!((find("a"), find("c"), find("d")), (Some("1"), Some("4"), None));
        assert!(index.is_full() && !Index::EMPTY.is_full());
        assert_eq!(Index::EMPTY.find(text, ""), None);
    }
}
