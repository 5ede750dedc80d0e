//! The client: a state machine over frames, for all revisions at once.

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

/// One peer's client: up to `N` requests of ours in flight, and as many of the server's.
///
/// [`connect`](Self::connect) it, and it finds out what the server speaks; an event says when it is open.
/// From then on [`request`](Self::request). A value is one id space: a child process, a connection,
/// a server behind a URL.
///
/// Memory: 216 bytes for each of `N`, and 64 more (on a 32-bit machine).
#[derive(Debug)]
pub struct Client<'c, const N: usize = 8> {
    config: &'c ClientConfig<'c>,
    calls: Table<InflightCall, N>,
    requests: Table<InflightRequest, N>,
    phase: Phase,
    /// The revision in an `initialize` of which the beginning is in a buffer.
    offering: Revision,
    /// What was found out about this server, or said. Outlives the connection.
    era: Option<Era>,
    /// The id of our latest request. Never goes back, not even with a new connection.
    calls_made: u32,
    /// Ours whose answers may still come, and are not wanted.
    abandoned_ids: AbandonedIds<N>,
    /// When the peer last sent a message.
    last_received: Instant,
}

/// How far the opening has come.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed,
    /// `server/discover` was sent.
    Probing,
    /// `initialize` was sent, with this revision.
    Initializing(Revision),
    Open(Connection),
}

/// What the opening settled.
#[derive(Clone, Copy, Debug)]
struct Connection {
    revision: Revision,
    /// Of the server; unknown where it was not asked.
    capabilities: Option<ServerFeatures>,
}

impl<'c> Client<'c> {
    /// A client with room for eight requests. For other sizes:
    /// [`with_table_sizes`](Client::with_table_sizes).
    #[must_use]
    pub const fn new(config: &'c ClientConfig<'c>) -> Self {
        Self::with_table_sizes(config)
    }
}

impl<'c, const N: usize> Client<'c, N> {
    /// A client whose size the type says: `let mut client: Client<2> =
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

    /// The configuration it was made with.
    #[must_use]
    pub const fn config(&self) -> &'c ClientConfig<'c> {
        self.config
    }

    /// Whether requests can be made.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.connection().is_some()
    }

    /// The revision that is spoken, once it is open.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.connection().map(|session| session.revision)
    }

    /// What the server declared. `None` before it is open, and where it was not asked
    /// ([`assume`](Self::set_era)).
    #[must_use]
    pub fn server_capabilities(&self) -> Option<ServerFeatures> {
        self.connection()?.capabilities
    }

    /// The era of this server, once it is known: worth keeping, to be [assumed](Self::set_era) next
    /// time.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.era
    }

    /// Says what [`connect`](Self::connect) need not find out (2026-07-28, basic/versioning: the result
    /// of a probe may be kept). `None`: find out. A modern server is then not even asked for
    /// its capabilities; if it turns out to be none, say so and open again.
    pub fn set_era(&mut self, era: Option<Era>) {
        self.era = era;
    }

    /// How many requests of ours wait for an answer, those that open the session included.
    #[must_use]
    pub fn open_calls(&self) -> usize {
        self.calls.len()
    }

    /// How many requests of the server's wait for an answer.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether this request of ours still waits for its answer.
    #[must_use]
    pub fn is_call_open(&self, call: Call) -> bool {
        self.calls.get(call.0).is_some()
    }

    /// Whether this request of the server's still waits for its answer.
    #[must_use]
    pub fn is_request_open(&self, request: RequestHandle) -> bool {
        self.requests.get(request.0).is_some()
    }

    /// The id of this request on the wire, which is its progress token too.
    #[must_use]
    pub fn id(&self, call: Call) -> Option<u32> {
        self.calls.get(call.0).map(|outgoing| outgoing.number)
    }

    fn connection(&self) -> Option<Connection> {
        if let Phase::Open(session) = self.phase { Some(session) } else { None }
    }

    /// The revision that the next message is written in.
    fn current_revision(&self) -> Revision {
        match self.phase {
            Phase::Open(session) => session.revision,
            Phase::Initializing(offered) => offered,
            Phase::Closed | Phase::Probing => Revision::LATEST,
        }
    }

    /// What was declared to the server, as its revision knows it.
    fn declared(&self) -> ClientFeatures {
        self.config.capabilities.known_in(self.current_revision())
    }
}
