//! Wakers: of the task that drives a peer, and of the futures that wait for it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Apart from everything else that is locked: wakers are called in the middle of anything.
#[derive(Default)]
pub(super) struct DriverWaker(Mutex<State>);

#[derive(Default)]
struct State {
    /// Of the driver, while it sleeps.
    waker: Option<Waker>,
    /// Whether there is something to do that it has not seen.
    is_notified: bool,
}

impl DriverWaker {
    /// There is something to do.
    pub(super) fn notify(&self) {
        let waker = {
            let mut state = self.lock();
            state.is_notified = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends a round of the driver, which is to be woken from now on. `false` when there is
    /// something to do already.
    pub(super) fn register(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        if std::mem::take(&mut state.is_notified) {
            return false;
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        true
    }

    /// Begins a round. What is done in it, the driver sees without being woken.
    pub(super) fn begin_round(&self) {
        self.lock().waker = None;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakers of futures that wait for the same event. Each future has one place, however often it is
/// polled, and gives it back when it is dropped: there are never more wakers than futures.
#[derive(Default)]
pub(super) struct WakerSet {
    by_place: BTreeMap<u64, Waker>,
    places: u64,
}

impl WakerSet {
    /// Keeps the waker of a future. `place` is the future's own: `None` until it waits for the
    /// first time.
    pub(super) fn wait(&mut self, place: &mut Option<u64>, waker: &Waker) {
        let place = *place.get_or_insert_with(|| {
            self.places += 1;
            self.places
        });
        let kept = self.by_place.entry(place).or_insert_with(|| waker.clone());
        kept.clone_from(waker);
    }

    /// A future that waits no more.
    pub(super) fn leave(&mut self, place: u64) {
        self.by_place.remove(&place);
    }

    /// All wakers, to be woken. Futures that have to go on waiting keep their places.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.by_place).into_values()
    }

    /// The place that was taken first.
    #[cfg(feature = "http")]
    pub(super) fn first(&self) -> Option<u64> {
        self.by_place.keys().next().copied()
    }

    /// The waker of a place.
    #[cfg(feature = "http")]
    pub(super) fn waker(&self, place: u64) -> Option<Waker> {
        self.by_place.get(&place).cloned()
    }

    #[cfg(all(test, feature = "http"))]
    pub(super) fn len(&self) -> usize {
        self.by_place.len()
    }
}

impl Wake for DriverWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        self.notify();
    }
}
