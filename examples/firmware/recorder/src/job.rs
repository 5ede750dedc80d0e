//! The work of `erase`: asks, and erases a page at a time.

use core::time::Duration;

use mcp_sansio::tasks::TaskKey;
use mcp_sansio::{Call, Instant, RequestHandle};

use crate::Flash;
use crate::tools::End;

/// The call of `erase` that is being executed.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) of: Of,
    pub(crate) state: State,
    first: u8,
    pub(crate) count: u8,
    pub(crate) done: u8,
}

/// What the result belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    Call(RequestHandle),
    Task(TaskKey),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Waits for the response to this input request. In 2025-11-25 it is asked by a call, as soon
    /// as a request of the client waits for the result.
    Asks { number: u32, call: Option<Call> },
    /// Erases the next page at this time.
    Erases(Instant),
}

impl Job {
    pub(crate) const fn new(of: Of, state: State, first: u8, count: u8) -> Self {
        Self { of, state, first, count, done: 0 }
    }

    /// Returns when the next page is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.state {
            State::Asks { .. } => None,
            State::Erases(due) => Some(due),
        }
    }

    /// Erases the next page. Returns how the job has ended.
    pub(crate) fn erase(&mut self, flash: &mut impl Flash, now: Instant) -> Option<End> {
        let page = self.first + self.done;
        flash.erase(page);
        if !flash.is_blank(page) {
            return Some(End::faulty(self.done));
        }
        self.done += 1;
        self.state = State::Erases(now.saturating_add(PAUSE));
        (self.done == self.count).then_some(End::erased(self.done))
    }
}

/// Time for other requests between two pages. An nRF51 stands still while it erases a page, for
/// about 22 ms; the emulator erases at once.
const PAUSE: Duration = Duration::from_millis(50);
