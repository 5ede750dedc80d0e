//! Requests that no server sees.

use crate::error::SendError;
use crate::lifecycle::Revision;
use crate::message::Id;
use crate::rpc::{ErrorCode, RpcError, write_error};
use crate::tx::{FrameKey, Tx};

/// A request that is refused by its head, or by what is in no session: the status, and a JSON-RPC
/// error as its body.
#[derive(Clone, Debug)]
pub struct Rejection<'f> {
    status: u16,
    code: ErrorCode,
    message: &'static str,
    id: Option<Id<'f>>,
}

impl<'f> Rejection<'f> {
    /// With a status and an error of your own. The error of a request should have its id:
    /// [`Endpoint::route`](super::Endpoint::route) sees to that by itself.
    #[must_use]
    pub const fn new(status: u16, code: ErrorCode, message: &'static str) -> Self {
        Self { status, code, message, id: None }
    }

    /// 404: the session has ended, or there was none. The client opens another one.
    #[must_use]
    pub const fn session_not_found() -> Self {
        Self::new(
            404,
            ErrorCode::Application(-32001),
            "Session not found: open one with initialize",
        )
    }

    /// 413: the body is longer than what is taken.
    #[must_use]
    pub const fn content_too_large() -> Self {
        Self::new(413, ErrorCode::InvalidRequest, "The message is longer than this server takes")
    }

    /// 503: there are as many sessions, or exchanges, as there may be.
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

    /// The status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// What went wrong, in words.
    #[must_use]
    pub const fn message(&self) -> &'static str {
        self.message
    }

    /// Writes the body, so that [`http_response`](crate::TxBuffer::http_response) says the status.
    ///
    /// # Errors
    /// [`SendError::Full`]: drain and call again. [`SendError::NotAllowed`] when the exchange has been answered.
    pub fn write(&self, tx: &mut Tx<'_>) -> Result<(), SendError> {
        // Only here is an id left out where there is none.
        let revision = if matches!(self.code, ErrorCode::Application(_)) {
            Revision::LATEST_LEGACY
        } else {
            Revision::LATEST
        };
        tx.frame(FrameKey::ANSWER, revision, &mut |writer| {
            writer.set_status(self.status);
            write_error(writer, self.id.map(Id::as_str), &RpcError::new(self.code, self.message))
        })
    }
}

/// What the first frame of an exchange has decided: see
/// [`TxBuffer::reply`](crate::TxBuffer::http_response).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutgoingResponse {
    /// The status.
    pub status: u16,
    /// What its body is.
    pub body: BodyKind,
}

/// What the body of a response is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyKind {
    /// There is none.
    Empty,
    /// One JSON-RPC message.
    Json,
    /// Server-sent events.
    EventStream,
}

impl OutgoingResponse {
    /// An answer without a body.
    #[must_use]
    pub const fn empty(status: u16) -> Self {
        Self { status, body: BodyKind::Empty }
    }

    /// 200, and events.
    pub const EVENT_STREAM: Self = Self { status: 200, body: BodyKind::EventStream };
    /// What has been taken in and needs no answer: notifications and responses.
    pub const ACCEPTED: Self = Self::empty(202);

    /// The fields that belong to it, their names in lower case. Those that say how long the body is
    /// are for whoever writes it.
    pub fn fields(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let fields: &[_] = match self.body {
            BodyKind::Empty => &[],
            BodyKind::Json => &[("content-type", "application/json")],
            // Nothing on the way may keep events back, or keep them at all.
            BodyKind::EventStream => &[
                ("content-type", "text/event-stream"),
                ("cache-control", "no-cache, no-transform"),
                ("x-accel-buffering", "no"),
            ],
        };
        fields.iter().copied()
    }
}
