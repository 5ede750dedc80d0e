//! What is kept of a request, ours or the peer's, while it waits for its answer.

use core::time::Duration;

use crate::inflight::Keyed;
use crate::message::{Id, IdText};
use crate::progress::Reported;
use crate::time::Instant;

/// A request of ours.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Its id, and its progress token.
    pub(super) number: u32,
    pub(super) purpose: Purpose,
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
pub(super) enum Purpose {
    /// The application waits for the answer.
    Application,
    /// `subscriptions/listen`: the application waits for its end; before that, for the
    /// acknowledgement.
    Listen { acknowledged: bool },
    /// `server/discover` or `initialize`.
    Opening,
    /// To see whether the peer is alive.
    KeepAlive,
}

impl Keyed for Outgoing {
    fn answers_to(&self, id: Id<'_>) -> bool {
        id.as_u32() == Some(self.number)
    }
}

/// A request of the peer's.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) id: IdText,
    /// Empty when no progress is wanted.
    pub(super) token: IdText,
    pub(super) reported: Reported,
}

impl Keyed for Incoming {
    fn answers_to(&self, id: Id<'_>) -> bool {
        id.means_the_same(&self.id)
    }
}
