//! What reaches all connections: changes, and the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;

use mcp_sansio::Change;

/// Reaches all connections of an [`App`](super::App), from anywhere: tells subscribers what has
/// changed, and ends them all.
#[derive(Clone)]
pub struct Broadcaster(Arc<Shared>);

struct Shared {
    /// Apart from the rest: all look at it, often.
    is_stopping: AtomicBool,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    by_ticket: BTreeMap<u64, Weak<dyn Member>>,
    joined: u64,
    /// How many of them are no connections.
    beside: BTreeSet<u64>,
    /// Who waits for a place, or for the end.
    waiting: Vec<Waker>,
}

/// A connection, as the broadcaster sees it.
pub(super) trait Member: Send + Sync {
    fn tell(&self, change: News);
    fn wake(&self);
}

/// A change that outlives the call that tells it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum News {
    Tools,
    Prompts,
    Resources,
    Resource(Arc<str>),
}

impl Broadcaster {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared { is_stopping: AtomicBool::new(false), members: Mutex::default() }))
    }

    /// Tells all subscribers that the list of tools has changed.
    pub fn tools_changed(&self) {
        self.tell(&News::Tools);
    }

    /// Tells all subscribers that the list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.tell(&News::Prompts);
    }

    /// Tells all subscribers that the list of resources has changed.
    pub fn resources_changed(&self) {
        self.tell(&News::Resources);
    }

    /// Tells those that subscribed to it that a resource has changed. Told again before a client
    /// has read the last, it is told once.
    pub fn resource_changed(&self, uri: &str) {
        self.tell(&News::Resource(uri.into()));
    }

    /// How many connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        let members = self.lock();
        members.by_ticket.len() - members.beside.len()
    }

    /// Ends everything in peace: nobody is accepted and no request is begun any more; what is in
    /// flight is finished, then connections end.
    pub fn shut_down(&self) {
        self.0.is_stopping.store(true, Ordering::Release);
        self.members().iter().for_each(|member| member.wake());
        self.wake_waiting();
    }

    /// Whether [`shut_down`](Self::shut_down) was called.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.0.is_stopping.load(Ordering::Acquire)
    }

    pub(super) fn join(&self, member: Weak<dyn Member>) -> u64 {
        let mut members = self.lock();
        members.joined += 1;
        let ticket = members.joined;
        members.by_ticket.insert(ticket, member);
        ticket
    }

    /// For those that are told of changes and are no connections: sessions, for one.
    #[cfg(feature = "http")]
    pub(super) fn join_beside(&self, member: Weak<dyn Member>) -> u64 {
        let ticket = self.join(member);
        self.lock().beside.insert(ticket);
        ticket
    }

    /// For as long as the ticket is kept.
    #[cfg(feature = "http")]
    pub(super) fn ticket(&self, member: Weak<dyn Member>) -> Ticket {
        Ticket(self.clone(), self.join(member))
    }

    pub(super) fn leave(&self, ticket: u64) {
        let mut members = self.lock();
        members.by_ticket.remove(&ticket);
        let was_beside = members.beside.remove(&ticket);
        drop(members);
        if !was_beside {
            self.wake_waiting();
        }
    }

    /// Wakes when somebody leaves or all have to.
    pub(super) fn wait(&self, waker: &Waker) {
        let waiting = &mut self.lock().waiting;
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    fn wake_waiting(&self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn tell(&self, change: &News) {
        self.members().iter().for_each(|member| member.tell(change.clone()));
    }

    /// Apart from the lock, since members have one of their own.
    fn members(&self) -> Vec<Arc<dyn Member>> {
        self.lock().by_ticket.values().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.0.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the members.
#[cfg(feature = "http")]
pub(super) struct Ticket(Broadcaster, u64);

#[cfg(feature = "http")]
impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

impl News {
    pub(super) fn as_change(&self) -> Change<'_> {
        match self {
            Self::Tools => Change::tools(),
            Self::Prompts => Change::prompts(),
            Self::Resources => Change::resources(),
            Self::Resource(uri) => Change::resource(uri),
        }
    }
}

impl fmt::Debug for Broadcaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcaster")
            .field("connections", &self.connections())
            .finish_non_exhaustive()
    }
}
