//! Framing of the response to one HTTP request: a JSON body, or events.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use super::Delimiters;
use crate::encode::Encoder;
use crate::error::{NotAllowed, SendError};

/// The state of the response to one HTTP request.
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
                    self.next = self.next.wrapping_add(if self.priming_retry.take().is_some() {
                        2
                    } else {
                        1
                    });
                }
            }
            Mode::Truncated => {}
        }
    }

    /// The requests of a batch (2025-03-26) have a response each.
    pub(crate) fn expect_batch(&mut self) {
        if self.mode == Mode::Undecided {
            self.mode = Mode::Batch;
        }
    }

    pub(crate) fn abandoned(&mut self) -> Option<Delimiters> {
        if self.mode == Mode::Events {
            return Some(Delimiters::Abandoned);
        }
        self.mode = Mode::Truncated;
        None
    }
}

/// The lines of an event before its data.
#[derive(Clone, Copy)]
pub(crate) struct EventHead {
    pub(crate) stream: Option<u32>,
    pub(crate) number: u32,
    pub(crate) priming_retry: Option<Duration>,
}

impl EventHead {
    pub(crate) fn write(self, writer: &mut Encoder<'_>) {
        self.write_priming_event(writer);
        let number = self.number.wrapping_add(u32::from(self.priming_retry.is_some()));
        if let Some(stream) = self.stream {
            write_id(writer, EventId { stream, number });
        }
        writer.put(b"data: ")
    }

    /// Writes the priming event.
    pub(crate) fn write_priming_event(self, writer: &mut Encoder<'_>) {
        let (Some(stream), Some(retry)) = (self.stream, self.priming_retry) else { return };
        write_id(writer, EventId { stream, number: self.number });
        writer.put(b"retry: ");
        writer.unsigned(u64::try_from(retry.as_millis()).unwrap_or(u64::MAX));
        writer.put(b"\ndata:\n\n")
    }
}

fn write_id(writer: &mut Encoder<'_>, id: EventId) {
    writer.put(b"id: ");
    writer.unsigned(u64::from(id.stream));
    writer.put(b"-");
    writer.unsigned(u64::from(id.number));
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
