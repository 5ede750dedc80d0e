//! Set of futures that polls only those that have been woken. A future that panics ends alone.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use crate::lock::lock;
use crate::panics::{Panic, caught};

/// The futures, each with a name that its owner gave it.
pub(crate) struct Tasks<K, F> {
    tasks: Vec<Option<Task<K, F>>>,
    free: Vec<usize>,
    ready: Arc<Ready>,
}

struct Task<K, F> {
    name: K,
    future: Pin<Box<F>>,
    waker: Waker,
    woken: Arc<Woken>,
}

/// The place of a future until it has ended or is removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(usize);

/// A future that has ended: its name, and its output or its panic.
pub(crate) type Ended<K, T> = (K, Result<T, Panic>);

/// Places of the futures that have been woken, in order.
struct Ready(Mutex<Queue>);

struct Queue {
    places: VecDeque<usize>,
    /// Waker of the task that polls the set.
    waker: Option<Waker>,
}

struct Woken {
    place: usize,
    /// Whether it is in the queue already.
    queued: AtomicBool,
    ready: Arc<Ready>,
}

impl<K, F> Tasks<K, F> {
    pub(crate) fn new() -> Self {
        let queue = Queue { places: VecDeque::new(), waker: None };
        Self { tasks: Vec::new(), free: Vec::new(), ready: Arc::new(Ready(Mutex::new(queue))) }
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of futures that have been woken.
    #[cfg(feature = "http")]
    pub(crate) fn ready(&self) -> usize {
        self.ready.lock().places.len()
    }

    /// Drops all futures for which `is_over` returns true.
    pub(crate) fn drop_where(&mut self, is_over: impl Fn(&K) -> bool) {
        for place in 0..self.tasks.len() {
            let task = self.tasks.get(place).and_then(Option::as_ref);
            if task.is_some_and(|task| is_over(&task.name)) {
                self.remove(Place(place));
            }
        }
    }

    /// Adds a future. The next [`poll_next`](Self::poll_next) polls it for the first time.
    pub(crate) fn insert(&mut self, name: K, future: F) -> Place {
        let place = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() - 1
        });
        let woken = Arc::new(Woken {
            place,
            queued: AtomicBool::new(true),
            ready: Arc::clone(&self.ready),
        });
        let waker = Waker::from(Arc::clone(&woken));
        if let Some(slot) = self.tasks.get_mut(place) {
            *slot = Some(Task { name, future: Box::pin(future), waker, woken });
        }
        self.ready.lock().places.push_back(place);
        Place(place)
    }

    /// Drops a future. The result says whether it panicked.
    pub(crate) fn remove(&mut self, Place(place): Place) -> Option<(K, Result<(), Panic>)> {
        let Task { name, future, woken, .. } = self.tasks.get_mut(place)?.take()?;
        // A waker that is still held elsewhere has no effect from now on.
        woken.queued.store(true, Ordering::Release);
        self.free.push(place);
        Some((name, caught(|| drop(future))))
    }
}

impl<K, F> Drop for Tasks<K, F> {
    fn drop(&mut self) {
        (0..self.tasks.len()).for_each(|place| drop(self.remove(Place(place))));
    }
}

impl<K, F: Future> Tasks<K, F> {
    /// Polls one of the woken futures. Returns its output or its panic if it has ended, and
    /// `Pending` if no future is woken.
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Ended<K, F::Output>>> {
        self.poll_next_with(cx, |_, poll| caught(poll))
    }

    /// As [`poll_next`](Self::poll_next). `run` calls the function that polls, and catches its
    /// panic.
    pub(crate) fn poll_next_with(
        &mut self,
        cx: &Context<'_>,
        run: impl FnOnce(&K, &mut dyn FnMut() -> Poll<F::Output>) -> Result<Poll<F::Output>, Panic>,
    ) -> Poll<Option<Ended<K, F::Output>>> {
        let place = {
            let mut queue = self.ready.lock();
            let Some(place) = queue.places.pop_front() else {
                if !queue.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    queue.waker = Some(cx.waker().clone());
                }
                return Poll::Pending;
            };
            place
        };
        // Woken through a waker of a future that is gone.
        let Some(Some(task)) = self.tasks.get_mut(place) else { return Poll::Ready(None) };
        task.woken.queued.store(false, Ordering::Release);
        let Task { name, future, waker, .. } = task;
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(waker));
        let output = match run(name, &mut poll) {
            Ok(Poll::Pending) => return Poll::Ready(None),
            Ok(Poll::Ready(output)) => Ok(output),
            Err(panic) => Err(panic),
        };
        // The output counts, even if dropping the rest of the future panics.
        Poll::Ready(self.remove(Place(place)).map(|(name, _)| (name, output)))
    }
}

impl Ready {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.0)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let waker = {
            let mut queue = self.ready.lock();
            queue.places.push_back(self.place);
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
