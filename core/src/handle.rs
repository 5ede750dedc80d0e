//! Handles of requests and calls.

use crate::inflight::Slot;

/// Handle of a request of the peer. Valid only for the server or client that created it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestHandle(pub(crate) Slot);

/// Handle of a call: a request to the peer. Valid only for the server or client that created it.
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

/// Whether a function that writes one frame per call, such as
/// [`Server::publish`](crate::Server::publish), has more frames to write.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Remaining {
    /// There may be another frame: call again.
    More,
    /// All frames have been written.
    Done,
}

impl Remaining {
    /// Returns whether there may be another frame.
    #[must_use]
    pub const fn is_more(self) -> bool {
        matches!(self, Self::More)
    }
}

impl Call {
    /// Returns the index of the call in the table: smaller than the table size, and unique among
    /// open calls. For tables of the application.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}
