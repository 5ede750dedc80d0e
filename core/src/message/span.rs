//! Byte ranges of a frame. Half the size of `&str`; UTF-8 boundaries are checked on access.

use crate::json::RawJson;

/// A byte range. An empty one stands for a missing value, since values are never empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) const NONE: Self = Self { start: 0, end: 0 };

    /// Creates a span. The positions fit 32 bits: [`Messages`](super::Messages) rejects frames of 4
    /// GiB or more.
    #[inline]
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Creates a span without an end: empty until it is [finished](Self::finish).
    #[inline]
    pub(crate) fn begun(start: usize) -> Self {
        Self { start: start as u32, end: 0 }
    }

    #[inline]
    pub(crate) fn finish(&mut self, end: usize) {
        self.end = end as u32;
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.end == 0
    }

    /// Returns whether a value, or its start, was found. No value stands at position 0.
    pub(crate) fn is_begun(self) -> bool {
        self.start != 0
    }

    /// Returns the start.
    #[inline]
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    /// Returns the position behind the value.
    pub(crate) fn end(self) -> usize {
        self.end as usize
    }

    #[cfg_attr(not(small), inline)]
    pub(crate) fn bytes(self, text: &str) -> &[u8] {
        text.as_bytes().get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Returns the span for a text whose first `by` bytes were removed.
    pub(crate) fn moved_down(self, by: usize) -> Self {
        Self {
            start: self.start.saturating_sub(by as u32),
            end: self.end.saturating_sub(by as u32),
        }
    }

    /// Returns the text, or `None` if the span is empty.
    #[cfg_attr(not(small), inline)]
    pub(crate) fn of(self, text: &str) -> Option<&str> {
        if self.is_empty() { None } else { text.get(self.start as usize..self.end as usize) }
    }

    /// Returns the scanned value.
    #[inline]
    pub(crate) fn value(self, text: &str) -> Option<RawJson<'_>> {
        self.of(text).map(RawJson::scanned)
    }
}
