//! The output of a server, by exchange.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use super::instance::Kind;
use super::slab::Key;
use crate::connection::{Kept, Outcomes};
use crate::handle::ExchangeId;
use crate::http::server::{BodyKind, StreamRecorder};
use crate::tx::{Pace, TxBuffer};

pub(super) struct Streams<O> {
    /// The only stream, except in a session: there, that of messages that belong to no request.
    pub(super) own: Stream<O>,
    /// The streams of the POST requests of a session. In boxes, since the map keeps memory for
    /// several entries.
    posts: BTreeMap<ExchangeId, Box<Stream<O>>>,
}

impl<O> Streams<O> {
    pub(super) const fn new(own: Stream<O>) -> Self {
        Self { own, posts: BTreeMap::new() }
    }

    pub(super) fn insert(&mut self, id: ExchangeId, stream: Stream<O>) {
        self.posts.insert(id, Box::new(stream));
    }

    pub(super) fn remove(&mut self, id: ExchangeId) {
        self.posts.remove(&id);
    }

    /// Returns the stream of an exchange.
    pub(super) fn get(&self, id: ExchangeId) -> &Stream<O> {
        self.posts.get(&id).map_or(&self.own, |stream| stream)
    }

    pub(super) fn get_mut(&mut self, id: ExchangeId) -> &mut Stream<O> {
        self.posts.get_mut(&id).map_or(&mut self.own, |stream| stream)
    }

    /// Returns the stream of a POST request, unless it has ended.
    pub(super) fn of_post(&mut self, id: ExchangeId) -> Option<&mut Stream<O>> {
        self.posts.get_mut(&id).map(|stream| &mut **stream)
    }

    /// Returns whether the output of an exchange goes to the stream that belongs to no request.
    pub(super) fn is_own(&self, id: ExchangeId) -> bool {
        !self.posts.contains_key(&id)
    }

    pub(super) fn is_only_own(&self) -> bool {
        self.posts.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream<O>> {
        self.posts.values().map(|stream| &**stream).chain([&self.own])
    }
}

pub(super) struct Stream<O> {
    pub(super) tx: TxBuffer<Vec<u8>>,
    pub(super) recorder: StreamRecorder,
    /// The exchange that sends it. `None`: it is only recorded.
    pub(super) exchange: Option<Key>,
    pub(super) outcomes: Outcomes<VecDeque<Kept<O>>>,
    /// When to repeat the handling of the message that found no room.
    pub(super) messages: Pace,
    /// The exchanges whose messages wait for room.
    pub(super) waiting: Vec<Key>,
    /// Whether all messages of its exchange have been handled.
    pub(super) is_taken: bool,
    /// Whether its connection is to be closed although it goes on.
    pub(super) is_released: bool,
    /// Whether the application waits for room.
    pub(super) is_awaited: bool,
}

impl<O> Stream<O> {
    pub(super) fn new(tx: TxBuffer<Vec<u8>>, number: u32, exchange: Option<Key>) -> Self {
        Self {
            tx,
            recorder: StreamRecorder::new(number),
            exchange,
            outcomes: Outcomes::new(),
            messages: Pace::NEW,
            waiting: Vec::new(),
            is_taken: false,
            is_released: false,
            is_awaited: false,
        }
    }

    /// Removes bytes that were sent, and records them if they can be resumed.
    pub(super) fn advance(&mut self, n: usize, kind: &mut Kind) {
        let is_events =
            self.tx.http_response().is_some_and(|head| head.body == BodyKind::EventStream);
        if let (Kind::Session(session), true) = (kind, is_events) {
            let pending = self.tx.pending();
            session.replay.record(&mut self.recorder, pending.get(..n).unwrap_or(pending));
        }
        self.tx.advance(n);
    }

    /// Returns whether there is no more output, and will be none. `open` counts the open requests:
    /// outcomes of others are not sent.
    pub(super) fn is_over(&self, open: impl FnOnce() -> usize) -> bool {
        self.is_taken
            && (self.tx.is_idle() && open() == 0
                || self.tx.is_truncated() && self.tx.pending().is_empty())
    }
}
