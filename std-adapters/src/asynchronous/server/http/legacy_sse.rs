//! HTTP+SSE (2024-11-05): one stream from the server, and POST requests from the client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sansio::http::server::SessionId;

use super::options::HttpOptions;
use super::server_instance::ServerInstance;

/// The open streams.
pub(super) struct LegacyStreams<F>(Mutex<HashMap<String, LegacyStream<F>>>);

pub(super) struct LegacyStream<F> {
    pub(super) instance: Arc<ServerInstance<F>>,
    pub(super) principal: Option<Arc<str>>,
}

impl<F> LegacyStreams<F> {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Returns whether a limit of streams is reached for this principal.
    pub(super) fn is_full(&self, principal: &Option<Arc<str>>, options: &HttpOptions) -> bool {
        let all = self.lock();
        let own = || all.values().filter(|legacy| legacy.principal == *principal).count();
        all.len() >= options.max_sessions
            || principal.is_some() && own() >= options.max_sessions_per_principal
    }

    /// Returns the instance that a message is for, by the query of its target.
    pub(super) fn find(
        &self,
        query: Option<&str>,
        principal: Option<&str>,
    ) -> Option<Arc<ServerInstance<F>>> {
        let id = query?.split('&').find_map(|pair| pair.strip_prefix(PARAMETER))?;
        let all = self.lock();
        let legacy = all.get(id).filter(|legacy| legacy.principal.as_deref() == principal)?;
        Some(Arc::clone(&legacy.instance))
    }

    /// Adds a stream, for as long as the result exists.
    pub(super) fn open(&self, id: SessionId, legacy: LegacyStream<F>) -> Open<'_, F> {
        self.lock().insert(id.as_str().to_owned(), legacy);
        Open { all: self, id }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LegacyStream<F>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Open<'s, F> {
    all: &'s LegacyStreams<F>,
    id: SessionId,
}

impl<F> Drop for Open<'_, F> {
    fn drop(&mut self) {
        let legacy = self.all.lock().remove(self.id.as_str());
        // Outside of the lock, because handlers are dropped.
        drop(legacy);
    }
}

/// Returns the target for messages.
pub(super) fn endpoint(path: &str, id: SessionId) -> String {
    format!("{path}?{PARAMETER}{}", id.as_str())
}

const PARAMETER: &str = "session=";
