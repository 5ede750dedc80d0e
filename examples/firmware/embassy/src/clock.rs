//! Embassy's clock for the application, and the board's timer for embassy.

use core::cell::RefCell;
use core::future::Future;
use core::task::Waker;

use critical_section::Mutex;
use embassy_time::Timer;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded_async::Clock;

/// Embassy's clock for the connection and the application.
#[derive(Clone, Copy, Debug)]
pub struct Embassy;

impl Clock for Embassy {
    fn now(&self) -> Instant {
        Instant::from_millis(embassy_time::Instant::now().as_millis())
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
        Timer::at(embassy_time::Instant::from_millis(at.as_millis()))
    }
}

/// A board's timer.
pub trait Alarm: Send + Sync + 'static {
    /// Returns the microseconds since the start. Called with interrupts off.
    fn now(&self) -> u64;
    /// Sets the time of the next [`Ticks::interrupt`], which may come earlier or a little later. If
    /// the time has passed, the interrupt comes at once.
    fn set(&self, at: u64);
}

/// Embassy's time driver on an [`Alarm`].
pub struct Ticks<A> {
    alarm: A,
    queue: Mutex<RefCell<Queue>>,
}

impl<A: Alarm> Ticks<A> {
    /// Creates a driver with an empty queue.
    pub const fn new(alarm: A) -> Self {
        Self { alarm, queue: Mutex::new(RefCell::new(Queue::new())) }
    }

    /// Handles the interrupt of the alarm.
    pub fn interrupt(&self) {
        critical_section::with(|cs| {
            let next = self.queue.borrow(cs).borrow_mut().next_expiration(self.alarm.now());
            self.alarm.set(next);
        });
    }
}

impl<A: Alarm> Driver for Ticks<A> {
    fn now(&self) -> u64 {
        critical_section::with(|_| self.alarm.now())
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            let queue = &mut *self.queue.borrow(cs).borrow_mut();
            if queue.schedule_wake(at, waker) {
                self.alarm.set(queue.next_expiration(self.alarm.now()));
            }
        });
    }
}
