//! The memory of a client, of which [`Client`] is a view.

use super::inflight::{AbandonedIds, InflightCall, InflightRequest};
use super::{Client, ClientConfig, Peer};
#[cfg(feature = "alloc")]
use crate::inflight::GrowingTable;
use crate::inflight::TableState;

/// The memory of a [`Client`]: up to `N` open calls, and up to `N` open requests of the server.
///
/// One value is one id space: use one per child process, connection or server URL. It is all zeros
/// at first, so that a `static` takes no flash.
///
/// ```
/// # use mcp_sansio::{ClientConfig, ClientFeatures, ClientState, types::Implementation};
/// static CONFIG: ClientConfig =
///     ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::NONE);
/// let mut state: ClientState<2> = ClientState::new();
/// let client = state.client(&CONFIG);
/// assert!(!client.is_open());
/// ```
///
/// Memory on a 32-bit target: about 210 bytes for each of `N`, and 60 more.
#[derive(Debug)]
pub struct ClientState<const N: usize = 8> {
    calls: TableState<InflightCall, N>,
    requests: TableState<InflightRequest, N>,
    abandoned_ids: [u32; N],
    peer: Peer,
}

impl<const N: usize> ClientState<N> {
    /// Creates the memory of a client that is not connected.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            calls: TableState::new(),
            requests: TableState::new(),
            abandoned_ids: [0; N],
            peer: Peer::UNKNOWN,
        }
    }

    /// Returns the client. Each view of a state must have the same configuration.
    #[inline]
    pub fn client<'s>(&'s mut self, config: &'s ClientConfig<'s>) -> Client<'s> {
        Client {
            config,
            calls: self.calls.table(),
            requests: self.requests.table(),
            abandoned_ids: AbandonedIds(&mut self.abandoned_ids),
            peer: &mut self.peer,
        }
    }
}

impl<const N: usize> Default for ClientState<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// The memory of a [`Client`] on the heap, which grows up to a limit. For the rest as
/// [`ClientState`].
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct GrowingClientState {
    calls: GrowingTable<InflightCall>,
    requests: GrowingTable<InflightRequest>,
    abandoned_ids: alloc::vec::Vec<u32>,
    peer: Peer,
}

#[cfg(feature = "alloc")]
impl GrowingClientState {
    /// Creates the memory of a client with up to `calls` open calls, and as many open requests of
    /// the server: at most 65,534.
    #[must_use]
    pub const fn new(calls: u16) -> Self {
        Self {
            calls: GrowingTable::new(calls),
            requests: GrowingTable::new(calls),
            abandoned_ids: alloc::vec::Vec::new(),
            peer: Peer::UNKNOWN,
        }
    }

    /// Returns the client, whose tables have room for one more call and one more request, if the
    /// limit allows. Each view of a state must have the same configuration.
    #[inline]
    pub fn client<'s>(&'s mut self, config: &'s ClientConfig<'s>) -> Client<'s> {
        let calls = self.calls.table(2);
        if self.abandoned_ids.len() < calls.capacity() {
            self.abandoned_ids.resize(calls.capacity(), 0);
        }
        Client {
            config,
            calls,
            requests: self.requests.table(2),
            abandoned_ids: AbandonedIds(&mut self.abandoned_ids),
            peer: &mut self.peer,
        }
    }
}

/// The memory of a client: a [`ClientState`] of any size, or a growing one.
pub trait ClientMemory: private::Sealed {
    /// Returns the client.
    fn client<'s>(&'s mut self, config: &'s ClientConfig<'s>) -> Client<'s>;
}

impl<const N: usize> ClientMemory for ClientState<N> {
    fn client<'s>(&'s mut self, config: &'s ClientConfig<'s>) -> Client<'s> {
        self.client(config)
    }
}

#[cfg(feature = "alloc")]
impl ClientMemory for GrowingClientState {
    fn client<'s>(&'s mut self, config: &'s ClientConfig<'s>) -> Client<'s> {
        self.client(config)
    }
}

mod private {
    pub trait Sealed {}

    impl<const N: usize> Sealed for super::ClientState<N> {}
    #[cfg(feature = "alloc")]
    impl Sealed for super::GrowingClientState {}
}
