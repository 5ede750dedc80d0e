//! Text that is written into memory of the caller.

use core::fmt;

use crate::bytes::copy;

/// Writes text into borrowed memory. A text that does not fit is cut off, and
/// [`finish`](Self::finish) says so.
///
/// ```
/// # use std::fmt::Write as _;
/// # use mcp_sansio::oauth::Writer;
/// let mut memory = [0; 8];
/// let mut out = Writer::new(&mut memory);
/// write!(out, "id={}", 7).unwrap();
/// assert_eq!(out.finish(), Ok("id=7"));
/// ```
pub struct Writer<'b> {
    memory: &'b mut [u8],
    len: usize,
    is_full: bool,
}

/// The memory does not have room for the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl<'b> Writer<'b> {
    /// Creates a writer whose text begins at the start of `memory`.
    pub const fn new(memory: &'b mut [u8]) -> Self {
        Self { memory, len: 0, is_full: false }
    }

    /// Appends a text. Once one has not fit, all later ones are dropped.
    pub fn put(&mut self, text: &str) {
        let end = self.len.saturating_add(text.len());
        match self.memory.get_mut(self.len..end) {
            Some(place) if !self.is_full => {
                copy(text.as_bytes(), place);
                self.len = end;
            }
            _ => self.is_full = true,
        }
    }

    /// Returns the text so far.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let text = self.memory.get(..self.len).unwrap_or_default();
        core::str::from_utf8(text).unwrap_or_default()
    }

    /// Returns the text.
    ///
    /// # Errors
    /// [`Full`] if a part of it did not fit.
    pub fn finish(self) -> Result<&'b str, Full> {
        if self.is_full {
            return Err(Full);
        }
        let text = self.memory.get(..self.len).ok_or(Full)?;
        core::str::from_utf8(text).map_err(|_| Full)
    }
}

impl fmt::Write for Writer<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text);
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
    }
}

/// Shows the length alone: the text may be a secret.
impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({} of {} bytes)", self.len, self.memory.len())
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the memory has no room for the text")
    }
}

impl core::error::Error for Full {}

/// Writes a text; the writer remembers if it did not fit.
pub(super) fn write_to(out: &mut Writer<'_>, text: impl fmt::Display) {
    let _ = fmt::Write::write_fmt(out, format_args!("{text}"));
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::format;

    use super::*;

    #[test]
    fn a_text_that_does_not_fit_is_an_error() {
        let mut memory = [0; 5];
        let mut out = Writer::new(&mut memory);
        out.put("abc\u{e9}");
        assert_eq!(out.as_str(), "abc\u{e9}");
        assert_eq!(format!("{out:?}"), "Writer(5 of 5 bytes)");
        assert_eq!(out.finish(), Ok("abc\u{e9}"));
        let mut out = Writer::new(&mut memory);
        out.put("abcdef");
        out.put("a");
        assert_eq!(out.as_str(), "");
        assert_eq!(out.finish(), Err(Full));
    }
}
