//! Heads of responses, and requests that are rejected before they reach a server.

use crate::error::SendError;
use crate::lifecycle::Revision;
use crate::message::Id;
use crate::rpc::{ErrorCode, RpcError, write_error};
use crate::tx::{Tx, WriterId};

/// A rejected request: an HTTP status, and a JSON-RPC error as the body.
#[derive(Clone, Debug)]
pub struct Rejection<'f> {
    status: u16,
    code: ErrorCode,
    message: &'static str,
    id: Option<Id<'f>>,
}

impl<'f> Rejection<'f> {
    /// Creates a rejection. The error of a JSON-RPC request should carry its id;
    /// [`Endpoint::route`](super::Endpoint::route) sets it.
    #[must_use]
    pub const fn new(status: u16, code: ErrorCode, message: &'static str) -> Self {
        Self { status, code, message, id: None }
    }

    /// Status 404: unknown or ended session. The client opens a new one.
    #[must_use]
    pub const fn session_not_found() -> Self {
        Self::new(
            404,
            ErrorCode::Application(-32001),
            "Session not found: open one with initialize",
        )
    }

    /// Status 413: the body exceeds the limit.
    #[must_use]
    pub const fn content_too_large() -> Self {
        Self::new(413, ErrorCode::InvalidRequest, "The message exceeds the server's limit")
    }

    /// Status 503: the maximum number of sessions or exchanges is reached.
    #[must_use]
    pub const fn service_unavailable() -> Self {
        Self::new(503, ErrorCode::InternalError, "The server is busy: try again later")
    }

    pub(super) const fn forbidden(message: &'static str) -> Self {
        Self::new(403, ErrorCode::InvalidRequest, message)
    }

    pub(super) const fn bad(message: &'static str) -> Self {
        Self::new(400, ErrorCode::InvalidRequest, message)
    }

    pub(super) fn with_id(self, id: Option<Id<'f>>) -> Self {
        Self { id, ..self }
    }

    /// The HTTP status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The message of the JSON-RPC error.
    #[must_use]
    pub const fn message(&self) -> &'static str {
        self.message
    }

    /// Writes the body; [`http_response`](crate::TxBuffer::http_response) returns the status
    /// afterwards.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] if the exchange already
    /// has a response.
    pub fn write(&self, tx: &mut Tx<'_>) -> Result<(), SendError> {
        // Both revisions omit a missing id, unlike older ones; only the legacy one keeps -32001.
        let revision = if matches!(self.code, ErrorCode::Application(_)) {
            Revision::LATEST_LEGACY
        } else {
            Revision::LATEST
        };
        tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
            writer.set_status(self.status);
            write_error(writer, self.id.map(Id::as_str), &RpcError::new(self.code, self.message))
        })
    }
}

/// The head of a response, as the first frame has decided: see
/// [`TxBuffer::http_response`](crate::TxBuffer::http_response).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutgoingResponse {
    /// The HTTP status.
    pub status: u16,
    /// The kind of the body.
    pub body: BodyKind,
}

/// The kind of a response body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyKind {
    /// No body.
    Empty,
    /// One JSON-RPC message.
    Json,
    /// Server-sent events.
    EventStream,
}

impl OutgoingResponse {
    /// Creates a response without a body.
    #[must_use]
    pub const fn empty(status: u16) -> Self {
        Self { status, body: BodyKind::Empty }
    }

    /// Status 200 with an event stream.
    pub const EVENT_STREAM: Self = Self { status: 200, body: BodyKind::EventStream };
    /// Status 202 without a body: the response to notifications and responses.
    pub const ACCEPTED: Self = Self::empty(202);

    /// Returns the header fields of the content, with names in lower case; the fields that frame
    /// the body are not included.
    pub fn fields(self) -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
        let fields: &[_] = match self.body {
            BodyKind::Empty => &[],
            BodyKind::Json => &[("content-type", "application/json")],
            // Proxies must neither buffer nor cache the events.
            BodyKind::EventStream => &[
                ("content-type", "text/event-stream"),
                ("cache-control", "no-cache, no-transform"),
                ("x-accel-buffering", "no"),
            ],
        };
        fields.iter().copied()
    }
}
