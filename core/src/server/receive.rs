//! Incoming messages: from a frame to events.

use super::check_request::Context;
use super::event::{Request, ServerEvent};
use super::extensions::Extensions;
use super::inflight::{CallKind, RequestKind};
use super::refusal::{refuse, respond_empty};
use super::respond::is_response_open;
use super::{Phase, Server};
use crate::client::CallOutcome;
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::inflight::Slot;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{Method, Revision};
use crate::message::{Envelope, Id, Item, Kind, Member, Messages, Params, TransportContext};
use crate::rpc::PeerError;
use crate::time::Instant;
use crate::tx::{Tx, WriterId};
use crate::violation::Violation;

impl<'c> Server<'c> {
    /// Returns the next event of a frame; `None` after the last one.
    ///
    /// Responds without the application to `initialize`, `ping`, `server/discover`,
    /// `logging/setLevel`, subscription requests, and invalid messages.
    ///
    /// # Errors
    /// [`SendError::Full`] when such a response does not fit: drain `tx` and call again with the
    /// same cursor.
    pub fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        // Fast path: this is called once more after every frame.
        if messages.is_done() { Ok(None) } else { self.next_event_slow(now, messages, tx) }
    }

    #[inline(never)]
    fn next_event_slow<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        while !messages.is_done() {
            let mut envelope = messages.envelope();
            let Some((item, next)) = messages.peek(&mut envelope) else { break };
            let envelope = &envelope;
            let event = match item {
                Item::Message(Kind::Request { id, method }) => {
                    self.peer.last_received = now;
                    // `initialize` is not allowed in a batch, so a restart cannot happen there.
                    if let Some(reconnect) = self.config.peer_can_reconnect.code
                        && !messages.in_batch()
                        && let Some(ended) = reconnect(self, id, method, envelope, tx)?
                    {
                        return Ok(Some(ended));
                    }
                    let transport = messages.transport();
                    let mut context = Context::new(self.is_modern(method, envelope, transport));
                    let revision = match context.is_modern {
                        true => Revision::LATEST,
                        false => self.fallback_revision(),
                    };
                    match self.check_request(id, method, envelope, messages, &mut context) {
                        Ok(()) if self.is_for_application(method, envelope) => {
                            if let Some(slot) =
                                self.open_request(now, id, method, revision, &context, transport)
                            {
                                messages.advance(next);
                                // Built in place: the event is large, and moving it out of a helper
                                // costs a copy.
                                return Ok(Some(ServerEvent::Request(Request {
                                    handle: RequestHandle(slot),
                                    method,
                                    revision,
                                    capabilities: context.capabilities,
                                    wants_progress: context.token.is_some(),
                                    extensions: self.extensions(revision),
                                    params: envelope.params(),
                                    #[cfg(feature = "http")]
                                    transport,
                                })));
                            }
                            if self.calls.len() == 0 && messages.delay() {
                                return Err(SendError::Full);
                            }
                            refuse(
                                self.config,
                                Some(id),
                                revision,
                                Violation::TooManyRequests.into(),
                                None,
                                tx,
                            )?
                        }
                        Ok(()) => {
                            match self
                                .handle_internally(id, method, revision, envelope, transport, tx)?
                            {
                                // A call writes at most one frame, so it returns between the
                                // messages of a batch.
                                None if messages.in_batch() => Some(ServerEvent::Pinged),
                                // Moving a large event that is not there costs as much as one.
                                None => {
                                    messages.advance(next);
                                    continue;
                                }
                                event => event,
                            }
                        }
                        Err(refusal) => refuse(
                            self.config,
                            refusal.id(id),
                            revision,
                            refusal,
                            envelope.value(Member::ProtocolVersion),
                            tx,
                        )?,
                    }
                }
                Item::Message(Kind::Notification { method }) => {
                    self.peer.last_received = now;
                    self.notification(method, envelope, &envelope.params(), tx)?
                }
                Item::Message(Kind::Response { id, outcome }) => {
                    self.peer.last_received = now;
                    self.response(now, id, outcome, tx)
                }
                Item::Batch
                    if self
                        .peer
                        .session
                        .is_some_and(|scope| scope.revision == Revision::V2025_03_26) =>
                {
                    tx.expect_batch();
                    None
                }
                Item::Batch => {
                    let event = refuse(
                        self.config,
                        None,
                        self.fallback_revision(),
                        Violation::BatchNotAllowed.into(),
                        None,
                        tx,
                    )?;
                    messages.finish();
                    return Ok(event);
                }
                Item::Invalid { violation, id, forbids_response } => {
                    self.report_violation(violation, id, forbids_response, tx)?
                }
            };
            messages.advance(next);
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// Whether the application responds. It knows who may listen to which task.
    fn is_for_application(&self, method: Method<'_>, envelope: &Envelope<'_>) -> bool {
        #[cfg(feature = "tasks")]
        if matches!(method, Method::SubscriptionsListen) && self.listens_to_tasks(envelope) {
            return true;
        }
        #[cfg(not(feature = "tasks"))]
        let _ = envelope;
        method.is_for_application()
    }

    /// Returns the session's extensions; none for a modern request, which carries its own.
    fn extensions(&self, revision: Revision) -> Extensions {
        let scope = self.peer.session.filter(|_| !revision.is_modern());
        Extensions {
            ids: self.config.client_extensions,
            declared: scope.map_or(0, |scope| scope.extensions),
        }
    }

    /// Handles the requests that need no application.
    fn handle_internally<'f>(
        &mut self,
        id: Id<'f>,
        method: Method<'f>,
        revision: Revision,
        envelope: &Envelope<'f>,
        transport: TransportContext<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        match method {
            Method::Initialize => self.initialize(id, &envelope.params(), tx),
            Method::ServerDiscover => self.discover(id, tx),
            Method::LoggingSetLevel | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                let features = &self.config.features;
                let respond = match method {
                    Method::LoggingSetLevel => features.set_level,
                    Method::ResourcesSubscribe => features.subscribe,
                    _ => features.unsubscribe,
                };
                // `check_request` already rejected methods of undeclared capabilities.
                let Some(respond) = respond else { return Ok(None) };
                respond(self, id, revision, &envelope.params(), tx)
            }
            Method::SubscriptionsListen => {
                self.listen(id, &envelope.params(), transport.exchange(), tx)
            }
            Method::Shutdown => {
                respond_empty(id, revision, tx).map(|()| Some(ServerEvent::Shutdown))
            }
            _ => respond_empty(id, revision, tx).map(|()| None),
        }
    }

    fn open_request(
        &mut self,
        now: Instant,
        id: Id<'_>,
        method: Method<'_>,
        revision: Revision,
        context: &Context<'_>,
        transport: TransportContext<'_>,
    ) -> Option<Slot> {
        let timeout = self.config.request_timeout;
        // It waits as long as the task takes.
        #[cfg(feature = "tasks")]
        let timeout = timeout.filter(|_| method != Method::TasksResult);
        let deadline = timeout.map(|timeout| (timeout.code.deadline)(now, timeout.value));
        let (slot, pending) = self.requests.insert(id.hash(), deadline)?;
        pending.begin(id, revision, RequestKind::Request, transport.exchange());
        pending.capabilities = context.capabilities;
        pending.log_level = context.log_level;
        pending.may_require_input = method.may_require_input();
        if let Some(token) = context.token {
            pending.token.set(token);
        }
        Some(slot)
    }

    #[inline(never)]
    fn notification<'f>(
        &mut self,
        method: JsonStr<'f>,
        envelope: &Envelope<'f>,
        params: &Params<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        if method == "notifications/cancelled" {
            return self.cancelled(params, tx);
        }
        // Modern servers act on no client notification but `cancelled`.
        let modern = envelope.has(Member::ProtocolVersion);
        let Some(scope) = self.peer.session.as_mut().filter(|_| !modern) else { return Ok(None) };
        if method == "notifications/initialized" {
            let earlier = core::mem::replace(&mut scope.phase, Phase::Ready);
            return Ok((earlier != Phase::Ready).then_some(ServerEvent::Initialized));
        }
        Ok(Some(ServerEvent::Notification { method, params: *params }))
    }

    /// Cancels a request. Unknown, finished or malformed ids are ignored, as all revisions require.
    fn cancelled<'f>(
        &mut self,
        params: &Params<'f>,
        tx: &Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        let id = params.get("requestId").and_then(|id| Id::parse(id.as_str()));
        let Some(slot) = id.and_then(|id| self.requests.find(id, id.hash())) else {
            return Ok(None);
        };
        // A partly written response is finished; the client ignores it.
        if is_response_open(tx, slot)
            || tx.is_open(WriterId::timeout_error(slot.index, slot.serial))
        {
            return Ok(None);
        }
        // A partly written change notification is finished first, and needs its subscription.
        if tx.has_open()
            && self.requests.get(slot).is_some_and(|pending| pending.kind != RequestKind::Request)
        {
            return Err(SendError::Full);
        }
        self.remove_request(slot);
        let reason = params.get("reason").and_then(RawJson::as_string);
        Ok(Some(ServerEvent::RequestCancelled { request: RequestHandle(slot), reason }))
    }

    #[inline(never)]
    fn response<'f>(
        &mut self,
        now: Instant,
        id: Option<Id<'f>>,
        outcome: Result<RawJson<'f>, RawJson<'f>>,
        tx: &Tx<'_>,
    ) -> Option<ServerEvent<'f>> {
        let Some(id) = id else {
            return outcome.err().map(|error| ServerEvent::PeerError(PeerError::new(error)));
        };
        match self.peer.calls {
            Some(hooks) => (hooks.response)(self, now, id, outcome, tx),
            None => Some(ServerEvent::Violation(Violation::UnexpectedResponse)),
        }
    }

    /// Handles a response to a call.
    pub(super) fn call_response<'f>(
        &mut self,
        now: Instant,
        id: Id<'f>,
        outcome: Result<RawJson<'f>, RawJson<'f>>,
        tx: &Tx<'_>,
    ) -> Option<ServerEvent<'f>> {
        let Some(slot) = self.calls.find(id, id.hash()) else {
            // A late response to a cancelled call is ignored; one to an unknown id is a violation.
            let late =
                id.as_u32().is_some_and(|number| (1..=self.peer.calls_made).contains(&number));
            return (!late).then_some(ServerEvent::Violation(Violation::UnexpectedResponse));
        };
        // The cancellation is partly written and must be finished: the response is late.
        if self.calls.get(slot).is_some_and(|call| tx.is_open(WriterId::cancel(call.number))) {
            return None;
        }
        let outcome = match (self.remove_call(now, slot)?, outcome) {
            (CallKind::KeepAlive, _) => return None,
            // The response is faster than the cancellation.
            (CallKind::Abandoned, _) => CallOutcome::Cancelled,
            (CallKind::Application, Ok(result)) => CallOutcome::Result(result),
            (CallKind::Application, Err(error)) => CallOutcome::Error(PeerError::new(error)),
        };
        Some(ServerEvent::CallFinished { call: Call(slot), outcome })
    }

    #[cfg_attr(not(small), inline(never))]
    fn report_violation<'f>(
        &mut self,
        violation: Violation,
        id: Option<Id<'f>>,
        forbids_response: bool,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        if forbids_response {
            return Ok(Some(ServerEvent::Violation(violation)));
        }
        // An error with an id that is in use would end the request that uses it.
        let id = id.filter(|id| self.requests.find(*id, id.hash()).is_none());
        refuse(self.config, id, self.fallback_revision(), violation.into(), None, tx)
    }
}

impl Messages<'_> {
    pub(crate) fn is_request_next(&self) -> bool {
        let mut envelope = self.envelope();
        let Some((Item::Message(Kind::Request { method, .. }), _)) = self.peek(&mut envelope)
        else {
            return false;
        };
        method.is_for_application() || matches!(method, Method::SubscriptionsListen)
    }
}
