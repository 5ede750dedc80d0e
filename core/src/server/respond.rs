//! Responses of the application.

use core::fmt;

use super::Server;
use super::inflight::{InflightRequest, RequestKind};
use super::refusal::write_result;
use super::subscriptions::Owner;
use crate::encode::{DisplayText, Encode, Encoder, With, object};
use crate::error::{InvalidPayload, NotAllowed, SendError};
use crate::handle::RequestHandle;
use crate::inflight::Slot;
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revision};
use crate::rpc::{ErrorCode, RpcError, write_error, write_response_head};
use crate::tx::{Tx, WriterId};
use crate::types::{ElicitUrlParams, knows_structured_content};

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
    ) -> Result<(), SendError> {
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
    ) -> Result<(), SendError> {
        // Raw JSON can be checked before writing; other values only fail during serialization.
        if !result.is_object() {
            return Err(SendError::Invalid(InvalidPayload::NotAnObject));
        }
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
    ) -> Result<(), SendError> {
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
    ) -> Result<(), SendError> {
        self.refuse_arguments(request, &DisplayText(why), tx)
    }

    /// [`respond_invalid_arguments`](Self::respond_invalid_arguments) with a value that is written
    /// as a string.
    pub(crate) fn refuse_arguments(
        &mut self,
        request: RequestHandle,
        why: &dyn Encode,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        if self
            .requests
            .get(request.0)
            .is_some_and(|pending| pending.revision >= Revision::V2025_11_25)
        {
            return self.respond_text(request, why, true, tx);
        }
        self.refuse_params(request, why, tx)
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
    ) -> Result<(), SendError> {
        self.refuse_params(request, &DisplayText(why), tx)
    }

    /// [`respond_invalid_params`](Self::respond_invalid_params) with a value that is written as a
    /// string.
    pub(crate) fn refuse_params(
        &mut self,
        request: RequestHandle,
        why: &dyn Encode,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.note(request, ErrorCode::InvalidParams);
        self.send_response(request, tx, &|id: &str, writer: &mut Encoder<'_>| {
            write_response_head(writer, id.as_bytes(), b",\"error\":");
            object!(writer, { "code": -32602_i32, "message": why });
            writer.put(b"}");
        })
    }

    /// Responds to `tools/call` that the client's response to an input request is invalid.
    #[cfg(feature = "alloc")]
    pub(crate) fn respond_invalid_input_response(
        &mut self,
        request: RequestHandle,
        why: &dyn Encode,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        if self.requests.get(request.0).is_some_and(|pending| pending.revision.is_modern()) {
            return self.refuse_params(request, why, tx);
        }
        self.respond_text(request, why, true, tx)
    }

    /// Responds to `tools/call` with one text block, whose text is a value written as a string.
    pub(crate) fn respond_text(
        &mut self,
        request: RequestHandle,
        text: &dyn Encode,
        is_error: bool,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let block = object!({ "type" = "text", "text": text });
        let result = object!({ "content": [&block], "isError"?: is_error.then_some(true) });
        #[cfg(feature = "alloc")]
        if is_error {
            self.peer.other_response = Some((request.0, ResponseKind::ToolFailed));
        }
        self.respond_with::<dyn Encode>(request, "complete", &result, tx)
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
    ) -> Result<(), SendError> {
        if error.code == ErrorCode::UrlElicitationRequired
            && self.requests.get(request.0).is_some_and(lacks_url_elicitation)
        {
            return Err(SendError::NotAllowed(NotAllowed::Capability));
        }
        self.note(request, error.code);
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
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        if pending.revision != Revision::V2025_11_25 {
            return Err(SendError::NotAllowed(NotAllowed::Revision));
        }
        if lacks_url_elicitation(pending) {
            return Err(SendError::NotAllowed(NotAllowed::Capability));
        }
        if pages.is_empty() {
            return Err(SendError::Invalid(InvalidPayload::Empty));
        }
        self.note(request, ErrorCode::UrlElicitationRequired);
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
    ) -> Result<(), SendError> {
        tx.abandon(key(request.0))?;
        self.note(request, error.code);
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
    pub fn abort_frame(&mut self, tx: &mut Tx<'_>) -> Result<(), SendError> {
        // The line may be a call, whose id must not be used for another one.
        if tx.abandon_any()? {
            self.peer.calls_made = self.peer.calls_made.saturating_add(1);
        }
        Ok(())
    }

    /// Writes a result and closes the request.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn respond_with<P: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        result_type: &str,
        result: &P,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let config = self.config;
        let write = |id: &str, writer: &mut Encoder<'_>| {
            write_response_head(writer, id.as_bytes(), b",\"result\":");
            write_result(config, writer, result_type, result);
            writer.put(b"}")
        };
        if cfg!(not(small)) {
            self.respond_as(key(request.0), request, tx, &write)
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
    #[must_use]
    pub fn response_kind(&self, request: RequestHandle) -> ResponseKind {
        match self.peer.other_response {
            Some((slot, kind)) if slot == request.0 => kind,
            _ => ResponseKind::Result,
        }
    }

    /// Records that the response to a request is an error.
    #[cfg_attr(not(feature = "alloc"), expect(clippy::unused_self))]
    fn note(&mut self, request: RequestHandle, code: ErrorCode) {
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
    ) -> Result<(), SendError> {
        self.respond_as(key(request.0), request, tx, response)
    }

    fn respond_as<R: Response + ?Sized>(
        &mut self,
        frame: WriterId,
        request: RequestHandle,
        tx: &mut Tx<'_>,
        response: &R,
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        if pending.kind != RequestKind::Request {
            return Err(SendError::NotAllowed(NotAllowed::RequestKind));
        }
        tx.frame(frame, pending.revision, &mut |writer| {
            response.write(pending.id.as_str(), writer)
        })?;
        self.remove_request(request.0);
        Ok(())
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
pub(super) fn key(slot: Slot) -> WriterId {
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
    tx.is_open(key(slot)) || tx.is_open(replacement_key(slot)) || tx.is_open(subscription_key(slot))
}
