//! From a message to an event: who may ask what, and when.

use super::event::{Request, ServerEvent};
use super::notify::Amount;
use super::pending::{Pending, Purpose, Role};
use super::respond::has_begun;
use super::{RequestHandle, Scope, Server};
use crate::error::SendError;
use crate::inflight::Slot;
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::{ClientCapability, Method, Revision};
use crate::message::{Id, IdText, Item, Kind, Member, Messages, Params};
use crate::rpc::{ErrorCode, PeerError, RpcError, write_error, write_response_head};
use crate::time::Instant;
use crate::tx::{FrameKey, Tx};
use crate::types::LoggingLevel;
use crate::uri_template::is_uri;
use crate::violation::Violation;

impl<'c, const N: usize, const S: usize> Server<'c, N, S> {
    /// The next event of a frame; `None` when there is none left in it.
    ///
    /// Answers by itself what needs no application: `initialize`, `ping`, `server/discover`, `logging/setLevel`, subscriptions, and whatever is wrong.
    ///
    /// # Errors
    /// [`SendError::Full`] and [`SendError::More`] when such an answer does not fit: drain `tx` and call again with the same cursor.
    pub fn next_event<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        while !messages.is_done() {
            let mut envelope = messages.envelope();
            let Some((item, next)) = messages.peek(&mut envelope) else { break };
            let params = &envelope.params;
            let event = match item {
                Item::Message(Kind::Request { id, method }) => {
                    self.heard = now;
                    let method = Method::from_json(method);
                    match self.admit(id, method, params, messages.in_batch()) {
                        Ok(context) if method.is_for_the_application() => {
                            if let Some(slot) = self.open_request(now, id, method, &context) {
                                messages.advance(next);
                                // Made here and nowhere else: it is large, and this is where most messages end.
                                return Ok(Some(ServerEvent::Request(Request {
                                    handle: RequestHandle(slot),
                                    method,
                                    revision: context.revision,
                                    capabilities: context.capabilities,
                                    wants_progress: context.token.is_some(),
                                    params: *params,
                                })));
                            }
                            self.refuse(Some(id), context.revision, Violation::TooManyRequests.into(), tx)?
                        }
                        Ok(context) => {
                            let event = self.answer_by_itself(id, method, context.revision, params, tx)?;
                            // A call writes at most one frame, so between the messages of a batch it returns.
                            event.or(messages.in_batch().then_some(ServerEvent::Pinged))
                        }
                        Err((revision, refusal)) => self.refuse(refusal.id(id), revision, refusal, tx)?,
                    }
                }
                Item::Message(Kind::Notification { method }) => {
                    self.heard = now;
                    self.notification(method, params, tx)?
                }
                Item::Message(Kind::Response { id, outcome }) => {
                    self.heard = now;
                    self.response(now, id, outcome, tx)
                }
                Item::Batch if self.scope.is_some_and(|scope| scope.revision == Revision::V2025_03_26) => None,
                Item::Batch => {
                    let event = self.refuse(None, self.fallback_revision(), Violation::BatchNotAllowed.into(), tx)?;
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

    /// Requests that an application has nothing to do with.
    fn answer_by_itself<'f>(
        &mut self,
        id: Id<'f>,
        method: Method<'f>,
        revision: Revision,
        params: &Params<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        match method {
            Method::Initialize => self.initialize(id, params, tx),
            Method::ServerDiscover => self.discover(id, tx),
            Method::LoggingSetLevel => self.set_level(id, revision, params, tx),
            Method::ResourcesSubscribe => self.subscribe(id, revision, params, tx),
            Method::ResourcesUnsubscribe => self.unsubscribe(id, revision, params, tx),
            Method::SubscriptionsListen => self.listen(id, params, tx),
            Method::Shutdown => self.answer_empty(id, revision, tx).map(|()| Some(ServerEvent::Shutdown)),
            _ => self.answer_empty(id, revision, tx).map(|()| None),
        }
    }

    fn open_request(&mut self, now: Instant, id: Id<'_>, method: Method<'_>, context: &Context<'_>) -> Option<Slot> {
        let deadline = self.config.request_timeout.map(|timeout| now.saturating_add(timeout));
        let pending = Pending {
            id: IdText::default(),
            token: IdText::default(),
            revision: context.revision,
            capabilities: context.capabilities,
            log_level: context.log_level,
            may_require_input: method.may_require_input(),
            role: Role::Request,
            has_progressed: false,
            progress: Amount::ZERO,
            next_progress: Instant::NEVER,
            asking: 0,
            time_left: u64::MAX,
        };
        let (slot, pending) = self.requests.insert(context.hash, deadline, pending)?;
        pending.id.set(id);
        if let Some(token) = context.token {
            pending.token.set(token);
        }
        Some(slot)
    }

    /// Everything that is checked before a request is looked at closely, in the order of the specification's checks.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn admit<'f>(
        &self,
        id: Id<'f>,
        method: Method<'f>,
        params: &Params<'f>,
        in_batch: bool,
    ) -> Result<Context<'f>, (Revision, Refusal<'f>)> {
        let modern = params.has(Member::ProtocolVersion) || self.scope.is_none() && params.has(Member::ClientCapabilities);
        let revision = if modern { Revision::LATEST } else { self.fallback_revision() };
        let refuse = |refusal: Refusal<'f>| (revision, refusal);
        // First of all, since no refusal may be written with an id that another request uses.
        let hash = id.hash();
        if self.requests.find(id, hash).is_some_and(|slot| self.acknowledging != Some(slot)) {
            return Err(refuse(Violation::IdInUse.into()));
        }
        if id.is_too_long() {
            return Err(refuse(Violation::IdTooLong.into()));
        }
        if params.given().is_some_and(|raw| !raw.is_object()) {
            return Err(refuse(Violation::InvalidParams.into()));
        }
        let (capabilities, log_level) = if modern {
            self.admit_modern(method, params, in_batch)
        } else {
            self.admit_legacy(method, in_batch).map(|capabilities| (capabilities, None))
        }
        .map_err(refuse)?;
        let token = params.member(Member::ProgressToken);
        let token = match token.map(|token| Id::parse(token.as_str())) {
            Some(None) => return Err(refuse(Refusal::params("The progress token must be a string or an integer"))),
            Some(Some(token)) if token.is_too_long() => return Err(refuse(Violation::IdTooLong.into())),
            token => token.flatten(),
        };
        check_params(method, params, modern).map_err(|message| refuse(Refusal::params(message)))?;
        Ok(Context { hash, token, revision, capabilities, log_level })
    }

    /// 2026-07-28, basic (request metadata) and basic/versioning.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn admit_modern<'f>(
        &self,
        method: Method<'f>,
        params: &Params<'f>,
        in_batch: bool,
    ) -> Result<(ClientCapability, Option<LoggingLevel>), Refusal<'f>> {
        let (Some(version), Some(declared)) = (params.member(Member::ProtocolVersion), params.member(Member::ClientCapabilities))
        else {
            return Err(Violation::InvalidMeta.into());
        };
        let Some(requested) = version.as_string().filter(|_| declared.is_object()) else {
            return Err(Violation::InvalidMeta.into());
        };
        let supported = self.config.revisions;
        match Revision::from_json(requested) {
            Some(revision) if revision.is_modern() && supported.contains(revision) => {}
            _ => {
                let error = RpcError::unsupported_version(supported, version);
                return Err(Refusal { violation: Violation::UnsupportedVersion, error });
            }
        }
        if in_batch {
            return Err(Violation::BatchNotAllowed.into());
        }
        self.admit_method(method, Revision::LATEST)?;
        let level = params.member(Member::LogLevel).map(|level| level.as_string().and_then(LoggingLevel::from_json));
        if level == Some(None) {
            return Err(Refusal::params("Unknown log level"));
        }
        Ok((ClientCapability::read(declared, Revision::LATEST), level.flatten()))
    }

    /// 2024-11-05 to 2025-11-25, basic/lifecycle.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn admit_legacy<'f>(&self, method: Method<'f>, in_batch: bool) -> Result<ClientCapability, Refusal<'f>> {
        match (method, self.scope) {
            (Method::Initialize, _) if in_batch => Err(Violation::InitializeInBatch.into()),
            (Method::Initialize, Some(_)) => Err(Violation::AlreadyInitialized.into()),
            (Method::Initialize | Method::Ping | Method::Shutdown, None) => Ok(ClientCapability::NONE),
            (_, Some(scope)) => self.admit_method(method, scope.revision).map(|()| scope.capabilities),
            (_, None) => {
                if method.rule().is_none() && !self.is_own(method) {
                    return Err(Violation::UnknownMethod.into());
                }
                let mut refusal = Refusal::from(Violation::NotInitialized);
                let revisions = self.config.revisions;
                if !revisions.contains(Revision::LATEST) {
                    refusal.error = RpcError::new(ErrorCode::InvalidRequest, "Send initialize first");
                } else if revisions.newest_legacy().is_none() {
                    refusal = Violation::InvalidMeta.into();
                }
                Err(refusal)
            }
        }
    }

    fn admit_method<'f>(&self, method: Method<'f>, revision: Revision) -> Result<(), Refusal<'f>> {
        let allowed = match method.rule() {
            Some(rule) => rule.allows(revision, self.config.capabilities),
            None => self.is_own(method),
        };
        if allowed { Ok(()) } else { Err(Violation::UnknownMethod.into()) }
    }

    fn is_own(&self, method: Method<'_>) -> bool {
        matches!(method, Method::Other(name) if self.config.methods.iter().any(|own| name == *own))
    }

    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn notification<'f>(
        &mut self,
        method: JsonStr<'f>,
        params: &Params<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        if method == "notifications/cancelled" {
            return self.cancelled(params, tx);
        }
        // In the modern era a client has nothing else to tell.
        let modern = params.has(Member::ProtocolVersion);
        let Some(scope) = self.scope.as_mut().filter(|_| !modern) else { return Ok(None) };
        if method == "notifications/initialized" {
            return Ok((!core::mem::replace(&mut scope.ready, true)).then_some(ServerEvent::Initialized));
        }
        Ok(Some(ServerEvent::Notification { method, params: *params }))
    }

    /// What is unknown, answered already or malformed is ignored, as all revisions want it.
    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn cancelled<'f>(&mut self, params: &Params<'f>, tx: &Tx<'_>) -> Result<Option<ServerEvent<'f>>, SendError> {
        let id = params.get("requestId").and_then(|id| Id::parse(id.as_str()));
        let Some(slot) = id.and_then(|id| self.requests.find(id, id.hash())) else { return Ok(None) };
        // An answer that has begun is finished; the client will ignore it.
        if has_begun(tx, slot) || tx.is_open(FrameKey::expiry(slot.index, slot.serial)) {
            return Ok(None);
        }
        // A change that has begun is told to the end, for which its subscription must be there.
        if tx.has_open() && self.requests.get(slot).is_some_and(|pending| pending.role != Role::Request) {
            return Err(SendError::Full);
        }
        self.forget(slot);
        let reason = params.get("reason").and_then(RawJson::as_string);
        Ok(Some(ServerEvent::Cancelled { request: RequestHandle(slot), reason }))
    }

    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn response<'f>(
        &mut self,
        now: Instant,
        id: Option<Id<'f>>,
        outcome: Result<RawJson<'f>, RawJson<'f>>,
        tx: &Tx<'_>,
    ) -> Option<ServerEvent<'f>> {
        let outcome = outcome.map_err(PeerError::new);
        let Some(id) = id else {
            return outcome.err().map(ServerEvent::PeerError);
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
        match self.end_call(now, slot) {
            Some(Purpose::Application) => Some(ServerEvent::Answer { call: super::Call(slot), outcome }),
            _ => None,
        }
    }

    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
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
        self.refuse(id, self.fallback_revision(), violation.into(), tx)
    }

    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    pub(super) fn refuse<'f>(
        &mut self,
        id: Option<Id<'_>>,
        revision: Revision,
        refusal: Refusal<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        tx.frame(FrameKey::ANSWER, revision, &mut |writer| write_error(writer, id.map(Id::as_str), &refusal.error))?;
        Ok(Some(ServerEvent::Violation(refusal.violation)))
    }

    /// `{}` is the answer.
    pub(super) fn answer_empty(&mut self, id: Id<'_>, revision: Revision, tx: &mut Tx<'_>) -> Result<(), SendError> {
        tx.frame(FrameKey::ANSWER, revision, &mut |writer| {
            write_response_head(writer, id.as_str().as_bytes(), b",\"result\":{}}")
        })
    }

    #[cfg_attr(not(target_pointer_width = "64"), inline(never))]
    fn set_level<'f>(
        &mut self,
        id: Id<'f>,
        revision: Revision,
        params: &Params<'f>,
        tx: &mut Tx<'_>,
    ) -> Result<Option<ServerEvent<'f>>, SendError> {
        let level = params.get("level").and_then(RawJson::as_string).and_then(LoggingLevel::from_json);
        let Some(level) = level else {
            return self.refuse(Some(id), revision, Refusal::params("Unknown log level"), tx);
        };
        self.answer_empty(id, revision, tx)?;
        if let Some(Scope { log_level, .. }) = &mut self.scope {
            *log_level = level;
        }
        Ok(Some(ServerEvent::LogLevel(level)))
    }
}

/// What is known of a request that was admitted.
struct Context<'f> {
    hash: u32,
    token: Option<Id<'f>>,
    revision: Revision,
    capabilities: ClientCapability,
    log_level: Option<LoggingLevel>,
}

/// Why a request was not admitted.
pub(super) struct Refusal<'e> {
    violation: Violation,
    error: RpcError<'e>,
}

impl<'e> Refusal<'e> {
    pub(super) fn new(violation: Violation, error: RpcError<'e>) -> Self {
        Self { violation, error }
    }

    pub(super) fn params(message: &'e str) -> Self {
        Self { violation: Violation::InvalidParams, error: RpcError::invalid_params(message) }
    }

    /// An answer with an id that is in use would end the request that uses it.
    fn id<'f>(&self, id: Id<'f>) -> Option<Id<'f>> {
        (self.violation != Violation::IdInUse).then_some(id)
    }
}

impl From<Violation> for Refusal<'_> {
    fn from(violation: Violation) -> Self {
        Self { violation, error: RpcError::new(violation.code(), violation.message()) }
    }
}

/// The shape of the parameters, as far as all applications need it.
fn check_params(method: Method<'_>, params: &Params<'_>, modern: bool) -> Result<(), &'static str> {
    let uri = |key| params.get(key).and_then(RawJson::as_string).is_some_and(is_uri);
    let optional_string = |key| params.get(key).is_none_or(|value| value.as_string().is_some());
    let optional_objects =
        |key| params.get(key).is_none_or(|map| map.is_object() && map.members().all(|(_, value)| value.is_object()));
    match method {
        Method::ToolsCall | Method::PromptsGet if params.name().is_none() => Err("params.name must be a string"),
        Method::ToolsCall if !params.arguments().raw().is_object() => Err("params.arguments must be an object"),
        Method::PromptsGet if !is_string_map(params.arguments().raw()) => Err("params.arguments must be an object of strings"),
        Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe if !uri("uri") => {
            Err("params.uri must be a URI")
        }
        Method::ToolsList | Method::ResourcesList | Method::ResourcesTemplatesList | Method::PromptsList
            if !optional_string("cursor") =>
        {
            Err("params.cursor must be a string")
        }
        Method::CompletionComplete => {
            let reference = params.get("ref").is_some_and(|r| {
                let kind = r.get("type").and_then(RawJson::as_string);
                let named = |key| r.get(key).is_some_and(|value| value.as_string().is_some());
                kind.is_some_and(|kind| (kind == "ref/prompt" && named("name")) || (kind == "ref/resource" && named("uri")))
            });
            let argument = params.get("argument").is_some_and(is_string_map)
                && params.get("argument").is_some_and(|a| a.get("name").is_some() && a.get("value").is_some());
            match (reference, argument) {
                (false, _) => Err("params.ref must be a ref/prompt with a name or a ref/resource with a uri"),
                (_, false) => Err("params.argument must have the strings name and value"),
                _ => Ok(()),
            }
        }
        Method::SubscriptionsListen if !params.get("notifications").is_some_and(RawJson::is_object) => {
            Err("params.notifications must be an object")
        }
        Method::ToolsCall | Method::PromptsGet | Method::ResourcesRead
            if modern && (!optional_objects("inputResponses") || !optional_string("requestState")) =>
        {
            Err("params.inputResponses must be an object of objects and params.requestState a string")
        }
        _ => Ok(()),
    }
}

fn is_string_map(value: RawJson<'_>) -> bool {
    value.is_object() && value.members().all(|(_, value)| value.as_string().is_some())
}
