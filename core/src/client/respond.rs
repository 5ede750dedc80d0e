//! Answers to a legacy server's requests.

use serde::Serialize;

use super::Client;
use crate::error::SendError;
use crate::handle::{Delivery, RequestHandle};
use crate::json::{Extras, RawJson, WriteError, Writer, write_result};
use crate::progress::Progress;
use crate::rpc::{RpcError, write_error, write_response_head};
use crate::time::Instant;
use crate::tx::{FrameKey, Tx};

impl<const N: usize> Client<'_, N> {
    /// Answers with a result: anything that serializes as a JSON object. Writes nothing if the
    /// request is no longer open ([`is_request_open`](Self::is_request_open)).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::Value`] when it is no object; the request is still open then.
    pub fn respond<T: Serialize + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &T,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.answer(request, tx, &|id, writer| {
            write_response_head(writer, id.as_bytes(), b",\"result\":")?;
            write_result(writer, result, Extras::Nothing)?;
            writer.put(b"}")
        })
    }

    /// Answers with a result that is JSON already.
    ///
    /// # Errors
    /// As [`respond`](Self::respond).
    pub fn respond_raw(
        &mut self,
        request: RequestHandle,
        result: RawJson<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        if result.is_object() { self.respond(request, &result, tx) } else { Err(SendError::Value) }
    }

    /// Answers with an error. That the person refused is -1 by custom:
    /// [`ErrorCode::Application`](crate::ErrorCode::Application).
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again.
    pub fn respond_error(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        self.answer(request, tx, &|id, writer| write_error(writer, Some(id), error))
    }

    /// Tells the server how far its request has come, if it asked.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again, or let it be. [`SendError::TooLarge`]: shorten the message.
    pub fn progress(
        &mut self,
        now: Instant,
        request: RequestHandle,
        progress: &Progress<'_>,
        tx: &mut Tx<'_>,
    ) -> Result<Delivery, SendError> {
        let (interval, revision) = (self.config.progress_interval, self.speaks());
        let Some(incoming) = self.requests.get_mut(request.0) else { return Ok(Delivery::Gone) };
        if incoming.token.is_empty() {
            return Ok(Delivery::NotRequested);
        }
        incoming.reported.report(now, interval, incoming.token.as_str(), progress, revision, tx)
    }

    fn answer(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
        write: &dyn Fn(&str, &mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), SendError> {
        let slot = request.0;
        let Some(incoming) = self.requests.get(slot) else { return Ok(()) };
        let key = FrameKey::response(slot.index, slot.serial);
        tx.frame(key, self.speaks(), &mut |writer| write(incoming.id.as_str(), writer))?;
        self.requests.remove(slot);
        Ok(())
    }
}
