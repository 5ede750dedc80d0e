//! Table entries: open requests of the client, and calls to it.

use crate::error::NotAllowed;
use crate::handle::ExchangeId;
use crate::inflight::{Keyed, Slot};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::message::{Id, OwnedId};
use crate::progress::Reported;
use crate::types::LoggingLevel;

/// An open request.
#[derive(Debug)]
pub(super) struct InflightRequest {
    pub(super) id: OwnedId,
    /// The progress token; empty if the client sent none.
    pub(super) token: OwnedId,
    pub(super) revision: Revision,
    pub(super) capabilities: ClientFeatures,
    /// The least severe log level requested in `_meta`; `None` if the client wants no log messages.
    pub(super) log_level: Option<LoggingLevel>,
    pub(super) may_require_input: bool,
    pub(super) kind: RequestKind,
    pub(super) reported: Reported,
    /// The number of open calls of this request; its timeout pauses while there are any.
    pub(super) nested_calls: u16,
    /// Milliseconds until the timeout, while paused.
    pub(super) time_left: u64,
    pub(super) exchange: ExchangeId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestKind {
    /// The application responds to it.
    Request,
    /// A `subscriptions/listen`, and the kinds of changes that it reports.
    Listen(super::subscriptions::Kinds),
    /// A `subscriptions/listen` that names tasks, whose acknowledgement is partly written.
    #[cfg(feature = "tasks")]
    Granting(super::subscriptions::Kinds),
    /// A `subscriptions/listen` that has been cancelled by the server; its result is not written
    /// yet.
    Ending,
}

impl InflightRequest {
    /// Begins a request in place of an earlier one; an entry is about 170 bytes.
    pub(super) fn begin(
        &mut self,
        id: Id<'_>,
        revision: Revision,
        kind: RequestKind,
        exchange: ExchangeId,
    ) {
        self.id.set(id);
        self.token.clear();
        self.revision = revision;
        self.capabilities = ClientFeatures::NONE;
        self.log_level = None;
        self.may_require_input = false;
        self.kind = kind;
        self.reported = Reported::NOTHING;
        self.nested_calls = 0;
        self.time_left = u64::MAX;
        self.exchange = exchange;
    }

    /// Returns whether the response may require input for which the client needs these
    /// capabilities (2026-07-28, basic/patterns/mrtr).
    pub(super) fn may_ask_for(&self, needs: ClientFeatures) -> Result<(), NotAllowed> {
        if !self.revision.is_modern() {
            Err(NotAllowed::Revision)
        } else if !self.may_require_input {
            Err(NotAllowed::Method)
        } else if !self.capabilities.contains(needs) {
            Err(NotAllowed::Capability)
        } else {
            Ok(())
        }
    }
}

impl Keyed for InflightRequest {
    const EMPTY: Self = Self {
        id: OwnedId::EMPTY,
        token: OwnedId::EMPTY,
        revision: Revision::V2024_11_05,
        capabilities: ClientFeatures::NONE,
        // `None` is not zero.
        log_level: Some(LoggingLevel::Debug),
        may_require_input: false,
        kind: RequestKind::Request,
        reported: Reported::EMPTY,
        nested_calls: 0,
        time_left: 0,
        exchange: ExchangeId::SESSION,
    };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.matches(&self.id)
    }
}

/// An open call.
#[derive(Debug)]
pub(super) struct InflightCall {
    /// The id of the call.
    pub(super) number: u32,
    /// The request that the call belongs to.
    pub(super) parent: Option<Slot>,
    pub(super) kind: CallKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    /// Made by the application.
    Application,
    /// A ping that checks whether the peer is alive.
    KeepAlive,
    /// Its request has ended; `notifications/cancelled` is still to be sent.
    Abandoned,
}

impl Keyed for InflightCall {
    const EMPTY: Self = Self { number: 0, parent: None, kind: CallKind::Application };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.as_u32() == Some(self.number)
    }
}
