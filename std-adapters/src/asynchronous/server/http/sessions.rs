//! Table of sessions, and their limits.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_sansio::http::server::SessionId;

use super::options::HttpOptions;
use super::session::Session;

/// The open sessions: at most [`HttpOptions::max_sessions`], and of each principal at most
/// [`HttpOptions::max_sessions_per_principal`].
pub(super) struct Sessions<F>(Mutex<State<F>>);

struct State<F> {
    by_id: HashMap<String, Entry<F>>,
    /// Sessions that are not driven yet.
    fresh: Vec<Arc<Session<F>>>,
    /// Number of sessions opened so far.
    opened: u64,
    new: New,
    by_principal: HashMap<Option<Arc<str>>, Own>,
}

struct Entry<F> {
    session: Arc<Session<F>>,
    number: u64,
}

/// Sessions of a principal.
#[derive(Default)]
struct Own {
    count: usize,
    new: New,
}

/// Sessions by number, oldest first, whose clients may not have sent `initialized`. Others are
/// removed when they are found.
type New = BTreeMap<u64, SessionId>;

impl<F> Sessions<F> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(State {
            by_id: HashMap::new(),
            fresh: Vec::new(),
            opened: 0,
            new: New::new(),
            by_principal: HashMap::new(),
        }))
    }

    /// Takes the sessions that have been opened and must be driven.
    pub(super) fn fresh(&self) -> Vec<Arc<Session<F>>> {
        std::mem::take(&mut self.lock().fresh)
    }

    /// Returns the session with this id, if it belongs to this principal.
    pub(super) fn find(&self, id: &str, principal: Option<&str>) -> Option<Arc<Session<F>>> {
        let state = self.lock();
        let entry =
            state.by_id.get(id).filter(|entry| entry.session.principal.as_deref() == principal)?;
        Some(Arc::clone(&entry.session))
    }

    /// Returns whether a session can be opened for this principal, possibly by replacing one whose
    /// client has not sent `initialized`.
    pub(super) fn has_room(&self, principal: &Option<Arc<str>>, options: &HttpOptions) -> bool {
        let mut state = self.lock();
        !state.is_full(principal, options) || state.oldest_new(principal, options).is_some()
    }

    /// Adds a session. At a limit, it replaces the oldest session whose client has not sent
    /// `initialized`: one of the same principal at the limit for principals, otherwise any.
    pub(super) fn open(&self, session: &Arc<Session<F>>, options: &HttpOptions) {
        let mut state = self.lock();
        let is_full = state.is_full(&session.principal, options);
        let replaced = if is_full { state.oldest_new(&session.principal, options) } else { None };
        let replaced = replaced.and_then(|id| state.remove(id));
        state.opened += 1;
        let number = state.opened;
        state.new.insert(number, session.id);
        let own = state.by_principal.entry(session.principal.clone()).or_default();
        own.count += 1;
        own.new.insert(number, session.id);
        state
            .by_id
            .insert(session.id.as_str().to_owned(), Entry { session: Arc::clone(session), number });
        state.fresh.push(Arc::clone(session));
        drop(state);
        // Outside of the lock, because handlers are dropped.
        if let Some(replaced) = replaced {
            replaced.end();
        }
    }

    /// Removes a session that has ended.
    pub(super) fn forget(&self, id: SessionId) {
        let session = self.lock().remove(id);
        // Outside of the lock, because handlers are dropped.
        drop(session);
    }

    fn lock(&self) -> MutexGuard<'_, State<F>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> State<F> {
    fn is_full(&self, principal: &Option<Arc<str>>, options: &HttpOptions) -> bool {
        self.by_id.len() >= options.max_sessions || self.has_all_its_own(principal, options)
    }

    /// Returns whether the limit for this principal is reached.
    fn has_all_its_own(&self, principal: &Option<Arc<str>>, options: &HttpOptions) -> bool {
        principal.is_some()
            && self.by_principal.get(principal).map_or(0, |own| own.count)
                >= options.max_sessions_per_principal
    }

    /// Returns the session that is replaced at a limit. Each session is visited once after its
    /// client has sent `initialized`.
    fn oldest_new(
        &mut self,
        principal: &Option<Arc<str>>,
        options: &HttpOptions,
    ) -> Option<SessionId> {
        let is_own = self.has_all_its_own(principal, options);
        let Self { by_id, new, by_principal, .. } = self;
        let new = if is_own { &mut by_principal.get_mut(principal)?.new } else { new };
        while let Some(oldest) = new.first_entry() {
            if by_id
                .get(oldest.get().as_str())
                .is_some_and(|entry| !entry.session.instance.is_initialized())
            {
                return Some(*oldest.get());
            }
            oldest.remove();
        }
        None
    }

    fn remove(&mut self, id: SessionId) -> Option<Arc<Session<F>>> {
        let Entry { session, number } = self.by_id.remove(id.as_str())?;
        self.new.remove(&number);
        if let Some(own) = self.by_principal.get_mut(&session.principal) {
            own.new.remove(&number);
            own.count -= 1;
            if own.count == 0 {
                self.by_principal.remove(&session.principal);
            }
        }
        Some(session)
    }
}
