//! Waiting until a time that mostly moves away before it comes.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_io::Timer;

/// A timer that is set again only to an earlier time; when it goes off before what is waited for by
/// then, it is set to that. A connection that is busy sets one every half a minute, not one for
/// each request.
pub(super) struct LazyTimer {
    timer: Timer,
    /// What it is set to.
    at: Option<Instant>,
}

impl LazyTimer {
    pub(super) fn new() -> Self {
        Self { timer: Timer::never(), at: None }
    }

    /// Whether this time has come; wakes when it does, or earlier.
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

/// When `duration` has passed after `start`. More than thirty years mean never: no clock of a
/// system counts so far, and none overflows.
pub(super) fn later(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration.min(NEVER)).unwrap_or(start)
}

const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
