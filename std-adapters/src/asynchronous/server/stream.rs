//! The part of a connection on a stream that its driver and its handlers share.

use std::mem::take;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{self, Poll, Waker};
use std::time;

use mcp_sansio::{
    Admission, Change, Connection as CoreConnection, GrowingServerState, Instant, OwnedJson,
    RequestHandle, RxBuffer, SendError, ToolError, TxBuffer,
};

use super::admission::Load;
use super::app::Settings;
use super::broadcast::{OwnedChange, Receiver};
use super::context::ActiveRequest;
use super::driver_waker::{DriverWaker, WakerSet};
use super::input::{Destination, InputRequests, Outputs};
use super::reply::PendingResponse;
use super::source::{Attempt, RequestSource};
use crate::lock::lock;
use crate::runtime;

/// A connection of the core behind a mutex. It is locked for a call, never across an await.
pub(crate) struct SharedStream {
    state: Mutex<State>,
    /// Waker of the task that drives the connection.
    pub(crate) driver: Arc<DriverWaker>,
    pub(crate) load: Arc<Load>,
    begun: time::Instant,
}

/// The state behind the mutex.
pub(crate) struct State {
    pub(crate) core: Core,
    pub(crate) input_requests: InputRequests,
    /// Handlers that wait for room.
    waiting: WakerSet,
    /// Whether an input request waits for room, and at how many pending bytes it is repeated.
    is_blocked: bool,
    enough: usize,
    /// Whether the connection is over.
    is_closed: bool,
    /// Time of the step.
    now: Instant,
    /// Start of the time in which a request has waited although no other has ended.
    pub(crate) full_since: Option<time::Instant>,
}

/// The server of a connection.
type Core = CoreConnection<'static, GrowingServerState, Vec<u8>, Vec<u8>, PendingResponse>;

impl SharedStream {
    pub(crate) fn new(settings: &Settings) -> Self {
        let rx = RxBuffer::with_limit(Vec::new(), settings.max_line);
        let tx = TxBuffer::with_limit(Vec::new(), settings.max_pending);
        let state = State {
            core: Core::new(settings.config, settings.server_state(), rx, tx),
            input_requests: InputRequests::default(),
            waiting: WakerSet::default(),
            is_blocked: false,
            enough: usize::MAX,
            is_closed: false,
            now: Instant::from_millis(0),
            full_since: None,
        };
        Self {
            state: Mutex::new(state),
            driver: Arc::default(),
            load: Load::new(settings),
            begun: runtime::now(),
        }
    }

    /// Locks the state. A poisoned lock is used all the same, because each call of the core is all
    /// or nothing.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns the time since the connection was created.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_millis(
            u64::try_from(runtime::elapsed(self.begun).as_millis()).unwrap_or(u64::MAX),
        )
    }

    pub(crate) fn real_time(&self, at: Instant) -> Option<time::Instant> {
        self.begun.checked_add(time::Duration::from_millis(at.as_millis()))
    }

    /// Hands in the response of a handler.
    pub(crate) fn answer(&self, request: RequestHandle, response: PendingResponse) {
        let mut state = self.lock();
        if state.core.machine().is_request_open(request) {
            // It has none yet.
            let _ = state.core.answer(request, response);
            state.full_since = None;
        }
    }

    /// Closes the session of the core and wakes everything that waits.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.core.machine().close();
        state.is_closed = true;
        state.input_requests.close();
        let waiting = state.waiting.take();
        drop(state);
        waiting.for_each(Waker::wake);
    }
}

impl State {
    /// Sends input requests while there is room. A frame of theirs that has begun must be gone on
    /// with before each step, and the others wait for it.
    pub(crate) fn send_input_requests(&mut self, now: Instant) {
        self.now = now;
        if self.input_requests.is_empty() && !self.is_blocked {
            return;
        }
        self.is_blocked = false;
        let mut input_requests = take(&mut self.input_requests);
        input_requests.send(now, self);
        self.input_requests = input_requests;
        self.core.hold(self.is_blocked);
        if !self.is_blocked {
            self.enough = usize::MAX;
        }
    }

    /// Lets requests wait while a limit is reached. Not for longer than [`App::full_timeout`], nor
    /// while the client is asked something, since the response may be behind them.
    ///
    /// [`App::full_timeout`]: super::App::full_timeout
    pub(crate) fn limit_requests(&mut self, settings: &Settings, is_over: bool, has_ended: bool) {
        if !is_over && !has_ended && self.full_since.is_none() {
            return self.core.admit(Admission::Wait);
        }
        let server = self.core.machine();
        let open = server.open_requests();
        let is_asking = server.open_calls() > 0;
        if open == 0 || !is_over && open < settings.max_in_flight {
            self.full_since = None;
            return self.core.admit(Admission::Wait);
        }
        let has_waited =
            self.full_since.is_some_and(|at| runtime::elapsed(at) >= settings.full_timeout);
        self.core.admit(match has_ended || is_asking || has_waited {
            true => Admission::Refuse,
            false if is_over => Admission::Hold,
            false => Admission::Wait,
        });
    }

    /// Returns the time at which the request that waits is refused.
    pub(crate) fn full_until(&mut self, settings: &Settings) -> Option<time::Instant> {
        if !self.core.awaits_entry() {
            return None;
        }
        let since = *self.full_since.get_or_insert_with(runtime::now);
        since.checked_add(settings.full_timeout)
    }

    /// Returns the wakers of handlers for which there is room again. Not after each byte, because
    /// all of them would try again.
    pub(crate) fn with_room(&mut self) -> impl Iterator<Item = Waker> + use<> {
        let tx = self.core.tx();
        let has_room = tx.room() >= tx.pending().len();
        let has_room = has_room && !self.is_blocked && !self.core.waits_for_room();
        if has_room { self.waiting.take() } else { WakerSet::default().take() }
    }
}

impl Outputs for State {
    fn send(&mut self, _: Destination, attempt: &mut Attempt<'_>) -> Result<(), SendError> {
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
    fn now(&self) -> Instant {
        self.now()
    }

    fn answer(&self, request: &ActiveRequest, response: PendingResponse) {
        self.answer(request.handle, response);
        self.driver.notify();
    }

    fn is_open(&self, request: &ActiveRequest) -> bool {
        self.lock().core.machine().is_request_open(request.handle)
    }

    fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        _: &ActiveRequest,
        place: &mut Option<u64>,
        attempt: &mut Attempt<'_>,
    ) -> Poll<Result<(), SendError>> {
        let state = &mut *self.lock();
        let sent = if state.is_closed {
            // There will be no room. The server finds that all requests are gone.
            Ok(())
        } else if state.is_blocked || state.core.waits_for_room() {
            Err(SendError::Full)
        } else {
            let mut turn = state.core.turn(state.now);
            let (server, tx) = turn.parts();
            attempt(server, tx)
        };
        if sent == Err(SendError::Full) {
            state.waiting.wait(place, cx.waker());
            return Poll::Pending;
        }
        self.driver.notify();
        Poll::Ready(sent)
    }

    fn leave(&self, _: &ActiveRequest, place: u64) {
        self.lock().waiting.leave(place);
    }

    fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        request: &ActiveRequest,
        input_request: Option<OwnedJson>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        let mut state = self.lock();
        if let Some(input_request) = input_request {
            *place = Some(state.input_requests.begin(request, input_request));
            self.driver.notify();
        }
        match *place {
            Some(place) => state.input_requests.poll(place, cx),
            None => Poll::Pending,
        }
    }

    fn tell(&self, change: &Change<'_>) {
        if self.lock().core.publish(change) {
            self.driver.notify();
        }
    }

    fn leave_input(&self, _: &ActiveRequest, place: u64) {
        let State { input_requests, core, .. } = &mut *self.lock();
        if input_requests.leave(place, |call| core.machine().is_call_open(call)) {
            self.driver.notify();
        }
    }
}

impl Receiver for SharedStream {
    fn on_change(&self, change: OwnedChange) {
        if self.lock().core.publish(&change.as_change()) {
            self.driver.notify();
        }
    }

    fn wake(&self) {
        self.driver.notify();
    }
}
