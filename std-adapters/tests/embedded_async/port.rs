//! A port in memory, a virtual clock, and a future that is polled only when it was woken.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded_async::Clock;

use crate::received::{Received, read};

/// The clock of all ports.
#[derive(Clone, Default)]
pub(crate) struct Time(Rc<RefCell<Timers>>);

#[derive(Default)]
struct Timers {
    now: u64,
    waiting: Vec<(u64, Waker)>,
    /// Number of further timers, of those up to a hundred seconds, that fire early.
    early: u32,
}

impl Time {
    pub(crate) fn pass(&self, ms: u64) {
        let mut timers = self.0.borrow_mut();
        timers.now += ms;
        let now = timers.now;
        timers.waiting.extract_if(.., |(at, _)| *at <= now).for_each(|(_, waker)| waker.wake());
    }

    /// Makes the next timers fire early; those that are waiting are polled again.
    pub(crate) fn is_early(&self, count: u32) {
        let mut timers = self.0.borrow_mut();
        timers.early = count;
        timers.waiting.drain(..).for_each(|(_, waker)| waker.wake());
    }

    /// Returns the number of timers.
    pub(crate) fn timers(&self) -> usize {
        self.0.borrow().waiting.len()
    }
}

impl Clock for Time {
    fn now(&self) -> Instant {
        Instant::from_millis(self.0.borrow().now)
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
        poll_fn(move |cx| {
            let mut timers = self.0.borrow_mut();
            if timers.now >= at.as_millis() {
                return Poll::Ready(());
            }
            if let Some(left) = timers.early.checked_sub(1).filter(|_| at.as_millis() < 100_000) {
                timers.early = left;
                return Poll::Ready(());
            }
            timers.waiting.push((at.as_millis(), cx.waker().clone()));
            Poll::Pending
        })
    }
}

/// A port, and its other end.
#[derive(Clone)]
pub(crate) struct Port(Rc<RefCell<Wire>>);

struct Wire {
    input: Received<ErrorKind>,
    has_ended: bool,
    is_broken: bool,
    output: Vec<u8>,
    /// Maximum number of bytes of a read or write.
    chunk: usize,
    /// Number of bytes that the other end still takes.
    capacity: usize,
    wakers: Vec<Waker>,
}

impl Port {
    /// Creates a port that moves at most `chunk` bytes at once, and a peer that takes all output.
    pub(crate) fn new(chunk: usize) -> Self {
        Self(Rc::new(RefCell::new(Wire {
            input: Received::new(),
            has_ended: false,
            is_broken: false,
            output: Vec::new(),
            chunk,
            capacity: usize::MAX,
            wakers: Vec::new(),
        })))
    }

    fn change(&self, change: impl FnOnce(&mut Wire)) {
        let mut wire = self.0.borrow_mut();
        change(&mut wire);
        wire.wakers.drain(..).for_each(Waker::wake);
    }

    pub(crate) fn bytes(&self, bytes: impl AsRef<[u8]>) {
        self.change(|wire| wire.input.extend(bytes.as_ref().iter().copied().map(Ok)));
    }

    pub(crate) fn fault(&self, kind: ErrorKind) {
        self.change(|wire| wire.input.push_back(Err(kind)));
    }

    pub(crate) fn end(&self) {
        self.change(|wire| wire.has_ended = true);
    }

    pub(crate) fn break_off(&self) {
        self.change(|wire| wire.is_broken = true);
    }

    /// Lets the peer take this many bytes from now on.
    pub(crate) fn takes(&self, capacity: usize) {
        self.change(|wire| wire.capacity = capacity);
    }

    /// Returns the number of bytes that were sent and not read.
    pub(crate) fn unread(&self) -> usize {
        self.0.borrow().input.len()
    }

    /// Returns the output since the last call.
    pub(crate) fn output(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.borrow_mut().output)
    }

    /// Returns the lines that are complete since the last call.
    pub(crate) fn lines(&self) -> Vec<u8> {
        let output = &mut self.0.borrow_mut().output;
        let len = output.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        output.drain(..len).collect()
    }
}

impl ErrorType for Port {
    type Error = ErrorKind;
}

impl Read for Port {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, ErrorKind> {
        poll_fn(|cx| {
            let wire = &mut *self.0.borrow_mut();
            if wire.input.is_empty() && !wire.has_ended {
                wire.wakers.push(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(read(&mut wire.input, wire.chunk, into))
        })
        .await
    }
}

impl Write for Port {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        poll_fn(|cx| {
            let wire = &mut *self.0.borrow_mut();
            if wire.is_broken {
                return Poll::Ready(Err(ErrorKind::BrokenPipe));
            }
            let len = bytes.len().min(wire.chunk).min(wire.capacity);
            if len == 0 {
                wire.wakers.push(cx.waker().clone());
                return Poll::Pending;
            }
            if wire.capacity != usize::MAX {
                wire.capacity -= len;
            }
            wire.output.extend_from_slice(&bytes[..len]);
            Poll::Ready(Ok(len))
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// Polls one future, only when it was woken.
pub(crate) struct Player<'f, T> {
    future: Pin<Box<dyn Future<Output = T> + 'f>>,
    flag: Arc<Flag>,
    polls: usize,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'f, T> Player<'f, T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'f) -> Self {
        Self { future: Box::pin(future), flag: Arc::new(Flag(AtomicBool::new(true))), polls: 0 }
    }

    /// Polls the future until it is no longer woken, or completes.
    pub(crate) fn run(&mut self) -> Option<T> {
        let waker = Waker::from(self.flag.clone());
        for _ in 0..100_000 {
            if !self.flag.0.swap(false, Ordering::Relaxed) {
                return None;
            }
            self.polls += 1;
            if let Poll::Ready(value) = self.future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Some(value);
            }
        }
        panic!("the future is woken without end");
    }

    /// Returns the number of polls since the last call.
    pub(crate) fn polls(&mut self) -> usize {
        std::mem::take(&mut self.polls)
    }
}
