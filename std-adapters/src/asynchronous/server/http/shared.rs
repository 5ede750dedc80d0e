//! A site behind a mutex, as exchanges and handlers share it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{self, Waker};
use std::time;

use mcp_sansio::{Change, Instant, Method, ServerEvent};
use mcp_sansio_engine::PeerAddress;
use mcp_sansio_engine::observer::cut;
use mcp_sansio_engine::site::{
    AuthorizationError, ExchangeKey, ForeignSession, Holder, OwnedHead, ServerKey, Site,
    SiteRequest, SiteStep, SiteTurn, UnknownEnvelope, Unpermitted,
};

use super::options::HttpOptions;
use super::places::{Counts, Held, Released};
use crate::asynchronous::server::admission::{FULL, Load, Slot};
use crate::asynchronous::server::app::Settings;
use crate::asynchronous::server::broadcast::{Receiver, Registration};
use crate::asynchronous::server::context::{ActiveRequest, HttpOrigin};
use crate::asynchronous::server::driver_waker::DriverWaker;
use crate::asynchronous::server::life::Work;
use crate::asynchronous::server::reply::{PendingResponse, UNCOUNTED};
use crate::asynchronous::server::source::{RequestSource, ServerCall, ServerState};
use crate::bus::BusReceiver;
use crate::lock::lock;
use crate::observer::{Denial, Disconnect, Event, Hooks, Telling, Transport, next_number};
use crate::panics::{Panic, caught};
use crate::runtime::timer::Clock;

pub(crate) struct Shared {
    pub(crate) state: Mutex<State>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) options: Arc<HttpOptions>,
    pub(crate) counts: Counts,
    /// Whether a connection does the work that is being caused: see [`Attended`].
    pub(crate) is_attended: AtomicBool,
    /// Wakes [`HttpServer::run`].
    pub(crate) driver: Arc<DriverWaker>,
    /// Bytes of bodies that handlers no longer keep.
    pub(crate) released: Sender<Released>,
    pub(crate) registration: OnceLock<Registration>,
}

/// The state behind the mutex, which is locked for one call, never while something is awaited.
pub(crate) struct State {
    pub(crate) site: Site<'static, PendingResponse>,
    /// Wakers of the exchanges that wait.
    pub(crate) exchanges: BTreeMap<ExchangeKey, Waker>,
    /// Sessions with requests, and servers whose handlers wait.
    pub(crate) servers: BTreeMap<ServerKey, ServerState>,
    pub(crate) work: VecDeque<Work<ServerKey>>,
    /// The next deadline of the site.
    pub(crate) until: Option<Instant>,
    /// When the driver wakes by itself.
    pub(crate) wakes_at: Option<Instant>,
    /// Whether the site has more steps to take.
    pub(crate) has_steps: bool,
    /// Requests whose scopes are to be checked, and whether one is being checked.
    pub(crate) unpermitted: VecDeque<Unpermitted>,
    pub(crate) is_checking: bool,
    /// When requests are cut off by a shutdown.
    pub(crate) closes_at: Option<Instant>,
    pub(crate) observed: Option<ObservedSessions>,
    /// Whether it tells other nodes of changes: one of the servers of an application does.
    pub(crate) announces: bool,
    pub(crate) released: mpsc::Receiver<Released>,
}

/// While it lives, a connection does the work that its calls cause, and the driver is not woken for
/// that.
pub(crate) struct Attended<'s>(&'s Shared);

impl<'s> Attended<'s> {
    pub(crate) fn new(shared: &'s Shared) -> Self {
        shared.is_attended.store(true, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        // The work was not taken.
        if self.0.is_attended.swap(false, Ordering::Relaxed) {
            self.0.driver.notify();
        }
    }
}

impl State {
    /// Takes back the bytes that requests have released. Returns whether there were any.
    pub(crate) fn take_released(&mut self) -> bool {
        let Self { site, released, .. } = self;
        let release = |(bytes, holder): Released| site.release_bytes(bytes, holder.as_ref());
        released.try_iter().map(release).count() > 0
    }

    /// Wakes a task when there is something to do for an exchange.
    pub(crate) fn watch(&mut self, key: ExchangeKey, cx: &task::Context<'_>) {
        let waker = self.exchanges.entry(key).or_insert_with(|| cx.waker().clone());
        waker.clone_from(cx.waker());
    }
}

/// Tells what was not told when the server ended.
impl Drop for State {
    fn drop(&mut self) {
        let Some(observed) = &self.observed else { return };
        for work in self.work.drain(..) {
            if let Work::Tell(telling) = work {
                telling(&observed.hooks);
            }
        }
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Makes a call, and then the steps that it has caused.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut State, Instant) -> R) -> R {
        let (mut state, now) = self.enter();
        let result = call(&mut state, now);
        self.leave(state, now);
        result
    }

    /// Locks the state, for calls at this time.
    pub(crate) fn enter(&self) -> (MutexGuard<'_, State>, Instant) {
        let state = self.lock();
        // Read while it is locked, so that it never goes back.
        (state, self.now())
    }

    /// Takes the steps that calls have caused, and unlocks the state. Scopes are checked where it
    /// is not locked, one request after the other: code of the application may use the server.
    pub(crate) fn leave<'s>(&'s self, mut state: MutexGuard<'s, State>, mut now: Instant) {
        for left in (0..CHECKS).rev() {
            state.take_released();
            let mut wakers = Wakers::default();
            self.take_steps(&mut state, now, &mut wakers);
            let (mut next, mut peer) = (None, None);
            if !state.is_checking {
                if left > 0 {
                    next = state.unpermitted.pop_front();
                    state.is_checking = next.is_some();
                    peer = next.as_ref().and_then(|it| state.site.peer_address(it.exchange()));
                } else if !state.unpermitted.is_empty() {
                    state.has_steps = true;
                    self.driver.notify();
                }
            }
            drop(state);
            wakers.wake();
            let Some(next) = next else { return };
            let result = caught(|| {
                let snapshot = self.settings.snapshot_for(next.principal().map(|it| &**it));
                let catalog = snapshot.as_ref().map(|snapshot| snapshot.catalog());
                self.options.access_control.scopes.check(catalog.as_ref(), &next)
            });
            // Scopes are compared by code of the application.
            let told = self
                .settings
                .is_observed()
                .then(|| denied(&result, peer, |denial| self.describe(denial, &next)));
            (state, now) = self.enter();
            let State { site, work, is_checking, .. } = &mut *state;
            *is_checking = false;
            work.extend(told.flatten().map(Work::Tell));
            site.permitted(now, next, self.options.result(result));
        }
    }

    /// Completes what is known of a request that was not permitted.
    fn describe(&self, denial: &mut Denial, request: &Unpermitted) {
        let scopes = &self.options.access_control.scopes;
        if let Some(principal) = request.principal() {
            denial.principal = Some(cut(&principal.subject));
            let missing = caught(|| scopes.missing(&denial.missing_scope, principal));
            denial.missing_scope = missing.unwrap_or_default();
        }
        if let Some(operation) = request.operations().next() {
            let name =
                operation.name().or_else(|| operation.params().as_json().get("uri")?.as_string());
            denial.method = cut(&operation.method());
            denial.name = name.map(|name| cut(&name)).unwrap_or_default();
        }
    }

    /// Takes steps of the site. After [`STEPS`] of them, others get the lock.
    pub(crate) fn take_steps(&self, state: &mut State, now: Instant, wakers: &mut Wakers) {
        let State { site, exchanges, servers, work, until, has_steps, unpermitted, .. } = state;
        let (observed, wakes_at) = (&mut state.observed, state.wakes_at);
        *has_steps = true;
        let is_attended = self.is_attended.load(Ordering::Relaxed);
        for _ in 0..STEPS {
            match site.next(now) {
                SiteStep::Event(event, turn) => {
                    let kept = self.event(&event, turn, servers, work, observed.as_mut());
                    if let Some((bytes, holder)) = kept {
                        site.keep_bytes(bytes, holder.as_ref());
                    }
                    // The connection begins the request, and goes on with its response.
                    if is_attended && !work.is_empty() {
                        return;
                    }
                }
                SiteStep::Permit(request) => unpermitted.push_back(request),
                SiteStep::Ready(exchange) => wakers.extend(exchanges.remove(&exchange)),
                SiteStep::Room(server) => {
                    let Some(found) = servers.get_mut(&server) else { continue };
                    wakers.extend(found.waiting.take());
                    if !found.input_requests.is_empty()
                        && let Some(mut turn) = site.turn(now, server)
                    {
                        found.input_requests.send(now, &mut turn);
                    }
                }
                SiteStep::Ended(server, how) => {
                    if let Some(mut found) = servers.remove(&server) {
                        found.input_requests.close();
                        wakers.extend(found.waiting.take());
                    }
                    work.push_back(Work::End(server));
                    if let Some(observed) = observed {
                        work.extend(observed.ended(server, how).map(Work::event));
                    }
                }
                SiteStep::Publish { topic, envelope } => {
                    if let Some(bus) = &self.options.bus {
                        bus.publish(topic, envelope);
                    }
                }
                SiteStep::Foreign(exchange, why) if self.settings.is_observed() => {
                    let peer = site.peer_address(exchange);
                    work.push_back(Work::Tell(foreign(why, peer)));
                }
                SiteStep::Wait(next) => {
                    let is_sooner = next.is_some_and(|next| wakes_at.is_none_or(|at| next < at));
                    (*until, *has_steps) = (next, false);
                    // Also what was there before: who has added it may not have told.
                    let has_work = !work.is_empty();
                    if !is_attended && (is_sooner || has_work) || site.is_over() {
                        self.driver.notify();
                    }
                    return;
                }
                // Exchanges check their credentials themselves.
                _ => {}
            }
        }
        self.driver.notify();
    }

    /// Handles an event. Returns the number of bytes of the body that are kept for its handler, and
    /// whose they are.
    fn event(
        &self,
        event: &ServerEvent<'_>,
        mut turn: SiteTurn<'_, PendingResponse>,
        servers: &mut BTreeMap<ServerKey, ServerState>,
        work: &mut VecDeque<Work<ServerKey>>,
        observed: Option<&mut ObservedSessions>,
    ) -> Option<(usize, Option<Holder>)> {
        let connection = observed.map(|observed| {
            let (connection, connected) = observed.connection(&turn);
            work.extend(connected.map(Work::event));
            (&observed.hooks, connection)
        });
        let server = turn.server_key();
        let request = match event {
            ServerEvent::Request(request) => request,
            ServerEvent::CallFinished { call, outcome } => {
                if let Some(found) = servers.get_mut(&server) {
                    found.input_requests.finish(*call, outcome);
                    found.input_requests.send(turn.now(), &mut turn);
                }
                return None;
            }
            _ => {
                let peer = turn.head().and_then(OwnedHead::peer_address);
                work.extend(Work::of(event, server, connection.map(|(_, number)| (number, peer))));
                return None;
            }
        };
        let (holder, limits) = (turn.holder(), &self.settings.limits);
        let limit = self.options.limit(self.options.max_handlers, holder.as_ref(), limits);
        let place = self.counts.handlers.take(holder.clone(), limit);
        let load = turn.is_session().then(|| {
            let found = servers.entry(server).or_default();
            &*found.load.get_or_insert_with(|| Load::new(&self.settings))
        });
        let (principal, head) = (turn.principal().cloned(), turn.head().cloned());
        let is_list = matches!(
            request.method,
            Method::ToolsList
                | Method::PromptsList
                | Method::ResourcesList
                | Method::ResourcesTemplatesList
        );
        let filters = is_list && principal.is_some() && !self.options.lists_unpermitted;
        let filter = filters.then(|| self.options.access_control.scopes.clone());
        let session = self.options.node.as_ref().and_then(|_| turn.session_number());
        let origin = (server, Some(HttpOrigin { server, principal, head, session, filter }));
        let (mut machine, tx) = turn.parts(request.handle);
        let mut kept = 0;
        let slot = place.ok_or(FULL).and_then(|place| {
            let mut slot = Slot::take(request, &machine, load, &self.driver)?;
            kept = if slot.bytes > UNCOUNTED { slot.bytes } else { 0 };
            slot.held = Some(Held::new(place, kept, &self.released));
            Ok(slot)
        });
        let admission = self.settings.admit(request, origin, &mut machine, tx, slot, connection);
        if let Some(next) = admission.work {
            work.push_back(next);
        }
        if let Some(response) = admission.response {
            turn.answer(request.handle, response);
        }
        (kept > 0).then_some((kept, holder))
    }
}

impl RequestSource for Shared {
    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn now(&self) -> Instant {
        clock().now()
    }

    fn answer(&self, request: &ActiveRequest, response: PendingResponse) {
        let Some(origin) = &request.origin else { return };
        let key = SiteRequest { server: origin.server, request: request.handle };
        self.with(|state, _| state.site.answer(key, response));
    }

    fn is_open(&self, request: &ActiveRequest) -> bool {
        let Some(origin) = &request.origin else { return false };
        let key = SiteRequest { server: origin.server, request: request.handle };
        self.lock().site.is_open(key)
    }

    fn with_server(&self, request: &ActiveRequest, call: &mut ServerCall<'_>) {
        let Some(&HttpOrigin { server, .. }) = request.origin.as_ref() else { return };
        self.with(|State { site, servers, .. }, now| {
            let Some(mut turn) = site.turn(now, server) else { return };
            let found = servers.entry(server).or_default();
            if call(found, &mut turn) {
                found.input_requests.send(now, &mut turn);
            }
            if !turn.is_session() && found.waiting.is_empty() && found.input_requests.is_empty() {
                servers.remove(&server);
            }
        });
    }

    fn release_connection(&self, request: &ActiveRequest) -> bool {
        let Some(origin) = &request.origin else { return false };
        self.with(|state, now| {
            let turn = state.site.turn(now, origin.server);
            turn.is_some_and(|mut turn| turn.release(request.handle))
        })
    }
}

impl Receiver for Shared {
    fn on_change(&self, change: &Change<'_>) {
        self.with(|State { site, announces, .. }, _| {
            site.publish(change);
            if *announces {
                site.announce(change);
            }
        });
    }

    fn wake(&self) {
        if self.settings.broadcaster.is_shutting_down() {
            let limit = self.settings.limits.shutdown_timeout;
            self.with(|State { site, closes_at, .. }, now| {
                site.shut_down(*closes_at.get_or_insert(now.saturating_add(limit)));
            });
        }
    }
}

impl BusReceiver for Shared {
    fn deliver(&self, envelope: &[u8]) {
        let task = self.with(|State { site, work, .. }, now| {
            let delivered = site.deliver(now, envelope);
            if delivered.is_err() && self.settings.is_observed() {
                let event = Event::FleetFailed { error: UnknownEnvelope::TEXT };
                work.push_back(Work::event(event));
            }
            delivered.ok().flatten()
        });
        if task.is_some() {
            self.settings.tasks.signal(task);
        }
    }

    fn missed(&self) {
        self.with(|state, _| state.site.missed());
        self.settings.tasks.signal(None);
    }
}

/// Returns the clock of all servers of the process, so that they can share principals.
pub(crate) fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(|| Clock(time::Instant::now()))
}

/// Wakers that are called after the mutex is unlocked. The first needs no allocation.
#[derive(Default)]
pub(crate) struct Wakers(Option<Waker>, Vec<Waker>);

impl Wakers {
    fn extend(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        for waker in wakers {
            match self.0 {
                None => self.0 = Some(waker),
                Some(_) => self.1.push(waker),
            }
        }
    }

    pub(crate) fn wake(self) {
        self.0.into_iter().chain(self.1).for_each(Waker::wake);
    }
}

/// Maximum number of requests whose scopes are checked in one call.
const CHECKS: usize = 16;
/// Maximum number of steps that are taken under one lock.
const STEPS: usize = 128;

// Sessions, as an observer sees them.

/// The sessions that an observer was told of. All is told later: where the mutex is not locked.
pub(crate) struct ObservedSessions {
    pub(crate) hooks: Hooks<'static>,
    /// Number and beginning of each.
    sessions: HashMap<ServerKey, (u64, time::Instant)>,
}

impl ObservedSessions {
    pub(crate) fn new(hooks: Hooks<'static>) -> Self {
        Self { hooks, sessions: HashMap::new() }
    }

    /// Returns the number of the connection of an event, and what has to be told if it is new.
    pub(crate) fn connection(
        &mut self,
        turn: &SiteTurn<'_, PendingResponse>,
    ) -> (u64, Option<Event<'static>>) {
        if !turn.is_session() {
            return (0, None);
        }
        let mut connected = None;
        let (number, _) = *self.sessions.entry(turn.server_key()).or_insert_with(|| {
            let (connection, transport) = (next_number(), Transport::Http);
            let peer = turn.head().and_then(OwnedHead::peer_address);
            connected = Some(Event::Connected { connection, transport, peer });
            (connection, time::Instant::now())
        });
        (number, connected)
    }

    /// Returns what has to be told of the end of a session.
    pub(crate) fn ended(
        &mut self,
        server: ServerKey,
        how: Disconnect<'static>,
    ) -> Option<Event<'static>> {
        self.sessions.remove(&server).map(|session| disconnected(session, how))
    }
}

/// Returns what has to be told of a session of the fleet that was not found.
pub(crate) fn foreign(why: ForeignSession, peer: Option<PeerAddress>) -> Telling {
    let mut denial = Denial::default();
    (denial.status, denial.error, denial.peer) = (404, cut(&why), peer);
    Box::new(move |hooks| hooks.tell(Event::Denied { denial: &denial }))
}

/// Returns what has to be told of a check that a request did not pass. `complete` adds to what is
/// known of it.
pub(crate) fn denied<T>(
    result: &Result<Result<T, AuthorizationError>, Panic>,
    peer: Option<PeerAddress>,
    complete: impl FnOnce(&mut Denial),
) -> Option<Telling> {
    let error = match result {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => error,
        Err(Panic(text)) => {
            let panic = Panic(text.clone());
            return Some(Box::new(move |hooks| hooks.panicked(&panic)));
        }
    };
    let mut denial = Denial::default();
    (denial.status, denial.error, denial.peer) = (error.status(), cut(error), peer);
    if error.status() == 403 {
        denial.missing_scope = error.wanted_scope().map(|scope| cut(&scope)).unwrap_or_default();
    }
    complete(&mut denial);
    Some(Box::new(move |hooks| hooks.tell(Event::Denied { denial: &denial })))
}

fn disconnected(
    (connection, since): (u64, time::Instant),
    how: Disconnect<'static>,
) -> Event<'static> {
    Event::Disconnected { connection, how, after: since.elapsed() }
}

impl Drop for ObservedSessions {
    fn drop(&mut self) {
        for session in self.sessions.values() {
            self.hooks.tell(disconnected(*session, Disconnect::ShutDown));
        }
    }
}
