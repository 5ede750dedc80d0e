//! The output buffer of one HTTP exchange: its first frame decides between a JSON body and an event
//! stream.

use core::time::Duration;

use super::response::{BodyKind, OutgoingResponse};
use crate::error::SendError;
use crate::framing::{Delimiters, EventHead, Exchange, Framing, Mode};
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
        self.with_exchange(Exchange {
            stream: Some(stream),
            priming_retry: Some(retry),
            ..Exchange::NEW
        })
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
            Framing::Exchange(exchange) => match exchange.mode {
                Mode::Undecided | Mode::Batch => None,
                Mode::Json { status, .. } => {
                    Some(OutgoingResponse { status, body: BodyKind::Json })
                }
                Mode::Events => Some(OutgoingResponse::EVENT_STREAM),
                Mode::Truncated => Some(OutgoingResponse { status: 200, body: BodyKind::Json }),
            },
            Framing::Lines | Framing::Post(_) => None,
        }
    }

    /// Whether a JSON body was [aborted](crate::Server::fail) half-way. Close the connection
    /// without ending the body, so that the client notices.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        matches!(self.framing(), Framing::Exchange(Exchange { mode: Mode::Truncated, .. }))
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
        let (Mode::Undecided, Some(_)) = (exchange.mode, exchange.priming_retry) else {
            return Ok(false);
        };
        let head = EventHead {
            stream: exchange.stream,
            number: exchange.next,
            priming_retry: exchange.priming_retry,
        };
        let tx: &mut Tx<'_> = self;
        tx.whole_frame_with(Delimiters::Body, &mut |writer| head.write_priming_event(writer))?;
        tx.set_framing(Framing::Exchange(Exchange {
            mode: Mode::Events,
            next: exchange.next + 1,
            priming_retry: None,
            ..exchange
        }));
        Ok(true)
    }
}
