//! Sessions, as an observer sees them.

use std::collections::HashMap;

use mcp_sansio::http::site::{ServerKey, SiteTurn};

use super::challenge::AuthorizationError;
use crate::asynchronous::server::pending_responses::PendingResponse;
use crate::observer::{Disconnect, Hooks, ObservedConnection, Refusal, Telling, Transport};
use crate::panics::Panic;

/// The sessions that an observer was told of. All is told later: where the mutex is not locked.
pub(crate) struct ObservedSessions {
    hooks: Hooks<'static>,
    sessions: HashMap<ServerKey, ObservedConnection<'static>>,
    /// For requests without a session.
    no_session: ObservedConnection<'static>,
}

impl ObservedSessions {
    pub(crate) fn new(hooks: Hooks<'static>) -> Self {
        let no_session = ObservedConnection::none(hooks.clone());
        Self { hooks, sessions: HashMap::new(), no_session }
    }

    /// Returns the connection of an event, and what has to be told if it is new.
    pub(crate) fn connection(
        &mut self,
        turn: &SiteTurn<'_, PendingResponse>,
    ) -> (&ObservedConnection<'static>, Option<Telling>) {
        if !turn.is_session() {
            return (&self.no_session, None);
        }
        let mut connected = None;
        let connection = self.sessions.entry(turn.server_key()).or_insert_with(|| {
            let connection = ObservedConnection::new(self.hooks.clone());
            connected = Some(Box::new(connection.connected(Transport::Http)) as Telling);
            connection
        });
        (connection, connected)
    }

    /// Returns what has to be told of the end of a session.
    pub(crate) fn ended(&mut self, server: ServerKey) -> Option<Telling> {
        let mut connection = self.sessions.remove(&server)?;
        Some(Box::new(move || connection.disconnected(Disconnect::SessionEnded)))
    }

    /// Returns what has to be told of the result of an authorization.
    pub(crate) fn authorized<T>(
        &self,
        result: &Result<Result<T, AuthorizationError>, Panic>,
    ) -> Option<Telling> {
        let refused = self.no_session.refused(Refusal::Unauthorized);
        match result {
            Ok(Ok(_)) => None,
            Ok(Err(_)) => Some(Box::new(refused)),
            Err(Panic(text)) => {
                let (hooks, panic) = (self.hooks.clone(), Panic(text.clone()));
                Some(Box::new(move || {
                    hooks.panicked(&panic);
                    refused();
                }))
            }
        }
    }
}

impl Drop for ObservedSessions {
    fn drop(&mut self) {
        for connection in self.sessions.values_mut() {
            connection.disconnected(Disconnect::SessionEnded);
        }
    }
}
