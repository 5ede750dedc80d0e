//! The way of handlers to their connection.

use std::task::{self, Poll};

#[cfg(feature = "http")]
use mcp_sansio::http::{RequestHead, site::Principal};
use mcp_sansio::types::InputRequest;
use mcp_sansio::{Change, Instant, Link, OwnedJson, Request, RequestHandle, SendError, ToolError};

use super::broadcast::OwnedChange;
use super::context::ActiveRequest;
use super::context::Context;
use super::inner::{ConnectionInner, State};
use super::source::{Attempt, RequestSource};

impl RequestSource for ConnectionInner {
    fn now(&self) -> Instant {
        self.now()
    }

    fn is_open(&self, request: &ActiveRequest) -> bool {
        self.lock().server().is_request_open(request.handle)
    }

    fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        _: &ActiveRequest,
        place: &mut Option<u64>,
        attempt: &mut Attempt<'_>,
    ) -> Poll<Result<(), SendError>> {
        let mut state = self.lock();
        let (mut server, output) = state.parts();
        let sent = match output.is_blocked() {
            true => Err(SendError::Full),
            false => attempt(&mut server, &mut output.tx),
        };
        if sent == Err(SendError::Full) {
            state.waiting.wait(place, cx.waker());
            return Poll::Pending;
        }
        state.notify_driver();
        Poll::Ready(sent)
    }

    fn leave(&self, _: &ActiveRequest, place: u64) {
        self.lock().waiting.leave(place);
    }

    fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        request: &ActiveRequest,
        input_request: Option<OwnedJson>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let mut state = self.lock();
        if let Some(input_request) = input_request {
            *place = Some(state.input_requests.begin(request.handle, input_request));
            state.notify_driver();
        }
        match *place {
            Some(place) => state.input_requests.poll(place, cx),
            None => Poll::Pending,
        }
    }

    fn leave_input(&self, _: &ActiveRequest, place: u64) {
        let mut state = self.lock();
        let State { input_requests, memory, config, .. } = &mut *state;
        if input_requests.leave(place, |call| memory.server(config).is_call_open(call)) {
            state.notify_driver();
        }
    }
}

impl Link for Context {
    fn now(&self) -> Instant {
        self.source.now()
    }

    fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        _: RequestHandle,
        place: &mut Option<u64>,
        attempt: &mut Attempt<'_>,
    ) -> Poll<Result<(), SendError>> {
        self.source.poll_send(cx, &self.active, place, attempt)
    }

    fn leave(&self, place: u64) {
        self.source.leave(&self.active, place);
    }

    fn publish(&self, change: &Change<'_>) -> bool {
        self.broadcaster.publish(&OwnedChange::from(change));
        true
    }

    fn release_connection(&self, _: RequestHandle) -> bool {
        self.source.release_connection(&self.active)
    }

    #[cfg(feature = "http")]
    fn principal(&self) -> Option<&Principal> {
        self.principal()
    }

    #[cfg(feature = "http")]
    fn http_head(&self) -> Option<RequestHead<'_>> {
        self.http_head()
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
        self.source.poll_input(cx, &self.active, new, place)
    }

    fn leave_input(&self, place: u64) {
        self.source.leave_input(&self.active, place);
    }
}
