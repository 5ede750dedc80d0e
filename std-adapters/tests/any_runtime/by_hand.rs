//! A runtime made by hand: its clock jumps to the next timer when nothing else goes on. The
//! executor is that of smol, which knows neither timers nor sockets.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use mcp_sansio_adapters::asynchronous::{Runtime, RuntimeFuture, within};
use smol::LocalExecutor;

/// The clocks of all threads.
pub(crate) struct ByHand;

pub(crate) static BY_HAND: ByHand = ByHand;

struct Clock {
    now: Instant,
    timers: BTreeMap<(Instant, u64), Waker>,
    timers_made: u64,
    calls: u32,
}

thread_local! {
    static CLOCK: RefCell<Clock> = RefCell::new(Clock {
        now: Instant::now(),
        timers: BTreeMap::new(),
        timers_made: 0,
        calls: 0,
    });
}

impl Runtime for ByHand {
    fn sleep_until(&self, at: Instant) -> RuntimeFuture<()> {
        Box::pin(Sleep { at, number: None })
    }

    fn now(&self) -> Instant {
        CLOCK.with_borrow(|clock| clock.now)
    }

    // Nothing here waits for anything.
    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) -> RuntimeFuture<()> {
        CLOCK.with_borrow_mut(|clock| clock.calls += 1);
        work();
        Box::pin(std::future::ready(()))
    }
}

struct Sleep {
    at: Instant,
    number: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        CLOCK.with_borrow_mut(|clock| {
            if self.at <= clock.now {
                return Poll::Ready(());
            }
            let number = *self.number.get_or_insert_with(|| {
                clock.timers_made += 1;
                clock.timers_made
            });
            clock.timers.insert((self.at, number), cx.waker().clone());
            Poll::Pending
        })
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            CLOCK.with_borrow_mut(|clock| clock.timers.remove(&(self.at, number)));
        }
    }
}

/// Returns the number of blocking calls so far.
pub(crate) fn calls() -> u32 {
    CLOCK.with_borrow(|clock| clock.calls)
}

pub(crate) fn now() -> Instant {
    BY_HAND.now()
}

pub(crate) async fn sleep(duration: Duration) {
    BY_HAND.sleep_until(now() + duration).await;
}

/// Adds a task, which is polled within the runtime made by hand.
pub(crate) fn spawn(executor: &LocalExecutor<'static>, task: impl Future<Output = ()> + 'static) {
    executor.spawn(within(&BY_HAND, task)).detach();
}

/// Polls tasks that were woken until all have ended.
pub(crate) fn run(executor: &LocalExecutor<'static>) {
    while !executor.is_empty() {
        if !executor.try_tick() {
            let next = CLOCK.with_borrow_mut(|clock| {
                let ((at, _), waker) = clock.timers.pop_first()?;
                clock.now = at;
                Some(waker)
            });
            next.expect("nothing goes on, and no timer is set").wake();
        }
    }
}
