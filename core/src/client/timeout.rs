//! Timeouts, pings, and the end of a connection.

use super::call::NewCall;
use super::config::CallOptions;
use super::event::{CallOutcome, ClientEvent};
use super::inflight::CallKind;
use super::{Client, Phase};
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::inflight::Slot;
use crate::json::RawJson;
use crate::rpc::{RpcError, write_error};
use crate::time::Instant;
use crate::tx::{Tx, WriterId};

impl Client<'_> {
    /// Returns the time of the next [`handle_timeout`](Self::handle_timeout). It may be early, but
    /// never late.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        [self.calls.earliest(), self.requests.earliest(), self.ping_due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Handles one deadline that has passed, and returns its event. Call it until it returns
    /// `None`.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn handle_timeout(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'static>>, SendError> {
        // Partly written frames go first, whatever else is due.
        if tx.is_open(WriterId::PING) {
            return self.ping(now, tx).map(|()| None);
        }
        let (call, request) = if tx.has_open() { self.partly_written(tx) } else { (None, None) };
        if let Some(slot) = request {
            return self.time_out_request(slot, tx);
        }
        let mut due = call.or_else(|| self.calls.expired(now));
        while let Some(slot) = due {
            if self.is_being_ended(slot, tx) {
                self.calls.set_deadline(slot, None);
            } else if let Some(event) = self.time_out_call(now, slot, tx)? {
                return Ok(Some(event));
            }
            due = self.calls.expired(now);
        }
        while let Some(slot) = self.requests.expired(now) {
            // A partly written response is finished.
            if tx.is_open(WriterId::response(slot.index, slot.serial)) {
                self.requests.set_deadline(slot, None);
                continue;
            }
            return self.time_out_request(slot, tx);
        }
        if self.ping_due().is_some_and(|due| due <= now) {
            self.ping(now, tx)?;
        }
        Ok(None)
    }

    /// Ends the connection: call it when the transport is closed. Returns one event for each call
    /// that ends with it, then `None`: `while let Some(event) = client.close() {}`. The client can
    /// [`connect`](Self::connect) again then; it keeps the [era](Self::era) of the server.
    ///
    /// Requests of the server are dropped without a response. A partly written frame stays
    /// unfinished: the next connection needs new output and receive buffers.
    pub fn close(&mut self) -> Option<ClientEvent<'static>> {
        self.peer.phase = Phase::Closed;
        self.requests.clear();
        loop {
            let slot = self.calls.slots().next()?;
            let outgoing = self.calls.remove(slot)?;
            if matches!(outgoing.kind, CallKind::Application | CallKind::Listen { .. }) {
                return Some(ClientEvent::CallFinished {
                    call: Call(slot),
                    outcome: CallOutcome::Closed,
                });
            }
        }
    }

    /// Returns the call and the request whose cancellation or error response is partly written.
    fn partly_written(&self, tx: &Tx<'_>) -> (Option<Slot>, Option<Slot>) {
        let is_begun = |slot: &Slot| {
            // `initialize` after a probe is finished here; any other opening frame is finished by
            // the method that started it.
            let probing =
                matches!(self.peer.phase, Phase::Probing) && tx.is_open(WriterId::CONNECT);
            let opening = |kind| kind == CallKind::Connect && probing;
            self.calls.get(*slot).is_some_and(|call| {
                tx.is_open(WriterId::timeout_cancel(call.number)) || opening(call.kind)
            })
        };
        let expires = |slot: &Slot| tx.is_open(WriterId::timeout_error(slot.index, slot.serial));
        (self.calls.slots().find(is_begun), self.requests.slots().find(expires))
    }

    /// Whether another method is writing the end of the call, which must be finished.
    fn is_being_ended(&self, slot: Slot, tx: &Tx<'_>) -> bool {
        let replaced =
            matches!(self.peer.phase, Phase::Initializing(_)) && tx.is_open(WriterId::CONNECT);
        self.calls.get(slot).is_some_and(|call| match call.kind {
            CallKind::Connect => replaced,
            _ => tx.is_open(WriterId::cancel(call.number)),
        })
    }

    fn time_out_call(
        &mut self,
        now: Instant,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'static>>, SendError> {
        let Some(outgoing) = self.calls.get(slot) else { return Ok(None) };
        match outgoing.kind {
            CallKind::Connect => self.connect_timed_out(now, slot, tx),
            CallKind::KeepAlive => {
                self.write_cancelled(
                    WriterId::timeout_cancel(outgoing.number),
                    outgoing.number,
                    None,
                    tx,
                )?;
                self.abandon_call(slot);
                Ok(Some(ClientEvent::Unresponsive))
            }
            CallKind::Application | CallKind::Listen { .. } => {
                self.write_cancelled(
                    WriterId::timeout_cancel(outgoing.number),
                    outgoing.number,
                    None,
                    tx,
                )?;
                self.abandon_call(slot);
                Ok(Some(ClientEvent::CallFinished {
                    call: Call(slot),
                    outcome: CallOutcome::TimedOut,
                }))
            }
        }
    }

    fn time_out_request(
        &mut self,
        slot: Slot,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'static>>, SendError> {
        let Some(incoming) = self.requests.get(slot) else { return Ok(None) };
        let error = RpcError::internal("The request timed out");
        let key = WriterId::timeout_error(slot.index, slot.serial);
        tx.frame(key, self.current_revision(), &mut |writer| {
            write_error(writer, Some(incoming.id.as_str()), &error)
        })?;
        self.requests.remove(slot);
        Ok(Some(ClientEvent::RequestTimedOut { request: RequestHandle(slot) }))
    }

    fn ping(&mut self, now: Instant, tx: &mut Tx<'_>) -> Result<(), SendError> {
        let options = CallOptions::new().timeout(self.config.ping_timeout);
        let new = NewCall::request("ping", &RawJson::EMPTY, self.current_revision());
        self.send_call(now, &NewCall { kind: CallKind::KeepAlive, options, ..new }, tx).map(|_| ())
    }

    /// Time of the next ping. Legacy servers only, one ping at a time.
    fn ping_due(&self) -> Option<Instant> {
        let interval = self.config.ping_interval?;
        let legacy = self.revision().is_some_and(|revision| !revision.is_modern());
        let waiting = self
            .calls
            .slots()
            .any(|slot| self.calls.get(slot).is_some_and(|call| call.kind == CallKind::KeepAlive));
        if !legacy || waiting || self.calls.is_full() {
            None
        } else {
            Some(self.peer.last_received.saturating_add(interval))
        }
    }
}
