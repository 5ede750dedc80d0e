//! What all connections have in common: the application, how it is served, and its sessions.

use std::collections::HashMap;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use mcp_sansio::http::server::{Endpoint, SessionId};

use super::super::app::App;
use super::super::hub::{Member, News};
use super::old::OldStreams;
use super::options::Options;
use super::session::Session;

/// What all connections have in common.
pub(super) struct Shared<A, F, const N: usize, const S: usize> {
    pub(super) app: A,
    pub(super) options: Options,
    pub(super) endpoint: Endpoint<'static>,
    sessions: Mutex<Sessions<F, N, S>>,
    pub(super) old: OldStreams<F, N, S>,
}

struct Sessions<F, const N: usize, const S: usize> {
    by_id: HashMap<String, Arc<Session<F, N, S>>>,
    /// Those that nobody drives yet.
    fresh: Vec<Arc<Session<F, N, S>>>,
}

/// Wakes a connection that waits for a request when all have to end.
#[derive(Default)]
pub(super) struct Bell(Mutex<Option<Waker>>);

impl Bell {
    /// Who is to be woken.
    pub(super) fn set(&self, waker: &Waker) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker.clone());
    }
}

impl Member for Bell {
    fn tell(&self, _: News) {}

    fn wake(&self) {
        if let Some(waker) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            waker.wake();
        }
    }
}

impl<A, F, H, const N: usize, const S: usize> Shared<A, F, N, S>
where
    A: Deref<Target = App<H, N, S>>,
{
    pub(super) fn new(app: A, options: Options) -> Self {
        let endpoint = Endpoint::new(app.config.revisions).access(options.access);
        let endpoint = if options.has_sessions { endpoint } else { endpoint.without_sessions() };
        let sessions = Mutex::new(Sessions { by_id: HashMap::new(), fresh: Vec::new() });
        Self { app, options, endpoint, sessions, old: OldStreams::new() }
    }

    /// Sessions that have been opened and are to be driven.
    pub(super) fn fresh(&self) -> Vec<Arc<Session<F, N, S>>> {
        std::mem::take(&mut self.sessions().fresh)
    }

    /// Forgets a session that has ended.
    pub(super) fn forget(&self, id: SessionId) {
        let session = self.sessions().by_id.remove(id.as_str());
        // Apart from the lock: handlers are dropped.
        drop(session);
    }

    /// The session of this id, for whom it belongs to.
    pub(super) fn session(&self, id: &str, principal: Option<&str>) -> Option<Arc<Session<F, N, S>>> {
        let sessions = self.sessions();
        let session = sessions.by_id.get(id).filter(|session| session.principal.as_deref() == principal)?;
        Some(Arc::clone(session))
    }

    /// Whether there may be one more session.
    pub(super) fn has_room(&self) -> bool {
        self.sessions().by_id.len() < self.options.max_sessions
    }

    /// Takes a session in, for somebody to drive.
    pub(super) fn open(&self, session: &Arc<Session<F, N, S>>) {
        let mut sessions = self.sessions();
        sessions.by_id.insert(session.id.as_str().to_owned(), Arc::clone(session));
        sessions.fresh.push(Arc::clone(session));
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions<F, N, S>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name that nobody can guess.
pub(super) fn new_id() -> io::Result<SessionId> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| io::Error::other(format!("there is no randomness to be had: {error}")))?;
    Ok(SessionId::from_random(random))
}
