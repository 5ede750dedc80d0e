//! Who may send next. A long request goes out in pieces, and nobody else's may come between them.

use std::collections::BTreeMap;
use std::task::Waker;

/// Those who wait to send, in the order in which they came. Only the first tries; whoever leaves
/// wakes the next.
#[derive(Default)]
pub(super) struct Turns {
    waiting: BTreeMap<u64, Waker>,
    came: u64,
    /// Whether the first has sent the beginning of a request, and not its end.
    pub(super) has_begun: bool,
}

impl Turns {
    /// Whether it is the turn of the one with this number, or of one who has none yet.
    pub(super) fn is_next(&self, number: Option<u64>) -> bool {
        self.waiting.keys().next().is_none_or(|first| Some(*first) == number)
    }

    /// Takes a place, or keeps it.
    pub(super) fn wait(&mut self, number: Option<u64>, waker: &Waker) -> u64 {
        let number = number.unwrap_or_else(|| {
            self.came += 1;
            self.came
        });
        match self.waiting.get_mut(&number) {
            Some(kept) => kept.clone_from(waker),
            None => drop(self.waiting.insert(number, waker.clone())),
        }
        number
    }

    /// Gives the place up. `true` when a request was cut off by that.
    pub(super) fn leave(&mut self, number: u64) -> bool {
        let was_first = self.is_next(Some(number));
        self.waiting.remove(&number);
        was_first && std::mem::take(&mut self.has_begun)
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
