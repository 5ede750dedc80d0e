//! Delimiters of outgoing frames: line ends on a stream, bodies or SSE events over HTTP.

#[cfg(feature = "http")]
use core::fmt;
#[cfg(feature = "http")]
use core::str::FromStr;
#[cfg(feature = "http")]
use core::time::Duration;

use crate::encode::Encoder;
use crate::protocol::Revision;
#[cfg(feature = "http")]
use crate::protocol::error::NotAllowed;
use crate::protocol::error::SendError;

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

    /// Announces that the request body is a batch (2025-03-26), whose requests have a response
    /// each.
    pub(crate) fn expect_batch(&mut self) {
        #[cfg(feature = "http")]
        if let Self::Exchange(Exchange { mode: mode @ Mode::Undecided, .. }) = self {
            *mode = Mode::Batch;
        }
    }

    /// Returns the delimiters that end a frame that cannot be finished; `None` when only closing
    /// the connection can end it.
    pub(crate) fn abandoned(&mut self) -> Option<Delimiters> {
        match self {
            Self::Lines => Some(Delimiters::Line),
            #[cfg(feature = "http")]
            Self::Exchange(Exchange { mode: Mode::Events, .. }) => Some(Delimiters::Abandoned),
            #[cfg(feature = "http")]
            Self::Exchange(exchange) => {
                exchange.mode = Mode::Truncated;
                None
            }
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

// Framing of the response to one HTTP request: a JSON body, or events.

/// The state of the response to one HTTP request.
#[cfg(feature = "http")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) mode: Mode,
    /// Number of the stream in event ids; `None` for events without ids.
    pub(crate) stream: Option<u32>,
    /// Number of the next event.
    pub(crate) next: u32,
    /// The `retry` of the priming event, until that is written.
    pub(crate) priming_retry: Option<Duration>,
}

#[cfg(feature = "http")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// The first frame will decide.
    Undecided,
    /// The first frame will be an event, whatever it is: a batch may have several responses.
    Batch,
    /// One response as a JSON body, written in part or as a whole.
    Json { status: u16, is_whole: bool },
    /// An event stream.
    Events,
    /// A JSON body that was aborted.
    Truncated,
}

#[cfg(feature = "http")]
impl Exchange {
    pub(crate) const NEW: Self =
        Self { mode: Mode::Undecided, stream: None, next: 0, priming_retry: None };

    pub(crate) fn delimiters(&self, is_response: bool) -> Result<Delimiters, SendError> {
        match self.mode {
            Mode::Undecided if is_response => Ok(Delimiters::Body),
            Mode::Json { is_whole: false, .. } => Ok(Delimiters::Body),
            // A body is one message.
            Mode::Json { .. } | Mode::Truncated => {
                Err(SendError::NotAllowed(NotAllowed::AlreadyResponded))
            }
            Mode::Undecided | Mode::Batch | Mode::Events => Ok(Delimiters::Event(EventHead {
                stream: self.stream,
                number: self.next,
                priming_retry: self.priming_retry,
            })),
        }
    }

    pub(crate) fn written(&mut self, is_response: bool, status: u16, is_whole: bool) {
        match &mut self.mode {
            Mode::Undecided if is_response => self.mode = Mode::Json { status, is_whole },
            Mode::Json { is_whole: so_far, .. } => *so_far |= is_whole,
            Mode::Undecided | Mode::Batch | Mode::Events => {
                self.mode = Mode::Events;
                if is_whole {
                    let events = 1 + u32::from(self.priming_retry.take().is_some());
                    self.next = self.next.wrapping_add(events);
                }
            }
            Mode::Truncated => {}
        }
    }
}

/// The lines of an event before its data.
#[cfg(feature = "http")]
#[derive(Clone, Copy)]
pub(crate) struct EventHead {
    pub(crate) stream: Option<u32>,
    pub(crate) number: u32,
    pub(crate) priming_retry: Option<Duration>,
}

#[cfg(feature = "http")]
impl EventHead {
    /// Not inlined: it would be prepared for each frame, also for one that is a line.
    #[inline(never)]
    pub(crate) fn write(self, writer: &mut Encoder<'_>) {
        self.write_priming_event(writer);
        let number = self.number.wrapping_add(u32::from(self.priming_retry.is_some()));
        if let Some(stream) = self.stream {
            write_id(writer, EventId { stream, number });
        }
        writer.put(b"data: ")
    }

    pub(crate) fn write_priming_event(self, writer: &mut Encoder<'_>) {
        let (Some(stream), Some(retry)) = (self.stream, self.priming_retry) else { return };
        write_id(writer, EventId { stream, number: self.number });
        writer.put(b"retry: ");
        writer.unsigned(u64::try_from(retry.as_millis()).unwrap_or(u64::MAX));
        writer.put(b"\ndata:\n\n")
    }
}

#[cfg(feature = "http")]
fn write_id(writer: &mut Encoder<'_>, id: EventId) {
    writer.put(b"id: ");
    writer.unsigned(u64::from(id.stream));
    writer.put(b"-");
    writer.unsigned(u64::from(id.number));
    writer.put(b"\n")
}

/// The id of an event, unique in its session. It identifies the stream of the event (2025-11-25,
/// basic/transports).
#[cfg(feature = "http")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventId {
    /// The number of the stream.
    pub stream: u32,
    /// The number of the event in its stream, counted from 0.
    pub number: u32,
}

#[cfg(feature = "http")]
impl FromStr for EventId {
    type Err = InvalidEventId;

    /// Parses the value of `Last-Event-ID`.
    fn from_str(text: &str) -> Result<Self, InvalidEventId> {
        let part = |text: &str| {
            // `str::parse` would also accept `+1` and `01`.
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'));
            text.parse().ok().filter(|_| is_plain).ok_or(InvalidEventId)
        };
        let (stream, number) = text.split_once('-').ok_or(InvalidEventId)?;
        Ok(Self { stream: part(stream)?, number: part(number)? })
    }
}

/// An event id that this server did not assign.
#[cfg(feature = "http")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InvalidEventId;

#[cfg(feature = "http")]
crate::text::error_type!(InvalidEventId => |_| "this server did not assign the event id");

#[cfg(feature = "http")]
impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}
