//! What is kept of a request, the peer's or ours, while it waits for its answer.

use crate::inflight::{Keyed, Slot};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::message::{ExchangeKey, Id, IdText};
use crate::progress::Reported;
use crate::types::LoggingLevel;

/// A request of the peer's.
#[derive(Debug)]
pub(super) struct InflightRequest {
    pub(super) id: IdText,
    /// Empty when no progress is kinds.
    pub(super) token: IdText,
    pub(super) revision: Revision,
    pub(super) capabilities: ClientFeatures,
    /// The least severe level that a modern request wants; none, if it wants nothing.
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) may_require_input: bool,
    pub(super) kind: RequestKind,
    pub(super) reported: Reported,
    /// Requests of ours on its behalf; its time stands still while there are any.
    pub(super) nested_calls: u16,
    /// Milliseconds, while it stands still.
    pub(super) time_left: u64,
    pub(super) exchange: ExchangeKey,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestKind {
    /// The application answers it.
    Request,
    /// A `subscriptions/listen`, and which changes it is told of.
    Listen(super::subscriptions::Kinds),
    /// A `subscriptions/listen` whose end has been announced; its result is still owed.
    Ending,
}

impl Keyed for InflightRequest {
    fn has_id(&self, id: Id<'_>) -> bool {
        id.means_the_same(&self.id)
    }
}

/// A request of ours.
#[derive(Debug)]
pub(super) struct InflightCall {
    /// Its id.
    pub(super) number: u32,
    /// The request on whose behalf it was made.
    pub(super) parent: Option<Slot>,
    pub(super) kind: CallKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    /// The application waits for the answer.
    Application,
    /// To see whether the peer is alive.
    KeepAlive,
    /// Nobody waits any more; the peer has yet to be told.
    Abandoned,
}

impl Keyed for InflightCall {
    fn has_id(&self, id: Id<'_>) -> bool {
        id.as_u32() == Some(self.number)
    }
}
