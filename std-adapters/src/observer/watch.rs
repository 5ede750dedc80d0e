//! Reports handlers that neither end nor wait, while they run.

use std::ops::Deref;
#[cfg(feature = "asynchronous")]
use std::sync::Once;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Observer, RequestInfo};
use crate::lock::lock;
use crate::panics::caught;

/// The handlers that run at this moment, one for each thread, and the thread that looks after them.
pub(super) struct Watch {
    limit: Duration,
    state: Mutex<State>,
    changed: Condvar,
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
    pub(super) fn begin(&self, request: &Arc<RequestInfo>) -> Watched<'_> {
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
            let waiting = state.running.iter().filter(|running| !running.is_reported);
            let due = waiting.filter_map(|running| running.since.checked_add(self.limit)).min();
            let Some(due) = due else {
                state.is_parked = true;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let now = Instant::now();
            if due > now {
                let waited = self.changed.wait_timeout(state, due - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let mut stalled = Vec::new();
            for running in &mut state.running {
                let after = now.saturating_duration_since(running.since);
                if after >= self.limit && !running.is_reported {
                    running.is_reported = true;
                    stalled.push((Arc::clone(&running.request), after));
                }
            }
            drop(state);
            for (request, after) in stalled {
                let _ = caught(|| observer.stalled(&request, after));
            }
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
pub(crate) struct Watching(pub(super) Arc<Watch>, #[cfg(feature = "asynchronous")] Once);

impl Watching {
    pub(crate) fn new(limit: Duration) -> Self {
        let watch = Arc::new(Watch { limit, state: Mutex::default(), changed: Condvar::new() });
        Self(
            watch,
            #[cfg(feature = "asynchronous")]
            Once::new(),
        )
    }

    /// Returns what a thread has to run until this value is dropped.
    pub(crate) fn task<O: Deref<Target: Observer>>(&self, observer: O) -> impl FnOnce() + use<O> {
        let watch = Arc::clone(&self.0);
        move || watch.run(&&*observer)
    }

    /// Starts the thread the first time. Without one, nothing is reported.
    #[cfg(feature = "asynchronous")]
    pub(crate) fn start_once(&self, observer: &Arc<dyn Observer>) {
        self.1.call_once(|| {
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
pub(super) struct Watched<'w> {
    watch: &'w Watch,
    number: u64,
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.watch.lock().running.retain(|running| running.request.number != self.number);
    }
}
