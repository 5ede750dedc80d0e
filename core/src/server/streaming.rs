//! Answers from sources that cannot be addressed: a file that is read once, a sensor.

use super::Server;
use super::inflight::RequestKind;
use super::respond::key;
use crate::error::SendError;
use crate::handle::RequestHandle;
use crate::json::{WriteError, Writer};
use crate::rpc::write_response_head;
use crate::tx::Tx;

impl<const N: usize, const S: usize> Server<'_, N, S> {
    /// Begins an answer whose result is fed by hand: [`write_response`](Self::write_response) its members, without the
    /// braces around them and at least one, then [`finish_response`](Self::finish_response). In between
    /// nothing else is written: other calls say `Full`. Such an answer is not cancelled and does
    /// not expire; where its source fails, respond with an error instead ([`fail`](Self::fail)).
    ///
    /// What an answer can hold in memory or in flash goes through [`respond`](Self::respond), which
    /// streams by itself.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] when it has begun.
    pub fn begin_response(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        if pending.kind != RequestKind::Request {
            return Err(SendError::NotAllowed);
        }
        tx.begin(key(request.0), pending.revision, &mut |writer| {
            write_response_head(writer, pending.id.as_str().as_bytes(), b",\"result\":{")
        })?;
        Ok(())
    }

    /// Puts as much of `json` into the answer as fits, and returns how many bytes that was. It is
    /// not checked: all pieces together must be the members of an object, whole characters or
    /// not.
    ///
    /// # Errors
    /// [`SendError::Full`] when nothing fits: drain and call again. [`SendError::NotAllowed`] when
    /// the answer has not begun.
    pub fn write_response(
        &mut self,
        request: RequestHandle,
        json: &[u8],
        tx: &mut Tx<'_>,
    ) -> Result<usize, SendError> {
        if self.requests.get(request.0).is_none() {
            return Ok(json.len());
        }
        tx.feed(key(request.0), json)
    }

    /// Ends the answer. For a modern client `resultType` and the server's name are added, so they
    /// must not have been fed.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] when the answer has not begun.
    pub fn finish_response(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        let revision = pending.revision;
        tx.end(key(request.0), revision, &mut |writer| {
            if revision.is_modern() {
                writer.put(b",\"resultType\":\"complete\"")?;
                if self.config.send_server_info {
                    writer.put(b",\"_meta\":{")?;
                    self.write_named_info(writer)?;
                    writer.put(b"}")?;
                }
            }
            writer.put(b"}}")
        })?;
        self.remove_request(request.0);
        Ok(())
    }

    /// The server's name, as a member of `_meta`.
    pub(super) fn write_named_info(&self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        writer.string(crate::types::meta::SERVER_INFO)?;
        writer.put(b":")?;
        self.write_info(writer)
    }
}
