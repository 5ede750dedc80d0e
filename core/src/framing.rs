//! Delimiters of outgoing frames: line ends on a stream, bodies or SSE events over HTTP.

#[cfg(feature = "http")]
mod exchange;

use crate::encode::Encoder;
use crate::error::SendError;
use crate::lifecycle::Revision;

#[cfg(feature = "http")]
pub(crate) use exchange::{EventHead, Exchange, Mode};
#[cfg(feature = "http")]
pub use exchange::{EventId, InvalidEventId};

/// The framing of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    /// One line per frame.
    Lines,
    /// The response to one HTTP request; the first frame decides between a JSON body and SSE
    /// events.
    #[cfg(feature = "http")]
    Exchange(Exchange),
    /// The body of one POST request: the revision of the message that waits to be taken.
    #[cfg(feature = "http")]
    Post(Option<Revision>),
}

/// The bytes before and after one frame.
#[derive(Clone, Copy)]
pub(crate) enum Delimiters {
    Line,
    /// An HTTP body, which needs no delimiters.
    #[cfg(feature = "http")]
    Body,
    #[cfg(feature = "http")]
    Event(EventHead),
    /// The end of an SSE event that was abandoned; its event name makes clients ignore it.
    #[cfg(feature = "http")]
    Abandoned,
}

impl Framing {
    /// Returns the delimiters of the next frame, or of the open one.
    #[inline]
    pub(crate) fn delimiters(&self, is_response: bool) -> Result<Delimiters, SendError> {
        let _ = is_response;
        match self {
            Self::Lines => Ok(Delimiters::Line),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.delimiters(is_response),
            #[cfg(feature = "http")]
            Self::Post(None) => Ok(Delimiters::Body),
            #[cfg(feature = "http")]
            Self::Post(Some(_)) => Err(SendError::Full),
        }
    }

    /// Records that a frame, or its beginning, is in the buffer.
    #[inline]
    pub(crate) fn written(
        &mut self,
        is_response: bool,
        status: u16,
        revision: Revision,
        is_whole: bool,
    ) {
        #[cfg(feature = "http")]
        match self {
            Self::Lines => {}
            Self::Exchange(exchange) => exchange.written(is_response, status, is_whole),
            Self::Post(written) => *written = is_whole.then_some(revision),
        }
        let _ = (is_response, status, revision, is_whole);
    }

    /// Announces that the request body is a batch, which may cause several frames.
    pub(crate) fn expect_batch(&mut self) {
        #[cfg(feature = "http")]
        if let Self::Exchange(exchange) = self {
            exchange.expect_batch();
        }
    }

    /// Returns the delimiters that end a frame that cannot be finished; `None` when only closing
    /// the connection can end it.
    pub(crate) fn abandoned(&mut self) -> Option<Delimiters> {
        match self {
            Self::Lines => Some(Delimiters::Line),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => exchange.abandoned(),
            #[cfg(feature = "http")]
            Self::Post(_) => None,
        }
    }
}

impl Delimiters {
    #[inline]
    pub(crate) fn write_start(self, writer: &mut Encoder<'_>) {
        let _ = &writer;
        match self {
            Self::Line => {}
            #[cfg(feature = "http")]
            Self::Event(head) => head.write(writer),
            #[cfg(feature = "http")]
            Self::Body | Self::Abandoned => {}
        }
    }

    #[inline]
    pub(crate) fn write_end(self, writer: &mut Encoder<'_>) {
        match self {
            Self::Line => writer.put(b"\n"),
            #[cfg(feature = "http")]
            Self::Body => {}
            #[cfg(feature = "http")]
            Self::Event(_) => writer.put(b"\n\n"),
            #[cfg(feature = "http")]
            Self::Abandoned => writer.put(b"\nevent: abandoned\n\n"),
        }
    }
}
