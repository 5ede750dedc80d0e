//! Text without panic paths: lists, copies, what is printed.

use core::fmt::{self, Display, Write as _};

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

/// Implements `Error` for a type with `Display`, whose words `Debug` writes, too: it is what a
/// program sees of an error that `main` returns. The function returns the source. With a text for
/// each variant, or a function that returns the text, it implements `Display`, too. Not public API.
#[doc(hidden)]
#[macro_export]
macro_rules! error_type {
    ($type:ident { $($variant:ident => $text:expr),+ $(,)? }) => {
        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $text,)+
                })
            }
        }

        $crate::error_type!($type);
    };

    ($type:ty => $text:expr) => {
        impl ::core::fmt::Display for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let text: fn(&Self) -> &str = $text;
                f.write_str(text(self))
            }
        }

        $crate::error_type!($type);
    };

    ($type:ty $(, $source:expr)?) => {
        impl ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(self, f)
            }
        }

        impl ::core::error::Error for $type {
            $(fn source(&self) -> Option<&(dyn ::core::error::Error + 'static)> {
                let source: fn(&Self) -> Option<&(dyn ::core::error::Error + 'static)> = $source;
                source(self)
            })?
        }
    };
}

pub(crate) use error_type;

/// Implements `From` for each type that a variant of an enum wraps. Not public API.
#[doc(hidden)]
#[macro_export]
macro_rules! wraps {
    ($type:ident { $($variant:ident($inner:ty)),+ $(,)? }) => {$(
        impl From<$inner> for $type {
            fn from(inner: $inner) -> Self {
                Self::$variant(inner)
            }
        }
    )+};
}

pub(crate) use wraps;

/// Implements `Debug` for a type that shows these fields only: the others are secrets, long, or
/// have no `Debug`. The parameters of the type stand before it, in brackets. A field can have a
/// value of its own, made of the name in bars: `opaque_debug!(Link |it| { url: it.url() })`. Not
/// public API.
#[doc(hidden)]
#[macro_export]
macro_rules! opaque_debug {
    (@ $field:expr) => {
        &$field
    };

    (@ $field:expr, $value:expr) => {
        &$value
    };

    ($([$($parameter:tt)+])? $name:ident $(<$($argument:tt),+>)? $(|$this:ident|)?
        { $($field:ident $(: $value:expr)?),* }) => {
        impl $(<$($parameter)+>)? ::core::fmt::Debug for $name $(<$($argument),+>)? {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $(let $this = self;)?
                f.debug_struct(::core::stringify!($name))
                    $(.field(
                        ::core::stringify!($field),
                        $crate::opaque_debug!(@ self.$field $(, $value)?),
                    ))*
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use opaque_debug;

/// Implements `Default` by `new`. The parameters of the type stand before it, in brackets.
/// Not public API.
#[doc(hidden)]
#[macro_export]
macro_rules! default_is_new {
    ($([$($parameter:tt)+])? $name:ident $(<$($argument:tt),+>)?) => {
        impl $(<$($parameter)+>)? Default for $name $(<$($argument),+>)? {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}

pub(crate) use default_is_new;

/// Makes [`Words`] from literals without line breaks.
macro_rules! words {
    ($($text:expr),* $(,)?) => {{
        #[cfg(not(small))]
        let words = $crate::text::Words::new(&[$($text),*]);
        #[cfg(small)]
        let words = $crate::text::Words::new(concat!($($text, "\n"),*));
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

// Copying, encoding and splitting without a panic path, which the functions of the standard
// library have when they are compiled for size.

/// Copies as many bytes as both slices have.
#[inline]
pub fn copy(from: &[u8], to: &mut [u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// Writes the UTF-8 bytes of a character to `out` and returns them.
#[inline]
pub(crate) fn utf8(c: char, out: &mut [u8; 4]) -> &[u8] {
    let code = u32::from(c);
    let low = |shift: u32| 0x80 | (code >> shift & 0x3f) as u8;
    let len = c.len_utf8();
    *out = match len {
        1 => [code as u8, 0, 0, 0],
        2 => [0xc0 | (code >> 6) as u8, low(0), 0, 0],
        3 => [0xe0 | (code >> 12) as u8, low(6), low(0), 0],
        _ => [0xf0 | (code >> 18) as u8, low(12), low(6), low(0)],
    };
    out.get(..len).unwrap_or_default()
}

/// Returns the hexadecimal digit of the lowest four bits.
#[inline]
pub(crate) const fn hex_digit(bits: u8) -> u8 {
    let value = bits & 15;
    if value < 10 { b'0' + value } else { b'a' - 10 + value }
}

/// Splits a text at the first `at`. Given as a character instead of an array, the standard library
/// searches in another way, which has a panic path.
pub fn split_once(text: &str, at: char) -> Option<(&str, &str)> {
    text.split_once([at])
}

/// Returns the parts of a text between all `at`.
pub fn split(text: &str, at: char) -> core::str::Split<'_, [char; 1]> {
    text.split([at])
}

// Escaping of received text for terminals and logs.

/// Text from a peer, safe to show in a terminal or to write into a log. Without it a peer can move
/// the cursor, erase and forge lines, set the clipboard, or turn the order of letters around.
///
/// It writes the characters that are obeyed and not shown as JSON escapes (`\u001b`): C0 controls
/// except the tab, DEL, C1 controls, the line and paragraph separators, and the marks, embeddings,
/// overrides and isolates of the bidirectional algorithm. In JSON they can only be inside of
/// strings, so escaped JSON is the same JSON. It costs a pass over the text and allocates nothing.
///
/// ```
/// # use mcp_sansio::Printable;
/// assert_eq!(
///     Printable::new("a\nc\u{1b}[2J\u{9b}K\u{202e}").to_string(),
///     r"a\nc\u001b[2J\u009bK\u202e"
/// );
/// assert_eq!(Printable::new("a\r\nb\nc").with_line_breaks().to_string(), "a\r\nb\nc");
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Printable<T> {
    text: T,
    has_line_breaks: bool,
}

impl<T> Printable<T> {
    /// Creates the text on one line: line breaks become `\n` and `\r`.
    pub const fn new(text: T) -> Self {
        Self { text, has_line_breaks: false }
    }

    /// Keeps line breaks (`\n` and `\r\n`). For text that stands apart from the program's own
    /// lines, and for JSON over several lines.
    pub fn with_line_breaks(self) -> Self {
        Self { has_line_breaks: true, ..self }
    }
}

impl<T: Display> Display for Printable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut escape =
            Escape { to: f, has_line_breaks: self.has_line_breaks, return_is_due: false };
        write!(escape, "{}", self.text)?;
        escape.end()
    }
}

struct Escape<'o, W> {
    to: &'o mut W,
    has_line_breaks: bool,
    /// A `\r` is pending: half of a line break, or a carriage return that overwrites the line.
    return_is_due: bool,
}

impl<W: fmt::Write> Escape<'_, W> {
    fn end(&mut self) -> fmt::Result {
        if core::mem::take(&mut self.return_is_due) { self.to.write_str("\\r") } else { Ok(()) }
    }
}

impl<W: fmt::Write> fmt::Write for Escape<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !self.has_line_breaks {
            return write_printable(text, self.to);
        }
        for line in text.split_inclusive(['\r', '\n']) {
            if line == "\n" && core::mem::take(&mut self.return_is_due) {
                self.to.write_str("\r\n")?;
                continue;
            }
            self.end()?;
            let text = line.strip_suffix('\n').or(line.strip_suffix('\r')).unwrap_or(line);
            write_printable(text, self.to)?;
            self.return_is_due = line.ends_with('\r');
            if line.ends_with('\n') {
                self.to.write_str("\n")?;
            }
        }
        Ok(())
    }
}

/// Writes a text on one line, without `core::fmt`, which takes flash.
pub(crate) fn write_printable(text: &str, to: &mut impl fmt::Write) -> fmt::Result {
    let mut written = 0;
    for (at, c) in text.char_indices().filter(|(_, c)| is_obeyed(*c)) {
        to.write_str(text.get(written..at).unwrap_or_default())?;
        written = at + c.len_utf8();
        let digit = |shift: u32| hex_digit((u32::from(c) >> shift) as u8);
        let escape: &[u8] = match c {
            '\n' => b"\\n",
            '\r' => b"\\r",
            // All escaped characters are in the Basic Multilingual Plane: four digits suffice.
            _ => &[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)],
        };
        to.write_str(core::str::from_utf8(escape).unwrap_or_default())?;
    }
    to.write_str(text.get(written..).unwrap_or_default())
}

/// Whether terminals, editors or log viewers interpret the character instead of showing it.
const fn is_obeyed(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\n'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod words_tests {
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

#[cfg(test)]
mod utf8_tests {
    #[test]
    fn characters_are_encoded_as_the_standard_library_does() {
        for c in '\0'..=char::MAX {
            assert_eq!(super::utf8(c, &mut [0; 4]), c.encode_utf8(&mut [0; 4]).as_bytes(), "{c:?}");
        }
    }
}
