//! The machine, its output, and what it is waiting for: all that events need while a frame is lent.

use mcp_sansio::types::{InputRequest, SubscriptionFilter};
use mcp_sansio::{
    Call, CallOptions, CallOutcome, ClientConfig, ClientEvent, ErrorCode, Frame, InputRequired,
    Inputs, Instant, Messages, OwnedJson, RawJson, Revision, RpcError, SendError, ServerRequest,
    Tx, TxBuffer,
};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::connector::Clock;
use super::handler::{Handler, InputRefusal, ReceivedInputRequest};
use super::pending_calls::{LISTEN, PendingCall, PendingCalls};
use super::{CallId, Direction, Error, IN_FLIGHT, Trace};
use crate::blocking::panics::catch;

pub(super) type Machine<'c> = mcp_sansio::Client<'c, IN_FLIGHT>;

pub(super) struct Driver<'c> {
    pub(super) machine: Box<Machine<'c>>,
    /// Without a limit, so that no call ever waits for room: what is long is the application's
    /// own, and what the server makes us answer is limited by `owed`.
    pub(super) tx: TxBuffer<Vec<u8>>,
    pub(super) handler: Box<dyn Handler + 'c>,
    trace: Option<Box<Trace<'c>>>,
    /// How much of what waits to be sent has been traced.
    traced: usize,
    pub(super) calls: PendingCalls,
    pub(super) connect_state: ConnectState,
    /// A legacy server has not answered a ping.
    pub(super) unresponsive: bool,
    /// Bytes that wait to be sent because the server asked for them.
    owed: usize,
    clock: Box<Clock<'c>>,
    /// Milliseconds for which answers to the server's questions have kept it waiting. No deadline
    /// counts them.
    asked: u64,
    /// Questions whose time is still not counted.
    free_questions: u32,
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
            machine: Box::new(Machine::with_table_sizes(config)),
            tx: Self::empty_tx(),
            handler,
            trace,
            traced: 0,
            calls: PendingCalls::default(),
            connect_state: ConnectState::Connecting,
            unresponsive: false,
            owed: 0,
            clock,
            asked: 0,
            free_questions: FREE_QUESTIONS,
        }
    }

    /// The time of the clock, without the time that questions took.
    pub(super) fn now(&self) -> Instant {
        Instant::from_millis((self.clock)().as_millis().saturating_sub(self.asked))
    }

    /// The application waits for something else: questions are free again.
    pub(super) fn free_questions(&mut self) {
        self.free_questions = FREE_QUESTIONS;
    }

    /// Whether the server must read before more is read from it.
    pub(super) fn owes_too_much(&self) -> bool {
        self.owed > MAX_OWED
    }

    /// Forgets what the transport has taken.
    pub(super) fn advance(&mut self, written: usize) {
        self.tx.advance(written);
        self.traced = self.traced.saturating_sub(written);
        self.owed = self.owed.min(self.tx.pending().len());
    }

    /// A new connection: nothing of the last one is left, but the calls that wait to be waited for.
    pub(super) fn begin(&mut self) -> Result<(), SendError> {
        (self.tx, self.traced, self.owed, self.unresponsive) = (Self::empty_tx(), 0, 0, false);
        self.connect_state = ConnectState::Connecting;
        self.send(|machine, now, tx| machine.connect(now, tx))?;
        if self.machine.is_open() {
            self.connect_state = ConnectState::Connected(None);
        }
        Ok(())
    }

    /// Any call of the machine.
    pub(super) fn send<R>(
        &mut self,
        call: impl FnOnce(&mut Machine<'c>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let now = self.now();
        let done = call(&mut self.machine, now, &mut self.tx);
        if let Some(trace) = &mut self.trace {
            let fresh = self.tx.pending().get(self.traced..).unwrap_or_default();
            for line in fresh.split_inclusive(|byte| *byte == b'\n') {
                let _ = catch(|| trace(Direction::Sent, line.strip_suffix(b"\n").unwrap_or(line)));
            }
            self.traced = self.tx.pending().len();
        }
        done
    }

    /// Takes a frame, to its end.
    pub(super) fn receive(&mut self, frame: Frame<'_>) -> Result<(), Error> {
        if let Some(trace) = &mut self.trace {
            let (Frame::Complete(line) | Frame::Oversized { prefix: line, .. }) = frame;
            let _ = catch(|| trace(Direction::Received, line));
        }
        let before = self.tx.pending().len();
        let mut messages = Messages::new(frame);
        while let Some(event) =
            self.send(|machine, now, tx| machine.next_event(now, &mut messages, tx))?
        {
            self.happened(&event);
        }
        self.owed += self.tx.pending().len().saturating_sub(before);
        Ok(())
    }

    /// Does what is due.
    pub(super) fn expire(&mut self) -> Result<(), Error> {
        while let Some(event) = self.send(|machine, now, tx| machine.handle_timeout(now, tx))? {
            self.happened(&event);
        }
        Ok(())
    }

    /// The connection has ended: so do all calls.
    pub(super) fn end(&mut self, why: impl Fn() -> Error) {
        while self.machine.close().is_some() {}
        self.calls.end(why);
    }

    /// Sends a request.
    pub(super) fn start<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        // Only a modern server may need another attempt, and only for these.
        let may_repeat = self.revision().is_modern() && REPEATED.contains(&method);
        let kept = if may_repeat { Some(OwnedJson::new(params, Revision::LATEST)?) } else { None };
        let call =
            match self.send(|machine, now, tx| machine.request(now, method, params, options, tx)) {
                Err(SendError::NotAllowed) => {
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
        let call = match self.send(|machine, now, tx| machine.listen(now, filter, options, tx)) {
            Err(SendError::NotAllowed) => {
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
            let Some(waiting) = self.calls.get(id) else { continue };
            let (filter, options) = (waiting.params.clone(), waiting.options);
            let filter = filter
                .as_ref()
                .map(OwnedJson::to::<SubscriptionFilter<'_>>)
                .transpose()?
                .unwrap_or(SubscriptionFilter::new());
            let call = self.send(|machine, now, tx| machine.listen(now, &filter, options, tx))?;
            self.calls.begun_again(id, call);
        }
        Ok(())
    }

    /// Gives a call up. `false` when it was over.
    pub(super) fn cancel(&mut self, id: CallId, reason: Option<&str>) -> Result<bool, Error> {
        let Some(waiting) = self.calls.forget(id) else { return Ok(false) };
        Ok(self.send(|machine, _, tx| machine.cancel_call(waiting.call, reason, tx))?)
    }

    pub(super) fn empty_tx() -> TxBuffer<Vec<u8>> {
        TxBuffer::with_limit(Vec::new(), isize::MAX as usize)
    }

    fn revision(&self) -> Revision {
        self.machine.revision().unwrap_or(Revision::LATEST)
    }

    fn happened(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Connected(opened) => {
                self.connect_state = ConnectState::Connected(Some(opened.result.into()))
            }
            ClientEvent::ConnectFailed(error) => {
                self.connect_state = ConnectState::Failed(error.to_string())
            }
            ClientEvent::CallFinished { call, outcome } => self.ended(*call, outcome),
            ClientEvent::Request(request) => self.requested(request),
            event => {
                self.unresponsive |= matches!(event, ClientEvent::Unresponsive);
                let call = match event {
                    ClientEvent::Progress { call, .. } | ClientEvent::Listening { call, .. } => {
                        Some(*call)
                    }
                    ClientEvent::Changed { listen, .. } => *listen,
                    _ => None,
                };
                let about = call.and_then(|call| self.calls.of(call)).map(|waiting| {
                    waiting.acknowledged |= matches!(event, ClientEvent::Listening { .. });
                    waiting.id
                });
                if catch(|| self.handler.on_event(about, event)).is_none() {
                    self.panicked(about);
                }
            }
        }
    }

    fn ended(&mut self, call: Call, outcome: &CallOutcome<'_>) {
        let Some((at, mut waiting)) = self.calls.take_out(call) else { return };
        let method = waiting.method.clone();
        waiting.result = match outcome {
            CallOutcome::Result(result) => Some(Ok((*result).into())),
            CallOutcome::Error(error) => Some(Err(Error::Server((*error).into()))),
            CallOutcome::Invalid(violation) => {
                Some(Err(Error::Invalid { method, violation: *violation }))
            }
            CallOutcome::EndedByServer => Some(Ok(RawJson::EMPTY.into())),
            CallOutcome::InputRequired(input) => self.again(&mut waiting, input).err().map(Err),
            CallOutcome::TimedOut => Some(Err(Error::TimedOut { method })),
            // `Closed` comes from closing only, which nobody listens to.
            _ => None,
        };
        self.calls.put_back(at, waiting);
    }

    /// InputResponses what a modern server wants to know and sends the request again.
    fn again(&mut self, waiting: &mut PendingCall, input: &InputRequired<'_>) -> Result<(), Error> {
        let mut answers = InputResponses(Vec::new());
        if input.requests().iter().nth(MAX_QUESTIONS).is_some() {
            return Err(Error::InputRequired(input.as_json().into()));
        }
        for (key, request) in input.requests().iter() {
            match self.ask(Some(waiting.id), request?) {
                Ok(answer) => answers.0.push((key.to_string(), answer)),
                Err(InputRefusal::Panicked) => {
                    return Err(Error::HandlerPanicked { method: waiting.method.clone() });
                }
                Err(InputRefusal::Refused) => {
                    return Err(Error::InputRequired(input.as_json().into()));
                }
                Err(InputRefusal::Unwritable(error)) => return Err(error.into()),
            }
        }
        let params = waiting.params.as_ref().map_or(RawJson::EMPTY, OwnedJson::as_raw);
        let inputs = Inputs::new(input.round()).state(input.state().map(Into::into));
        let inputs =
            if input.raw_requests().is_some() { inputs.responses(&answers) } else { inputs };
        let (method, options) = (waiting.method.as_str(), waiting.options);
        waiting.call = self
            .send(|machine, now, tx| machine.retry(now, method, &params, &inputs, options, tx))?;
        Ok(())
    }

    /// InputResponses what a legacy server wants to know.
    fn requested(&mut self, request: &ServerRequest<'_>) {
        let answer = request.question().map(|question| self.ask(None, question));
        let handle = request.handle;
        // The request may be over; nobody else could be told.
        let _ = self.send(|machine, _, tx| match &answer {
            Ok(Ok(answer)) => machine.respond_raw(handle, answer.as_raw(), tx),
            Ok(Err(InputRefusal::Refused)) => machine.respond_error(handle, &REFUSED, tx),
            Ok(Err(InputRefusal::Unwritable(_))) => machine.respond_error(
                handle,
                &RpcError::internal("The answer cannot be written"),
                tx,
            ),
            Ok(Err(InputRefusal::Panicked)) => {
                machine.respond_error(handle, &RpcError::internal("The handler panicked"), tx)
            }
            Err(_) => machine.respond_error(
                handle,
                &RpcError::invalid_params("The question cannot be read"),
                tx,
            ),
        });
    }

    fn ask(
        &mut self,
        about: Option<CallId>,
        request: InputRequest<'_>,
    ) -> Result<OwnedJson, InputRefusal> {
        let question = ReceivedInputRequest::new(request, self.revision());
        let begun = (self.clock)().as_millis();
        let answer = catch(|| self.handler.on_input_request(&question));
        if let Some(left) = self.free_questions.checked_sub(1) {
            self.free_questions = left;
            self.asked =
                self.asked.saturating_add((self.clock)().as_millis().saturating_sub(begun));
        }
        match answer {
            Some(answer) => answer.0,
            None => {
                self.panicked(about);
                Err(InputRefusal::Panicked)
            }
        }
    }

    fn panicked(&mut self, about: Option<CallId>) {
        // The panic hook has printed it; if this panics as well, it prints that too.
        let _ = catch(|| self.handler.on_panic(about));
    }
}

/// InputResponses by the keys of their questions.
struct InputResponses(Vec<(String, OwnedJson)>);

impl Serialize for InputResponses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, answer) in &self.0 {
            map.serialize_entry(key, answer)?;
        }
        map.end()
    }
}

/// What a modern server may ask for more about.
const REPEATED: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];
const REFUSED: RpcError<'_> = RpcError::new(ErrorCode::Application(-1), "The request was refused");
/// Bytes of answers that may wait for a server which asks and does not read.
const MAX_OWED: usize = 1 << 20;
/// Questions in one answer of a modern server. With more, the call fails.
const MAX_QUESTIONS: usize = 100;
/// Questions whose time no deadline counts, while the application waits once. A server that asks
/// more often uses up its own time.
const FREE_QUESTIONS: u32 = 100;
