//! The core's client, its output and the pending calls: the state that events need while a frame is
//! borrowed.

use mcp_sansio::types::{InputRequest, SubscriptionFilter};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, ClientConfig, ClientEvent, Encode, Encoder, ErrorCode, Frame,
    GrowingClientState, InputRequired, InputResponseParams, Instant, Messages, OwnedJson, RawJson,
    Revision, RpcError, SendError, ServerRequest, Tx, TxBuffer,
};

use super::connector::Clock;
use super::handler::{Handler, InputRefusal, ReceivedInputRequest};
use super::pending_calls::{LISTEN, PendingCall, PendingCalls};
use super::{CallId, Direction, Error, IN_FLIGHT, Trace};
use crate::blocking::handler::catch_panic;

pub(super) type CoreClient<'c> = mcp_sansio::Client<'c>;

/// Everything of a client but its receive buffer and its transport.
pub(super) struct Driver<'c> {
    memory: GrowingClientState,
    config: &'c ClientConfig<'c>,
    /// Unlimited, so that a call never waits for room: long messages are the application's own, and
    /// `unread_responses` limits those that the server causes.
    pub(super) tx: TxBuffer<Vec<u8>>,
    pub(super) handler: Box<dyn Handler + 'c>,
    trace: Option<Box<Trace<'c>>>,
    /// Number of pending bytes that have been traced.
    traced: usize,
    pub(super) calls: PendingCalls,
    pub(super) connect_state: ConnectState,
    /// Whether a legacy server has not responded to a ping.
    pub(super) unresponsive: bool,
    /// Number of pending bytes that are responses to requests of the server.
    unread_responses: usize,
    clock: Box<Clock<'c>>,
    /// Milliseconds that the handler took for input requests. No timeout counts them.
    input_time: u64,
    /// Number of further input requests whose time does not count.
    free_input_requests: u32,
}

/// Progress of connecting to the server.
pub(super) enum ConnectState {
    Connecting,
    Connected(Option<OwnedJson>),
    Failed(String),
}

impl<'c> Driver<'c> {
    pub(super) fn new(
        config: &'c ClientConfig<'c>,
        handler: Box<dyn Handler + 'c>,
        trace: Option<Box<Trace<'c>>>,
        clock: Box<Clock<'c>>,
    ) -> Self {
        Self {
            memory: GrowingClientState::new(IN_FLIGHT),
            config,
            tx: Self::empty_tx(),
            handler,
            trace,
            traced: 0,
            calls: PendingCalls::default(),
            connect_state: ConnectState::Connecting,
            unresponsive: false,
            unread_responses: 0,
            clock,
            input_time: 0,
            free_input_requests: FREE_INPUT_REQUESTS,
        }
    }

    /// Returns the core's client.
    pub(super) fn core(&mut self) -> CoreClient<'_> {
        self.memory.client(self.config)
    }

    /// Returns the time of the clock without the time that input requests took.
    pub(super) fn now(&self) -> Instant {
        Instant::from_millis((self.clock)().as_millis().saturating_sub(self.input_time))
    }

    /// Allows [`FREE_INPUT_REQUESTS`] again, for the next wait of the application.
    pub(super) fn free_input_requests(&mut self) {
        self.free_input_requests = FREE_INPUT_REQUESTS;
    }

    /// Returns whether the server must read responses before more is read from it.
    pub(super) fn must_wait_for_reads(&self) -> bool {
        self.unread_responses > MAX_UNREAD_RESPONSES
    }

    /// Removes the bytes that the transport has written.
    pub(super) fn advance(&mut self, written: usize) {
        self.tx.advance(written);
        self.traced = self.traced.saturating_sub(written);
        self.unread_responses = self.unread_responses.min(self.tx.pending().len());
    }

    /// Starts a new connection. Only the pending calls of the last one are kept.
    pub(super) fn start_connection(&mut self) -> Result<(), SendError> {
        (self.tx, self.traced, self.unread_responses, self.unresponsive) =
            (Self::empty_tx(), 0, 0, false);
        self.connect_state = ConnectState::Connecting;
        self.send(|core, now, tx| core.connect(now, tx))?;
        if self.core().is_open() {
            self.connect_state = ConnectState::Connected(None);
        }
        Ok(())
    }

    /// Makes any call of the core's client, and traces what it writes.
    pub(super) fn send<R>(
        &mut self,
        call: impl FnOnce(&mut CoreClient<'_>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let now = self.now();
        let done = call(&mut self.memory.client(self.config), now, &mut self.tx);
        if let Some(trace) = &mut self.trace {
            let fresh = self.tx.pending().get(self.traced..).unwrap_or_default();
            for line in fresh.split_inclusive(|byte| *byte == b'\n') {
                let _ = catch_panic(|| {
                    trace(Direction::Sent, line.strip_suffix(b"\n").unwrap_or(line))
                });
            }
            self.traced = self.tx.pending().len();
        }
        done
    }

    /// Handles all messages of a frame.
    pub(super) fn receive(&mut self, frame: Frame<'_>) -> Result<(), Error> {
        if let Some(trace) = &mut self.trace {
            let (Frame::Complete(line) | Frame::Oversized { prefix: line, .. }) = frame;
            let _ = catch_panic(|| trace(Direction::Received, line));
        }
        let before = self.tx.pending().len();
        let mut messages = Messages::new(frame);
        while let Some(event) =
            self.send(|core, now, tx| core.next_event(now, &mut messages, tx))?
        {
            self.handle_event(&event);
        }
        self.unread_responses += self.tx.pending().len().saturating_sub(before);
        Ok(())
    }

    /// Handles all timeouts that are due.
    pub(super) fn handle_timeouts(&mut self) -> Result<(), Error> {
        while let Some(event) = self.send(|core, now, tx| core.handle_timeout(now, tx))? {
            self.handle_event(&event);
        }
        Ok(())
    }

    /// Ends all calls after the end of the connection.
    pub(super) fn end(&mut self, why: impl Fn() -> Error) {
        while self.core().close().is_some() {}
        self.calls.end(why);
    }

    /// Sends a request.
    pub(super) fn start<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        // Only modern servers respond with `InputRequiredResult`, and only to these methods.
        let may_repeat = self.revision().is_modern() && WITH_INPUT.contains(&method);
        let kept = if may_repeat { Some(OwnedJson::new(params, Revision::LATEST)?) } else { None };
        let call = match self.send(|core, now, tx| core.request(now, method, params, options, tx)) {
            Err(SendError::NotAllowed(_)) => {
                return Err(Error::Unsupported { method: method.to_owned() });
            }
            call => call?,
        };
        Ok(self.calls.add(call, method, kept, options))
    }

    /// Sends a `subscriptions/listen`.
    pub(super) fn listen(
        &mut self,
        filter: &SubscriptionFilter<'_>,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        let kept = OwnedJson::new(filter, Revision::LATEST)?;
        let call = match self.send(|core, now, tx| core.listen(now, filter, options, tx)) {
            Err(SendError::NotAllowed(_)) => {
                return Err(Error::Unsupported { method: LISTEN.to_owned() });
            }
            call => call?,
        };
        Ok(self.calls.add(call, LISTEN, Some(kept), options))
    }

    /// Sends the `subscriptions/listen` that ended with the last connection once more (2026-07-28,
    /// basic/patterns/subscriptions).
    pub(super) fn listen_again(&mut self) -> Result<(), Error> {
        for id in self.calls.lost_listens() {
            let Some(pending) = self.calls.get(id) else { continue };
            let (filter, options) = (pending.params.clone(), pending.options);
            let filter = filter
                .as_ref()
                .map(OwnedJson::to::<SubscriptionFilter<'_>>)
                .transpose()?
                .unwrap_or(SubscriptionFilter::new());
            let call = self.send(|core, now, tx| core.listen(now, &filter, options, tx))?;
            self.calls.set_attempt(id, call);
        }
        Ok(())
    }

    /// Cancels a call. Returns `false` if it was over.
    pub(super) fn cancel(&mut self, id: CallId, reason: Option<&str>) -> Result<bool, Error> {
        let Some(pending) = self.calls.forget(id) else { return Ok(false) };
        let was_open = self.core().is_call_open(pending.call);
        self.send(|core, _, tx| core.cancel_call(pending.call, reason, tx))?;
        Ok(was_open)
    }

    pub(super) fn empty_tx() -> TxBuffer<Vec<u8>> {
        TxBuffer::with_limit(Vec::new(), isize::MAX as usize)
    }

    fn revision(&mut self) -> Revision {
        self.core().revision().unwrap_or(Revision::LATEST)
    }

    fn handle_event(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Connected(opened) => {
                self.connect_state = ConnectState::Connected(Some(opened.result.into()))
            }
            ClientEvent::ConnectFailed(error) => {
                self.connect_state = ConnectState::Failed(error.to_string())
            }
            ClientEvent::CallFinished { call, outcome } => self.handle_result(*call, outcome),
            ClientEvent::Request(request) => self.handle_request(request),
            event => {
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
                if catch_panic(|| self.handler.on_event(about, event)).is_none() {
                    self.panicked(about);
                }
            }
        }
    }

    fn handle_result(&mut self, call: Call, outcome: &CallOutcome<'_>) {
        let Some((at, mut pending)) = self.calls.take_out(call) else { return };
        let method = pending.method.clone();
        pending.result = match outcome {
            CallOutcome::Result(result) => Some(Ok((*result).into())),
            CallOutcome::Error(error) => Some(Err(Error::Server((*error).into()))),
            CallOutcome::Invalid(violation) => {
                Some(Err(Error::Invalid { method, violation: *violation }))
            }
            CallOutcome::EndedByServer => Some(Ok(RawJson::EMPTY.into())),
            CallOutcome::InputRequired(input) => {
                self.send_input(&mut pending, input).err().map(Err)
            }
            CallOutcome::TimedOut => Some(Err(Error::TimedOut { method })),
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
    ) -> Result<(), Error> {
        let mut responses = InputResponses(Vec::new());
        if input.requests().iter().nth(MAX_INPUT_REQUESTS).is_some() {
            return Err(Error::InputRequired(input.as_json().into()));
        }
        for (key, request) in input.requests().iter() {
            match self.call_handler(Some(pending.id), request?) {
                Ok(response) => responses.0.push((key.to_string(), response)),
                Err(InputRefusal::Panicked) => {
                    return Err(Error::HandlerPanicked { method: pending.method.clone() });
                }
                Err(InputRefusal::Refused) => {
                    return Err(Error::InputRequired(input.as_json().into()));
                }
                Err(InputRefusal::NotSerializable(error)) => return Err(error.into()),
            }
        }
        let params = pending.params.as_ref().map_or(RawJson::EMPTY, OwnedJson::as_raw);
        let inputs = InputResponseParams::new(input.round()).state(input.state().map(Into::into));
        let inputs =
            if input.raw_requests().is_some() { inputs.responses(&responses) } else { inputs };
        let (method, options) = (pending.method.as_str(), pending.options);
        pending.call =
            self.send(|core, now, tx| core.retry(now, method, &params, &inputs, options, tx))?;
        Ok(())
    }

    /// Responds to a request of a legacy server.
    fn handle_request(&mut self, request: &ServerRequest<'_>) {
        let response = request.input_request().map(|input| self.call_handler(None, input));
        let handle = request.handle;
        // An error means that the request is over.
        let _ = self.send(|core, _, tx| match &response {
            Ok(Ok(response)) => core.respond_raw(handle, response.as_raw(), tx),
            Ok(Err(InputRefusal::Refused)) => core.respond_error(handle, &REFUSED, tx),
            Ok(Err(InputRefusal::NotSerializable(_))) => core.respond_error(
                handle,
                &RpcError::internal("The response cannot be serialized"),
                tx,
            ),
            Ok(Err(InputRefusal::Panicked)) => {
                core.respond_error(handle, &RpcError::internal("The handler panicked"), tx)
            }
            Err(_) => core.respond_error(handle, &RpcError::invalid_params("Invalid params"), tx),
        });
    }

    fn call_handler(
        &mut self,
        about: Option<CallId>,
        request: InputRequest<'_>,
    ) -> Result<OwnedJson, InputRefusal> {
        let input = ReceivedInputRequest::new(request, self.revision());
        let begun = (self.clock)().as_millis();
        let response = catch_panic(|| self.handler.on_input_request(&input));
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
        let _ = catch_panic(|| self.handler.on_panic(about));
    }
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

/// Methods to which a modern server may respond with `InputRequiredResult`.
const WITH_INPUT: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];
const REFUSED: RpcError<'_> = RpcError::new(ErrorCode::Application(-1), "The request was refused");
/// Maximum number of bytes of responses for a server that does not read them.
const MAX_UNREAD_RESPONSES: usize = 1 << 20;
/// Maximum number of input requests in one result. With more, the call fails.
const MAX_INPUT_REQUESTS: usize = 100;
/// Number of input requests per wait of the application whose time no timeout counts. Limited, so
/// that a server cannot suspend its timeouts for ever.
const FREE_INPUT_REQUESTS: u32 = 100;
