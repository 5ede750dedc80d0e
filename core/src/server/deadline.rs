//! What time alone brings about.

use super::Server;
use super::event::ServerEvent;
use super::pending::{Purpose, Role};
use super::respond::has_begun;
use crate::client::CallOutcome;
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::inflight::Slot;
use crate::json::RawJson;
use crate::rpc::{RpcError, write_error};
use crate::time::Instant;
use crate::tx::{FrameKey, Tx};

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// When [`handle_timeout`](Self::handle_timeout) is worth a call: perhaps early, never late.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.requests.earliest(), self.calls.earliest(), self.ping_due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does one thing that is due, and says which. Call it until it says `None`.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        // What has begun goes on, whatever else is due by now.
        if tx.is_open(FrameKey::PING) {
            return self.ping(now, tx).map(|()| None);
        }
        let (call, request) = if tx.has_open() { self.begun(tx) } else { (None, None) };
        if let Some(slot) = request {
            return self.expire(slot, tx);
        }
        if let Some(slot) = call.or_else(|| self.calls.expired(now)) {
            return self.give_up(now, slot, tx);
        }
        while let Some(slot) = self.requests.expired(now) {
            // An answer that has begun is finished.
            if self.requests.get(slot).is_none_or(|pending| pending.role != Role::Request)
                || has_begun(tx, slot)
            {
                self.requests.set_deadline(slot, None);
                // The next may belong elsewhere.
                if self.requests.get(slot).is_some_and(|pending| !pending.exchange.is_a_stream()) {
                    return Ok(None);
                }
                continue;
            }
            return self.expire(slot, tx);
        }
        if self.ping_due().is_some_and(|due| due <= now) {
            self.ping(now, tx)?;
        }
        Ok(None)
    }

    /// Whose cancellation or expiry has been written in part.
    fn begun(&self, tx: &Tx<'_>) -> (Option<Slot>, Option<Slot>) {
        let is_begun = |slot: &Slot| {
            self.calls.get(*slot).is_some_and(|call| tx.is_open(FrameKey::cancel(call.number)))
        };
        let expires = |slot: &Slot| tx.is_open(FrameKey::expiry(slot.index, slot.serial));
        (self.calls.slots().find(is_begun), self.requests.slots().find(expires))
    }

    fn expire(
        &mut self,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        let Some(pending) = self.requests.get(slot) else { return Ok(None) };
        let error = RpcError::internal("The request timed out");
        let key = FrameKey::expiry(slot.index, slot.serial);
        tx.frame(key, pending.revision, &mut |writer| {
            write_error(writer, Some(pending.id.as_str()), &error)
        })?;
        self.forget(slot);
        Ok(Some(ServerEvent::RequestTimedOut { request: RequestHandle(slot) }))
    }

    /// The transport is closed: everything in flight is forgotten, and nobody is told. The server
    /// can be used for a new connection.
    pub fn close(&mut self) {
        self.requests.clear();
        self.calls.clear();
        self.subscriptions = super::listen::Subscriptions::new();
        self.scope = None;
        self.acknowledging = None;
        self.calls_made = 0;
    }

    fn give_up(
        &mut self,
        now: Instant,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        let Some(number) = self.calls.get(slot).map(|outgoing| outgoing.number) else {
            return Ok(None);
        };
        self.write_cancelled(number, tx)?;
        Ok(match self.end_call(now, slot) {
            Some(Purpose::Application) => {
                Some(ServerEvent::CallFinished { call: Call(slot), outcome: CallOutcome::TimedOut })
            }
            Some(Purpose::Orphan) => Some(ServerEvent::CallFinished {
                call: Call(slot),
                outcome: CallOutcome::Cancelled,
            }),
            Some(Purpose::KeepAlive) => Some(ServerEvent::Unresponsive),
            None => None,
        })
    }

    /// Only a legacy peer can be pinged; one ping at a time.
    pub(super) fn ping_due(&self) -> Option<Instant> {
        let interval = self.config.ping_interval?;
        self.scope?;
        let waiting = self.calls.slots().any(|slot| {
            self.calls.get(slot).is_some_and(|call| call.purpose == Purpose::KeepAlive)
        });
        if waiting || self.calls.is_full() {
            None
        } else {
            Some(self.heard.saturating_add(interval))
        }
    }

    fn ping(&mut self, now: Instant, tx: &mut Tx<'_>) -> Result<(), SendError> {
        let Some(scope) = self.scope else { return Ok(()) };
        let timeout = self.config.ping_timeout;
        self.call::<RawJson<'_>>(
            now,
            "ping",
            None,
            Purpose::KeepAlive,
            None,
            timeout,
            scope.revision,
            tx,
        )
        .map(|_| ())
    }
}
