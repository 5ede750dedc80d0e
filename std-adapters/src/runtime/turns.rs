//! Turns for work of which only some is done at a time.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard};
use std::task::{Poll, Waker};

use mcp_sansio_engine::{PlaceLimit, Places};

use crate::lock::lock;

/// Turns for work. The next one is that of the client that has the fewest, in order of arrival;
/// who is no client counts as one that has none.
pub(crate) struct Turns<C> {
    limit: usize,
    state: Mutex<State<C>>,
}

struct State<C> {
    taken: Places<C>,
    /// By arrival.
    waiting: BTreeMap<u64, (Option<C>, Waker)>,
    arrived: u64,
}

/// A turn, or the wait for one. It ends when it is dropped.
pub(crate) struct Turn<'t, C: Ord + Clone> {
    turns: &'t Turns<C>,
    client: Option<C>,
    /// `None` until it has to wait.
    arrival: Option<u64>,
    is_taken: bool,
}

impl<C: Ord + Clone> Turns<C> {
    pub(crate) const fn new(limit: usize) -> Self {
        let state = State { taken: Places::new(), waiting: BTreeMap::new(), arrived: 0 };
        Self { limit, state: Mutex::new(state) }
    }

    /// Waits for a turn.
    pub(crate) async fn take(&self, client: Option<C>) -> Turn<'_, C> {
        let mut turn = Turn { turns: self, client, arrival: None, is_taken: false };
        poll_fn(|cx| {
            let mut guard = lock(&self.state);
            let state = &mut *guard;
            if !state.waiting.is_empty() || state.taken.taken() >= self.limit {
                let arrived = &mut state.arrived;
                let arrival = *turn.arrival.get_or_insert_with(|| {
                    *arrived += 1;
                    *arrived
                });
                state.waiting.insert(arrival, (turn.client.clone(), cx.waker().clone()));
                if state.next(self.limit) != Some(arrival) {
                    return Poll::Pending;
                }
                state.waiting.remove(&arrival);
            }
            // Its turn has come, so that there is room.
            let _ = state.taken.take(1, turn.client.as_ref(), PlaceLimit::UNLIMITED);
            turn.is_taken = true;
            // More than one may have ended at once.
            self.wake_next(guard);
            Poll::Ready(())
        })
        .await;
        turn
    }

    /// Takes a turn at once, even beyond the limit. It ends with [`give_back`](Self::give_back).
    pub(crate) fn take_at_once(&self) {
        let _ = lock(&self.state).taken.take(1, None, PlaceLimit::UNLIMITED);
    }

    /// Gives a turn back that was [taken at once](Self::take_at_once).
    pub(crate) fn give_back(&self) {
        drop(Turn { turns: self, client: None, arrival: None, is_taken: true });
    }

    fn wake_next(&self, state: MutexGuard<'_, State<C>>) {
        let next = state.next(self.limit).and_then(|next| state.waiting.get(&next));
        let waker = next.map(|(_, waker)| waker.clone());
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<C: Ord + Clone> State<C> {
    /// Returns the arrival of the one whose turn it is, if there is room for it.
    fn next(&self, limit: usize) -> Option<u64> {
        if self.taken.taken() >= limit {
            return None;
        }
        let taken = |client: &Option<C>| client.as_ref().map_or(0, |it| self.taken.taken_by(it));
        let waiting = self.waiting.iter().map(|(arrival, (of, _))| (taken(of), *arrival));
        // Nobody has fewer than none.
        let has_none = waiting.clone().find(|(taken, _)| *taken == 0);
        has_none.or_else(|| waiting.min()).map(|(_, arrival)| arrival)
    }
}

impl<C: Ord + Clone> Drop for Turn<'_, C> {
    fn drop(&mut self) {
        let mut state = lock(&self.turns.state);
        if let Some(arrival) = self.arrival {
            state.waiting.remove(&arrival);
        }
        if self.is_taken {
            state.taken.give_back(1, self.client.as_ref());
        }
        self.turns.wake_next(state);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake};

    use super::*;

    /// A waker that knows whether it was called.
    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Somebody who waits, and is polled only when woken.
    struct Waiting<'t> {
        future: Pin<Box<dyn Future<Output = Turn<'t, u8>> + 't>>,
        woken: Arc<Woken>,
    }

    impl<'t> Waiting<'t> {
        fn new(turns: &'t Turns<u8>, client: u8) -> Self {
            let woken = Arc::new(Woken(AtomicBool::new(true)));
            let mut waiting = Self { future: Box::pin(turns.take(Some(client))), woken };
            assert!(waiting.turn().is_none());
            waiting
        }

        fn turn(&mut self) -> Option<Turn<'t, u8>> {
            if !self.woken.0.swap(false, Ordering::Relaxed) {
                return None;
            }
            let waker = Waker::from(Arc::clone(&self.woken));
            match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(turn) => Some(turn),
                Poll::Pending => None,
            }
        }
    }

    #[test]
    fn r3_a1_turns_are_taken_in_order_of_arrival() {
        let turns = Turns::new(2);
        let take = || futures_lite::future::block_on(turns.take(Some(0)));
        let (first, second) = (take(), take());
        let mut waiting: Vec<_> = (0..4).map(|_| Waiting::new(&turns, 0)).collect();
        drop(first);
        assert!(waiting[1].turn().is_none() && waiting[2].turn().is_none());
        let third = waiting[0].turn().expect("the first who waits");
        assert!(waiting[1].turn().is_none());
        // One who is gone does not keep others from theirs, also when it was woken already.
        drop(waiting.remove(1));
        drop((second, third));
        drop(waiting.remove(1));
        let last = waiting[1].turn().expect("the next");
        drop(last);
        assert!(lock(&turns.state).taken.taken() == 0 && lock(&turns.state).waiting.is_empty());
    }

    #[test]
    fn r3_a1_a_client_with_many_does_not_keep_another_from_its_turn() {
        let turns = Turns::new(3);
        let mut taken: Vec<_> =
            (0..3).map(|_| futures_lite::future::block_on(turns.take(Some(7)))).collect();
        let mut many: Vec<_> = (0..50).map(|_| Waiting::new(&turns, 7)).collect();
        let (mut one, mut other) = (Waiting::new(&turns, 1), Waiting::new(&turns, 2));
        taken.pop();
        let one = one.turn().expect("of those who have none, the first");
        taken.pop();
        let other = other.turn().expect("the next");
        drop((one, other));
        assert!(many[0].turn().is_some());
        assert_eq!(lock(&turns.state).waiting.len(), 49);
    }
}
