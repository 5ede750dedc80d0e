//! The connection that a request came from, and the way of its handler to it.

use std::fmt;
use std::sync::Arc;
use std::task::{self, Poll};

use mcp_sansio::http::{Principal, RequestHead};
use mcp_sansio::tasks::TaskId;
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Change, InputLink, Instant, Link, OwnedJson, Progress, Request, RequestHandle, SendError,
    ToolError, TxBuffer,
};
pub(crate) use mcp_sansio_engine::internal::Attempt;
use mcp_sansio_engine::internal::{Destination, InputRequests, Outputs, WakerSet};

use super::admission::Load;
use super::app::Settings;
use super::context::{ActiveRequest, Context};
use super::reply::PendingResponse;

/// A connection, or an HTTP server.
pub(crate) trait RequestSource: Send + Sync {
    fn settings(&self) -> &Settings;

    /// Returns the time of the clock that the server uses.
    fn now(&self) -> Instant;

    /// Returns whether the response to a request is still awaited.
    fn is_open(&self, request: &ActiveRequest) -> bool;

    /// Hands in the response to a request, unless it is no longer awaited.
    fn answer(&self, request: &ActiveRequest, response: PendingResponse);

    /// Makes a call with the server of a request, unless that has ended.
    fn with_server(&self, request: &ActiveRequest, call: &mut ServerCall<'_>);

    /// Tells the client of a request of a change, whether it subscribed to it or not.
    fn tell(&self, change: &Change<'_>) {
        let _ = change;
    }

    /// Closes the HTTP connection of a request, so that its client polls for the response.
    fn release_connection(&self, request: &ActiveRequest) -> bool {
        let _ = request;
        false
    }
}

/// One call of a server, which returns whether there may be more to send.
pub(crate) type ServerCall<'s> = dyn FnMut(&mut ServerState, &mut dyn Outputs) -> bool + 's;

/// The load of a server's requests, and the futures of their handlers that wait.
#[derive(Default)]
pub(crate) struct ServerState {
    /// `None` for a request without a connection or a session.
    pub(crate) load: Option<Arc<Load>>,
    /// Futures that wait for room.
    pub(crate) waiting: WakerSet,
    pub(crate) input_requests: InputRequests,
}

/// Each future that waits keeps `place`, `None` until it has waited for the first time, and gives
/// it back with [`leave`](Self::leave) or [`leave_input`](Self::leave_input).
impl dyn RequestSource + '_ {
    /// Sends a message about a request when there is room.
    pub(crate) fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        request: &ActiveRequest,
        place: &mut Option<u64>,
        attempt: &mut Attempt<'_>,
    ) -> Poll<Result<(), SendError>> {
        let mut result = None;
        self.with_server(request, &mut |server, outputs| {
            let sent = outputs.send(Destination::Request(request.handle), attempt);
            if sent == Err(SendError::Full) {
                server.waiting.wait(place, cx.waker());
            }
            result = Some(sent);
            sent != Err(SendError::Full)
        });
        match result {
            Some(Err(SendError::Full)) => Poll::Pending,
            Some(sent) => Poll::Ready(sent),
            None => {
                // A server without the request finds that it is gone.
                let mut gone = self.settings().server_state();
                let mut tx = TxBuffer::with_limit(Vec::new(), 0);
                Poll::Ready(attempt(&mut gone.server(self.settings().config), &mut tx))
            }
        }
    }

    /// A future no longer waits for room.
    pub(crate) fn leave(&self, request: &ActiveRequest, place: u64) {
        self.with_server(request, &mut |server, _| {
            server.waiting.leave(place);
            false
        });
    }

    /// Polls for the response to an input request. `input_request` is `Some` the first time.
    pub(crate) fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        request: &ActiveRequest,
        mut input_request: Option<OwnedJson>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let mut result = Poll::Ready(Err(ToolError::GONE));
        self.with_server(request, &mut |server, _| {
            let (task, inputs) =
                (request.awaited.get().map(|(_, id)| *id), &mut server.input_requests);
            let new = input_request.take().map(|new| inputs.begin(request.handle, task, new));
            *place = new.or(*place);
            result = place.map_or(Poll::Pending, |place| inputs.poll(place, cx.waker()));
            new.is_some()
        });
        result
    }

    /// A future no longer waits for the response to an input request.
    pub(crate) fn leave_input(&self, request: &ActiveRequest, place: u64) {
        self.with_server(request, &mut |server, _| server.input_requests.leave(place));
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
        let task = self.active.task().filter(|_| self.active.origin.is_some());
        let Some((task, key)) = task else {
            return self.source.poll_send(cx, &self.active, place, attempt);
        };
        match task.channel(key, &self.active) {
            Some((request, source)) => source.poll_send(cx, &request, place, attempt),
            None => Poll::Ready(Ok(())),
        }
    }

    fn leave(&self, place: u64) {
        self.source.leave(&self.active, place);
    }

    fn publish(&self, change: &Change<'_>) -> bool {
        self.broadcaster().publish(*change);
        true
    }

    fn release_connection(&self, _: RequestHandle) -> bool {
        self.source.release_connection(&self.active)
    }

    fn task(&self) -> Option<TaskId> {
        self.active.task.as_ref()?.id()
    }

    fn set_status(&self, message: &dyn fmt::Display) {
        if let Some((task, _)) = self.active.task() {
            task.set_message(message, None);
        }
    }

    fn set_progress(&self, progress: &Progress<'_>) -> bool {
        self.active
            .task()
            .is_some_and(|(task, _)| task.set_progress(progress, self.active.revision()))
    }

    fn principal(&self) -> Option<&Principal> {
        self.principal()
    }

    fn http_head(&self) -> Option<RequestHead<'_>> {
        self.http_head()
    }
}

impl InputLink for Context {
    fn request_state(&self) -> Option<&str> {
        self.active.round.request_state()
    }

    fn set_request_state(&self, state: String) -> bool {
        self.active.round.set_request_state(state)
    }

    fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        request: &Request<'_>,
        key: &str,
        input_request: &InputRequest<'_>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        if let Some((task, key_of_task)) = self.active.task() {
            if let Some(response) = self.active.round.input_response(key, request) {
                return Poll::Ready(Ok(response));
            }
            return task.poll_input(cx, key_of_task, input_request, request.revision, place);
        }
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
        if let Some((task, key)) = self.active.task() {
            return task.leave_input(key, place);
        }
        self.source.leave_input(&self.active, place);
    }
}
