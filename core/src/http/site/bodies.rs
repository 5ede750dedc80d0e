//! The budget of bytes that all request bodies share.

use alloc::collections::VecDeque;

use super::principal::Holder;
use super::slab::Key;
use crate::{PlaceLimit, Places};

/// Room for a body.
pub(super) enum Room {
    /// There is room. The body counts with these bytes, and another may try next.
    Taken(usize, Option<Key>),
    /// The body has to wait.
    Wait,
    /// Its client has its share.
    Refused,
}

/// Bodies wait in the order in which they found no room. Room for one body of the greatest length
/// is reserved for the first of them, so that partly read bodies do not wait for each other. Short
/// bodies are not counted, so that the response to a call can always be read.
///
/// A body beyond the share of its client does not wait: it would be in the way of others.
#[derive(Debug)]
pub(super) struct Bodies {
    limit: usize,
    max_body: usize,
    taken: Places<Holder>,
    waiting: VecDeque<Key>,
    /// The body that may use the reserve.
    preferred: Option<Key>,
}

impl Bodies {
    pub(super) fn new(limit: usize, max_body: usize) -> Self {
        let max_body = max_body.min(limit);
        Self { limit, max_body, taken: Places::new(), waiting: VecDeque::new(), preferred: None }
    }

    pub(super) const fn max_body(&self) -> usize {
        self.max_body
    }

    /// Takes room for a body of `len` bytes, of which `counted` have room. `share` is that of its
    /// client; one body of the greatest length always fits in.
    pub(super) fn take(
        &mut self,
        key: Key,
        counted: usize,
        len: usize,
        (holder, share): (Option<&Holder>, usize),
    ) -> Room {
        if len <= UNCOUNTED.max(counted) {
            return Room::Taken(counted, None);
        }
        let wanted = len - counted;
        let share = share.max(self.max_body);
        if holder.is_some_and(|holder| wanted > share.saturating_sub(self.taken.taken_by(holder))) {
            return Room::Refused;
        }
        let taken = self.taken.taken();
        let is_first = self.waiting.front().is_none_or(|first| *first == key);
        let common = (self.limit - self.max_body).saturating_sub(taken);
        if !is_first || wanted > common {
            if is_first && self.preferred.is_none() {
                self.preferred = Some(key);
            }
            if self.preferred != Some(key) || wanted > self.limit.saturating_sub(taken) {
                if !self.waiting.contains(&key) {
                    // No other body can use the reserve meanwhile.
                    let is_preferred = self.preferred == Some(key);
                    self.waiting.insert(if is_preferred { 0 } else { self.waiting.len() }, key);
                }
                return Room::Wait;
            }
        }
        self.keep(wanted, holder);
        Room::Taken(len, self.leave(key))
    }

    /// Gives up the room of a body that is handled or gone. Returns a body that may try next.
    pub(super) fn release(
        &mut self,
        key: Key,
        counted: usize,
        holder: Option<&Holder>,
    ) -> Option<Key> {
        if counted > 0 {
            self.taken.give_back(counted, holder);
        }
        if self.preferred == Some(key) {
            self.preferred = None;
        }
        let next = self.leave(key);
        next.or_else(|| self.waiting.front().copied().filter(|_| counted > 0))
    }

    pub(super) fn keep(&mut self, n: usize, holder: Option<&Holder>) {
        // These bytes are in memory already, so they count even beyond the limit.
        let _ = self.taken.take(n, holder, PlaceLimit::UNLIMITED);
    }

    /// Gives kept bytes back. Returns a body that may try next.
    pub(super) fn give_back(&mut self, n: usize, holder: Option<&Holder>) -> Option<Key> {
        self.taken.give_back(n, holder);
        self.waiting.front().copied().filter(|_| n > 0)
    }

    /// Takes a body out of the queue. Returns the first of the rest if it was there.
    fn leave(&mut self, key: Key) -> Option<Key> {
        let at = self.waiting.iter().position(|other| *other == key)?;
        self.waiting.remove(at);
        self.waiting.front().copied()
    }
}

/// Maximum length of a body that is not counted, in bytes.
const UNCOUNTED: usize = 4 << 10;
