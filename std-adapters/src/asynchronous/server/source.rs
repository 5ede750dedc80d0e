//! The connection that a request came from, as its handler uses it.

use std::task::{Context, Poll};

use mcp_sansio::{Change, Instant, OwnedJson, SendError, Server, ToolError, Tx};

use super::context::ActiveRequest;
use super::reply::PendingResponse;

/// A connection, or an HTTP server. Each future that waits keeps `place`, `None` until it has
/// waited for the first time, and gives it back with [`leave`](Self::leave) or
/// [`leave_input`](Self::leave_input).
pub(crate) trait RequestSource: Send + Sync {
    /// Returns the time of the clock that the server uses.
    fn now(&self) -> Instant;

    /// Returns whether the response to a request is still awaited.
    fn is_open(&self, request: &ActiveRequest) -> bool;

    /// Hands in the response to a request, unless it is no longer awaited.
    fn answer(&self, request: &ActiveRequest, response: PendingResponse);

    /// Sends a message about a request when there is room.
    fn poll_send(
        &self,
        cx: &mut Context<'_>,
        request: &ActiveRequest,
        place: &mut Option<u64>,
        call: &mut Attempt<'_>,
    ) -> Poll<Result<(), SendError>>;

    /// A future no longer waits for room.
    fn leave(&self, request: &ActiveRequest, place: u64);

    /// Polls for the response to an input request. `input_request` is `Some` the first time.
    fn poll_input(
        &self,
        cx: &mut Context<'_>,
        request: &ActiveRequest,
        input_request: Option<OwnedJson>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>>;

    /// A future no longer waits for the response to an input request.
    fn leave_input(&self, request: &ActiveRequest, place: u64);

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

/// One attempt to send.
pub(crate) type Attempt<'s> = dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError> + 's;
