//! Buses, which join the servers behind one address: a client does not notice which of them has its
//! requests.
//!
//! [`HttpOptions::bus`](crate::asynchronous::http::HttpOptions::bus) connects a server. Envelopes
//! go over the bus, which servers seal with their [`KeyRing`](crate::KeyRing) but do not
//! encrypt: changes of lists and resources, and of clients with sessions (up to 2025-11-25) their
//! responses, notifications, and what they set. Requests of 2026-07-28, and requests of sessions
//! that none of this concerns, need no bus.
//!
//! A bus may lose envelopes, deliver them twice, and in any order. A client whose response does not
//! arrive gets 503, and one that has missed a change is told that all lists have changed.

use std::sync::Weak;

pub use mcp_sansio_engine::site::Topic;

/// A bus, as a server of a fleet uses it: publish and subscribe of Redis, NATS, or a network of
/// one's own.
pub trait Bus: Send + Sync {
    /// Sends an envelope to the other servers, at least to those that its topic concerns. The
    /// sender may get it back.
    ///
    /// It returns at once, for the server is locked: it puts the envelope into a queue, which has a
    /// limit, and does not call a receiver itself.
    fn publish(&self, topic: Topic, envelope: Vec<u8>);

    /// Begins to deliver envelopes to a receiver, until that is dropped. Several servers of a
    /// process share a bus, each with a receiver.
    fn join(&self, receiver: Weak<dyn BusReceiver>);

    /// Returns whether envelopes can be sent and received now: for
    /// [`HttpOptions::health`](crate::asynchronous::http::HttpOptions::health). It returns at once,
    /// from what is known.
    fn is_connected(&self) -> bool {
        true
    }
}

/// A server that takes part in a [`Bus`].
pub trait BusReceiver: Send + Sync {
    /// Takes an envelope. It does not wait for anything but the server.
    fn deliver(&self, envelope: &[u8]);

    /// Says that envelopes may have been lost: the bus has been without a connection, and has one
    /// again.
    fn missed(&self);
}
