//! The budget of bytes that all request bodies share.

use alloc::collections::VecDeque;

use super::slab::Key;

/// Bodies wait in the order in which they found no room. Room for one body of the greatest length
/// is reserved for the first of them, so that partly read bodies do not wait for each other. Short
/// bodies are not counted, so that the response to a call can always be read.
#[derive(Debug)]
pub(super) struct Bodies {
    limit: usize,
    max_body: usize,
    taken: usize,
    waiting: VecDeque<Key>,
    /// The body that may use the reserve.
    preferred: Option<Key>,
}

impl Bodies {
    pub(super) fn new(limit: usize, max_body: usize) -> Self {
        let max_body = max_body.min(limit);
        Self { limit, max_body, taken: 0, waiting: VecDeque::new(), preferred: None }
    }

    pub(super) const fn max_body(&self) -> usize {
        self.max_body
    }

    /// Takes room for a body of `len` bytes, of which `counted` have room. Returns the new count
    /// and the body that may try next, or `None` if it has to wait.
    pub(super) fn take(
        &mut self,
        key: Key,
        counted: usize,
        len: usize,
    ) -> Option<(usize, Option<Key>)> {
        if len <= UNCOUNTED.max(counted) {
            return Some((counted, None));
        }
        let wanted = len - counted;
        let is_first = self.waiting.front().is_none_or(|first| *first == key);
        let common = (self.limit - self.max_body).saturating_sub(self.taken);
        if !is_first || wanted > common {
            if is_first && self.preferred.is_none() {
                self.preferred = Some(key);
            }
            if self.preferred != Some(key) || wanted > self.limit.saturating_sub(self.taken) {
                if !self.waiting.contains(&key) {
                    // No other body can use the reserve meanwhile.
                    let is_preferred = self.preferred == Some(key);
                    self.waiting.insert(if is_preferred { 0 } else { self.waiting.len() }, key);
                }
                return None;
            }
        }
        self.taken += wanted;
        Some((len, self.leave(key)))
    }

    /// Gives up the room of a body that is handled or gone. Returns a body that may try next.
    pub(super) fn release(&mut self, key: Key, counted: usize) -> Option<Key> {
        self.taken = self.taken.saturating_sub(counted);
        if self.preferred == Some(key) {
            self.preferred = None;
        }
        let next = self.leave(key);
        next.or_else(|| self.waiting.front().copied().filter(|_| counted > 0))
    }

    pub(super) const fn keep(&mut self, n: usize) {
        self.taken = self.taken.saturating_add(n);
    }

    /// Gives kept bytes back. Returns a body that may try next.
    pub(super) fn give_back(&mut self, n: usize) -> Option<Key> {
        self.taken = self.taken.saturating_sub(n);
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
