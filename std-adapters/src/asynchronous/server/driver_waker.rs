//! The waker of the task that drives a connection.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use atomic_waker::AtomicWaker;
use mcp_sansio::Change;

use super::broadcast::Receiver;

/// Waker of the task that drives a connection. It has no lock, because wakers are called while
/// locks are held.
pub(crate) struct DriverWaker {
    /// Waker of the driver, while it waits.
    waker: AtomicWaker,
    /// Whether there was a notification since the driver last looked.
    is_notified: AtomicBool,
    /// No other of the process has it.
    pub(crate) number: u64,
}

impl Default for DriverWaker {
    fn default() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(1);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Self { waker: AtomicWaker::new(), is_notified: AtomicBool::new(false), number }
    }
}

impl DriverWaker {
    /// Wakes the driver, or keeps it from waiting after this round.
    pub(crate) fn notify(&self) {
        self.is_notified.store(true, Ordering::Release);
        self.waker.wake();
    }

    /// Makes rounds of the driver until one returns a result, or has nothing left to do
    /// (`Pending`). It sees what is done during a round without being woken.
    pub(crate) fn poll_rounds<R>(
        &self,
        cx: &mut Context<'_>,
        mut round: impl FnMut(&mut Context<'_>) -> Poll<Option<R>>,
    ) -> Poll<R> {
        self.waker.take();
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
        self.waker.register(waker);
        let is_notified = self.is_notified.swap(false, Ordering::AcqRel);
        if is_notified {
            self.waker.take();
        }
        !is_notified
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
