//! Connections, requests and failures of a server as they happen, for logs and metrics: see
//! [`Observer`].

mod hooks;
mod stderr;
#[cfg(feature = "tracing")]
mod tracing;

#[cfg(feature = "asynchronous")]
pub(crate) use hooks::Telling;
pub(crate) use hooks::{Hooks, ObservedConnection, ObservedRequest};
pub(crate) use mcp_sansio_engine::internal::cut;
pub use mcp_sansio_engine::observer::{
    Disconnect, Ended, Event, MAX_TEXT, MAX_TRACESTATE, Refusal, RequestInfo, Transport,
};
pub use stderr::StderrObserver;
#[cfg(feature = "tracing")]
pub use tracing::TracingObserver;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::lock::lock;
use crate::panics::caught;

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
///             Event::Panicked { message, .. } => eprintln!("to be fixed: {message:?}"),
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
    #[cfg_attr(not(feature = "asynchronous"), expect(dead_code, reason = "blocking has scopes"))]
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
        let mut state = self.lock();
        state.running.push(Running { request, since: Instant::now(), is_reported: false });
        // Otherwise it waits for the limit of a handler that began earlier.
        if std::mem::take(&mut state.is_parked) {
            self.changed.notify_one();
        }
        Watched { watch: self, number }
    }

    /// Reports handlers that run too long, until the watch ends.
    fn run(&self, observer: &dyn Observer) {
        let mut state = self.lock();
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
            state = self.lock();
        }
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Ends the thread when it is dropped.
pub(crate) struct Watching(Arc<Watch>);

impl Watching {
    pub(crate) fn new(limit: Duration) -> Self {
        let (state, changed, started) = (Mutex::default(), Condvar::new(), Once::new());
        Self(Arc::new(Watch { limit, state, changed, started }))
    }

    /// Returns what a thread has to run until this value is dropped.
    pub(crate) fn task<'o>(&self, observer: Arc<dyn Observer + 'o>) -> impl FnOnce() + use<'o> {
        let watch = Arc::clone(&self.0);
        move || watch.run(&*observer)
    }

    /// Starts the thread the first time. Without one, nothing is reported.
    #[cfg(feature = "asynchronous")]
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
        self.watch.lock().running.retain(|running| running.request.number != self.number);
    }
}
