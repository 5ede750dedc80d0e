//! Escaping of received text for terminals and logs.

use core::fmt::{self, Display, Write as _};

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
    #[must_use]
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
            if let Some(line) = line.strip_suffix('\n') {
                write_printable(line, self.to)?;
                self.to.write_str("\n")?;
            } else if let Some(line) = line.strip_suffix('\r') {
                write_printable(line, self.to)?;
                self.return_is_due = true;
            } else {
                write_printable(line, self.to)?;
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
        let digit = |shift: u32| {
            let digit = u32::from(c) >> shift & 15;
            b"0123456789abcdef".get(digit as usize).copied().unwrap_or_default()
        };
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
