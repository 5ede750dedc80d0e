//! One request and its response, and what continues it.

use core::time::Duration;

use crate::lifecycle::Revision;
use crate::message::{MAX_ID, hash_str};

/// What is known of an exchange while it lasts: who waits for it, and how it may go on.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(super) purpose: Purpose,
    /// The id of the request that it is to answer, as it is written.
    pub(super) id: heapless::String<MAX_ID, u8>,
    pub(super) is_modern: bool,
    pub(super) in_session: bool,
    /// The revision that an `initialize` offers.
    pub(super) offer: Option<Revision>,
    pub(super) is_stream: bool,
    pub(super) has_response: bool,
    /// The number of times in a row that it was resumed without a message or the id of another
    /// event.
    pub(super) in_vain: u8,
    /// The hash of the last event's id when it ended before.
    pub(super) last_event: Option<u64>,
}

/// What an exchange is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    Message,
    Initialize,
    /// The stream on which a server says what belongs to no request.
    Listen,
    /// The stream on which a server of 2024-11-05 says everything.
    Older,
    Delete,
}

/// What follows the end of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep {
    /// Nothing: it has done what it was for.
    Done,
    /// A GET with the id of the last event, and not before this time has passed (2025-11-25,
    /// basic/transports).
    Resume(Duration),
    /// The answer will not come: [`HttpFailure::ConnectionLost`](super::HttpFailure::Lost).
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
            in_vain: 0,
            last_event: None,
        }
    }

    /// The stream on which a server of 2024-11-05 says everything, from the endpoint to the
    /// answers.
    #[must_use]
    pub fn http_sse() -> Self {
        Self::new(Purpose::Older)
    }

    /// The id of the request that it is to answer, as it is written.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        if self.id.is_empty() { None } else { Some(&self.id) }
    }

    /// Whether the answer has come.
    #[must_use]
    pub const fn has_response(&self) -> bool {
        self.has_response
    }

    /// Whether its request is one of 2026-07-28: who ends it, cancels it, and nothing resumes it.
    #[must_use]
    pub const fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Whether its request opens a session.
    #[must_use]
    pub fn is_initialize(&self) -> bool {
        self.purpose == Purpose::Initialize
    }

    /// The body has ended, or the connection has. What follows depends on whether the answer has
    /// come, and on the stream: the [id of its last
    /// event](crate::http::sse::EventReader::last_event_id) and the [time to
    /// wait](crate::http::sse::EventReader::retry) that the server asked for. Call it again when
    /// there was no response to what was to take the stream up again. NextStep 8 times in a row
    /// without a message or the id of another event the answer is lost. The time to wait is at
    /// least [`MIN_RETRY`], whatever the server asks for.
    pub fn end_of_body(
        &mut self,
        last_event_id: Option<&str>,
        retry: Option<Duration>,
    ) -> NextStep {
        // What belongs to no request has no time limit that would end the attempts. A new id shows
        // that the server follows the stream, although it has had nothing to say yet.
        let last_event = last_event_id.map(hash_str);
        if last_event.is_some() && last_event != self.last_event {
            (self.last_event, self.in_vain) = (last_event, 0);
        }
        let is_over = self.in_vain >= MAX_IN_VAIN && self.purpose != Purpose::Listen;
        let resumes = self.is_stream && !self.is_modern && !is_over;
        let wait = retry
            .map_or(RETRY.saturating_mul(1 << self.in_vain.min(5)), |retry| retry.max(MIN_RETRY));
        let after = match self.purpose {
            Purpose::Delete => NextStep::Done,
            Purpose::Older => NextStep::Lost,
            Purpose::Listen if resumes => NextStep::Resume(wait),
            Purpose::Listen => NextStep::Done,
            Purpose::Message | Purpose::Initialize if self.has_response || self.id.is_empty() => {
                NextStep::Done
            }
            Purpose::Message | Purpose::Initialize if resumes && last_event_id.is_some() => {
                NextStep::Resume(wait)
            }
            Purpose::Message | Purpose::Initialize => NextStep::Lost,
        };
        if matches!(after, NextStep::Resume(_)) {
            self.in_vain = self.in_vain.saturating_add(1);
        }
        after
    }
}

/// How often in a row it is tried to resume a stream.
const MAX_IN_VAIN: u8 = 8;
/// The shortest time that is waited before a stream is resumed, also where the server asks for
/// less.
pub const MIN_RETRY: Duration = Duration::from_millis(100);
/// How long to wait before a stream is resumed, where the server does not say; twice as long each
/// time that it is in vain.
const RETRY: Duration = Duration::from_secs(1);
