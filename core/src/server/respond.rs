//! Responses and notifications of the application.

use core::fmt;

use super::rules::write_result;
use super::subscriptions::{Kinds, Owner, SubscriptionMeta};
use super::{InflightRequest, RequestKind, Server, Session};
use crate::buffers::tx::{Tx, WriterId};
#[cfg(feature = "tasks")]
use crate::encode::{Addition, Additions};
use crate::encode::{DisplayText, Encode, Encoder, With, object};
use crate::json::{RawJson, hash_str};
use crate::message::OwnedId;
use crate::progress::Progress;
#[cfg(doc)]
use crate::protocol::error::SendError;
use crate::protocol::error::{ErrorCode, InvalidPayload, NotAllowed, SendResult, require};
use crate::protocol::{ClientFeatures, Revision, ServerFeatures};
use crate::rpc::inflight::{Delivery, Remaining, RequestHandle, Slot};
#[cfg(feature = "tasks")]
use crate::rpc::write_notification_head;
use crate::rpc::{RpcError, write_error, write_notification, write_response_head};
use crate::time::Instant;
#[cfg(feature = "tasks")]
use crate::types::SUBSCRIPTION_ID;
use crate::types::{ElicitUrlParams, LoggingLevel, knows_structured_content};

impl Server<'_> {
    /// Responds with a result: a type of [`types`](crate::types), or any type that serializes as a
    /// JSON object in a [`Json`](crate::Json).
    ///
    /// Adds `resultType` and, in `_meta`, the server's name for a modern client, unless the result
    /// contains them.
    ///
    /// Writes nothing if the request is no longer open
    /// ([`is_request_open`](Self::is_request_open)), as does every call that responds.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::Invalid`] if the result is not an
    /// object; the request then stays open.
    pub fn respond<T: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &T,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        if cfg!(not(small)) {
            self.respond_with(request, "complete", result, tx)
        } else {
            // One instance for all result types, to save code size.
            self.respond_with::<dyn Encode>(request, "complete", &result, tx)
        }
    }

    /// Responds with a result given as JSON text.
    ///
    /// # Errors
    /// As [`respond`](Self::respond).
    pub fn respond_raw(
        &mut self,
        request: RequestHandle,
        result: RawJson<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        // Raw JSON can be checked before writing; other values only fail during serialization.
        require(result.is_object(), InvalidPayload::NotAnObject)?;
        self.respond(request, &result, tx)
    }

    /// Responds to `tools/call` with `structuredContent`, and with the same JSON as a text block
    /// for models and for clients of revisions without structured content. Before 2026-07-28
    /// structured content is an object; any other value is only written as text then.
    ///
    /// # Errors
    /// As [`respond`](Self::respond).
    pub fn respond_structured(
        &mut self,
        request: RequestHandle,
        data: RawJson<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let result = With(|to: &mut Encoder<'_>| {
            let content = to.knows(knows_structured_content(&data)).then_some(data);
            let block = object!({ "type" = "text", "text": data.as_str() });
            object!(to, {
                "content": [&block],
                "structuredContent"? since V2025_06_18: content,
            });
        });
        self.respond_with::<dyn Encode>(request, "complete", &result, tx)
    }

    /// Responds to `tools/call` that the arguments are invalid: from 2025-11-25 on with a result
    /// with `isError`, so that the model can correct itself, before with error -32602. `why` is the
    /// error of [`Entry::check_arguments`](crate::Entry::check_arguments), or text of the
    /// handler.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn respond_invalid_arguments(
        &mut self,
        request: RequestHandle,
        why: &dyn fmt::Display,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        self.refuse_call(request, ToolErrorKind::InvalidArguments, &DisplayText(why), tx)
    }

    /// Responds to `tools/call` with an error of a kind whose text the client reads: a result with
    /// `isError`, or error -32602.
    pub(crate) fn refuse_call(
        &mut self,
        request: RequestHandle,
        kind: ToolErrorKind,
        why: &dyn Encode,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        if !kind.is_result(pending.revision) {
            return self.refuse_params(request, why, tx);
        }
        let block = object!({ "type" = "text", "text": why });
        let result = object!({ "content": [&block], "isError": true });
        #[cfg(feature = "alloc")]
        {
            self.peer.other_response = Some((request.0, ResponseKind::ToolFailed));
        }
        self.respond_with::<dyn Encode>(request, "complete", &result, tx)
    }

    /// Responds with error -32602, whose message is `why`.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn respond_invalid_params(
        &mut self,
        request: RequestHandle,
        why: &dyn fmt::Display,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        self.refuse_params(request, &DisplayText(why), tx)
    }

    /// [`respond_invalid_params`](Self::respond_invalid_params) with a value that is written as a
    /// string.
    pub(crate) fn refuse_params(
        &mut self,
        request: RequestHandle,
        why: &dyn Encode,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        self.record_error(request, ErrorCode::InvalidParams);
        self.send_response(request, tx, &|id: &str, writer: &mut Encoder<'_>| {
            write_response_head(writer, id.as_bytes(), b",\"error\":");
            object!(writer, { "code": -32602_i32, "message": why });
            writer.put(b"}");
        })
    }

    /// Responds with an error.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] for
    /// [`UrlElicitationRequired`](ErrorCode::UrlElicitationRequired) to a client that did not
    /// declare that mode.
    pub fn respond_error(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let is_allowed = error.code != ErrorCode::UrlElicitationRequired
            || !self.requests.get(request.0).is_some_and(lacks_url_elicitation);
        require(is_allowed, NotAllowed::Capability)?;
        self.record_error(request, error.code);
        self.send_response(request, tx, &|id: &str, writer: &mut Encoder<'_>| {
            write_error(writer, Some(id), error)
        })
    }

    /// Responds with error -32042: the user must open these URLs first (2025-11-25 only; otherwise
    /// [`SendError::NotAllowed`]).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] if the client did not
    /// declare URL mode. [`SendError::Invalid`] if `pages` is empty, or one has no URL or id.
    pub fn require_url_elicitation(
        &mut self,
        request: RequestHandle,
        message: &str,
        pages: &[ElicitUrlParams<'_>],
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        require(pending.revision == Revision::V2025_11_25, NotAllowed::Revision)?;
        require(!lacks_url_elicitation(pending), NotAllowed::Capability)?;
        require(!pages.is_empty(), InvalidPayload::Empty)?;
        self.record_error(request, ErrorCode::UrlElicitationRequired);
        self.send_response(request, tx, &|id: &str, writer: &mut Encoder<'_>| {
            write_response_head(writer, id.as_bytes(), b",\"error\":");
            let data = object!({ "elicitations": pages });
            object!(writer, { "code": -32042_i32, "message": message, "data": data });
            writer.put(b"}");
        })
    }

    /// Drops a request without responding, e.g. because its HTTP connection closed. Returns `false`
    /// if it was not open. Must not be called while its response is partly written
    /// ([`TxBuffer::is_mid_frame`](crate::TxBuffer::is_mid_frame)).
    pub fn forget_request(&mut self, request: RequestHandle) -> bool {
        self.remove_request(request.0)
    }

    /// Aborts a partly written response, e.g. because the source of its data failed, and responds
    /// with an error instead. These are two lines: the first may be ended already when this returns
    /// [`SendError::Full`]; calling again continues with the second.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn fail(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        tx.abandon(response_key(request.0))?;
        self.record_error(request, error.code);
        // The error has its own `WriterId`, so a retry resumes it and does not abort it as well.
        let write = |id: &str, writer: &mut Encoder<'_>| write_error(writer, Some(id), error);
        self.respond_as::<dyn Response>(replacement_key(request.0), request, tx, &write)
    }

    /// Ends the line that is partly in `tx` (after [`SendError::Full`], where
    /// [`is_mid_frame`](crate::TxBuffer::is_mid_frame)) when nothing will finish it: it is cut off
    /// there, and the client ignores it as invalid JSON. A response is still owed. Does nothing
    /// when no line is open.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn abort_frame(&mut self, tx: &mut Tx<'_>) -> SendResult {
        if tx.abandon_any()? {
            self.skip_id();
        }
        Ok(())
    }

    /// Writes a result and closes the request.
    pub(crate) fn respond_with<P: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        result_type: &str,
        result: &P,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let config = self.config;
        let write = |id: &str, writer: &mut Encoder<'_>| {
            write_response_head(writer, id.as_bytes(), b",\"result\":");
            write_result(config, writer, result_type, result);
            writer.put(b"}")
        };
        if cfg!(not(small)) {
            self.respond_as(response_key(request.0), request, tx, &write)
        } else {
            self.send_response(request, tx, &write)
        }
    }

    /// Returns how a request was responded to. Known of the latest response of this server that
    /// was not a plain result; for all other requests it returns [`ResponseKind::Result`]. For
    /// logs and metrics, right after the response.
    ///
    /// A result that the application has written itself is a `Result`, even with `isError`.
    #[cfg(feature = "alloc")]
    pub fn response_kind(&self, request: RequestHandle) -> ResponseKind {
        match self.peer.other_response {
            Some((slot, kind)) if slot == request.0 => kind,
            _ => ResponseKind::Result,
        }
    }

    /// Records that the response to a request is an error.
    #[cfg_attr(not(feature = "alloc"), expect(clippy::unused_self))]
    fn record_error(&mut self, request: RequestHandle, code: ErrorCode) {
        #[cfg(feature = "alloc")]
        if let Some(pending) = self.requests.get(request.0) {
            let kind = ResponseKind::Error(code.number(pending.revision));
            self.peer.other_response = Some((request.0, kind));
        }
        #[cfg(not(feature = "alloc"))]
        let _ = (request, code);
    }

    fn send_response(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
        response: &dyn Response,
    ) -> SendResult {
        self.respond_as(response_key(request.0), request, tx, response)
    }

    fn respond_as<R: Response + ?Sized>(
        &mut self,
        frame: WriterId,
        request: RequestHandle,
        tx: &mut Tx<'_>,
        response: &R,
    ) -> SendResult {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        require(pending.kind == RequestKind::Request, NotAllowed::RequestKind)?;
        let sent = tx.frame(frame, pending.revision, &mut |writer| {
            response.write(pending.id.as_str(), writer)
        });
        if sent.is_err() {
            // The next try may be another response; it records its own kind.
            #[cfg(feature = "alloc")]
            {
                self.peer.other_response = None;
            }
            #[cfg(feature = "http")]
            self.note_begun(request, tx.is_open(frame));
        }
        sent?;
        self.remove_request(request.0);
        Ok(())
    }

    /// Remembers that a response is partly written: a cancellation comes by another exchange, whose
    /// buffer does not tell.
    #[cfg(feature = "http")]
    fn note_begun(&mut self, request: RequestHandle, is_begun: bool) {
        if let Some(pending) = self.requests.get_mut(request.0) {
            pending.is_begun = is_begun;
        }
    }

    /// Removes a request, with its subscriptions and calls.
    pub(super) fn remove_request(&mut self, slot: Slot) -> bool {
        let Some(pending) = self.requests.remove(slot) else { return false };
        match pending.kind {
            RequestKind::Request if pending.nested_calls == 0 => {}
            RequestKind::Request => {
                if let Some(hooks) = self.peer.calls {
                    (hooks.cancel_nested)(self, slot);
                }
            }
            _ => {
                self.subscriptions.drop_owner(Owner::listen(slot));
                if self.peer.acknowledging == Some(slot) {
                    self.peer.acknowledging = None;
                }
            }
        }
        true
    }
}

/// The kind of a response, for logs and metrics: see [`Server::response_kind`].
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ResponseKind {
    /// A result.
    Result,
    /// The tool failed: a result with `isError`.
    ToolFailed,
    /// Input is required first (2026-07-28).
    InputRequired,
    /// An error with this code.
    Error(i32),
}

/// The kind of an error of a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToolErrorKind {
    /// A result with `isError`.
    Failed,
    /// As the revision requires: a result with `isError`, or -32602.
    InvalidArguments,
    /// The same by another rule.
    #[cfg(feature = "alloc")]
    InvalidInputResponse,
    /// -32603 without the reason, or a JSON-RPC error.
    Error,
}

impl ToolErrorKind {
    /// Returns whether a client of this revision gets a result with `isError`, so that the model
    /// can correct itself.
    pub(crate) fn is_result(self, revision: Revision) -> bool {
        match self {
            Self::Failed => true,
            Self::InvalidArguments => revision >= Revision::V2025_11_25,
            #[cfg(feature = "alloc")]
            Self::InvalidInputResponse => !revision.is_modern(),
            Self::Error => false,
        }
    }
}

/// Writes the response to the request with this id. Not `dyn Fn`: its vtable is larger.
trait Response {
    fn write(&self, id: &str, writer: &mut Encoder<'_>);
}

impl<F: Fn(&str, &mut Encoder<'_>)> Response for F {
    #[inline]
    fn write(&self, id: &str, writer: &mut Encoder<'_>) {
        self(id, writer)
    }
}

fn lacks_url_elicitation(pending: &InflightRequest) -> bool {
    pending.revision == Revision::V2025_11_25
        && !pending.capabilities.contains(ClientFeatures::ELICITATION_URL)
}

/// Writer of the response to the request in this slot.
pub(super) fn response_key(slot: Slot) -> WriterId {
    WriterId::response(slot.index, slot.serial)
}

/// Writer of the error that replaces an aborted response.
fn replacement_key(slot: Slot) -> WriterId {
    WriterId::replacement(slot.index, slot.serial)
}

/// Writer of the notifications that precede the result of a `subscriptions/listen`.
pub(super) fn subscription_key(slot: Slot) -> WriterId {
    WriterId::subscription(slot.index, slot.serial)
}

/// Returns whether a response to the request in this slot is partly written. It is then finished,
/// even if the request was cancelled; the peer ignores it.
pub(crate) fn is_response_open(tx: &Tx<'_>, slot: Slot) -> bool {
    tx.is_open(response_key(slot))
        || tx.is_open(replacement_key(slot))
        || tx.is_open(subscription_key(slot))
}

// Responses whose result is written in parts, for sources that can only be read once: a file, a
// sensor.

impl Server<'_> {
    /// Begins a response whose result is written in parts: [`write_response`](Self::write_response)
    /// with its members, at least one, without the enclosing braces, then
    /// [`finish_response`](Self::finish_response). In between no other frame can be written: other
    /// calls return [`SendError::Full`]. The request cannot be cancelled and does not time out
    /// meanwhile. If the source fails, [`fail`](Self::fail) the request.
    ///
    /// A result that is in memory or flash should be passed to [`respond`](Self::respond), which
    /// also writes it in parts.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] if the response has
    /// been begun already.
    pub fn begin_response(&mut self, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        require(pending.kind == RequestKind::Request, NotAllowed::RequestKind)?;
        tx.begin(response_key(request.0), pending.revision, &mut |writer| {
            write_response_head(writer, pending.id.as_str().as_bytes(), b",\"result\":{")
        })?;
        #[cfg(feature = "http")]
        self.note_begun(request, true);
        Ok(())
    }

    /// Writes as much of `json` as fits, and returns the number of bytes written (all of them if
    /// the request is no longer open). The JSON is not checked: all parts together must be the
    /// members of an object; a part may end within a character.
    ///
    /// # Errors
    /// [`SendError::Full`] if nothing fits: drain and call again. [`SendError::NotAllowed`] if the
    /// response has not been begun.
    pub fn write_response(
        &mut self,
        request: RequestHandle,
        json: &[u8],
        tx: &mut Tx<'_>,
    ) -> SendResult<usize> {
        if self.requests.get(request.0).is_none() {
            return Ok(json.len());
        }
        tx.write_part(response_key(request.0), json)
    }

    /// Ends the response. Adds `resultType` and the server's name for a modern client, so the parts
    /// must not contain them.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] if the response has not
    /// been begun.
    pub fn finish_response(&mut self, request: RequestHandle, tx: &mut Tx<'_>) -> SendResult {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        let revision = pending.revision;
        tx.finish(response_key(request.0), revision, &mut |writer| {
            if revision.is_modern() {
                writer.put(b",\"resultType\":\"complete\"");
                if self.config.send_server_info {
                    writer.put(b",\"_meta\":{");
                    self.write_named_info(writer);
                    writer.put(b"}");
                }
            }
            writer.put(b"}}")
        })?;
        self.remove_request(request.0);
        Ok(())
    }

    /// Writes the server's name as a member of `_meta`.
    fn write_named_info(&self, writer: &mut Encoder<'_>) {
        writer.string(crate::types::meta::SERVER_INFO);
        writer.put(b":");
        self.write_info(writer)
    }
}

// Notifications: progress, log messages, changes.

/// A log message. Deprecated since 2026-07-28 in favour of standard error and telemetry.
#[derive(Debug)]
#[must_use]
pub struct LogMessage<'a, T: ?Sized> {
    /// Severity.
    pub level: LoggingLevel,
    /// Name of the logger.
    pub logger: Option<&'a str>,
    /// The data: a string, or any other JSON value.
    pub data: &'a T,
}

impl<'a, T: ?Sized> LogMessage<'a, T> {
    /// Creates a message without a logger name.
    pub const fn new(level: LoggingLevel, data: &'a T) -> Self {
        Self { level, logger: None, data }
    }

    /// Sets the name of the logger.
    pub const fn logger(self, logger: &'a str) -> Self {
        Self { logger: Some(logger), ..self }
    }
}

/// A change to report to subscribers, and the position of the next subscriber.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change<'a> {
    kind: Kinds,
    uri: &'a str,
    hash: u64,
    /// The parameters as JSON, if it is a task.
    #[cfg(feature = "tasks")]
    task: Option<&'a str>,
    /// Zero: the legacy session is next. Otherwise the next slot of the request table, plus one.
    next: u16,
}

impl<'a> Change<'a> {
    /// The list of tools has changed.
    pub const fn tools() -> Self {
        Self::of(Kinds::TOOLS)
    }

    /// The list of prompts has changed.
    pub const fn prompts() -> Self {
        Self::of(Kinds::PROMPTS)
    }

    /// The list of resources has changed.
    pub const fn resources() -> Self {
        Self::of(Kinds::RESOURCES)
    }

    /// This resource has changed.
    pub fn resource(uri: &'a str) -> Self {
        Self { uri, hash: hash_str(uri), ..Self::of(Kinds::UPDATES) }
    }

    /// This task has changed: for each `subscriptions/listen` that names it (2026-07-28).
    /// `details` is the task as of [`TaskInfo::details`](crate::tasks::TaskInfo::details).
    #[cfg(feature = "tasks")]
    pub fn task(id: &'a str, details: RawJson<'a>) -> Self {
        let hash = super::subscriptions::hash_of_task(id);
        Self { uri: id, hash, task: Some(details.as_str()), ..Self::of(Kinds::TASKS) }
    }

    /// A task of the session has changed (2025-11-25). `task` is a
    /// [`TaskInfo`](crate::tasks::TaskInfo) of this revision. Publish it on the connection of the
    /// client that created the task only.
    #[cfg(feature = "tasks")]
    pub fn session_task(id: &'a str, task: RawJson<'a>) -> Self {
        let hash = super::subscriptions::hash_of_task(id);
        Self { uri: id, hash, task: Some(task.as_str()), ..Self::of(Kinds::SESSION_TASK) }
    }

    /// Returns whether it is for one connection alone, a [`session_task`](Self::session_task).
    #[cfg(feature = "tasks")]
    pub fn is_session_task(&self) -> bool {
        self.kind == Kinds::SESSION_TASK
    }

    const fn of(kind: Kinds) -> Self {
        Self {
            kind,
            uri: "",
            hash: 0,
            #[cfg(feature = "tasks")]
            task: None,
            next: 0,
        }
    }

    /// Returns the URI if a resource has changed, and `None` if a list has.
    pub fn uri(&self) -> Option<&'a str> {
        (self.kind == Kinds::UPDATES).then_some(self.uri)
    }

    /// Returns the position of the next subscriber, to [`resume`](Self::resume) with if the change
    /// cannot be stored because it borrows its URI.
    pub const fn position(&self) -> u16 {
        self.next
    }

    /// Sets the position of the next subscriber.
    pub const fn resume(self, position: u16) -> Self {
        Self { next: position, ..self }
    }

    /// Returns the same change with its texts in other memory: the URI, or the id of the task, and
    /// the parameters of the task.
    #[cfg(feature = "alloc")]
    pub(crate) fn with_texts<'b>(&self, uri: &'b str, task: &'b str) -> Change<'b> {
        #[cfg(not(feature = "tasks"))]
        let _ = task;
        Change {
            kind: self.kind,
            uri,
            hash: self.hash,
            #[cfg(feature = "tasks")]
            task: self.task.map(|_| task),
            next: self.next,
        }
    }

    /// Returns the texts: the URI, or the id of the task, and the parameters of the task.
    #[cfg(feature = "alloc")]
    pub(crate) fn texts(&self) -> (&'a str, &'a str) {
        #[cfg(feature = "tasks")]
        if let Some(task) = self.task {
            return (self.uri, task);
        }
        (self.uri, "")
    }

    /// Whether only the latest state counts, and the client is told of each change.
    #[cfg(any(feature = "alloc", feature = "tasks"))]
    pub(crate) fn is_task(&self) -> bool {
        #[cfg(feature = "tasks")]
        return self.task.is_some();
        #[cfg(not(feature = "tasks"))]
        false
    }

    fn method(self) -> &'static str {
        match self.kind {
            Kinds::TOOLS => "notifications/tools/list_changed",
            Kinds::PROMPTS => "notifications/prompts/list_changed",
            Kinds::RESOURCES => "notifications/resources/list_changed",
            #[cfg(feature = "tasks")]
            Kinds::TASKS => "notifications/tasks",
            #[cfg(feature = "tasks")]
            Kinds::SESSION_TASK => "notifications/tasks/status",
            _ => "notifications/resources/updated",
        }
    }
}

impl Server<'_> {
    /// Sends a progress notification for a request, if the client requested progress.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again, or drop the notification. [`SendError::TooLarge`]
    /// if it is longer than the buffer: shorten the message.
    pub fn progress(
        &mut self,
        now: Instant,
        request: RequestHandle,
        progress: &Progress<'_>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Delivery> {
        let interval = self.config.progress_interval;
        let Some(pending) = self.requests.get_mut(request.0) else { return Ok(Delivery::Gone) };
        if pending.token.is_empty() {
            return Ok(Delivery::NotRequested);
        }
        pending.reported.report(
            now,
            interval,
            pending.token.as_str(),
            progress,
            pending.revision,
            tx,
        )
    }

    /// Sends a log message that belongs to a request, if the client requested that level (in
    /// `_meta`, or in its session).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again, or drop the message. [`SendError::TooLarge`] if
    /// it is longer than the buffer: shorten it. [`SendError::NotAllowed`] if the capability
    /// `logging` is not declared.
    pub fn log<T: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        message: &LogMessage<'_, T>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Delivery> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(Delivery::Gone) };
        let revision = pending.revision;
        let level = if revision.is_modern() {
            pending.log_level
        } else {
            self.peer.session.map(|session| session.log_level)
        };
        self.write_log(revision, level, message, None, tx)
    }

    /// Sends a log message that belongs to no request to a legacy client. A modern client cannot
    /// receive it ([`Delivery::NotRequested`]).
    ///
    /// # Errors
    /// As [`log`](Self::log).
    pub fn log_unrelated<T: Encode + ?Sized>(
        &mut self,
        message: &LogMessage<'_, T>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Delivery> {
        let level = self.peer.session.map(|session| session.log_level);
        self.write_log(self.fallback_revision(), level, message, None, tx)
    }

    /// Sends a log message of a task to the session (2025-11-25). In 2026-07-28 tasks have none.
    ///
    /// # Errors
    /// As [`log`](Self::log).
    #[cfg(feature = "tasks")]
    pub fn task_log<T: Encode + ?Sized>(
        &mut self,
        task: crate::types::task::TaskId,
        message: &LogMessage<'_, T>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Delivery> {
        let level = self.peer.session.map(|session| session.log_level);
        let related = super::related_task(task);
        let meta = With(|to: &mut Encoder<'_>| {
            to.begin_object();
            to.member(crate::types::meta::RELATED_TASK, &related);
            to.end_object();
        });
        self.write_log(self.fallback_revision(), level, message, Some(&meta), tx)
    }

    fn write_log<T: Encode + ?Sized>(
        &self,
        revision: Revision,
        least: Option<LoggingLevel>,
        message: &LogMessage<'_, T>,
        meta: Option<&dyn Encode>,
        tx: &mut Tx<'_>,
    ) -> SendResult<Delivery> {
        let is_declared = self.config.capabilities().contains(ServerFeatures::LOGGING);
        require(is_declared, NotAllowed::Capability)?;
        if least.is_none_or(|least| message.level < least) {
            return Ok(Delivery::NotRequested);
        }
        tx.whole_frame(revision, &mut |writer| {
            let LogMessage { level, logger, data } = message;
            let params =
                object!({ "level": level, "logger"?: logger, "data": data, "_meta"?: meta });
            write_notification(writer, "notifications/message", &params);
        })?;
        Ok(Delivery::Sent)
    }

    /// Sends a notification without a method of its own here to a legacy client, e.g.
    /// `notifications/elicitation/complete`.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] before
    /// `notifications/initialized`, for modern clients, and for notifications with a method of
    /// their own here, which checks whether the client may receive them.
    pub fn notify<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        tx: &mut Tx<'_>,
    ) -> SendResult {
        let session = self.peer.session.filter(Session::is_ready).ok_or(NotAllowed::NotOpen)?;
        require(!HAVE_A_METHOD.contains(&method), NotAllowed::Method)?;
        if method == "notifications/elicitation/complete" {
            require(session.revision == Revision::V2025_11_25, NotAllowed::Revision)?;
            let can_open = session.capabilities.contains(ClientFeatures::ELICITATION_URL);
            require(can_open, NotAllowed::Capability)?;
        }
        tx.frame(WriterId::application(hash_str(method) as u32), session.revision, &mut |writer| {
            write_notification(writer, method, params)
        })
    }

    /// Notifies one subscriber of a change; returns [`Remaining::Done`] after the last one. `while
    /// server.publish(&mut change, tx)?.is_more() {}`, or [`send`](crate::TxBuffer::send) around
    /// each call.
    ///
    /// Subscribers are the legacy client, if the capability is declared and, for a resource, the
    /// client subscribed to it; and each `subscriptions/listen` whose filter contains the change.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again with the same change.
    pub fn publish(&mut self, change: &mut Change<'_>, tx: &mut Tx<'_>) -> SendResult<Remaining> {
        if !self.config.capabilities().contains(change.kind.list_changed()) {
            return Ok(Remaining::Done);
        }
        if change.next == 0 {
            if let Some(session) =
                self.peer.session.filter(|session| session.is_ready() && self.legacy_wants(change))
            {
                write_change(change, 0, session.revision, None, tx)?;
                change.next = 1;
                return Ok(Remaining::More);
            }
            change.next = 1;
        }
        // Linear search: few requests are open, and few of them are subscriptions.
        let next = self
            .requests
            .slots()
            .find(|slot| slot.index + 1 >= change.next && self.listener_wants(*slot, change));
        let Some(slot) = next else { return Ok(Remaining::Done) };
        if let Some(pending) = self.requests.get(slot) {
            write_change(change, slot.serial, pending.revision, Some(&pending.id), tx)?;
        }
        change.next = slot.index + 2;
        Ok(Remaining::More)
    }

    /// Returns whether the change has a subscriber. A change without one can be dropped instead of
    /// stored until there is room.
    pub fn is_subscribed(&self, change: &Change<'_>) -> bool {
        self.config.capabilities().contains(change.kind.list_changed())
            && (self.peer.session.is_some_and(|session| session.is_ready())
                && self.legacy_wants(change)
                || self.requests.slots().any(|slot| self.listener_wants(slot, change)))
    }

    fn legacy_wants(&self, change: &Change<'_>) -> bool {
        #[cfg(feature = "tasks")]
        if change.is_task() {
            let session = self.peer.session;
            return change.kind == Kinds::SESSION_TASK
                && session.is_some_and(|session| session.revision == Revision::V2025_11_25);
        }
        change.kind != Kinds::UPDATES || self.subscriptions.contains(Owner::SESSION, change.hash)
    }

    fn listener_wants(&self, slot: Slot, change: &Change<'_>) -> bool {
        // No notification may precede the acknowledgement.
        let Some(RequestKind::Listen(kinds)) = self.requests.get(slot).map(|pending| pending.kind)
        else {
            return false;
        };
        self.peer.acknowledging != Some(slot)
            && kinds.contains(change.kind)
            && (change.uri.is_empty()
                || self.subscriptions.contains(Owner::listen(slot), change.hash))
    }
}

fn write_change(
    change: &Change<'_>,
    to: u32,
    revision: Revision,
    subscription: Option<&OwnedId>,
    tx: &mut Tx<'_>,
) -> SendResult {
    let hash = change.hash as u32 ^ u32::from(change.kind.0) << 24 ^ to;
    // Each state of a task is a message of its own.
    #[cfg(feature = "tasks")]
    let hash = change.task.map_or(hash, |task| hash ^ hash_str(task) as u32);
    let uri = (change.kind == Kinds::UPDATES).then_some(change.uri);
    let id = subscription.map(|id| RawJson::scanned(id.as_str()));
    #[cfg(feature = "tasks")]
    if let Some(task) = change.task {
        let addition = |value| Addition { name: SUBSCRIPTION_ID, value, is_reserved: false };
        let meta = id.as_ref().map(|id| addition(id));
        let additions = Additions { meta: meta.as_slice(), ..Additions::NONE };
        return tx.frame(WriterId::application(hash), revision, &mut |writer| {
            write_notification_head(writer, change.method());
            writer.completed(&RawJson::scanned(task), &additions);
            writer.put(b"}")
        });
    }
    let meta = id.map(SubscriptionMeta);
    let params = object!({ "uri"?: uri, "_meta"?: meta });
    tx.frame(WriterId::application(hash), revision, &mut |writer| {
        write_notification(writer, change.method(), &params)
    })
}

/// Notifications with a method of their own, which checks whether the client may receive them.
const HAVE_A_METHOD: &[&str] = &[
    "notifications/cancelled",
    "notifications/message",
    "notifications/progress",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    #[cfg(feature = "tasks")]
    "notifications/tasks/status",
    "notifications/tools/list_changed",
];
