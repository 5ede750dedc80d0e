//! Timers of the runtime that polls them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use mcp_sansio::Instant as CoreInstant;

use super::{RuntimeFuture, current, now};

/// A timer of the runtime that polls it. It takes nothing before it is polled.
pub(crate) struct Timer {
    at: Option<Instant>,
    /// `None` while `at` is new. It is never locked: the mutex makes it `Sync`, as connections are.
    sleep: Mutex<Option<RuntimeFuture<()>>>,
}

impl Timer {
    pub(crate) const fn never() -> Self {
        Self { at: None, sleep: Mutex::new(None) }
    }

    /// A time beyond the range of the clock never comes.
    pub(crate) fn after(duration: Duration) -> Self {
        Self { at: now().checked_add(duration), ..Self::never() }
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else { return Poll::Pending };
        let sleep = self.sleep.get_mut().unwrap_or_else(PoisonError::into_inner);
        sleep.get_or_insert_with(|| current().sleep_until(at)).as_mut().poll(cx)
    }
}

/// Timer that is set to an earlier time at once, but to a later one only when it fires. A busy
/// connection sets it once in half a minute, not once for each request.
pub(crate) struct LazyTimer(Timer);

impl LazyTimer {
    pub(crate) const fn new() -> Self {
        Self(Timer::never())
    }

    /// Returns whether this time has come. Otherwise the task is woken then, or earlier.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, due: Instant) -> bool {
        loop {
            let at = self.0.at.filter(|at| *at <= due).unwrap_or(due);
            if self.0.at != Some(at) {
                self.0 = Timer { at: Some(at), ..Timer::never() };
            }
            if Pin::new(&mut self.0).poll(cx).is_pending() {
                return false;
            }
            self.0 = Timer::never();
            if at == due {
                return true;
            }
        }
    }
}

/// The clock of a part of the core, which counts from this time.
#[derive(Clone, Copy)]
pub(crate) struct Clock(pub(crate) Instant);

impl Clock {
    /// Creates a clock that begins now, by the runtime that polls this.
    pub(crate) fn new() -> Self {
        Self(now())
    }

    pub(crate) fn now(self) -> CoreInstant {
        self.time_of(now())
    }

    /// Returns a time of the runtime on this clock.
    pub(crate) fn time_of(self, at: Instant) -> CoreInstant {
        let passed = at.saturating_duration_since(self.0).as_millis();
        CoreInstant::from_millis(u64::try_from(passed).unwrap_or(u64::MAX))
    }

    /// Returns the time of the runtime.
    pub(crate) fn real_time(self, at: CoreInstant) -> Instant {
        later(self.0, Duration::from_millis(at.as_millis()))
    }
}

/// Returns `start` plus `duration`, at most thirty years: no system clock overflows by that.
pub(crate) fn later(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration.min(NEVER)).unwrap_or(start)
}

pub(crate) const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

#[cfg(all(test, feature = "smol", feature = "tokio"))]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_of_the_runtime_that_polls_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mut inside = Timer::after(Duration::from_secs(3600));
        runtime.block_on(async {
            // An hour of a clock that stands still passes at once; one of async-io does not.
            tokio::time::pause();
            (&mut inside).await;
        });
        // Outside of a runtime, tokio's timer would panic.
        async_io::block_on(Timer::after(Duration::from_millis(1)));
    }
}
