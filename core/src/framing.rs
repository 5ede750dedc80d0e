//! How frames are told apart where they go: by line ends on a stream, as a body or as events over
//! HTTP.

#[cfg(feature = "http")]
mod exchange;

use crate::encode::{WriteError, Writer};
use crate::error::SendError;

#[cfg(feature = "http")]
pub(crate) use exchange::{EventHead, Exchange, Mode};
#[cfg(feature = "http")]
pub use exchange::{EventId, InvalidEventId};

/// The framing of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    /// A line for each frame.
    Lines,
    /// What answers one HTTP request: decided by the first frame.
    #[cfg(feature = "http")]
    Exchange(Exchange),
}

/// What stands around one frame.
#[derive(Clone, Copy)]
pub(crate) enum Delimiters {
    Line,
    /// Nothing.
    #[cfg(feature = "http")]
    Body,
    #[cfg(feature = "http")]
    Event(EventHead),
    /// The end of an event that was broken off: a client passes it by.
    #[cfg(feature = "http")]
    Abandoned,
}

impl Framing {
    /// What stands around the frame that comes next, or goes on.
    #[inline]
    pub(crate) fn delimiters(&self, is_response: bool) -> Result<Delimiters, SendError> {
        let _ = is_response;
        match self {
            Self::Lines => Ok(Delimiters::Line),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.delimiters(is_response),
        }
    }

    /// A frame, or its beginning, is in the buffer.
    #[inline]
    pub(crate) fn written(&mut self, is_response: bool, status: u16, is_whole: bool) {
        #[cfg(feature = "http")]
        if let Self::Exchange(exchange) = self {
            exchange.written(is_response, status, is_whole);
        }
        let _ = (is_response, status, is_whole);
    }

    /// What comes may be answered by several frames.
    pub(crate) fn expect_several(&mut self) {
        #[cfg(feature = "http")]
        if let Self::Exchange(exchange) = self {
            exchange.expect_several();
        }
    }

    /// What ends a frame that cannot be finished; `None` when nothing can, but the end of the
    /// connection.
    pub(crate) fn abandoned(&mut self) -> Option<Delimiters> {
        match self {
            Self::Lines => Some(Delimiters::Line),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.abandoned(),
        }
    }
}

impl Delimiters {
    #[inline]
    pub(crate) fn write_start(self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        let _ = &writer;
        match self {
            Self::Line => Ok(()),
            #[cfg(feature = "http")]
            Self::Event(head) => head.write(writer),
            #[cfg(feature = "http")]
            Self::Body | Self::Abandoned => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn write_end(self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        match self {
            Self::Line => writer.put(b"\n"),
            #[cfg(feature = "http")]
            Self::Body => Ok(()),
            #[cfg(feature = "http")]
            Self::Event(_) => writer.put(b"\n\n"),
            #[cfg(feature = "http")]
            Self::Abandoned => writer.put(b"\nevent: abandoned\n\n"),
        }
    }
}
