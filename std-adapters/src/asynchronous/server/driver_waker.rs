//! The waker of the task that drives a connection.

use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use mcp_sansio::Change;

use super::broadcast::Receiver;
use crate::lock::lock;

/// Waker of the task that drives a connection. It has a lock of its own, because wakers are called
/// while other locks are held.
pub(crate) struct DriverWaker {
    state: Mutex<State>,
    /// No other of the process has it.
    pub(crate) number: u64,
}

impl Default for DriverWaker {
    fn default() -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};

        static MADE: AtomicU64 = AtomicU64::new(1);
        Self { state: Mutex::default(), number: MADE.fetch_add(1, Ordering::Relaxed) }
    }
}

#[derive(Default)]
struct State {
    /// Waker of the driver, while it waits.
    waker: Option<Waker>,
    /// Whether there was a notification since the driver last looked.
    is_notified: bool,
}

impl DriverWaker {
    /// Wakes the driver, or keeps it from waiting after this round.
    pub(crate) fn notify(&self) {
        let waker = {
            let mut state = self.lock();
            state.is_notified = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Makes rounds of the driver until one returns a result, or has nothing left to do
    /// (`Pending`). It sees what is done during a round without being woken.
    pub(crate) fn poll_rounds<R>(
        &self,
        cx: &mut Context<'_>,
        mut round: impl FnMut(&mut Context<'_>) -> Poll<Option<R>>,
    ) -> Poll<R> {
        self.lock().waker = None;
        for _ in 0..ROUNDS {
            match round(cx) {
                Poll::Ready(Some(result)) => return Poll::Ready(result),
                Poll::Ready(None) => {}
                Poll::Pending if self.register(cx.waker()) => return Poll::Pending,
                Poll::Pending => {}
            }
        }
        // Yields to other tasks.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Ends a round: the driver is woken from now on. Returns `false` if it was notified already.
    pub(crate) fn register(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        if std::mem::take(&mut state.is_notified) {
            return false;
        }
        state.waker.get_or_insert_with(|| waker.clone()).clone_from(waker);
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A shutdown wakes the task.
impl Receiver for DriverWaker {
    fn on_change(&self, _: &Change<'_>) {}

    fn wake(&self) {
        self.notify();
    }
}

/// Rounds in a row before the task of a driver yields.
const ROUNDS: usize = 16;
