//! Timeouts, keep-alive pings, closing, and peers that restart on the same stream.

use super::capability_hooks::{TimedOut, Timers};
use super::event::ServerEvent;
use super::inflight::{CallKind, RequestKind};
use super::respond::is_response_open;
use core::ops::ControlFlow;

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
        (self.timers()?.next)(self)
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
        match self.timers() {
            Some(timers) => (timers.handle)(self, now, tx),
            None => Ok(None),
        }
    }

    fn timers(&self) -> Option<&'static Timers> {
        self.config.timers.code.or(self.peer.calls.map(|calls| calls.timers))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        [self.requests.earliest(), self.calls.earliest(), self.next_ping()]
            .into_iter()
            .flatten()
            .min()
    }

    pub(super) fn handle_deadline(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'static>>, SendError> {
        // A partly written frame is continued first, whatever else is due: other writers find the
        // buffer full.
        let keep_alive = self.config.ping_interval.map(|interval| interval.code);
        if let Some(keep_alive) = keep_alive
            && tx.is_open(WriterId::PING)
        {
            return (keep_alive.ping)(self, now, tx).map(|()| None);
        }
        let requests = self.config.request_timeout.map(|timeout| timeout.code.handle);
        if let Some(time_out) = requests
            && tx.has_open()
            && self.requests.slots().any(|slot| is_expiring(slot, tx))
            && let ControlFlow::Break(event) = time_out(self, now, tx)?
        {
            return Ok(event);
        }
        let calls = self.peer.calls.map(|hooks| hooks.time_out);
        for time_out in [calls, requests].into_iter().flatten() {
            if let ControlFlow::Break(event) = time_out(self, now, tx)? {
                return Ok(event);
            }
        }
        if let Some(keep_alive) = keep_alive
            && (keep_alive.due)(self).is_some_and(|due| due <= now)
        {
            (keep_alive.ping)(self, now, tx)?;
        }
        Ok(None)
    }

    pub(super) fn time_out_request(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<TimedOut, SendError> {
        let begun = || self.requests.slots().find(|slot| is_expiring(*slot, tx));
        if let Some(slot) = tx.has_open().then(begun).flatten() {
            return self.expire(slot, tx);
        }
        while let Some(slot) = self.requests.expired(now) {
            let Some(pending) = self.requests.get(slot) else { break };
            if pending.kind == RequestKind::Request && !is_response_open(tx, slot) {
                return self.expire(slot, tx);
            }
            // A partly written response is finished.
            let is_in_session = pending.exchange.is_session();
            self.requests.set_deadline(slot, None);
            if !is_in_session {
                // The next timeout may belong to another exchange.
                return Ok(ControlFlow::Break(None));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn expire(&mut self, slot: Slot, tx: &mut Tx<'_>) -> Result<TimedOut, SendError> {
        let Some(pending) = self.requests.get(slot) else {
            return Ok(ControlFlow::Continue(()));
        };
        let error = RpcError::internal("The request timed out");
        let key = WriterId::timeout_error(slot.index, slot.serial);
        tx.frame(key, pending.revision, &mut |writer| {
            write_error(writer, Some(pending.id.as_str()), &error)
        })?;
        self.remove_request(slot);
        Ok(ControlFlow::Break(Some(ServerEvent::RequestTimedOut { request: RequestHandle(slot) })))
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

    /// Cancels a call that is due, or whose cancellation is partly written.
    pub(super) fn time_out_call(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<TimedOut, SendError> {
        let is_begun = |slot: &Slot| {
            self.calls.get(*slot).is_some_and(|call| tx.is_open(WriterId::cancel(call.number)))
        };
        let begun = if tx.has_open() { self.calls.slots().find(is_begun) } else { None };
        let Some(slot) = begun.or_else(|| self.calls.expired(now)) else {
            return Ok(ControlFlow::Continue(()));
        };
        let number = self.calls.get(slot).map_or(0, |outgoing| outgoing.number);
        self.write_cancelled(number, tx)?;
        let outcome = match self.remove_call(now, slot) {
            Some(CallKind::KeepAlive) => {
                return Ok(ControlFlow::Break(Some(ServerEvent::Unresponsive)));
            }
            Some(CallKind::Abandoned) => CallOutcome::Cancelled,
            _ => CallOutcome::TimedOut,
        };
        Ok(ControlFlow::Break(Some(ServerEvent::CallFinished { call: Call(slot), outcome })))
    }

    pub(super) fn next_ping(&self) -> Option<Instant> {
        (self.config.ping_interval?.code.due)(self)
    }

    /// Returns when the next ping is due. Only legacy peers are pinged, with one ping at a time.
    pub(super) fn ping_due(&self) -> Option<Instant> {
        let interval = self.config.ping_interval?.value;
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

    pub(super) fn ping(&mut self, now: Instant, tx: &mut Tx<'_>) -> Result<(), SendError> {
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
            if let Some(hooks) = self.peer.calls
                && let Some(ended) = (hooks.end_next)(self)
            {
                return Ok(Some(ended));
            }
            self.subscriptions.clear();
            self.peer.session = None;
        }
        Ok(None)
    }

    /// Removes pings, of which the application does not know, and the first other call.
    pub(super) fn end_next_call(&mut self) -> Option<ServerEvent<'static>> {
        loop {
            let slot = self.calls.slots().next()?;
            if self.remove_call(self.peer.last_received, slot) != Some(CallKind::KeepAlive) {
                let outcome = CallOutcome::Cancelled;
                return Some(ServerEvent::CallFinished { call: Call(slot), outcome });
            }
        }
    }
}

fn is_expiring(slot: Slot, tx: &Tx<'_>) -> bool {
    tx.is_open(WriterId::timeout_error(slot.index, slot.serial))
}
