//! Time limits of what the client does for a call, besides those that the core has.

use std::time::{Duration, Instant};

use super::inner::ConnectionInner;
use crate::runtime;

/// Time at which a call times out. It moves while a person logs in.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    at: Option<Instant>,
    /// Time of all logins before it.
    logins: Duration,
}

/// The time that logins have taken, on one connection.
#[derive(Default)]
pub(crate) struct LoginTime {
    total: Duration,
    /// Start of the one that is going on.
    since: Option<Instant>,
}

impl Deadline {
    pub(crate) const NEVER: Self = Self { at: None, logins: Duration::ZERO };

    /// Starts a time limit. `Duration::MAX` is no limit.
    pub(crate) fn after(limit: Duration, inner: &ConnectionInner) -> Self {
        let logins = inner.with(|state| state.login_time.elapsed());
        Self { at: runtime::now().checked_add(limit), logins }
    }

    /// Returns what is left of the limit.
    pub(crate) fn left(self, inner: &ConnectionInner) -> Duration {
        inner.with(|state| self.left_at(&state.login_time))
    }

    pub(crate) fn left_at(self, logins: &LoginTime) -> Duration {
        let end = self.end(logins);
        end.map_or(Duration::MAX, |end| end.saturating_duration_since(runtime::now()))
    }

    /// Returns the time at which the limit ends; `None` while a login moves it.
    pub(crate) fn at(self, logins: &LoginTime) -> Option<Instant> {
        self.end(logins).filter(|_| logins.since.is_none())
    }

    fn end(self, logins: &LoginTime) -> Option<Instant> {
        self.at?.checked_add(logins.elapsed().saturating_sub(self.logins))
    }
}

impl LoginTime {
    fn elapsed(&self) -> Duration {
        self.total.saturating_add(self.since.map_or(Duration::ZERO, runtime::elapsed))
    }

    /// Returns whether a login has ended.
    #[cfg(feature = "http")]
    pub(crate) fn set(&mut self, is_going_on: bool) -> bool {
        self.total = self.elapsed();
        let was_going_on = self.since.take().is_some();
        self.since = is_going_on.then(runtime::now);
        was_going_on && !is_going_on
    }
}
