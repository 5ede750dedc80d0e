//! Incoming messages: from a frame to events.

use super::config::Extensions;
use super::event::{Request, ServerEvent};
use super::respond::is_response_open;
use super::rules::{self, Refusal, Rule, refuse, respond_empty, write_result};
#[cfg(all(feature = "http", feature = "alloc"))]
use super::session::MessageKind;
use super::{CallKind, Phase, RequestKind, Server, Session};
use crate::buffers::tx::{Tx, WriterId};
use crate::client::CallOutcome;
use crate::encode::{Encode, Encoder, With, object};
use crate::json::{JsonStr, RawJson};
use crate::message::{
    Classified, Envelope, Id, Item, Member, Messages, Params, PeerViolation, TransportContext,
};
use crate::protocol::error::{SendError, SendResult, Violation, require};
use crate::protocol::{ClientFeatures, Method, Revision};
#[cfg(feature = "http")]
use crate::rpc::inflight::ExchangeId;
use crate::rpc::inflight::{Call, RequestHandle, Slot};
use crate::rpc::{PeerError, write_response_head};
use crate::time::Instant;
use crate::types::{LoggingLevel, ServerCapabilities};

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
    ) -> SendResult<Option<ServerEvent<'f>>> {
        // Fast path: this is called once more after every frame.
        if messages.is_done() { Ok(None) } else { self.next_event_slow(now, messages, tx) }
    }

    #[inline(never)]
    fn next_event_slow<'f>(
        &mut self,
        now: Instant,
        messages: &mut Messages<'f>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ServerEvent<'f>>> {
        while !messages.is_done() {
            let mut envelope = messages.envelope();
            let Some((item, next)) = messages.peek(&mut envelope) else { break };
            let envelope = &envelope;
            let event = match item {
                Item::Message(Classified::Request { id, method }) => {
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
                Item::Message(Classified::Notification { method }) => {
                    self.peer.last_received = now;
                    self.notification(method, envelope, &envelope.params(), tx)?
                }
                Item::Message(Classified::Response { id, outcome }) => {
                    self.peer.last_received = now;
                    self.response(now, id, outcome, tx)
                }
                Item::Batch
                    if self
                        .peer
                        .session
                        .is_some_and(|session| session.revision == Revision::V2025_03_26) =>
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
                    let mut event = self.report_violation(violation, id, forbids_response, tx)?;
                    // The whole of a batch has been read, so its messages are JSON.
                    if let Some(ServerEvent::Violation(found)) = &mut event
                        && !messages.in_batch()
                    {
                        *found = PeerViolation::new(found.violation, messages.frame());
                    }
                    event
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
        let session = self.peer.session.filter(|_| !revision.is_modern());
        Extensions {
            ids: self.config.client_extensions,
            declared: session.map_or(0, |session| session.extensions),
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
    ) -> SendResult<Option<ServerEvent<'f>>> {
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
    ) -> SendResult<Option<ServerEvent<'f>>> {
        if method == "notifications/cancelled" {
            return self.cancelled(params, tx);
        }
        // Modern servers act on no client notification but `cancelled`.
        let modern = envelope.has(Member::ProtocolVersion);
        let Some(session) = self.peer.session.as_mut().filter(|_| !modern) else { return Ok(None) };
        if method == "notifications/initialized" {
            let earlier = core::mem::replace(&mut session.phase, Phase::Ready);
            return Ok((earlier != Phase::Ready).then_some(ServerEvent::Initialized));
        }
        Ok(Some(ServerEvent::Notification { method, params: *params }))
    }

    /// Cancels a request. Unknown, finished or malformed ids are ignored, as all revisions require.
    fn cancelled<'f>(
        &mut self,
        params: &Params<'f>,
        tx: &Tx<'_>,
    ) -> SendResult<Option<ServerEvent<'f>>> {
        let id = params.get("requestId").and_then(|id| Id::parse(id.as_str()));
        let Some(slot) = id.and_then(|id| self.requests.find(id, id.hash())) else {
            return Ok(None);
        };
        // A partly written acknowledgement or change notification is finished first, and needs its
        // subscription.
        if tx.has_open()
            && self.requests.get(slot).is_some_and(|pending| pending.kind != RequestKind::Request)
        {
            return Err(SendError::Full);
        }
        // A partly written response is finished; the client ignores it.
        #[cfg(feature = "http")]
        if self.requests.get(slot).is_some_and(|pending| pending.is_begun) {
            return Ok(None);
        }
        if is_response_open(tx, slot)
            || tx.is_open(WriterId::timeout_error(slot.index, slot.serial))
        {
            return Ok(None);
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
            None => Some(ServerEvent::Violation(Violation::UnexpectedResponse.into())),
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
            return (!late).then_some(ServerEvent::Violation(Violation::UnexpectedResponse.into()));
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
    ) -> SendResult<Option<ServerEvent<'f>>> {
        if forbids_response {
            return Ok(Some(ServerEvent::Violation(violation.into())));
        }
        // An error with an id that is in use would end the request that uses it.
        let id = id.filter(|id| self.requests.find(*id, id.hash()).is_none());
        refuse(self.config, id, self.fallback_revision(), violation.into(), None, tx)
    }
}

impl Messages<'_> {
    /// Returns whether the next message is a request for the application.
    pub fn is_request_next(&self) -> bool {
        let mut envelope = self.envelope();
        let Some((Item::Message(Classified::Request { method, .. }), _)) = self.peek(&mut envelope)
        else {
            return false;
        };
        method.is_for_application() || matches!(method, Method::SubscriptionsListen)
    }

    /// Returns whether a message of the frame is a request for the application. Reads them from the
    /// first one on.
    #[cfg(all(feature = "http", feature = "alloc"))]
    pub fn has_request(&self) -> bool {
        let mut rest = Messages::new(self.frame());
        while !rest.is_request_next() {
            let mut envelope = rest.envelope();
            let Some((_, next)) = rest.peek(&mut envelope) else { return false };
            rest.advance(next);
        }
        true
    }
}

#[cfg(all(feature = "http", feature = "alloc"))]
impl MessageKind {
    /// Returns the kind of the next message. `None` if it is invalid, a batch, or a notification
    /// that means nothing to another server of the session.
    pub fn of(messages: &Messages<'_>) -> Option<Self> {
        // Most messages. It need not be looked at again.
        if messages.is_known_request() {
            return Some(Self::Request);
        }
        let mut envelope = messages.envelope();
        let (Item::Message(message), _) = messages.peek(&mut envelope)? else { return None };
        Some(match message {
            Classified::Request { .. } => Self::Request,
            Classified::Notification { method } if SHARED.iter().any(|name| method == *name) => {
                Self::Notification
            }
            Classified::Notification { .. } => return None,
            Classified::Response { id, .. } => Self::Response(id?.as_u32()?),
        })
    }
}

/// The notifications of a client that concern what another server of its session may do.
#[cfg(all(feature = "http", feature = "alloc"))]
const SHARED: [&str; 3] =
    ["notifications/cancelled", "notifications/progress", "notifications/roots/list_changed"];

// Checks of incoming requests: ids, version, capabilities, method and parameters.

impl Server<'_> {
    /// Returns whether a request carries its own version. A server without the modern era responds
    /// as one that does not know it: a modern error tells a client not to fall back (VER-12).
    pub(super) fn is_modern(
        &self,
        method: Method<'_>,
        envelope: &Envelope<'_>,
        transport: TransportContext<'_>,
    ) -> bool {
        self.config.revisions.contains(Revision::LATEST)
            && (envelope.has(Member::ProtocolVersion)
                || self.peer.session.is_none()
                    && (envelope.has(Member::ClientCapabilities)
                        || self.declares_modern_version(method, transport)))
    }

    /// Checks a request, in the order that the specification gives, and completes its properties.
    pub(super) fn check_request<'f>(
        &self,
        id: Id<'f>,
        method: Method<'f>,
        envelope: &Envelope<'f>,
        messages: &Messages<'f>,
        context: &mut Context<'f>,
    ) -> Result<(), Refusal> {
        // First, because no error may be written with an id that another request uses.
        let used = self.requests.find(id, id.hash());
        require(used.is_none_or(|it| self.peer.acknowledging == Some(it)), Violation::IdInUse)?;
        require(!id.is_too_long(), Violation::IdTooLong)?;
        let has_params = matches!(envelope.first_byte(Member::Params), 0 | b'{');
        require(has_params, Violation::InvalidParams)?;
        if context.is_modern {
            self.check_modern(method, envelope, messages, context)?;
        } else {
            context.capabilities = self.check_legacy(method, messages.in_batch())?;
        }
        if let Some(token) = envelope.value(Member::ProgressToken) {
            let token = Id::parse(token.as_str()).ok_or(Refusal::TOKEN)?;
            require(!token.is_too_long(), Violation::IdTooLong)?;
            context.token = Some(token);
        }
        let rules = rules::rules(method, &self.config.features);
        if rules.is_empty() || is_usual_call(method, envelope) {
            return Ok(());
        }
        check_params(method, &envelope.params(), rules, context.is_modern)
    }

    /// 2026-07-28, basic (request metadata) and basic/versioning.
    fn check_modern<'f>(
        &self,
        method: Method<'f>,
        envelope: &Envelope<'f>,
        messages: &Messages<'f>,
        context: &mut Context<'f>,
    ) -> Result<(), Refusal> {
        let transport = messages.transport();
        transport.require_version_header()?;
        let (Some(version), Some(declared)) =
            (envelope.value(Member::ProtocolVersion), envelope.value(Member::ClientCapabilities))
        else {
            return Err(Violation::InvalidMeta.into());
        };
        let Some(requested) =
            version.as_string().filter(|_| declared.is_object() && rules::is_version(version))
        else {
            return Err(Violation::InvalidMeta.into());
        };
        transport.check_version_header(requested)?;
        let supported = self.config.revisions;
        match Revision::from_json(requested) {
            Some(revision) if revision.is_modern() && supported.contains(revision) => {}
            _ => return Err(Violation::UnsupportedVersion.into()),
        }
        if messages.in_batch() {
            return Err(Violation::BatchNotAllowed.into());
        }
        self.check_method(method, Revision::LATEST)?;
        transport.check_headers(method, envelope)?;
        if let Some(level) = envelope.value(Member::LogLevel) {
            let level = level.as_string().and_then(LoggingLevel::from_json);
            context.log_level = Some(level.ok_or(Refusal::LOG_LEVEL)?);
        }
        context.capabilities = ClientFeatures::read(declared, Revision::LATEST);
        Ok(())
    }

    /// 2024-11-05 to 2025-11-25, basic/lifecycle.
    fn check_legacy<'f>(
        &self,
        method: Method<'f>,
        in_batch: bool,
    ) -> Result<ClientFeatures, Refusal> {
        match (method, self.peer.session) {
            (Method::Initialize, _) if in_batch => Err(Violation::InitializeInBatch.into()),
            (Method::Initialize, Some(_)) => Err(Violation::AlreadyInitialized.into()),
            (Method::Initialize | Method::Ping | Method::Shutdown, None) => {
                Ok(ClientFeatures::NONE)
            }
            (_, Some(session)) => {
                self.check_method(method, session.revision).map(|()| session.capabilities)
            }
            (_, None) => {
                if method.rule().is_none() && !self.is_custom_method(method) {
                    return Err(Violation::UnknownMethod.into());
                }
                let revisions = self.config.revisions;
                Err(if !revisions.contains(Revision::LATEST) {
                    Refusal::INITIALIZE_FIRST
                } else if revisions.newest_legacy().is_none() {
                    Violation::InvalidMeta.into()
                } else {
                    Violation::NotInitialized.into()
                })
            }
        }
    }

    #[inline]
    fn check_method<'f>(&self, method: Method<'f>, revision: Revision) -> Result<(), Refusal> {
        let allowed = match method.rule() {
            Some(rule) => rule.allows(revision, self.config.capabilities()),
            None => self.is_custom_method(method),
        };
        if allowed { Ok(()) } else { Err(Violation::UnknownMethod.into()) }
    }

    /// Returns whether the transport declares a modern version for a request without modern
    /// metadata, or no other version is supported.
    fn declares_modern_version(&self, method: Method<'_>, transport: TransportContext<'_>) -> bool {
        let only_modern =
            !transport.exchange().is_session() && self.config.revisions.newest_legacy().is_none();
        if matches!(method, Method::Initialize) {
            // One with the field of its own version is refused with those that there are (VER-07).
            return only_modern && transport.require_version_header().is_err();
        }
        only_modern || transport.declares_modern_version()
    }

    fn is_custom_method(&self, method: Method<'_>) -> bool {
        matches!(method, Method::Other(name) if self.config.methods.iter().any(|own| name == *own))
    }
}

/// Properties of a request.
pub(super) struct Context<'f> {
    pub(super) token: Option<Id<'f>>,
    pub(super) is_modern: bool,
    pub(super) capabilities: ClientFeatures,
    pub(super) log_level: Option<LoggingLevel>,
}

impl Context<'_> {
    pub(super) const fn new(is_modern: bool) -> Self {
        Self { token: None, is_modern, capabilities: ClientFeatures::NONE, log_level: None }
    }
}

/// Fast path: returns whether only a name and arguments are present, whose types are known already.
#[inline]
fn is_usual_call(method: Method<'_>, envelope: &Envelope<'_>) -> bool {
    cfg!(not(small))
        && matches!(method, Method::ToolsCall)
        && envelope.first_byte(Member::Name) == b'"'
        && envelope.first_byte(Member::Arguments) == b'{'
        && !envelope.has(Member::InputResponses)
        && !envelope.has(Member::RequestState)
}

/// Checks the types of the parameters that every application needs.
#[cfg_attr(not(small), inline(never))]
fn check_params(
    method: Method<'_>,
    params: &Params<'_>,
    rules: &[Rule],
    modern: bool,
) -> Result<(), Refusal> {
    let get = |key: &str| params.get(key);
    rules::check(&get, rules)?;
    if matches!(method, Method::SubscriptionsListen) {
        let get = |key: &str| params.get("notifications")?.get(key);
        rules::check(&get, &rules::FILTER)?;
    }
    if modern && method.may_require_input() {
        rules::check(&get, &rules::INPUT)?;
    }
    Ok(())
}

// The handshake: `initialize` up to 2025-11-25, `server/discover` in 2026-07-28.

impl<'s> Server<'s> {
    /// Opens a legacy session (basic/lifecycle): with the offered version if supported, else with
    /// the newest legacy version supported.
    pub(super) fn initialize<'f>(
        &mut self,
        id: Id<'f>,
        params: &Params<'f>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ServerEvent<'f>>> {
        let supported = self.config.revisions;
        // Both have been checked.
        let version = params.get("protocolVersion").unwrap_or(RawJson::NULL);
        let declared = params.get("capabilities").unwrap_or(RawJson::EMPTY);
        let offered = version.as_string().and_then(Revision::from_json);
        let revision =
            match offered.filter(|offered| !offered.is_modern() && supported.contains(*offered)) {
                Some(revision) => revision,
                None => match supported.newest_legacy() {
                    Some(revision) => revision,
                    None => {
                        let (refusal, revision) = (Refusal::NO_INITIALIZE, Revision::LATEST_LEGACY);
                        return refuse(self.config, Some(id), revision, refusal, Some(version), tx);
                    }
                },
            };
        let config = self.config;
        tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
            write_response_head(writer, id.as_str().as_bytes(), b",\"result\":");
            object!(writer, {
                "protocolVersion": revision.as_str(),
                "capabilities": self.capabilities(),
                "serverInfo": config.info,
                "instructions"?: config.instructions,
            });
            writer.put(b"}")
        })?;
        let capabilities = ClientFeatures::read(declared, revision);
        let extensions =
            config.read_extensions.map_or(0, |read| read(declared, config.client_extensions));
        self.peer.session = Some(Session {
            revision,
            capabilities,
            extensions,
            log_level: config.log_level,
            phase: Phase::Initializing,
        });
        Ok(Some(ServerEvent::Initialize { revision, params: params.as_json() }))
    }

    /// Responds to `server/discover` (2026-07-28).
    pub(super) fn discover<'f>(
        &mut self,
        id: Id<'f>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ServerEvent<'f>>> {
        let config = self.config;
        let versions = With(|to: &mut Encoder<'_>| {
            to.array(config.revisions.iter().map(Revision::as_str));
        });
        let result = object!({
            "supportedVersions": versions,
            "capabilities": self.capabilities(),
            "instructions"?: config.instructions,
            "ttlMs": config.discover_ttl_ms,
            "cacheScope": config.discover_scope,
        });
        tx.frame(WriterId::AUTOMATIC_RESPONSE, Revision::LATEST, &mut |writer| {
            write_response_head(writer, id.as_str().as_bytes(), b",\"result\":");
            write_result::<dyn Encode>(config, writer, "complete", &result);
            writer.put(b"}")
        })?;
        Ok(None)
    }

    fn capabilities(&self) -> ServerCapabilities<'s> {
        let config = self.config;
        ServerCapabilities::declared(config.capabilities(), config.experimental, config.extensions)
    }

    pub(super) fn write_info(&self, writer: &mut Encoder<'_>) {
        self.config.info.encode(writer)
    }
}

// HTTP headers that mirror members of the body (2026-07-28, basic/transports/streamable-http).
// Nothing is checked on a stream.

#[cfg(not(feature = "http"))]
impl<'f> TransportContext<'f> {
    fn declares_modern_version(&self) -> bool {
        false
    }

    fn require_version_header(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn check_version_header(&self, _: JsonStr<'f>) -> Result<(), Refusal> {
        Ok(())
    }

    fn check_headers(&self, _: Method<'f>, _: &Envelope<'f>) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(feature = "http")]
mod http {
    use super::*;
    use crate::http::head::SingleValue;
    use crate::http::param_headers::{FieldValue, header_params};
    use crate::protocol::error::ErrorCode;
    use crate::rpc::RpcError;

    impl<'f> TransportContext<'f> {
        /// Returns whether `MCP-Protocol-Version` names a modern or an unknown revision.
        pub(super) fn declares_modern_version(&self) -> bool {
            let version = self.fields().and_then(|fields| fields.get(VERSION));
            version.is_some_and(|version| Revision::parse(version).is_none_or(Revision::is_modern))
        }

        pub(super) fn require_version_header(&self) -> Result<(), Refusal> {
            match self.fields().map(|fields| fields.single(VERSION)) {
                None | Some(SingleValue::Value(_)) => Ok(()),
                Some(SingleValue::Absent) => Err(Refusal::VERSION_HEADER_MISSING),
                Some(SingleValue::Repeated | SingleValue::NotUtf8) => {
                    Err(Refusal::VERSION_HEADER_INVALID)
                }
            }
        }

        pub(super) fn check_version_header(&self, version: JsonStr<'f>) -> Result<(), Refusal> {
            match self.fields().and_then(|fields| fields.get(VERSION)) {
                Some(repeated) if version != *repeated => Err(Refusal::VERSION_HEADER),
                _ => Ok(()),
            }
        }

        /// Checks `Mcp-Method`, and `Mcp-Name` for methods with a name or URI.
        /// `Mcp-Param-*` needs the tool's schema:
        /// [`check_param_headers`](Request::check_param_headers).
        pub(super) fn check_headers(
            &self,
            method: Method<'f>,
            envelope: &Envelope<'f>,
        ) -> Result<(), Refusal> {
            let Some(fields) = self.fields() else { return Ok(()) };
            let own = envelope.value(Member::Method).and_then(RawJson::as_string);
            match fields.single("mcp-method") {
                SingleValue::Value(repeated) if own.is_some_and(|own| own == *repeated) => {}
                SingleValue::Absent => return Err(Refusal::METHOD_HEADER_MISSING),
                _ => return Err(Refusal::METHOD_HEADER),
            }
            let name = match method {
                Method::ToolsCall | Method::PromptsGet => "name",
                Method::ResourcesRead => "uri",
                #[cfg(feature = "tasks")]
                Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => "taskId",
                _ => return Ok(()),
            };
            // A name of another type is reported by the check of the parameters.
            let Some(name) = envelope.params().get(name).and_then(|name| name.as_string()) else {
                return Ok(());
            };
            match fields.single("mcp-name") {
                SingleValue::Value(repeated)
                    if FieldValue::text(name).matches(repeated.as_bytes()) =>
                {
                    Ok(())
                }
                SingleValue::Absent => Err(Refusal::NAME_HEADER_MISSING),
                _ => Err(Refusal::NAME_HEADER),
            }
        }
    }

    impl Request<'_> {
        /// Checks that the head of a `tools/call` request repeats the arguments that the tool's
        /// input schema annotates (2026-07-28, basic/transports/streamable-http).
        pub(crate) fn check_param_headers(
            &self,
            input_schema: RawJson<'_>,
        ) -> Result<(), RpcError<'static>> {
            let Some(fields) = self.http_fields().filter(|_| self.revision.is_modern()) else {
                return Ok(());
            };
            let mismatch = |message| Err(RpcError::new(ErrorCode::HeaderMismatch, message));
            for param in header_params(input_schema, self.arguments().as_json()) {
                // The catalog's own check has reported invalid annotations.
                let Some(name) = param.name() else { continue };
                let value = match param.value.map(FieldValue::argument) {
                    None => None,
                    Some(Ok(value)) => value,
                    Some(Err(_)) => {
                        return mismatch(
                            "An argument annotated with x-mcp-header is not a string, boolean, or integer within 2^53",
                        );
                    }
                };
                match (fields.single(name.as_str()), value) {
                    (SingleValue::Absent, None) => {}
                    (SingleValue::Value(field), Some(value)) if value.matches(field.as_bytes()) => {
                    }
                    (SingleValue::Absent, Some(_)) => {
                        return mismatch(
                            "A Mcp-Param field is missing for an argument annotated with x-mcp-header",
                        );
                    }
                    (_, None) => {
                        return mismatch("A Mcp-Param field repeats an argument that is missing");
                    }
                    _ => {
                        return mismatch(
                            "A Mcp-Param field differs from the argument annotated with x-mcp-header",
                        );
                    }
                }
            }
            Ok(())
        }
    }

    const VERSION: &str = "mcp-protocol-version";
}

// HTTP exchanges. What `next_event` writes belongs to the exchange whose body it reads; these
// functions say which exchange other output belongs to.

#[cfg(feature = "http")]
impl Server<'_> {
    /// Returns the exchange of a request, for its response, its progress and log notifications, and
    /// its calls. [`ExchangeId::SESSION`] if the request is no longer open.
    pub fn exchange(&self, request: RequestHandle) -> ExchangeId {
        self.exchange_of(request.0)
    }

    /// Returns the exchange for the cancellation of a call: that of the request it belongs to, if
    /// that is still open.
    pub fn exchange_of_call(&self, call: Call) -> ExchangeId {
        self.parent_exchange(call.0)
    }

    /// Returns the exchange that the next [`handle_timeout`](Self::handle_timeout) writes to; each
    /// call of it writes to one exchange. `None` if no timeout is due.
    pub fn due_exchange(&mut self, now: Instant) -> Option<ExchangeId> {
        if let Some(slot) = self.calls.expired(now) {
            return Some(self.parent_exchange(slot));
        }
        if let Some(slot) = self.requests.expired(now) {
            return Some(self.exchange_of(slot));
        }
        self.next_ping().filter(|due| *due <= now).map(|_| ExchangeId::SESSION)
    }

    /// Returns the number of open requests of an exchange. An exchange without any has no more
    /// output.
    pub fn open_requests_of(&self, exchange: ExchangeId) -> usize {
        self.requests.slots().filter(|slot| self.exchange_of(*slot) == exchange).count()
    }

    /// Serves one exchange of a legacy client without a session, as if `initialize` had negotiated
    /// this revision, with no capabilities.
    pub fn start_legacy(&mut self, revision: Revision) {
        if !revision.is_modern() {
            let log_level = self.config.log_level;
            self.peer.session = Some(Session {
                revision,
                capabilities: ClientFeatures::NONE,
                extensions: 0,
                log_level,
                phase: Phase::Ready,
            });
        }
    }

    fn exchange_of(&self, slot: Slot) -> ExchangeId {
        self.requests.get(slot).map_or(ExchangeId::SESSION, |pending| pending.exchange)
    }

    fn parent_exchange(&self, call: Slot) -> ExchangeId {
        let call = self.calls.get(call).filter(|call| call.kind != CallKind::KeepAlive);
        call.and_then(|call| call.parent)
            .map_or(ExchangeId::SESSION, |parent| self.exchange_of(parent))
    }
}
