//! The output buffer of one HTTP exchange: its first frame decides between a JSON body and an event
//! stream.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::response::{BodyKind, OutgoingResponse};
use crate::encode::{WriteError, Writer};
use crate::error::SendError;
use crate::framing::{Delimiters, Framing};
use crate::storage::Storage;
use crate::tx::{Tx, TxBuffer};

impl<S: Storage> TxBuffer<S> {
    /// Creates a buffer for the response to one HTTP request, in storage that may grow up to
    /// `limit` bytes.
    ///
    /// The first frame decides the kind of the response: a JSON-RPC response becomes the body, with
    /// the status that belongs to it; a notification or a request starts an event stream.
    /// [`http_response`](Self::http_response) returns the decision. If it returns `None` and no
    /// request of the exchange is open, send [`OutgoingResponse::ACCEPTED`].
    #[must_use]
    pub const fn for_http_response(storage: S, limit: usize) -> Self {
        Self::with_limit(storage, limit).with_framing(Framing::Exchange(Exchange::NEW))
    }

    /// Assigns ids to events, so that the client can resume the stream. `stream` must be unique in
    /// the session. From 2025-11-25 on, start the stream of a POST [with an empty
    /// event](Self::with_priming_event).
    #[must_use]
    pub const fn with_event_ids(self, stream: u32) -> Self {
        self.with_exchange(Exchange { stream: Some(stream), ..Exchange::NEW })
    }

    /// Assigns ids to events and starts with an empty event, whose id lets the client resume before
    /// the first message, after waiting for `retry` (2025-11-25). Clients of older revisions would
    /// take the empty event for a message.
    #[must_use]
    pub const fn with_priming_event(self, stream: u32, retry: Duration) -> Self {
        self.with_exchange(Exchange { stream: Some(stream), prime: Some(retry), ..Exchange::NEW })
    }

    /// Makes the response an event stream regardless of the first frame: the only stream of
    /// HTTP+SSE (2024-11-05).
    #[must_use]
    pub const fn event_stream_only(self) -> Self {
        self.with_exchange(Exchange { mode: Mode::Events, ..Exchange::NEW })
    }

    const fn with_exchange(self, exchange: Exchange) -> Self {
        self.with_framing(Framing::Exchange(exchange))
    }
}

impl<S: Storage + ?Sized> TxBuffer<S> {
    /// Returns the head that the first frame has decided; `None` before the first frame, and for a
    /// buffer that is not of an exchange.
    #[must_use]
    pub fn http_response(&self) -> Option<OutgoingResponse> {
        match self.framing() {
            Framing::Exchange(exchange) => exchange.reply(),
            Framing::Lines => None,
        }
    }

    /// Whether a JSON body was [aborted](crate::Server::fail) half-way. Close the connection without
    /// ending the body, so that the client notices.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        matches!(self.framing(), Framing::Exchange(Exchange { mode: Mode::Cut, .. }))
    }
}

impl<S: Storage> TxBuffer<S> {
    /// Writes the [priming event](Self::with_priming_event) before there is a message, so that the
    /// connection can be closed and the client reconnects for what follows. Returns `false` for
    /// exchanges without one, and after the first frame.
    ///
    /// # Errors
    /// [`SendError::TooLarge`] if the event does not fit.
    pub fn send_priming_event(&mut self) -> Result<bool, SendError> {
        let Framing::Exchange(exchange) = *self.framing() else { return Ok(false) };
        let (Mode::Undecided, Some(_)) = (exchange.mode, exchange.prime) else { return Ok(false) };
        let head =
            EventHead { stream: exchange.stream, number: exchange.next, prime: exchange.prime };
        let tx: &mut Tx<'_> = self;
        tx.whole_frame_with(Delimiters::Body, &mut |writer| head.write_prime(writer))?;
        tx.set_framing(Framing::Exchange(Exchange {
            mode: Mode::Events,
            next: exchange.next + 1,
            prime: None,
            ..exchange
        }));
        Ok(true)
    }
}

/// What the frames of an exchange are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    mode: Mode,
    /// What events are numbered by, if they are.
    stream: Option<u32>,
    /// The number of the next event.
    next: u32,
    /// What the empty first event says, until it is written.
    prime: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Undecided,
    /// Not decided either, but whatever the first frame is, it is an event.
    Several,
    /// One response, which may have been written in part or as a whole.
    Json {
        status: u16,
        is_whole: bool,
    },
    Events,
    Cut,
}

impl Exchange {
    const NEW: Self = Self { mode: Mode::Undecided, stream: None, next: 0, prime: None };

    fn reply(&self) -> Option<OutgoingResponse> {
        match self.mode {
            Mode::Undecided | Mode::Several => None,
            Mode::Json { status, .. } => Some(OutgoingResponse { status, body: BodyKind::Json }),
            Mode::Events => Some(OutgoingResponse::EVENT_STREAM),
            Mode::Cut => Some(OutgoingResponse { status: 200, body: BodyKind::Json }),
        }
    }

    pub(crate) fn delimiters(&self, is_response: bool) -> Result<Delimiters, SendError> {
        match self.mode {
            Mode::Undecided if is_response => Ok(Delimiters::Body),
            Mode::Json { is_whole: false, .. } => Ok(Delimiters::Body),
            // A body is one message.
            Mode::Json { .. } | Mode::Cut => Err(SendError::NotAllowed),
            Mode::Undecided | Mode::Several | Mode::Events => Ok(Delimiters::Event(EventHead {
                stream: self.stream,
                number: self.next,
                prime: self.prime,
            })),
        }
    }

    pub(crate) fn written(&mut self, is_response: bool, status: u16, is_whole: bool) {
        match &mut self.mode {
            Mode::Undecided if is_response => self.mode = Mode::Json { status, is_whole },
            Mode::Json { is_whole: so_far, .. } => *so_far |= is_whole,
            Mode::Undecided | Mode::Several | Mode::Events => {
                self.mode = Mode::Events;
                if is_whole {
                    self.next =
                        self.next.wrapping_add(if self.prime.take().is_some() { 2 } else { 1 });
                }
            }
            Mode::Cut => {}
        }
    }

    /// The requests of a batch (2025-03-26) have a response each.
    pub(crate) fn expect_several(&mut self) {
        if self.mode == Mode::Undecided {
            self.mode = Mode::Several;
        }
    }

    pub(crate) fn abandoned(&mut self) -> Option<Delimiters> {
        if self.mode == Mode::Events {
            return Some(Delimiters::Abandoned);
        }
        self.mode = Mode::Cut;
        None
    }
}

/// What stands before the data of an event.
#[derive(Clone, Copy)]
pub(crate) struct EventHead {
    stream: Option<u32>,
    number: u32,
    prime: Option<Duration>,
}

impl EventHead {
    pub(crate) fn write(self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        self.write_prime(writer)?;
        let number = self.number.wrapping_add(u32::from(self.prime.is_some()));
        if let Some(stream) = self.stream {
            write_id(writer, EventId { stream, number })?;
        }
        writer.put(b"data: ")
    }

    /// The empty event.
    fn write_prime(self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        let (Some(stream), Some(retry)) = (self.stream, self.prime) else { return Ok(()) };
        write_id(writer, EventId { stream, number: self.number })?;
        writer.put(b"retry: ")?;
        writer.unsigned(u64::try_from(retry.as_millis()).unwrap_or(u64::MAX))?;
        writer.put(b"\ndata:\n\n")
    }
}

fn write_id(writer: &mut Writer<'_>, id: EventId) -> Result<(), WriteError> {
    writer.put(b"id: ")?;
    writer.unsigned(u64::from(id.stream))?;
    writer.put(b"-")?;
    writer.unsigned(u64::from(id.number))?;
    writer.put(b"\n")
}

/// The id of an event, unique in its session. It identifies the stream of the event (2025-11-25,
/// basic/transports).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventId {
    /// The number of the stream.
    pub stream: u32,
    /// The number of the event in its stream, counted from 0.
    pub number: u32,
}

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidEventId;

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.number)
    }
}
