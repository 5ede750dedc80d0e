//! The application's side of a client: its handler, its pending calls, its clock and its trace.

use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Call, CallOptions, CallOutcome, Changed, Client, ClientEvent, Encode, Encoder, ErrorCode,
    InputRequired, InputResponseParams, Instant, OwnedJson, RawJson, ReadError, Revision, RpcError,
    SendError, ServerRequest, Turn, Tx,
};

use super::connector::Clock;
use super::handler::{Handler, InputRefusal, ReceivedInputRequest};
use super::pending_calls::{PendingCall, PendingCalls};
use super::{CallId, Direction, Error, Trace};
use crate::client::ConnectError;
use crate::panics::caught;

/// Everything but the connection, to handle events with while they borrow it.
pub(super) struct Application<'c> {
    handler: Box<dyn Handler + 'c>,
    pub(super) trace: Option<Box<Trace<'c>>>,
    /// Number of pending bytes that have been traced.
    pub(super) traced: usize,
    /// Messages for POST requests, if the transport is HTTP.
    #[cfg(all(feature = "http", feature = "smol"))]
    pub(super) posts: std::collections::VecDeque<mcp_sansio::http::client::Post>,
    pub(super) calls: PendingCalls,
    pub(super) connect_state: ConnectState,
    /// Whether a legacy server has not responded to a ping.
    pub(super) unresponsive: bool,
    clock: Box<Clock<'c>>,
    /// Milliseconds that the handler took for input requests. No timeout counts them.
    input_time: u64,
    /// Number of further input requests whose time does not count.
    free_input_requests: u32,
    pub(super) tasks: super::task::TaskFacts,
    /// Requests of the server that run as tasks.
    pub(super) hosted: crate::client::HostedTasks,
}

pub(super) type ClientTurn<'p> = Turn<'p, Client<'p>>;

/// Progress of connecting to the server.
pub(super) enum ConnectState {
    Connecting,
    Connected(Option<OwnedJson>),
    Failed(ConnectError),
}

impl<'c> Application<'c> {
    pub(super) fn new(
        handler: Box<dyn Handler + 'c>,
        trace: Option<Box<Trace<'c>>>,
        clock: Box<Clock<'c>>,
    ) -> Self {
        Self {
            handler,
            trace,
            traced: 0,
            #[cfg(all(feature = "http", feature = "smol"))]
            posts: std::collections::VecDeque::new(),
            calls: PendingCalls::default(),
            connect_state: ConnectState::Connecting,
            unresponsive: false,
            clock,
            input_time: 0,
            free_input_requests: FREE_INPUT_REQUESTS,
            tasks: super::task::TaskFacts::default(),
            hosted: crate::client::HostedTasks::new(super::IN_FLIGHT),
        }
    }

    /// Returns the time of the clock without the time that input requests took.
    pub(super) fn now(&self) -> Instant {
        Instant::from_millis((self.clock)().as_millis().saturating_sub(self.input_time))
    }

    /// Allows [`FREE_INPUT_REQUESTS`] again, for the next wait of the application.
    pub(super) fn free_input_requests(&mut self) {
        self.free_input_requests = FREE_INPUT_REQUESTS;
    }

    /// Makes any call of the core's client, and traces what it writes.
    pub(super) fn send<R>(
        &mut self,
        turn: &mut ClientTurn<'_>,
        call: impl FnOnce(&mut Client<'_>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let (core, tx) = turn.parts();
        let sent = call(core, self.now(), tx);
        self.trace_sent(tx.pending());
        #[cfg(all(feature = "http", feature = "smol"))]
        if let Some(post) = tx.take_post() {
            self.posts.push_back(post);
            self.traced = 0;
        }
        sent
    }

    /// Traces the pending bytes that have not been traced.
    pub(super) fn trace_sent(&mut self, pending: &[u8]) {
        let Some(trace) = &mut self.trace else { return };
        let fresh = pending.get(self.traced..).unwrap_or_default();
        for line in fresh.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let _ = caught(|| trace(Direction::Sent, line));
        }
        self.traced = pending.len();
    }

    /// Adds a call that was sent.
    pub(super) fn add_call(
        &mut self,
        sent: Result<Call, SendError>,
        method: &str,
        params: Option<OwnedJson>,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        match sent {
            Err(SendError::NotAllowed(_)) => Err(Error::Unsupported { method: method.to_owned() }),
            call => {
                let id = self.calls.add(call?, method, params, options);
                if let (now, Some(pending)) = (self.now(), self.calls.get_mut(id)) {
                    pending.started = now;
                }
                Ok(id)
            }
        }
    }

    pub(super) fn handle_event(&mut self, event: &ClientEvent<'_>, turn: &mut ClientTurn<'_>) {
        match event {
            ClientEvent::Connected(opened) => {
                self.tasks.connected(opened);
                self.connect_state = ConnectState::Connected(Some(opened.result.into()))
            }
            ClientEvent::ConnectFailed(error) => {
                self.connect_state = ConnectState::Failed((*error).into())
            }
            ClientEvent::CallFinished { call, outcome } => self.handle_result(*call, outcome, turn),
            ClientEvent::Request(request) => self.handle_request(request, turn),
            ClientEvent::TaskProgress { task_id, params } => {
                self.handle_task_progress(*task_id, *params, event)
            }
            event => {
                if let ClientEvent::Changed { what: Changed::Task(task), .. } = event {
                    self.handle_task_state(*task, turn);
                }
                self.unresponsive |= matches!(event, ClientEvent::Unresponsive);
                let call = match event {
                    ClientEvent::Progress { call, .. } | ClientEvent::Listening { call, .. } => {
                        Some(*call)
                    }
                    ClientEvent::Changed { listen, .. } => *listen,
                    _ => None,
                };
                let about = call.and_then(|call| self.calls.of(call)).map(|pending| {
                    pending.acknowledged |= matches!(event, ClientEvent::Listening { .. });
                    pending.id
                });
                self.report(about, event);
            }
        }
    }

    /// Hands an event to the handler.
    pub(super) fn report(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) {
        if caught(|| self.handler.on_event(about, event)).is_err() {
            self.panicked(about);
        }
    }

    fn handle_result(&mut self, call: Call, outcome: &CallOutcome<'_>, turn: &mut ClientTurn<'_>) {
        let Some((at, mut pending)) = self.calls.take_out(call) else { return };
        if self.handle_task_result(&mut pending, outcome, turn) {
            return self.calls.put_back(at, pending);
        }
        let method = pending.method.clone();
        pending.result = match outcome {
            CallOutcome::Result(result) => Some(Ok((*result).into())),
            CallOutcome::Error(error) => Some(Err(Error::Server((*error).into()))),
            CallOutcome::Invalid(violation) => {
                Some(Err(Error::Invalid { method, violation: *violation }))
            }
            CallOutcome::EndedByServer => Some(Ok(RawJson::EMPTY.into())),
            CallOutcome::InputRequired(input) => {
                self.send_input(&mut pending, input, turn).err().map(Err)
            }
            CallOutcome::TimedOut => Some(Err(Error::TimedOut { method })),
            #[cfg(feature = "http")]
            CallOutcome::Http(failure) => {
                Some(Err(Error::Http { method, error: (*failure).into() }))
            }
            // `Closed` comes from `close` only, whose events `end` drops.
            _ => None,
        };
        self.calls.put_back(at, pending);
    }

    /// Responds to the input requests of a modern server and sends the request again.
    fn send_input(
        &mut self,
        pending: &mut PendingCall,
        input: &InputRequired<'_>,
        turn: &mut ClientTurn<'_>,
    ) -> Result<(), Error> {
        if input.requests().iter().nth(MAX_INPUT_REQUESTS).is_some() {
            return Err(Error::InputRequired(input.as_json().into()));
        }
        let requests = input.requests();
        let responses = self.find_input(pending, requests.iter(), input.as_json(), turn)?;
        let responses = InputResponses(responses);
        let params = pending.params.as_ref().map_or(RawJson::EMPTY, OwnedJson::as_raw);
        let inputs = InputResponseParams::new(input.round()).state(input.state().map(Into::into));
        let inputs =
            if input.raw_requests().is_some() { inputs.responses(&responses) } else { inputs };
        let (method, options) = (pending.method.as_str(), pending.options);
        pending.call = self
            .send(turn, |core, now, tx| core.retry(now, method, &params, &inputs, options, tx))?;
        Ok(())
    }

    /// Calls the handler for each input request of this result.
    pub(super) fn find_input<'r, K: std::fmt::Display>(
        &mut self,
        pending: &PendingCall,
        requests: impl Iterator<Item = (K, Result<InputRequest<'r>, ReadError>)>,
        result: RawJson<'_>,
        turn: &mut ClientTurn<'_>,
    ) -> Result<Vec<(String, OwnedJson)>, Error> {
        let mut responses = Vec::new();
        for (key, request) in requests {
            match self.call_handler(Some(pending.id), request?, turn) {
                Ok(response) => responses.push((key.to_string(), response)),
                Err(InputRefusal::Panicked) => {
                    return Err(Error::HandlerPanicked { method: pending.method.clone() });
                }
                Err(InputRefusal::Refused) => return Err(Error::InputRequired(result.into())),
                Err(InputRefusal::NotSerializable(error)) => return Err(error.into()),
            }
        }
        Ok(responses)
    }

    /// Responds to a request of a legacy server.
    fn handle_request(&mut self, request: &ServerRequest<'_>, turn: &mut ClientTurn<'_>) {
        if self.handle_hosted(request, turn) {
            return;
        }
        let response = request.input_request().map(|input| self.call_handler(None, input, turn));
        let response = response.map(|response| {
            let revision = revision(turn.parts().0);
            response.map(|json| crate::client::of_task(json, request.params.raw(), revision))
        });
        let handle = request.handle;
        // An error means that the request is over.
        let _ = self.send(turn, |core, _, tx| match &response {
            Ok(Ok(response)) => core.respond_raw(handle, response.as_raw(), tx),
            Ok(Err(refusal)) => core.respond_error(handle, &refusal.as_error(), tx),
            Err(_) => core.respond_error(handle, &RpcError::invalid_params("Invalid params"), tx),
        });
    }

    pub(super) fn call_handler(
        &mut self,
        about: Option<CallId>,
        request: InputRequest<'_>,
        turn: &mut ClientTurn<'_>,
    ) -> Result<OwnedJson, InputRefusal> {
        let input = ReceivedInputRequest::new(request, revision(turn.parts().0));
        let begun = (self.clock)().as_millis();
        let response = caught(|| self.handler.on_input_request(&input)).ok();
        if let Some(left) = self.free_input_requests.checked_sub(1) {
            self.free_input_requests = left;
            self.input_time =
                self.input_time.saturating_add((self.clock)().as_millis().saturating_sub(begun));
        }
        match response {
            Some(response) => response.0,
            None => {
                self.panicked(about);
                Err(InputRefusal::Panicked)
            }
        }
    }

    fn panicked(&mut self, about: Option<CallId>) {
        // The panic hook reports a panic in here, too.
        let _ = caught(|| self.handler.on_panic(about));
    }
}

impl InputRefusal {
    /// Returns the error for a legacy server.
    pub(super) const fn as_error(&self) -> RpcError<'static> {
        match self {
            Self::Refused => REFUSED,
            Self::NotSerializable(_) => RpcError::internal("The response cannot be serialized"),
            Self::Panicked => RpcError::internal("The handler panicked"),
        }
    }
}

/// Returns the revision of the connection.
fn revision(core: &Client<'_>) -> Revision {
    core.revision().unwrap_or(Revision::LATEST)
}

/// Input responses by the keys of their requests.
struct InputResponses(Vec<(String, OwnedJson)>);

impl Encode for InputResponses {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for (key, response) in &self.0 {
            to.member(key, response);
        }
        to.end_object();
    }
}

const REFUSED: RpcError<'_> = RpcError::new(ErrorCode::Application(-1), "The request was refused");
/// Maximum number of input requests in one result. With more, the call fails.
const MAX_INPUT_REQUESTS: usize = 100;
/// Number of input requests per wait of the application whose time no timeout counts. Limited, so
/// that a server cannot suspend its timeouts for ever.
const FREE_INPUT_REQUESTS: u32 = 100;
