//! The one timer of a connection.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Instant;

use async_io::Timer;

/// Fires when something is due. Set to an earlier time at once, to a later one when it fires:
/// deadlines mostly move away.
pub(super) struct LazyTimer {
    timer: Timer,
    at: Option<Instant>,
}

impl LazyTimer {
    pub(super) fn new() -> Self {
        Self { timer: Timer::never(), at: None }
    }

    /// Whether it has fired. It is set to `due` otherwise, unless it fires before that anyway.
    pub(super) fn poll(&mut self, due: Option<Instant>, cx: &mut Context<'_>) -> bool {
        if let Some(due) = due
            && self.at.is_none_or(|at| due < at)
        {
            self.timer.set_at(due);
            self.at = Some(due);
        }
        if self.at.is_none() || Pin::new(&mut self.timer).poll(cx).is_pending() {
            return false;
        }
        self.at = None;
        true
    }
}
