//! HTTP exchanges: where the output of a server belongs.
//!
//! Each exchange has a [`TxBuffer`](crate::TxBuffer::for_http_response) of its own. What
//! [`Server::next_event`] writes belongs to the exchange whose body it reads; these functions say
//! which exchange other output belongs to. [`ExchangeId::SESSION`] is the standalone GET stream of
//! the session, for output that belongs to no request.

use super::inflight::CallKind;
use super::{Phase, Server, Session};
use crate::handle::{Call, ExchangeId, RequestHandle};
use crate::inflight::Slot;
use crate::lifecycle::{ClientFeatures, Revision};
use crate::time::Instant;

impl Server<'_> {
    /// Returns the exchange of a request, for its response, its progress and log notifications, and
    /// its calls. [`ExchangeId::SESSION`] if the request is no longer open.
    #[must_use]
    pub fn exchange(&self, request: RequestHandle) -> ExchangeId {
        self.exchange_of(request.0)
    }

    /// Returns the exchange for the cancellation of a call: that of the request it belongs to, if
    /// that is still open.
    #[must_use]
    pub fn exchange_of_call(&self, call: Call) -> ExchangeId {
        self.parent_exchange(call.0)
    }

    /// Returns the exchange that the next [`handle_timeout`](Self::handle_timeout) writes to; each
    /// call of it writes to one exchange. `None` if no timeout is due.
    pub fn due_exchange(&mut self, now: Instant) -> Option<ExchangeId> {
        if let Some(slot) = self.calls.expired(now) {
            return Some(self.parent_exchange(slot));
        }
        if let Some(slot) = self.requests.expired(now) {
            return Some(self.exchange_of(slot));
        }
        self.next_ping().filter(|due| *due <= now).map(|_| ExchangeId::SESSION)
    }

    /// Returns the number of open requests of an exchange. An exchange without any has no more
    /// output.
    #[must_use]
    pub fn open_requests_of(&self, exchange: ExchangeId) -> usize {
        self.requests.slots().filter(|slot| self.exchange_of(*slot) == exchange).count()
    }

    /// Serves one exchange of a legacy client without a session, as if `initialize` had negotiated
    /// this revision, with no capabilities.
    pub fn start_legacy(&mut self, revision: Revision) {
        if !revision.is_modern() {
            let log_level = self.config.log_level;
            self.peer.session = Some(Session {
                revision,
                capabilities: ClientFeatures::NONE,
                extensions: 0,
                log_level,
                phase: Phase::Ready,
            });
        }
    }

    fn exchange_of(&self, slot: Slot) -> ExchangeId {
        self.requests.get(slot).map_or(ExchangeId::SESSION, |pending| pending.exchange)
    }

    fn parent_exchange(&self, call: Slot) -> ExchangeId {
        let call = self.calls.get(call).filter(|call| call.kind != CallKind::KeepAlive);
        call.and_then(|call| call.parent)
            .map_or(ExchangeId::SESSION, |parent| self.exchange_of(parent))
    }
}
