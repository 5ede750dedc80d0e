//! The slow tool: a job that is polled between frames.

use core::time::Duration;

use mcp_sansio::{Instant, RequestHandle};

use crate::board::OUTPUTS;

/// A running call of `sweep`.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub(crate) request: RequestHandle,
    pub(crate) steps: u16,
    done: u16,
    period: u16,
    due: Instant,
}

/// A step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Invert this output. `done` is the number of completed steps after that.
    Invert { output: u8, done: u16 },
    /// Send the result.
    Finish,
}

impl Sweep {
    pub(crate) const fn new(request: RequestHandle, steps: u16, period: u16, now: Instant) -> Self {
        Self { request, steps, done: 0, period, due: now }
    }

    /// Returns when the next step is due.
    #[must_use]
    pub const fn due(&self) -> Instant {
        self.due
    }

    /// Returns the next step, if it is due.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Step> {
        if now < self.due {
            return None;
        }
        if self.done >= self.steps {
            return Some(Step::Finish);
        }
        self.due = now.saturating_add(Duration::from_millis(u64::from(self.period)));
        let output = self.done % u16::from(OUTPUTS);
        self.done += 1;
        Some(Step::Invert { output: output as u8, done: self.done })
    }
}
