//! The slow tool, as a job: a value that is polled between frames.

use core::time::Duration;

use mcp_sansio::{Instant, RequestHandle};

use crate::board::OUTPUTS;

/// A call of `sweep` that is not done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep {
    pub(crate) request: RequestHandle,
    pub(crate) steps: u16,
    done: u16,
    period: u16,
    due: Instant,
}

/// What a job wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Invert this output; so many steps are done then.
    Invert { output: u8, done: u16 },
    /// That was all.
    Finish,
}

impl Sweep {
    pub(crate) const fn new(request: RequestHandle, steps: u16, period: u16, now: Instant) -> Self {
        Self { request, steps, done: 0, period, due: now }
    }

    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// The next step, when its time has come.
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
