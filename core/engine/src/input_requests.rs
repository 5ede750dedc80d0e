//! Input requests of a server to its client (elicitation, sampling, roots), and the responses.

use alloc::collections::BTreeMap;
use alloc::format;
use core::task::{Poll, Waker};

use mcp_sansio::tasks::TaskId;
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Call, CallOutcome, ClientRequest, Instant, InvalidPayload, OrToolError as _, OwnedJson,
    RequestHandle, SendError, SendResult, Server, ToolError, Tx,
};

use crate::rounds::{Response, response};

/// One attempt to send.
pub type Attempt<'s> = dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> SendResult + 's;

/// All input requests of a connection. The driver sends them and not their futures, which may be
/// dropped in the middle of a frame.
#[derive(Default)]
pub struct InputRequests {
    input_requests: BTreeMap<u64, PendingInput>,
    made: u64,
}

struct PendingInput {
    parent: RequestHandle,
    input_request: OwnedJson,
    task: Option<TaskId>,
    stage: Stage,
    /// Whether its future was dropped.
    is_dropped: bool,
    waker: Option<Waker>,
}

/// The output that a message goes to, which is that of what it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// This request.
    Request(RequestHandle),
    /// This call to the client.
    Call(Call),
    /// Neither: the GET stream of a session.
    Session,
}

mcp_sansio::wraps!(Destination { Request(RequestHandle), Call(Call) });

/// The server, with the outputs that it has.
pub trait Outputs {
    /// Makes an attempt to send a whole frame, unless an earlier one waits for room in this output.
    ///
    /// # Errors
    /// Those of the attempt.
    fn send(&mut self, to: Destination, attempt: &mut Attempt<'_>) -> SendResult;

    /// Makes an attempt to send more of an input request.
    ///
    /// # Errors
    /// Those of the attempt.
    fn send_input(&mut self, to: Destination, attempt: &mut Attempt<'_>) -> SendResult {
        self.send(to, attempt)
    }
}

enum Stage {
    Queued,
    /// Part of the frame has been written.
    PartlyWritten,
    Open(Call),
    Done(Response),
}

impl InputRequests {
    /// Returns whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.input_requests.is_empty()
    }

    /// Records the response to a call, or the reason why there is none.
    pub fn finish(&mut self, call: Call, outcome: &CallOutcome<'_>) {
        let is_same = |pending: &&mut PendingInput| -> bool {
            matches!(pending.stage, Stage::Open(open) if open == call)
        };
        if let Some(pending) = self.input_requests.values_mut().find(is_same) {
            pending.end(response(outcome));
        }
        self.input_requests.retain(|_, pending| !pending.is_forgotten());
    }

    /// Ends all input requests: no response will arrive.
    pub fn close(&mut self) {
        self.input_requests.values_mut().for_each(|pending| pending.end(Err(ToolError::GONE)));
    }

    /// Adds an input request of a handler, or of a task for whose end its request waits. Returns
    /// its place.
    pub fn begin(
        &mut self,
        parent: RequestHandle,
        task: Option<TaskId>,
        input_request: OwnedJson,
    ) -> u64 {
        self.made += 1;
        let pending = PendingInput {
            parent,
            input_request,
            task,
            stage: Stage::Queued,
            is_dropped: false,
            waker: None,
        };
        self.input_requests.insert(self.made, pending);
        self.made
    }

    /// Returns the response, if there is one; otherwise keeps the waker.
    pub fn poll(&mut self, id: u64, waker: &Waker) -> Poll<Response> {
        if let Some(pending) = self.input_requests.get_mut(&id)
            && !matches!(pending.stage, Stage::Done(_))
        {
            pending.waker = Some(waker.clone());
            return Poll::Pending;
        }
        Poll::Ready(match self.input_requests.remove(&id).map(|pending| pending.stage) {
            Some(Stage::Done(response)) => response,
            _ => Err(ToolError::GONE),
        })
    }

    /// Sends queued requests, and cancellations of dropped ones, as far as there is room.
    pub fn send(&mut self, now: Instant, outputs: &mut impl Outputs) {
        for pending in self.input_requests.values_mut() {
            // One that was dropped while it was being written is cancelled in the second turn.
            while let Some(to) = pending.destination() {
                match outputs.send_input(to, &mut |server, tx| pending.send(now, server, tx)) {
                    Err(SendError::Full) => break,
                    Err(error) => {
                        let why = format!("Input request cannot be sent: {error}");
                        pending.end(Err(why).or_input_response());
                    }
                    Ok(()) => {}
                }
            }
        }
        self.input_requests.retain(|_, pending| !pending.is_forgotten());
    }

    /// Withdraws an input request whose future was dropped. Returns whether there is something to
    /// send for it.
    pub fn leave(&mut self, id: u64) -> bool {
        let Some(pending) = self.input_requests.get_mut(&id) else { return false };
        // The calls of a request that has ended are cancelled already: that costs nothing.
        pending.is_dropped = matches!(pending.stage, Stage::PartlyWritten | Stage::Open(_));
        let is_dropped = pending.is_dropped;
        if !is_dropped {
            self.input_requests.remove(&id);
        }
        is_dropped
    }
}

impl PendingInput {
    /// Returns where something is to be sent.
    const fn destination(&self) -> Option<Destination> {
        match self.stage {
            Stage::Open(call) if self.is_dropped => Some(Destination::Call(call)),
            Stage::Open(_) | Stage::Done(_) => None,
            _ => Some(Destination::Request(self.parent)),
        }
    }

    const fn is_forgotten(&self) -> bool {
        self.is_dropped && matches!(self.stage, Stage::Done(_))
    }

    /// Makes one attempt to send what is missing.
    fn send(&mut self, now: Instant, server: &mut Server<'_>, tx: &mut Tx<'_>) -> SendResult {
        match self.stage {
            // Two requests of one handler with the same method could not be told apart in the
            // middle of a frame.
            Stage::Queued if tx.is_mid_frame() => Err(SendError::Full),
            Stage::Queued | Stage::PartlyWritten => {
                let Ok(input_request) = self.input_request.to::<InputRequest<'_>>() else {
                    return Err(SendError::Invalid(InvalidPayload::Serialize));
                };
                let request = ClientRequest::from(&input_request).parent(self.parent);
                let request = match self.task {
                    Some(task) => request.related_task(task),
                    None => request,
                };
                let sent = server.request(now, request, tx);
                if sent == Err(SendError::Full) && tx.is_mid_frame() {
                    self.stage = Stage::PartlyWritten;
                }
                sent.map(|call| self.stage = Stage::Open(call))
            }
            Stage::Open(call) => {
                server.cancel_call(now, call, tx).map(|()| self.end(Err(ToolError::GONE)))
            }
            Stage::Done(_) => Ok(()),
        }
    }

    fn end(&mut self, response: Response) {
        self.stage = Stage::Done(response);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}
