//! A walk through scanned text without going back, for checks.

use core::ops::ControlFlow;

#[cfg(not(small))]
use super::skip_member;
#[cfg(small)]
use super::skip_value;
use super::{JsonStr, RawJson, byte, skip_string, skip_whitespace};

/// An object that has been scanned, with the ends of its first members where they were kept: a
/// long string need not be searched again for its end.
#[derive(Clone, Copy, Debug)]
pub struct Indexed<'a> {
    pub(crate) json: RawJson<'a>,
    pub(crate) ends: Ends,
}

/// The ends of the first members of an object, in their order; zero where an end is not known.
pub(crate) type Ends = [u32; INDEXED];

/// Number of members of an object whose places are kept.
pub(crate) const INDEXED: usize = if cfg!(small) { 0 } else { 4 };

impl<'a> From<RawJson<'a>> for Indexed<'a> {
    fn from(json: RawJson<'a>) -> Self {
        Self { json, ends: [0; INDEXED] }
    }
}

/// A position in text that has been scanned.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(value: RawJson<'a>) -> Self {
        Self { text: value.as_str(), at: 0 }
    }

    /// Returns the first byte of the next value, which shows its type.
    pub(crate) fn first(&self) -> u8 {
        byte(self.text.as_bytes(), self.at)
    }

    /// Returns the value that began at `start` and ends here.
    pub(crate) fn since(&self, start: usize) -> RawJson<'a> {
        RawJson::scanned(self.text.get(start..self.at).unwrap_or("null"))
    }

    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn value(&mut self) -> RawJson<'a> {
        let start = self.at;
        #[cfg(not(small))]
        let end = skip_member(self.text.as_bytes(), start, self.first(), 0);
        #[cfg(small)]
        let end = skip_value(self.text.as_bytes(), start, 0);
        self.at = end.unwrap_or(self.text.len());
        self.since(start)
    }

    /// As [`value`](Self::value), for a value that ends there, or anywhere if that is zero.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn value_until(&mut self, end: usize) -> RawJson<'a> {
        if end == 0 {
            return self.value();
        }
        debug_assert_eq!(self.clone().value().as_str().len(), end - self.at);
        let start = core::mem::replace(&mut self.at, end);
        self.since(start)
    }

    /// Moves behind a key and its colon.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn key(&mut self) -> JsonStr<'a> {
        let start = self.at;
        self.at = skip_string(self.text.as_bytes(), start).unwrap_or(self.text.len());
        let key = JsonStr::scanned(self.since(start).as_str());
        self.skip(b':');
        key
    }

    /// As [`key`](Self::key), if this is the key, without a space behind it.
    #[inline(always)]
    pub(crate) fn usual_key(&mut self, name: &str) -> Option<JsonStr<'a>> {
        let rest = self.text.get(self.at..)?;
        let after = rest.strip_prefix('"')?.strip_prefix(name)?.strip_prefix("\":")?;
        let key = rest.get(..name.len() + 2)?;
        self.at = skip_whitespace(self.text.as_bytes(), self.text.len() - after.len());
        Some(JsonStr::scanned(key))
    }

    /// As [`key`](Self::key), if this is how the key is written, with its quotes and without a
    /// space behind it. Returns whether it is.
    #[inline(always)]
    pub(crate) fn skip_key(&mut self, key: &[u8]) -> bool {
        let bytes = self.text.as_bytes();
        let rest = bytes.get(self.at..).unwrap_or_default();
        let is_key = matches!(rest.strip_prefix(key), Some([b':', ..]));
        if is_key {
            self.at = skip_whitespace(bytes, self.at + key.len() + 1);
        }
        is_key
    }

    /// Moves behind `mark`, if it is next, and the whitespace around it.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn skip(&mut self, mark: u8) {
        let bytes = self.text.as_bytes();
        self.at = skip_whitespace(bytes, self.at);
        if byte(bytes, self.at) == mark {
            self.at = skip_whitespace(bytes, self.at + 1);
        }
    }

    /// Whether another member or element is next. If not, moves behind the closing bracket.
    pub(crate) fn has_next(&mut self) -> bool {
        // Past the end the first byte is zero, which scanned text does not have.
        let ends = matches!(self.first(), 0 | b'}' | b']');
        self.at += usize::from(ends);
        !ends
    }

    /// Calls `found` with the members of an object until it breaks.
    #[inline]
    pub(crate) fn members<B>(
        mut self,
        mut found: impl FnMut(JsonStr<'a>, RawJson<'a>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        if self.first() == b'{' {
            self.skip(b'{');
            while self.has_next() {
                let key = self.key();
                found(key, self.value())?;
                self.skip(b',');
            }
        }
        ControlFlow::Continue(())
    }
}
