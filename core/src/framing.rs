//! How frames are told apart where they go: by line ends on a stream, as a body or as events over
//! HTTP.

use crate::error::SendError;
#[cfg(feature = "http")]
use crate::http::server::Exchange;
use crate::json::{WriteError, Writer};

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
pub(crate) enum Around {
    Line,
    /// Nothing.
    #[cfg(feature = "http")]
    Body,
    #[cfg(feature = "http")]
    Event(crate::http::server::EventHead),
    /// The end of an event that was broken off: a client passes it by.
    #[cfg(feature = "http")]
    Broken,
}

impl Framing {
    /// What stands around the frame that comes next, or goes on.
    #[inline]
    pub(crate) fn around(&self, is_response: bool) -> Result<Around, SendError> {
        let _ = is_response;
        match self {
            Self::Lines => Ok(Around::Line),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.around(is_response),
        }
    }

    /// A frame, or its beginning, is in the buffer.
    #[inline]
    pub(crate) fn wrote(&mut self, is_response: bool, status: u16, is_whole: bool) {
        #[cfg(feature = "http")]
        if let Self::Exchange(exchange) = self {
            exchange.wrote(is_response, status, is_whole);
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
    pub(crate) fn broken(&mut self) -> Option<Around> {
        match self {
            Self::Lines => Some(Around::Line),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.broken(),
        }
    }
}

impl Around {
    #[inline]
    pub(crate) fn open(self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        let _ = &writer;
        match self {
            Self::Line => Ok(()),
            #[cfg(feature = "http")]
            Self::Event(head) => head.write(writer),
            #[cfg(feature = "http")]
            Self::Body | Self::Broken => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn close(self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        match self {
            Self::Line => writer.put(b"\n"),
            #[cfg(feature = "http")]
            Self::Body => Ok(()),
            #[cfg(feature = "http")]
            Self::Event(_) => writer.put(b"\n\n"),
            #[cfg(feature = "http")]
            Self::Broken => writer.put(b"\nevent: abandoned\n\n"),
        }
    }
}
