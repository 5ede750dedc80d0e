//! What wakes whoever drives a peer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

/// Apart from everything else that is locked: wakers are called in the middle of anything.
#[derive(Default)]
pub(super) struct Alarm(Mutex<Rest>);

#[derive(Default)]
struct Rest {
    /// Of the driver, while it sleeps.
    sleeper: Option<Waker>,
    /// Whether there is something to do that it has not seen.
    is_touched: bool,
}

impl Alarm {
    /// There is something to do.
    pub(super) fn touch(&self) {
        let sleeper = {
            let mut rest = self.lock();
            rest.is_touched = true;
            rest.sleeper.take()
        };
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }

    /// Ends a round of the driver, which is to be woken from now on. `false` when there is something to do already.
    pub(super) fn sleep(&self, waker: &Waker) -> bool {
        let mut rest = self.lock();
        if std::mem::take(&mut rest.is_touched) {
            return false;
        }
        if !rest.sleeper.as_ref().is_some_and(|sleeper| sleeper.will_wake(waker)) {
            rest.sleeper = Some(waker.clone());
        }
        true
    }

    /// Begins a round. What is done in it, the driver sees without being woken.
    pub(super) fn rise(&self) {
        self.lock().sleeper = None;
    }

    fn lock(&self) -> MutexGuard<'_, Rest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Alarm {
    fn wake(self: std::sync::Arc<Self>) {
        self.touch();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        self.touch();
    }
}
