//! The part of a connection on a stream that its driver and its handlers share.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time;

use mcp_sansio::{
    Admission, Change, Connection as CoreConnection, GrowingServerState, Instant, RequestHandle,
    RxBuffer, SendError, TxBuffer,
};
use mcp_sansio_engine::internal::{Destination, Outputs, WakerSet};

use super::admission::Load;
use super::app::Settings;
use super::broadcast::Receiver;
use super::context::ActiveRequest;
use super::driver_waker::DriverWaker;
use super::reply::PendingResponse;
use super::source::{Attempt, RequestSource, ServerCall, ServerState};
use crate::lock::lock;
use crate::runtime;
use crate::runtime::timer::Clock;

/// A connection of the core behind a mutex. It is locked for a call, never across an await.
pub(crate) struct SharedStream {
    state: Mutex<State>,
    /// Waker of the task that drives the connection.
    pub(crate) driver: Arc<DriverWaker>,
    pub(crate) clock: Clock,
    pub(crate) settings: Arc<Settings>,
}

/// The state behind the mutex.
pub(crate) struct State {
    pub(crate) output: Output,
    pub(crate) server: ServerState,
    /// Whether the connection is over.
    is_closed: bool,
    /// Start of the time in which a request has waited although no other has ended.
    pub(crate) full_since: Option<time::Instant>,
}

/// The connection of the core, as what is sent by handlers takes its room.
pub(crate) struct Output {
    pub(crate) core: Core,
    /// Whether an input request waits for room, and at how many pending bytes it is repeated.
    is_blocked: bool,
    enough: usize,
    /// Time of the step.
    now: Instant,
}

/// The server of a connection.
type Core = CoreConnection<'static, GrowingServerState, Vec<u8>, Vec<u8>, PendingResponse>;

impl SharedStream {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        let rx = RxBuffer::with_limit(Vec::new(), settings.limits.max_line);
        let tx = TxBuffer::with_limit(Vec::new(), settings.limits.max_pending);
        let output = Output {
            core: Core::new(settings.config, settings.server_state(), rx, tx),
            is_blocked: false,
            enough: usize::MAX,
            now: Instant::from_millis(0),
        };
        let server = ServerState { load: Some(Load::new(&settings)), ..ServerState::default() };
        let state = State { output, server, is_closed: false, full_since: None };
        Self { state: Mutex::new(state), driver: Arc::default(), clock: Clock::new(), settings }
    }

    /// Locks the state. A poisoned lock is used all the same, because each call of the core is all
    /// or nothing.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Hands in the response of a handler.
    pub(crate) fn answer(&self, request: RequestHandle, response: PendingResponse) {
        let mut state = self.lock();
        let core = &mut state.output.core;
        if core.machine().is_request_open(request) {
            // It has none yet.
            let _ = core.answer(request, response);
            state.full_since = None;
        }
    }

    /// Closes the session of the core and wakes everything that waits.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.output.core.machine().close();
        state.is_closed = true;
        state.server.input_requests.close();
        let waiting = state.server.waiting.take();
        drop(state);
        waiting.for_each(Waker::wake);
    }
}

impl State {
    /// Sends input requests while there is room. A frame of theirs that has begun must be gone on
    /// with before each step, and the others wait for it.
    pub(crate) fn send_input_requests(&mut self, now: Instant) {
        let Self { output, server, .. } = self;
        output.now = now;
        if server.input_requests.is_empty() && !output.is_blocked {
            return;
        }
        output.is_blocked = false;
        server.input_requests.send(now, output);
        output.core.hold(output.is_blocked);
        if !output.is_blocked {
            output.enough = usize::MAX;
        }
    }

    /// Lets requests wait while a limit is reached. Not for longer than `Limits::full_timeout`,
    /// nor while the client is asked something, since the response may be behind them.
    pub(crate) fn limit_requests(&mut self, settings: &Settings, has_ended: bool) {
        let is_over = self.server.load.as_ref().is_some_and(|load| load.is_full());
        if !is_over && !has_ended && self.full_since.is_none() {
            return self.output.core.admit(Admission::Wait);
        }
        let server = self.output.core.machine();
        let open = server.open_requests();
        let is_asking = server.open_calls() > 0;
        if open == 0 || !is_over && open < usize::from(settings.limits.max_in_flight) {
            self.full_since = None;
            return self.output.core.admit(Admission::Wait);
        }
        let has_waited =
            self.full_since.is_some_and(|at| runtime::elapsed(at) >= settings.limits.full_timeout);
        self.output.core.admit(match has_ended || is_asking || has_waited {
            true => Admission::Refuse,
            false if is_over => Admission::Hold,
            false => Admission::Wait,
        });
    }

    /// Returns the time at which the request that waits is refused.
    pub(crate) fn full_until(&mut self, settings: &Settings) -> Option<time::Instant> {
        if !self.output.core.awaits_entry() {
            return None;
        }
        let since = *self.full_since.get_or_insert_with(runtime::now);
        since.checked_add(settings.limits.full_timeout)
    }

    /// Returns the wakers of handlers for which there is room again. Not after each byte, because
    /// all of them would try again.
    pub(crate) fn with_room(&mut self) -> impl Iterator<Item = Waker> + use<> {
        let Self { output, server, .. } = self;
        let tx = output.core.tx();
        let has_room = tx.room() >= tx.pending().len();
        let has_room = has_room && !output.is_blocked && !output.core.waits_for_room();
        if has_room { server.waiting.take() } else { WakerSet::default().take() }
    }
}

impl Outputs for Output {
    fn send(&mut self, _: Destination, attempt: &mut Attempt<'_>) -> Result<(), SendError> {
        if self.is_blocked || self.core.waits_for_room() {
            return Err(SendError::Full);
        }
        let mut turn = self.core.turn(self.now);
        let (server, tx) = turn.parts();
        attempt(server, tx)
    }

    fn send_input(&mut self, _: Destination, attempt: &mut Attempt<'_>) -> Result<(), SendError> {
        let sent = if self.core.tx().pending().len() > self.enough {
            Err(SendError::Full)
        } else {
            let mut turn = self.core.turn(self.now);
            let (server, tx) = turn.parts();
            let sent = attempt(server, tx);
            // Each attempt serializes the request anew.
            self.enough = if tx.is_mid_frame() { 0 } else { tx.pending().len() / 2 };
            sent
        };
        match sent {
            Err(SendError::Full) => self.is_blocked = true,
            _ => self.enough = usize::MAX,
        }
        sent
    }
}

impl RequestSource for SharedStream {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the time since the connection was created.
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn answer(&self, request: &ActiveRequest, response: PendingResponse) {
        self.answer(request.handle, response);
        self.driver.notify();
    }

    fn is_open(&self, request: &ActiveRequest) -> bool {
        self.lock().output.core.machine().is_request_open(request.handle)
    }

    fn with_server(&self, _: &ActiveRequest, call: &mut ServerCall<'_>) {
        let State { output, server, is_closed, .. } = &mut *self.lock();
        if !*is_closed && call(server, output) {
            self.driver.notify();
        }
    }

    fn tell(&self, change: &Change<'_>) {
        if self.lock().output.core.publish(change) {
            self.driver.notify();
        }
    }
}

impl Receiver for SharedStream {
    fn on_change(&self, change: &Change<'_>) {
        self.tell(change);
    }

    fn wake(&self) {
        self.driver.notify();
    }
}
