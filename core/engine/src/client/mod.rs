//! A client as a value: what it sends, what it waits for, and when.

mod calls;
mod driver;
mod events;
mod io;
mod listen;
mod middleware;
mod shared;

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

#[cfg(feature = "http")]
use mcp_sansio::http::client::Post;
#[cfg(feature = "http")]
use mcp_sansio::internal::BodyPosition;
use mcp_sansio::tasks::{TaskKey, TaskTime};
use mcp_sansio::types::{
    LoggingLevel, SetLevelParams, SubscriptionFilter, TaskParams, TaskStatus, TaskSupport, Text,
};
use mcp_sansio::{
    Call, CallOptions, Client, ClientConfig, Connection, Encode, GrowingClientState,
    InputResponseParams, Instant, InvalidPayload, NotAllowed, OwnedJson, RawJson, RequestHandle,
    Revision, RxBuffer, SendError, SendResult, Step, Tx, methods,
};

pub use calls::CallId;
use calls::{Asked, Calls, LISTEN, Pending};
pub use driver::{
    Cancelled, ConnectState, Connected, Detached, Driver, Finished, InputId, Limits,
    OwnedInputRequest, Question,
};
pub use middleware::{Before, Layers, Middleware, OutgoingCall};
pub use shared::{CallEvent, CallEvents, Change};
pub use shared::{ClientApplication, Command, End, SharedClient};

use crate::errors::{CallError, InputResponse};
use crate::hosted::HostedTasks;
use crate::task_hub::TaskResponse;
use crate::tasks::{FollowedTask, TaskRef, ToolSupport};

type Core<'c> = Connection<'c, GrowingClientState, Vec<u8>, Vec<u8>>;

/// A whole client of one server, without its I/O: calls over their rounds of input and as tasks,
/// the questions of the server, and time limits.
///
/// A [`Driver`] reads, writes and waits:
///
/// | when | what |
/// | --- | --- |
/// | it reads or writes | [`io`](Self::io), then [`received`](Self::received) and [`written`](Self::written); over HTTP `posts` and `message` |
/// | after that | [`step`](Self::step) until it returns `false`, then [`handle_timeout`](Self::handle_timeout) |
/// | to wait | until [`poll_timeout`](Self::poll_timeout) |
///
/// Time is an argument: it never goes back, and its zero is arbitrary.
#[must_use]
pub struct ClientEngine<'c> {
    core: Core<'c>,
    state: State,
}

/// All but the connection, to handle events while they borrow from that.
struct State {
    limits: Limits,
    /// Limit of calls without one of their own.
    call_limit: Duration,
    calls: Calls,
    /// Calls, and requests about their tasks, that wait for an entry or for room.
    waiting: VecDeque<Waiting>,
    /// Number of new calls among them.
    new_calls: usize,
    /// Number of calls among them, at most, that are over.
    over: usize,
    /// Number of pending bytes with which the first of them had no room, halved: with more it is
    /// not tried again, since each attempt serializes it.
    enough: usize,
    /// Whether the first of them is partly written.
    is_begun: bool,
    /// Whether a message was given up that is partly written.
    is_cut_off: bool,
    /// Whether the message of a timeout is partly written.
    is_timing_out: bool,
    /// What needs no entry, and waits for room.
    unsent: VecDeque<Unsent>,
    inputs: Vec<(InputId, Purpose)>,
    asked: u64,
    hosted: HostedTasks,
    /// Of the connection; the latest before it is known.
    revision: Revision,
    connect_state: ConnectState,
    connect_result: Option<OwnedJson>,
    is_unresponsive: bool,
    /// Whether the server has the tasks of 2025-11-25.
    has_old_tasks: bool,
    support: ToolSupport,
    /// Name of the server.
    server: String,
    log_level: Option<LoggingLevel>,
    /// The call that has set this level again.
    restored: Option<CallId>,
    /// Start of a login that goes on.
    #[cfg(feature = "http")]
    login: Option<Instant>,
    #[cfg(feature = "http")]
    posts: VecDeque<Post>,
    /// A batch whose rest waits for room.
    #[cfg(feature = "http")]
    batch: Option<(Vec<u8>, BodyPosition)>,
    #[cfg(feature = "http")]
    is_http: bool,
    /// Number of pending bytes that were traced.
    traced: usize,
    /// Whether the next line was traced.
    is_traced: bool,
    input_ended: bool,
    /// Number of pending bytes that are responses to the server.
    unread: usize,
    /// Maximum number of pending bytes since the output buffer was allocated.
    most_pending: usize,
    /// Remaining steps in which no timeout is handled, after a long pause.
    late_steps: u32,
}

/// The state, with the program that it asks and tells.
struct Turn<'t, D> {
    state: &'t mut State,
    driver: &'t mut D,
}

enum Waiting {
    Connect,
    Call(CallId),
    CancelTask(String),
}

pub(crate) enum Unsent {
    /// With its reason.
    Cancel(Call, Option<String>),
    Response(RequestHandle, InputResponse),
    Hosted(RequestHandle, TaskResponse),
}

/// What an answer is for.
enum Purpose {
    Call(CallId),
    /// A request of the server, with its parameters.
    Request(RequestHandle, OwnedJson),
    Hosted(TaskKey),
}

impl<'c> ClientEngine<'c> {
    /// Creates a client of a server on a stream.
    pub fn new(config: &'c ClientConfig<'c>, limits: Limits) -> Self {
        let memory = GrowingClientState::new(limits.max_in_flight);
        let rx = RxBuffer::with_limit(Vec::new(), limits.max_line);
        let state = State::new(limits, config.call_limit);
        Self { core: Connection::new(config, memory, rx, state.empty_tx()), state }
    }

    /// Sets whether messages leave as POST requests, before it [connects](Self::connect).
    #[cfg(feature = "http")]
    pub fn set_over_http(&mut self, is_http: bool) {
        self.state.is_http = is_http;
        *self.core.tx() = self.state.empty_tx();
    }

    /// Returns the core's client, for its state.
    pub fn core(&mut self) -> Client<'_> {
        self.core.machine()
    }

    /// Connects, or connects again after [`end`](Self::end). Calls whose results were not taken are
    /// kept, and all that was found out about the era of the server.
    ///
    /// Once it is connected again, it asks for what the server has lost with the last connection:
    /// the [level of log messages](Self::set_log_level) of a legacy server, and every
    /// [subscription](Self::listen) whose end was not taken (2026-07-28,
    /// basic/patterns/subscriptions). These are open again from now on.
    ///
    /// # Errors
    /// As [`Client::connect`], but for `Full`: then it waits for room.
    pub fn connect(&mut self, now: Instant, driver: &mut impl Driver) -> SendResult {
        self.core.reset();
        if let Some(middleware) = driver.middleware() {
            middleware.connecting();
        }
        let state = &mut self.state;
        (state.input_ended, state.is_traced, state.traced) = (false, false, 0);
        (state.is_unresponsive, state.is_timing_out, state.unread) = (false, false, 0);
        state.is_cut_off = false;
        state.hosted = HostedTasks::new(state.limits.max_in_flight);
        (state.connect_state, state.revision) = (ConnectState::Connecting, Revision::LATEST);
        #[cfg(feature = "http")]
        {
            state.posts.clear();
            (state.batch, state.login) = (None, None);
        }
        let _ = state.restored.take().and_then(|call| state.calls.remove(call));
        for lost in state.calls.iter_mut().filter(|pending| pending.is_lost()) {
            (lost.result, lost.call, lost.acknowledged) = (None, None, None);
            lost.asked = Asked::Nothing;
        }
        match self.send_connect(now, driver) {
            Err(SendError::Full) => {
                self.state.is_begun = self.core.tx().is_mid_frame();
                self.state.waiting.push_front(Waiting::Connect);
                Ok(())
            }
            sent => sent,
        }
    }

    fn send_connect(&mut self, now: Instant, driver: &mut impl Driver) -> SendResult {
        self.send(driver, |client, tx| client.connect(now, tx))?;
        if self.core().is_open() {
            self.state.connect_result = None;
            let revision = self.core().revision().unwrap_or(Revision::LATEST);
            self.state.turn(driver).opened(now, revision);
            self.flush(now, driver);
        }
        Ok(())
    }

    /// Waits until the server is connected, as a call that nothing is sent for: its result is empty
    /// then, [`CallError::Closed`] if the server cannot be used, and [`CallError::TimedOut`] after
    /// `limit`.
    pub fn when_connected(&mut self, now: Instant, limit: Duration) -> CallId {
        let calls = &mut self.state.calls;
        let pending = calls.add(now, String::new(), None, CallOptions::new());
        pending.asked = Asked::Nothing;
        let id = pending.id;
        calls.set_due(id, Some(now.saturating_add(limit)));
        id
    }

    /// Returns how far connecting is.
    pub const fn connect_state(&self) -> &ConnectState {
        &self.state.connect_state
    }

    /// Returns what is known of the server, once it is connected.
    pub fn connected(&mut self) -> Option<Connected> {
        let (result, core) = (self.state.connect_result.clone(), self.core());
        Some(Connected {
            revision: core.revision()?,
            capabilities: core.server_capabilities(),
            result,
        })
    }

    /// Sets the lowest level of log messages, also after the next [`connect`](Self::connect). A
    /// legacy server is asked for it at once (`logging/setLevel`), a modern one with each request.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn set_log_level(
        &mut self,
        now: Instant,
        level: LoggingLevel,
        driver: &mut impl Driver,
    ) -> SendResult<CallId> {
        let options = CallOptions::new();
        if self.is_legacy() {
            let params = SetLevelParams::new(level);
            return self.call(now, methods::LOGGING_SET_LEVEL, &params, options, driver);
        }
        self.state.log_level = Some(level);
        let pending = self.state.calls.add(now, String::new(), None, options);
        pending.result = Some(Ok(RawJson::EMPTY.into()));
        Ok(pending.id)
    }

    /// Returns the call that sets this level again, after a legacy server was connected once more.
    /// Its result need not be taken.
    pub const fn restored(&self) -> Option<CallId> {
        self.state.restored
    }

    fn is_legacy(&mut self) -> bool {
        self.core().revision().is_some_and(|revision| !revision.is_modern())
    }

    /// Makes a call. It is written into the output at once; if there is no room, it waits.
    ///
    /// # Errors
    /// As [`Client::request`]; `Full` and `TooManyCalls` if [`Limits::max_pending`] wait already.
    pub fn call<P: Encode + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: &P,
        mut options: CallOptions,
        driver: &mut impl Driver,
    ) -> SendResult<CallId> {
        let revision = self.core().revision();
        options.log_level = options.log_level.or(self.state.log_level);
        if driver.middleware().is_some() {
            return self.call_through(now, method, params, options, driver);
        }
        let own = || OwnedJson::new(params, revision.unwrap_or(Revision::LATEST));
        // Only modern servers respond with `InputRequiredResult`, and only to these methods. A call
        // that a legacy server refuses without a task, or with one, is sent again.
        let may_repeat = revision.is_some_and(Revision::is_modern) && WITH_INPUT.contains(&method)
            || self.state.has_old_tasks && method == methods::TOOLS_CALL
            || method == methods::LOGGING_SET_LEVEL;
        let kept = if may_repeat { Some(own()?) } else { None };
        let options = self.state.with_task(method, kept.as_ref(), options);
        let sent =
            self.send_first(driver, |client, tx| client.request(now, method, params, options, tx));
        let kept = match &sent {
            Err(SendError::Full | SendError::TooManyCalls) => Some(kept.map_or_else(own, Ok)?),
            _ => kept,
        };
        self.begin(now, method, kept, options, sent, driver)
    }

    /// Makes a call of which the middleware is asked. One that cannot be sent has a result that
    /// says so.
    fn call_through<P: Encode + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: &P,
        options: CallOptions,
        driver: &mut impl Driver,
    ) -> SendResult<CallId> {
        if !self.state.has_place_to_wait() {
            self.has_precedence()?;
        }
        let params = OwnedJson::new(params, self.core().revision().unwrap_or(Revision::LATEST))?;
        if !params.as_json().is_object() {
            return Err(SendError::Invalid(InvalidPayload::NotAnObject));
        }
        let options = self.state.with_task(method, Some(&params), options);
        let id = self.state.turn(driver).call_through(now, method, params, options);
        self.flush(now, driver);
        Ok(id)
    }

    /// Subscribes to changes, until it is cancelled or the server ends it.
    ///
    /// A legacy server tells of its lists unasked. Of each resource it does after a
    /// `resources/subscribe`; an error of that ends the subscription. When it is cancelled,
    /// `resources/unsubscribe` is sent for those that no other one names.
    ///
    /// # Errors
    /// As [`Client::listen`], and as [`call`](Self::call).
    pub fn listen(
        &mut self,
        now: Instant,
        filter: &SubscriptionFilter<'_>,
        options: CallOptions,
        driver: &mut impl Driver,
    ) -> SendResult<CallId> {
        let kept = OwnedJson::new(filter, Revision::LATEST)?;
        if self.is_legacy() {
            let id = self.state.calls.add(now, LISTEN.to_owned(), Some(kept), options).id;
            self.state.turn(driver).subscribe(now, id);
            self.flush(now, driver);
            return Ok(id);
        }
        let sent = self.send_first(driver, |client, tx| client.listen(now, filter, options, tx));
        self.begin(now, LISTEN, Some(kept), options, sent, driver)
    }

    /// Sends a notification: one with a method of its own, or that the roots have changed. Returns
    /// `None` if there was room; otherwise a call that has an empty result once it is sent.
    ///
    /// # Errors
    /// As [`Client::notify`] and [`Client::roots_changed`]; `Full` if [`Limits::max_pending`] wait
    /// already.
    pub fn notify<P: Encode + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: &P,
        driver: &mut impl Driver,
    ) -> SendResult<Option<CallId>> {
        let sent = self.send_first(driver, |client, tx| notify(client, method, params, tx));
        if !self.state.may_wait(&sent) {
            return sent.map(|()| None);
        }
        let revision = self.core().revision().unwrap_or(Revision::LATEST);
        let params = Some(OwnedJson::new(params, revision)?);
        let pending = self.state.calls.add(now, method.to_owned(), params, CallOptions::new());
        pending.asked = Asked::Notification;
        let id = pending.id;
        self.wait(now, id, driver);
        Ok(Some(id))
    }

    /// Whether a task may be of this server: its name and the revision are the same.
    pub fn knows(&mut self, task: &TaskRef) -> bool {
        let server = self.state.server.as_str();
        let is_same = server.is_empty() || task.server().is_empty() || server == task.server();
        is_same && self.core().revision() == Some(task.revision())
    }

    /// Follows a task of an earlier connection, as a call. `None` if the server does not
    /// [know](Self::knows) it.
    pub fn resume(
        &mut self,
        now: Instant,
        task: &TaskRef,
        driver: &mut impl Driver,
    ) -> Option<CallId> {
        if !self.knows(task) {
            return None;
        }
        let mut followed = FollowedTask::resumed(task_time(driver, now), task.clone());
        followed.poll.next(now);
        let options = CallOptions::new().progress(true);
        let method = methods::TOOLS_CALL.to_owned();
        let pending = self.state.calls.add(now, method, None, options);
        (pending.task, pending.asked) = (Some(followed.into()), Asked::State);
        let id = pending.id;
        self.state.waiting.push_back(Waiting::Call(id));
        self.flush(now, driver);
        Some(id)
    }

    /// Sends a call at once, unless others wait.
    fn send_first<R>(
        &mut self,
        driver: &mut impl Driver,
        call: impl FnOnce(&mut Client<'_>, &mut Tx<'_>) -> SendResult<R>,
    ) -> SendResult<R> {
        self.has_precedence()?;
        let may_wait = self.state.has_place_to_wait();
        self.send(driver, |client, tx| {
            let is_free = !tx.is_mid_frame();
            let sent = call(client, tx);
            if may_wait && is_free && sent.is_err() && tx.is_mid_frame() {
                // It does not fit, and goes on with a copy of its parameters, which is another
                // value: it begins with that, too. Only an empty buffer takes a part of a frame.
                tx.clear();
            }
            sent
        })
    }

    /// Whether nothing waits to be sent.
    fn has_precedence(&mut self) -> SendResult {
        if self.state.waiting.is_empty() && !self.state.is_cut_off {
            return Ok(());
        }
        Err(if self.core.tx().is_idle() { SendError::TooManyCalls } else { SendError::Full })
    }

    /// Adds a call that was sent, or waits.
    fn begin(
        &mut self,
        now: Instant,
        method: &str,
        params: Option<OwnedJson>,
        options: CallOptions,
        sent: SendResult<Call>,
        driver: &mut impl Driver,
    ) -> SendResult<CallId> {
        let state = &mut self.state;
        let due = state.end_of(now, &options);
        let call = if state.may_wait(&sent) { None } else { Some(sent?) };
        let id = state.calls.add(now, method.to_owned(), params, options).id;
        match call {
            Some(call) => state.calls.sent(id, call),
            None => {
                state.calls.set_due(id, Some(due));
                self.wait(now, id, driver);
            }
        }
        Ok(id)
    }

    /// Adds a new call to those that wait.
    fn wait(&mut self, now: Instant, id: CallId, driver: &mut impl Driver) {
        self.state.waiting.push_back(Waiting::Call(id));
        self.state.new_calls += 1;
        if self.core.tx().is_idle() {
            self.flush(now, driver);
        }
    }

    /// Sends a notification, or makes any other call of the core's client, at once or not at all.
    ///
    /// # Errors
    /// Those of the call.
    pub fn send<R>(
        &mut self,
        driver: &mut impl Driver,
        call: impl FnOnce(&mut Client<'_>, &mut Tx<'_>) -> SendResult<R>,
    ) -> SendResult<R> {
        if !self.state.has_room() {
            return Err(SendError::Full);
        }
        let (mut client, tx) = self.core.parts();
        let sent = call(&mut client, tx);
        self.state.sent(tx, driver);
        sent
    }

    /// Takes the result of a call.
    pub fn take(&mut self, call: CallId) -> Option<Finished> {
        self.state.calls.get(call)?.result.as_ref()?;
        let pending = self.state.calls.remove(call)?;
        let Pending { method, started, result, .. } = pending;
        Some(Finished { id: call, method, started, result: result? })
    }

    /// Takes the result of the oldest call that has one. Neither a [lost](Self::is_lost)
    /// subscription counts, which would not be opened again then, nor what is
    /// [restored](Self::restored).
    pub fn take_any(&mut self) -> Option<Finished> {
        let over = self.state.own_calls().filter(|pending| pending.result.is_some());
        let call = over.filter(|pending| !pending.is_lost()).map(|pending| pending.id).min()?;
        self.take(call)
    }

    /// Whether the result of a call was not taken yet.
    pub fn is_known(&self, call: CallId) -> bool {
        self.state.calls.get(call).is_some()
    }

    /// Whether there is a call to wait for. An open [subscription](Self::listen) does not count,
    /// since it may never end.
    pub fn has_calls(&self) -> bool {
        let mut all = self.state.own_calls();
        all.any(|pending| !pending.is_listen() || pending.result.is_some() && !pending.is_lost())
    }

    /// Whether a [subscription](Self::listen) has ended with the connection: the next
    /// [`connect`](Self::connect) opens it again.
    pub fn is_lost(&self, call: CallId) -> bool {
        self.state.calls.get(call).is_some_and(Pending::is_lost)
    }

    /// Returns the filter of a [subscription](Self::listen) as the server has acknowledged it.
    pub fn acknowledged(&self, call: CallId) -> Option<&OwnedJson> {
        self.state.calls.get(call)?.acknowledged.as_ref()
    }

    /// Returns the latest known status of the task that the server runs the call as.
    pub fn task_status(&self, call: CallId) -> Option<TaskStatus> {
        Some(self.state.calls.get(call)?.task.as_deref()?.poll.status())
    }

    /// Returns the latest message that describes the status.
    pub fn task_message(&self, call: CallId) -> Option<&str> {
        self.state.calls.get(call)?.task.as_deref()?.message.as_deref()
    }

    /// Returns the latest progress and message of that task, as the parameters of a progress
    /// notification. `None` before there are any.
    pub fn task_progress(&self, call: CallId) -> Option<OwnedJson> {
        self.state.calls.get(call)?.task.as_deref()?.progress()
    }

    /// Returns what can be kept of that task.
    pub fn task(&self, call: CallId) -> Option<&TaskRef> {
        Some(&self.state.calls.get(call)?.task.as_deref()?.kept)
    }

    /// Whether a tool is called as a task when the application would like that: always where the
    /// server decides (2026-07-28), and with 2025-11-25 unless the list of tools forbids it.
    pub fn asks_for_task(&self, tool: &str) -> bool {
        self.state.has_old_tasks && self.state.support.of(tool) != Some(TaskSupport::Forbidden)
    }

    /// Cancels a call, whose result is dropped. `None` if it is not known.
    pub fn cancel(
        &mut self,
        now: Instant,
        call: CallId,
        reason: Option<&str>,
        driver: &mut impl Driver,
    ) -> Option<Cancelled> {
        let pending = self.state.turn(driver).forget(call, reason)?;
        if pending.is_listen() && pending.asked == Asked::Nothing && pending.result.is_none() {
            self.state.unsubscribe(now, call, pending.params.as_ref());
        }
        self.flush(now, driver);
        Some(match pending.live_task() {
            Some(task) => Cancelled::Task(task.id().to_owned()),
            None if pending.result.is_none() => Cancelled::Call,
            None => Cancelled::Over,
        })
    }

    /// Cancels a task without waiting for the acknowledgement. The request is sent when the client
    /// is connected.
    pub fn cancel_task(&mut self, now: Instant, task: String, driver: &mut impl Driver) {
        self.state.waiting.push_back(Waiting::CancelTask(task));
        self.flush(now, driver);
    }

    /// Sends nothing for the task of a call while it is held; what the server tells of it is noted.
    pub fn hold(&mut self, now: Instant, call: CallId, is_held: bool, driver: &mut impl Driver) {
        self.state.turn(driver).hold(now, call, is_held);
        self.flush(now, driver);
    }

    /// Leaves the task of a call to the server. After the end of the connection too, as long as the
    /// result of the call was not taken.
    pub fn detach(&mut self, now: Instant, call: CallId, driver: &mut impl Driver) -> Detached {
        let Some(pending) = self.state.calls.get(call) else { return Detached::Over };
        match pending.live_task() {
            Some(task) => {
                let kept = task.kept.clone();
                self.cancel(now, call, None, driver);
                Detached::Task(kept)
            }
            None if pending.result.is_some() => Detached::Over,
            None => Detached::Undecided,
        }
    }

    /// Takes the answer to a question.
    pub fn answer(
        &mut self,
        now: Instant,
        input: InputId,
        answer: InputResponse,
        driver: &mut impl Driver,
    ) {
        self.state.turn(driver).answer(now, input, answer);
        self.flush(now, driver);
    }

    /// Whether the server has not responded to a ping: the connection is probably lost.
    pub const fn is_unresponsive(&self) -> bool {
        self.state.is_unresponsive
    }

    /// Handles one message that was received, and sends what waits. Returns `false` when there is
    /// nothing more to handle.
    pub fn step(&mut self, now: Instant, driver: &mut impl Driver) -> bool {
        #[cfg(feature = "http")]
        if self.handle_batch(now, driver) {
            return true;
        }
        if !self.state.input_ended && !self.reads() {
            return false;
        }
        // A frame that has begun is gone on with, or the core breaks it off.
        if self.state.is_timing_out {
            let _ = self.handle_core_timeouts(now, driver);
        }
        self.flush(now, driver);
        let before = self.pending();
        self.trace_received(driver);
        let Self { core, state } = self;
        let is_more = match core.catch_up(now) {
            Step::Event(event, _) => {
                state.turn(driver).event(now, &event);
                true
            }
            Step::Again => true,
            Step::Io { .. } | Step::Closed => false,
        };
        state.sent(core.tx(), driver);
        self.state.is_traced &= self.core.rx().is_mid_frame();
        self.state.unread += self.pending().saturating_sub(before);
        self.flush(now, driver);
        if !is_more {
            self.give_back();
        }
        is_more
    }

    /// Begins to wait: what has come since the last time is handled before any timeout, since the
    /// response may be in it.
    pub fn begin_wait(&mut self, now: Instant) {
        self.state.late_steps = 0;
        if self.poll_timeout().is_some_and(|due| due <= now) {
            self.state.late_steps = LATE_STEPS;
        }
    }

    /// Returns the time of the next timeout.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        if self.state.late_steps > 0 {
            return Some(Instant::from_millis(0));
        }
        self.first_timeout(|_| true)
    }

    /// Returns the time of the next timeout after `now`: those up to `now` were handled, or wait
    /// for room.
    pub fn poll_timeout_after(&mut self, now: Instant) -> Option<Instant> {
        self.first_timeout(|due| *due > now)
    }

    fn first_timeout(&mut self, is_one: impl Fn(&Instant) -> bool) -> Option<Instant> {
        let Self { core, state } = self;
        let due = state.times().map(|(due, _)| due).find(&is_one);
        let all = [core.machine().poll_timeout(), due, state.hosted.next_timeout()];
        all.into_iter().flatten().filter(is_one).min()
    }

    /// Handles all timeouts that are due, after all that was received. `moved` tells whether
    /// anything was read or written since the last time.
    ///
    /// # Errors
    /// As [`Client::handle_timeout`], but for `Full`.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        moved: bool,
        driver: &mut impl Driver,
    ) -> SendResult {
        let state = &mut self.state;
        state.late_steps = if moved { state.late_steps.saturating_sub(1) } else { 0 };
        if state.late_steps > 0 {
            return Ok(());
        }
        self.handle_core_timeouts(now, driver)?;
        self.state.turn(driver).handle_timeouts(now);
        self.flush(now, driver);
        Ok(())
    }

    fn handle_core_timeouts(&mut self, now: Instant, driver: &mut impl Driver) -> SendResult {
        let Self { core, state } = self;
        let is_free = !core.tx().is_mid_frame();
        let result = loop {
            let (mut client, tx) = core.parts();
            let event = client.handle_timeout(now, tx);
            state.sent(tx, driver);
            match event {
                Ok(Some(event)) => state.turn(driver).event(now, &event),
                Ok(None) | Err(SendError::Full) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        state.is_timing_out = (is_free || state.is_timing_out) && core.tx().is_mid_frame();
        result
    }

    /// Ends the connection: all calls end with it, and no question needs an answer.
    pub fn end(&mut self, driver: &mut impl Driver) {
        while self.core().close().is_some() {}
        let state = &mut self.state;
        state.waiting.clear();
        state.unsent.clear();
        (state.over, state.enough) = (0, usize::MAX);
        state.is_cut_off |= core::mem::take(&mut state.is_begun);
        for (input, _) in state.inputs.drain(..) {
            driver.withdrawn(input);
        }
        let open = state.calls.iter_mut().filter(|pending| pending.result.is_none());
        let open: Vec<CallId> = open
            .map(|pending| {
                (pending.inputs, pending.is_in_flight) = (None, false);
                pending.id
            })
            .collect();
        open.into_iter().for_each(|id| state.turn(driver).finish(id, Err(CallError::Closed)));
    }

    /// Sends what waits, as far as there is room.
    fn flush(&mut self, now: Instant, driver: &mut impl Driver) {
        if !self.state.is_cut_off && self.state.unsent.is_empty() && self.state.waiting.is_empty() {
            self.state.enough = usize::MAX;
            return;
        }
        if self.state.is_cut_off {
            let aborted = self.send(driver, |client, tx| client.abort_frame(tx));
            self.state.is_cut_off = aborted == Err(SendError::Full);
            if self.state.is_cut_off {
                return;
            }
        }
        // A frame that has begun is gone on with.
        if self.state.is_begun && !self.send_waiting(now, driver) {
            return;
        }
        let before = self.pending();
        while let Some(unsent) = self.state.unsent.pop_front() {
            let sent = self.send(driver, |client, tx| match &unsent {
                Unsent::Cancel(call, reason) => client.cancel_call(*call, reason.as_deref(), tx),
                Unsent::Response(to, Ok(json)) => client.respond_raw(*to, json.as_json(), tx),
                Unsent::Response(to, Err(refusal)) => {
                    client.respond_error(*to, &refusal.as_error(), tx)
                }
                Unsent::Hosted(to, reply) => reply.send_to_server(client, *to, tx),
            });
            // Other errors mean that the request is over.
            if matches!(sent, Err(SendError::Full)) {
                self.state.unread += self.pending().saturating_sub(before);
                return self.state.unsent.push_front(unsent);
            }
        }
        self.state.unread += self.pending().saturating_sub(before);
        self.send_waiting(now, driver);
    }

    /// Sends calls that wait. Returns `false` if there is no room for one.
    fn send_waiting(&mut self, now: Instant, driver: &mut impl Driver) -> bool {
        if !self.state.is_begun && self.core.tx().pending().len() > self.state.enough {
            return false;
        }
        self.state.enough = usize::MAX;
        while let Some(waiting) = self.state.waiting.pop_front() {
            let is_ours = self.state.is_begun || !self.core.tx().is_mid_frame();
            let sent = match &waiting {
                Waiting::Connect => self.send_connect(now, driver),
                Waiting::Call(id) => self.send_call(now, *id, driver),
                Waiting::CancelTask(id) => {
                    let (params, options) = (TaskParams::new(id), CallOptions::new());
                    self.send(driver, |client, tx| {
                        client.request(now, methods::TASKS_CANCEL, &params, options, tx).map(|_| ())
                    })
                }
            };
            self.state.is_begun = false;
            match (sent, waiting) {
                (Err(error @ (SendError::Full | SendError::TooManyCalls)), waiting)
                | (
                    Err(error @ SendError::NotAllowed(NotAllowed::NotOpen)),
                    waiting @ Waiting::CancelTask(_),
                ) if !matches!(error, SendError::NotAllowed(_))
                    || matches!(self.state.connect_state, ConnectState::Connecting) =>
                {
                    self.state.is_begun = is_ours && self.core.tx().is_mid_frame();
                    if error == SendError::Full && !self.state.is_begun {
                        self.state.enough = self.core.tx().pending().len() / 2;
                    }
                    self.state.waiting.push_front(waiting);
                    return error != SendError::Full;
                }
                (Err(error), Waiting::Call(id)) => {
                    self.state.turn(driver).finish(id, Err(CallError::NotSent(error)));
                }
                _ => {}
            }
        }
        true
    }

    /// Sends the next request of a call: the call itself, its next round, or one about its task.
    fn send_call(&mut self, now: Instant, id: CallId, driver: &mut impl Driver) -> SendResult {
        if !self.state.has_room() {
            return Err(SendError::Full);
        }
        let Self { core, state } = self;
        let Some(pending) = state.calls.open_mut(id) else { return Ok(()) };
        let params = pending.params.as_ref().map_or(RawJson::EMPTY, OwnedJson::as_json);
        let round =
            pending.inputs.as_ref().and_then(|it| Some((it.round.as_ref()?, &it.responses)));
        let (method, mut options) = (pending.method.as_str(), pending.options);
        let (mut client, tx) = core.parts();
        if pending.asked == Asked::Notification {
            let sent = notify(&mut client, method, &params, tx);
            state.sent(tx, driver);
            sent?;
            state.turn(driver).finish(id, Ok(RawJson::EMPTY.into()));
            return Ok(());
        }
        if pending.is_new() {
            // It has waited for a part of its time.
            let waited = now.saturating_duration_since(pending.started);
            let limit = options.limit.unwrap_or(client.config().call_limit);
            options.limit = (method != LISTEN).then(|| limit.saturating_sub(waited));
        }
        let sent = match (pending.asked, &pending.task, round) {
            (Asked::Call, _, Some(((result, round), responses))) => {
                let result = result.as_json();
                let state = result.get("requestState").and_then(RawJson::as_string);
                let inputs = InputResponseParams::new(*round).state(state.map(Text::from_json));
                let has_requests = result.get("inputRequests").is_some();
                let inputs = if has_requests { inputs.responses(responses) } else { inputs };
                client.retry(now, method, &params, &inputs, options, tx)
            }
            (Asked::Call, ..) if method == LISTEN => {
                let filter = params.to().unwrap_or(SubscriptionFilter::new());
                client.listen(now, &filter, options, tx)
            }
            (Asked::Call, ..) | (_, None, _) => client.request(now, method, &params, options, tx),
            (asked, Some(task), _) => {
                let (params, options) = (TaskParams::new(task.id()), CallOptions::new());
                match asked {
                    Asked::Update => {
                        let (id, responses) = (task.id(), &task.responses);
                        let params =
                            mcp_sansio::object!({ "taskId": id, "inputResponses": responses });
                        client.request(now, methods::TASKS_UPDATE, &params, options, tx)
                    }
                    Asked::Result => {
                        client.request(now, methods::TASKS_RESULT, &params, options, tx)
                    }
                    _ => client.request(now, methods::TASKS_GET, &params, options, tx),
                }
            }
        };
        if sent.is_ok() {
            pending.inputs = pending.inputs.take().filter(|inputs| inputs.round.is_none());
            state.new_calls -= usize::from(pending.is_new());
            if pending.task.is_none() {
                state.calls.set_due(id, None);
            }
        }
        state.sent(tx, driver);
        state.calls.sent(id, sent?);
        Ok(())
    }
}

impl State {
    fn turn<'t, D>(&'t mut self, driver: &'t mut D) -> Turn<'t, D> {
        Turn { state: self, driver }
    }

    /// Returns the calls of the application: not those that the engine makes for itself.
    fn own_calls(&self) -> impl Iterator<Item = &Pending> {
        let all = self.calls.iter().filter(|pending| pending.owner.is_none());
        all.filter(|pending| Some(pending.id) != self.restored)
    }

    fn new(limits: Limits, call_limit: Duration) -> Self {
        Self {
            limits,
            call_limit,
            calls: Calls::default(),
            waiting: VecDeque::new(),
            new_calls: 0,
            over: 0,
            enough: usize::MAX,
            is_begun: false,
            is_cut_off: false,
            is_timing_out: false,
            unsent: VecDeque::new(),
            inputs: Vec::new(),
            asked: 0,
            hosted: HostedTasks::new(limits.max_in_flight),
            revision: Revision::LATEST,
            connect_state: ConnectState::Connecting,
            connect_result: None,
            is_unresponsive: false,
            has_old_tasks: false,
            support: ToolSupport::default(),
            server: String::new(),
            log_level: None,
            restored: None,
            #[cfg(feature = "http")]
            login: None,
            #[cfg(feature = "http")]
            posts: VecDeque::new(),
            #[cfg(feature = "http")]
            batch: None,
            #[cfg(feature = "http")]
            is_http: false,
            traced: 0,
            is_traced: false,
            input_ended: false,
            unread: 0,
            most_pending: 0,
            late_steps: 0,
        }
    }

    /// Returns the time at which a call ends that has its time from now on.
    fn end_of(&self, now: Instant, options: &CallOptions) -> Instant {
        now.saturating_add(options.limit.unwrap_or(self.call_limit))
    }

    /// Whether a new message that was not sent waits now.
    fn may_wait<T>(&self, sent: &SendResult<T>) -> bool {
        matches!(sent, Err(SendError::Full | SendError::TooManyCalls)) && self.has_place_to_wait()
    }

    const fn has_place_to_wait(&self) -> bool {
        self.new_calls < self.limits.max_pending
    }

    /// Returns the options of a call. A tool that must be called as a task is.
    fn with_task(
        &self,
        method: &str,
        params: Option<&OwnedJson>,
        options: CallOptions,
    ) -> CallOptions {
        if !self.has_old_tasks || method != methods::TOOLS_CALL || options.task {
            return options;
        }
        match self.support.of(&tool(params)) {
            Some(TaskSupport::Required) => options.task(None),
            _ => options,
        }
    }
}

fn notify<P: Encode + ?Sized>(
    client: &mut Client<'_>,
    method: &str,
    params: &P,
    tx: &mut Tx<'_>,
) -> SendResult {
    match method {
        "notifications/roots/list_changed" => client.roots_changed(tx),
        _ => client.notify(method, params, tx),
    }
}

/// Returns the name of the tool that is called.
fn tool(params: Option<&OwnedJson>) -> String {
    let name = params.and_then(|params| params.as_json().get("name")).and_then(RawJson::as_string);
    name.map(|name| alloc::string::ToString::to_string(&name)).unwrap_or_default()
}

fn task_time(driver: &mut impl Driver, now: Instant) -> TaskTime {
    TaskTime::new(now, driver.unix_ms())
}

mcp_sansio::opaque_debug!(ClientEngine<'_> |it| {
    server: it.state.server, connect_state: it.state.connect_state
});

/// Methods to which a modern server may respond with `InputRequiredResult`.
const WITH_INPUT: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];
/// Number of steps after a long pause in which no timeout is handled while there are bytes to read.
const LATE_STEPS: u32 = 256;
/// Maximum number of bytes of responses for a server that does not read them.
const MAX_UNREAD: usize = 1 << 20;
/// Maximum number of bytes that idle buffers keep.
const MAX_KEPT: usize = 1 << 20;
