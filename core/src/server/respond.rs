//! Answers.

use serde::Serialize;

use super::pending::Role;
use super::{RequestHandle, Server};
use crate::error::SendError;
use crate::inflight::Slot;
use crate::json::{RawJson, WriteError, Writer, write_result};
use crate::rpc::{RpcError, write_error, write_response_head};
use crate::tx::{FrameKey, Tx};
use crate::types::InputRequiredResult;

/// What became of something that was to be sent about a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub enum Answered {
    /// It is in `tx`.
    Sent,
    /// The client did not ask for it (no progress token, no such log level): go on.
    Unasked,
    /// Too soon after the last progress, or no progress beyond it: go on.
    Held,
    /// The request was answered, cancelled, or has expired: stop.
    Gone,
}

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// Answers with a result: anything that serializes as a JSON object.
    ///
    /// For a modern client `resultType`, and the server's name in `_meta`, are added where they are missing.
    ///
    /// # Errors
    /// [`SendError::Full`], [`SendError::More`]: drain and call again. [`SendError::Value`] when it is no object; the request is still open then.
    pub fn respond<T: Serialize + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &T,
        tx: &mut Tx<'_>,
    ) -> Result<Answered, SendError> {
        self.respond_as(request, "complete", result, tx)
    }

    /// Answers with a result that is JSON already.
    ///
    /// # Errors
    /// As [`respond`](Self::respond).
    pub fn respond_raw(&mut self, request: RequestHandle, result: RawJson<'_>, tx: &mut Tx<'_>) -> Result<Answered, SendError> {
        self.respond_as(request, "complete", &result, tx)
    }

    /// Answers with an error.
    ///
    /// # Errors
    /// [`SendError::Full`], [`SendError::More`]: drain and call again.
    pub fn respond_error(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Answered, SendError> {
        self.answer(request, tx, |_, id, writer| write_error(writer, Some(id), error))
    }

    /// Answers that the client has to provide something first (2026-07-28, basic/patterns/mrtr). The client sends the request again, under
    /// another id, with what was asked for.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] for a legacy client (ask it: [`request`](Self::request)), for a method other than `tools/call`, `prompts/get` and
    /// `resources/read`, and where the client did not declare what is asked for. [`SendError::Value`] when neither input nor state is in it.
    pub fn input_required(
        &mut self,
        request: RequestHandle,
        input: &InputRequiredResult<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Answered, SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(Answered::Gone) };
        if !pending.revision.is_modern() || !pending.may_require_input || !pending.capabilities.contains(input.needs()) {
            return Err(SendError::NotAllowed);
        }
        if input.is_empty() {
            return Err(SendError::Value);
        }
        self.respond_as(request, "input_required", input, tx)
    }

    /// Gives a request up without an answer: its exchange is gone. `false` when it was no longer open.
    pub fn cancel(&mut self, request: RequestHandle) -> bool {
        self.forget(request.0)
    }

    /// Breaks an answer off that has begun and cannot be finished, as the source of its data failed; an error answers the request instead.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn abandon(&mut self, request: RequestHandle, error: &RpcError<'_>, tx: &mut Tx<'_>) -> Result<Answered, SendError> {
        tx.abandon(key(request.0))?;
        self.respond_error(request, error, tx)
    }

    fn respond_as<T: Serialize + ?Sized>(
        &mut self,
        request: RequestHandle,
        result_type: &str,
        result: &T,
        tx: &mut Tx<'_>,
    ) -> Result<Answered, SendError> {
        self.answer(request, tx, |server, id, writer| {
            write_response_head(writer, id.as_bytes(), b",\"result\":")?;
            let write_info = |writer: &mut Writer<'_>| server.write_info(writer);
            write_result(writer, result, server.extras(writer.revision(), result_type, &write_info))?;
            writer.put(b"}")
        })
    }

    fn answer(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
        write: impl Fn(&Self, &str, &mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<Answered, SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(Answered::Gone) };
        if pending.role != Role::Request {
            return Err(SendError::NotAllowed);
        }
        tx.frame(key(request.0), pending.revision, &mut |writer| write(self, pending.id.as_str(), writer))?;
        self.forget(request.0);
        Ok(Answered::Sent)
    }

    /// Frees a request's slot, and what hangs on it.
    pub(super) fn forget(&mut self, slot: Slot) -> bool {
        let Some(pending) = self.requests.remove(slot) else { return false };
        match pending.role {
            Role::Request if pending.asking == 0 => {}
            Role::Request => self.orphan_calls(slot),
            _ => {
                self.subscriptions.drop_owner(slot.index);
                if self.acknowledging == Some(slot) {
                    self.acknowledging = None;
                }
            }
        }
        true
    }
}

pub(super) fn key(slot: Slot) -> FrameKey {
    FrameKey::response(slot.index, slot.serial)
}
