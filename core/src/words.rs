//! Lists of texts that are found by their position.

/// A list of texts, made by [`words!`].
///
/// Where flash is scarce it is one text with a line break behind each entry, since an array of
/// texts takes eight more bytes an entry.
#[derive(Clone, Copy)]
pub(crate) struct Words(Entries);

#[cfg(not(small))]
type Entries = &'static [&'static str];
#[cfg(small)]
type Entries = &'static str;

/// Makes [`Words`] from literals without line breaks.
macro_rules! words {
    ($($text:expr),* $(,)?) => {{
        #[cfg(not(small))]
        let words = $crate::words::Words::new(&[$($text),*]);
        #[cfg(small)]
        let words = $crate::words::Words::new(concat!($($text, "\n"),*));
        words
    }};
}
pub(crate) use words;

impl Words {
    pub(crate) const fn new(entries: Entries) -> Self {
        Self(entries)
    }

    /// Returns the text at `at`, if the list is that long.
    #[cfg(not(small))]
    pub(crate) const fn get(self, at: usize) -> Option<&'static str> {
        if at < self.0.len() { Some(self.0[at]) } else { None }
    }

    /// Returns the text at `at`, if the list is that long.
    #[cfg(small)]
    #[inline(never)]
    pub(crate) const fn get(self, at: usize) -> Option<&'static str> {
        let mut left = at;
        let mut list = self;
        while let Some((first, rest)) = list.split_first() {
            if left == 0 {
                return Some(first);
            }
            left -= 1;
            list = rest;
        }
        None
    }

    /// Returns the position of `text`.
    #[cfg(not(small))]
    pub(crate) fn position<T: PartialEq<str> + ?Sized>(self, text: &T) -> Option<usize> {
        self.0.iter().position(|entry| *text == **entry)
    }

    /// Returns the position of `text`.
    #[cfg(small)]
    pub(crate) fn position<T: PartialEq<str> + ?Sized>(self, text: &T) -> Option<usize> {
        let (mut at, mut list) = (0, self);
        while let Some((first, rest)) = list.split_first() {
            if *text == *first {
                return Some(at);
            }
            (at, list) = (at + 1, rest);
        }
        None
    }

    #[cfg(small)]
    const fn split_first(self) -> Option<(&'static str, Self)> {
        let (text, mut end) = (self.0.as_bytes(), 0);
        while end < text.len() {
            if text[end] == b'\n'
                && let Some((first, rest)) = self.0.split_at_checked(end)
                && let Some((_, rest)) = rest.split_at_checked(1)
            {
                return Some((first, Self(rest)));
            }
            end += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    const WORDS: super::Words = words!["one", "", "three"];

    #[test]
    fn texts_are_found_by_position_and_positions_by_text() {
        let found = [0, 1, 2, 3].map(|at| WORDS.get(at));
        assert_eq!(found, [Some("one"), Some(""), Some("three"), None]);
        assert_eq!(
            ["three", "one", "on", "two"].map(|text| WORDS.position(text)),
            [Some(2), Some(0), None, None]
        );
    }
}
