//! Entries of the tables: calls to the server and requests of the server.

use core::time::Duration;

use crate::inflight::Keyed;
use crate::message::{Id, OwnedId};
use crate::progress::Reported;
use crate::time::Instant;

/// A call in flight.
#[derive(Debug)]
pub(super) struct InflightCall {
    /// The id, and the progress token.
    pub(super) number: u32,
    pub(super) kind: CallKind,
    /// Number of retries with input.
    pub(super) round: u8,
    pub(super) may_require_input: bool,
    pub(super) wants_progress: bool,
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
    fn has_id(&self, id: Id<'_>) -> bool {
        id.matches(&self.id)
    }
}

/// Ids of the latest `N` abandoned calls, whose responses are ignored. Four bytes each.
#[derive(Debug)]
pub(super) struct AbandonedIds<const N: usize> {
    /// Zero where empty: no call has that id.
    numbers: [u32; N],
    next: u16,
}

impl<const N: usize> AbandonedIds<N> {
    pub(super) const fn new() -> Self {
        Self { numbers: [0; N], next: 0 }
    }

    /// Adds an id, in place of the oldest.
    pub(super) fn add(&mut self, number: u32) {
        if let Some(place) = self.numbers.get_mut(usize::from(self.next)) {
            *place = number;
        }
        self.next = (self.next + 1) % N.max(1) as u16;
    }

    /// Removes an id; `false` when it is not there.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        match self.numbers.iter_mut().find(|place| **place == number && number != 0) {
            Some(place) => {
                *place = 0;
                true
            }
            None => false,
        }
    }
}
