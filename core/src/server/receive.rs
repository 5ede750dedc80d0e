//! From a message to an event.

use super::Server;
use super::check_request::Context;
use super::event::{Request, ServerEvent};
use super::extensions::Extensions;
use super::inflight::{CallKind, InflightRequest, RequestKind};
use super::refusal::{refuse, respond_empty};
use super::respond::is_response_open;
use super::subscriptions::HookContext;
use crate::client::CallOutcome;
use crate::error::SendError;
use crate::handle::{Call, RequestHandle};
use crate::inflight::Slot;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{Method, Revision};
use crate::message::{Carrier, Envelope, Id, IdText, Item, Kind, Member, Messages, Params};
use crate::progress::Reported;
use crate::rpc::PeerError;
use crate::time::Instant;
use crate::tx::{FrameKey, Tx};
use crate::violation::Violation;

impl<'c, const N: usize, const S: usize> Server<'c, N, S> {
    /// The next event of a frame; `None` when there is none left in it.
    ///
    /// Answers by itself what needs no application: `initialize`, `ping`, `server/discover`,
    /// `logging/setLevel`, subscriptions, and whatever is wrong.
    ///
    /// # Errors
    /// [`SendError::Full`] when such an answer does not fit: drain `tx` and
    /// call again with the same cursor.
    pub fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        // Asked after each frame, so the end costs little.
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
                    self.last_received = now;
                    // In a batch nobody begins.
                    if self.config.peer_can_reconnect
                        && !messages.in_batch()
                        && let Some(ended) = self.reconnect(id, method, envelope, tx)?
                    {
                        return Ok(Some(ended));
                    }
                    match self.check_request(
                        id,
                        method,
                        envelope,
                        messages.in_batch(),
                        messages.carrier(),
                    ) {
                        Ok(context) if method.is_for_application() => {
                            if let Some(slot) =
                                self.open_request(now, id, method, &context, messages.carrier())
                            {
                                messages.advance(next);
                                // Made here and nowhere else: it is large, and this is where most
                                // messages end.
                                return Ok(Some(ServerEvent::Request(Request {
                                    handle: RequestHandle(slot),
                                    method,
                                    revision: context.revision,
                                    capabilities: context.capabilities,
                                    wants_progress: context.token.is_some(),
                                    extensions: self.extensions(context.revision),
                                    params: envelope.params(),
                                    #[cfg(feature = "http")]
                                    carrier: messages.carrier(),
                                })));
                            }
                            refuse(
                                Some(id),
                                context.revision,
                                Violation::TooManyRequests.into(),
                                tx,
                            )?
                        }
                        Ok(context) => {
                            let event = self.handle_internally(
                                id,
                                method,
                                context.revision,
                                &envelope.params(),
                                messages.carrier(),
                                tx,
                            )?;
                            // A call writes at most one frame, so between the messages of a batch
                            // it returns.
                            event.or(messages.in_batch().then_some(ServerEvent::Pinged))
                        }
                        Err((revision, refusal)) => refuse(refusal.id(id), revision, refusal, tx)?,
                    }
                }
                Item::Message(Kind::Notification { method }) => {
                    self.last_received = now;
                    self.notification(method, envelope, &envelope.params(), tx)?
                }
                Item::Message(Kind::Response { id, outcome }) => {
                    self.last_received = now;
                    self.response(now, id, outcome, tx)
                }
                Item::Batch
                    if self
                        .session
                        .is_some_and(|scope| scope.revision == Revision::V2025_03_26) =>
                {
                    tx.expect_several();
                    None
                }
                Item::Batch => {
                    let event = refuse(
                        None,
                        self.fallback_revision(),
                        Violation::BatchNotAllowed.into(),
                        tx,
                    )?;
                    messages.finish();
                    return Ok(event);
                }
                Item::Fault { violation, id, silent } => self.fault(violation, id, silent, tx)?,
            };
            messages.advance(next);
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// The session's extensions, as a request in this revision sees them.
    fn extensions(&self, revision: Revision) -> Extensions {
        let scope = self.session.filter(|_| !revision.is_modern());
        Extensions {
            ids: self.config.client_extensions,
            declared: scope.map_or(0, |scope| scope.extensions),
        }
    }

    /// Whether the next message is a request that stays in flight until it is answered: for an
    /// adapter that takes in no more than it can hold.
    #[must_use]
    pub fn is_request_next(&self, messages: &Messages<'_>) -> bool {
        let mut envelope = messages.envelope();
        let Some((Item::Message(Kind::Request { method, .. }), _)) = messages.peek(&mut envelope)
        else {
            return false;
        };
        method.is_for_application() || matches!(method, Method::SubscriptionsListen)
    }

    /// Requests that an application has nothing to do with.
    #[cfg_attr(small, inline(never))]
    fn handle_internally<'f>(
        &mut self,
        id: Id<'f>,
        method: Method<'f>,
        revision: Revision,
        params: &Params<'f>,
        carrier: Carrier<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        match method {
            Method::Initialize => self.initialize(id, params, tx),
            Method::ServerDiscover => self.discover(id, tx),
            Method::LoggingSetLevel | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                let features = &self.config.features;
                let answer = match method {
                    Method::LoggingSetLevel => features.set_level,
                    Method::ResourcesSubscribe => features.subscribe,
                    _ => features.unsubscribe,
                };
                // Whoever declared it has it; others do not come here.
                let Some(answer) = answer else { return Ok(None) };
                let log_level = self.session.as_mut().map(|scope| &mut scope.log_level);
                answer(
                    &mut HookContext { subscribed: self.subscriptions.all(), log_level },
                    id,
                    revision,
                    params,
                    tx,
                )
            }
            Method::SubscriptionsListen => self.listen(id, params, carrier.exchange(), tx),
            Method::Shutdown => {
                respond_empty(id, revision, tx).map(|()| Some(ServerEvent::Shutdown))
            }
            _ => respond_empty(id, revision, tx).map(|()| None),
        }
    }

    #[cfg_attr(small, inline(never))]
    fn open_request(
        &mut self,
        now: Instant,
        id: Id<'_>,
        method: Method<'_>,
        context: &Context<'_>,
        carrier: Carrier<'_>,
    ) -> Option<Slot> {
        let deadline = self.config.request_timeout.map(|timeout| now.saturating_add(timeout));
        let pending = InflightRequest {
            id: IdText::default(),
            token: IdText::default(),
            revision: context.revision,
            capabilities: context.capabilities,
            log_level: context.log_level,
            may_require_input: method.may_require_input(),
            kind: RequestKind::Request,
            reported: Reported::NOTHING,
            nested_calls: 0,
            time_left: u64::MAX,
            exchange: carrier.exchange(),
        };
        let (slot, pending) = self.requests.insert(context.hash, deadline, pending)?;
        pending.id.set(id);
        if let Some(token) = context.token {
            pending.token.set(token);
        }
        Some(slot)
    }

    #[cfg_attr(small, inline(never))]
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
        // In the modern era a client has nothing else to tell.
        let modern = envelope.has(Member::ProtocolVersion);
        let Some(scope) = self.session.as_mut().filter(|_| !modern) else { return Ok(None) };
        if method == "notifications/initialized" {
            return Ok(
                (!core::mem::replace(&mut scope.ready, true)).then_some(ServerEvent::Initialized)
            );
        }
        Ok(Some(ServerEvent::Notification { method, params: *params }))
    }

    /// What is unknown, answered already or malformed is ignored, as all revisions want it.
    #[cfg_attr(small, inline(never))]
    fn cancelled<'f>(
        &mut self,
        params: &Params<'f>,
        tx: &Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        let id = params.get("requestId").and_then(|id| Id::parse(id.as_str()));
        let Some(slot) = id.and_then(|id| self.requests.find(id, id.hash())) else {
            return Ok(None);
        };
        // An answer that has begun is finished; the client will ignore it.
        if is_response_open(tx, slot) || tx.is_open(FrameKey::expiry(slot.index, slot.serial)) {
            return Ok(None);
        }
        // A change that has begun is told to the end, for which its subscription must be there.
        if tx.has_open()
            && self.requests.get(slot).is_some_and(|pending| pending.kind != RequestKind::Request)
        {
            return Err(SendError::Full);
        }
        self.remove_request(slot);
        let reason = params.get("reason").and_then(RawJson::as_string);
        Ok(Some(ServerEvent::RequestCancelled { request: RequestHandle(slot), reason }))
    }

    #[cfg_attr(small, inline(never))]
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
        let Some(slot) = self.calls.find(id, id.hash()) else {
            // A late answer to what was given up is ignored; one to what was never asked is not.
            let late = id.as_u32().is_some_and(|number| (1..=self.calls_made).contains(&number));
            return (!late).then_some(ServerEvent::Violation(Violation::UnexpectedResponse));
        };
        // Its cancellation has begun and must be finished: this answer is late.
        if self.calls.get(slot).is_some_and(|call| tx.is_open(FrameKey::cancel(call.number))) {
            return None;
        }
        match self.remove_call(now, slot) {
            Some(CallKind::Application) => {
                let outcome = match outcome {
                    Ok(result) => CallOutcome::Result(result),
                    Err(error) => CallOutcome::Error(PeerError::new(error)),
                };
                Some(ServerEvent::CallFinished { call: Call(slot), outcome })
            }
            _ => None,
        }
    }

    #[cfg_attr(small, inline(never))]
    fn fault<'f>(
        &mut self,
        violation: Violation,
        id: Option<Id<'f>>,
        silent: bool,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        if silent {
            return Ok(Some(ServerEvent::Violation(violation)));
        }
        // An answer with an id that is in use would end the request that uses it.
        let id = id.filter(|id| self.requests.find(*id, id.hash()).is_none());
        refuse(id, self.fallback_revision(), violation.into(), tx)
    }
}
