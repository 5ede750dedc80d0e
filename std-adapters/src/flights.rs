//! One attempt for all who wait for its result.

use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use event_listener::Event;
use futures_lite::future::yield_now;

use crate::lock::lock;
use crate::panics::caught;

/// Attempts under way, by what they are for.
pub(crate) struct Flights<K, T>(Mutex<BTreeMap<K, Entry<T>>>);

struct Entry<T> {
    flight: Arc<Flight<T>>,
    /// Number of those who wait.
    seats: usize,
}

struct Flight<T> {
    state: Mutex<State<T>>,
    changed: Arc<Changed>,
    stays: Stays,
}

enum State<T> {
    /// Nobody makes the attempt.
    Idle,
    /// One of those who wait makes it, or drops the one that was shared.
    UnderWay,
    /// All of them make it.
    Shared(Boxed<T>),
    Landed(T),
}

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Whether a shared future is kept for the next one who waits when all others are gone. It sets
/// this itself.
pub(crate) type Stays = Arc<AtomicBool>;

impl<K: Ord + Copy, T: Clone> Flights<K, T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Awaits `attempt`, or the result of the one that is under way. If who makes that goes away,
    /// another one who waits makes its own.
    pub(crate) async fn run(&self, key: K, attempt: impl Future<Output = T>) -> T {
        self.join(key).land(None::<fn(&Stays) -> Boxed<T>>, attempt).await
    }

    /// Awaits the result of the future that is under way, or of the one that `begin` returns. All
    /// who wait poll it, so it goes on when who began it goes away, or polls no more; it is dropped
    /// with the last of them, unless it [stays](Stays). Another one begins when it is dropped.
    pub(crate) async fn share(&self, key: K, begin: impl FnOnce(&Stays) -> Boxed<T>) -> T {
        // Nobody makes an attempt of its own.
        self.join(key).land(Some(begin), pending()).await
    }

    fn join(&self, key: K) -> Seat<'_, K, T> {
        let mut flights = lock(&self.0);
        let entry = flights.entry(key).or_insert_with(|| {
            let (changed, stays) = (Arc::new(Changed(Event::new())), Stays::default());
            let state = Mutex::new(State::Idle);
            Entry { flight: Arc::new(Flight { state, changed, stays }), seats: 0 }
        });
        entry.seats += 1;
        Seat { flights: self, key, flight: Arc::clone(&entry.flight), is_pilot: false }
    }
}

/// One who waits.
struct Seat<'f, K: Ord, T> {
    flights: &'f Flights<K, T>,
    key: K,
    flight: Arc<Flight<T>>,
    /// Whether it makes the attempt.
    is_pilot: bool,
}

impl<K: Ord, T: Clone> Seat<'_, K, T> {
    /// Awaits the result of what is under way, else of what `begin` returns, for all, or of
    /// `attempt`.
    async fn land(
        mut self,
        mut begin: Option<impl FnOnce(&Stays) -> Boxed<T>>,
        attempt: impl Future<Output = T>,
    ) -> T {
        loop {
            // Before the look at the state, so that no end is missed.
            let changed = self.flight.changed.0.listen();
            if let Poll::Ready(result) = self.poll(&mut begin) {
                return result;
            }
            if self.is_pilot {
                break;
            }
            changed.await;
            // A shared future that wakes itself leaves others their turn.
            yield_now().await;
        }
        let result = attempt.await;
        self.end(lock(&self.flight.state), &result);
        result
    }

    fn poll(&mut self, begin: &mut Option<impl FnOnce(&Stays) -> Boxed<T>>) -> Poll<T> {
        let mut state = lock(&self.flight.state);
        if matches!(*state, State::Idle)
            && let Some(begin) = begin.take()
        {
            *state = State::Shared(begin(&self.flight.stays));
        }
        match &mut *state {
            State::Idle => {
                *state = State::UnderWay;
                self.is_pilot = true;
                Poll::Pending
            }
            State::UnderWay => Poll::Pending,
            State::Shared(future) => {
                let waker = Waker::from(Arc::clone(&self.flight.changed));
                let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
                polled.map(|result| {
                    self.end(state, &result);
                    result
                })
            }
            State::Landed(result) => Poll::Ready(result.clone()),
        }
    }

    fn end(&self, mut state: MutexGuard<'_, State<T>>, result: &T) {
        // From here on, who comes gets an attempt of its own.
        lock(&self.flights.0).remove(&self.key);
        *state = State::Landed(result.clone());
        drop(state);
        self.flight.changed.wake_by_ref();
    }
}

impl<K: Ord, T> Drop for Seat<'_, K, T> {
    fn drop(&mut self) {
        let mut state = lock(&self.flight.state);
        let stays = self.flight.stays.load(Ordering::Relaxed);
        let flights = &self.flights.0;
        if !stays
            && matches!(*state, State::Shared(_))
            && lock(flights).get(&self.key).is_some_and(|entry| entry.seats == 1)
        {
            // Callers that come meanwhile wait until it is gone: it cannot end what they begin.
            self.is_pilot = true;
            let future = mem::replace(&mut *state, State::UnderWay);
            drop(state);
            let _ = caught(|| drop(future));
            state = lock(&self.flight.state);
        }
        let mut flights = lock(flights);
        // After the end, another attempt may be in its place.
        if let Some(entry) = flights.get_mut(&self.key)
            && Arc::ptr_eq(&entry.flight, &self.flight)
        {
            entry.seats -= 1;
            if entry.seats == 0 && !stays {
                flights.remove(&self.key);
            }
        }
        drop(flights);
        if self.is_pilot && matches!(*state, State::UnderWay) {
            *state = State::Idle;
            drop(state);
            self.flight.changed.wake_by_ref();
        }
    }
}

/// Wakes all who wait.
struct Changed(Event);

impl Wake for Changed {
    fn wake(self: Arc<Self>) {
        self.0.notify(usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;

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

    #[test]
    fn an_attempt_that_panics_is_made_by_another() {
        let flights = Flights::new();
        let mut panics = pin!(flights.run((), async {
            yield_now().await;
            panic!("in the attempt")
        }));
        let mut waiting = pin!(flights.run((), async { 7 }));
        block_on(async {
            assert!(poll_once(&mut panics).await.is_none());
            assert!(poll_once(&mut waiting).await.is_none());
        });
        assert!(catch_unwind(AssertUnwindSafe(|| block_on(panics))).is_err());
        assert_eq!(block_on(waiting), 7);
        assert!(flights.is_empty());
    }

    #[test]
    fn those_who_go_away_leave_nothing_behind() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let flights = Flights::new();
            let mut waiting = [(); 3].map(|()| Some(Box::pin(flights.run(7, pending::<u8>()))));
            for one in waiting.iter_mut().flatten() {
                assert!(block_on(poll_once(one)).is_none());
            }
            for n in order {
                assert!(!flights.is_empty());
                waiting[n] = None;
            }
            assert!(flights.is_empty(), "{order:?}");
        }
    }

    #[test]
    fn auth_89_a_flow_begins_when_the_one_before_it_is_gone() {
        static FLIGHTS: Flights<(), u8> = Flights::new();
        static SECOND: Mutex<Option<Boxed<u8>>> = Mutex::new(None);
        struct First;
        impl Drop for First {
            fn drop(&mut self) {
                let begin = |_: &Stays| -> Boxed<u8> { Box::pin(async { 2 }) };
                let mut second: Boxed<u8> = Box::pin(FLIGHTS.share((), begin));
                if block_on(poll_once(&mut second)).is_none() {
                    *lock(&SECOND) = Some(second);
                }
            }
        }
        let begin = |_: &Stays| -> Boxed<u8> {
            let first = First;
            Box::pin(async move {
                let _first = first;
                pending().await
            })
        };
        assert!(block_on(poll_once(FLIGHTS.share((), begin))).is_none());
        let second = lock(&SECOND).take().expect("one that waits for the end of the first");
        assert_eq!(block_on(second), 2);
        assert!(FLIGHTS.is_empty());
    }

    /// A future that takes some polls, and what counts those polls and its end.
    fn counted(
        result: Result<(), &'static str>,
    ) -> (impl Fn(&Stays) -> Boxed<Outcome>, Arc<AtomicUsize>) {
        struct Count(Arc<AtomicUsize>);
        impl Drop for Count {
            fn drop(&mut self) {
                self.0.fetch_add(100, Ordering::Relaxed);
            }
        }
        let count = Arc::new(AtomicUsize::new(0));
        let shared = Arc::clone(&count);
        let begin = move |_: &Stays| -> Boxed<Outcome> {
            let counted = Count(Arc::clone(&shared));
            Box::pin(async move {
                for _ in 0..3 {
                    counted.0.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
                result.map_err(str::to_owned)
            })
        };
        (begin, count)
    }

    type Outcome = Result<(), String>;

    #[test]
    fn auth_89_all_who_wait_get_the_result_of_one_flow() {
        for result in [Ok(()), Err("denied")] {
            let (begin, count) = counted(result);
            let flights = Flights::new();
            let expected = result.map_err(str::to_owned);
            let mut late = pin!(flights.share((), &begin));
            let both = block_on(async {
                let mut both = pin!(zip(flights.share((), &begin), flights.share((), &begin)));
                assert!(poll_once(&mut both).await.is_none());
                assert!(poll_once(&mut late).await.is_none());
                both.await
            });
            assert_eq!(both, (expected.clone(), expected.clone()));
            assert!(flights.is_empty());
            assert_eq!(block_on(late), expected);
            assert_eq!(
                count.load(Ordering::Relaxed),
                103,
                "it runs once, and is dropped at its end"
            );
        }
    }

    #[test]
    fn a_flow_goes_on_when_who_began_it_is_gone_and_ends_with_the_last() {
        let (begin, count) = counted(Ok(()));
        let flights = Flights::new();
        block_on(async {
            let mut first = Box::pin(flights.share((), &begin));
            let mut second = pin!(flights.share((), &begin));
            assert!(poll_once(&mut first).await.is_none());
            assert!(poll_once(&mut second).await.is_none());
            drop(first);
            assert_eq!(second.await, Ok(()));
        });
        assert_eq!(count.load(Ordering::Relaxed), 103);

        // Also when it is there, and waits for something else.
        let (begin, count) = counted(Ok(()));
        block_on(async {
            let mut first = pin!(flights.share((), &begin));
            assert!(poll_once(&mut first).await.is_none());
            assert_eq!(flights.share((), &begin).await, Ok(()));
            assert_eq!(first.await, Ok(()));
        });
        assert_eq!(count.load(Ordering::Relaxed), 103);

        let (begin, count) = counted(Ok(()));
        {
            let mut only = pin!(flights.share((), &begin));
            assert!(block_on(poll_once(only.as_mut())).is_none());
            assert!(!flights.is_empty());
        }
        assert!(flights.is_empty());
        assert_eq!(count.load(Ordering::Relaxed), 101);
    }
}
