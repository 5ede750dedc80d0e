//! The head of what answers a request.

/// What the first frame of an exchange has decided: see
/// [`TxBuffer::reply`](crate::TxBuffer::reply).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// What its body is.
    pub body: Body,
}

/// What the body of a response is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// There is none.
    Empty,
    /// One JSON-RPC message.
    Json,
    /// Server-sent events.
    Events,
}

impl Reply {
    /// An answer without a body.
    #[must_use]
    pub const fn empty(status: u16) -> Self {
        Self { status, body: Body::Empty }
    }

    /// 200, and events.
    pub const EVENTS: Self = Self { status: 200, body: Body::Events };
    /// What has been taken in and needs no answer: notifications and responses.
    pub const ACCEPTED: Self = Self::empty(202);

    /// The fields that belong to it, their names in lower case. Those that say how long the body is
    /// are for whoever writes it.
    pub fn fields(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let fields: &[_] = match self.body {
            Body::Empty => &[],
            Body::Json => &[("content-type", "application/json")],
            // Nothing on the way may keep events back, or keep them at all.
            Body::Events => &[
                ("content-type", "text/event-stream"),
                ("cache-control", "no-cache, no-transform"),
                ("x-accel-buffering", "no"),
            ],
        };
        fields.iter().copied()
    }
}
