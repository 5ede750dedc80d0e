//! Client state machine for all revisions.

mod call;
mod config;
mod connect;
mod event;
mod inflight;
mod input;
mod receive;
mod server_request;
mod timeout;

pub use config::{CallOptions, ClientConfig};
pub use event::{CallOutcome, Changed, ClientEvent, ConnectError, Connected, ServerRequest};
pub use input::{InputRequired, InputResponseParams};

use crate::handle::{Call, RequestHandle};
use crate::inflight::Table;
use crate::lifecycle::{ClientFeatures, Era, Revision, ServerFeatures};
use crate::time::Instant;
use inflight::{AbandonedIds, InflightCall, InflightRequest};

/// Client of one server: up to `N` calls in flight, and as many requests of the server.
///
/// [`connect`](Self::connect) finds out which revision the server uses and reports
/// [`ClientEvent::Connected`]; from then on [`request`](Self::request) sends calls. One `Client` is
/// one id space: use one per child process, connection or server URL.
///
/// Memory: 216 bytes per slot of `N`, and 64 more (32-bit targets).
#[derive(Debug)]
pub struct Client<'c, const N: usize = 8> {
    config: &'c ClientConfig<'c>,
    calls: Table<InflightCall, N>,
    requests: Table<InflightRequest, N>,
    phase: Phase,
    /// The revision of the `initialize` that is partly written.
    offering: Revision,
    /// Era of the server, found out or set. Outlives the connection.
    era: Option<Era>,
    /// The id of the latest call. Never decreases, not even with a new connection.
    calls_made: u32,
    /// Ids of abandoned calls: responses to them are ignored.
    abandoned_ids: AbandonedIds<N>,
    /// Time of the last message of the server.
    last_received: Instant,
}

/// State of the connection.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed,
    /// `server/discover` was sent.
    Probing,
    /// `initialize` was sent, with this revision.
    Initializing(Revision),
    Open(Connection),
}

/// Result of `initialize` or `server/discover`.
#[derive(Clone, Copy, Debug)]
struct Connection {
    revision: Revision,
    /// Of the server; `None` if the era was set and the server not probed.
    capabilities: Option<ServerFeatures>,
}

impl<'c> Client<'c> {
    /// Creates a client for eight calls at a time. For other sizes:
    /// [`with_table_sizes`](Client::with_table_sizes).
    #[must_use]
    pub const fn new(config: &'c ClientConfig<'c>) -> Self {
        Self::with_table_sizes(config)
    }
}

impl<'c, const N: usize> Client<'c, N> {
    /// Creates a client of the size in its type: `let mut client: Client<2> =
    /// Client::with_table_sizes(&CONFIG)`.
    #[must_use]
    pub const fn with_table_sizes(config: &'c ClientConfig<'c>) -> Self {
        Self {
            config,
            calls: Table::new(),
            requests: Table::new(),
            phase: Phase::Closed,
            offering: Revision::LATEST_LEGACY,
            era: None,
            calls_made: 0,
            abandoned_ids: AbandonedIds::new(),
            last_received: Instant::from_millis(0),
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &'c ClientConfig<'c> {
        self.config
    }

    /// Whether the client is connected, so that calls can be made.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.connection().is_some()
    }

    /// Returns the revision in use; `None` while the client is not connected.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.connection().map(|session| session.revision)
    }

    /// Returns the capabilities that the server declared. `None` while the client is not connected,
    /// and if the era was [set](Self::set_era) and the server not probed.
    #[must_use]
    pub fn server_capabilities(&self) -> Option<ServerFeatures> {
        self.connection()?.capabilities
    }

    /// Returns the era of the server, once it is known. Applications may store it and
    /// [set](Self::set_era) it next time.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.era
    }

    /// Sets the era of the server, so that [`connect`](Self::connect) does not probe it
    /// (2026-07-28, basic/versioning: the result of a probe may be kept). `None`: probe. The
    /// capabilities of a modern server stay unknown then. If the server turns out to be of the
    /// other era, set that and connect again.
    pub fn set_era(&mut self, era: Option<Era>) {
        self.era = era;
    }

    /// Returns the number of calls in flight, those that open the connection included.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// Returns the number of requests of the server that have no response yet.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether the call is still in flight.
    #[must_use]
    pub fn is_call_open(&self, call: Call) -> bool {
        self.calls.get(call.0).is_some()
    }

    /// Whether the request of the server has no response yet.
    #[must_use]
    pub fn is_request_open(&self, request: RequestHandle) -> bool {
        self.requests.get(request.0).is_some()
    }

    /// Returns the id of the call on the wire, which is its progress token too.
    #[must_use]
    pub fn id(&self, call: Call) -> Option<u32> {
        self.calls.get(call.0).map(|outgoing| outgoing.number)
    }

    fn connection(&self) -> Option<Connection> {
        if let Phase::Open(session) = self.phase { Some(session) } else { None }
    }

    /// Revision that the next message is written in.
    fn current_revision(&self) -> Revision {
        match self.phase {
            Phase::Open(session) => session.revision,
            Phase::Initializing(offered) => offered,
            Phase::Closed | Phase::Probing => Revision::LATEST,
        }
    }

    /// Capabilities that were declared to the server, as far as its revision has them.
    fn declared(&self) -> ClientFeatures {
        self.config.capabilities.known_in(self.current_revision())
    }
}
