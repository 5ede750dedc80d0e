//! Order of sending. A long request is written in pieces, and no other message may come between
//! them.

use std::collections::BTreeMap;
use std::task::Waker;

/// Senders in the order of arrival. Only the first one tries; when it leaves, the next one is
/// woken.
#[derive(Default)]
pub(crate) struct SendQueue {
    waiting: BTreeMap<u64, Waker>,
    last_id: u64,
    /// Whether the first sender has written a part of its request.
    pub(crate) is_mid_request: bool,
}

impl SendQueue {
    /// Returns whether the sender with this id is first. A sender without an id is if the queue is
    /// empty.
    pub(crate) fn is_next(&self, id: Option<u64>) -> bool {
        self.waiting.keys().next().is_none_or(|first| Some(*first) == id)
    }

    /// Adds a sender, or updates its waker.
    pub(crate) fn wait(&mut self, id: Option<u64>, waker: &Waker) -> u64 {
        let id = id.unwrap_or_else(|| {
            self.last_id += 1;
            self.last_id
        });
        match self.waiting.get_mut(&id) {
            Some(kept) => kept.clone_from(waker),
            None => drop(self.waiting.insert(id, waker.clone())),
        }
        id
    }

    /// Removes a sender. Returns `true` if that cuts a request off.
    pub(crate) fn leave(&mut self, id: u64) -> bool {
        let was_first = self.is_next(Some(id));
        self.waiting.remove(&id);
        was_first && std::mem::take(&mut self.is_mid_request)
    }

    /// Returns the waker of the first sender.
    pub(crate) fn first(&self) -> Option<Waker> {
        self.waiting.values().next().cloned()
    }

    /// Returns all wakers, when the connection ends.
    pub(crate) fn all(&self) -> impl Iterator<Item = Waker> {
        self.waiting.values().cloned()
    }
}
