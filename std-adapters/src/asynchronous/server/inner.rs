//! State that a connection shares with its handlers: the core's server and the output buffers,
//! locked for the duration of a call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use mcp_sansio::{
    Call, ExchangeId, GrowingServerState, Instant, Messages, Remaining, RequestHandle, SendError,
    Server, ServerConfig, ServerEvent, TxBuffer,
};

use super::app::{App, MIN_BUFFER};
use super::broadcast::{OwnedChange, Receiver};
use super::driver_waker::{DriverWaker, WakerSet};
use super::input::InputRequests;
use super::output::{OutputBuffer, OutputBuffers};

/// The part of a connection that its driver and its handlers share.
pub(super) struct ConnectionInner {
    state: Mutex<State>,
    /// Waker of the task that drives the connection.
    pub(super) driver: Arc<DriverWaker>,
    /// Principal of the client, if an authorization check returned one.
    #[cfg_attr(not(feature = "http"), expect(dead_code))] // streams have no authorization
    pub(super) principal: Option<Arc<str>>,
    /// Bytes of parameters of the requests in flight.
    params: Arc<AtomicUsize>,
    clock: std::time::Instant,
}

/// Share of a request in the bytes of parameters, for as long as the request is kept.
pub(super) struct ParamsReservation {
    bytes: usize,
    limit: usize,
    all: Arc<AtomicUsize>,
    driver: Arc<DriverWaker>,
}

impl Drop for ParamsReservation {
    fn drop(&mut self) {
        // At the limit a request may be waiting.
        if self.all.fetch_sub(self.bytes, Ordering::AcqRel) >= self.limit {
            self.driver.notify();
        }
    }
}

/// What the mutex of a connection protects.
pub(super) struct State {
    pub(super) memory: GrowingServerState,
    pub(super) config: &'static ServerConfig<'static>,
    pub(super) outputs: OutputBuffers,
    pub(super) input_requests: InputRequests,
    max_subscriptions: usize,
    /// Changes that not all subscribers have been notified of.
    changes: Vec<OwnedChange>,
    /// Position in the first change.
    position: u16,
    /// Handlers and connections that wait for room.
    pub(super) waiting: WakerSet,
    /// Connections with a request that waits for another to end.
    #[cfg(feature = "http")]
    waiting_for_capacity: Vec<Waker>,
    driver: Arc<DriverWaker>,
}

impl ConnectionInner {
    pub(super) fn new<H>(app: &App<H>, tx: TxBuffer<Vec<u8>>, principal: Option<Arc<str>>) -> Self {
        let driver = Arc::new(DriverWaker::default());
        let state = State {
            memory: app.server_state(),
            config: app.config,
            max_subscriptions: app.max_subscriptions,
            outputs: OutputBuffers::new(tx),
            input_requests: InputRequests::default(),
            changes: Vec::new(),
            position: 0,
            waiting: WakerSet::default(),
            #[cfg(feature = "http")]
            waiting_for_capacity: Vec::new(),
            driver: Arc::clone(&driver),
        };
        Self {
            state: Mutex::new(state),
            driver,
            principal,
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
        self.params.fetch_add(bytes, Ordering::AcqRel);
        ParamsReservation {
            bytes,
            limit,
            all: Arc::clone(&self.params),
            driver: Arc::clone(&self.driver),
        }
    }

    /// Wakes those that wait for room, once at least half of the output has been sent.
    pub(super) fn drained(&self, exchange: ExchangeId) {
        let mut state = self.lock();
        // Not after each byte, because all of them would try again.
        let output = state.outputs.at(exchange);
        if output.is_blocked() || output.tx.room() < output.tx.pending().len() {
            return;
        }
        drop(state);
        self.wake_waiting();
    }

    /// Waits for room. The future that waits keeps `place` and returns it with
    /// [`leave`](Self::leave).
    #[cfg(feature = "http")]
    pub(super) fn wait(&self, place: &mut Option<u64>, waker: &Waker) {
        self.lock().waiting.wait(place, waker);
    }

    /// Removes the waker of a future that stopped waiting.
    pub(super) fn leave(&self, place: u64) {
        self.lock().waiting.leave(place);
    }

    /// Waits until another request may be admitted. One waker for each task: a future that is
    /// polled often must not fill the list.
    #[cfg(feature = "http")]
    pub(super) fn wait_for_capacity(&self, waker: &Waker) {
        let waiting = &mut self.lock().waiting_for_capacity;
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    /// Wakes the requests that wait to be admitted.
    #[cfg(feature = "http")]
    pub(super) fn wake_for_capacity(&self) {
        let waiting = std::mem::take(&mut self.lock().waiting_for_capacity);
        waiting.into_iter().for_each(Waker::wake);
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
        #[cfg(feature = "http")]
        self.wake_for_capacity();
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

    /// Returns the server, and the output buffer for messages about a request.
    pub(super) fn at(&mut self, request: RequestHandle) -> (Server<'_>, &mut OutputBuffer) {
        #[cfg(feature = "http")]
        let exchange = self.server().exchange(request);
        #[cfg(not(feature = "http"))]
        let (exchange, _) = (ExchangeId::SESSION, request);
        (self.memory.server(self.config), self.outputs.at(exchange))
    }

    /// Returns the server, and the output buffer for the cancellation of a call.
    pub(super) fn at_call(&mut self, call: Call) -> (Server<'_>, &mut OutputBuffer) {
        #[cfg(feature = "http")]
        let exchange = self.server().exchange_of_call(call);
        #[cfg(not(feature = "http"))]
        let (exchange, _) = (ExchangeId::SESSION, call);
        (self.memory.server(self.config), self.outputs.at(exchange))
    }

    /// Returns whether there is room for any response of the core to a frame that cannot be
    /// processed twice.
    pub(super) fn has_room(&mut self) -> bool {
        let own = self.outputs.own();
        !own.is_blocked() && !own.tx.is_mid_frame() && own.tx.room() >= MIN_BUFFER
    }

    pub(super) fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        self.memory.server(self.config).next_event(now, messages, &mut self.outputs.own().tx)
    }

    /// As [`next_event`](Self::next_event), for the body of an HTTP exchange.
    #[cfg(feature = "http")]
    pub(super) fn next_exchange_event<'f>(
        &mut self,
        exchange: ExchangeId,
        now: Instant,
        messages: &mut Messages<'f>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        self.memory.server(self.config).next_event(now, messages, &mut self.outputs.at(exchange).tx)
    }

    /// Handles the next timeout, if one is due.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        if self.server().poll_timeout().is_none_or(|due| now < due) {
            return Ok(None);
        }
        #[cfg(feature = "http")]
        let exchange = self.server().due_exchange(now).unwrap_or(ExchangeId::SESSION);
        #[cfg(not(feature = "http"))]
        let exchange = ExchangeId::SESSION;
        self.memory.server(self.config).handle_timeout(now, &mut self.outputs.at(exchange).tx)
    }

    /// Notifies subscribers of changes, as far as there is room.
    pub(super) fn send_changes(&mut self) {
        while let Some(changes) = self.changes.first() {
            let mut change = changes.as_change().resume(self.position);
            let own = self.outputs.own();
            if own.is_blocked() {
                return;
            }
            let published = self.memory.server(self.config).publish(&mut change, &mut own.tx);
            self.position = change.position();
            match published {
                Ok(Remaining::More) => {}
                Err(SendError::Full) => return own.block(),
                Ok(Remaining::Done) | Err(_) => {
                    self.changes.remove(0);
                    self.position = 0;
                }
            }
        }
    }

    /// Returns whether no request or call is open, and no output is pending outside of exchanges.
    #[cfg(feature = "http")]
    pub(super) fn is_silent(&mut self) -> bool {
        self.server().open_requests() == 0
            && self.server().open_calls() == 0
            && self.outputs.own().tx.pending().is_empty()
    }

    pub(super) fn has_changes(&self) -> bool {
        !self.changes.is_empty()
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
        ConnectionInner::new(&app, TxBuffer::with_limit(Vec::new(), 1 << 20), None)
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
