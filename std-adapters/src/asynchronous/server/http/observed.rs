//! Sessions, as an observer sees them.

use std::collections::HashMap;
use std::time::Instant;

use mcp_sansio_engine::site::{AuthorizationError, ServerKey, SiteTurn};

use crate::asynchronous::server::reply::PendingResponse;
use crate::observer::{Disconnect, Event, Hooks, Refusal, Telling, Transport, next_number};
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
    ) -> (u64, Option<Telling>) {
        if !turn.is_session() {
            return (0, None);
        }
        let mut connected = None;
        let (number, _) = *self.sessions.entry(turn.server_key()).or_insert_with(|| {
            let (connection, transport) = (next_number(), Transport::Http);
            connected = Some(Telling::Event(Event::Connected { connection, transport }));
            (connection, Instant::now())
        });
        (number, connected)
    }

    /// Returns what has to be told of the end of a session.
    pub(crate) fn ended(&mut self, server: ServerKey) -> Option<Telling> {
        self.sessions.remove(&server).map(|session| Telling::Event(disconnected(session)))
    }
}

/// Returns what has to be told of the result of an authorization.
pub(crate) fn authorized<T>(
    result: &Result<Result<T, AuthorizationError>, Panic>,
) -> impl Iterator<Item = Telling> + use<T> {
    let panic = result.as_ref().err().map(|Panic(text)| Panic(text.clone()));
    let panicked = panic.map(|panic| Telling::Panicked(None, panic));
    let is_refused = !matches!(result, Ok(Ok(_)));
    let refused = is_refused.then_some(Telling::refused(0, Refusal::Unauthorized));
    panicked.into_iter().chain(refused)
}

fn disconnected((connection, since): (u64, Instant)) -> Event<'static> {
    let how = Disconnect::SessionEnded;
    Event::Disconnected { connection, how, after: since.elapsed() }
}

impl Drop for ObservedSessions {
    fn drop(&mut self) {
        for session in self.sessions.values() {
            self.hooks.tell(disconnected(*session));
        }
    }
}
