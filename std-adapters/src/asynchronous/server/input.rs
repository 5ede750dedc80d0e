//! Input requests to a client (elicitation, sampling, roots), and its responses.

use std::task::{self, Poll, Waker};

use super::inner::State;
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Call, ClientRequest, Instant, InvalidPayload, OrToolError as _, OwnedJson, RequestHandle,
    SendError, ToolError,
};

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
