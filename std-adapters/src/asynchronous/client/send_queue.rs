//! Who may send next. A long request goes out in pieces, and nobody else's may come between them.

use std::collections::BTreeMap;
use std::task::Waker;

/// Those who wait to send, in the order in which they came. Only the first tries; whoever leaves
/// wakes the next.
#[derive(Default)]
pub(super) struct SendQueue {
    waiting: BTreeMap<u64, Waker>,
    last_id: u64,
    /// Whether the first has sent the beginning of a request, and not its end.
    pub(super) is_mid_request: bool,
}

impl SendQueue {
    /// Whether it is the turn of the one with this number, or of one who has none yet.
    pub(super) fn is_next(&self, id: Option<u64>) -> bool {
        self.waiting.keys().next().is_none_or(|first| Some(*first) == id)
    }

    /// Takes a place, or keeps it.
    pub(super) fn wait(&mut self, id: Option<u64>, waker: &Waker) -> u64 {
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

    /// Gives the place up. `true` when a request was cut off by that.
    pub(super) fn leave(&mut self, id: u64) -> bool {
        let was_first = self.is_next(Some(id));
        self.waiting.remove(&id);
        was_first && std::mem::take(&mut self.is_mid_request)
    }

    /// Who is to be woken when there is room.
    pub(super) fn first(&self) -> Option<Waker> {
        self.waiting.values().next().cloned()
    }

    /// All of them, for they wait in vain.
    pub(super) fn all(&self) -> impl Iterator<Item = Waker> {
        self.waiting.values().cloned()
    }
}
