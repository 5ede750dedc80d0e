//! Calls of tools that wait until a client of a revision before 2026-07-28 has responded to their
//! input requests. Other messages are handled meanwhile.

use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Call, CallOutcome, ClientRequest, InvalidPayload, OrToolError as _, OwnedJson, OwnedRequest,
    Request, RequestHandle, SendError,
};

use super::{Context, Error};
use crate::rounds::{Response, Round, response};

/// The calls that wait: each for a request that is open.
#[derive(Default)]
pub(super) struct Asking {
    calls: Vec<AskingCall>,
    /// The next round of the call that is made again.
    again: Option<(RequestHandle, Round)>,
}

struct AskingCall {
    request: OwnedRequest,
    round: Round,
    inputs: Vec<(String, Input)>,
}

enum Input {
    Open(Call),
    Done(Response),
}

/// The meaning of the end of a call to the client.
pub(super) enum Finished {
    /// It is of the application.
    Other,
    /// More input is missing.
    Waiting,
    /// The tool is to be called again.
    Again(OwnedRequest),
}

impl Asking {
    /// Records the response to an input request.
    pub(super) fn finish(&mut self, call: Call, outcome: &CallOutcome<'_>) -> Finished {
        let find = |asking: &mut AskingCall| {
            let mut inputs = asking.inputs.iter_mut().map(|(_, input)| input);
            let found = inputs.find(|input| matches!(input, Input::Open(open) if *open == call));
            found.map(|input| *input = Input::Done(response(outcome))).is_some()
        };
        let Some(at) = self.calls.iter_mut().position(find) else {
            return Finished::Other;
        };
        let is_done = |asking: &mut AskingCall| {
            asking.inputs.iter().all(|(_, input)| matches!(input, Input::Done(_)))
        };
        match self.calls.get_mut(at).is_some_and(is_done) {
            false => Finished::Waiting,
            true => {
                let AskingCall { request, round, inputs } = self.calls.remove(at);
                self.again = Some((request.as_request().handle, next_round(&round, inputs)));
                Finished::Again(request)
            }
        }
    }

    /// Returns the round of a call that is made again.
    pub(super) fn take_round(&mut self, request: RequestHandle) -> Option<Round> {
        self.again.take_if(|(again, _)| *again == request).map(|(_, round)| round)
    }

    pub(super) fn is_waiting(&self, request: RequestHandle) -> bool {
        self.calls.iter().any(|asking| asking.request.as_request().handle == request)
    }

    /// Drops the call of a request that has ended.
    pub(super) fn remove(&mut self, request: RequestHandle) {
        self.calls.retain(|asking| asking.request.as_request().handle != request);
    }
}

fn next_round(round: &Round, inputs: Vec<(String, Input)>) -> Round {
    round.next_round(inputs.into_iter().filter_map(|(key, input)| match input {
        Input::Open(_) => None,
        Input::Done(response) => Some((key, response)),
    }))
}

impl Context<'_> {
    /// Sends the input requests. Returns the next round at once if none of them can be sent.
    pub(super) fn ask(
        &mut self,
        request: &Request<'_>,
        round: Round,
        missing: Vec<(String, OwnedJson)>,
    ) -> Result<Option<Round>, Error> {
        let now = self.now();
        let mut inputs = Vec::new();
        for (key, input_request) in missing {
            let sent = match input_request.to::<InputRequest<'_>>() {
                Ok(input_request) => self.send(|server, tx| {
                    let call = ClientRequest::from(&input_request).parent(request.handle);
                    server.request(now, call, tx)
                }),
                Err(_) => Err(SendError::Invalid(InvalidPayload::Serialize).into()),
            };
            let input = match sent {
                Ok(call) => Input::Open(call),
                Err(Error::NotSent(error)) => {
                    let why = format!("Input request cannot be sent: {error}");
                    Input::Done(Err(why).or_input_response())
                }
                Err(error) => return Err(error),
            };
            inputs.push((key, input));
        }
        if inputs.iter().all(|(_, input)| matches!(input, Input::Done(_))) {
            return Ok(Some(next_round(&round, inputs)));
        }
        self.asking.calls.push(AskingCall { request: request.into(), round, inputs });
        Ok(None)
    }
}
