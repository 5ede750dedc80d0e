//! Requests of ours.

use core::cell::Cell;

use serde::Serialize;

use super::Client;
use super::inputs::InputResponseParams;
use super::options::CallOptions;
use super::pending::{Outgoing, Purpose};
use super::request::New;
use crate::error::SendError;
use crate::handle::Call;
use crate::inflight::Slot;
use crate::json::{Addition, Extras, WriteError, WriteResult, Writer, write_result, write_value};
use crate::lifecycle::Method;
use crate::rpc::write_notification_head;
use crate::time::Instant;
use crate::tx::{FrameKey, Tx};
use crate::types::{SubscriptionFilter, SubscriptionsListenParams};

impl<'c, const N: usize> Client<'c, N> {
    /// Sends a request. `params` is anything that serializes as a JSON object,
    /// [`RawJson::EMPTY`](crate::RawJson::EMPTY) for none; what each modern request carries in
    /// `_meta` is added. What the client can do and who it is may be in `params` already, for this
    /// request alone; the revision and the progress token may not. The answer
    /// is a [`ClientEvent::CallFinished`](super::ClientEvent::CallFinished).
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] before the client is open, for a method that the revision does not
    /// know or the server did not declare, and for `subscriptions/listen`
    /// ([`listen`](Self::listen)). [`SendError::Value`] when the parameters are no object, or have
    /// what is the client's to add. [`SendError::TooMany`] when the table is full.
    /// [`SendError::Full`]: drain and call again with the same arguments.
    pub fn request<P: Serialize + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: &P,
        options: CallOptions,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        let write: WriteResult<'_> = &|writer, extras| write_result(writer, params, extras);
        self.send(now, &New { options, ..New::request(method, write, self.speaks()) }, tx)
    }

    /// Sends a request again with the input that the server needs: the same method and parameters
    /// as before, under a new id (2026-07-28, basic/patterns/mrtr).
    ///
    /// # Errors
    /// As [`request`](Self::request); [`SendError::NotAllowed`] also for what cannot be asked for
    /// input.
    #[allow(clippy::too_many_arguments)] // those of a request, and the inputs
    pub fn retry<P: Serialize + ?Sized, R: Serialize + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: &P,
        inputs: &InputResponseParams<'_, R>,
        options: CallOptions,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        if !self.speaks().is_modern()
            || !Method::from_name(method).is_some_and(Method::may_require_input)
        {
            return Err(SendError::NotAllowed);
        }
        let added = Cell::new(0);
        let responses = |writer: &mut Writer<'_>| {
            added.set(added.get() + 1);
            match inputs.responses {
                Some(responses) => write_result(writer, responses, Extras::Nothing),
                None => writer.put(b"{}"),
            }
        };
        let state = |writer: &mut Writer<'_>| {
            added.set(added.get() + 1);
            write_value(writer, &inputs.state.unwrap_or_default())
        };
        let both: [Addition<'_>; 2] = [("inputResponses", &responses), ("requestState", &state)];
        let members = match (inputs.responses.is_some(), inputs.state.is_some()) {
            (true, true) => both.get(..),
            (true, false) => both.get(..1),
            (false, true) => both.get(1..),
            (false, false) => None,
        };
        let (inputs, round) = (members.unwrap_or_default(), inputs.round.saturating_add(1));
        let write: WriteResult<'_> = &|writer, extras| {
            added.set(0);
            write_result(writer, params, extras)?;
            // Inputs of another round in the parameters would take the place of these.
            if added.get() == inputs.len() { Ok(()) } else { Err(WriteError::Value) }
        };
        self.send(
            now,
            &New { options, inputs, round, ..New::request(method, write, self.speaks()) },
            tx,
        )
    }

    /// Asks a modern server to be told of changes (`subscriptions/listen`; 2026-07-28,
    /// basic/patterns/subscriptions). It stays in flight until the server ends it, or
    /// [`cancel_call`](Self::cancel_call) does; the time limit is for the acknowledgement. A legacy server
    /// tells of changes of its lists without being asked, and of resources after
    /// `resources/subscribe`.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] before the client is open, and for a legacy server.
    /// [`SendError::TooMany`] when the table is full. [`SendError::Full`]: drain and call again with the same arguments.
    pub fn listen(
        &mut self,
        now: Instant,
        filter: &SubscriptionFilter<'_>,
        options: CallOptions,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        if !self.session().is_some_and(|session| session.revision.is_modern()) {
            return Err(SendError::NotAllowed);
        }
        let params = SubscriptionsListenParams::new(*filter);
        let write: WriteResult<'_> = &|writer, extras| write_result(writer, &params, extras);
        // There is no progress in it.
        let options = CallOptions { progress: false, ..options };
        let purpose = Purpose::Listen { acknowledged: false };
        let new =
            New { options, purpose, ..New::request("subscriptions/listen", write, self.speaks()) };
        self.call(now, &new, tx).map(Call)
    }

    /// Gives a request up and tells the server. `false` when it was over already. No event follows.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn cancel_call(
        &mut self,
        call: Call,
        reason: Option<&str>,
        tx: &mut Tx<'_>,
    ) -> Result<bool, SendError> {
        let Some(outgoing) = self.calls.get(call.0) else { return Ok(false) };
        if !matches!(outgoing.purpose, Purpose::Application | Purpose::Listen { .. }) {
            return Ok(false);
        }
        let number = outgoing.number;
        self.write_cancelled(FrameKey::cancel(number), number, reason, tx)?;
        self.retire(call.0);
        Ok(true)
    }

    /// Ends the request or notification that is partly in `tx` (after [`SendError::Full`], where
    /// [`is_mid_frame`](crate::TxBuffer::is_mid_frame)) when the application will not finish it:
    /// the line is cut off there, and the server ignores it as invalid JSON. Does nothing when no
    /// such message is open.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn abort_frame(&mut self, tx: &mut Tx<'_>) -> Result<(), SendError> {
        if tx.abandon_sent()? {
            self.forgo(self.calls_made.saturating_add(1));
        }
        Ok(())
    }

    /// The next id was in a line that has been cut off, and may be answered with an error: nothing
    /// else is called so.
    pub(super) fn forgo(&mut self, number: u32) {
        self.calls_made = number;
        self.retired.add(number);
    }

    fn send(&mut self, now: Instant, new: &New<'_>, tx: &mut Tx<'_>) -> Result<Call, SendError> {
        let Some(session) = self.session() else { return Err(SendError::NotAllowed) };
        let allowed = match Method::from_name(new.method) {
            Some(Method::Initialize | Method::SubscriptionsListen) => false,
            Some(known) => known.rule().is_none_or(|rule| match session.capabilities {
                Some(declared) => rule.allows(session.revision, declared),
                None => rule.exists_in(session.revision),
            }),
            None => !new.method.starts_with("notifications/"),
        };
        // What has begun is finished.
        if !allowed && !tx.is_open(self.key(new)) {
            return Err(SendError::NotAllowed);
        }
        self.call(now, new, tx).map(Call)
    }

    pub(super) fn write_cancelled(
        &self,
        key: FrameKey,
        number: u32,
        reason: Option<&str>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        tx.frame(key, self.speaks(), &mut |writer| {
            write_notification_head(writer, "notifications/cancelled")?;
            writer.put(b"{\"requestId\":")?;
            writer.unsigned(u64::from(number))?;
            if let Some(reason) = reason {
                writer.put(b",\"reason\":")?;
                writer.string(reason)?;
            }
            writer.put(b"}}")
        })
    }

    /// Takes a request of ours out of the table, whose answer may still come.
    pub(super) fn retire(&mut self, slot: Slot) -> Option<Outgoing> {
        let outgoing = self.calls.remove(slot)?;
        self.retired.add(outgoing.number);
        Some(outgoing)
    }
}
