//! Requests to the client: sampling, elicitation, roots and ping as calls (legacy), input requests
//! as a result (2026-07-28).

use core::time::Duration;

use super::inflight::{CallKind, InflightCall};
use super::{Server, Session};
use crate::encode::tell::{Object, Tell, Teller};
use crate::encode::{Payload, write_payload};
use crate::error::{InvalidPayload, NotAllowed, SendError};
use crate::handle::{Call, RequestHandle};
use crate::inflight::Slot;
use crate::json::{Decimal, RawJson};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::message::{Id, hash_str};
use crate::rpc::{write_notification, write_response_head};
use crate::time::Instant;
use crate::tx::{Tx, WriterId};
use crate::types::{
    CreateMessageParams, ElicitFormParams, ElicitParams, ElicitUrlParams, InputRequest,
    InputRequiredResult,
};

/// A request to a legacy client.
#[derive(Clone, Copy, Debug)]
pub struct ClientRequest<'a, P: ?Sized> {
    method: &'static str,
    params: Option<&'a P>,
    needs: ClientFeatures,
    check: fn(&P, Revision) -> Result<(), InvalidPayload>,
    parent: Option<RequestHandle>,
    timeout: Option<Duration>,
}

impl<'a> ClientRequest<'a, CreateMessageParams<'a>> {
    /// `sampling/createMessage`. Deprecated since 2026-07-28.
    #[must_use]
    pub fn sampling(params: &'a CreateMessageParams<'a>) -> Self {
        Self {
            check: check_sampling,
            ..Self::new("sampling/createMessage", Some(params), params.required_capabilities())
        }
    }
}

impl<'a> ClientRequest<'a, ElicitParams<'a>> {
    /// `elicitation/create`
    #[must_use]
    pub fn elicitation(params: &'a ElicitParams<'a>) -> Self {
        Self {
            check: check_elicitation,
            ..Self::new("elicitation/create", Some(params), params.required_capabilities())
        }
    }
}

impl ClientRequest<'_, RawJson<'_>> {
    /// `roots/list`. Deprecated since 2026-07-28.
    #[must_use]
    pub const fn roots() -> Self {
        Self::new("roots/list", None, ClientFeatures::ROOTS)
    }

    /// `ping`
    #[must_use]
    pub const fn ping() -> Self {
        Self::new("ping", None, ClientFeatures::NONE)
    }
}

impl<'a, P: ?Sized> ClientRequest<'a, P> {
    /// Creates a request with any method. `needs` are the capabilities that the client must have
    /// declared.
    #[must_use]
    pub const fn new(method: &'static str, params: Option<&'a P>, needs: ClientFeatures) -> Self {
        Self { method, params, needs, check: |_, _| Ok(()), parent: None, timeout: None }
    }

    /// Makes the call part of this request: the request's timeout pauses until the call ends, and
    /// the call is cancelled when the request ends.
    #[must_use]
    pub const fn parent(self, parent: RequestHandle) -> Self {
        Self { parent: Some(parent), ..self }
    }

    /// Sets the timeout, instead of the configured
    /// [`call_timeout`](super::ServerConfig::call_timeout).
    #[must_use]
    pub const fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }
}

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// Sends a request to a legacy client. Its result or error arrives as a
    /// [`ServerEvent::CallFinished`](super::ServerEvent::CallFinished).
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] if the client did not declare the capability, is not initialized
    /// (except for ping), or is modern (use [`input_required`](Self::input_required)).
    /// [`SendError::Invalid`] for a form with nested fields, URL mode without a URL (in 2025-11-25
    /// also without an id), and messages with a `tool_use` without `tool_result`.
    /// [`SendError::TooManyCalls`] if the table is full. [`SendError::Full`]: drain and call again.
    pub fn request<P: Payload + ?Sized>(
        &mut self,
        now: Instant,
        request: &ClientRequest<'_, P>,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        let scope = self.session.ok_or(SendError::NotAllowed(NotAllowed::NotOpen))?;
        let parent = request.parent.map(|parent| parent.0);
        // A partly written call is finished, even if its parent has ended meanwhile.
        if !tx.is_open(key(request.method, parent)) {
            self.check_call(request, scope)?;
        }
        let timeout = request.timeout.unwrap_or(self.config.call_timeout);
        let slot = self.call(
            now,
            request.method,
            request.params,
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

    fn check_call<P: ?Sized>(
        &self,
        request: &ClientRequest<'_, P>,
        scope: Session,
    ) -> Result<(), SendError> {
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
        } else if !(scope.ready || request.method == "ping") {
            NotAllowed::NotOpen
        } else if !scope.capabilities.contains(needs) {
            NotAllowed::Capability
        } else {
            return match request.params {
                Some(params) => (request.check)(params, scope.revision).map_err(SendError::Invalid),
                None => Ok(()),
            };
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
    pub(super) fn call<P: Payload + ?Sized>(
        &mut self,
        now: Instant,
        method: &str,
        params: Option<&P>,
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
        let number = self.calls_made.checked_add(1).ok_or(SendError::TooManyCalls)?;
        let digits = Decimal::new(u64::from(number), false);
        let frame = match kind {
            CallKind::Application => key(method, parent),
            CallKind::KeepAlive | CallKind::Abandoned => WriterId::PING,
        };
        tx.frame(frame, revision, &mut |writer| {
            write_response_head(writer, digits.as_bytes(), b",\"method\":")?;
            writer.string(method)?;
            if let Some(params) = params {
                writer.put(b",\"params\":")?;
                write_payload(writer, params, None)?;
            }
            writer.put(b"}")
        })?;
        self.calls_made = number;
        let hash =
            core::str::from_utf8(digits.as_bytes()).ok().and_then(Id::parse).map_or(1, Id::hash);
        let deadline = Some(now.saturating_add(timeout));
        self.calls
            .insert(hash, deadline, InflightCall { number, parent, kind })
            .map(|(slot, _)| slot)
            .ok_or(SendError::TooManyCalls)
    }

    /// Removes a call and resumes the timeout of its parent.
    pub(super) fn remove_call(&mut self, now: Instant, slot: Slot) -> Option<CallKind> {
        let outgoing = self.calls.remove(slot)?;
        if let (Some(parent), CallKind::Application) = (outgoing.parent, outgoing.kind) {
            self.resume(now, parent);
        }
        Some(outgoing.kind)
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
                &Object { names: "requestId,", members: &[&u64::from(number)] },
            )
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

/// Parameters of an input request: [`ElicitParams`], [`ElicitFormParams`], [`ElicitUrlParams`],
/// [`CreateMessageParams`], or any [`InputRequest`].
pub trait AsInputRequest {
    #[doc(hidden)]
    fn as_input_request(&self) -> InputRequestParts<'_>;
}

/// Method, parameters and requirements of an input request.
pub struct InputRequestParts<'x> {
    method: &'static str,
    params: Option<&'x dyn Tell>,
    needs: ClientFeatures,
    valid: Result<(), InvalidPayload>,
}

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// Responds as [`input_required`](Self::input_required), with the input requests as values of
    /// their own types, each with a unique key. The program links only the types that it uses.
    ///
    /// `state` is returned with the client's next attempt. The client can read and change it:
    /// protect it where that matters.
    ///
    /// # Errors
    /// As [`input_required`](Self::input_required).
    pub fn require_input(
        &mut self,
        request: RequestHandle,
        questions: &[(&str, &dyn AsInputRequest)],
        state: Option<&str>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        pending.may_ask_for(ClientFeatures::NONE)?;
        require(state.is_some() || !questions.is_empty(), InvalidPayload::Empty)?;
        let mut valid = Ok(());
        for (at, (key, question)) in questions.iter().enumerate() {
            let asked = question.as_input_request();
            pending.may_ask_for(asked.needs)?;
            let is_new = !questions.iter().take(at).any(|(other, _)| other == key);
            valid = valid.and(asked.valid).and(require(is_new, InvalidPayload::DuplicateKey));
        }
        valid?;
        let questions = (!questions.is_empty()).then_some(InputRequestMap(questions));
        let result = Object {
            names: "resultType,inputRequests,requestState,",
            members: &[&"input_required", &questions, &state],
        };
        self.respond_with::<dyn Payload>(request, "input_required", &result, tx)
    }

    /// Sends an input request to a legacy client as a call of the request `parent`, for handlers
    /// that serve both eras.
    ///
    /// # Errors
    /// As [`request`](Self::request). [`InvalidPayload::Method`] for an input request with an
    /// unknown method.
    pub fn request_input(
        &mut self,
        now: Instant,
        parent: RequestHandle,
        question: &InputRequest<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Call, SendError> {
        match question {
            InputRequest::Elicit(params) => {
                self.request(now, &ClientRequest::elicitation(params).parent(parent), tx)
            }
            InputRequest::CreateMessage(params) => {
                self.request(now, &ClientRequest::sampling(params).parent(parent), tx)
            }
            InputRequest::ListRoots => {
                self.request(now, &ClientRequest::roots().parent(parent), tx)
            }
            InputRequest::Other(_) => Err(SendError::Invalid(InvalidPayload::Method)),
        }
    }
}

struct InputRequestMap<'x>(&'x [(&'x str, &'x dyn AsInputRequest)]);

impl Tell for InputRequestMap<'_> {
    fn tell(&self, to: &mut dyn Teller) {
        to.open(b'{');
        for (key, question) in self.0 {
            to.item(key);
            let asked = question.as_input_request();
            match asked.params {
                Some(params) => {
                    to.item(&Object { names: "method,params,", members: &[&asked.method, &params] })
                }
                None => to.item(&Object { names: "method,", members: &[&asked.method] }),
            }
        }
        to.close();
    }
}

impl AsInputRequest for ElicitParams<'_> {
    fn as_input_request(&self) -> InputRequestParts<'_> {
        let valid = check_elicitation(self, Revision::LATEST);
        InputRequestParts {
            method: "elicitation/create",
            params: Some(self),
            needs: self.required_capabilities(),
            valid,
        }
    }
}

impl AsInputRequest for ElicitFormParams<'_> {
    fn as_input_request(&self) -> InputRequestParts<'_> {
        let valid =
            require(self.requested_schema.is_valid_for(Revision::LATEST), InvalidPayload::Form);
        InputRequestParts {
            method: "elicitation/create",
            params: Some(self),
            needs: ClientFeatures::ELICITATION_FORM,
            valid,
        }
    }
}

impl AsInputRequest for ElicitUrlParams<'_> {
    fn as_input_request(&self) -> InputRequestParts<'_> {
        let valid = require(self.is_valid_for(Revision::LATEST), InvalidPayload::Url);
        InputRequestParts {
            method: "elicitation/create",
            params: Some(self),
            needs: ClientFeatures::ELICITATION_URL,
            valid,
        }
    }
}

impl AsInputRequest for CreateMessageParams<'_> {
    fn as_input_request(&self) -> InputRequestParts<'_> {
        let valid = check_sampling(self, Revision::LATEST);
        InputRequestParts {
            method: "sampling/createMessage",
            params: Some(self),
            needs: self.required_capabilities(),
            valid,
        }
    }
}

impl AsInputRequest for InputRequest<'_> {
    fn as_input_request(&self) -> InputRequestParts<'_> {
        match self {
            Self::Elicit(params) => params.as_input_request(),
            Self::CreateMessage(params) => params.as_input_request(),
            Self::ListRoots => InputRequestParts {
                method: "roots/list",
                params: None,
                needs: ClientFeatures::ROOTS,
                valid: Ok(()),
            },
            Self::Other(_) => InputRequestParts {
                method: "",
                params: None,
                needs: ClientFeatures::NONE,
                valid: Err(InvalidPayload::Method),
            },
        }
    }
}

/// Writer of a call.
fn key(method: &str, parent: Option<Slot>) -> WriterId {
    WriterId::application(hash_str(method) as u32 ^ parent.map_or(0, |parent| parent.serial))
}

/// Forms may not be nested; URL mode needs a URL (client/elicitation).
fn check_elicitation(params: &ElicitParams<'_>, revision: Revision) -> Result<(), InvalidPayload> {
    match params {
        ElicitParams::Form(form) => {
            require(form.requested_schema.is_valid_for(revision), InvalidPayload::Form)
        }
        ElicitParams::Url(page) => require(page.is_valid_for(revision), InvalidPayload::Url),
    }
}

/// Every `tool_use` must be followed by a message that holds only its `tool_result`s
/// (client/sampling).
fn check_sampling(params: &CreateMessageParams<'_>, _: Revision) -> Result<(), InvalidPayload> {
    params.validate_tool_results().map_err(|_| InvalidPayload::ToolResults)
}

/// Requires unique keys and one of the three methods, or a state (2026-07-28, basic/patterns/mrtr).
pub(super) fn check_input(input: &InputRequiredResult<'_>) -> Result<(), InvalidPayload> {
    require(!input.is_empty(), InvalidPayload::Empty)?;
    let (mut at, mut result) = (0usize, Ok(()));
    input.all_requests(&mut |key, question| {
        let mut left = at;
        at += 1;
        let is_unused = input.all_requests(&mut |other, _| {
            let before = left > 0;
            left = left.saturating_sub(1);
            !before || other != key
        });
        result = match question {
            _ if !is_unused => Err(InvalidPayload::DuplicateKey),
            Some(InputRequest::Elicit(params)) => check_elicitation(params, Revision::LATEST),
            Some(InputRequest::CreateMessage(params)) => check_sampling(params, Revision::LATEST),
            Some(InputRequest::ListRoots) => Ok(()),
            Some(InputRequest::Other(_)) | None => Err(InvalidPayload::Method),
        };
        result.is_ok()
    });
    result
}

fn require(holds: bool, rule: InvalidPayload) -> Result<(), InvalidPayload> {
    if holds { Ok(()) } else { Err(rule) }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::*;
    use crate::types::{
        CreateMessageParams, ElicitParams, Implementation, RequestedSchema, SamplingMessage,
    };
    use crate::{Frame, Messages, RawJson, ServerConfig, ServerEvent, ServerFeatures, TxBuffer};

    #[test]
    fn each_question_becomes_its_request() {
        static CONFIG: ServerConfig<'_> =
            ServerConfig::new(Implementation::new("t", "1"), ServerFeatures::TOOLS);
        let mut server: Server<'_> = Server::new(&CONFIG);
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
            assert!(server.request_input(now, parent, &question, &mut tx).is_ok());
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
            server.request_input(now, parent, &unknown, &mut tx),
            Err(SendError::Invalid(InvalidPayload::Method))
        );
    }
}
