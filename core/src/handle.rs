//! What the application holds of a request, the peer's or its own, while it is in flight.

use crate::inflight::Slot;

/// A request that waits for its answer. `Copy`, and worth something only on the server or client
/// that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestHandle(pub(crate) Slot);

/// A request of ours that waits for its answer. `Copy`, and worth something only on the server or
/// client that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Call(pub(crate) Slot);

/// What became of something that was to be sent about a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use]
pub enum Delivery {
    /// It is in `tx`.
    Sent,
    /// The peer did not ask for it (no progress token, no such log level): go on.
    NotRequested,
    /// Too soon after the last progress, or no progress beyond it: go on.
    Throttled,
    /// The request was answered, cancelled, or has expired: stop.
    Gone,
}

impl Call {
    /// The place that it has in the table: smaller than the table's size, and no other's as long as
    /// this one is in flight. For tables of your own beside it.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}
