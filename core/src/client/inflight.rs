//! Entries of the tables: calls to the server and requests of the server.

use core::time::Duration;

use crate::inflight::Keyed;
use crate::message::{Id, OwnedId};
use crate::progress::Reported;
use crate::time::Instant;

/// A call in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InflightCall {
    /// The id, and the progress token.
    pub(super) number: u32,
    pub(super) kind: CallKind,
    /// Number of retries with input.
    pub(super) round: u8,
    pub(super) may_require_input: bool,
    pub(super) wants_progress: bool,
    /// Whether the result may be a task.
    #[cfg(feature = "tasks")]
    pub(super) task_result: super::task::TaskResult,
    /// Time without progress after which the call is cancelled.
    pub(super) timeout: Duration,
    /// Time at which the call is cancelled whatever its progress.
    pub(super) limit: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    /// A call of the application.
    Application,
    /// `subscriptions/listen`.
    Listen { acknowledged: bool },
    /// `server/discover` or `initialize`.
    Connect,
    /// `ping`.
    KeepAlive,
}

impl Keyed for InflightCall {
    const EMPTY: Self = Self {
        number: 0,
        // `Application` is not zero.
        kind: CallKind::Listen { acknowledged: false },
        round: 0,
        may_require_input: false,
        wants_progress: false,
        #[cfg(feature = "tasks")]
        task_result: super::task::TaskResult::Never,
        timeout: Duration::ZERO,
        limit: Instant::from_millis(0),
    };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.as_u32() == Some(self.number)
    }
}

/// A request of the server.
#[derive(Debug)]
pub(super) struct InflightRequest {
    pub(super) id: OwnedId,
    /// Empty when the server did not request progress notifications.
    pub(super) token: OwnedId,
    pub(super) reported: Reported,
}

impl Keyed for InflightRequest {
    const EMPTY: Self =
        Self { id: OwnedId::EMPTY, token: OwnedId::EMPTY, reported: Reported::EMPTY };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.matches(&self.id)
    }
}

/// Ids of the latest abandoned calls, whose responses are ignored. Zero where empty: no call has
/// that id.
#[derive(Debug)]
pub(super) struct AbandonedIds<'s>(pub(super) &'s mut [u32]);

impl AbandonedIds<'_> {
    /// Adds an id, in place of the oldest, which is the smallest.
    pub(super) fn add(&mut self, number: u32) {
        if let Some(oldest) = self.0.iter_mut().min() {
            *oldest = number;
        }
    }

    /// Removes an id; `false` when it is not there.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        let found = self.0.iter_mut().find(|place| **place == number && number != 0);
        found.map(|place| *place = 0).is_some()
    }
}
