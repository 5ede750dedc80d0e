//! Reads messages and turns them into events.

#[cfg(feature = "http")]
use core::time::Duration;

use super::call::InputRequired;
use super::event::{CallOutcome, Changed, ClientEvent, ConnectError};
use super::{CallKind, Client, InflightCall, Phase};
use crate::buffers::tx::{Tx, WriterId};
#[cfg(feature = "http")]
use crate::http::client::HttpFailure;
use crate::json::{JsonStr, RawJson};
use crate::message::{Classified, Id, Item, Messages, Params, PeerViolation};
use crate::protocol::Revision;
use crate::protocol::error::{SendResult, Violation};
use crate::rpc::PeerError;
use crate::rpc::inflight::{Call, RequestHandle, Slot};
use crate::time::Instant;
use crate::types::SUBSCRIPTION_ID;

impl Client<'_> {
    /// Returns the next event of a frame; `None` at its end.
    ///
    /// Responds to `ping` and to requests that are not allowed, and does the steps of the
    /// connection, without the application.
    ///
    /// # Errors
    /// [`SendError::Full`](crate::SendError::Full) when such a response does not fit: drain `tx`
    /// and call again with the same `messages`.
    pub fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'f>>> {
        while !messages.is_done() {
            let mut envelope = messages.envelope();
            let Some((item, next)) = messages.peek(&mut envelope) else { break };
            let event = match item {
                Item::Message(Classified::Response { id, outcome }) => {
                    self.response(now, id, outcome, tx)?
                }
                Item::Message(Classified::Notification { method }) => {
                    self.notification(now, method, &envelope.params(), tx)?
                }
                Item::Message(Classified::Request { id, method }) => {
                    let event = self.handle_request(now, id, method, &envelope, tx)?;
                    // A call writes at most one frame, so it returns between the messages of a
                    // batch.
                    event.or(messages.in_batch().then_some(ClientEvent::Pinged))
                }
                Item::Batch if self.allows_batches() => None,
                Item::Batch => {
                    messages.finish();
                    return Ok(Some(ClientEvent::Violation(Violation::BatchNotAllowed.into())));
                }
                Item::Invalid { violation, id, forbids_response } => {
                    let forbids_response = envelope.may_be_response(violation, forbids_response);
                    let mut event =
                        self.invalid_message(now, violation, id, forbids_response, tx)?;
                    // The whole of a batch has been read, so its messages are JSON.
                    if let Some(ClientEvent::Violation(found)) = &mut event
                        && !messages.in_batch()
                    {
                        *found = PeerViolation::new(found.violation, messages.frame());
                    }
                    event
                }
            };
            self.peer.last_received = now;
            messages.advance(next);
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    fn allows_batches(&self) -> bool {
        self.revision() == Some(Revision::V2025_03_26)
    }

    pub(super) fn response<'f>(
        &mut self,
        now: Instant,
        id: Option<Id<'f>>,
        outcome: Result<RawJson<'f>, RawJson<'f>>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'f>>> {
        let outcome = outcome.map_err(PeerError::new);
        let Some(id) = id else { return Ok(outcome.err().map(ClientEvent::PeerError)) };
        let Some((slot, kind)) = self.find(id) else {
            return Ok(self.unexpected_response(id, outcome));
        };
        // The cancellation is partly written and must be finished: the response is too late.
        if self.is_being_cancelled(slot, tx) {
            #[cfg(feature = "tasks")]
            if self.calls.get(slot).is_some_and(InflightCall::may_create_task) {
                return Ok(self.unexpected_task(outcome));
            }
            return Ok(None);
        }
        if kind == CallKind::Connect {
            return self.connect_response(now, slot, outcome, tx);
        }
        let Some(outgoing) = self.calls.remove(slot).copied() else { return Ok(None) };
        let outcome = match outcome {
            _ if kind == CallKind::KeepAlive => return Ok(None),
            Ok(result) => self.classify(&outgoing, result),
            Err(error) => CallOutcome::Error(error),
        };
        Ok(Some(ClientEvent::CallFinished { call: Call(slot), outcome }))
    }

    /// Handles a response without a call. A late response to an abandoned call is ignored, unless
    /// it creates a task; a second response, or one to an unknown id, is a violation.
    fn unexpected_response<'f>(
        &mut self,
        id: Id<'f>,
        outcome: Result<RawJson<'f>, PeerError<'f>>,
    ) -> Option<ClientEvent<'f>> {
        let abandoned = id.as_u32().and_then(|number| self.abandoned_ids.remove(number));
        if abandoned.is_none() {
            return Some(ClientEvent::Violation(Violation::UnexpectedResponse.into()));
        }
        #[cfg(feature = "tasks")]
        if abandoned == Some(true) {
            return self.unexpected_task(outcome);
        }
        let legacy = matches!(self.peer.phase, Phase::Initializing(..))
            || self.revision().is_some_and(|revision| !revision.is_modern());
        let result =
            outcome.ok().filter(|result| legacy && result.get("supportedVersions").is_some());
        result.map(ClientEvent::UnexpectedDiscovery)
    }

    fn notification<'f>(
        &mut self,
        now: Instant,
        method: JsonStr<'f>,
        params: &Params<'f>,
        tx: &Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'f>>> {
        // The subscription that the notification belongs to. Late notifications of a finished one
        // are ignored.
        let listen = match params
            .meta()
            .and_then(|meta| meta.get(SUBSCRIPTION_ID))
            .map(|id| Id::parse(id.as_str()))
        {
            None => None,
            Some(id) => match id.and_then(|id| self.find(id)) {
                Some((slot, CallKind::Listen { .. })) if !self.is_being_cancelled(slot, tx) => {
                    Some(slot)
                }
                _ => return Ok(None),
            },
        };
        let changed = |what| Ok(Some(ClientEvent::Changed { listen: listen.map(Call), what }));
        if method == "notifications/progress" {
            Ok(self.progress_notification(now, params, tx))
        } else if method == "notifications/message" {
            Ok(Some(ClientEvent::Log { params: params.as_json() }))
        } else if method == "notifications/cancelled" {
            self.cancelled_notification(params, tx)
        } else if method == "notifications/subscriptions/acknowledged" {
            Ok(listen.and_then(|slot| self.acknowledged_notification(slot, params)))
        } else if method == "notifications/tools/list_changed" {
            changed(Changed::Tools)
        } else if method == "notifications/prompts/list_changed" {
            changed(Changed::Prompts)
        } else if method == "notifications/resources/list_changed" {
            changed(Changed::Resources)
        } else if method == "notifications/resources/updated"
            && let Some(uri) = params.get("uri").and_then(RawJson::as_string)
        {
            changed(Changed::Resource { uri })
        } else {
            #[cfg(feature = "tasks")]
            if let Some(task) = self.task_notification(method, params) {
                return changed(Changed::Task(task));
            }
            Ok(Some(ClientEvent::Notification { method, params: *params }))
        }
    }

    /// Handles `notifications/progress`. Unknown tokens are ignored: the notification may be late.
    fn progress_notification<'f>(
        &mut self,
        now: Instant,
        params: &Params<'f>,
        tx: &Tx<'_>,
    ) -> Option<ClientEvent<'f>> {
        let token = params.get("progressToken").and_then(|token| Id::parse(token.as_str()))?;
        let found = self.find(token);
        #[cfg(feature = "tasks")]
        if found.is_none() {
            return self.task_progress(token, params);
        }
        let (slot, _) = found.filter(|(slot, _)| !self.is_being_cancelled(*slot, tx))?;
        let outgoing = self.calls.get(slot).filter(|outgoing| outgoing.wants_progress)?;
        if self.config.progress_extends_timeout && outgoing.kind == CallKind::Application {
            let deadline = now.saturating_add(outgoing.timeout).min(outgoing.limit);
            self.calls.set_deadline(slot, Some(deadline));
        }
        Some(ClientEvent::Progress { call: Call(slot), params: params.as_json() })
    }

    fn acknowledged_notification<'f>(
        &mut self,
        slot: Slot,
        params: &Params<'f>,
    ) -> Option<ClientEvent<'f>> {
        let outgoing = self.calls.get_mut(slot)?;
        let again = core::mem::replace(&mut outgoing.kind, CallKind::Listen { acknowledged: true });
        if again == (CallKind::Listen { acknowledged: true }) {
            return None;
        }
        self.calls.set_deadline(slot, None);
        let filter = params.get("notifications").unwrap_or(RawJson::EMPTY);
        Some(ClientEvent::Listening { call: Call(slot), filter })
    }

    /// Handles `notifications/cancelled`: of a request of the server (legacy), or of a subscription
    /// (2026-07-28). Unknown ids are ignored.
    fn cancelled_notification<'f>(
        &mut self,
        params: &Params<'f>,
        tx: &Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'f>>> {
        let Some(id) = params.get("requestId").and_then(|id| Id::parse(id.as_str())) else {
            return Ok(None);
        };
        if self.current_revision().is_modern() {
            let Some((slot, CallKind::Listen { .. })) = self.find(id) else { return Ok(None) };
            if self.is_being_cancelled(slot, tx) {
                return Ok(None);
            }
            self.abandon_call(slot);
            return Ok(Some(ClientEvent::CallFinished {
                call: Call(slot),
                outcome: CallOutcome::EndedByServer,
            }));
        }
        let Some(slot) = self.requests.find(id, id.hash()) else { return Ok(None) };
        // A partly written response is finished; the server ignores it.
        if tx.is_open(WriterId::response(slot.index, slot.serial))
            || tx.is_open(WriterId::timeout_error(slot.index, slot.serial))
        {
            return Ok(None);
        }
        self.requests.remove(slot);
        let reason = params.get("reason").and_then(RawJson::as_string);
        Ok(Some(ClientEvent::RequestCancelled { request: RequestHandle(slot), reason }))
    }

    /// Handles an invalid message. If it has the id of a call, it ends the call.
    fn invalid_message<'f>(
        &mut self,
        now: Instant,
        violation: Violation,
        id: Option<Id<'f>>,
        forbids_response: bool,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'f>>> {
        let report = Ok(Some(ClientEvent::Violation(violation.into())));
        let Some(id) = id else { return report };
        if forbids_response {
            let Some((slot, kind)) = self.find(id) else { return report };
            if self.is_being_cancelled(slot, tx) {
                return report;
            }
            // A modern server does not respond to the probe like that, except that its result may
            // be longer than the receive buffer.
            if kind == CallKind::Connect
                && matches!(self.peer.phase, Phase::Probing)
                && violation != Violation::TooLong
            {
                return self.connect_response(now, slot, Ok(RawJson::NULL), tx);
            }
            // Its replacement is partly written: the response is too late.
            if kind == CallKind::Connect && tx.is_open(WriterId::CONNECT) {
                return report;
            }
            self.calls.remove(slot);
            return Ok(Some(match kind {
                CallKind::Connect => {
                    self.peer.phase = Phase::Closed;
                    ClientEvent::ConnectFailed(ConnectError::Invalid(violation))
                }
                CallKind::KeepAlive => ClientEvent::Violation(violation.into()),
                _ => ClientEvent::CallFinished {
                    call: Call(slot),
                    outcome: CallOutcome::Invalid(violation),
                },
            }));
        }
        if self.current_revision().is_modern() || self.requests.find(id, id.hash()).is_some() {
            return report;
        }
        self.refuse(id, violation.into(), tx).map(Some)
    }

    /// Whether the cancellation of the call is partly written.
    fn is_being_cancelled(&self, slot: Slot, tx: &Tx<'_>) -> bool {
        let number = self.calls.get(slot).map(|call| call.number);
        number.is_some_and(|number| {
            tx.is_open(WriterId::cancel(number)) || tx.is_open(WriterId::timeout_cancel(number))
        })
    }

    /// Finds the call with this id.
    pub(super) fn find(&self, id: Id<'_>) -> Option<(Slot, CallKind)> {
        let slot = self.calls.find(id, id.hash())?;
        self.calls.get(slot).map(|outgoing| (slot, outgoing.kind))
    }
}

impl Client<'_> {
    /// Validates and classifies a result. 2026-07-28, basic: a result without `resultType` is
    /// complete, an unknown type is invalid. Legacy results have no type.
    fn classify<'f>(&self, outgoing: &InflightCall, result: RawJson<'f>) -> CallOutcome<'f> {
        if !result.is_object() {
            return CallOutcome::Invalid(Violation::InvalidResult);
        }
        #[cfg(feature = "tasks")]
        if let Some(outcome) = self.classify_task(outgoing.task_result, result) {
            return outcome;
        }
        if !self.current_revision().is_modern() {
            return CallOutcome::Result(result);
        }
        let Some(kind) = result.get("resultType") else { return CallOutcome::Result(result) };
        match kind.as_string() {
            Some(kind) if kind == "complete" => CallOutcome::Result(result),
            Some(kind) if kind == "input_required" => self.input_required(outgoing, result),
            Some(kind) if self.config.result_types.iter().any(|ours| kind == **ours) => {
                CallOutcome::Result(result)
            }
            _ => CallOutcome::Invalid(Violation::UnknownResultType),
        }
    }

    fn input_required<'f>(&self, outgoing: &InflightCall, result: RawJson<'f>) -> CallOutcome<'f> {
        let input = InputRequired::new(result, outgoing.round);
        let declared = self.declared();
        CallOutcome::Invalid(if !outgoing.may_require_input {
            Violation::InputNotAllowed
        } else if !input.is_valid() {
            Violation::InvalidResult
        } else if !input.required_features().is_some_and(|needs| declared.contains(needs)) {
            Violation::InputNotAllowed
        } else if outgoing.round >= self.config.max_rounds {
            Violation::TooManyRounds
        } else {
            return CallOutcome::InputRequired(input);
        })
    }
}

// Calls whose response does not come, or comes late: what the transport says about them.

#[cfg(feature = "http")]
impl Client<'_> {
    /// Ends the call with this id, because its request failed in HTTP: with
    /// [`CallOutcome::Http`], or with [`CallOutcome::Error`] if the failure has a JSON-RPC error.
    /// [`Exchange::request_id`](crate::http::client::Exchange::request_id) has the id. Does nothing
    /// if the call is over. A `server/discover` that failed with a status below 500 or with an
    /// invalid response means a legacy server, as an error response does: `initialize` is sent. Any
    /// other failure says nothing about the era, and ends connecting.
    ///
    /// # Errors
    /// [`SendError::Full`](crate::SendError::Full): drain and call again.
    pub fn fail<'f>(
        &mut self,
        now: Instant,
        request_id: &'f str,
        failure: HttpFailure<'f>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'f>>> {
        let Some(id) = Id::parse(request_id) else { return Ok(None) };
        // A ping that failed is not repeated at once.
        self.peer.last_received = now;
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

    /// Drops the requests of the server, which has lost them with its session: its next session may
    /// have others with the same ids. Nothing is written, and no event follows.
    pub fn forget_requests(&mut self) {
        self.requests.clear();
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
    ) -> SendResult<Option<ClientEvent<'f>>> {
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
