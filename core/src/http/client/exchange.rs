//! One HTTP request, its response, and the requests that resume it.

use core::time::Duration;

use crate::lifecycle::Revision;
use crate::message::{MAX_ID, hash_str};

/// The state of an HTTP exchange: the JSON-RPC request that awaits a response, and whether the
/// response stream can be resumed.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(super) purpose: Purpose,
    /// The id of the JSON-RPC request, as JSON; empty for other messages.
    pub(super) id: heapless::String<MAX_ID, u8>,
    pub(super) is_modern: bool,
    pub(super) in_session: bool,
    /// The revision that an `initialize` request offers.
    pub(super) offer: Option<Revision>,
    pub(super) is_stream: bool,
    pub(super) has_response: bool,
    /// The number of successive attempts to resume without a message or a new event id.
    pub(super) failed_resumes: u8,
    /// The hash of the last event id of the previous attempt.
    pub(super) last_event: Option<u64>,
}

/// The purpose of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    Message,
    Initialize,
    /// The standalone GET stream.
    StandaloneGet,
    /// The event stream of HTTP+SSE (2024-11-05).
    HttpSse,
    Delete,
}

/// The next step after the end of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep {
    /// Nothing: the exchange is complete.
    Done,
    /// Resume with a GET that has the id of the last event, after this time (2025-11-25,
    /// basic/transports).
    Resume(Duration),
    /// The response is lost: [`HttpFailure::ConnectionLost`](super::HttpFailure::ConnectionLost).
    Lost,
}

impl Exchange {
    pub(super) fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            id: heapless::String::new(),
            is_modern: false,
            in_session: false,
            offer: None,
            is_stream: false,
            has_response: false,
            failed_resumes: 0,
            last_event: None,
        }
    }

    /// Creates the exchange of a GET that opens the event stream of HTTP+SSE (2024-11-05).
    #[must_use]
    pub fn http_sse() -> Self {
        Self::new(Purpose::HttpSse)
    }

    /// Returns the id of the JSON-RPC request, as JSON; `None` for other messages.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        if self.id.is_empty() { None } else { Some(&self.id) }
    }

    /// Whether the response to the JSON-RPC request has been received.
    #[must_use]
    pub const fn has_response(&self) -> bool {
        self.has_response
    }

    /// Whether the request is of 2026-07-28: ending the exchange cancels it, and it cannot be
    /// resumed.
    #[must_use]
    pub const fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Whether the request is `initialize`.
    #[must_use]
    pub fn is_initialize(&self) -> bool {
        self.purpose == Purpose::Initialize
    }

    /// Handles the end of the body or of the connection. The result depends on whether the response
    /// has been received, and on the stream: the [id of its last
    /// event](crate::http::sse::EventReader::last_event_id) and the [reconnection
    /// time](crate::http::sse::EventReader::retry) that the server asked for. Call it again if an
    /// attempt to resume got no response. After 8 successive attempts without a message or a new
    /// event id the response is lost. The time to wait is at least [`MIN_RETRY`].
    pub fn end_of_body(
        &mut self,
        last_event_id: Option<&str>,
        retry: Option<Duration>,
    ) -> NextStep {
        // Attempts to resume the standalone stream are not limited. A new event id shows that the
        // server keeps the stream, even if it has sent no message yet.
        let last_event = last_event_id.map(hash_str);
        if last_event.is_some() && last_event != self.last_event {
            (self.last_event, self.failed_resumes) = (last_event, 0);
        }
        let is_over =
            self.failed_resumes >= MAX_FAILED_RESUMES && self.purpose != Purpose::StandaloneGet;
        let resumes = self.is_stream && !self.is_modern && !is_over;
        let wait = retry.map_or(RETRY.saturating_mul(1 << self.failed_resumes.min(5)), |retry| {
            retry.max(MIN_RETRY)
        });
        let after = match self.purpose {
            Purpose::Delete => NextStep::Done,
            Purpose::HttpSse => NextStep::Lost,
            Purpose::StandaloneGet if resumes => NextStep::Resume(wait),
            Purpose::StandaloneGet => NextStep::Done,
            Purpose::Message | Purpose::Initialize if self.has_response || self.id.is_empty() => {
                NextStep::Done
            }
            Purpose::Message | Purpose::Initialize if resumes && last_event_id.is_some() => {
                NextStep::Resume(wait)
            }
            Purpose::Message | Purpose::Initialize => NextStep::Lost,
        };
        if matches!(after, NextStep::Resume(_)) {
            self.failed_resumes = self.failed_resumes.saturating_add(1);
        }
        after
    }
}

/// Maximum number of successive attempts to resume a stream.
const MAX_FAILED_RESUMES: u8 = 8;
/// Minimum time before a stream is resumed, even if the server asks for less.
pub const MIN_RETRY: Duration = Duration::from_millis(100);
/// Time before a stream is resumed if the server does not specify one; doubled on each unsuccessful
/// attempt.
const RETRY: Duration = Duration::from_secs(1);
