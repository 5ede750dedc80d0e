//! Calls (requests to the server), notifications, and the server's own requests.

#[cfg(feature = "tasks")]
use core::time::Duration;

use super::event::{CallOptions, ClientEvent, ServerRequest};
use super::{CallKind, Client, InflightCall, Phase};
use crate::buffers::tx::{Tx, WriterId};
use crate::encode::{Addition, Additions, Encode, Encoder, With, object};
use crate::json::{Decimal, JsonStr, RawJson, hash_str};
use crate::message::{Envelope, Id, Member, Params};
use crate::progress::{Progress, Reported};
use crate::protocol::error::{
    InvalidPayload, NotAllowed, SendError, SendResult, TERSE, Violation, require,
};
use crate::protocol::{ClientFeatures, Method, Revision};
use crate::rpc::inflight::{Call, Delivery, RequestHandle, Slot};
use crate::rpc::{RpcError, write_error, write_notification, write_response_head};
use crate::time::Instant;
use crate::types::meta::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN, PROTOCOL_VERSION,
};
use crate::types::setters;
use crate::types::{
    ClientCapabilities, InputRequests, LoggingLevel, Map, SubscriptionFilter,
    SubscriptionsListenParams, Text,
};

impl<'s> Client<'s> {
    /// Sends a request. `params` is any value that serializes as a JSON object, or
    /// [`RawJson::EMPTY`](crate::RawJson::EMPTY); the client adds the members of `_meta` that
    /// modern requests need. `params` may contain the client's capabilities and info for this
    /// request alone, but not the revision or the progress token. The result arrives as
    /// [`ClientEvent::CallFinished`](super::ClientEvent::CallFinished). [`methods`](crate::methods)
    /// has the names of the protocol's methods.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] before the client is connected, for a method that the revision
    /// does not have or whose capability the server did not declare, and for `subscriptions/listen`
    /// (use [`listen`](Self::listen)). [`SendError::Invalid`] when the parameters are not an
    /// object, or contain a member that the client adds. [`SendError::TooManyCalls`] when the table
    /// is full. [`SendError::Full`]: drain and call again with the same arguments.
    pub fn request<P: Encode + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: &P,
        options: CallOptions,
        tx: &mut Tx<'_>,
    ) -> SendResult<Call> {
        let new = NewCall::request(method, &params, self.current_revision());
        self.send(now, &NewCall { options, ..new }, tx)
    }

    /// Sends a request again with the input that the server needs: the same method and parameters
    /// as before, under a new id (2026-07-28, basic/patterns/mrtr).
    ///
    /// # Errors
    /// As [`request`](Self::request); [`SendError::NotAllowed`] also for a method whose result may
    /// not require input.
    #[allow(clippy::too_many_arguments)] // those of a request, and the inputs
    pub fn retry<P: Encode + ?Sized, R: Encode + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: &P,
        inputs: &InputResponseParams<'_, R>,
        options: CallOptions,
        tx: &mut Tx<'_>,
    ) -> SendResult<Call> {
        let session = self.connection().ok_or(NotAllowed::NotOpen)?;
        require(session.revision.is_modern(), NotAllowed::Revision)?;
        let may_require_input = Method::from_name(method).is_some_and(Method::may_require_input);
        require(may_require_input, NotAllowed::Method)?;
        // `params` with inputs of an earlier round would hide these.
        let reserved = |name, value| Addition { name, value, is_reserved: true };
        let responses = With(|to: &mut Encoder<'_>| match inputs.responses {
            Some(responses) => to.nested_object(responses, None),
            None => to.raw(RawJson::EMPTY),
        });
        let state = inputs.state.unwrap_or_default();
        let both = [reserved("inputResponses", &responses), reserved("requestState", &state)];
        let members = match (inputs.responses.is_some(), inputs.state.is_some()) {
            (true, true) => both.get(..),
            (true, false) => both.get(..1),
            (false, true) => both.get(1..),
            (false, false) => None,
        };
        let new = NewCall {
            options,
            inputs: members.unwrap_or_default(),
            round: inputs.round.saturating_add(1),
            ..NewCall::request(method, &params, self.current_revision())
        };
        self.send(now, &new, tx)
    }

    /// Subscribes to changes of a modern server (`subscriptions/listen`; 2026-07-28,
    /// basic/patterns/subscriptions). The call stays in flight until the server ends it, or
    /// [`cancel_call`](Self::cancel_call) does; the timeout applies to the acknowledgement. Legacy
    /// servers report changes of their lists without it, and changes of resources after
    /// `resources/subscribe`.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] before the client is connected, and for a legacy server.
    /// [`SendError::TooManyCalls`] when the table is full. [`SendError::Full`]: drain and call
    /// again with the same arguments.
    pub fn listen(
        &mut self,
        now: Instant,
        filter: &SubscriptionFilter<'_>,
        options: CallOptions,
        tx: &mut Tx<'_>,
    ) -> SendResult<Call> {
        let session = self.connection().ok_or(NotAllowed::NotOpen)?;
        require(session.revision.is_modern(), NotAllowed::Revision)?;
        let params = SubscriptionsListenParams::new(*filter);
        // `subscriptions/listen` has no progress notifications.
        let options = CallOptions { progress: false, ..options };
        let kind = CallKind::Listen { acknowledged: false };
        let new = NewCall {
            options,
            kind,
            ..NewCall::request("subscriptions/listen", &params, self.current_revision())
        };
        self.send_call(now, &new, tx).map(Call)
    }

    /// Cancels a call and sends `notifications/cancelled`. No event follows. Does nothing if the
    /// call is finished already.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn cancel_call(&mut self, call: Call, reason: Option<&str>, tx: &mut Tx<'_>) -> SendResult {
        let Some(outgoing) = self.calls.get(call.0) else { return Ok(()) };
        if !matches!(outgoing.kind, CallKind::Application | CallKind::Listen { .. }) {
            return Ok(());
        }
        let number = outgoing.number;
        self.write_cancelled(WriterId::cancel(number), number, reason, tx)?;
        self.abandon_call(call.0);
        Ok(())
    }

    /// Ends the request or notification that is partly in `tx` (after [`SendError::Full`], where
    /// [`is_mid_frame`](crate::TxBuffer::is_mid_frame)) when the application will not finish it:
    /// the line is cut off there, and the server ignores it as invalid JSON. Does nothing when no
    /// such message is open.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn abort_frame(&mut self, tx: &mut Tx<'_>) -> SendResult {
        if tx.abandon_application()? {
            self.skip_id();
        }
        Ok(())
    }

    /// Skips an id that may be in a line which was cut off: the server may respond to it with an
    /// error.
    pub(crate) fn skip_id(&mut self) {
        self.peer.calls_made = self.peer.calls_made.saturating_add(1);
        self.abandoned_ids.add(self.peer.calls_made, false);
    }

    fn send(&mut self, now: Instant, new: &NewCall<'_>, tx: &mut Tx<'_>) -> SendResult<Call> {
        let session = self.connection().ok_or(NotAllowed::NotOpen)?;
        let broken = match Method::from_name(new.method) {
            Some(Method::Initialize | Method::SubscriptionsListen) => Some(NotAllowed::Method),
            Some(known) => known.rule().and_then(|rule| match session.capabilities {
                _ if !rule.exists_in(session.revision) => Some(NotAllowed::Revision),
                Some(declared) if !rule.allows(session.revision, declared) => {
                    Some(NotAllowed::Capability)
                }
                #[cfg(feature = "skills")]
                None if rule.must_be_declared() => Some(NotAllowed::Capability),
                _ => None,
            }),
            None => new.method.starts_with("notifications/").then_some(NotAllowed::Method),
        };
        #[cfg(feature = "tasks")]
        let broken = broken.or_else(|| super::task::broken_rule(new, session));
        // A partly written frame is finished.
        if let Some(rule) = broken
            && !tx.is_open(self.key(new))
        {
            return Err(SendError::NotAllowed(rule));
        }
        self.send_call(now, new, tx).map(Call)
    }

    pub(super) fn write_cancelled(
        &self,
        key: WriterId,
        number: u32,
        reason: Option<&str>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let params = object!({ "requestId": number, "reason"?: reason });
        tx.frame(key, self.current_revision(), &mut |writer| {
            write_notification(writer, "notifications/cancelled", &params);
        })
    }

    /// Removes a call whose response may still arrive.
    pub(super) fn abandon_call(&mut self, slot: Slot) -> Option<InflightCall> {
        let outgoing = *self.calls.remove(slot)?;
        self.abandoned_ids.add(outgoing.number, outgoing.may_create_task());
        Some(outgoing)
    }
}

/// A call that is to be sent.
#[derive(Clone, Copy)]
pub(super) struct NewCall<'a> {
    pub(super) method: &'a str,
    pub(super) params: &'a dyn Encode,
    /// Members that are added to the parameters.
    pub(super) inputs: &'a [Addition<'a>],
    pub(super) round: u8,
    pub(super) kind: CallKind,
    pub(super) options: CallOptions,
    pub(super) revision: Revision,
    /// The call that this one replaces.
    pub(super) replaces: Option<Slot>,
}

impl<'a> NewCall<'a> {
    pub(super) const fn request(
        method: &'a str,
        params: &'a dyn Encode,
        revision: Revision,
    ) -> Self {
        let options = CallOptions::new();
        Self {
            method,
            params,
            inputs: &[],
            round: 0,
            kind: CallKind::Application,
            options,
            revision,
            replaces: None,
        }
    }
}

impl<'s> Client<'s> {
    /// Sends a call and enters it into the table; all calls go through here.
    pub(super) fn send_call(
        &mut self,
        now: Instant,
        new: &NewCall<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Slot> {
        if self.calls.is_full() && new.replaces.is_none() {
            return Err(SendError::TooManyCalls);
        }
        // Ids are never reused: after 2^32 calls no more can be made.
        let number = self.peer.calls_made.checked_add(1).ok_or(SendError::TooManyCalls)?;
        let digits = Decimal::new(u64::from(number), false);
        let key = self.key(new);
        let has_begun = tx.is_open(key);
        let written = tx.frame(key, new.revision, &mut |writer| {
            write_response_head(writer, digits.as_bytes(), b",\"method\":");
            writer.string(new.method);
            writer.put(b",\"params\":");
            self.write_params(writer, digits.as_bytes(), new);
            writer.put(b"}")
        });
        if has_begun && matches!(written, Err(SendError::Invalid(_))) {
            self.skip_id();
        }
        written?;
        self.peer.calls_made = number;
        if let Some(replaced) = new.replaces {
            self.abandon_call(replaced);
        }
        let config = self.config;
        let (timeout, limit) = (config.call_timeout, config.call_limit);
        // 2025-11-25, basic/utilities/tasks: this one blocks until the task ends.
        #[cfg(feature = "tasks")]
        let (timeout, limit) = match new.method {
            crate::protocol::methods::TASKS_RESULT => (Duration::MAX, Duration::MAX),
            _ => (timeout, limit),
        };
        let timeout = new.options.timeout.unwrap_or(timeout);
        let limit = match new.kind {
            CallKind::Application => now.saturating_add(new.options.limit.unwrap_or(limit)),
            _ => Instant::NEVER,
        };
        let outgoing = InflightCall {
            number,
            kind: new.kind,
            round: new.round,
            may_require_input: Method::from_name(new.method).is_some_and(Method::may_require_input),
            wants_progress: new.options.progress,
            #[cfg(feature = "tasks")]
            task_result: self.task_result(new),
            timeout,
            limit,
        };
        let hash = Id::parse(digits.as_str()).map_or(1, Id::hash);
        let deadline = Some(now.saturating_add(timeout).min(limit));
        let (slot, place) = self.calls.insert(hash, deadline).ok_or(SendError::TooManyCalls)?;
        *place = outgoing;
        Ok(slot)
    }

    pub(super) fn key(&self, new: &NewCall<'_>) -> WriterId {
        match new.kind {
            CallKind::KeepAlive => WriterId::PING,
            CallKind::Connect => WriterId::CONNECT,
            CallKind::Application | CallKind::Listen { .. } => WriterId::application(
                hash_str(new.method) as u32 ^ self.peer.calls_made.rotate_right(8),
            ),
        }
    }

    /// Writes the parameters of the application and the members that the revision requires.
    fn write_params(&self, writer: &mut Encoder<'_>, token: &[u8], new: &NewCall<'_>) {
        let NewCall { params, inputs, options, .. } = *new;
        // A member that the application wrote is not added again; it may not write reserved ones.
        let added = |name, value| Addition { name, value, is_reserved: false };
        let reserved = |name, value| Addition { name, value, is_reserved: true };
        let token = With(|to: &mut Encoder<'_>| to.put(token));
        let token = reserved(PROGRESS_TOKEN, &token);
        let tokens = if options.progress { core::slice::from_ref(&token) } else { &[] };
        if !writer.revision().is_modern() {
            #[cfg(feature = "tasks")]
            if let Some(task) = super::task::metadata(&options, writer.revision()) {
                let members = [reserved("task", &task)];
                return writer.completed(
                    params,
                    &Additions { members: &members, meta: tokens, ..Additions::NONE },
                );
            }
            return writer.completed(params, &Additions { meta: tokens, ..Additions::NONE });
        }
        let config = self.config;
        let (version, capabilities) = (writer.revision().as_str(), self.capabilities());
        let level = options.log_level.or(config.log_level);
        let level = level.map_or("", LoggingLevel::as_str);
        let mut meta = [token; 5];
        let mut used = 0;
        for (wanted, addition) in [
            (true, reserved(PROTOCOL_VERSION, &version)),
            (true, added(CLIENT_CAPABILITIES, &capabilities)),
            (config.send_client_info, added(CLIENT_INFO, &config.info)),
            (!level.is_empty(), added(LOG_LEVEL, &level)),
            (options.progress, token),
        ] {
            if let Some(place) = meta.get_mut(used).filter(|_| wanted) {
                *place = addition;
                used += 1;
            }
        }
        let meta = meta.get(..used).unwrap_or_default();
        writer.completed(params, &Additions { members: inputs, meta, ..Additions::NONE });
    }

    pub(super) fn capabilities(&self) -> ClientCapabilities<'s> {
        let config = self.config;
        ClientCapabilities::declared(config.capabilities, config.experimental, config.extensions)
    }
}

impl Client<'_> {
    /// Sends `notifications/roots/list_changed` (legacy).
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] before the client is connected, to a modern server, and where
    /// `roots.listChanged` was not declared. [`SendError::Full`]: drain and call again.
    pub fn roots_changed(&mut self, tx: &mut Tx<'_>) -> SendResult {
        require(self.is_open(), NotAllowed::NotOpen)?;
        require(!self.current_revision().is_modern(), NotAllowed::Revision)?;
        let is_declared = self.declared().contains(ClientFeatures::ROOTS_LIST_CHANGED);
        require(is_declared, NotAllowed::Capability)?;
        const METHOD: &str = "notifications/roots/list_changed";
        tx.frame(
            WriterId::application(hash_str(METHOD) as u32),
            self.current_revision(),
            &mut |writer| {
                writer.put(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}")
            },
        )
    }

    /// Sends a notification that the protocol does not define.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] before the client is connected, and for notifications of the
    /// protocol, which have methods of their own. [`SendError::Full`]: drain and call again.
    pub fn notify<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        require(self.is_open(), NotAllowed::NotOpen)?;
        require(!OF_THE_PROTOCOL.contains(&method), NotAllowed::Method)?;
        tx.frame(
            WriterId::application(hash_str(method) as u32),
            self.current_revision(),
            &mut |writer| write_notification(writer, method, params),
        )
    }
}

const OF_THE_PROTOCOL: [&str; 4] = [
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/progress",
    "notifications/roots/list_changed",
];

// Input that a modern server requires for a result (2026-07-28, basic/patterns/mrtr).

/// Input-required result: handle each input request, then [`retry`](super::Client::retry) the call.
#[derive(Clone, Copy, Debug)]
pub struct InputRequired<'f> {
    result: RawJson<'f>,
    round: u8,
}

impl<'f> InputRequired<'f> {
    pub(super) const fn new(result: RawJson<'f>, round: u8) -> Self {
        Self { result, round }
    }

    /// Returns the input requests by their keys. Empty when the server only wants a retry with its
    /// state.
    pub fn requests(&self) -> InputRequests<'f> {
        self.raw_requests().and_then(|raw| raw.to().ok()).unwrap_or(Map::new(&[]))
    }

    /// Returns the input requests as JSON.
    pub fn raw_requests(&self) -> Option<RawJson<'f>> {
        self.result.get("inputRequests")
    }

    /// Returns the opaque state that the retry must return to the server.
    pub fn state(&self) -> Option<JsonStr<'f>> {
        self.result.get("requestState").and_then(RawJson::as_string)
    }

    /// Returns the number of retries so far. Applications that store the call until the user
    /// responds store this and the [state](Self::state), for [`InputResponseParams::new`].
    pub const fn round(&self) -> u8 {
        self.round
    }

    /// Returns the parameters of the retry: `responses`, an object with the keys of the input
    /// requests, and the state.
    pub fn retry_params<'a, R: Encode + ?Sized>(
        &self,
        responses: &'a R,
    ) -> InputResponseParams<'a, R>
    where
        'f: 'a,
    {
        InputResponseParams {
            responses: Some(responses),
            state: self.state().map(Text::from_json),
            round: self.round,
        }
    }

    /// Returns the key of the first input request without a response in `responses`. Partial
    /// responses are allowed: the server may request the missing ones again.
    pub fn missing_response(&self, responses: RawJson<'_>) -> Option<JsonStr<'f>> {
        // Most responses are in the order of the requests, so each search continues behind the last
        // hit: searching from the start would be quadratic.
        let mut behind = responses.members();
        let mut is_answered = |key: JsonStr<'_>| {
            behind.any(|(other, _)| other == key) || {
                behind = responses.members();
                behind.any(|(other, _)| other == key)
            }
        };
        self.raw_requests()?.members().map(|(key, _)| key).find(|key| !is_answered(*key))
    }

    /// Returns the whole result.
    pub const fn as_json(&self) -> RawJson<'f> {
        self.result
    }

    /// Returns the capabilities that the input requests need; `None` when one of them is invalid.
    pub(super) fn required_features(&self) -> Option<ClientFeatures> {
        let Some(requests) = self.raw_requests() else { return Some(ClientFeatures::NONE) };
        requests.members().try_fold(ClientFeatures::NONE, |needs, (_, request)| {
            let method = request.get("method").and_then(RawJson::as_string)?;
            ClientFeatures::needed_for(method, request.get("params")).map(|more| needs.with(more))
        })
    }

    /// Whether the members have valid types, and there is at least one of requests and state.
    pub(super) fn is_valid(&self) -> bool {
        let requests = self.raw_requests();
        let state = self.result.get("requestState");
        (requests.is_some() || state.is_some())
            && requests.is_none_or(RawJson::is_object)
            && state.is_none_or(|state| state.as_string().is_some())
    }
}

/// Parameters that a retry adds to those of the request: `inputResponses` and `requestState`
/// (schema type `InputResponseRequestParams`).
#[derive(Debug)]
#[must_use]
pub struct InputResponseParams<'a, R: ?Sized> {
    pub(super) responses: Option<&'a R>,
    pub(super) state: Option<Text<'a>>,
    pub(super) round: u8,
}

impl<'a, R: Encode + ?Sized> InputResponseParams<'a, R> {
    /// Creates the parameters of the retry after `round` ([`InputRequired::round`]).
    pub const fn new(round: u8) -> Self {
        Self { responses: None, state: None, round }
    }

    setters! {
        /// Sets the responses: an object with the keys of the input requests.
        responses?: &'a R;
        /// Sets the state, as the server sent it.
        state: Option<Text<'a>>;
    }
}

impl<R: ?Sized> Clone for InputResponseParams<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: ?Sized> Copy for InputResponseParams<'_, R> {}

// Requests of a legacy server, and the responses to them.

impl Client<'_> {
    /// Handles a request of the server.
    pub(super) fn handle_request<'f>(
        &mut self,
        now: Instant,
        id: Id<'f>,
        method: Method<'f>,
        envelope: &Envelope<'f>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Option<ClientEvent<'f>>> {
        // 2026-07-28, basic/transports/stdio: a client never sends a response. A server that sends
        // a request during the probe is a legacy one.
        let may_be_legacy = matches!(self.peer.phase, Phase::Probing)
            && self.config.revisions.newest_legacy().is_some();
        if self.current_revision().is_modern() && !may_be_legacy {
            return Ok(Some(ClientEvent::Violation(Violation::UnexpectedRequest.into())));
        }
        if method == Method::Ping {
            tx.frame(WriterId::AUTOMATIC_RESPONSE, self.current_revision(), &mut |writer| {
                write_response_head(writer, id.as_str().as_bytes(), b",\"result\":{}}")
            })?;
            return Ok(None);
        }
        let hash = id.hash();
        if self.requests.find(id, hash).is_some() {
            // A response with this id would end the request in flight.
            return Ok(Some(ClientEvent::Violation(Violation::IdInUse.into())));
        }
        let params = envelope.params();
        let token = envelope.value(Member::ProgressToken).map(|token| Id::parse(token.as_str()));
        let refusal = match self.check_request(id, token, method, &params) {
            Ok(method) => {
                let timeout = self.config.request_timeout;
                // It waits as long as the task takes.
                #[cfg(feature = "tasks")]
                let timeout = timeout.filter(|_| method != "tasks/result");
                let deadline = timeout.map(|timeout| now.saturating_add(timeout));
                if let Some((slot, incoming)) = self.requests.insert(hash, deadline) {
                    incoming.id.set(id);
                    incoming.token.clear();
                    incoming.reported = Reported::NOTHING;
                    if let Some(token) = token.flatten() {
                        incoming.token.set(token);
                    }
                    let wants_progress = !incoming.token.is_empty();
                    return Ok(Some(ClientEvent::Request(ServerRequest {
                        handle: RequestHandle(slot),
                        method,
                        wants_progress,
                        #[cfg(feature = "tasks")]
                        task: self.wanted_task(method, &params).unwrap_or_default(),
                        params,
                    })));
                }
                Violation::TooManyRequests.into()
            }
            Err(refusal) => refusal,
        };
        self.refuse(id, refusal, tx).map(Some)
    }

    /// Checks a request: its id and its token, `Some(None)` if that is invalid, that the connection
    /// is open, and the capability declared. Returns the method.
    fn check_request<'f>(
        &self,
        id: Id<'f>,
        token: Option<Option<Id<'f>>>,
        method: Method<'f>,
        params: &Params<'f>,
    ) -> Result<JsonStr<'f>, Refusal> {
        let is_too_long = id.is_too_long() || token.flatten().is_some_and(Id::is_too_long);
        require(!is_too_long, Violation::IdTooLong)?;
        let are_valid = params.given().is_none_or(|params| params.is_object());
        require(are_valid && !matches!(token, Some(None)), Violation::InvalidParams)?;
        #[cfg(feature = "tasks")]
        if let Some(hosted) = self.task_method_served(method) {
            return Ok(hosted);
        }
        // `Method` has only requests that clients send.
        let Method::Other(method) = method else { return Err(Violation::UnknownMethod.into()) };
        let declared = if self.is_open() { self.declared() } else { ClientFeatures::NONE };
        let needed = ClientFeatures::needed_for(method, params.given());
        let needed = needed.ok_or(Violation::UnknownMethod)?;
        if declared.contains(needed) {
            #[cfg(feature = "tasks")]
            self.wanted_task(method, params).map_err(|_| Violation::InvalidParams)?;
            return Ok(method);
        }
        // Whether another mode of the same capability is declared.
        let partly = [
            ClientFeatures::SAMPLING_TOOLS,
            ClientFeatures::ELICITATION_FORM.with(ClientFeatures::ELICITATION_URL),
        ]
        .into_iter()
        .any(|forms| forms.contains(needed) && forms.without(declared) != forms);
        Err(if partly { Refusal::UNDECLARED } else { Violation::UnknownMethod.into() })
    }

    pub(super) fn refuse<'f>(
        &self,
        id: Id<'_>,
        refusal: Refusal,
        tx: &mut Tx<'_>,
    ) -> SendResult<ClientEvent<'f>> {
        let message = self.config.words.map_or(TERSE, |words| words(refusal));
        let error = RpcError::new(refusal.violation.code(), message);
        tx.frame(WriterId::AUTOMATIC_RESPONSE, self.current_revision(), &mut |writer| {
            write_error(writer, Some(id.as_str()), &error)
        })?;
        Ok(ClientEvent::Violation(refusal.violation.into()))
    }
}

/// Reason why a request does not reach the application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    violation: Violation,
    /// Whether the parameters need an undeclared capability.
    undeclared: bool,
}

impl Refusal {
    const UNDECLARED: Self = Self { violation: Violation::InvalidParams, undeclared: true };

    /// Returns the words of the error response.
    pub(super) fn words(self) -> &'static str {
        if self.undeclared {
            "The parameters need a capability that the client did not declare"
        } else {
            self.violation.message()
        }
    }
}

impl From<Violation> for Refusal {
    fn from(violation: Violation) -> Self {
        Self { violation, undeclared: false }
    }
}

impl Client<'_> {
    /// Sends the result of a request: any value that serializes as a JSON object. Writes nothing if
    /// the request is no longer open ([`is_request_open`](Self::is_request_open)).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::Invalid`] when the value is not an
    /// object; the request stays open.
    pub fn respond<T: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &T,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        self.write_response(request, tx, &|id, writer| {
            write_response_head(writer, id.as_bytes(), b",\"result\":");
            writer.any_object(result);
            writer.put(b"}")
        })
    }

    /// Sends a result that is JSON text already.
    ///
    /// # Errors
    /// As [`respond`](Self::respond).
    pub fn respond_raw(
        &mut self,
        request: RequestHandle,
        result: RawJson<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        require(result.is_object(), InvalidPayload::NotAnObject)?;
        self.respond(request, &result, tx)
    }

    /// Sends an error response. By convention -1 means that the user rejected the request:
    /// [`ErrorCode::Application`](crate::ErrorCode::Application).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn respond_error(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        self.write_response(request, tx, &|id, writer| write_error(writer, Some(id), error))
    }

    /// Sends a progress notification about a request, if the server requested them.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again, or drop the notification.
    /// [`SendError::TooLarge`]: shorten the message.
    pub fn progress(
        &mut self,
        now: Instant,
        request: RequestHandle,
        progress: &Progress<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Delivery> {
        let (interval, revision) = (self.config.progress_interval, self.current_revision());
        let Some(incoming) = self.requests.get_mut(request.0) else { return Ok(Delivery::Gone) };
        if incoming.token.is_empty() {
            return Ok(Delivery::NotRequested);
        }
        incoming.reported.report(now, interval, incoming.token.as_str(), progress, revision, tx)
    }

    fn write_response(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
        write: &dyn Fn(&str, &mut Encoder<'_>),
    ) -> SendResult {
        let slot = request.0;
        let Some(incoming) = self.requests.get(slot) else { return Ok(()) };
        let key = WriterId::response(slot.index, slot.serial);
        tx.frame(key, self.current_revision(), &mut |writer| write(incoming.id.as_str(), writer))?;
        self.requests.remove(slot);
        Ok(())
    }
}
