//! What a handler speaks through: a link of whatever size.

use std::task::{Context, Poll};

use mcp_sansio::{
    Delivery, Instant, LogMessage, OwnedJson, Payload, Progress, RequestHandle, SendError,
};

use super::link::Link;
use super::reply::Failure;

/// A [`Link`] without its sizes: a request that stands alone has a small one, whatever a session
/// has room for.
pub(super) trait Voice: Send + Sync {
    fn now(&self) -> Instant;
    #[cfg(feature = "http")]
    fn principal(&self) -> Option<&str>;
    fn is_open(&self, request: RequestHandle) -> bool;
    /// Sends a frame about a request that goes out whole, as soon as there is room. `place` is
    /// where the caller waits: see [`Waiting`].
    fn poll_note(
        &self,
        request: RequestHandle,
        note: &Note<'_>,
        place: &mut Option<u64>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Delivery, SendError>>;
    /// A caller that waits no more.
    fn leave(&self, place: u64);
    /// Has the connection ask; the question's ticket.
    fn ask(&self, parent: RequestHandle, question: OwnedJson) -> u64;
    fn poll_answer(&self, ticket: u64, cx: &mut Context<'_>) -> Poll<Result<OwnedJson, Failure>>;
    /// Takes a question back.
    fn drop_question(&self, ticket: u64);
    #[cfg(feature = "http")]
    fn release_connection(&self, request: RequestHandle) -> bool;
}

/// What is told about a request before its answer.
pub(super) enum Note<'n> {
    Progress(Instant, &'n Progress<'n>),
    Log(&'n LogMessage<'n, dyn Payload + 'n>),
}

/// A future that waits for room. Dropped, it leaves no waker behind.
pub(super) struct Waiting<'v> {
    voice: &'v dyn Voice,
    pub(super) place: Option<u64>,
}

impl<'v> Waiting<'v> {
    pub(super) fn new(voice: &'v dyn Voice) -> Self {
        Self { voice, place: None }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.voice.leave(place);
        }
    }
}

impl<const N: usize, const S: usize> Voice for Link<N, S> {
    fn now(&self) -> Instant {
        self.now()
    }

    #[cfg(feature = "http")]
    fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    fn is_open(&self, request: RequestHandle) -> bool {
        self.lock().server.is_request_open(request)
    }

    fn poll_note(
        &self,
        request: RequestHandle,
        note: &Note<'_>,
        place: &mut Option<u64>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Delivery, SendError>> {
        let mut state = self.lock();
        let (server, outlet) = state.at(request);
        let sent = match note {
            _ if outlet.is_blocked() => Err(SendError::Full),
            Note::Progress(now, progress) => {
                server.progress(*now, request, progress, &mut outlet.tx)
            }
            Note::Log(message) => server.log(request, message, &mut outlet.tx),
        };
        match sent {
            Err(error) if error.is_full() => {
                state.waiting.wait(place, cx.waker());
                Poll::Pending
            }
            sent => {
                state.touch();
                Poll::Ready(sent)
            }
        }
    }

    fn leave(&self, place: u64) {
        self.leave(place);
    }

    fn ask(&self, parent: RequestHandle, question: OwnedJson) -> u64 {
        let mut state = self.lock();
        state.touch();
        state.asks.begin(parent, question)
    }

    fn poll_answer(&self, ticket: u64, cx: &mut Context<'_>) -> Poll<Result<OwnedJson, Failure>> {
        self.lock().asks.poll(ticket, cx)
    }

    fn drop_question(&self, ticket: u64) {
        self.lock().drop_question(ticket);
    }

    #[cfg(feature = "http")]
    fn release_connection(&self, request: RequestHandle) -> bool {
        use mcp_sansio::http::server::OutgoingResponse;

        let mut state = self.lock();
        let exchange = state.server.exchange(request);
        let Some(outlet) = state.outlets.of_exchange(exchange) else { return false };
        let is_begun =
            outlet.tx.http_response().is_some_and(|reply| reply == OutgoingResponse::EVENT_STREAM);
        outlet.is_released = is_begun || outlet.tx.send_priming_event().unwrap_or(false);
        let is_released = outlet.is_released;
        state.touch();
        is_released
    }
}
