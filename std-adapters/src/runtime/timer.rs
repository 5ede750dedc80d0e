//! Timers of the runtime that polls them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::clock;

/// A timer of tokio, if it is polled in a tokio runtime; otherwise of async-io. It takes nothing
/// before it is polled.
pub(crate) struct Timer {
    at: Option<Instant>,
    sleep: Sleep,
}

enum Sleep {
    /// `at` is new.
    Unset,
    #[cfg(feature = "smol")]
    AsyncIo(async_io::Timer),
    #[cfg(feature = "tokio")]
    Tokio(Pin<Box<tokio::time::Sleep>>),
}

impl Timer {
    pub(crate) const fn never() -> Self {
        Self { at: None, sleep: Sleep::Unset }
    }

    pub(crate) const fn at(at: Instant) -> Self {
        Self { at: Some(at), sleep: Sleep::Unset }
    }

    /// A time beyond the range of the clock never comes.
    pub(crate) fn after(duration: Duration) -> Self {
        Self { at: clock::now().checked_add(duration), sleep: Sleep::Unset }
    }

    pub(crate) fn set_at(&mut self, at: Instant) {
        self.at = Some(at);
        match &mut self.sleep {
            Sleep::Unset => {}
            #[cfg(feature = "smol")]
            Sleep::AsyncIo(timer) => timer.set_at(at),
            #[cfg(feature = "tokio")]
            Sleep::Tokio(sleep) => sleep.as_mut().reset(at.into()),
        }
    }
}

impl Sleep {
    fn until(at: Instant) -> Self {
        #[cfg(all(feature = "smol", feature = "tokio"))]
        if tokio::runtime::Handle::try_current().is_err() {
            return Self::AsyncIo(async_io::Timer::at(at));
        }
        #[cfg(feature = "tokio")]
        return Self::Tokio(Box::pin(tokio::time::sleep_until(at.into())));
        #[cfg(not(feature = "tokio"))]
        Self::AsyncIo(async_io::Timer::at(at))
    }
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else { return Poll::Pending };
        if let Sleep::Unset = self.sleep {
            self.sleep = Sleep::until(at);
        }
        match &mut self.sleep {
            Sleep::Unset => Poll::Pending,
            #[cfg(feature = "smol")]
            Sleep::AsyncIo(timer) => Pin::new(timer).poll(cx).map(|_| ()),
            #[cfg(feature = "tokio")]
            Sleep::Tokio(sleep) => sleep.as_mut().poll(cx),
        }
    }
}

/// Timer that is set to an earlier time at once, but to a later one only when it fires. A busy
/// connection sets it once in half a minute, not once for each request.
pub(crate) struct LazyTimer {
    timer: Timer,
    /// Time that `timer` is set to.
    at: Option<Instant>,
}

impl LazyTimer {
    pub(crate) const fn new() -> Self {
        Self { timer: Timer::never(), at: None }
    }

    /// Returns whether this time has come. Otherwise the task is woken then, or earlier.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, due: Instant) -> bool {
        loop {
            let at = match self.at {
                Some(at) if at <= due => at,
                _ => {
                    self.timer.set_at(due);
                    due
                }
            };
            self.at = Some(at);
            match Pin::new(&mut self.timer).poll(cx) {
                Poll::Pending => return false,
                Poll::Ready(()) => self.at = None,
            }
            if at == due {
                return true;
            }
        }
    }
}

/// Returns `start` plus `duration`, at most thirty years: no system clock overflows by that.
#[cfg(feature = "http")]
pub(crate) fn later(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration.min(NEVER)).unwrap_or(start)
}

#[cfg(feature = "http")]
pub(crate) const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

#[cfg(all(test, feature = "smol", feature = "tokio"))]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_of_the_runtime_that_polls_it() {
        let soon = || Timer::after(Duration::from_millis(1));
        let (mut inside, mut outside) = (soon(), soon());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(&mut inside);
        assert!(matches!(inside.sleep, Sleep::Tokio(_)));
        async_io::block_on(&mut outside);
        assert!(matches!(outside.sleep, Sleep::AsyncIo(_)));
    }
}
