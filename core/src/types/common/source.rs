//! Values that an application writes or that a message lends.

use core::fmt;

/// A value in the application's own form, or as it was received.
#[derive(Clone, Copy)]
pub(in crate::types) enum Source<O, R> {
    Own(O),
    Received(R),
}

impl<O: Copy, R: Copy> Source<O, R> {
    pub(in crate::types) const fn own(&self) -> Option<O> {
        match self {
            Self::Own(own) => Some(*own),
            Self::Received(_) => None,
        }
    }

    pub(in crate::types) const fn received(&self) -> Option<R> {
        match self {
            Self::Own(_) => None,
            Self::Received(received) => Some(*received),
        }
    }
}

impl<O: fmt::Debug, R: fmt::Debug> fmt::Debug for Source<O, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(own) => own.fmt(f),
            Self::Received(received) => received.fmt(f),
        }
    }
}
