//! Client state machine for all revisions.

mod call;
mod config;
mod connect;
mod event;
#[cfg(feature = "http")]
mod fail;
mod inflight;
mod input;
mod receive;
mod server_request;
mod state;
#[cfg(feature = "tasks")]
mod task;
#[cfg(feature = "tasks")]
mod task_poll;
mod timeout;

pub use config::{CallOptions, ClientConfig};
pub use event::{CallOutcome, Changed, ClientEvent, ConnectError, Connected, ServerRequest};
pub use input::{InputRequired, InputResponseParams};
#[cfg(feature = "alloc")]
pub use state::GrowingClientState;
pub use state::{ClientMemory, ClientState};
#[cfg(feature = "tasks")]
pub use task_poll::{PollStep, TaskGone, TaskPoll};

use crate::handle::{Call, RequestHandle};
use crate::inflight::Table;
use crate::lifecycle::{ClientFeatures, Era, Revision, ServerFeatures};
use crate::time::Instant;
use inflight::{AbandonedIds, InflightCall, InflightRequest};

/// The client's side of one connection: a view of its [`ClientState`], made with
/// [`ClientState::client`] for one call or for many.
///
/// [`connect`](Self::connect) finds out which revision the server uses and reports
/// [`ClientEvent::Connected`]; from then on [`request`](Self::request) sends calls.
#[derive(Debug)]
pub struct Client<'s> {
    config: &'s ClientConfig<'s>,
    calls: Table<'s, InflightCall>,
    requests: Table<'s, InflightRequest>,
    /// Ids of abandoned calls: responses to them are ignored.
    abandoned_ids: AbandonedIds<'s>,
    peer: &'s mut Peer,
}

/// Facts about the server that the connection has established.
#[derive(Debug)]
struct Peer {
    phase: Phase,
    /// The revision of the `initialize` that is partly written.
    offering: Revision,
    /// Era of the server, found out or set. Outlives the connection.
    era: Option<Era>,
    /// The id of the latest call. Never decreases, not even with a new connection.
    calls_made: u32,
    /// Time of the last message of the server.
    last_received: Instant,
}

impl Peer {
    const UNKNOWN: Self = Self {
        phase: Phase::Closed,
        offering: Revision::V2024_11_05,
        era: None,
        calls_made: 0,
        last_received: Instant::from_millis(0),
    };
}

/// State of the connection. The first one is all zeros.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
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

impl<'s> Client<'s> {
    /// Returns a shorter-lived view, for a function that takes a client by value.
    pub fn reborrow(&mut self) -> Client<'_> {
        Client {
            config: self.config,
            calls: self.calls.reborrow(),
            requests: self.requests.reborrow(),
            abandoned_ids: AbandonedIds(self.abandoned_ids.0),
            peer: self.peer,
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &'s ClientConfig<'s> {
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
        self.peer.era
    }

    /// Sets the era of the server, so that [`connect`](Self::connect) does not probe it
    /// (2026-07-28, basic/versioning: the result of a probe may be kept). `None`: probe. The
    /// capabilities of a modern server stay unknown then. If the server turns out to be of the
    /// other era, set that and connect again.
    pub fn set_era(&mut self, era: Option<Era>) {
        self.peer.era = era;
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
        if let Phase::Open(session) = self.peer.phase { Some(session) } else { None }
    }

    /// Revision that the next message is written in.
    fn current_revision(&self) -> Revision {
        match self.peer.phase {
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
