//! Connections, requests and failures of a server as they happen, for logs and metrics: see
//! [`Observer`].

#![cfg_attr(
    not(all(feature = "asynchronous", feature = "blocking")),
    allow(dead_code, reason = "each of the two has something of its own to tell")
)]

mod stderr;
#[cfg(feature = "tracing")]
mod tracing;

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, Once, OnceLock, PoisonError};
use std::thread;
#[cfg(feature = "asynchronous")]
use std::time::SystemTime;
use std::time::{Duration, Instant};

use mcp_sansio::tasks::TaskId;
use mcp_sansio::{Catalog, Encode, Method, OwnedJson, Request, ResponseKind, ToolError};
#[cfg(feature = "asynchronous")]
use mcp_sansio::{ErrorCode, Revision};
use mcp_sansio_engine::PeerAddress;
use mcp_sansio_engine::internal::{failure, is_error};
use mcp_sansio_engine::observer::cut;
pub use mcp_sansio_engine::observer::{
    Denial, Disconnect, Ended, Event, MAX_TEXT, MAX_TRACESTATE, Refusal, RequestInfo, Transport,
};
pub use stderr::StderrObserver;
#[cfg(feature = "tracing")]
pub use tracing::TracingObserver;

use crate::lock::lock;
use crate::panics::{Panic, caught};
#[cfg(feature = "asynchronous")]
use crate::store::TaskRecord;

/// Sees what a server does.
///
/// The methods are called on the threads that serve the connections, so they should not block;
/// [`Event::Stalled`] comes on a thread of its own. A panic in them is caught.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// use mcp_sansio_adapters::observer::{Event, Observer};
///
/// #[derive(Default)]
/// struct Metrics {
///     failures: AtomicU64,
///     micros: AtomicU64,
/// }
///
/// impl Observer for Metrics {
///     fn on(&self, event: Event<'_>) {
///         match event {
///             Event::Ended { how, took, .. } => {
///                 self.failures.fetch_add(u64::from(how.is_failure()), Relaxed);
///                 self.micros.fetch_add(took.as_micros() as u64, Relaxed);
///             }
///             Event::Panicked { message } => eprintln!("to be fixed: {message:?}"),
///             _ => {}
///         }
///     }
/// }
/// ```
pub trait Observer: Send + Sync {
    /// Something has happened.
    fn on(&self, event: Event<'_>);

    /// Runs the handler of a request until it ends or waits, so this is called many times for a
    /// handler that waits. An implementation calls `handler` once, and can set state of the thread
    /// meanwhile, such as a span.
    fn run(&self, request: &RequestInfo, handler: &mut dyn FnMut()) {
        let _ = request;
        handler();
    }
}

impl<O: Observer + ?Sized> Observer for &O {
    fn on(&self, event: Event<'_>) {
        (**self).on(event);
    }

    fn run(&self, request: &RequestInfo, handler: &mut dyn FnMut()) {
        (**self).run(request, handler);
    }
}

/// Returns a number that no other request or connection of the process has.
pub(crate) fn next_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Relaxed) + 1
}

/// A limit for `App::watch` that suits most applications: 1 second.
pub const STALLED: Duration = Duration::from_secs(1);

// Reports handlers that neither end nor wait, while they run.

/// The handlers that run at this moment, one for each thread, and the thread that looks after them.
struct Watch {
    limit: Duration,
    state: Mutex<State>,
    changed: Condvar,
    started: Once,
}

#[derive(Default)]
struct State {
    running: Vec<Running>,
    is_over: bool,
    /// Whether the thread waits for a handler to begin.
    is_parked: bool,
}

struct Running {
    request: Arc<RequestInfo>,
    since: Instant,
    is_reported: bool,
}

impl Watch {
    /// Watches a handler until the returned value is dropped.
    fn begin(&self, request: &Arc<RequestInfo>) -> Watched<'_> {
        let request = Arc::clone(request);
        let number = request.number;
        let mut state = lock(&self.state);
        state.running.push(Running { request, since: Instant::now(), is_reported: false });
        // Otherwise it waits for the limit of a handler that began earlier.
        if std::mem::take(&mut state.is_parked) {
            self.changed.notify_one();
        }
        Watched { watch: self, number }
    }

    /// Reports handlers that run too long, until the watch ends.
    fn run(&self, observer: &dyn Observer) {
        let mut state = lock(&self.state);
        while !state.is_over {
            // They stand in the order in which they began.
            let Some(next) = state.running.iter_mut().find(|running| !running.is_reported) else {
                state.is_parked = true;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let after = next.since.elapsed();
            if after < self.limit {
                let waited = self.changed.wait_timeout(state, self.limit - after);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            next.is_reported = true;
            let request = Arc::clone(&next.request);
            drop(state);
            let _ = caught(|| observer.on(Event::Stalled { request: &request, after }));
            state = lock(&self.state);
        }
    }

    fn end(&self) {
        lock(&self.state).is_over = true;
        self.changed.notify_one();
    }
}

/// Ends the thread when it is dropped.
pub(crate) struct Watching(Arc<Watch>);

impl Watching {
    pub(crate) fn new(limit: Duration) -> Self {
        let (state, changed, started) = (Mutex::default(), Condvar::new(), Once::new());
        Self(Arc::new(Watch { limit, state, changed, started }))
    }

    #[cfg(all(test, feature = "asynchronous"))]
    pub(crate) fn limit(&self) -> Duration {
        self.0.limit
    }

    /// Returns what a thread has to run until this value is dropped.
    pub(crate) fn task<'o>(&self, observer: Arc<dyn Observer + 'o>) -> impl FnOnce() + use<'o> {
        let watch = Arc::clone(&self.0);
        move || watch.run(&*observer)
    }

    /// Starts the thread the first time. Without one, nothing is reported.
    pub(crate) fn start_once(&self, observer: &Arc<dyn Observer>) {
        self.0.started.call_once(|| {
            let _ = Self::thread().spawn(self.task(Arc::clone(observer)));
        });
    }

    pub(crate) fn thread() -> thread::Builder {
        thread::Builder::new().name("mcp-watch".to_owned())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A handler that runs.
struct Watched<'w> {
    watch: &'w Watch,
    number: u64,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        lock(&self.watch.state).running.retain(|running| running.request.number != self.number);
    }
}

/// An observer whose panics are caught, and the watch over handlers.
#[derive(Clone)]
pub(crate) struct Hooks<'o> {
    pub(crate) observer: Arc<dyn Observer + 'o>,
    pub(crate) watch: Option<Arc<Watching>>,
    /// The address of the client of a connection. Over HTTP the head of each request has it.
    pub(crate) peer: Option<PeerAddress>,
}

impl<'o> Hooks<'o> {
    pub(crate) fn tell(&self, event: Event<'_>) {
        // The panic hook has reported it.
        let _ = caught(|| self.observer.on(event));
    }

    /// Code that is no handler has panicked.
    pub(crate) fn panicked(&self, panic: &Panic) {
        self.tell(Event::Panicked { message: &cut(&panic.0) });
    }

    /// Tells of a task that an earlier process has not ended.
    #[cfg(feature = "asynchronous")]
    pub(crate) fn lost(&self, task: &TaskRecord) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.tell(Event::TaskEnded {
            task: task.id,
            tool: &task.tool,
            request: None,
            how: Ended::Error(ErrorCode::InternalError.number(Revision::LATEST)),
            error: Some(&task.message),
            took: now.saturating_sub(Duration::from_millis(task.created_unix_ms)),
        });
    }

    /// Creates a request, whose begin has to be told. `client` is what its head says of it.
    pub(crate) fn request(
        &self,
        connection: u64,
        id: Option<&str>,
        request: &Request<'_>,
        client: (Option<PeerAddress>, Option<&str>),
    ) -> ObservedRequest<'o> {
        let id = id.unwrap_or_default();
        let mut info = RequestInfo::new(next_number(), connection, id, request);
        (info.peer, info.principal) = (client.0.or(self.peer), client.1.map(|name| cut(&name)));
        ObservedRequest {
            hooks: self.clone(),
            info: Arc::new(info),
            since: Instant::now(),
            is_open: AtomicBool::new(false),
            is_tool_failed: AtomicBool::new(false),
            error: OnceLock::new(),
            task: OnceLock::new(),
        }
    }
}

/// A connection of which an observer is told.
pub(crate) struct ObservedConnection<'o> {
    pub(crate) hooks: Hooks<'o>,
    pub(crate) number: u64,
    since: Instant,
    is_open: bool,
}

impl<'o> ObservedConnection<'o> {
    /// Creates a connection and tells of it.
    pub(crate) fn new(hooks: Hooks<'o>, transport: Transport) -> Self {
        let (number, since) = (next_number(), Instant::now());
        let peer = hooks.peer;
        hooks.tell(Event::Connected { connection: number, transport, peer });
        Self { hooks, number, since, is_open: true }
    }

    /// Tells of the end of the connection, once.
    pub(crate) fn disconnected(&mut self, how: Disconnect<'_>) {
        if std::mem::take(&mut self.is_open) {
            let (connection, after) = (self.number, self.since.elapsed());
            self.hooks.tell(Event::Disconnected { connection, how, after });
        }
    }
}

impl Drop for ObservedConnection<'_> {
    fn drop(&mut self) {
        self.disconnected(Disconnect::Closed);
    }
}

pub(crate) struct ObservedRequest<'o> {
    hooks: Hooks<'o>,
    info: Arc<RequestInfo>,
    since: Instant,
    /// Whether its begin has been reported and its end has not.
    is_open: AtomicBool,
    /// Whether its result says that the tool failed.
    is_tool_failed: AtomicBool,
    /// The first error.
    error: OnceLock<String>,
    /// The task that it has become.
    task: OnceLock<TaskId>,
}

impl ObservedRequest<'_> {
    pub(crate) fn began(&self) {
        self.is_open.store(true, Relaxed);
        self.hooks.tell(Event::Began { request: &self.info });
    }

    /// Runs the handler of the request until it ends or waits.
    pub(crate) fn run<R>(&self, handler: impl FnOnce() -> R) -> Result<R, Panic> {
        let watch = self.hooks.watch.as_ref();
        let _watched = watch.map(|watch| watch.0.begin(&self.info));
        let (mut handler, mut done) = (Some(handler), None);
        let mut call = || {
            if let Some(handler) = handler.take() {
                done = Some(caught(handler));
            }
        };
        let _ = caught(|| self.hooks.observer.run(&self.info, &mut call));
        // The observer may not have called it.
        call();
        done.unwrap_or_else(|| Err(Panic(String::new())))
    }

    /// Records the error of a handler, which is told with the end.
    pub(crate) fn failed(&self, error: &ToolError<'_>) {
        if !error.is_gone() && !error.is_input_required() {
            self.because(error);
        }
    }

    /// Records what went wrong, unless that is known.
    pub(crate) fn because(&self, error: &dyn fmt::Display) {
        self.error.get_or_init(|| cut(error));
    }

    /// Records why a catalog has refused the request.
    pub(crate) fn refused_by(&self, catalog: &Catalog<'_>, request: &Request<'_>) {
        if let Some(why) = catalog.why_refused(request) {
            self.because(&why);
        }
    }

    /// Records a panic of the handler.
    pub(crate) fn panic(&self, Panic(message): &Panic) {
        if !message.is_empty() {
            self.because(message);
        }
    }

    pub(crate) fn panicked(&self, panic: &Panic) {
        self.panic(panic);
        self.ended(Ended::Panicked);
    }

    /// Reports that the request has become a task, whose end is told later.
    pub(crate) fn became(&self, task: TaskId) {
        self.ended(Ended::Task(task));
        let _ = self.task.set(task);
        self.is_open.store(true, Relaxed);
    }

    /// Reports that a call goes on as a call, since its task cannot be stored.
    pub(crate) fn store_failed(&self, error: &dyn fmt::Display) {
        self.hooks.tell(Event::StoreFailed { request: &self.info, error: &cut(error) });
    }

    /// Records whether a result that was sent says that a tool failed.
    pub(crate) fn sent<T: Encode + ?Sized>(&self, request: &Request<'_>, result: &T) {
        let failed = (request.method == Method::ToolsCall)
            .then(|| OwnedJson::new(result, request.revision).ok())
            .flatten()
            .filter(|json| is_error(json.as_json()));
        self.is_tool_failed.store(failed.is_some(), Relaxed);
        if let Some(text) = failed.and_then(|json| failure(json.as_json())) {
            self.because(&text);
        }
    }

    /// Reports the end of a request that has got a response of this kind.
    pub(crate) fn responded(&self, kind: ResponseKind) {
        self.ended(match Ended::from(kind) {
            Ended::Responded if self.is_tool_failed.load(Relaxed) => Ended::ToolFailed,
            ended => ended,
        });
    }

    /// Reports the end of the request, or of its task, once.
    pub(crate) fn ended(&self, how: Ended) {
        if !self.is_open.swap(false, Relaxed) {
            return;
        }
        let (request, took) = (&*self.info, self.since.elapsed());
        let error = self.error.get().map(String::as_str);
        self.hooks.tell(match self.task.get() {
            None => Event::Ended { request, how, error, took },
            Some(task) => Event::TaskEnded {
                task: *task,
                tool: &request.name,
                request: Some(request),
                // A task has no connection.
                how: if how == Ended::Gone { Ended::ShutDown } else { how },
                error,
                took,
            },
        });
    }
}

/// Tells an observer later, where no mutex is locked.
#[cfg(feature = "asynchronous")]
pub(crate) type Telling = Box<dyn FnOnce(&Hooks<'static>) + Send>;

impl Drop for ObservedRequest<'_> {
    fn drop(&mut self) {
        self.ended(Ended::Gone);
    }
}
