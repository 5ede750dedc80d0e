//! A timer whose deadline is usually postponed before it fires.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
#[cfg(feature = "http")]
use std::time::Duration;
use std::time::Instant;

use async_io::Timer;

/// Timer that is set to an earlier time at once, but to a later one only when it fires. A busy
/// connection sets it once in half a minute, not once for each request.
pub(super) struct LazyTimer {
    timer: Timer,
    /// Time that `timer` is set to.
    at: Option<Instant>,
}

impl LazyTimer {
    pub(super) fn new() -> Self {
        Self { timer: Timer::never(), at: None }
    }

    /// Returns whether this time has come. Otherwise the task is woken then, or earlier.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, due: Instant) -> bool {
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
                Poll::Ready(_) => self.at = None,
            }
            if at == due {
                return true;
            }
        }
    }
}

/// Returns `start` plus `duration`, at most thirty years: no system clock overflows by that.
#[cfg(feature = "http")]
pub(super) fn later(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration.min(NEVER)).unwrap_or(start)
}

#[cfg(feature = "http")]
const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
