//! A site behind a mutex, and its two ends: exchanges and handlers.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{self, Poll, Waker};
use std::time;

use mcp_sansio::http::Fields;
use mcp_sansio::http::site::{
    ExchangeKey, OwnedHead, ServerKey, Site, SiteRequest, SiteStep, SiteTurn,
};
use mcp_sansio::{
    Instant, OwnedJson, Request, RpcError, SendError, ServerEvent, ToolError, TxBuffer,
};

use super::super::admission::Admission;
use super::super::app::{App, Settings};
use super::super::broadcast::{OwnedChange, Receiver, Registration};
use super::super::context::{ActiveRequest, Context, HttpOrigin};
use super::super::driver_waker::{DriverWaker, WakerSet};
use super::super::inner::ParamsReservation;
use super::super::input::{Destination, InputRequests, Outputs};
use super::super::pending_responses::PendingResponse;
use super::super::reply::IntoReply;
use super::super::runner::{Job, Runner};
use super::super::source::{Attempt, RequestSource};
use super::exchange::HttpExchange;
use super::options::HttpOptions;
use crate::asynchronous::timer::{LazyTimer, later};
use crate::rounds::response;

/// An application over HTTP without sockets, for any HTTP library: it takes exchanges from any
/// thread, and runs handlers in [`run`](Self::run). Clones are the same server.
///
/// ```
/// # use mcp_sansio::{ServerConfig, ServerFeatures, types::Implementation};
/// # use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
/// use mcp_sansio_adapters::asynchronous::http::{HttpOptions, HttpServer};
///
/// # static CONFIG: ServerConfig =
/// #     ServerConfig::new(Implementation::new("x", "1"), ServerFeatures::TOOLS);
/// # async fn greet(ctx: Context) -> HandlerResult { Err("".into()) }
/// # fn main() -> std::io::Result<()> { async_io::block_on(async {
/// let app = App::new(&CONFIG, greet);
/// let server = HttpServer::new(&app, HttpOptions::new())?;
/// let requests = async {
///     let fields = [("Host", "localhost")]; // of any HTTP library
///     let mut exchange = server.exchange("GET", "/mcp", fields);
///     let body: [&[u8]; 0] = [];
///     for piece in body {
///         exchange.feed(piece).await;
///     }
///     exchange.end_body();
///     assert_eq!(exchange.response().await.status, 405);
///     while let Some(piece) = exchange.next_piece().await {
///         println!("{}", String::from_utf8_lossy(&piece.unwrap()));
///     }
///     app.broadcaster().shut_down();
/// };
/// futures_lite::future::zip(server.run(&app), requests).await;
/// # Ok(()) }) }
/// ```
#[derive(Clone)]
pub struct HttpServer(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    settings: Arc<Settings>,
    options: HttpOptions,
    begun: time::Instant,
    /// Wakes [`HttpServer::run`].
    driver: Arc<DriverWaker>,
    /// Bytes of bodies that handlers no longer keep.
    released: Arc<AtomicUsize>,
    registration: OnceLock<Registration>,
}

/// What the mutex protects. It is locked for one call, never while something is awaited.
struct State {
    site: Site<'static, PendingResponse>,
    /// Wakers of the exchanges that wait.
    exchanges: HashMap<ExchangeKey, Waker>,
    /// Sessions with requests, and servers whose handlers wait.
    servers: HashMap<ServerKey, ServerState>,
    /// For the runner.
    work: VecDeque<Work>,
    /// The next deadline of the site.
    until: Option<Instant>,
}

#[derive(Default)]
struct ServerState {
    params: Arc<AtomicUsize>,
    /// Futures that wait for room.
    waiting: WakerSet,
    input_requests: InputRequests,
}

enum Work {
    Begin(ServerKey, Arc<ActiveRequest>),
    Cancel(SiteRequest),
    End(ServerKey),
}

impl HttpServer {
    /// Creates a server for an application, of which it keeps everything but the handler.
    ///
    /// # Errors
    /// If the operating system has no random numbers, which ids of sessions need.
    pub fn new<H>(app: &App<H>, options: HttpOptions) -> io::Result<Self> {
        getrandom::fill(&mut [0; 16]).map_err(no_random_numbers)?;
        let settings = Arc::clone(&app.settings);
        let random = || {
            let mut bytes = [0; 16];
            // The generator of an operating system does not fail after the first time.
            let _ = getrandom::fill(&mut bytes);
            bytes
        };
        let mut site = Site::new(settings.config, options.site_options(&settings), random);
        for (path, json) in options.documents()? {
            site.add_document(path, json);
        }
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                site,
                exchanges: HashMap::new(),
                servers: HashMap::new(),
                work: VecDeque::new(),
                until: None,
            }),
            settings,
            options,
            begun: time::Instant::now(),
            driver: Arc::default(),
            released: Arc::default(),
            registration: OnceLock::new(),
        });
        let receiver: Weak<dyn Receiver> = Arc::<Shared>::downgrade(&shared);
        let registration = shared.settings.broadcaster.register_uncounted(receiver);
        let _ = shared.registration.set(registration);
        // It may be shutting down already.
        shared.wake();
        Ok(Self(shared))
    }

    /// Begins the exchange of a request with its head, as parsed by any HTTP library.
    pub fn exchange(
        &self,
        method: &str,
        target: &str,
        fields: impl Fields + Send + 'static,
    ) -> HttpExchange {
        self.open(OwnedHead::new(method, target, fields))
    }

    pub(super) fn open(&self, head: OwnedHead) -> HttpExchange {
        let key = self.with(|site, now| site.open(now, head));
        HttpExchange::new(self.clone(), key)
    }

    /// Runs handlers, and handles deadlines, until the application has
    /// [shut down](super::super::Broadcaster::shut_down). Call it once, with the application of
    /// [`new`](Self::new).
    ///
    /// The future is `Send` if those of the handlers are. Without it, requests get no response.
    ///
    /// Not cancel safe: dropping it drops all handlers.
    pub async fn run<H, F>(&self, app: &App<H>)
    where
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let mut runner = Runner::new();
        let mut timer = LazyTimer::new();
        poll_fn(|cx| {
            for _ in 0..ROUNDS {
                self.0.driver.begin_round();
                match self.round(app, &mut runner, &mut timer, cx) {
                    Poll::Ready(true) => return Poll::Ready(()),
                    Poll::Ready(false) => {}
                    Poll::Pending if self.0.driver.register(cx.waker()) => return Poll::Pending,
                    Poll::Pending => {}
                }
            }
            // Yields to other tasks.
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// One pass. `Ready(true)` if everything has ended, `Pending` if there is nothing to do.
    fn round<H, F>(
        &self,
        app: &App<H>,
        runner: &mut Runner<ServerKey, F>,
        timer: &mut LazyTimer,
        cx: &mut task::Context<'_>,
    ) -> Poll<bool>
    where
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let (work, until, is_over) = {
            let mut state = self.0.lock();
            let is_over = state.site.is_over() && state.site.exchanges() == 0;
            (std::mem::take(&mut state.work), state.until, is_over)
        };
        let mut moved = !work.is_empty();
        for work in work {
            match work {
                Work::Begin(server, request) => {
                    let source = Arc::<Shared>::clone(&self.0);
                    runner.admit(app, &server, Job { request, source });
                }
                Work::Cancel(request) => runner.cancel(app, &request.server, request.request),
                Work::End(server) => runner.end(&app.settings, &server),
            }
        }
        moved |= runner.run(app, cx, |server, request, response| {
            let request = SiteRequest { server: *server, request };
            self.with(|site, _| site.answer(request, response));
        });
        if let Some(due) = until.map(|until| self.0.real_time(until))
            && timer.poll(cx, due)
        {
            self.with(|_, _| ());
            moved = true;
        }
        if self.0.released.load(Ordering::Relaxed) > 0 {
            self.with(|_, _| ());
        }
        if is_over && !moved {
            return Poll::Ready(true);
        }
        if moved { Poll::Ready(false) } else { Poll::Pending }
    }

    /// Makes a call, and then the steps that it has caused.
    pub(super) fn with<R>(
        &self,
        call: impl FnOnce(&mut Site<'static, PendingResponse>, Instant) -> R,
    ) -> R {
        self.0.with(|state, now| call(&mut state.site, now))
    }

    /// As [`with`](Self::with), for an exchange that waits until `call` returns something.
    pub(super) fn poll_exchange<R>(
        &self,
        key: ExchangeKey,
        cx: &mut task::Context<'_>,
        call: impl FnOnce(&mut Site<'static, PendingResponse>, Instant) -> Option<R>,
    ) -> Poll<R> {
        self.0.with(|state, now| {
            // Before the steps, so that no change is missed.
            state.exchanges.entry(key).or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
            call(&mut state.site, now).map_or(Poll::Pending, Poll::Ready)
        })
    }

    pub(super) fn close(&self, key: ExchangeKey) {
        self.0.with(|state, now| {
            state.exchanges.remove(&key);
            state.site.close(now, key);
        });
    }

    pub(super) fn options(&self) -> &HttpOptions {
        &self.0.options
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.0.settings
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Instant {
        Instant::from_millis(u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn real_time(&self, at: Instant) -> time::Instant {
        later(self.begun, time::Duration::from_millis(at.as_millis()))
    }

    fn with<R>(&self, call: impl FnOnce(&mut State, Instant) -> R) -> R {
        let mut state = self.lock();
        // Read while it is locked, so that it never goes back.
        let now = self.now();
        let released = self.released.swap(0, Ordering::Relaxed);
        if released > 0 {
            state.site.release_bytes(released);
        }
        let result = call(&mut state, now);
        let mut wakers = Wakers::default();
        self.take_steps(&mut state, now, &mut wakers);
        drop(state);
        wakers.wake();
        result
    }

    /// Takes all steps of the site.
    fn take_steps(&self, state: &mut State, now: Instant, wakers: &mut Wakers) {
        let State { site, exchanges, servers, work, until } = state;
        let had_work = !work.is_empty();
        loop {
            match site.next(now) {
                SiteStep::Event(event, turn) => {
                    let kept = self.event(&event, turn, servers, work);
                    site.keep_bytes(kept);
                }
                SiteStep::Authorize { exchange, head } => {
                    let result = self.options.check(&self.settings, &head);
                    site.authorized(now, exchange, result);
                }
                SiteStep::Ready(exchange) => wakers.extend(exchanges.remove(&exchange)),
                SiteStep::Room(server) => {
                    let Some(found) = servers.get_mut(&server) else { continue };
                    wakers.extend(found.waiting.take());
                    found.send_input_requests(site, server, now);
                }
                SiteStep::Ended(server) => {
                    if let Some(mut found) = servers.remove(&server) {
                        found.input_requests.close();
                        wakers.extend(found.waiting.take());
                    }
                    work.push_back(Work::End(server));
                }
                SiteStep::Wait(next) => {
                    let is_sooner = next.is_some_and(|next| until.is_none_or(|until| next < until));
                    *until = next;
                    if is_sooner || !had_work && !work.is_empty() || site.is_over() {
                        self.driver.notify();
                    }
                    return;
                }
                _ => {}
            }
        }
    }

    /// Handles an event. Returns the number of bytes of the body that are kept for its handler.
    fn event(
        &self,
        event: &ServerEvent<'_>,
        mut turn: SiteTurn<'_, PendingResponse>,
        servers: &mut HashMap<ServerKey, ServerState>,
        work: &mut VecDeque<Work>,
    ) -> usize {
        self.settings.observe(event);
        match event {
            ServerEvent::Request(request) => return self.begin(request, turn, servers, work),
            ServerEvent::RequestCancelled { request, .. }
            | ServerEvent::RequestTimedOut { request } => {
                work.push_back(Work::Cancel(turn.request_key(*request)));
            }
            ServerEvent::CallFinished { call, outcome } => {
                if let Some(found) = servers.get_mut(&turn.server_key()) {
                    found.input_requests.finish(*call, response(outcome));
                    found.input_requests.send(turn.now(), &mut turn);
                }
            }
            // The core has responded to the rest.
            _ => {}
        }
        0
    }

    fn begin(
        &self,
        request: &Request<'_>,
        mut turn: SiteTurn<'_, PendingResponse>,
        servers: &mut HashMap<ServerKey, ServerState>,
        work: &mut VecDeque<Work>,
    ) -> usize {
        let server = turn.server_key();
        let limit = self.settings.max_params;
        let params = turn.is_session().then(|| &servers.entry(server).or_default().params);
        let bytes = request.params.raw().as_str().len();
        let origin =
            HttpOrigin { server, principal: turn.principal().cloned(), head: turn.head().cloned() };
        let (mut machine, tx) = turn.parts(request.handle);
        if params.is_some_and(|params| params.load(Ordering::Acquire) >= limit)
            && machine.open_requests() > 1
        {
            let error = RpcError::internal("Too many requests in flight");
            turn.answer(request.handle, PendingResponse::Refused(error));
            return 0;
        }
        let kept = if bytes > UNCOUNTED { bytes } else { 0 };
        let params = ParamsReservation::new(bytes, params, limit, &self.driver)
            .with_body(kept, &self.released);
        match self.settings.admit(request, Some(origin), &mut machine, tx, params) {
            Admission::Responded => {}
            Admission::Response { response, .. } => turn.answer(request.handle, response),
            Admission::Handler(request) => work.push_back(Work::Begin(server, request)),
        }
        kept
    }

    /// Makes a call with the server of a request. Nothing happens after it has ended.
    fn with_server<R>(
        &self,
        request: &ActiveRequest,
        call: impl FnOnce(&mut ServerState, SiteTurn<'_, PendingResponse>) -> R,
    ) -> Option<R> {
        let server = request.origin.as_ref()?.server;
        self.with(|State { site, servers, .. }, now| {
            let turn = site.turn(now, server)?;
            let found = servers.entry(server).or_default();
            let is_session = turn.is_session();
            let result = call(found, turn);
            if !is_session && found.waiting.is_empty() && found.input_requests.is_empty() {
                servers.remove(&server);
            }
            Some(result)
        })
    }
}

impl ServerState {
    fn send_input_requests(
        &mut self,
        site: &mut Site<'static, PendingResponse>,
        server: ServerKey,
        now: Instant,
    ) {
        if !self.input_requests.is_empty()
            && let Some(mut turn) = site.turn(now, server)
        {
            self.input_requests.send(now, &mut turn);
        }
    }
}

impl Outputs for SiteTurn<'_, PendingResponse> {
    fn send(&mut self, to: Destination, attempt: &mut Attempt<'_>) -> Result<(), SendError> {
        let (mut server, tx) = match to {
            Destination::Request(request) => self.parts(request),
            Destination::Call(call) => self.parts_of_call(call),
        };
        let sent = attempt(&mut server, tx);
        if sent == Err(SendError::Full) {
            match to {
                Destination::Request(request) => self.await_room(request),
                Destination::Call(call) => self.await_room_of_call(call),
            }
        }
        sent
    }
}

impl RequestSource for Shared {
    fn now(&self) -> Instant {
        self.now()
    }

    fn is_open(&self, request: &ActiveRequest) -> bool {
        let Some(origin) = &request.origin else { return false };
        let key = SiteRequest { server: origin.server, request: request.handle };
        self.lock().site.is_open(key)
    }

    fn poll_send(
        &self,
        cx: &mut task::Context<'_>,
        request: &ActiveRequest,
        place: &mut Option<u64>,
        attempt: &mut Attempt<'_>,
    ) -> Poll<Result<(), SendError>> {
        let sent = self.with_server(request, |found, mut turn| {
            let (mut server, tx) = turn.parts(request.handle);
            let sent = attempt(&mut server, tx);
            if sent == Err(SendError::Full) {
                turn.await_room(request.handle);
                found.waiting.wait(place, cx.waker());
            }
            sent
        });
        match sent {
            Some(Err(SendError::Full)) => Poll::Pending,
            Some(sent) => Poll::Ready(sent),
            None => {
                // A server without the request finds that it is gone.
                let mut gone = self.settings.server_state();
                let mut tx = TxBuffer::with_limit(Vec::new(), 0);
                Poll::Ready(attempt(&mut gone.server(self.settings.config), &mut tx))
            }
        }
    }

    fn leave(&self, request: &ActiveRequest, place: u64) {
        self.with_server(request, |found, _| found.waiting.leave(place));
    }

    fn poll_input(
        &self,
        cx: &mut task::Context<'_>,
        request: &ActiveRequest,
        input_request: Option<OwnedJson>,
        place: &mut Option<u64>,
    ) -> Poll<Result<OwnedJson, ToolError<'static>>> {
        self.with_server(request, |found, mut turn| {
            if let Some(input_request) = input_request {
                *place = Some(found.input_requests.begin(request.handle, input_request));
                found.input_requests.send(turn.now(), &mut turn);
            }
            match *place {
                Some(place) => found.input_requests.poll(place, cx),
                None => Poll::Pending,
            }
        })
        .unwrap_or(Poll::Ready(Err(ToolError::GONE)))
    }

    fn leave_input(&self, request: &ActiveRequest, place: u64) {
        self.with_server(request, |found, mut turn| {
            let is_open = |call| turn.parts_of_call(call).0.is_call_open(call);
            if found.input_requests.leave(place, is_open) {
                found.input_requests.send(turn.now(), &mut turn);
            }
        });
    }

    fn release_connection(&self, request: &ActiveRequest) -> bool {
        let released = self.with_server(request, |_, mut turn| turn.release(request.handle));
        released.unwrap_or(false)
    }
}

impl Receiver for Shared {
    fn on_change(&self, change: OwnedChange) {
        self.with(|state, _| state.site.publish(&change.as_change()));
    }

    fn wake(&self) {
        if self.settings.broadcaster.is_shutting_down() {
            let limit = self.settings.shutdown_timeout;
            self.with(|state, now| state.site.shut_down(now.saturating_add(limit)));
        }
    }
}

/// Wakers that are called after the mutex is unlocked. The first needs no allocation.
#[derive(Default)]
struct Wakers(Option<Waker>, Vec<Waker>);

impl Wakers {
    fn extend(&mut self, wakers: impl IntoIterator<Item = Waker>) {
        for waker in wakers {
            match self.0 {
                None => self.0 = Some(waker),
                Some(_) => self.1.push(waker),
            }
        }
    }

    fn wake(self) {
        self.0.into_iter().chain(self.1).for_each(Waker::wake);
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpServer").field(&self.0.lock().site).finish()
    }
}

fn no_random_numbers(error: getrandom::Error) -> io::Error {
    io::Error::other(format!("no random numbers for ids of sessions: {error}"))
}

/// Rounds in a row before the task yields.
const ROUNDS: usize = 16;
/// Maximum length of parameters that do not count in the budget of bodies, in bytes.
const UNCOUNTED: usize = 4 << 10;
