//! One attempt for all who wait for the same.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use event_listener::Event;

use crate::lock::lock;

/// Attempts under way, by what they are for.
pub(super) struct Flights<K, T>(Mutex<BTreeMap<K, Arc<Flight<T>>>>);

/// An attempt.
struct Flight<T> {
    state: Mutex<State<T>>,
    ended: Event,
}

enum State<T> {
    UnderWay,
    Landed(T),
    /// The future that made the attempt was dropped: another one must make the next.
    Abandoned,
}

impl<K: Ord + Copy, T: Clone> Flights<K, T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Awaits `work`, or the result of the same work that is already under way.
    pub(super) async fn run(&self, key: K, work: impl Future<Output = T>) -> T {
        let landing = loop {
            match self.join(key) {
                Ok(landing) => break landing,
                Err(flight) => {
                    if let Some(result) = flight.landed().await {
                        return result;
                    }
                }
            }
        };
        let result = work.await;
        landing.flight.end(State::Landed(result.clone()));
        result
    }

    /// Whether anything is under way.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    fn join(&self, key: K) -> Result<Landing<'_, K, T>, Arc<Flight<T>>> {
        let mut flights = lock(&self.0);
        if let Some(flight) = flights.get(&key) {
            return Err(Arc::clone(flight));
        }
        let flight = Arc::new(Flight { state: Mutex::new(State::UnderWay), ended: Event::new() });
        flights.insert(key, Arc::clone(&flight));
        Ok(Landing { flights: self, key, flight })
    }
}

/// Ends the attempt when it is dropped.
struct Landing<'f, K: Ord, T> {
    flights: &'f Flights<K, T>,
    key: K,
    flight: Arc<Flight<T>>,
}

impl<K: Ord, T> Drop for Landing<'_, K, T> {
    fn drop(&mut self) {
        lock(&self.flights.0).remove(&self.key);
        self.flight.end(State::Abandoned);
    }
}

impl<T> Flight<T> {
    /// Does nothing if the attempt has ended.
    fn end(&self, state: State<T>) {
        let mut now = lock(&self.state);
        if let State::UnderWay = *now {
            *now = state;
        }
        drop(now);
        self.ended.notify(usize::MAX);
    }
}

impl<T: Clone> Flight<T> {
    /// Returns the result; `None` if there is none.
    async fn landed(&self) -> Option<T> {
        loop {
            // Before the look at the state, so that no end is missed.
            let ended = self.ended.listen();
            match &*lock(&self.state) {
                State::Landed(result) => return Some(result.clone()),
                State::Abandoned => return None,
                State::UnderWay => {}
            }
            ended.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;

    use futures_lite::future::{block_on, pending, poll_once, yield_now, zip};

    use super::*;

    #[test]
    fn auth_155_those_who_wait_for_the_same_share_one_attempt() {
        let flights = Flights::new();
        let attempts = Cell::new(0);
        let attempt = |key: u8| {
            flights.run(key, async {
                attempts.set(attempts.get() + 1);
                yield_now().await;
                attempts.get()
            })
        };
        let ((a, b), other) = block_on(zip(zip(attempt(1), attempt(1)), attempt(2)));
        assert_eq!((a, b, other), (2, 2, 2));
        assert_eq!(block_on(attempt(1)), 3);
        assert!(flights.is_empty());
    }

    #[test]
    fn auth_155_an_attempt_whose_request_is_gone_is_made_by_another() {
        let flights = Flights::new();
        let mut dropped = Box::pin(flights.run((), pending::<u8>()));
        let mut waiting = pin!(flights.run((), async { 7 }));
        block_on(async {
            assert!(poll_once(&mut dropped).await.is_none());
            assert!(poll_once(&mut waiting).await.is_none());
            drop(dropped);
            assert_eq!(waiting.await, 7);
        });
        assert!(flights.is_empty());
    }
}
