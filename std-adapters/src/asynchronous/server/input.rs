//! Input requests to a client (elicitation, sampling, roots), and its responses.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll, Waker};

use mcp_sansio::typed::InputObject;
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Call, ClientRequest, Instant, InvalidPayload, OrToolError as _, OwnedJson, RawJson,
    RequestHandle, SendError, ToolError,
};
use serde::Deserialize;

use super::inner::{ConnectionInner, State};

/// All input requests of a connection. The driver sends them and not their futures, which may be
/// dropped in the middle of a frame.
#[derive(Default)]
pub(super) struct InputRequests {
    input_requests: Vec<PendingInput>,
    made: u64,
}

struct PendingInput {
    id: u64,
    parent: RequestHandle,
    input_request: OwnedJson,
    stage: Stage,
    /// Whether its future was dropped.
    is_dropped: bool,
    waker: Option<Waker>,
}

enum Stage {
    Queued,
    /// Part of the frame has been written.
    PartlyWritten,
    Open(Call),
    Done(Result<OwnedJson, ToolError<'static>>),
}

impl InputRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.input_requests.is_empty()
    }

    /// Records the response to a call, or the reason why there is none.
    pub(super) fn finish(&mut self, call: Call, response: Result<OwnedJson, ToolError<'static>>) {
        let is_same = |pending: &&mut PendingInput| -> bool {
            matches!(pending.stage, Stage::Open(open) if open == call)
        };
        if let Some(pending) = self.input_requests.iter_mut().find(is_same) {
            pending.end(response);
        }
        self.input_requests
            .retain(|pending| !(pending.is_dropped && matches!(pending.stage, Stage::Done(_))));
    }

    /// Ends all input requests: no response will arrive.
    pub(super) fn close(&mut self) {
        self.input_requests.iter_mut().for_each(|pending| pending.end(Err(ToolError::GONE)));
    }

    pub(super) fn begin(&mut self, parent: RequestHandle, input_request: OwnedJson) -> u64 {
        self.made += 1;
        let pending = PendingInput {
            id: self.made,
            parent,
            input_request,
            stage: Stage::Queued,
            is_dropped: false,
            waker: None,
        };
        self.input_requests.push(pending);
        self.made
    }

    /// Returns the response, if there is one; otherwise keeps the waker.
    pub(super) fn poll(
        &mut self,
        id: u64,
        cx: &mut task::Context<'_>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let Some(at) = self.position(id) else { return Poll::Ready(Err(ToolError::GONE)) };
        match self.input_requests.get_mut(at) {
            Some(PendingInput { stage: Stage::Done(_), .. }) => {
                match self.input_requests.remove(at).stage {
                    Stage::Done(response) => Poll::Ready(response),
                    _ => Poll::Ready(Err(ToolError::GONE)),
                }
            }
            Some(pending) => {
                pending.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            None => Poll::Ready(Err(ToolError::GONE)),
        }
    }

    fn position(&self, id: u64) -> Option<usize> {
        self.input_requests.iter().position(|pending| pending.id == id)
    }
}

impl PendingInput {
    fn end(&mut self, response: Result<OwnedJson, ToolError<'static>>) {
        self.stage = Stage::Done(response);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl State {
    /// Sends queued requests, and cancellations of dropped ones, as far as there is room.
    pub(super) fn send_input_requests(&mut self, now: Instant) {
        let mut at = 0;
        let mut input_requests = std::mem::take(&mut self.input_requests.input_requests);
        while let Some(pending) = input_requests.get_mut(at) {
            let (mut server, output) = match pending.stage {
                Stage::Open(call) => self.at_call(call),
                _ => self.at(pending.parent),
            };
            at += 1;
            if output.is_blocked() {
                continue;
            }
            let was_mid_frame = output.tx.is_mid_frame();
            let sent = match pending.stage {
                // Two requests of one handler with the same method could not be told apart in the
                // middle of a frame.
                Stage::Queued if was_mid_frame => Err(SendError::Full),
                Stage::Queued | Stage::PartlyWritten => {
                    let sent = match pending.input_request.to::<InputRequest<'_>>() {
                        Ok(input_request) => {
                            let request =
                                ClientRequest::from(&input_request).parent(pending.parent);
                            server.request(now, request, &mut output.tx)
                        }
                        Err(_) => Err(SendError::Invalid(InvalidPayload::Serialize)),
                    };
                    sent.map(|call| pending.stage = Stage::Open(call))
                }
                Stage::Open(call) if pending.is_dropped => server
                    .cancel_call(now, call, &mut output.tx)
                    .map(|()| pending.end(Err(ToolError::GONE))),
                Stage::Open(_) | Stage::Done(_) => Ok(()),
            };
            match sent {
                Err(SendError::Full) => {
                    if matches!(pending.stage, Stage::Queued)
                        && !was_mid_frame
                        && output.tx.is_mid_frame()
                    {
                        pending.stage = Stage::PartlyWritten;
                    }
                    output.block();
                }
                Err(error) => {
                    let why = format!("Input request cannot be sent: {error}");
                    pending.end(Err(why).or_input_response());
                }
                // Dropped while it was being written: visit it once more to cancel it.
                Ok(()) if pending.is_dropped && matches!(pending.stage, Stage::Open(_)) => at -= 1,
                Ok(()) => {}
            }
        }
        input_requests
            .retain(|pending| !(pending.is_dropped && matches!(pending.stage, Stage::Done(_))));
        self.input_requests.input_requests = input_requests;
    }

    /// Withdraws an input request whose future was dropped.
    pub(super) fn drop_input_request(&mut self, id: u64) {
        let Some(at) = self.input_requests.position(id) else { return };
        let server = self.memory.server(self.config);
        let Some(pending) = self.input_requests.input_requests.get_mut(at) else { return };
        match pending.stage {
            // The core cancels the nested calls of a request that has ended.
            Stage::Open(call) if !server.is_call_open(call) => {
                drop(self.input_requests.input_requests.remove(at))
            }
            Stage::Queued | Stage::Done(_) => drop(self.input_requests.input_requests.remove(at)),
            Stage::PartlyWritten | Stage::Open(_) => {
                pending.is_dropped = true;
                self.notify_driver();
            }
        }
    }
}

/// Waits for the response to an input request. Dropping it withdraws the request.
pub(super) struct InputResponseFuture {
    connection: Arc<ConnectionInner>,
    id: u64,
}

impl InputResponseFuture {
    pub(super) fn new(
        connection: Arc<ConnectionInner>,
        parent: RequestHandle,
        input_request: OwnedJson,
    ) -> Self {
        let mut state = connection.lock();
        state.notify_driver();
        let id = state.input_requests.begin(parent, input_request);
        drop(state);
        Self { connection, id }
    }
}

impl Future for InputResponseFuture {
    type Output = Result<OwnedJson, ToolError<'static>>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.connection.lock().input_requests.poll(self.id, cx)
    }
}

impl Drop for InputResponseFuture {
    fn drop(&mut self) {
        self.connection.lock().drop_input_request(self.id);
    }
}

/// The response of a client to an input request. [`to`](Self::to) reads it as the result type of
/// the request: [`ElicitResult`](mcp_sansio::types::ElicitResult) for an elicitation,
/// [`CreateMessageResult`](mcp_sansio::types::CreateMessageResult) for sampling,
/// [`ListRootsResult`](mcp_sansio::types::ListRootsResult) for roots.
#[derive(Clone)]
pub struct InputResponse {
    pub(super) key: String,
    pub(super) json: OwnedJson,
}

impl InputResponse {
    /// Reads the response as a result type that borrows from it.
    ///
    /// # Errors
    /// [`ToolError::invalid_input_response`] if it is not of this type.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ToolError<'static>> {
        self.json.to().map_err(|error| invalid(&self.key, &error)).or_input_response()
    }

    /// Reads the response to the [form of a type](InputRequest::form). Returns `None` if the user
    /// declined or dismissed it.
    ///
    /// # Errors
    /// [`ToolError::invalid_input_response`] if it does not fit the form.
    pub fn to_form<'a, T: InputObject<'a>>(&'a self) -> Result<Option<T>, ToolError<'static>> {
        read_form(&self.key, self.json.as_raw())
    }

    /// Returns the response as JSON, as received.
    #[must_use]
    pub fn as_raw(&self) -> RawJson<'_> {
        self.json.as_raw()
    }
}

/// Reads the response to the form of a type.
pub(super) fn read_form<'a, T: InputObject<'a>>(
    key: &str,
    response: RawJson<'a>,
) -> Result<Option<T>, ToolError<'static>> {
    T::from_elicit_result(response).map_err(|faults| invalid(key, &faults)).or_input_response()
}

fn invalid(key: &str, why: &dyn fmt::Display) -> String {
    format!("Invalid response to input request {key}: {why}")
}

impl fmt::Debug for InputResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.json.as_raw())
    }
}
