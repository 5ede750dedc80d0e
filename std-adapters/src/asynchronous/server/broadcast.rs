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
pub struct Broadcaster(Arc<Inner>);

struct Inner {
    /// Apart from the rest: all look at it, often.
    is_stopping: AtomicBool,
    receivers: Mutex<Receivers>,
}

#[derive(Default)]
struct Receivers {
    by_id: BTreeMap<u64, Weak<dyn Receiver>>,
    joined: u64,
    /// How many of them are no connections.
    uncounted: BTreeSet<u64>,
    /// Who waits for a place, or for the end.
    waiting: Vec<Waker>,
}

/// A connection, as the broadcaster sees it.
pub(super) trait Receiver: Send + Sync {
    fn on_change(&self, change: OwnedChange);
    fn wake(&self);
}

/// A change that outlives the call that tells it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum OwnedChange {
    Tools,
    Prompts,
    Resources,
    Resource(Arc<str>),
}

impl Broadcaster {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner { is_stopping: AtomicBool::new(false), receivers: Mutex::default() }))
    }

    /// Tells all subscribers that the list of tools has changed.
    pub fn tools_changed(&self) {
        self.publish(&OwnedChange::Tools);
    }

    /// Tells all subscribers that the list of prompts has changed.
    pub fn prompts_changed(&self) {
        self.publish(&OwnedChange::Prompts);
    }

    /// Tells all subscribers that the list of resources has changed.
    pub fn resources_changed(&self) {
        self.publish(&OwnedChange::Resources);
    }

    /// Tells those that subscribed to it that a resource has changed. Told again before a client
    /// has read the last, it is told once.
    pub fn resource_changed(&self, uri: &str) {
        self.publish(&OwnedChange::Resource(uri.into()));
    }

    /// How many connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        let receivers = self.lock();
        receivers.by_id.len() - receivers.uncounted.len()
    }

    /// Ends everything in peace: nobody is accepted and no request is begun any more; what is in
    /// flight is finished, then connections end.
    pub fn shut_down(&self) {
        self.0.is_stopping.store(true, Ordering::Release);
        self.receivers().iter().for_each(|receiver| receiver.wake());
        self.wake_waiting();
    }

    /// Whether [`shut_down`](Self::shut_down) was called.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.0.is_stopping.load(Ordering::Acquire)
    }

    pub(super) fn add(&self, receiver: Weak<dyn Receiver>) -> u64 {
        let mut receivers = self.lock();
        receivers.joined += 1;
        let receiver_id = receivers.joined;
        receivers.by_id.insert(receiver_id, receiver);
        receiver_id
    }

    /// For those that are told of changes and are no connections: sessions, for one.
    #[cfg(feature = "http")]
    pub(super) fn add_uncounted(&self, receiver: Weak<dyn Receiver>) -> u64 {
        let receiver_id = self.add(receiver);
        self.lock().uncounted.insert(receiver_id);
        receiver_id
    }

    /// For as long as the ticket is kept.
    #[cfg(feature = "http")]
    pub(super) fn register(&self, receiver: Weak<dyn Receiver>) -> Registration {
        Registration(self.clone(), self.add(receiver))
    }

    pub(super) fn remove(&self, receiver_id: u64) {
        let mut receivers = self.lock();
        receivers.by_id.remove(&receiver_id);
        let was_uncounted = receivers.uncounted.remove(&receiver_id);
        drop(receivers);
        if !was_uncounted {
            self.wake_waiting();
        }
    }

    /// Wakes when somebody leaves or all have to.
    pub(super) fn register_waker(&self, waker: &Waker) {
        let waiting = &mut self.lock().waiting;
        if !waiting.iter().any(|other| other.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    fn wake_waiting(&self) {
        let waiting = std::mem::take(&mut self.lock().waiting);
        waiting.into_iter().for_each(Waker::wake);
    }

    fn publish(&self, change: &OwnedChange) {
        self.receivers().iter().for_each(|receiver| receiver.on_change(change.clone()));
    }

    /// Apart from the lock, since members have one of their own.
    fn receivers(&self) -> Vec<Arc<dyn Receiver>> {
        self.lock().by_id.values().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Receivers> {
        self.0.receivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the members.
#[cfg(feature = "http")]
pub(super) struct Registration(Broadcaster, u64);

#[cfg(feature = "http")]
impl Drop for Registration {
    fn drop(&mut self) {
        self.0.remove(self.1);
    }
}

impl OwnedChange {
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
