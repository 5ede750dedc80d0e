//! Parts of a frame, as places in it: half the size of a slice, and no check of where characters
//! begin until somebody looks.

use crate::json::RawJson;

/// From where to where, in bytes. Nothing is there when it is empty, since a value never is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) const NONE: Self = Self { start: 0, end: 0 };

    /// A frame is shorter than four gigabytes: [`Messages`](super::Messages) sees to that.
    #[inline]
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// A value of which only the beginning is known: empty until it is [finished](Self::finish).
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

    /// Whether there is at least the beginning of a value; none stands at the very start of a
    /// message.
    pub(crate) fn is_begun(self) -> bool {
        self.start != 0
    }

    /// Where it begins.
    #[inline]
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    /// The place behind it.
    pub(crate) fn end(self) -> usize {
        self.end as usize
    }

    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn bytes(self, text: &str) -> &[u8] {
        text.as_bytes().get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// The same place when `by` bytes in front of it are gone.
    #[cfg(feature = "alloc")]
    pub(crate) fn moved_down(self, by: usize) -> Self {
        Self {
            start: self.start.saturating_sub(by as u32),
            end: self.end.saturating_sub(by as u32),
        }
    }

    /// What is there.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn of(self, text: &str) -> Option<&str> {
        if self.is_empty() { None } else { text.get(self.start as usize..self.end as usize) }
    }

    /// The value that was scanned there.
    #[inline]
    pub(crate) fn value(self, text: &str) -> Option<RawJson<'_>> {
        self.of(text).map(RawJson::scanned)
    }
}
