//! The server state machine. It reads frames and writes frames, for all revisions at once.

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
pub use requests::ClientRequest;

use crate::handle::RequestHandle;
use crate::inflight::{Slot, Table};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::time::Instant;
use crate::types::LoggingLevel;
use inflight::{InflightCall, InflightRequest};
use subscriptions::Subscriptions;

/// The server side of one connection: up to `N` open requests, up to `N` open calls, and up to `S`
/// subscribed URIs.
///
/// One value serves one id space: the stdio of a process, a connection, a legacy HTTP session, or
/// one modern HTTP exchange. Legacy and modern peers may share a stream: a request with its version
/// in `_meta` is modern, `initialize` opens the legacy session.
///
/// Memory on a 32-bit target: about 210 bytes for each of `N`, 10 for each of `S`, and 90 more.
#[derive(Debug)]
pub struct Server<'c, const N: usize = 8, const S: usize = 8> {
    config: &'c ServerConfig<'c>,
    requests: Table<InflightRequest, N>,
    calls: Table<InflightCall, N>,
    subscriptions: Subscriptions<S>,
    session: Option<Session>,
    /// The `subscriptions/listen` whose acknowledgement is partly written.
    acknowledging: Option<Slot>,
    /// The id of the latest call.
    calls_made: u32,
    /// When the last message of the peer arrived.
    last_received: Instant,
}

/// The session that `initialize` opened.
#[derive(Clone, Copy, Debug)]
struct Session {
    revision: Revision,
    capabilities: ClientFeatures,
    /// The configured extensions that the client declared, one bit each.
    extensions: u16,
    /// Set by `logging/setLevel`.
    log_level: LoggingLevel,
    /// Whether `notifications/initialized` has arrived.
    ready: bool,
}

impl<'c> Server<'c> {
    /// Creates a server with room for eight requests and eight subscribed URIs. For other sizes:
    /// [`with_table_sizes`](Server::with_table_sizes).
    #[must_use]
    pub const fn new(config: &'c ServerConfig<'c>) -> Self {
        Self::with_table_sizes(config)
    }
}

impl<'c, const N: usize, const S: usize> Server<'c, N, S> {
    /// Creates a server whose table sizes are given by its type: `let mut server: Server<4, 16> =
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

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &'c ServerConfig<'c> {
        self.config
    }

    /// Returns the revision that `initialize` negotiated, `None` before.
    #[must_use]
    pub fn legacy_revision(&self) -> Option<Revision> {
        self.session.map(|scope| scope.revision)
    }

    /// Returns the number of requests without a response, including open `subscriptions/listen`.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.requests.len()
    }

    /// Returns the number of calls without a response.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether the request waits for a response: `false` after a response, a cancellation
    /// or a timeout.
    #[must_use]
    pub fn is_request_open(&self, request: RequestHandle) -> bool {
        self.requests.get(request.0).is_some()
    }

    /// Returns the revision for responses to messages that cannot be parsed.
    fn fallback_revision(&self) -> Revision {
        self.session.map_or(Revision::LATEST, |scope| scope.revision)
    }
}
