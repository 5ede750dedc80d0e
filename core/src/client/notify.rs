//! What a client tells a legacy server without being asked. A modern one is told nothing.

use serde::Serialize;

use super::Client;
use crate::error::SendError;
use crate::json::Json;
use crate::lifecycle::ClientFeatures;
use crate::message::hash_str;
use crate::rpc::write_notification;
use crate::tx::{FrameKey, Tx};

impl<const N: usize> Client<'_, N> {
    /// The roots are not what they were.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] before the client is open, to a modern server, and where
    /// `roots.listChanged` was not declared. [`SendError::Full`]: drain and
    /// call again.
    pub fn roots_changed(&mut self, tx: &mut Tx<'_>) -> Result<(), SendError> {
        if !self.is_open() || !self.declared().contains(ClientFeatures::ROOTS_LIST_CHANGED) {
            return Err(SendError::NotAllowed);
        }
        const METHOD: &str = "notifications/roots/list_changed";
        tx.frame(FrameKey::sent(hash_str(METHOD) as u32), self.speaks(), &mut |writer| {
            writer.put(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}")
        })
    }

    /// Sends a notification of your own.
    ///
    /// # Errors
    /// [`SendError::NotAllowed`] before the client is open, and for those of the protocol, which
    /// have methods of their own. [`SendError::Full`]: drain and call again.
    pub fn notify<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        if !self.is_open() || OF_THE_PROTOCOL.contains(&method) {
            return Err(SendError::NotAllowed);
        }
        tx.frame(FrameKey::sent(hash_str(method) as u32), self.speaks(), &mut |writer| {
            write_notification(writer, method, &Json(params))
        })
    }
}

const OF_THE_PROTOCOL: [&str; 4] = [
    "notifications/cancelled",
    "notifications/initialized",
    "notifications/progress",
    "notifications/roots/list_changed",
];
