//! Calls whose response does not come, or comes late: what the transport says about them.

use core::time::Duration;

use super::event::{CallOutcome, ClientEvent, ConnectError};
use super::inflight::CallKind;
use super::{Client, Phase};
use crate::error::SendError;
use crate::handle::Call;
use crate::http::client::HttpFailure;
use crate::inflight::Slot;
use crate::message::Id;
use crate::time::Instant;
use crate::tx::Tx;

impl Client<'_> {
    /// Ends the call with this id, because its request failed in HTTP: with
    /// [`CallOutcome::Http`], or with [`CallOutcome::Error`] if the failure has a JSON-RPC error.
    /// [`Exchange::request_id`](crate::http::client::Exchange::request_id) has the id. Does nothing
    /// if the call is over. A `server/discover` that failed with a status below 500 or with an
    /// invalid response means a legacy server, as an error response does: `initialize` is sent. Any
    /// other failure says nothing about the era, and ends connecting.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn fail<'f>(
        &mut self,
        now: Instant,
        request_id: &'f str,
        failure: HttpFailure<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'f>>, SendError> {
        let Some(id) = Id::parse(request_id) else { return Ok(None) };
        if let HttpFailure::JsonRpc(error) = failure {
            return self.response(now, Some(id), Err(error), tx);
        }
        let Some((slot, kind)) = self.find(id) else {
            // No response comes that would have to be ignored.
            id.as_u32().map(|number| self.abandoned_ids.remove(number));
            return Ok(None);
        };
        if self.is_being_cancelled(slot, tx) {
            return Ok(None);
        }
        if kind == CallKind::Connect {
            return self.connect_failed(now, slot, failure, tx);
        }
        self.calls.remove(slot);
        Ok((kind != CallKind::KeepAlive).then_some(ClientEvent::CallFinished {
            call: Call(slot),
            outcome: CallOutcome::Http(failure),
        }))
    }

    /// Gives the call with this id this much more time, because its request waits for somebody else
    /// than the server: a person who logs in. Does nothing if the call is over, or has no time
    /// limit. [`bring_forward`](Self::bring_forward) takes back what was too much.
    pub fn postpone(&mut self, request_id: &str, by: Duration) {
        self.move_deadline(request_id, |at| at.saturating_add(by));
    }

    /// Takes back this much of the time that was [given](Self::postpone) to the call with this id.
    pub fn bring_forward(&mut self, request_id: &str, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.move_deadline(request_id, |at| {
            Instant::from_millis(at.as_millis().saturating_sub(by))
        });
    }

    fn move_deadline(&mut self, request_id: &str, to: impl Fn(Instant) -> Instant) {
        let Some((slot, _)) = Id::parse(request_id).and_then(|id| self.find(id)) else { return };
        let deadline = self.calls.deadline(slot);
        self.calls.set_deadline(slot, deadline.map(&to));
        if let Some(outgoing) = self.calls.get_mut(slot)
            && let Some(limit) = outgoing.limit.or_none()
        {
            outgoing.limit = to(limit);
        }
    }

    /// Handles the failure of the probe or of `initialize`.
    fn connect_failed<'f>(
        &mut self,
        now: Instant,
        slot: Slot,
        failure: HttpFailure<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ClientEvent<'f>>, SendError> {
        let number = self.calls.get(slot).map_or(0, |outgoing| outgoing.number);
        let may_be_legacy = matches!(self.peer.phase, Phase::Probing)
            && matches!(failure, HttpFailure::Status(..500) | HttpFailure::Invalid(_));
        if let Some(newest) = self.config.revisions.newest_legacy().filter(|_| may_be_legacy) {
            self.initialize(now, newest, Some(slot), tx)?;
            self.abandoned_ids.remove(number);
            return Ok(None);
        }
        self.calls.remove(slot);
        self.peer.phase = Phase::Closed;
        Ok(Some(ClientEvent::ConnectFailed(ConnectError::Http(failure))))
    }
}
