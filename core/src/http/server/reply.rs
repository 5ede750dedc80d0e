//! The head of what answers a request.

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
