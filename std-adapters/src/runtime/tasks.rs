//! Set of futures that polls only those that have been woken. A future that panics ends alone.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::lock::lock;
use crate::panics::{Panic, caught};

/// The futures, each with a name that its owner gave it.
pub(crate) struct Tasks<K, F> {
    tasks: Vec<Option<Task<K, F>>>,
    free: Vec<usize>,
    /// A free place whose memory is kept for the next future.
    spare: Option<usize>,
    ready: Arc<Mutex<Queue>>,
}

struct Task<K, F> {
    /// `None` while the place is free.
    name: Option<K>,
    future: Pin<Box<Option<F>>>,
    waker: Waker,
    woken: Arc<Woken>,
}

/// The place of a future until it has ended or is removed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place(usize);

/// A future that has ended: its name, and its output or its panic.
pub(crate) type Ended<K, T> = (K, Result<T, Panic>);

/// Places of the futures that have been woken, in order.
struct Queue {
    places: VecDeque<usize>,
    /// Waker of the task that polls the set.
    waker: Option<Waker>,
}

struct Woken {
    place: usize,
    /// Whether it is in the queue already.
    queued: AtomicBool,
    ready: Arc<Mutex<Queue>>,
}

impl<K, F> Tasks<K, F> {
    pub(crate) fn new() -> Self {
        let queue = Queue { places: VecDeque::new(), waker: None };
        let ready = Arc::new(Mutex::new(queue));
        Self { tasks: Vec::new(), free: Vec::new(), spare: None, ready }
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.len() - self.free.len() - usize::from(self.spare.is_some())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of futures that have been woken.
    pub(crate) fn ready(&self) -> usize {
        lock(&self.ready).places.len()
    }

    /// Drops all futures for which `is_over` returns true.
    pub(crate) fn drop_where(&mut self, is_over: impl Fn(&K) -> bool) {
        self.places_where(is_over).into_iter().for_each(|place| drop(self.remove(place)));
    }

    /// Returns the places of the futures for which `is_wanted` returns true.
    pub(crate) fn places_where(&self, is_wanted: impl Fn(&K) -> bool) -> Vec<Place> {
        let name = |task: &Option<Task<K, F>>| task.as_ref()?.name.as_ref().map(&is_wanted);
        let places = self.tasks.iter().enumerate().filter(|(_, task)| name(task) == Some(true));
        places.map(|(place, _)| Place(place)).collect()
    }

    /// Adds a future. The next [`poll_next`](Self::poll_next) polls it for the first time.
    pub(crate) fn insert(&mut self, name: K, future: F) -> Place {
        let place = self.put(name, future, true);
        lock(&self.ready).places.push_back(place.0);
        place
    }

    fn put(&mut self, name: K, future: F, is_queued: bool) -> Place {
        if let Some(place) = self.spare.take()
            && let Some(Some(task)) = self.tasks.get_mut(place)
        {
            task.name = Some(name);
            task.future.set(Some(future));
            task.woken.queued.store(is_queued, Ordering::Release);
            return Place(place);
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() - 1
        });
        let (queued, ready) = (AtomicBool::new(is_queued), Arc::clone(&self.ready));
        let woken = Arc::new(Woken { place, queued, ready });
        let waker = Waker::from(Arc::clone(&woken));
        if let Some(slot) = self.tasks.get_mut(place) {
            *slot = Some(Task { name: Some(name), future: Box::pin(Some(future)), waker, woken });
        }
        Place(place)
    }

    /// Returns the name of a future.
    pub(crate) fn name(&self, Place(place): Place) -> Option<&K> {
        self.tasks.get(place)?.as_ref()?.name.as_ref()
    }

    /// Drops a future. The result says whether it panicked.
    pub(crate) fn remove(&mut self, Place(place): Place) -> Option<(K, Result<(), Panic>)> {
        let slot = self.tasks.get_mut(place)?;
        let Task { name, future, woken, .. } = slot.as_mut()?;
        let name = name.take()?;
        // A waker that is still held elsewhere has no effect from now on.
        woken.queued.store(true, Ordering::Release);
        let dropped = caught(|| future.set(None));
        // Two references are the task's own: nobody else can wake the next future by mistake.
        if self.spare.is_none() && dropped.is_ok() && Arc::strong_count(woken) == 2 {
            self.spare = Some(place);
        } else {
            *slot = None;
            self.free.push(place);
        }
        Some((name, dropped))
    }
}

impl<K, F> Drop for Tasks<K, F> {
    fn drop(&mut self) {
        (0..self.tasks.len()).for_each(|place| drop(self.remove(Place(place))));
    }
}

impl<K, F: Future> Tasks<K, F> {
    /// Adds a future and polls it at once. Returns its place if it waits.
    ///
    /// # Errors
    /// It has ended already.
    pub(crate) fn start(&mut self, name: K, future: F) -> Result<Place, Ended<K, F::Output>> {
        let place = self.put(name, future, false);
        // The output counts, even if dropping the rest of the future panics.
        let ended = self.poll_at(place.0).map(|output| (self.remove(place), output));
        match ended {
            Some((Some((name, _)), output)) => Err((name, output)),
            _ => Ok(place),
        }
    }

    /// Polls one of the woken futures. Returns its output or its panic if it has ended, and
    /// `Pending` if no future is woken.
    pub(crate) fn poll_next(&mut self, cx: &Context<'_>) -> Poll<Option<Ended<K, F::Output>>> {
        let place = {
            let mut queue = lock(&self.ready);
            let Some(place) = queue.places.pop_front() else {
                if !queue.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    queue.waker = Some(cx.waker().clone());
                }
                return Poll::Pending;
            };
            place
        };
        let ended = self.poll_at(place).map(|output| (self.remove(Place(place)), output));
        Poll::Ready(ended.and_then(|(removed, output)| Some((removed?.0, output))))
    }

    /// Returns `None` while the future waits, or if it is gone: one of its wakers may be left.
    fn poll_at(&mut self, place: usize) -> Option<Result<F::Output, Panic>> {
        let Task { future, waker, woken, .. } = self.tasks.get_mut(place)?.as_mut()?;
        let future = future.as_mut().as_pin_mut()?;
        woken.queued.store(false, Ordering::Release);
        match caught(|| future.poll(&mut Context::from_waker(waker))) {
            Ok(Poll::Pending) => None,
            Ok(Poll::Ready(output)) => Some(Ok(output)),
            Err(panic) => Some(Err(panic)),
        }
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
            let mut queue = lock(&self.ready);
            queue.places.push_back(self.place);
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
