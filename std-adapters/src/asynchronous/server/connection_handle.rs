//! Type-erased connection handle for handlers.

use std::task::{Context, Poll};

use mcp_sansio::{
    Delivery, Encode, Instant, LogMessage, OwnedJson, Progress, RequestHandle, SendError,
};

use super::inner::ConnectionInner;
use super::reply::Failure;

/// A [`ConnectionInner`] without its const parameters: a stateless HTTP request has smaller tables
/// than a session.
pub(super) trait ConnectionHandle: Send + Sync {
    fn now(&self) -> Instant;
    #[cfg(feature = "http")]
    fn principal(&self) -> Option<&str>;
    fn is_open(&self, request: RequestHandle) -> bool;
    /// Writes a whole notification about a request, or waits for room. `place` identifies the
    /// waiting caller: see [`WaitForRoom`].
    fn poll_notify(
        &self,
        request: RequestHandle,
        note: &Notification<'_>,
        place: &mut Option<u64>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Delivery, SendError>>;
    /// Removes the waker of a caller that stopped waiting.
    fn leave(&self, place: u64);
    /// Queues an input request for the driver to send. Returns its id.
    fn begin_input_request(&self, parent: RequestHandle, input_request: OwnedJson) -> u64;
    fn poll_input_response(
        &self,
        id: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Result<OwnedJson, Failure>>;
    /// Withdraws an input request: removes it, or cancels it if it was sent.
    fn drop_input_request(&self, id: u64);
    #[cfg(feature = "http")]
    fn release_connection(&self, request: RequestHandle) -> bool;
}

/// A notification about a request, sent before its response.
pub(super) enum Notification<'n> {
    Progress(Instant, &'n Progress<'n>),
    Log(&'n LogMessage<'n, dyn Encode + 'n>),
}

/// Registration of a future that waits for room. Dropping it removes its waker.
pub(super) struct WaitForRoom<'v> {
    connection: &'v dyn ConnectionHandle,
    pub(super) place: Option<u64>,
}

impl<'v> WaitForRoom<'v> {
    pub(super) fn new(connection: &'v dyn ConnectionHandle) -> Self {
        Self { connection, place: None }
    }
}

impl Drop for WaitForRoom<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.connection.leave(place);
        }
    }
}

impl ConnectionHandle for ConnectionInner {
    fn now(&self) -> Instant {
        self.now()
    }

    #[cfg(feature = "http")]
    fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    fn is_open(&self, request: RequestHandle) -> bool {
        self.lock().server().is_request_open(request)
    }

    fn poll_notify(
        &self,
        request: RequestHandle,
        note: &Notification<'_>,
        place: &mut Option<u64>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Delivery, SendError>> {
        let mut state = self.lock();
        let (mut server, output) = state.at(request);
        let sent = match note {
            _ if output.is_blocked() => Err(SendError::Full),
            Notification::Progress(now, progress) => {
                server.progress(*now, request, progress, &mut output.tx)
            }
            Notification::Log(message) => server.log(request, message, &mut output.tx),
        };
        match sent {
            Err(SendError::Full) => {
                state.waiting.wait(place, cx.waker());
                Poll::Pending
            }
            sent => {
                state.notify_driver();
                Poll::Ready(sent)
            }
        }
    }

    fn leave(&self, place: u64) {
        self.leave(place);
    }

    fn begin_input_request(&self, parent: RequestHandle, input_request: OwnedJson) -> u64 {
        let mut state = self.lock();
        state.notify_driver();
        state.input_requests.begin(parent, input_request)
    }

    fn poll_input_response(
        &self,
        id: u64,
        cx: &mut Context<'_>,
    ) -> Poll<Result<OwnedJson, Failure>> {
        self.lock().input_requests.poll(id, cx)
    }

    fn drop_input_request(&self, id: u64) {
        self.lock().drop_input_request(id);
    }

    #[cfg(feature = "http")]
    fn release_connection(&self, request: RequestHandle) -> bool {
        use mcp_sansio::http::server::OutgoingResponse;

        let mut state = self.lock();
        let exchange = state.server().exchange(request);
        let Some(output) = state.outputs.of_exchange(exchange) else { return false };
        let is_begun =
            output.tx.http_response().is_some_and(|reply| reply == OutgoingResponse::EVENT_STREAM);
        output.is_released = is_begun || output.tx.send_priming_event().unwrap_or(false);
        let is_released = output.is_released;
        state.notify_driver();
        is_released
    }
}
