//! Messages to all connections: changes and shutdown.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use event_listener::{Event, EventListener};
use mcp_sansio::{Change, OwnedCatalog};
use mcp_sansio_engine::{PeerAddress, PlaceLimit, Places};

use crate::lock::lock;
use crate::shared_catalog::Listener;

/// Reaches all connections of an [`App`](super::App), from any thread: notifies subscribers of
/// changes, and shuts the application down.
#[derive(Clone)]
pub struct Broadcaster(Arc<Inner>);

struct Inner {
    /// Outside of the lock, because every connection reads it in every round.
    is_stopping: AtomicBool,
    /// Wakes those that accept connections.
    stopping: Event,
    receivers: Mutex<Receivers>,
}

#[derive(Default)]
struct Receivers {
    by_id: BTreeMap<u64, Weak<dyn Receiver>>,
    joined: u64,
    /// The places of those that are connections.
    connections: Places<PeerAddress>,
}

/// A connection, session or stream that changes are sent to.
pub(crate) trait Receiver: Send + Sync {
    fn on_change(&self, change: &Change<'_>);
    fn wake(&self);
}

impl Broadcaster {
    pub(crate) fn new() -> Self {
        let (is_stopping, stopping) = (AtomicBool::new(false), Event::new());
        Self(Arc::new(Inner { is_stopping, stopping, receivers: Mutex::default() }))
    }

    /// Notifies all subscribers of a change, such as [`Change::tools`]. Repeated changes that a
    /// client has not read yet are sent once. A [`Change::session_task`] is for one session, and is
    /// not published.
    pub fn publish(&self, change: Change<'_>) {
        if !change.is_session_task() {
            self.0.publish(&change.resume(0));
        }
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        lock(&self.0.receivers).connections.taken()
    }

    /// Shuts the application down gracefully: no connection is accepted and no request is started
    /// any more; requests in flight are finished, then connections end.
    pub fn shut_down(&self) {
        self.0.is_stopping.store(true, Ordering::Release);
        self.0.receivers().iter().for_each(|receiver| receiver.wake());
        self.0.stopping.notify(usize::MAX);
    }

    /// Returns whether [`shut_down`](Self::shut_down) was called.
    pub(crate) fn is_shutting_down(&self) -> bool {
        self.0.is_stopping.load(Ordering::Acquire)
    }

    /// Returns whether there is room for one more connection from this address.
    pub(crate) fn has_room(&self, peer: Option<PeerAddress>, limit: PlaceLimit) -> bool {
        let connections = &lock(&self.0.receivers).connections;
        connections.taken() < limit.total
            && peer.is_none_or(|peer| connections.taken_by(&peer) < limit.share)
    }

    /// Adds a receiver, for the lifetime of the result. `connection` has the address of one that is
    /// a connection, if it is known.
    pub(crate) fn register(
        &self,
        receiver: Weak<dyn Receiver>,
        connection: Option<Option<PeerAddress>>,
    ) -> Registration {
        let mut receivers = lock(&self.0.receivers);
        if let Some(peer) = &connection {
            // There was room for it, or it is one that the program has made.
            let _ = receivers.connections.take(1, peer.as_ref(), PlaceLimit::UNLIMITED);
        }
        receivers.joined += 1;
        let id = receivers.joined;
        receivers.by_id.insert(id, receiver);
        Registration { broadcaster: self.clone(), id, connection }
    }

    /// Returns what wakes a future when the application shuts down.
    pub(crate) fn shutdown(&self) -> EventListener {
        self.0.stopping.listen()
    }

    /// Returns what publishes the changes of a catalog, as long as this exists.
    pub(crate) fn listener(&self) -> Weak<dyn Listener> {
        Arc::<Inner>::downgrade(&self.0)
    }
}

impl Inner {
    fn publish(&self, change: &Change<'_>) {
        self.receivers().iter().for_each(|receiver| receiver.on_change(change));
    }

    /// Collected first: receivers have locks of their own, which must not be taken under this one.
    fn receivers(&self) -> Vec<Arc<dyn Receiver>> {
        lock(&self.receivers).by_id.values().filter_map(Weak::upgrade).collect()
    }
}

impl Listener for Inner {
    fn changed(&self, before: &Arc<OwnedCatalog>, after: &OwnedCatalog) {
        after.changes_since(before).for_each(|change| self.publish(&change));
    }
}

/// Removes a receiver when it is dropped.
pub(crate) struct Registration {
    broadcaster: Broadcaster,
    id: u64,
    /// The address of a connection, which may be unknown; `None` for another receiver.
    connection: Option<Option<PeerAddress>>,
}

impl Registration {
    /// The receiver is no connection any more.
    pub(crate) fn uncount(&mut self) {
        if let Some(peer) = self.connection.take() {
            lock(&self.broadcaster.0.receivers).connections.give_back(1, peer.as_ref());
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.uncount();
        lock(&self.broadcaster.0.receivers).by_id.remove(&self.id);
    }
}

mcp_sansio::opaque_debug!(Broadcaster |it| { connections: it.connections() });
