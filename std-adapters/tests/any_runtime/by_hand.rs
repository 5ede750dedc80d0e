//! A runtime made by hand: an executor of one thread, and a clock that jumps to the next timer when
//! nothing else goes on.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use mcp_sansio_adapters::asynchronous::{Runtime, RuntimeFuture, within};

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

/// Woken tasks.
type Ready = Arc<Mutex<VecDeque<Arc<Task>>>>;

struct Task {
    number: usize,
    is_queued: AtomicBool,
    ready: Ready,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            let ready = Arc::clone(&self.ready);
            ready.lock().unwrap().push_back(self);
        }
    }
}

type Spawned = Pin<Box<dyn Future<Output = ()>>>;

/// Futures that are polled when they are woken, each within the runtime made by hand.
#[derive(Clone, Default)]
pub(crate) struct Executor {
    tasks: Rc<RefCell<Vec<Option<Spawned>>>>,
    ready: Ready,
}

impl Executor {
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        let mut tasks = self.tasks.borrow_mut();
        let number = tasks.len();
        tasks.push(Some(Box::pin(within(&BY_HAND, future))));
        let ready = Arc::clone(&self.ready);
        Arc::new(Task { number, is_queued: AtomicBool::new(false), ready }).wake();
    }

    /// Runs all tasks until they have ended.
    pub(crate) fn run(&self) {
        loop {
            let woken = self.ready.lock().unwrap().pop_front();
            if let Some(woken) = woken {
                woken.is_queued.store(false, Ordering::Release);
                let Some(mut task) = self.tasks.borrow_mut()[woken.number].take() else { continue };
                let waker = Waker::from(Arc::clone(&woken));
                if task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                    self.tasks.borrow_mut()[woken.number] = Some(task);
                }
            } else if self.tasks.borrow().iter().all(Option::is_none) {
                return;
            } else {
                let next = CLOCK.with_borrow_mut(|clock| {
                    let ((at, _), waker) = clock.timers.pop_first()?;
                    clock.now = at;
                    Some(waker)
                });
                next.expect("nothing goes on, and no timer is set").wake();
            }
        }
    }
}
