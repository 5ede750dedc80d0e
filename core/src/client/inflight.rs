//! Entries of the tables: calls to the server and requests of the server.

use core::time::Duration;

use crate::inflight::Keyed;
use crate::message::{Id, IdText};
use crate::progress::Reported;
use crate::time::Instant;

/// A request of ours.
#[derive(Debug)]
pub(super) struct InflightCall {
    /// Its id, and its progress token.
    pub(super) number: u32,
    pub(super) kind: CallKind,
    /// How often it was sent again with input.
    pub(super) round: u8,
    pub(super) may_require_input: bool,
    pub(super) wants_progress: bool,
    /// The silence after which it is given up.
    pub(super) timeout: Duration,
    /// When it is given up in any case.
    pub(super) limit: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    /// The application waits for the answer.
    Application,
    /// `subscriptions/listen`: the application waits for its end; before that, for the
    /// acknowledgement.
    Listen { acknowledged: bool },
    /// `server/discover` or `initialize`.
    Connect,
    /// To see whether the peer is alive.
    KeepAlive,
}

impl Keyed for InflightCall {
    fn answers_to(&self, id: Id<'_>) -> bool {
        id.as_u32() == Some(self.number)
    }
}

/// A request of the peer's.
#[derive(Debug)]
pub(super) struct InflightRequest {
    pub(super) id: IdText,
    /// Empty when no progress is wanted.
    pub(super) token: IdText,
    pub(super) reported: Reported,
}

impl Keyed for InflightRequest {
    fn answers_to(&self, id: Id<'_>) -> bool {
        id.means_the_same(&self.id)
    }
}

/// The latest `N` of them, by number. Four bytes each.
#[derive(Debug)]
pub(super) struct AbandonedIds<const N: usize> {
    /// Zero where nothing is: no request has that number.
    numbers: [u32; N],
    next: u16,
}

impl<const N: usize> AbandonedIds<N> {
    pub(super) const fn new() -> Self {
        Self { numbers: [0; N], next: 0 }
    }

    /// Takes one in, in the place of the oldest.
    pub(super) fn add(&mut self, number: u32) {
        if let Some(place) = self.numbers.get_mut(usize::from(self.next)) {
            *place = number;
        }
        self.next = (self.next + 1) % N.max(1) as u16;
    }

    /// Takes one out; `false` when it is not there.
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
