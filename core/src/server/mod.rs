//! The server state machine. It reads frames and writes frames, for all revisions at once.

mod config;
mod event;
mod receive;
mod respond;
mod rules;
#[cfg(any(feature = "http", feature = "tasks"))]
mod session;
mod subscriptions;

#[cfg(feature = "alloc")]
pub use config::GrowingServerState;
pub use config::{Admission, MAX_EXTENSIONS, ServerConfig, ServerState, declare};
#[cfg(feature = "alloc")]
pub use event::OwnedRequest;
pub use event::{ClientRequest, Request, RequestMemory, ServerEvent};
#[cfg(feature = "alloc")]
pub use respond::ResponseKind;
pub use respond::{Change, LogMessage};
pub(crate) use respond::{ToolErrorKind, is_response_open};
#[cfg(feature = "http")]
pub use session::MessageKind;
#[cfg(any(feature = "http", feature = "tasks"))]
pub use session::{SESSION_LEN, SessionSetting};
#[cfg(feature = "tasks")]
pub use subscriptions::MAX_LISTENED;
#[cfg(feature = "tasks")]
pub(crate) use subscriptions::related_task;

use core::fmt;
use core::ops::ControlFlow;
use core::time::Duration;

use crate::buffers::tx::{Tx, WriterId};
use crate::client::CallOutcome;
#[cfg(feature = "tasks")]
use crate::encode::{Addition, Additions};
use crate::encode::{Encode, Encoder, With, object};
use crate::json::{Decimal, RawJson, hash_str};
use crate::message::{Envelope, Id, Member, OwnedId, Params};
use crate::progress::Reported;
use crate::protocol::error::{InvalidPayload, NotAllowed, SendError, SendResult, require};
use crate::protocol::{ClientFeatures, Method, Revision, ServerFeatures};
use crate::rpc::inflight::{Call, ExchangeId, Keyed, RequestHandle, Slot, Table};
use crate::rpc::{RpcError, write_error, write_notification, write_response_head};
use crate::time::Instant;
use crate::types::LoggingLevel;
#[cfg(feature = "tasks")]
use crate::types::meta::RELATED_TASK;
use event::RequestParams;
use rules::{COMPLETION, RESOURCE, Rule, respond_empty};
use subscriptions::{GRANTS, Grants, Subscriptions, subscribe, unsubscribe};

/// The server side of one connection: a view of its [`ServerState`], made with
/// [`ServerState::server`] for one call or for many.
#[derive(Debug)]
pub struct Server<'s> {
    config: &'s ServerConfig<'s>,
    requests: Table<'s, InflightRequest>,
    calls: Table<'s, InflightCall>,
    subscriptions: Subscriptions<'s>,
    peer: &'s mut Peer,
}

/// The properties of the client that are known.
#[derive(Debug)]
struct Peer {
    session: Option<Session>,
    /// The `subscriptions/listen` whose acknowledgement is partly written.
    acknowledging: Option<Slot>,
    /// Set by the first call.
    calls: Option<&'static CallHooks>,
    /// The id of the latest call.
    calls_made: u32,
    /// When the last message of the peer arrived.
    last_received: Instant,
    /// The latest response that was not a plain result.
    #[cfg(feature = "alloc")]
    other_response: Option<(Slot, ResponseKind)>,
}

impl Peer {
    const UNKNOWN: Self = Self {
        session: None,
        acknowledging: None,
        calls: None,
        calls_made: 0,
        last_received: Instant::from_millis(0),
        #[cfg(feature = "alloc")]
        other_response: None,
    };
}

/// The session that `initialize` opened.
#[derive(Clone, Copy, Debug)]
struct Session {
    revision: Revision,
    capabilities: ClientFeatures,
    /// The configured extensions that the client declared, one bit each.
    extensions: u16,
    /// Set by `logging/setLevel`.
    log_level: LoggingLevel,
    phase: Phase,
}

/// Whether `notifications/initialized` has arrived. Begins at 1, so that no session is all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Phase {
    Initializing = 1,
    Ready,
}

impl Session {
    fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }
}

impl<'s> Server<'s> {
    /// Returns a shorter-lived view, for a function that takes a server by value.
    pub fn reborrow(&mut self) -> Server<'_> {
        Server {
            config: self.config,
            requests: self.requests.reborrow(),
            calls: self.calls.reborrow(),
            subscriptions: Subscriptions(self.subscriptions.0),
            peer: self.peer,
        }
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &'s ServerConfig<'s> {
        self.config
    }

    /// Returns the revision that `initialize` negotiated, `None` before.
    pub fn legacy_revision(&self) -> Option<Revision> {
        self.peer.session.map(|session| session.revision)
    }

    /// Returns the number of requests without a response, including open `subscriptions/listen`.
    pub fn open_requests(&self) -> usize {
        self.requests.len()
    }

    /// Returns the number of calls without a response.
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether the request waits for a response: `false` after a response, a cancellation
    /// or a timeout.
    pub fn is_request_open(&self, request: RequestHandle) -> bool {
        self.requests.get(request.0).is_some()
    }

    /// Returns the id of an open request, as JSON text: a number, or a string in quotes.
    pub fn request_id(&self, request: RequestHandle) -> Option<&str> {
        Some(self.requests.get(request.0)?.id.as_str())
    }

    /// Returns the revision for responses to messages that cannot be parsed.
    fn fallback_revision(&self) -> Revision {
        self.peer.session.map_or(Revision::LATEST, |session| session.revision)
    }
}

// Timeouts, keep-alive pings, closing, and peers that restart on the same stream.

impl Server<'_> {
    /// Returns the next time to call [`handle_timeout`](Self::handle_timeout); possibly early,
    /// never late.
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
    ) -> SendResult<Option<ServerEvent<'static>>> {
        match self.timers() {
            Some(timers) => (timers.handle)(self, now, tx),
            None => Ok(None),
        }
    }

    fn timers(&self) -> Option<&'static Timers> {
        self.config.timers.code.or(self.peer.calls.map(|calls| calls.timers))
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.requests.earliest(), self.calls.earliest(), self.next_ping()]
            .into_iter()
            .flatten()
            .min()
    }

    fn handle_deadline(
        &mut self,
        now: Instant,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ServerEvent<'static>>> {
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

    fn time_out_request(&mut self, now: Instant, tx: &mut Tx<'_>) -> SendResult<TimedOut> {
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

    fn expire(&mut self, slot: Slot, tx: &mut Tx<'_>) -> SendResult<TimedOut> {
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
    pub(crate) fn has_open_requests(&self) -> bool {
        let mut open = self.requests.matching(|pending| pending.kind == RequestKind::Request);
        open.next().is_some()
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
    fn time_out_call(&mut self, now: Instant, tx: &mut Tx<'_>) -> SendResult<TimedOut> {
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

    fn next_ping(&self) -> Option<Instant> {
        (self.config.ping_interval?.code.due)(self)
    }

    /// Returns when the next ping is due. Only legacy peers are pinged, with one ping at a time.
    fn ping_due(&self) -> Option<Instant> {
        let interval = self.config.ping_interval?.value;
        self.peer.session?;
        let mut pings = self.calls.matching(|call| call.kind == CallKind::KeepAlive);
        if pings.next().is_some() || self.calls.is_full() {
            None
        } else {
            Some(self.peer.last_received.saturating_add(interval))
        }
    }

    fn ping(&mut self, now: Instant, tx: &mut Tx<'_>) -> SendResult {
        let Some(session) = self.peer.session else { return Ok(()) };
        let timeout = self.config.ping_timeout;
        self.call(now, "ping", None, CallKind::KeepAlive, None, timeout, session.revision, tx)
            .map(|_| ())
    }

    /// Detects that the peer restarted on the same stream (e.g. a serial line, which never closes):
    /// by a second `initialize`, or by an id that is in use. Ends one request or call of the
    /// previous session per invocation, until it returns `None`.
    fn reconnect(
        &mut self,
        id: Id<'_>,
        method: Method<'_>,
        envelope: &Envelope<'_>,
        tx: &Tx<'_>,
    ) -> SendResult<Option<ServerEvent<'static>>> {
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
    fn end_next_call(&mut self) -> Option<ServerEvent<'static>> {
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

// Requests to the client: sampling, elicitation, roots and ping as calls (legacy), input requests
// as a result (2026-07-28).

impl Server<'_> {
    /// Sends a request to a legacy client. Its result or error arrives as a
    /// [`ServerEvent::CallFinished`].
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] if the client did not declare the capability (in 2025-11-25 also
    /// that for `task`, if it is set), is not initialized (except for ping), or is modern (use
    /// [`input_required`](Self::input_required)).
    /// [`SendError::Invalid`] for a form with nested fields, URL mode without a URL (in 2025-11-25
    /// also without an id), messages with a `tool_use` without `tool_result`, and an unknown method
    /// ([`InputRequest::Other`](crate::types::InputRequest::Other)).
    /// [`SendError::TooManyCalls`] if the table is full. [`SendError::Full`]: drain and call again.
    pub fn request<'a>(
        &mut self,
        now: Instant,
        request: impl Into<ClientRequest<'a>>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Call> {
        self.make_call(now, &request.into(), tx)
    }

    fn make_call(
        &mut self,
        now: Instant,
        request: &ClientRequest<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Call> {
        let session = self.peer.session.ok_or(NotAllowed::NotOpen)?;
        let parent = request.parent.map(|parent| parent.0);
        // A partly written call is finished, even if its parent has ended meanwhile.
        if !tx.is_open(call_key(request.method, parent)) {
            self.check_call(request, session)?;
        }
        let timeout = request.timeout.unwrap_or(self.config.call_timeout);
        let params: Option<&dyn Encode> = match &request.params {
            RequestParams::Input(Some(params)) => Some(params),
            RequestParams::Input(None) => None,
            RequestParams::Other(params) => *params,
        };
        #[cfg(feature = "tasks")]
        let related = request.task.map(|task| {
            With(move |to: &mut Encoder<'_>| {
                let value = &related_task(task);
                let meta = [Addition { name: RELATED_TASK, value, is_reserved: false }];
                let params = params.unwrap_or(&RawJson::EMPTY);
                to.completed(params, &Additions { meta: &meta, ..Additions::NONE });
            })
        });
        #[cfg(feature = "tasks")]
        let params = related.as_ref().map_or(params, |related| Some(related as &dyn Encode));
        let slot = self.call(
            now,
            request.method,
            params,
            CallKind::Application,
            parent,
            timeout,
            session.revision,
            tx,
        )?;
        match parent {
            Some(parent) if self.requests.get(parent).is_some() => self.suspend(now, parent),
            Some(parent) => self.cancel_nested(parent),
            None => {}
        }
        Ok(Call(slot))
    }

    fn check_call(&self, request: &ClientRequest<'_>, session: Session) -> SendResult {
        let parent = request
            .parent
            .map(|parent| {
                self.requests.get(parent.0).ok_or(SendError::NotAllowed(NotAllowed::ParentGone))
            })
            .transpose()?;
        let modern = parent.is_some_and(|parent| parent.revision.is_modern());
        // Before 2025-11-25 there was no capability for `includeContext`.
        let context = ClientFeatures::SAMPLING_CONTEXT.without(ClientFeatures::SAMPLING);
        let needs = if session.revision < Revision::V2025_11_25 {
            request.needs.without(context)
        } else {
            request.needs.for_task(request.wants_task)
        };
        let broken = if modern {
            NotAllowed::Revision
        } else if !(session.is_ready() || request.method == "ping") {
            NotAllowed::NotOpen
        } else if !session.capabilities.contains(needs) {
            NotAllowed::Capability
        } else {
            return request.validate(session.revision).map_err(SendError::Invalid);
        };
        Err(SendError::NotAllowed(broken))
    }

    /// Cancels a call and sends `notifications/cancelled`. No event follows. Does nothing if the
    /// call is finished already.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn cancel_call(&mut self, now: Instant, call: Call, tx: &mut Tx<'_>) -> SendResult {
        let Some(outgoing) = self.calls.get(call.0) else { return Ok(()) };
        let number = outgoing.number;
        self.write_cancelled(number, tx)?;
        self.remove_call(now, call.0);
        Ok(())
    }

    /// Returns whether the call waits for a response.
    pub fn is_call_open(&self, call: Call) -> bool {
        self.calls.get(call.0).is_some_and(|outgoing| outgoing.kind == CallKind::Application)
    }

    #[allow(clippy::too_many_arguments)] // one place where a request of ours begins
    fn call(
        &mut self,
        now: Instant,
        method: &str,
        params: Option<&dyn Encode>,
        kind: CallKind,
        parent: Option<Slot>,
        timeout: Duration,
        revision: Revision,
        tx: &mut Tx<'_>,
    ) -> SendResult<Slot> {
        if self.calls.is_full() {
            return Err(SendError::TooManyCalls);
        }
        // Ids are not reused in a session, which therefore ends after 2^32 calls.
        let number = self.peer.calls_made.checked_add(1).ok_or(SendError::TooManyCalls)?;
        let digits = Decimal::new(u64::from(number), false);
        let frame = match kind {
            CallKind::Application => call_key(method, parent),
            CallKind::KeepAlive | CallKind::Abandoned => WriterId::PING,
        };
        let has_begun = tx.is_open(frame);
        let written = tx.frame(frame, revision, &mut |writer| {
            write_response_head(writer, digits.as_bytes(), b",\"method\":");
            writer.string(method);
            if let Some(params) = params {
                writer.put(b",\"params\":");
                params.encode(writer);
            }
            writer.put(b"}")
        });
        if has_begun && matches!(written, Err(SendError::Invalid(_))) {
            self.skip_id();
        }
        written?;
        self.peer.calls = Some(CallHooks::ALL);
        self.peer.calls_made = number;
        let hash = Id::parse(digits.as_str()).map_or(1, Id::hash);
        let deadline = Some(now.saturating_add(timeout));
        let (slot, outgoing) = self.calls.insert(hash, deadline).ok_or(SendError::TooManyCalls)?;
        *outgoing = InflightCall { number, parent, kind };
        Ok(slot)
    }

    /// Skips an id that may be in a line which was cut off: the client may respond to it with an
    /// error.
    pub(crate) fn skip_id(&mut self) {
        self.peer.calls_made = self.peer.calls_made.saturating_add(1);
    }

    /// Removes a call and resumes the timeout of its parent.
    fn remove_call(&mut self, now: Instant, slot: Slot) -> Option<CallKind> {
        let InflightCall { parent, kind, .. } = *self.calls.remove(slot)?;
        if let (Some(parent), CallKind::Application) = (parent, kind) {
            self.resume(now, parent);
        }
        Some(kind)
    }

    /// Makes the calls of a request due at once: their results are no longer needed.
    fn cancel_nested(&mut self, parent: Slot) {
        // One at a time, because the loop changes the table.
        loop {
            let of_parent = |outgoing: &InflightCall| {
                outgoing.parent == Some(parent) && outgoing.kind == CallKind::Application
            };
            let Some(slot) =
                self.calls.slots().find(|slot| self.calls.get(*slot).is_some_and(of_parent))
            else {
                return;
            };
            if let Some(outgoing) = self.calls.get_mut(slot) {
                outgoing.kind = CallKind::Abandoned;
            }
            self.calls.set_deadline(slot, Some(Instant::from_millis(0)));
        }
    }

    fn write_cancelled(&self, number: u32, tx: &mut Tx<'_>) -> SendResult {
        tx.frame(WriterId::cancel(number), self.fallback_revision(), &mut |writer| {
            write_notification(
                writer,
                "notifications/cancelled",
                &object!({ "requestId": number }),
            );
        })
    }

    fn suspend(&mut self, now: Instant, parent: Slot) {
        let deadline = self.requests.deadline(parent);
        let Some(pending) = self.requests.get_mut(parent) else { return };
        pending.nested_calls += 1;
        if let Some(deadline) = deadline {
            pending.time_left = deadline.as_millis().saturating_sub(now.as_millis());
            self.requests.set_deadline(parent, None);
        }
    }

    fn resume(&mut self, now: Instant, parent: Slot) {
        let Some(pending) = self.requests.get_mut(parent) else { return };
        pending.nested_calls = pending.nested_calls.saturating_sub(1);
        if pending.nested_calls > 0 {
            return;
        }
        let left = core::mem::replace(&mut pending.time_left, u64::MAX);
        if left != u64::MAX {
            self.requests.set_deadline(
                parent,
                Some(Instant::from_millis(now.as_millis().saturating_add(left))),
            );
        }
    }
}

impl Server<'_> {
    /// Responds that the client has to provide input first (2026-07-28, basic/patterns/mrtr): the
    /// input requests, each with a unique key. The client then sends the request again, under
    /// another id, with that input and `state`. The client can read and change the state: protect
    /// it where that matters.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] for a legacy client (use [`request`](Self::request)), for a method
    /// other than `tools/call`, `prompts/get` and `resources/read`, and for an input request that
    /// needs a capability that the client did not declare. [`SendError::Invalid`] without input
    /// requests and state, for a duplicate key, a request that is neither elicitation nor sampling
    /// nor roots, a form with nested fields, URL mode without a URL, and messages with a `tool_use`
    /// without `tool_result`. [`SendError::Full`]: drain and call again.
    pub fn input_required(
        &mut self,
        request: RequestHandle,
        input_requests: &[(&str, ClientRequest<'_>)],
        state: Option<&str>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        pending.may_ask_for(ClientFeatures::NONE)?;
        require(state.is_some() || !input_requests.is_empty(), InvalidPayload::Empty)?;
        let mut valid = Ok(());
        for (at, (key, input)) in input_requests.iter().enumerate() {
            pending.may_ask_for(input.needs)?;
            let is_input = matches!(input.params, RequestParams::Input(_));
            let is_new = !input_requests.iter().take(at).any(|(other, _)| other == key);
            valid = valid
                .and(require(is_input, InvalidPayload::Method))
                .and(input.validate(Revision::LATEST))
                .and(require(is_new, InvalidPayload::DuplicateKey));
        }
        valid?;
        let members = With(|to: &mut Encoder<'_>| {
            to.begin_object();
            input_requests.iter().for_each(|(key, request)| to.member(key, request));
            to.end_object();
        });
        let input_requests = (!input_requests.is_empty()).then_some(members);
        let result = object!({
            "resultType" = "input_required",
            "inputRequests"?: input_requests,
            "requestState"?: state,
        });
        #[cfg(feature = "alloc")]
        {
            self.peer.other_response = Some((request.0, ResponseKind::InputRequired));
        }
        self.respond_with::<dyn Encode>(request, "input_required", &result, tx)
    }
}

fn call_key(method: &str, parent: Option<Slot>) -> WriterId {
    WriterId::application(hash_str(method) as u32 ^ parent.map_or(0, |parent| parent.serial))
}

// Table entries: open requests of the client, and calls to it.

/// An open request.
#[derive(Debug)]
struct InflightRequest {
    id: OwnedId,
    /// The progress token; empty if the client sent none.
    token: OwnedId,
    revision: Revision,
    capabilities: ClientFeatures,
    /// The least severe log level requested in `_meta`; `None` if the client wants no log messages.
    log_level: Option<LoggingLevel>,
    may_require_input: bool,
    kind: RequestKind,
    reported: Reported,
    /// The number of open calls of this request; its timeout pauses while there are any.
    nested_calls: u16,
    /// Milliseconds until the timeout, while paused.
    time_left: u64,
    exchange: ExchangeId,
    /// Whether a response is partly written, also in the buffer of another exchange.
    #[cfg(feature = "http")]
    is_begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RequestKind {
    /// The application responds to it.
    Request,
    /// A `subscriptions/listen`, and the kinds of changes that it reports.
    Listen(subscriptions::Kinds),
    /// A `subscriptions/listen` that names tasks, whose acknowledgement is partly written.
    #[cfg(feature = "tasks")]
    Granting(subscriptions::Kinds),
    /// A `subscriptions/listen` that has been cancelled by the server; its result is not written
    /// yet.
    Ending,
}

impl InflightRequest {
    /// Begins a request in place of an earlier one; an entry is about 170 bytes.
    fn begin(&mut self, id: Id<'_>, revision: Revision, kind: RequestKind, exchange: ExchangeId) {
        self.id.set(id);
        self.token.clear();
        self.revision = revision;
        self.capabilities = ClientFeatures::NONE;
        self.log_level = None;
        self.may_require_input = false;
        self.kind = kind;
        self.reported = Reported::NOTHING;
        self.nested_calls = 0;
        self.time_left = u64::MAX;
        self.exchange = exchange;
        #[cfg(feature = "http")]
        (self.is_begun = false);
    }

    /// Returns whether the response may require input for which the client needs these
    /// capabilities (2026-07-28, basic/patterns/mrtr).
    fn may_ask_for(&self, needs: ClientFeatures) -> Result<(), NotAllowed> {
        require(self.revision.is_modern(), NotAllowed::Revision)?;
        require(self.may_require_input, NotAllowed::Method)?;
        require(self.capabilities.contains(needs), NotAllowed::Capability)
    }
}

impl Keyed for InflightRequest {
    const EMPTY: Self = Self {
        id: OwnedId::EMPTY,
        token: OwnedId::EMPTY,
        revision: Revision::V2024_11_05,
        capabilities: ClientFeatures::NONE,
        // `None` is not zero.
        log_level: Some(LoggingLevel::Debug),
        may_require_input: false,
        kind: RequestKind::Request,
        reported: Reported::EMPTY,
        nested_calls: 0,
        time_left: 0,
        exchange: ExchangeId::SESSION,
        #[cfg(feature = "http")]
        is_begun: false,
    };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.matches(&self.id)
    }
}

/// An open call.
#[derive(Debug)]
struct InflightCall {
    /// The id of the call.
    number: u32,
    /// The request that the call belongs to.
    parent: Option<Slot>,
    kind: CallKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CallKind {
    /// Made by the application.
    Application,
    /// A ping that checks whether the peer is alive.
    KeepAlive,
    /// Its request has ended; `notifications/cancelled` is still to be sent.
    Abandoned,
}

impl Keyed for InflightCall {
    const EMPTY: Self = Self { number: 0, parent: None, kind: CallKind::Application };

    fn has_id(&self, id: Id<'_>) -> bool {
        id.as_u32() == Some(self.number)
    }
}

// Function pointers for optional capabilities and settings, so that the linker drops the code of
// those that a program does not use.

/// The hooks, empty for capabilities that are not declared.
#[derive(Clone, Copy, Debug)]
struct CapabilityHooks {
    resource_rules: &'static [Rule],
    completion_rules: &'static [Rule],
    subscribe: Option<HandleRequest>,
    unsubscribe: Option<HandleRequest>,
    set_level: Option<HandleRequest>,
    grants: Option<&'static Grants>,
}

impl CapabilityHooks {
    const fn of(capabilities: ServerFeatures) -> Self {
        use ServerFeatures as C;
        let subscribes = capabilities.contains(C::RESOURCES_SUBSCRIBE);
        Self {
            resource_rules: if capabilities.contains(C::RESOURCES) { &RESOURCE } else { &[] },
            completion_rules: if capabilities.contains(C::COMPLETIONS) { &COMPLETION } else { &[] },
            subscribe: if subscribes { Some(subscribe) } else { None },
            unsubscribe: if subscribes { Some(unsubscribe) } else { None },
            set_level: if capabilities.contains(C::LOGGING) { Some(set_level) } else { None },
            grants: if capabilities.has_changes() { Some(&GRANTS) } else { None },
        }
    }

    /// Returns those of both.
    #[inline(always)]
    const fn and(mut self, more: Self) -> Self {
        if !more.resource_rules.is_empty() {
            self.resource_rules = more.resource_rules;
        }
        if !more.completion_rules.is_empty() {
            self.completion_rules = more.completion_rules;
        }
        if more.subscribe.is_some() {
            (self.subscribe, self.unsubscribe) = (more.subscribe, more.unsubscribe);
        }
        if more.set_level.is_some() {
            self.set_level = more.set_level;
        }
        if more.grants.is_some() {
            self.grants = more.grants;
        }
        self
    }
}

/// Responds to a request of a session.
type HandleRequest = for<'f> fn(
    &mut Server<'_>,
    Id<'f>,
    Revision,
    &Params<'f>,
    &mut Tx<'_>,
) -> SendResult<Option<ServerEvent<'f>>>;

/// A setting, and the code that only a server with this setting links.
#[derive(Clone, Copy)]
struct Linked<T, F> {
    value: T,
    code: F,
}

impl<T: fmt::Debug, F> fmt::Debug for Linked<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Code for timeouts of requests.
#[derive(Clone, Copy)]
struct RequestTimeout {
    deadline: fn(Instant, Duration) -> Instant,
    handle: HandleTimeout,
}

/// Handles the next timeout of a kind; [`Continue`](ControlFlow::Continue) if none is due.
type HandleTimeout = fn(&mut Server<'_>, Instant, &mut Tx<'_>) -> SendResult<TimedOut>;

/// Whether a timeout was handled, and its event.
type TimedOut = ControlFlow<Option<ServerEvent<'static>>>;

/// Ends what a restarted peer does not know of: [`Server::reconnect`].
type Reconnect = fn(
    &mut Server<'_>,
    Id<'_>,
    Method<'_>,
    &Envelope<'_>,
    &Tx<'_>,
) -> SendResult<Option<ServerEvent<'static>>>;

/// Code for deadlines: linked by the settings and the calls that have one.
struct Timers {
    next: fn(&Server<'_>) -> Option<Instant>,
    handle: fn(&mut Server<'_>, Instant, &mut Tx<'_>) -> SendResult<Option<ServerEvent<'static>>>,
}

impl Timers {
    const ALL: &Self = &Self {
        next: |server| server.next_deadline(),
        handle: |server, now, tx| server.handle_deadline(now, tx),
    };
}

/// Code for pings.
#[derive(Clone, Copy)]
struct KeepAlive {
    due: fn(&Server<'_>) -> Option<Instant>,
    ping: fn(&mut Server<'_>, Instant, &mut Tx<'_>) -> SendResult,
}

/// Reports the response to a call: [`Server::call_response`].
type CallResponse = for<'f> fn(
    &mut Server<'_>,
    Instant,
    Id<'f>,
    Result<RawJson<'f>, RawJson<'f>>,
    &Tx<'_>,
) -> Option<ServerEvent<'f>>;

/// Code for calls that are open: linked by the functions that make one.
struct CallHooks {
    timers: &'static Timers,
    response: CallResponse,
    time_out: HandleTimeout,
    cancel_nested: fn(&mut Server<'_>, Slot),
    /// Removes calls up to the first that the application knows of.
    end_next: fn(&mut Server<'_>) -> Option<ServerEvent<'static>>,
}

impl CallHooks {
    const ALL: &Self = &Self {
        timers: Timers::ALL,
        response: |server, now, id, outcome, tx| server.call_response(now, id, outcome, tx),
        time_out: |server, now, tx| server.time_out_call(now, tx),
        cancel_nested: |server, parent| server.cancel_nested(parent),
        end_next: |server| server.end_next_call(),
    };
}

crate::text::opaque_debug!(CallHooks {});

fn set_level<'f>(
    server: &mut Server<'_>,
    id: Id<'f>,
    revision: Revision,
    params: &Params<'f>,
    tx: &mut Tx<'_>,
) -> SendResult<Option<ServerEvent<'f>>> {
    let level = params.get("level").and_then(RawJson::as_string).and_then(LoggingLevel::from_json);
    // The level has been checked.
    let Some(level) = level else { return Ok(None) };
    respond_empty(id, revision, tx)?;
    if let Some(session) = &mut server.peer.session {
        session.log_level = level;
    }
    Ok(Some(ServerEvent::LogLevel(level)))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;
    use crate::types::{
        CreateMessageParams, ElicitParams, Implementation, InputRequest, RequestedSchema,
        SamplingMessage,
    };
    use crate::{
        Frame, Messages, RawJson, ServerConfig, ServerEvent, ServerFeatures, ServerState, TxBuffer,
    };

    #[test]
    fn each_question_becomes_its_request() {
        static CONFIG: ServerConfig<'_> =
            ServerConfig::new(Implementation::new("t", "1"), ServerFeatures::TOOLS);
        let mut state: ServerState = ServerState::new();
        let mut server = state.server(&CONFIG);
        let mut tx = TxBuffer::new([0; 1024]);
        let now = Instant::from_millis(0);
        let mut parent = None;
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"sampling":{},"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}"#,
        ] {
            let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
            if let Ok(Some(ServerEvent::Request(request))) =
                server.next_event(now, &mut messages, &mut tx)
            {
                parent = Some(request.handle);
            }
        }
        tx.advance(usize::MAX);
        let parent = parent.unwrap();
        let messages = [SamplingMessage::user("hello")];
        let form = ElicitParams::form("m", RequestedSchema::new(&[]));
        let sampling = CreateMessageParams::new(&messages, 1);
        for (question, method) in [
            (InputRequest::Elicit(form), "elicitation/create"),
            (InputRequest::CreateMessage(sampling), "sampling/createMessage"),
            (InputRequest::ListRoots, "roots/list"),
        ] {
            let request = ClientRequest::from(&question).parent(parent);
            assert!(server.request(now, request, &mut tx).is_ok());
            let sent = String::from_utf8(tx.pending().into()).unwrap();
            tx.advance(usize::MAX);
            assert!(sent.contains(&std::format!(r#""method":"{method}""#)), "{sent}");
        }
        assert_eq!(server.open_calls(), 3);
        let unknown = InputRequest::Other(RawJson::EMPTY);
        let refused = server.request(now, ClientRequest::from(&unknown).parent(parent), &mut tx);
        assert_eq!(refused, Err(SendError::Invalid(InvalidPayload::Method)));
    }
}
