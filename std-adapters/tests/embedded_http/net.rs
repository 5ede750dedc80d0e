//! Sockets in memory, a virtual clock, and an executor that polls only woken futures.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use embedded_io_async::{ErrorKind, ErrorType, Read, Write};
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded_async::{Clock, ConnectionEnd, Error};

pub(crate) type Served = Result<ConnectionEnd, Error<ErrorKind, ErrorKind>>;

/// The clock of all sockets.
#[derive(Clone, Default)]
pub(crate) struct Time(Rc<RefCell<Timers>>);

#[derive(Default)]
struct Timers {
    now: u64,
    waiting: Vec<(u64, Waker)>,
}

impl Time {
    fn pass(&self, ms: u64) {
        let mut timers = self.0.borrow_mut();
        timers.now += ms;
        let now = timers.now;
        let (due, rest): (Vec<_>, _) = timers.waiting.drain(..).partition(|(at, _)| *at <= now);
        timers.waiting = rest;
        due.into_iter().for_each(|(_, waker)| waker.wake());
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
            timers.waiting.push((at.as_millis(), cx.waker().clone()));
            Poll::Pending
        })
    }
}

/// One end of a connection, as the server has it.
#[derive(Clone)]
pub(crate) struct Socket(Rc<RefCell<Bytes>>);

struct Bytes {
    input: VecDeque<u8>,
    has_ended: bool,
    output: Vec<u8>,
    /// Maximum number of bytes of a read or write.
    chunk: usize,
    /// Number of bytes that the client still takes.
    capacity: usize,
    wakers: Vec<Waker>,
}

impl ErrorType for Socket {
    type Error = ErrorKind;
}

impl Read for Socket {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, ErrorKind> {
        poll_fn(|cx| {
            let mut bytes = self.0.borrow_mut();
            let len = into.len().min(bytes.chunk).min(bytes.input.len());
            if len == 0 && !bytes.has_ended {
                bytes.wakers.push(cx.waker().clone());
                return Poll::Pending;
            }
            bytes.input.drain(..len).zip(into.iter_mut()).for_each(|(byte, to)| *to = byte);
            Poll::Ready(Ok(len))
        })
        .await
    }
}

impl Write for Socket {
    async fn write(&mut self, from: &[u8]) -> Result<usize, ErrorKind> {
        poll_fn(|cx| {
            let mut bytes = self.0.borrow_mut();
            let len = from.len().min(bytes.chunk).min(bytes.capacity);
            if len == 0 {
                bytes.wakers.push(cx.waker().clone());
                return Poll::Pending;
            }
            bytes.capacity -= len;
            bytes.output.extend_from_slice(&from[..len]);
            Poll::Ready(Ok(len))
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }
}

/// The other end of a connection, and its future.
pub(crate) struct Client<'s> {
    socket: Socket,
    future: Pin<Box<dyn Future<Output = Served> + 's>>,
    flag: Arc<Flag>,
    pub(crate) end: Option<Served>,
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Client<'_> {
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) {
        self.socket.0.borrow_mut().input.extend(bytes.as_ref());
        self.wake();
    }

    /// Closes the connection.
    pub(crate) fn close(&self) {
        self.socket.0.borrow_mut().has_ended = true;
        self.wake();
    }

    /// Lets the client take this many bytes from now on.
    pub(crate) fn takes(&self, capacity: usize) {
        self.socket.0.borrow_mut().capacity = capacity;
        self.wake();
    }

    fn wake(&self) {
        let wakers = std::mem::take(&mut self.socket.0.borrow_mut().wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Returns what the server has sent since the last call.
    pub(crate) fn received(&self) -> String {
        let output = std::mem::take(&mut self.socket.0.borrow_mut().output);
        String::from_utf8(output).expect("text")
    }
}

/// The connections of a server.
pub(crate) struct Net<'s> {
    pub(crate) time: Time,
    chunk: usize,
    pub(crate) clients: Vec<Client<'s>>,
}

impl<'s> Net<'s> {
    /// Creates a network whose sockets move at most `chunk` bytes at once.
    pub(crate) fn new(time: &Time, chunk: usize) -> Self {
        Self { time: time.clone(), chunk, clients: Vec::new() }
    }

    /// Opens a connection, which `serve` serves. Returns its number.
    pub(crate) fn connect<F>(&mut self, serve: impl FnOnce(Socket, Socket, Time) -> F) -> usize
    where
        F: Future<Output = Served> + 's,
    {
        let socket = Socket(Rc::new(RefCell::new(Bytes {
            input: VecDeque::new(),
            has_ended: false,
            output: Vec::new(),
            chunk: self.chunk,
            capacity: usize::MAX,
            wakers: Vec::new(),
        })));
        let future = Box::pin(serve(socket.clone(), socket.clone(), self.time.clone()));
        let flag = Arc::new(Flag(AtomicBool::new(true)));
        self.clients.push(Client { socket, future, flag, end: None });
        self.run();
        self.clients.len() - 1
    }

    /// Polls the futures until none is woken.
    pub(crate) fn run(&mut self) {
        for _ in 0..100_000 {
            let mut is_quiet = true;
            for client in &mut self.clients {
                if client.end.is_some() || !client.flag.0.swap(false, Ordering::Relaxed) {
                    continue;
                }
                is_quiet = false;
                let waker = Waker::from(client.flag.clone());
                let polled = client.future.as_mut().poll(&mut Context::from_waker(&waker));
                if let Poll::Ready(end) = polled {
                    client.end = Some(end);
                }
            }
            if is_quiet {
                return;
            }
        }
        panic!("a future is woken without end");
    }

    /// Lets time pass, in steps of a tenth of a second at most.
    pub(crate) fn pass(&mut self, ms: u64) {
        let mut left = ms;
        while left > 0 {
            let step = left.min(100);
            self.time.pass(step);
            self.run();
            left -= step;
        }
    }

    /// Sends bytes and returns the response, or what has come of it.
    pub(crate) fn exchange(&mut self, client: usize, bytes: impl AsRef<[u8]>) -> String {
        self.clients[client].send(bytes);
        self.run();
        self.clients[client].received()
    }
}
