//! Handles of requests and calls, ids of HTTP exchanges.

use crate::inflight::Slot;

/// Handle of a request of the peer. Valid only for the server or client that created it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestHandle(pub(crate) Slot);

/// Handle of a call: a request to the peer. Valid only for the server or client that created it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Call(pub(crate) Slot);

/// Id of an HTTP exchange, chosen by the application: the request that it came with, and the output
/// that belongs to its response. Without the feature `http` all messages belong to the stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExchangeId(#[cfg(feature = "http")] u32);

impl ExchangeId {
    /// No exchange of a request. Over HTTP, its output belongs to the standalone GET stream of the
    /// session.
    pub const SESSION: Self = Self(
        #[cfg(feature = "http")]
        0,
    );

    /// Creates the id of an exchange. The number must be unique among the open exchanges of a
    /// server, and not 0, which is [`SESSION`](Self::SESSION): as the number of the stream that
    /// [`with_event_ids`](crate::TxBuffer::with_event_ids) takes.
    #[cfg(feature = "http")]
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    pub(crate) fn is_session(self) -> bool {
        self == Self::SESSION
    }
}

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
