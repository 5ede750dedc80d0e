//! A server over HTTP on several threads, each with connections in memory: what a second core adds,
//! and what the threads cost each other, without sockets.

use std::future::pending;
use std::io;
use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_lite::future::block_on;
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{
    Accepted, App, BoxedListener, BoxedStream, Broadcaster, Listener, Runtime, RuntimeFuture,
    within,
};
use rustix::time::{ClockId, clock_gettime};

use crate::authorization::{CATALOG, echo};
use crate::ours::CONFIG;
use crate::stream::{Peer, Stream, take};
use crate::{messages, site};

/// Connections of each thread.
const CONNECTIONS: usize = 64;

/// What the calls of a run took.
#[derive(Clone, Copy)]
pub struct Run {
    /// Calls of all threads in a second.
    pub rate: f64,
    /// CPU time of the process for each call, in microseconds.
    pub cpu: f64,
}

/// Serves calls of 64 B by so many threads, and so many on each of their connections. A connection
/// of 2025-11-25 opens a session of its own.
///
/// # Errors
/// Those of the operating system.
pub fn run(threads: NonZeroUsize, legacy: bool, calls: usize) -> io::Result<Run> {
    let app = App::new(&CONFIG, echo).catalog(&CATALOG);
    let connections = threads.get() * CONNECTIONS;
    let work =
        Work { calls, legacy, open: AtomicUsize::new(connections), app: app.broadcaster().clone() };
    let runtime: &'static InMemory = Box::leak(Box::new(InMemory(Arc::new(work))));
    let mut options = HttpOptions::new();
    (options.max_sessions, options.max_exchanges) = (usize::MAX, usize::MAX);
    // Only their number counts.
    let listeners = http::listeners("127.0.0.1:0", threads)?;
    let (began, cpu) = (Instant::now(), cpu_time());
    block_on(within(runtime, async { http::serve_on_threads(&app, listeners, options) }))?;
    let all = (connections * calls) as f64;
    let cpu = cpu_time() - cpu;
    Ok(Run { rate: all / began.elapsed().as_secs_f64(), cpu: cpu.as_secs_f64() * 1e6 / all })
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("it is not negative")
}

/// A runtime whose listeners have clients in memory, and whose timers never end.
struct InMemory(Arc<Work>);

struct Work {
    calls: usize,
    legacy: bool,
    /// Clients that have calls left.
    open: AtomicUsize,
    app: Broadcaster,
}

impl Runtime for InMemory {
    fn sleep_until(&self, _: Instant) -> RuntimeFuture<()> {
        Box::pin(pending())
    }

    fn listen(&self, _: TcpListener) -> io::Result<BoxedListener> {
        let clients = (0..CONNECTIONS).map(|_| Client::new(Arc::clone(&self.0)));
        Ok(Box::new(Accepts(Mutex::new(clients.collect()))))
    }
}

struct Accepts(Mutex<Vec<Client>>);

impl Listener for Accepts {
    type Stream = BoxedStream;

    fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<Accepted<BoxedStream>>> {
        let client = self.0.lock().expect("no panic").pop();
        client.map_or(Poll::Pending, |client| {
            Poll::Ready(Ok((Box::new(Stream(client)) as BoxedStream, None)))
        })
    }
}

/// The stream of a client that sends a request when it has the response to the one before.
struct Client {
    work: Arc<Work>,
    /// What the server has not read.
    request: Vec<u8>,
    response: Vec<u8>,
    call: Vec<u8>,
    left: usize,
    /// Of the server, if it waits for a request.
    reader: Option<Waker>,
}

impl Client {
    fn new(work: Arc<Work>) -> Self {
        let request = match work.legacy {
            true => site::request(true, "initialize", "", "", "", messages::INITIALIZE),
            false => Self::call(&work, ""),
        };
        let (call, left) = (request.clone().into_bytes(), work.calls);
        Self { work, request: request.into(), response: Vec::new(), call, left, reader: None }
    }

    fn call(work: &Work, session: &str) -> String {
        let body = messages::call(work.legacy, 64);
        site::request(work.legacy, "tools/call", "echo", session, "", &body)
    }

    /// Takes a response, once all of it is there.
    fn responded(&mut self) {
        let Ok(response) = std::str::from_utf8(&self.response) else { return };
        let Some((head, body)) = response.split_once("\r\n\r\n") else { return };
        let field = |name| head.lines().find_map(|line| line.strip_prefix(name));
        let length =
            field("content-length: ").map_or(0, |length| length.parse().expect("a number"));
        if body.len() < length {
            return;
        }
        assert!(head.starts_with("HTTP/1.1 20"), "{response}");
        if let Some(session) = field("mcp-session-id: ") {
            self.call = Self::call(&self.work, session).into();
            let initialized = messages::INITIALIZED;
            self.request = site::request(true, "", "", session, "", initialized).into();
        } else {
            self.left -= usize::from(length > 0);
            if self.left > 0 {
                self.request.extend_from_slice(&self.call);
            } else if self.work.open.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.work.app.shut_down();
            }
        }
        self.response.clear();
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl Peer for Client {
    fn read(&mut self, into: &mut [u8]) -> Option<usize> {
        let is_over = self.left == 0;
        (is_over || !self.request.is_empty()).then(|| take(&mut self.request, into))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.response.extend_from_slice(bytes);
        self.responded();
    }

    fn waits(&mut self, waker: &Waker) {
        self.reader = Some(waker.clone());
    }
}
