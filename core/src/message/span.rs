//! Parts of a frame, as places in it: half the size of a slice, and no check of where characters begin until somebody looks.

use crate::json::RawJson;

/// From where to where, in bytes. Nothing is there when it is empty, since a value never is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// A frame is shorter than four gigabytes: [`Messages`](super::Messages) sees to that.
    #[inline]
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.end == 0
    }

    /// What is there.
    #[inline]
    pub(crate) fn of(self, text: &str) -> Option<&str> {
        if self.is_empty() { None } else { text.get(self.start as usize..self.end as usize) }
    }

    /// The value that was scanned there.
    #[inline]
    pub(crate) fn value(self, text: &str) -> Option<RawJson<'_>> {
        self.of(text).map(RawJson::scanned)
    }
}
