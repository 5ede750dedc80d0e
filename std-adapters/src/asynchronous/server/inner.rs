//! State that a connection shares with its handlers: the core's server and the output buffers,
//! locked for the duration of a call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use mcp_sansio::{
    GrowingServerState, Instant, Messages, Outcome as _, Remaining, RequestHandle, SendError,
    Server, ServerConfig, ServerEvent, TxBuffer,
};

use super::app::{MIN_BUFFER, Settings};
use super::broadcast::{OwnedChange, Receiver};
use super::driver_waker::{DriverWaker, WakerSet};
use super::input::{Destination, InputRequests, Outputs};
use super::output::OutputBuffer;
use super::pending_responses::PendingResponse;
use super::source::Attempt;

/// The part of a connection that its driver and its handlers share.
pub(super) struct ConnectionInner {
    state: Mutex<State>,
    /// Waker of the task that drives the connection.
    pub(super) driver: Arc<DriverWaker>,
    /// Bytes of parameters of the requests in flight.
    params: Arc<AtomicUsize>,
    clock: std::time::Instant,
}

/// Share of a request in the bytes of parameters, for as long as the request is kept.
pub(super) struct ParamsReservation {
    bytes: usize,
    limit: usize,
    all: Option<Arc<AtomicUsize>>,
    /// Bytes that are given back to the budget of HTTP bodies, and where.
    body: Option<(usize, Arc<AtomicUsize>)>,
    driver: Arc<DriverWaker>,
}

impl ParamsReservation {
    pub(super) fn new(
        bytes: usize,
        all: Option<&Arc<AtomicUsize>>,
        limit: usize,
        driver: &Arc<DriverWaker>,
    ) -> Self {
        if let Some(all) = all {
            all.fetch_add(bytes, Ordering::AcqRel);
        }
        Self { bytes, limit, all: all.cloned(), body: None, driver: Arc::clone(driver) }
    }

    #[cfg(feature = "http")]
    pub(super) fn with_body(mut self, bytes: usize, released: &Arc<AtomicUsize>) -> Self {
        self.body = (bytes > 0).then(|| (bytes, Arc::clone(released)));
        self
    }
}

impl Drop for ParamsReservation {
    fn drop(&mut self) {
        // At the limit a request may be waiting.
        let before = self.all.as_ref().map(|all| all.fetch_sub(self.bytes, Ordering::AcqRel));
        if let Some((bytes, released)) = &self.body {
            released.fetch_add(*bytes, Ordering::Relaxed);
        }
        if before.is_some_and(|before| before >= self.limit) || self.body.is_some() {
            self.driver.notify();
        }
    }
}

/// What the mutex of a connection protects.
pub(super) struct State {
    pub(super) memory: GrowingServerState,
    pub(super) config: &'static ServerConfig<'static>,
    pub(super) output: OutputBuffer,
    pub(super) input_requests: InputRequests,
    max_subscriptions: usize,
    /// Changes that not all subscribers have been notified of.
    changes: Vec<OwnedChange>,
    /// Position in the first change.
    position: u16,
    /// Handlers that wait for room.
    pub(super) waiting: WakerSet,
    driver: Arc<DriverWaker>,
}

impl ConnectionInner {
    pub(super) fn new(settings: &Settings) -> Self {
        let driver = Arc::new(DriverWaker::default());
        let state = State {
            memory: settings.server_state(),
            config: settings.config,
            max_subscriptions: settings.max_subscriptions,
            output: OutputBuffer::new(TxBuffer::with_limit(Vec::new(), settings.max_pending)),
            input_requests: InputRequests::default(),
            changes: Vec::new(),
            position: 0,
            waiting: WakerSet::default(),
            driver: Arc::clone(&driver),
        };
        Self {
            state: Mutex::new(state),
            driver,
            params: Arc::default(),
            clock: std::time::Instant::now(),
        }
    }

    /// Locks the state; never held across an await. A poisoned lock is used all the same, because
    /// each call of the core is all or nothing.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time since the connection was created.
    pub(super) fn now(&self) -> Instant {
        Instant::from_millis(u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn real_time(&self, at: Instant) -> Option<std::time::Instant> {
        self.clock.checked_add(std::time::Duration::from_millis(at.as_millis()))
    }

    /// Returns the bytes of parameters of the requests in flight.
    pub(super) fn params(&self) -> usize {
        self.params.load(Ordering::Acquire)
    }

    /// Counts the parameters of a request.
    pub(super) fn reserve_params(&self, bytes: usize, limit: usize) -> ParamsReservation {
        ParamsReservation::new(bytes, Some(&self.params), limit, &self.driver)
    }

    /// Wakes those that wait for room, once at least half of the output has been sent.
    pub(super) fn drained(&self) {
        let state = self.lock();
        // Not after each byte, because all of them would try again.
        let output = &state.output;
        if output.is_blocked() || output.tx.room() < output.tx.pending().len() {
            return;
        }
        drop(state);
        self.wake_waiting();
    }

    /// Wakes those that wait for room.
    pub(super) fn wake_waiting(&self) {
        let waiting = self.lock().waiting.take();
        waiting.for_each(Waker::wake);
    }

    /// Closes the session of the core and wakes everything that waits.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.server().close();
        state.input_requests.close();
        let waiting = state.waiting.take();
        drop(state);
        waiting.for_each(Waker::wake);
    }
}

impl State {
    pub(super) fn server(&mut self) -> Server<'_> {
        self.memory.server(self.config)
    }

    /// Wakes the driver.
    pub(super) fn notify_driver(&self) {
        self.driver.notify();
    }

    /// Returns the server and its output.
    pub(super) fn parts(&mut self) -> (Server<'_>, &mut OutputBuffer) {
        (self.memory.server(self.config), &mut self.output)
    }

    /// Makes an attempt to send a response.
    pub(super) fn respond(
        &mut self,
        request: RequestHandle,
        response: &PendingResponse,
    ) -> Result<(), SendError> {
        response.send(&mut self.memory.server(self.config), request, &mut self.output.tx)
    }

    /// Sends input requests, as far as there is room.
    pub(super) fn send_input_requests(&mut self, now: Instant) {
        let mut input_requests = std::mem::take(&mut self.input_requests);
        input_requests.send(now, self);
        self.input_requests = input_requests;
    }

    /// Returns whether there is room for any response of the core to a frame that cannot be
    /// processed twice.
    pub(super) fn has_room(&self) -> bool {
        let Self { output, .. } = self;
        !output.is_blocked() && !output.tx.is_mid_frame() && output.tx.room() >= MIN_BUFFER
    }

    pub(super) fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        self.memory.server(self.config).next_event(now, messages, &mut self.output.tx)
    }

    /// Handles the next timeout, if one is due.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        if self.server().poll_timeout().is_none_or(|due| now < due) {
            return Ok(None);
        }
        self.memory.server(self.config).handle_timeout(now, &mut self.output.tx)
    }

    /// Notifies subscribers of changes, as far as there is room.
    pub(super) fn send_changes(&mut self) {
        while let Some(changes) = self.changes.first() {
            let mut change = changes.as_change().resume(self.position);
            if self.output.is_blocked() {
                return;
            }
            let mut server = self.memory.server(self.config);
            let published = server.publish(&mut change, &mut self.output.tx);
            self.position = change.position();
            match published {
                Ok(Remaining::More) => {}
                Err(SendError::Full) => return self.output.block(),
                Ok(Remaining::Done) | Err(_) => {
                    self.changes.remove(0);
                    self.position = 0;
                }
            }
        }
    }

    pub(super) fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }
}

impl Outputs for State {
    fn send(&mut self, _: Destination, attempt: &mut Attempt<'_>) -> Result<(), SendError> {
        let (mut server, output) = self.parts();
        if output.is_blocked() {
            return Err(SendError::Full);
        }
        let sent = attempt(&mut server, &mut output.tx);
        if sent == Err(SendError::Full) {
            output.block();
        }
        sent
    }
}

impl Receiver for ConnectionInner {
    fn on_change(&self, change: OwnedChange) {
        let mut state = self.lock();
        // The first one may have been sent to some subscribers already: it has to be sent again.
        let started = usize::from(state.position != 0);
        // Changes without a subscriber are not kept, so there are at most as many as subscriptions,
        // plus the three lists.
        let is_wanted = state.server().is_subscribed(&change.as_change());
        if is_wanted && state.changes.len() > state.max_subscriptions + LISTS {
            // Removes those whose subscription has ended since, which makes room.
            let State { memory, config, changes, .. } = &mut *state;
            let server = memory.server(config);
            let mut at = 0;
            changes.retain(|changes| {
                at += 1;
                at <= started || server.is_subscribed(&changes.as_change())
            });
        }
        if is_wanted && !state.changes.iter().skip(started).any(|other| *other == change) {
            state.changes.push(change);
        }
        state.notify_driver();
    }

    fn wake(&self) {
        self.driver.notify();
    }
}

/// Number of lists that can change: tools, prompts, resources.
const LISTS: usize = 3;

#[cfg(test)]
mod tests {
    use mcp_sansio::types::Implementation;
    use mcp_sansio::{Frame, ServerFeatures};

    use super::super::app::App;
    use super::super::context::Context;
    use super::super::reply::HandlerResult;
    use super::*;

    static CONFIG: ServerConfig<'_> = ServerConfig::new(
        Implementation::new("t", "1"),
        ServerFeatures::TOOLS_LIST_CHANGED.with(ServerFeatures::RESOURCES_SUBSCRIBE),
    );

    fn inner(max_in_flight: usize) -> ConnectionInner {
        async fn respond(_: Context) -> HandlerResult {
            Err("unused".into())
        }
        let app = App::new(&CONFIG, respond).max_in_flight(max_in_flight).max_subscriptions(4);
        ConnectionInner::new(&app.settings)
    }

    #[test]
    fn m1_changes_that_a_client_does_not_read_are_as_many_as_its_subscriptions() {
        let inner = inner(8);
        let tell = |uri: String| inner.on_change(OwnedChange::Resource(uri.into()));
        (0..1000).for_each(|number| tell(format!("test://{number}")));
        assert_eq!(inner.lock().changes.len(), 0);
        let uris =
            (0..10).map(|number| format!("\"test://{number}\"")).collect::<Vec<_>>().join(",");
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"resourceSubscriptions":[{uris}]}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let event = inner.lock().next_event(inner.now(), &mut messages);
        assert!(matches!(event, Ok(Some(ServerEvent::Listening { .. }))));
        for _ in 0..2 {
            (0..1000).for_each(|number| tell(format!("test://{number}")));
            inner.on_change(OwnedChange::Tools);
        }
        assert_eq!(inner.lock().changes.len(), 5);
    }

    #[test]
    fn m1_changes_that_are_no_longer_subscribed_to_give_way() {
        let inner = inner(4);
        let hear = |text: &str| {
            let mut messages = Messages::new(Frame::Complete(text.as_bytes()));
            let mut state = inner.lock();
            while let Ok(Some(_)) = state.next_event(inner.now(), &mut messages) {}
        };
        hear(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        );
        hear(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        for number in 0..1000 {
            let uri = format!("test://{number}");
            let subscription = |method: &str| {
                hear(&format!(
                    r#"{{"jsonrpc":"2.0","id":{number},"method":"resources/{method}","params":{{"uri":"{uri}"}}}}"#
                ));
            };
            subscription("subscribe");
            inner.on_change(OwnedChange::Resource(uri.as_str().into()));
            inner.on_change(OwnedChange::Tools);
            assert!(inner.lock().changes.len() <= 4 + LISTS + 1, "{number}");
            assert!(inner.lock().changes.contains(&OwnedChange::Resource(uri.as_str().into())));
            subscription("unsubscribe");
        }
    }
}
