//! The way of handlers to their connection.

use std::task::{self, Poll};

#[cfg(feature = "http")]
use mcp_sansio::Revision;
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Change, Instant, Link, OwnedJson, Request, RequestHandle, SendError, Server, ToolError, Tx,
};

use super::broadcast::OwnedChange;
use super::context::Context;
use super::inner::ConnectionInner;

impl ConnectionInner {
    pub(super) fn is_open(&self, request: RequestHandle) -> bool {
        self.lock().server().is_request_open(request)
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

impl Link for Context {
    fn now(&self) -> Instant {
        self.connection.now()
    }

    fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        request: RequestHandle,
        place: &mut Option<u64>,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> Poll<Result<(), SendError>> {
        let mut state = self.connection.lock();
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
        self.connection.leave(place);
    }

    fn publish(&self, change: &Change<'_>) -> bool {
        self.broadcaster.publish(&OwnedChange::from(change));
        true
    }

    fn release_connection(&self, request: RequestHandle) -> bool {
        #[cfg(feature = "http")]
        return self.unread_request().revision == Revision::V2025_11_25
            && self.connection.release_connection(request);
        #[cfg(not(feature = "http"))]
        {
            let _ = request;
            false
        }
    }

    fn request_state(&self) -> Option<&str> {
        self.active.round.request_state()
    }

    fn set_request_state(&self, state: String) -> bool {
        self.active.round.set_request_state(state);
        true
    }

    fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        request: &Request<'_>,
        key: &str,
        input_request: &InputRequest<'_>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        if request.revision.is_modern() {
            return Poll::Ready(self.active.round.input(request, key, input_request));
        }
        let new = match place {
            Some(_) => None,
            None => Some(OwnedJson::new(input_request, request.revision)?),
        };
        let mut state = self.connection.lock();
        if let Some(input_request) = new {
            *place = Some(state.input_requests.begin(request.handle, input_request));
            state.notify_driver();
        }
        match *place {
            Some(place) => state.input_requests.poll(place, cx),
            None => Poll::Pending,
        }
    }

    fn leave_input(&self, place: u64) {
        self.connection.lock().drop_input_request(place);
    }
}
