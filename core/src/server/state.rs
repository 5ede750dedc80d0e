//! The memory of a server, of which [`Server`] is a view.

use super::inflight::{InflightCall, InflightRequest};
use super::subscriptions::Subscriptions;
use super::{Peer, Server, ServerConfig};
use crate::inflight::TableState;
#[cfg(feature = "alloc")]
use crate::{inflight::GrowingTable, server::changes::Changes, tx::Pace};

/// The memory of a [`Server`]: up to `N` open requests, up to `N` open calls, and up to `S`
/// subscribed URIs.
///
/// One value serves one id space: the stdio of a process, a connection, a legacy HTTP session, or
/// one modern HTTP exchange. It is all zeros at first, so that a `static` takes no flash.
///
/// ```
/// # use mcp_sansio::{ServerConfig, ServerFeatures, ServerState, types::Implementation};
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("thermometer", "1.0.0"), ServerFeatures::TOOLS);
/// let mut state: ServerState<4, 0> = ServerState::new();
/// let server = state.server(&CONFIG);
/// assert_eq!(server.open_requests(), 0);
/// ```
///
/// Memory on a 32-bit target: about 210 bytes for each of `N`, 8 for each of `S`, and 80 more.
#[derive(Debug)]
pub struct ServerState<const N: usize = 8, const S: usize = 8> {
    requests: TableState<InflightRequest, N>,
    calls: TableState<InflightCall, N>,
    subscriptions: [u64; S],
    peer: Peer,
}

impl<const N: usize, const S: usize> ServerState<N, S> {
    /// Creates the memory of a server without a session.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            requests: TableState::new(),
            calls: TableState::new(),
            subscriptions: [0; S],
            peer: Peer::UNKNOWN,
        }
    }

    /// Returns the server. Each view of a state must have the same configuration.
    #[inline]
    pub fn server<'s>(&'s mut self, config: &'s ServerConfig<'s>) -> Server<'s> {
        Server {
            config,
            requests: self.requests.table(),
            calls: self.calls.table(),
            subscriptions: Subscriptions(&mut self.subscriptions),
            peer: &mut self.peer,
        }
    }
}

impl<const N: usize, const S: usize> Default for ServerState<N, S> {
    fn default() -> Self {
        Self::new()
    }
}

/// The memory of a [`Server`] on the heap, which grows up to a limit. For the rest as
/// [`ServerState`].
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct GrowingServerState {
    requests: GrowingTable<InflightRequest>,
    calls: GrowingTable<InflightCall>,
    subscriptions: alloc::vec::Vec<u64>,
    max_subscriptions: usize,
    peer: Peer,
    pub(super) changes: Changes,
    /// When to go on with notifications that no event has caused.
    pub(super) notices: Pace,
    pub(crate) is_closing: bool,
    pub(crate) admission: Admission,
}

/// The requests that a [`Connection`](crate::Connection) with a growing state admits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Those for which the table has an entry. Others wait, unless the server itself awaits the
    /// response to a call, which may be behind them: then they are refused.
    Wait,
    /// None: the next request waits. Cancellations and responses before it are handled.
    Hold,
    /// Those for which the table has an entry. Others are refused (-32603), so that what is behind
    /// them is read.
    Refuse,
}

#[cfg(feature = "alloc")]
impl GrowingServerState {
    /// Creates the memory of a server with up to `requests` open requests, as many open calls (at
    /// most 65,534), and up to `subscriptions` subscribed URIs.
    #[must_use]
    pub const fn new(requests: u16, subscriptions: usize) -> Self {
        Self {
            requests: GrowingTable::new(requests),
            calls: GrowingTable::new(requests),
            subscriptions: alloc::vec::Vec::new(),
            max_subscriptions: subscriptions,
            peer: Peer::UNKNOWN,
            changes: Changes::new(),
            notices: Pace::NEW,
            is_closing: false,
            admission: Admission::Wait,
        }
    }

    /// Returns the server, whose tables have room for one more request and, in a session, for
    /// eight more calls, if the limits allow. Each view of a state must have the same
    /// configuration.
    #[inline]
    pub fn server<'s>(&'s mut self, config: &'s ServerConfig<'s>) -> Server<'s> {
        // One message may subscribe to many URIs, so this table does not grow by and by.
        if self.subscriptions.is_empty() && config.capabilities().has_names() {
            self.subscriptions.resize(self.max_subscriptions, 0);
        }
        Server {
            config,
            // One for a request, and one that `subscriptions/listen` leaves to others.
            requests: self.requests.table(2),
            calls: self.calls.table(if self.peer.session.is_some() { CALLS_OF_A_VIEW } else { 0 }),
            subscriptions: Subscriptions(&mut self.subscriptions),
            peer: &mut self.peer,
        }
    }
}

/// Number of calls that an application can make with one view, for example while it handles an
/// event.
#[cfg(feature = "alloc")]
const CALLS_OF_A_VIEW: usize = 8;

/// The memory of a server: a [`ServerState`] of any size, or a growing one.
pub trait ServerMemory: private::Sealed {
    /// Returns the server.
    fn server<'s>(&'s mut self, config: &'s ServerConfig<'s>) -> Server<'s>;
}

impl<const N: usize, const S: usize> ServerMemory for ServerState<N, S> {
    fn server<'s>(&'s mut self, config: &'s ServerConfig<'s>) -> Server<'s> {
        self.server(config)
    }
}

#[cfg(feature = "alloc")]
impl ServerMemory for GrowingServerState {
    fn server<'s>(&'s mut self, config: &'s ServerConfig<'s>) -> Server<'s> {
        self.server(config)
    }
}

mod private {
    pub trait Sealed {}

    impl<const N: usize, const S: usize> Sealed for super::ServerState<N, S> {}
    #[cfg(feature = "alloc")]
    impl Sealed for super::GrowingServerState {}
}
