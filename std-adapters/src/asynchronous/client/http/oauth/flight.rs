//! One future that several others wait for.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::lock::lock;

/// A future that is polled by all who wait for it, and dropped with the last of them. They get the
/// same result, an error as text.
pub(super) struct Flight {
    /// Whether it asks no person.
    pub(super) is_quiet: bool,
    inner: Mutex<Inner>,
    waiting: Arc<Waiting>,
}

enum Inner {
    Running(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>),
    Over(Result<(), Arc<str>>),
}

impl Flight {
    pub(super) fn new(
        is_quiet: bool,
        future: impl Future<Output = io::Result<()>> + Send + 'static,
    ) -> Self {
        let inner = Mutex::new(Inner::Running(Box::pin(future)));
        Self { is_quiet, inner, waiting: Arc::default() }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(*lock(&self.inner), Inner::Over(_))
    }

    /// Waits for the result.
    pub(super) async fn wait(&self) -> Result<(), String> {
        let over = poll_fn(|cx| {
            let mut inner = lock(&self.inner);
            let future = match &mut *inner {
                Inner::Running(future) => future,
                Inner::Over(result) => return Poll::Ready(result.clone()),
            };
            self.waiting.add(cx.waker());
            let waker = Waker::from(Arc::clone(&self.waiting));
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            let Poll::Ready(result) = polled else { return Poll::Pending };
            let result = result.map_err(|error| error.to_string().into());
            *inner = Inner::Over(result.clone());
            drop(inner);
            self.waiting.wake_by_ref();
            Poll::Ready(result)
        });
        over.await.map_err(|error: Arc<str>| error.to_string())
    }
}

/// The tasks that wait.
#[derive(Default)]
struct Waiting(Mutex<Vec<Waker>>);

impl Waiting {
    fn add(&self, waker: &Waker) {
        let mut wakers = lock(&self.0);
        if !wakers.iter().any(|other| other.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let wakers = std::mem::take(&mut *lock(&self.0));
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_lite::future::{block_on, poll_once, yield_now, zip};

    use super::*;

    /// A flight that takes some polls, and what counts those polls and its end.
    fn flight(result: Result<(), &'static str>) -> (Flight, Arc<AtomicUsize>) {
        struct Count(Arc<AtomicUsize>);
        impl Drop for Count {
            fn drop(&mut self) {
                self.0.fetch_add(100, Ordering::Relaxed);
            }
        }
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Count(Arc::clone(&count));
        let flight = Flight::new(false, async move {
            for _ in 0..3 {
                counted.0.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
            result.map_err(io::Error::other)
        });
        (flight, count)
    }

    #[test]
    fn auth_89_all_who_wait_get_the_result_of_one_flow() {
        for result in [Ok(()), Err("denied")] {
            let (flight, count) = flight(result);
            let expected = result.map_err(str::to_owned);
            let both = block_on(zip(flight.wait(), flight.wait()));
            assert_eq!(both, (expected.clone(), expected.clone()));
            assert!(flight.is_over());
            assert_eq!(block_on(flight.wait()), expected);
            assert_eq!(
                count.load(Ordering::Relaxed),
                103,
                "it runs once, and is dropped at its end"
            );
        }
    }

    #[test]
    fn a_flow_goes_on_when_who_began_it_is_gone_and_ends_with_the_last() {
        let (flight, count) = flight(Ok(()));
        let flight = Arc::new(flight);
        {
            let mut first = pin!(flight.wait());
            assert!(block_on(poll_once(first.as_mut())).is_none());
        }
        assert_eq!(block_on(flight.wait()), Ok(()));
        assert_eq!(count.load(Ordering::Relaxed), 103);

        let (flight, count) = self::flight(Ok(()));
        {
            let mut only = pin!(flight.wait());
            assert!(block_on(poll_once(only.as_mut())).is_none());
        }
        assert!(!flight.is_over());
        drop(flight);
        assert_eq!(count.load(Ordering::Relaxed), 101);
    }
}
