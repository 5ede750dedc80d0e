//! The server state machine. It reads frames and writes frames, for all revisions at once.

mod capability_hooks;
#[cfg(feature = "alloc")]
mod changes;
mod check_request;
mod client_request;
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
mod owned;
mod params;
mod receive;
mod refusal;
mod requests;
mod respond;
mod state;
mod streaming;
mod subscriptions;
#[cfg(feature = "tasks")]
mod tasks;

pub use client_request::ClientRequest;
pub use config::{MAX_EXTENSIONS, ServerConfig};
pub use event::{Request, ServerEvent};
pub use notify::{Change, LogMessage};
#[cfg(feature = "alloc")]
pub use owned::OwnedRequest;
pub use owned::RequestMemory;
#[cfg(feature = "alloc")]
pub use respond::ResponseKind;
pub(crate) use respond::is_response_open;
#[cfg(feature = "alloc")]
pub use state::GrowingServerState;
pub use state::{Admission, ServerMemory, ServerState};
#[cfg(feature = "tasks")]
pub(crate) use tasks::related_task;

use crate::handle::RequestHandle;
use crate::inflight::{Slot, Table};
use crate::lifecycle::{ClientFeatures, Revision};
use crate::time::Instant;
use crate::types::LoggingLevel;
use capability_hooks::CallHooks;
use inflight::{InflightCall, InflightRequest};
use subscriptions::Subscriptions;

/// The server side of one connection: a view of its [`ServerState`], made with
/// [`ServerState::server`] for one call or for many.
#[derive(Debug)]
pub struct Server<'s> {
    config: &'s ServerConfig<'s>,
    requests: Table<'s, InflightRequest>,
    calls: Table<'s, InflightCall>,
    subscriptions: Subscriptions<'s>,
    peer: &'s mut Peer,
}

/// The properties of the client that are known.
#[derive(Debug)]
struct Peer {
    session: Option<Session>,
    /// The `subscriptions/listen` whose acknowledgement is partly written.
    acknowledging: Option<Slot>,
    /// Set by the first call.
    calls: Option<&'static CallHooks>,
    /// The id of the latest call.
    calls_made: u32,
    /// When the last message of the peer arrived.
    last_received: Instant,
    /// The latest response that was not a plain result.
    #[cfg(feature = "alloc")]
    other_response: Option<(Slot, ResponseKind)>,
}

impl Peer {
    const UNKNOWN: Self = Self {
        session: None,
        acknowledging: None,
        calls: None,
        calls_made: 0,
        last_received: Instant::from_millis(0),
        #[cfg(feature = "alloc")]
        other_response: None,
    };
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
    phase: Phase,
}

/// Whether `notifications/initialized` has arrived. Begins at 1, so that no session is all zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Phase {
    Initializing = 1,
    Ready,
}

impl Session {
    fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }
}

impl<'s> Server<'s> {
    /// Returns a shorter-lived view, for a function that takes a server by value.
    pub fn reborrow(&mut self) -> Server<'_> {
        Server {
            config: self.config,
            requests: self.requests.reborrow(),
            calls: self.calls.reborrow(),
            subscriptions: Subscriptions(self.subscriptions.0),
            peer: self.peer,
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &'s ServerConfig<'s> {
        self.config
    }

    /// Returns the revision that `initialize` negotiated, `None` before.
    #[must_use]
    pub fn legacy_revision(&self) -> Option<Revision> {
        self.peer.session.map(|scope| scope.revision)
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

    /// Returns the id of an open request, as JSON text: a number, or a string in quotes.
    #[must_use]
    pub fn request_id(&self, request: RequestHandle) -> Option<&str> {
        Some(self.requests.get(request.0)?.id.as_str())
    }

    /// Returns the revision for responses to messages that cannot be parsed.
    fn fallback_revision(&self) -> Revision {
        self.peer.session.map_or(Revision::LATEST, |scope| scope.revision)
    }
}
