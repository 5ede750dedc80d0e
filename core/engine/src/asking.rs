//! Calls of tools that wait until a client of a revision before 2026-07-28 has responded to their
//! input requests. Other messages are handled meanwhile.

use alloc::string::String;
use alloc::vec::Vec;

use mcp_sansio::{Call, CallOutcome, OwnedRequest, Request, RequestHandle};

use crate::rounds::{NextRound, Response, Round, Shared, response};

/// The calls that wait: each for a request that is open.
#[derive(Default)]
pub struct Asking<N> {
    calls: Vec<AskingCall<N>>,
    /// The next round of the call that is made again.
    again: Option<(RequestHandle, Round<N>)>,
}

struct AskingCall<N> {
    request: OwnedRequest,
    round: Round<N>,
    inputs: Vec<(String, AskedInput)>,
}

/// An input request that was made.
pub enum AskedInput {
    /// Its response is awaited.
    Open(Call),
    /// Its response, or why there is none.
    Done(Response),
}

/// The meaning of the end of a call to the client.
pub enum Answered {
    /// It is of the application.
    Other,
    /// More input is missing.
    Waiting,
    /// The tool is to be called again.
    Again(OwnedRequest),
}

impl<N: Shared<NextRound>> Asking<N> {
    /// Waits for the responses to the input requests of a call. Returns its next round at once if
    /// none of them is awaited.
    pub fn begin(
        &mut self,
        request: &Request<'_>,
        round: Round<N>,
        inputs: Vec<(String, AskedInput)>,
    ) -> Option<Round<N>> {
        if are_done(&inputs) {
            return Some(next_round(&round, inputs));
        }
        self.calls.push(AskingCall { request: request.into(), round, inputs });
        None
    }

    /// Records the response to an input request.
    pub fn finish(&mut self, call: Call, outcome: &CallOutcome<'_>) -> Answered {
        let find = |asking: &mut AskingCall<N>| {
            let mut inputs = asking.inputs.iter_mut().map(|(_, input)| input);
            let found =
                inputs.find(|input| matches!(input, AskedInput::Open(open) if *open == call));
            found.map(|input| *input = AskedInput::Done(response(outcome))).is_some()
        };
        let Some(at) = self.calls.iter_mut().position(find) else { return Answered::Other };
        if !self.calls.get(at).is_some_and(|asking| are_done(&asking.inputs)) {
            return Answered::Waiting;
        }
        let AskingCall { request, round, inputs } = self.calls.remove(at);
        self.again = Some((request.as_request().handle, next_round(&round, inputs)));
        Answered::Again(request)
    }

    /// Returns the round of a call that is made again.
    pub fn take_round(&mut self, request: RequestHandle) -> Option<Round<N>> {
        self.again.take_if(|(again, _)| *again == request).map(|(_, round)| round)
    }

    /// Returns whether a call waits.
    pub fn is_waiting(&self, request: RequestHandle) -> bool {
        self.calls.iter().any(|asking| asking.request.as_request().handle == request)
    }

    /// Drops the call of a request that has ended.
    pub fn remove(&mut self, request: RequestHandle) {
        self.calls.retain(|asking| asking.request.as_request().handle != request);
    }
}

fn are_done(inputs: &[(String, AskedInput)]) -> bool {
    inputs.iter().all(|(_, input)| matches!(input, AskedInput::Done(_)))
}

fn next_round<N: Shared<NextRound>>(
    round: &Round<N>,
    inputs: Vec<(String, AskedInput)>,
) -> Round<N> {
    round.next_round(inputs.into_iter().filter_map(|(key, input)| match input {
        AskedInput::Open(_) => None,
        AskedInput::Done(response) => Some((key, response)),
    }))
}
