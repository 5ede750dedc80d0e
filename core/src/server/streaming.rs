//! Responses whose result is written in parts, for sources that can only be read once: a file, a
//! sensor.

use super::Server;
use super::inflight::RequestKind;
use super::respond::key;
use crate::encode::Encoder;
use crate::error::{NotAllowed, SendError};
use crate::handle::RequestHandle;
use crate::rpc::write_response_head;
use crate::tx::Tx;

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
    pub fn begin_response(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        if pending.kind != RequestKind::Request {
            return Err(SendError::NotAllowed(NotAllowed::RequestKind));
        }
        tx.begin(key(request.0), pending.revision, &mut |writer| {
            write_response_head(writer, pending.id.as_str().as_bytes(), b",\"result\":{")
        })?;
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
    ) -> Result<usize, SendError> {
        if self.requests.get(request.0).is_none() {
            return Ok(json.len());
        }
        tx.write_part(key(request.0), json)
    }

    /// Ends the response. Adds `resultType` and the server's name for a modern client, so the parts
    /// must not contain them.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] if the response has not
    /// been begun.
    pub fn finish_response(
        &mut self,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        let Some(pending) = self.requests.get(request.0) else { return Ok(()) };
        let revision = pending.revision;
        tx.finish(key(request.0), revision, &mut |writer| {
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
    pub(super) fn write_named_info(&self, writer: &mut Encoder<'_>) {
        writer.string(crate::types::meta::SERVER_INFO);
        writer.put(b":");
        self.write_info(writer)
    }
}
