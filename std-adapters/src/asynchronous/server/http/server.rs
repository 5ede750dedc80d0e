//! An HTTP server without sockets.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::mem::replace;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{self, Poll, Waker};
use std::{fmt, io, time};

use futures_lite::future;
use mcp_sansio::{
    Frame, Instant, Messages, OwnedJson, RequestHandle, Revision, ServerEvent, TxBuffer,
};
use mcp_sansio_engine::internal::FleetStep;
use mcp_sansio_engine::site::{
    ExchangeKey, OwnedHead, Principal, ServerKey, Site, SiteNode, SiteRequest, with_number,
};

use super::exchange::HttpExchange;
use super::options::HttpOptions;
use super::places::Counts;
use super::shared::{Attended, ObservedSessions, Shared, State, Wakers, clock};
use crate::asynchronous::server::admission::Slot;
use crate::asynchronous::server::app::{App, Settings};
use crate::asynchronous::server::broadcast::Receiver;
use crate::asynchronous::server::context::{Context, HttpOrigin, parts_of_owner};
use crate::asynchronous::server::driver_waker::DriverWaker;
use crate::asynchronous::server::life::{Live, Requests, Work, live};
use crate::asynchronous::server::reply::{IntoReply, PendingResponse};
use crate::asynchronous::server::source::RequestSource;
use crate::asynchronous::server::task_hub::NewTask;
use crate::bus::BusReceiver;
use crate::lock::lock;
use crate::observer::Event;
use crate::runtime::timer::LazyTimer;
use crate::store::TaskRecord;

/// An application over HTTP without sockets, for any HTTP library: it takes exchanges from any
/// thread, and runs handlers in [`run`](Self::run). Clones are the same server.
///
#[cfg_attr(feature = "smol", doc = "```")]
#[cfg_attr(not(feature = "smol"), doc = "```ignore")]
/// # use mcp_sansio::{ServerConfig, ServerFeatures, types::Implementation};
/// # use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};
/// use mcp_sansio_adapters::asynchronous::http::{HttpOptions, HttpServer, OwnedHead};
///
/// # static CONFIG: ServerConfig =
/// #     ServerConfig::new(Implementation::new("x", "1"), ServerFeatures::TOOLS);
/// # async fn greet(ctx: Context) -> HandlerResult { Err("".into()) }
/// # fn main() -> std::io::Result<()> { async_io::block_on(async {
/// let app = App::new(&CONFIG, greet);
/// let server = HttpServer::new(&app, HttpOptions::new())?;
/// let requests = async {
///     let fields = [("Host", "localhost")]; // of any HTTP library
///     let mut exchange = server.exchange(OwnedHead::new("GET", "/mcp", fields));
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
pub struct HttpServer(pub(super) Arc<Shared>);

impl HttpServer {
    /// Creates a server for an application, of which it keeps everything but the handler.
    ///
    /// # Errors
    /// If the operating system has no random numbers, which ids of sessions need.
    pub fn new<H>(app: &App<H>, options: HttpOptions) -> io::Result<Self> {
        let write_timeout = options.read_timeout;
        Self::create(app, &Arc::new(options), write_timeout, Counts::default(), (0, 1))
    }

    /// Creates one of several servers that have their limits in common.
    pub(crate) fn create<H>(
        app: &App<H>,
        options: &Arc<HttpOptions>,
        write_timeout: time::Duration,
        counts: Counts,
        (shard, shards): (u32, u32),
    ) -> io::Result<Self> {
        getrandom::fill(&mut [0; 16]).map_err(|error| {
            io::Error::other(format!("no random numbers for ids of sessions: {error}"))
        })?;
        let settings = Arc::clone(&app.settings);
        let random = move || with_number(random_bytes(), shard, shards);
        let options = Arc::clone(options);
        let site_options = options.site_options(&settings, write_timeout);
        let mut site = Site::new(settings.config, site_options, random);
        if shards > 1 {
            site = site.counts(counts.of_site());
        }
        if let Some(name) = &options.node {
            let keys = settings.keys.clone().ok_or_else(|| invalid(NO_KEYS))?;
            let clock = || time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            let node = SiteNode::new(name, keys, clock).map_err(invalid)?.shard(shard);
            site = site.node(if options.bus.is_some() { node.on_bus() } else { node });
            if shard == 0 {
                settings.tasks.join(name, random_bytes());
            }
        } else if options.bus.is_some() {
            return Err(invalid(NO_NODE));
        }
        for (path, json) in options.documents()? {
            site.add_document(path, json);
        }
        let observed = settings.hooks().map(ObservedSessions::new);
        let (sender, released) = channel();
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                site,
                exchanges: BTreeMap::new(),
                servers: BTreeMap::new(),
                work: VecDeque::new(),
                until: None,
                wakes_at: None,
                has_steps: false,
                unpermitted: VecDeque::new(),
                is_checking: false,
                closes_at: None,
                observed,
                announces: shard == 0,
                released,
            }),
            settings,
            options,
            counts,
            is_attended: AtomicBool::new(false),
            driver: Arc::default(),
            released: sender,
            registration: OnceLock::new(),
        });
        let receiver: Weak<dyn Receiver> = Arc::<Shared>::downgrade(&shared);
        let registration = shared.settings.broadcaster.register(receiver, None);
        let _ = shared.registration.set(registration);
        if let Some(bus) = &shared.options.bus {
            let receiver: Weak<dyn BusReceiver> = Arc::<Shared>::downgrade(&shared);
            bus.join(receiver);
        }
        // It may be shutting down already.
        shared.wake();
        Ok(Self(shared))
    }

    /// Begins the exchange of a request with its head, as parsed by any HTTP library. Never fails:
    /// a request that is not accepted, or one beyond [`HttpOptions::max_exchanges`] (503), has its
    /// response at once. If the head has the [address](OwnedHead::peer) from which its request
    /// comes, the requests of one address have a
    /// [share](crate::asynchronous::Limits::address_share).
    pub fn exchange(&self, head: OwnedHead) -> HttpExchange {
        self.open(head).0
    }

    /// Begins an exchange. Returns whether its body is wanted already.
    pub(crate) fn open(&self, head: OwnedHead) -> (HttpExchange, bool) {
        self.open_with(head, |site, now, head, principal| {
            let key = site.open(now, head, principal);
            (key, site.wants_body(key))
        })
    }

    /// Begins an exchange of which the whole body was received, and does the work that it causes.
    /// Then `output` moves its output, and returns whether that is all of it. Returns how many
    /// bytes of the body were taken, too: the rest is to be fed.
    pub(crate) fn serve_whole<M: Live>(
        &self,
        table: &Mutex<Table<M>>,
        head: OwnedHead,
        body: &[u8],
        output: impl FnOnce(&mut Site<'static, PendingResponse>, Instant, ExchangeKey) -> bool,
    ) -> (HttpExchange, usize) {
        let _attended = Attended::new(&self.0);
        let (mut exchange, mut fed) = self.open_with(head, |site, now, head, principal| {
            site.open_whole(now, head, principal, body)
        });
        // A check of credentials that does not wait ends here.
        if fed < body.len() && exchange.drive(&mut task::Context::from_waker(Waker::noop())) {
            fed = self.with(|site, now| site.feed_whole(now, exchange.key, body));
        }
        let table = &mut *lock(table);
        self.work(table);
        if fed == body.len() {
            exchange.is_closed = self.answer(table, |state, now| {
                let is_over = output(&mut state.site, now, exchange.key);
                if is_over {
                    state.site.close(now, exchange.key);
                }
                is_over
            });
        }
        (exchange, fed)
    }

    fn open_with<R>(
        &self,
        head: OwnedHead,
        open: impl FnOnce(
            &mut Site<'static, PendingResponse>,
            Instant,
            OwnedHead,
            Option<Arc<Principal>>,
        ) -> (ExchangeKey, R),
    ) -> (HttpExchange, R) {
        let Shared { options, settings, .. } = &*self.0;
        let credentials = options.credentials(&head);
        let known = credentials.as_ref().and_then(|credentials| options.known(credentials));
        let bus = options.bus.as_ref();
        let bus = bus.filter(|_| options.health.is_some_and(|path| path == head.as_head().path()));
        let is_connected = bus.map(|bus| bus.is_connected());
        let (mut state, now) = self.0.enter();
        if let Some(is_connected) = is_connected {
            state.site.set_connected(is_connected);
        }
        let (key, opened) = open(&mut state.site, now, head, known);
        if let Some(credentials) = credentials
            && state.site.awaits_authorization(key)
        {
            // There are no steps to take before the result.
            drop(state);
            let check = options.check(credentials, &settings.limits);
            return (HttpExchange::new(self.clone(), key, check), opened);
        }
        self.0.leave(state, now);
        (HttpExchange::new(self.clone(), key, None), opened)
    }

    /// Runs handlers, and handles deadlines, until the application has [shut
    /// down](crate::asynchronous::Broadcaster::shut_down) and all exchanges are dropped, at most
    /// one second after
    /// [`Limits::shutdown_timeout`](crate::asynchronous::Limits::shutdown_timeout). Call it once,
    /// with the application of [`new`](Self::new).
    ///
    /// The future is `Send` if those of the handlers are. Unless it is polled, handlers do not run.
    ///
    /// Not cancel safe: dropping it drops all handlers.
    pub async fn run<H, F>(&self, app: &App<H>)
    where
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let source = self.source();
        let live = |request| live(app, request, Arc::clone(&source));
        self.drive(&Mutex::new(Table::new(live))).await;
    }

    /// Returns the way of handlers to their clients.
    pub(crate) fn source(&self) -> Arc<dyn RequestSource> {
        Arc::<Shared>::clone(&self.0)
    }

    /// As [`run`](Self::run), with a table that connections have, too.
    pub(crate) async fn drive<M: Live>(&self, table: &Mutex<Table<M>>) {
        let mut timer = LazyTimer::new();
        let mut ends_at = None;
        let driving = poll_fn(|cx| {
            self.0
                .driver
                .poll_rounds(cx, |cx| self.round(&mut lock(table), (&mut timer, &mut ends_at), cx))
        });
        if self.0.options.node.is_some() && self.0.lock().announces {
            return future::or(driving, self.share_tasks(table)).await;
        }
        driving.await;
    }

    /// One pass. Returns `Some` if everything has ended.
    fn round<M: Live>(
        &self,
        table: &mut Table<M>,
        (timer, ends_at): (&mut LazyTimer, &mut Option<time::Instant>),
        cx: &mut task::Context<'_>,
    ) -> Poll<Option<()>> {
        let (until, has_steps, is_over) = {
            let mut state = self.0.lock();
            let now = self.0.now();
            // A connection that takes no output keeps its exchange: not for ever.
            let ends_at = state.closes_at.map(|at| at.saturating_add(GRACE));
            let is_late = ends_at.is_some_and(|at| at <= now);
            let is_over = state.site.is_over() && (is_late || state.site.exchanges() == 0);
            let until = [state.until, ends_at.filter(|_| !is_late)].into_iter().flatten().min();
            let wakes_at = state.wakes_at.filter(|at| *at > now);
            state.wakes_at = wakes_at.into_iter().chain(until).min();
            (until, state.take_released() || state.has_steps, is_over)
        };
        let mut moved = self.work(table);
        let Table { requests, responses, .. } = table;
        moved |= requests.poll(cx, |server, request, response| {
            responses.push((server, request, response));
        });
        if !responses.is_empty() {
            self.answer(table, |_, _| ());
        }
        let requests = &mut table.requests;
        let ends_at = requests.limit_tasks(&self.0.settings, ends_at);
        let is_over = is_over && requests.is_empty();
        let until = until.map(|until| clock().real_time(until));
        let due = until.into_iter().chain(ends_at).min();
        if due.is_some_and(|due| timer.poll(cx, due)) || has_steps {
            self.with(|_, _| ());
            moved = true;
        }
        match moved {
            true => Poll::Ready(None),
            false if is_over => Poll::Ready(Some(())),
            false => Poll::Pending,
        }
    }

    /// Makes a call of a connection, and does the work that it causes: a request begins in the task
    /// of its connection. Without a table the driver does it, which may be on another thread.
    pub(crate) fn attend<M: Live, R>(
        &self,
        table: Option<&Mutex<Table<M>>>,
        call: impl FnOnce() -> R,
    ) -> R {
        let Some(table) = table else { return call() };
        let _attended = Attended::new(&self.0);
        let result = call();
        let table = &mut *lock(table);
        self.work(table);
        self.answer(table, |_, _| ());
        result
    }

    /// Does the work that calls of the site have caused. Returns whether there was any.
    fn work<M: Live>(&self, table: &mut Table<M>) -> bool {
        std::mem::swap(&mut self.0.lock().work, &mut table.work);
        let had_any = !table.work.is_empty();
        for work in table.work.drain(..) {
            table.responses.extend(table.requests.work(work, &self.0.settings));
        }
        had_any
    }

    /// Hands in the responses that there are, and makes a call.
    fn answer<M: Live, R>(
        &self,
        table: &mut Table<M>,
        call: impl FnOnce(&mut State, Instant) -> R,
    ) -> R {
        let (mut state, now) = self.0.enter();
        let mut wakers = Wakers::default();
        if !table.responses.is_empty() {
            for (server, request, response) in table.responses.drain(..) {
                state.site.answer(SiteRequest { server, request }, response);
            }
            self.0.take_steps(&mut state, now, &mut wakers);
        }
        let result = call(&mut state, now);
        // The driver does the rest, timers included.
        self.0.is_attended.store(false, Ordering::Relaxed);
        self.0.leave(state, now);
        wakers.wake();
        result
    }

    /// Makes a call, and then the steps that it has caused.
    pub(crate) fn with<R>(
        &self,
        call: impl FnOnce(&mut Site<'static, PendingResponse>, Instant) -> R,
    ) -> R {
        self.0.with(|state, now| call(&mut state.site, now))
    }

    /// Ends everything that waits for [`run`](Self::run), which has ended.
    pub(crate) fn end_now(&self) {
        self.0.with(|state, now| state.site.shut_down(now));
        while self.0.lock().has_steps {
            self.with(|_, _| ());
        }
    }

    // The tasks that the servers of a fleet share.

    /// Does what the server has to do for the tasks of its fleet.
    pub(crate) async fn share_tasks<M: Live>(&self, table: &Mutex<Table<M>>) {
        let settings = &*self.0.settings;
        let Settings { tasks, broadcaster, .. } = settings;
        // Whether the store has failed since it last did not: everything is tried again.
        let (mut timer, mut has_failed) = (LazyTimer::new(), false);
        loop {
            let done = match poll_fn(|cx| tasks.poll_step(&mut timer, cx)).await {
                FleetStep::Tell(id) => {
                    self.with(|site, _| site.announce_task(id));
                    continue;
                }
                FleetStep::Sweep if broadcaster.is_shutting_down() => continue,
                step => tasks.work_in_store(step, broadcaster).await,
            };
            match done {
                Ok(left) => {
                    has_failed = false;
                    for (record, task) in left {
                        match settings.begin_again(&record, task, &self.0.driver) {
                            Some(work) => {
                                lock(table).requests.work(work, settings);
                                self.0.driver.notify();
                            }
                            None => tasks.fail(record.id),
                        }
                    }
                }
                Err(error) if !replace(&mut has_failed, true) => settings.tell(|hooks| {
                    hooks.tell(Event::FleetFailed { error: &error.to_string() });
                }),
                Err(_) => {}
            }
        }
    }
}

/// The requests of a server, and the work for them.
pub(crate) struct Table<M: Live> {
    pub(super) requests: Requests<ServerKey, M>,
    work: VecDeque<Work<ServerKey>>,
    /// To be handed in.
    responses: Vec<(ServerKey, RequestHandle, PendingResponse)>,
}

impl<M: Live> Table<M> {
    pub(crate) fn new(live: M) -> Self {
        Self { requests: Requests::new(live), work: VecDeque::new(), responses: Vec::new() }
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpServer").field(&self.0.lock().site).finish()
    }
}

/// Returns random bytes. The generator of an operating system does not fail after the first time.
/// If it does, the server stops: ids that can be guessed would be worse.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    while getrandom::fill(&mut bytes).is_err() {
        std::thread::yield_now();
    }
    bytes
}

fn invalid(why: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.to_string())
}

/// Time in which connections take the ends of their responses after the limit of a shutdown.
const GRACE: time::Duration = time::Duration::from_secs(1);

const NO_NODE: &str = "a bus joins servers that have names: HttpOptions::node";
const NO_KEYS: &str = "a node of a fleet needs the key ring of all: App::key_ring";

impl Settings {
    /// Begins a task that another server has left: its call is received again, by a server without
    /// a client. Returns `None` if it cannot be called here.
    fn begin_again(
        &self,
        record: &TaskRecord,
        task: NewTask,
        driver: &Arc<DriverWaker>,
    ) -> Option<Work<ServerKey>> {
        let line = line_of(record)?;
        let mut state = self.server_state();
        let mut server = state.server(self.config);
        if let Some(agreed) = record.call.as_ref()?.agreed {
            server.resume_session(agreed, 0);
        }
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let mut tx = TxBuffer::with_limit(Vec::new(), line.len());
        let now = Instant::from_millis(0);
        let Ok(Some(ServerEvent::Request(request))) =
            server.next_event(now, &mut messages, &mut tx)
        else {
            return None;
        };
        let slot = Slot::take(&request, &server, None, driver);
        let principal = record.owner.as_deref().and_then(parts_of_owner);
        let origin = HttpOrigin {
            server: ServerKey::NONE,
            principal: principal.map(|(issuer, of)| Arc::new(Principal::new(issuer, of))),
            head: None,
            session: record.call.as_ref()?.session,
            filter: None,
        };
        let hooks = self.hooks();
        let connection = hooks.as_ref().map(|hooks| (hooks, driver.number));
        let origin = (ServerKey::NONE, Some(origin));
        let admission = self.admit(&request, origin, &mut server, &mut tx, slot, connection);
        let Some(Work::Begin(key, mut active)) = admission.work else { return None };
        Arc::get_mut(&mut active)?.task.as_mut()?.again.adopt(task, record);
        Some(Work::Begin(key, active))
    }
}

/// Returns the call that has become a task, as its client has sent it.
fn line_of(record: &TaskRecord) -> Option<String> {
    let call = record.call.as_ref()?;
    let tool = OwnedJson::new(record.tool.as_str(), Revision::LATEST).ok()?;
    let rest = match &call.meta {
        Some(meta) => format!(r#""_meta":{meta}"#),
        None => r#""task":{}"#.to_owned(),
    };
    let (tool, arguments) = (tool.as_json().as_str(), &record.arguments);
    Some(format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{{"name":{tool},"arguments":{arguments},{rest}}}}}"#
    ))
}
