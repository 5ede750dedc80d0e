//! The way of handlers to their connection.

use std::fmt;
use std::task::{self, Poll};

#[cfg(feature = "http")]
use mcp_sansio::http::Principal;
#[cfg(feature = "http")]
use mcp_sansio::http::RequestHead;
use mcp_sansio::tasks::TaskId;
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Change, InputLink, Instant, Link, OwnedJson, Progress, Request, RequestHandle, SendError,
    ToolError,
};

use super::context::Context;
use super::source::Attempt;

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
        if let Some((task, key)) = self.active.task() {
            return task.poll_send(cx, key, (&self.active, &*self.source), place, attempt);
        }
        self.source.poll_send(cx, &self.active, place, attempt)
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
            task.set_message(message);
        }
    }

    fn set_progress(&self, progress: &Progress<'_>) -> bool {
        self.active
            .task()
            .is_some_and(|(task, _)| task.set_progress(progress, self.active.revision()))
    }

    #[cfg(feature = "http")]
    fn principal(&self) -> Option<&Principal> {
        self.principal()
    }

    #[cfg(feature = "http")]
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
