//! Sessions, as an observer sees them.

use std::collections::HashMap;
use std::time::Instant;

use mcp_sansio_engine::PeerAddress;
use mcp_sansio_engine::observer::cut;
use mcp_sansio_engine::site::{AuthorizationError, ForeignSession, OwnedHead, ServerKey, SiteTurn};

use crate::asynchronous::server::reply::PendingResponse;
use crate::observer::{Denial, Disconnect, Event, Hooks, Telling, Transport, next_number};
use crate::panics::Panic;

/// The sessions that an observer was told of. All is told later: where the mutex is not locked.
pub(crate) struct ObservedSessions {
    pub(crate) hooks: Hooks<'static>,
    /// Number and beginning of each.
    sessions: HashMap<ServerKey, (u64, Instant)>,
}

impl ObservedSessions {
    pub(crate) fn new(hooks: Hooks<'static>) -> Self {
        Self { hooks, sessions: HashMap::new() }
    }

    /// Returns the number of the connection of an event, and what has to be told if it is new.
    pub(crate) fn connection(
        &mut self,
        turn: &SiteTurn<'_, PendingResponse>,
    ) -> (u64, Option<Event<'static>>) {
        if !turn.is_session() {
            return (0, None);
        }
        let mut connected = None;
        let (number, _) = *self.sessions.entry(turn.server_key()).or_insert_with(|| {
            let (connection, transport) = (next_number(), Transport::Http);
            let peer = turn.head().and_then(OwnedHead::peer_address);
            connected = Some(Event::Connected { connection, transport, peer });
            (connection, Instant::now())
        });
        (number, connected)
    }

    /// Returns what has to be told of the end of a session.
    pub(crate) fn ended(
        &mut self,
        server: ServerKey,
        how: Disconnect<'static>,
    ) -> Option<Event<'static>> {
        self.sessions.remove(&server).map(|session| disconnected(session, how))
    }
}

/// Returns what has to be told of a session of the fleet that was not found.
pub(crate) fn foreign(why: ForeignSession, peer: Option<PeerAddress>) -> Telling {
    let mut denial = Denial::default();
    (denial.status, denial.error, denial.peer) = (404, cut(&why), peer);
    Box::new(move |hooks| hooks.tell(Event::Denied { denial: &denial }))
}

/// Returns what has to be told of a check that a request did not pass. `complete` adds to what is
/// known of it.
pub(crate) fn denied<T>(
    result: &Result<Result<T, AuthorizationError>, Panic>,
    peer: Option<PeerAddress>,
    complete: impl FnOnce(&mut Denial),
) -> Option<Telling> {
    let error = match result {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => error,
        Err(Panic(text)) => {
            let panic = Panic(text.clone());
            return Some(Box::new(move |hooks| hooks.panicked(&panic)));
        }
    };
    let mut denial = Denial::default();
    (denial.status, denial.error, denial.peer) = (error.status(), cut(error), peer);
    if error.status() == 403 {
        denial.missing_scope = error.wanted_scope().map(|scope| cut(&scope)).unwrap_or_default();
    }
    complete(&mut denial);
    Some(Box::new(move |hooks| hooks.tell(Event::Denied { denial: &denial })))
}

fn disconnected((connection, since): (u64, Instant), how: Disconnect<'static>) -> Event<'static> {
    Event::Disconnected { connection, how, after: since.elapsed() }
}

impl Drop for ObservedSessions {
    fn drop(&mut self) {
        for session in self.sessions.values() {
            self.hooks.tell(disconnected(*session, Disconnect::ShutDown));
        }
    }
}
