//! The way of handlers to their connection.

use std::future::poll_fn;
use std::task::{Context, Poll};

use mcp_sansio::{Delivery, Instant, Link, RequestHandle, SendError, Server, ToolError, Tx};

use super::inner::ConnectionInner;

impl ConnectionInner {
    pub(super) fn is_open(&self, request: RequestHandle) -> bool {
        self.lock().server().is_request_open(request)
    }

    /// Sends a notification about a request, whole or not at all. Waits for room; one longer than
    /// the output buffer is dropped.
    pub(super) async fn notify(
        &self,
        request: RequestHandle,
        mut call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<Delivery, SendError>,
    ) -> Result<(), ToolError<'static>> {
        let mut waiting = WaitForRoom::new(self);
        let mut delivery = Delivery::Gone;
        let mut call = |server: &mut Server<'_>, tx: &mut Tx<'_>| {
            delivery = call(server, tx)?;
            Ok(())
        };
        let sent = poll_fn(|cx| self.poll_send(cx, request, &mut waiting.place, &mut call)).await;
        match (sent, delivery) {
            (Ok(()), Delivery::Gone) => Err(ToolError::GONE),
            (Ok(()) | Err(SendError::TooLarge), _) => Ok(()),
            (Err(error), _) => Err(error.into()),
        }
    }

    #[cfg(feature = "http")]
    pub(super) fn release_connection(&self, request: RequestHandle) -> bool {
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

impl Link for ConnectionInner {
    fn now(&self) -> Instant {
        self.now()
    }

    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        request: RequestHandle,
        place: &mut Option<u64>,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Poll<Result<(), SendError>> {
        let mut state = self.lock();
        let (mut server, output) = state.at(request);
        let sent = match output.is_blocked() {
            true => Err(SendError::Full),
            false => call(&mut server, &mut output.tx),
        };
        if sent == Err(SendError::Full) {
            state.waiting.wait(place, cx.waker());
            return Poll::Pending;
        }
        state.notify_driver();
        Poll::Ready(sent)
    }

    fn leave(&self, place: u64) {
        self.leave(place);
    }
}

/// The place of a future that waits for room, which it gives up when it is dropped.
pub(super) struct WaitForRoom<'a> {
    connection: &'a ConnectionInner,
    pub(super) place: Option<u64>,
}

impl<'a> WaitForRoom<'a> {
    pub(super) const fn new(connection: &'a ConnectionInner) -> Self {
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
