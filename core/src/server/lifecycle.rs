//! Timeouts, keep-alive pings, closing, and peers that restart on the same stream.

use super::event::ServerEvent;
use super::inflight::{CallKind, RequestKind};
use super::respond::is_response_open;
use super::{Peer, Server};
use crate::client::CallOutcome;
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::inflight::Slot;
use crate::lifecycle::Method;
use crate::message::{Envelope, Id, Member};
use crate::rpc::{RpcError, write_error};
use crate::time::Instant;
use crate::tx::{Tx, WriterId};

impl Server<'_> {
    /// Returns the next time to call [`handle_timeout`](Self::handle_timeout); possibly early,
    /// never late.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.requests.earliest(), self.calls.earliest(), self.ping_due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Handles one timeout that is due and returns its event. Call it until it returns `None`.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        // A partly written frame is continued first, whatever else is due.
        if tx.is_open(WriterId::PING) {
            return self.ping(now, tx).map(|()| None);
        }
        let (call, request) = if tx.has_open() { self.open_frames(tx) } else { (None, None) };
        if let Some(slot) = request {
            return self.expire(slot, tx);
        }
        if let Some(slot) = call.or_else(|| self.calls.expired(now)) {
            return self.end_call_late(now, slot, tx);
        }
        while let Some(slot) = self.requests.expired(now) {
            // A partly written response is finished.
            if self.requests.get(slot).is_none_or(|pending| pending.kind != RequestKind::Request)
                || is_response_open(tx, slot)
            {
                self.requests.set_deadline(slot, None);
                // The next timeout may belong to another exchange.
                if self.requests.get(slot).is_some_and(|pending| !pending.exchange.is_session()) {
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

    /// Returns the call whose cancellation, and the request whose timeout error is partly written.
    fn open_frames(&self, tx: &Tx<'_>) -> (Option<Slot>, Option<Slot>) {
        let is_begun = |slot: &Slot| {
            self.calls.get(*slot).is_some_and(|call| tx.is_open(WriterId::cancel(call.number)))
        };
        let expires = |slot: &Slot| tx.is_open(WriterId::timeout_error(slot.index, slot.serial));
        (self.calls.slots().find(is_begun), self.requests.slots().find(expires))
    }

    fn expire(
        &mut self,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        let Some(pending) = self.requests.get(slot) else { return Ok(None) };
        let error = RpcError::internal("The request timed out");
        let key = WriterId::timeout_error(slot.index, slot.serial);
        tx.frame(key, pending.revision, &mut |writer| {
            write_error(writer, Some(pending.id.as_str()), &error)
        })?;
        self.remove_request(slot);
        Ok(Some(ServerEvent::RequestTimedOut { request: RequestHandle(slot) }))
    }

    /// Returns whether a further request has to wait for an entry of the table. Not while a call is
    /// open: its response may stand behind that request.
    pub(crate) fn is_full(&self) -> bool {
        self.requests.is_full() && self.calls.len() == 0
    }

    /// Returns whether a request waits for the application, subscriptions aside.
    pub(crate) fn is_awaited(&self) -> bool {
        self.requests.slots().any(|slot| {
            self.requests.get(slot).is_some_and(|pending| pending.kind == RequestKind::Request)
        })
    }

    /// Resets the server after the transport has closed: drops all requests, calls and
    /// subscriptions without an event. The server can then be used for a new connection.
    pub fn close(&mut self) {
        self.requests.clear();
        self.calls.clear();
        self.subscriptions.clear();
        *self.peer = Peer { last_received: self.peer.last_received, ..Peer::UNKNOWN };
    }

    fn end_call_late(
        &mut self,
        now: Instant,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        let Some(number) = self.calls.get(slot).map(|outgoing| outgoing.number) else {
            return Ok(None);
        };
        self.write_cancelled(number, tx)?;
        Ok(match self.remove_call(now, slot) {
            Some(CallKind::Application) => {
                Some(ServerEvent::CallFinished { call: Call(slot), outcome: CallOutcome::TimedOut })
            }
            Some(CallKind::Abandoned) => Some(ServerEvent::CallFinished {
                call: Call(slot),
                outcome: CallOutcome::Cancelled,
            }),
            Some(CallKind::KeepAlive) => Some(ServerEvent::Unresponsive),
            None => None,
        })
    }

    /// Returns when the next ping is due. Only legacy peers are pinged, with one ping at a time.
    pub(super) fn ping_due(&self) -> Option<Instant> {
        let interval = self.config.ping_interval?;
        self.peer.session?;
        let waiting = self
            .calls
            .slots()
            .any(|slot| self.calls.get(slot).is_some_and(|call| call.kind == CallKind::KeepAlive));
        if waiting || self.calls.is_full() {
            None
        } else {
            Some(self.peer.last_received.saturating_add(interval))
        }
    }

    fn ping(&mut self, now: Instant, tx: &mut Tx<'_>) -> Result<(), SendError> {
        let Some(scope) = self.peer.session else { return Ok(()) };
        let timeout = self.config.ping_timeout;
        self.call(now, "ping", None, CallKind::KeepAlive, None, timeout, scope.revision, tx)
            .map(|_| ())
    }

    /// Detects that the peer restarted on the same stream (e.g. a serial line, which never closes):
    /// by a second `initialize`, or by an id that is in use. Ends one request or call of the
    /// previous session per invocation, until it returns `None`.
    pub(super) fn reconnect(
        &mut self,
        id: Id<'_>,
        method: Method<'_>,
        envelope: &Envelope<'_>,
        tx: &Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        let is_new_session = self.peer.session.is_some()
            && matches!(method, Method::Initialize)
            && !envelope.has(Member::ProtocolVersion);
        let slot = if is_new_session {
            self.requests.slots().next()
        } else {
            self.requests.find(id, id.hash())
        };
        // A partly written acknowledgement belongs to this request.
        let slot = slot.filter(|slot| self.peer.acknowledging != Some(*slot));
        // A partly written frame must be finished first, and needs its table entry.
        if (is_new_session || slot.is_some()) && tx.has_open() {
            return Err(SendError::Full);
        }
        if let Some(slot) = slot {
            self.remove_request(slot);
            return Ok(Some(ServerEvent::RequestCancelled {
                request: RequestHandle(slot),
                reason: None,
            }));
        }
        if is_new_session {
            loop {
                let Some(slot) = self.calls.slots().next() else { break };
                // The application does not know of pings.
                if self.remove_call(self.peer.last_received, slot) != Some(CallKind::KeepAlive) {
                    return Ok(Some(ServerEvent::CallFinished {
                        call: Call(slot),
                        outcome: CallOutcome::Cancelled,
                    }));
                }
            }
            self.subscriptions.clear();
            self.peer.session = None;
        }
        Ok(None)
    }
}
