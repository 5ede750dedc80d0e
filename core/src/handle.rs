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

/// Outcome of a notification about a request: `progress` or `log`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Delivery {
    /// Written to `tx`.
    Sent,
    /// Not written: the peer sent no progress token, or wants no log messages of this level.
    NotRequested,
    /// Not written: sooner after the last report than `progress_interval`, or no progress since.
    Throttled,
    /// Not written: the request has been responded to, was cancelled or timed out. Stop working on
    /// it.
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
