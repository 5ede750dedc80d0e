//! Requests to the client: sampling, elicitation, roots and ping as calls (legacy), input requests
//! as a result (2026-07-28).

use core::time::Duration;

use super::capability_hooks::CallHooks;
use super::client_request::{ClientRequest, RequestParams, require};
use super::inflight::{CallKind, InflightCall};
#[cfg(feature = "tasks")]
use super::tasks::related_task;
use super::{Server, Session};
#[cfg(feature = "tasks")]
use crate::encode::{Addition, Additions};
use crate::encode::{Encode, Encoder, object};
use crate::error::{InvalidPayload, NotAllowed, SendError};
use crate::handle::{Call, RequestHandle};
use crate::inflight::Slot;
use crate::json::Decimal;
#[cfg(feature = "tasks")]
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revision};
use crate::message::{Id, hash_str};
use crate::rpc::{write_notification, write_response_head};
#[cfg(feature = "tasks")]
use crate::tasks::TaskId;
use crate::time::Instant;
use crate::tx::{Tx, WriterId};
#[cfg(feature = "tasks")]
use crate::types::meta::RELATED_TASK;

impl Server<'_> {
    /// Sends a request to a legacy client. Its result or error arrives as a
    /// [`ServerEvent::CallFinished`](super::ServerEvent::CallFinished).
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] if the client did not declare the capability, is not initialized
    /// (except for ping), or is modern (use [`input_required`](Self::input_required)).
    /// [`SendError::Invalid`] for a form with nested fields, URL mode without a URL (in 2025-11-25
    /// also without an id), messages with a `tool_use` without `tool_result`, and an unknown method
    /// ([`InputRequest::Other`](crate::types::InputRequest::Other)).
    /// [`SendError::TooManyCalls`] if the table is full. [`SendError::Full`]: drain and call again.
    pub fn request<'a>(
        &mut self,
        now: Instant,
        request: impl Into<ClientRequest<'a>>,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        self.make_call(now, &request.into(), tx)
    }

    fn make_call(
        &mut self,
        now: Instant,
        request: &ClientRequest<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        let scope = self.peer.session.ok_or(SendError::NotAllowed(NotAllowed::NotOpen))?;
        let parent = request.parent.map(|parent| parent.0);
        // A partly written call is finished, even if its parent has ended meanwhile.
        if !tx.is_open(key(request.method, parent)) {
            self.check_call(request, scope)?;
        }
        let timeout = request.timeout.unwrap_or(self.config.call_timeout);
        let params: Option<&dyn Encode> = match &request.params {
            RequestParams::Input(Some(params)) => Some(params),
            RequestParams::Input(None) => None,
            RequestParams::Other(params) => *params,
        };
        #[cfg(feature = "tasks")]
        let related = request.task.map(|task| Related { task, params });
        #[cfg(feature = "tasks")]
        let params = related.as_ref().map_or(params, |related| Some(related as &dyn Encode));
        let slot = self.call(
            now,
            request.method,
            params,
            CallKind::Application,
            parent,
            timeout,
            scope.revision,
            tx,
        )?;
        match parent {
            Some(parent) if self.requests.get(parent).is_some() => self.suspend(now, parent),
            Some(parent) => self.cancel_nested(parent),
            None => {}
        }
        Ok(Call(slot))
    }

    fn check_call(&self, request: &ClientRequest<'_>, scope: Session) -> Result<(), SendError> {
        let parent = request
            .parent
            .map(|parent| {
                self.requests.get(parent.0).ok_or(SendError::NotAllowed(NotAllowed::ParentGone))
            })
            .transpose()?;
        let modern = parent.is_some_and(|parent| parent.revision.is_modern());
        // Before 2025-11-25 there was no capability for `includeContext`.
        let context = ClientFeatures::SAMPLING_CONTEXT.without(ClientFeatures::SAMPLING);
        let needs = if scope.revision < Revision::V2025_11_25 {
            request.needs.without(context)
        } else {
            request.needs
        };
        let broken = if modern {
            NotAllowed::Revision
        } else if !(scope.is_ready() || request.method == "ping") {
            NotAllowed::NotOpen
        } else if !scope.capabilities.contains(needs) {
            NotAllowed::Capability
        } else {
            return request.validate(scope.revision).map_err(SendError::Invalid);
        };
        Err(SendError::NotAllowed(broken))
    }

    /// Cancels a call and sends `notifications/cancelled`. No event follows. Does nothing if the
    /// call is finished already.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn cancel_call(
        &mut self,
        now: Instant,
        call: Call,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let Some(outgoing) = self.calls.get(call.0) else { return Ok(()) };
        let number = outgoing.number;
        self.write_cancelled(number, tx)?;
        self.remove_call(now, call.0);
        Ok(())
    }

    /// Returns whether the call waits for a response.
    #[must_use]
    pub fn is_call_open(&self, call: Call) -> bool {
        self.calls.get(call.0).is_some_and(|outgoing| outgoing.kind == CallKind::Application)
    }

    #[allow(clippy::too_many_arguments)] // one place where a request of ours begins
    pub(super) fn call(
        &mut self,
        now: Instant,
        method: &str,
        params: Option<&dyn Encode>,
        kind: CallKind,
        parent: Option<Slot>,
        timeout: Duration,
        revision: Revision,
        tx: &mut Tx<'_>,
    ) -> Result<Slot, SendError> {
        if self.calls.is_full() {
            return Err(SendError::TooManyCalls);
        }
        // Ids are not reused in a session, which therefore ends after 2^32 calls.
        let number = self.peer.calls_made.checked_add(1).ok_or(SendError::TooManyCalls)?;
        let digits = Decimal::new(u64::from(number), false);
        let frame = match kind {
            CallKind::Application => key(method, parent),
            CallKind::KeepAlive | CallKind::Abandoned => WriterId::PING,
        };
        tx.frame(frame, revision, &mut |writer| {
            write_response_head(writer, digits.as_bytes(), b",\"method\":");
            writer.string(method);
            if let Some(params) = params {
                writer.put(b",\"params\":");
                params.encode(writer);
            }
            writer.put(b"}")
        })?;
        self.peer.calls = Some(CallHooks::ALL);
        self.peer.calls_made = number;
        let hash =
            core::str::from_utf8(digits.as_bytes()).ok().and_then(Id::parse).map_or(1, Id::hash);
        let deadline = Some(now.saturating_add(timeout));
        let (slot, outgoing) = self.calls.insert(hash, deadline).ok_or(SendError::TooManyCalls)?;
        *outgoing = InflightCall { number, parent, kind };
        Ok(slot)
    }

    /// Removes a call and resumes the timeout of its parent.
    pub(super) fn remove_call(&mut self, now: Instant, slot: Slot) -> Option<CallKind> {
        let InflightCall { parent, kind, .. } = *self.calls.remove(slot)?;
        if let (Some(parent), CallKind::Application) = (parent, kind) {
            self.resume(now, parent);
        }
        Some(kind)
    }

    /// Makes the calls of a request due at once: their results are no longer needed.
    pub(super) fn cancel_nested(&mut self, parent: Slot) {
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

    pub(super) fn write_cancelled(&self, number: u32, tx: &mut Tx<'_>) -> Result<(), SendError> {
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

/// Parameters of a request that belongs to a task.
#[cfg(feature = "tasks")]
struct Related<'x> {
    task: TaskId,
    params: Option<&'x dyn Encode>,
}

#[cfg(feature = "tasks")]
impl Encode for Related<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        let value = &related_task(self.task);
        let meta = [Addition { name: RELATED_TASK, value, is_reserved: false }];
        let params = self.params.unwrap_or(&RawJson::EMPTY);
        to.completed(params, &Additions { members: &[], meta: &meta });
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
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        pending.may_ask_for(ClientFeatures::NONE)?;
        require(state.is_some() || !input_requests.is_empty(), InvalidPayload::Empty)?;
        let mut valid = Ok(());
        for (at, (key, input)) in input_requests.iter().enumerate() {
            pending.may_ask_for(input.needs)?;
            let is_new = !input_requests.iter().take(at).any(|(other, _)| other == key);
            valid = valid
                .and(require(
                    matches!(input.params, RequestParams::Input(_)),
                    InvalidPayload::Method,
                ))
                .and(input.validate(Revision::LATEST))
                .and(require(is_new, InvalidPayload::DuplicateKey));
        }
        valid?;
        let input_requests = (!input_requests.is_empty()).then_some(InputRequests(input_requests));
        let result = object!({
            "resultType" = "input_required",
            "inputRequests"?: input_requests,
            "requestState"?: state,
        });
        #[cfg(feature = "alloc")]
        {
            self.peer.other_response = Some((request.0, super::ResponseKind::InputRequired));
        }
        self.respond_with::<dyn Encode>(request, "input_required", &result, tx)
    }
}

struct InputRequests<'x>(&'x [(&'x str, ClientRequest<'x>)]);

impl Encode for InputRequests<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for (key, request) in self.0 {
            to.member(key, request);
        }
        to.end_object();
    }
}

/// Writer of a call.
fn key(method: &str, parent: Option<Slot>) -> WriterId {
    WriterId::application(hash_str(method) as u32 ^ parent.map_or(0, |parent| parent.serial))
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
        for (question, method) in [
            (
                InputRequest::Elicit(ElicitParams::form("m", RequestedSchema::new(&[]))),
                "elicitation/create",
            ),
            (
                InputRequest::CreateMessage(CreateMessageParams::new(&messages, 1)),
                "sampling/createMessage",
            ),
            (InputRequest::ListRoots, "roots/list"),
        ] {
            assert!(
                server.request(now, ClientRequest::from(&question).parent(parent), &mut tx).is_ok()
            );
            let sent = String::from_utf8(tx.pending().into()).unwrap();
            tx.advance(usize::MAX);
            let sent = RawJson::parse(&sent).unwrap();
            assert!(
                sent.get("method").and_then(RawJson::as_string).is_some_and(|sent| sent == method)
            );
        }
        assert_eq!(server.open_calls(), 3);
        let unknown = InputRequest::Other(RawJson::EMPTY);
        assert_eq!(
            server.request(now, ClientRequest::from(&unknown).parent(parent), &mut tx),
            Err(SendError::Invalid(InvalidPayload::Method))
        );
    }
}
