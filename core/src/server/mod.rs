//! The server: a state machine over frames, for all revisions at once.

mod capability_hooks;
mod check_request;
mod config;
mod event;
mod extensions;
mod file_path;
mod handshake;
#[cfg(feature = "http")]
mod http;
mod http_headers;
mod inflight;
mod lifecycle;
mod notify;
#[cfg(feature = "alloc")]
mod owned;
mod params;
mod receive;
mod refusal;
mod requests;
mod respond;
mod streaming;
mod subscriptions;

pub use config::{MAX_EXTENSIONS, ServerConfig};
pub use event::{Request, ServerEvent};
pub use notify::{Change, LogMessage};
#[cfg(feature = "alloc")]
pub use owned::OwnedRequest;
pub use requests::{AsInputRequest, ClientRequest};

use crate::handle::RequestHandle;
use crate::inflight::{Slot, Table};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::time::Instant;
use crate::types::LoggingLevel;
use inflight::{InflightCall, InflightRequest};
use subscriptions::Subscriptions;

/// One peer's server: up to `N` requests in flight, and as many of our own; up to `S` subscribed
/// URIs.
///
/// A value is one id space: a process's stdio, a connection, a legacy HTTP session, one modern HTTP
/// exchange. Legacy and modern peers may share a stream: a request that carries its version in
/// `_meta` is modern, `initialize` opens the legacy scope.
///
/// Memory: about 210 bytes for each of `N` and 10 for each of `S`, and 90 more (on a 32-bit
/// machine).
#[derive(Debug)]
pub struct Server<'c, const N: usize = 8, const S: usize = 8> {
    config: &'c ServerConfig<'c>,
    requests: Table<InflightRequest, N>,
    calls: Table<InflightCall, N>,
    subscriptions: Subscriptions<S>,
    session: Option<Session>,
    /// A `subscriptions/listen` whose acknowledgement has begun and not ended.
    acknowledging: Option<Slot>,
    /// The id of our latest request.
    calls_made: u32,
    /// When the peer last sent a message.
    last_received: Instant,
}

/// What `initialize` settled.
#[derive(Clone, Copy, Debug)]
struct Session {
    revision: Revision,
    capabilities: ClientFeatures,
    /// The configured extensions that the client declared, a bit each.
    extensions: u16,
    /// Set by `logging/setLevel`.
    log_level: LoggingLevel,
    /// Whether `notifications/initialized` has arrived.
    ready: bool,
}

impl<'c> Server<'c> {
    /// A server with room for eight requests and eight subscribed URIs. For other sizes:
    /// [`with_table_sizes`](Server::with_table_sizes).
    #[must_use]
    pub const fn new(config: &'c ServerConfig<'c>) -> Self {
        Self::with_table_sizes(config)
    }
}

impl<'c, const N: usize, const S: usize> Server<'c, N, S> {
    /// A server whose sizes the type says: `let mut server: Server<4, 16> =
    /// Server::with_table_sizes(&CONFIG)`.
    #[must_use]
    pub const fn with_table_sizes(config: &'c ServerConfig<'c>) -> Self {
        Self {
            config,
            requests: Table::new(),
            calls: Table::new(),
            subscriptions: Subscriptions::new(),
            session: None,
            acknowledging: None,
            calls_made: 0,
            last_received: Instant::from_millis(0),
        }
    }

    /// The configuration it was made with.
    #[must_use]
    pub const fn config(&self) -> &'c ServerConfig<'c> {
        self.config
    }

    /// The revision that `initialize` settled, once it has.
    #[must_use]
    pub fn legacy_revision(&self) -> Option<Revision> {
        self.session.map(|scope| scope.revision)
    }

    /// How many requests wait for an answer, open `subscriptions/listen` included.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.requests.len()
    }

    /// How many requests of our own wait for an answer.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Whether the request still waits for its answer: `false` once it was answered, cancelled or
    /// expired.
    #[must_use]
    pub fn is_request_open(&self, request: RequestHandle) -> bool {
        self.requests.get(request.0).is_some()
    }

    /// The revision that an answer to what cannot be read is written for.
    fn fallback_revision(&self) -> Revision {
        self.session.map_or(Revision::LATEST, |scope| scope.revision)
    }
}
