//! A server and its clients on one thread, without sockets: the input and reading of a client is
//! scripted, and the reads and writes of the server are counted.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context as Cx, Poll, Waker};
use std::time::Duration;

use mcp_sansio::types::TextResult;
use mcp_sansio::{Catalog, Progress, entries};
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, serve};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Limits};
use smol::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::time::{Sleep, sleep};

use crate::door::Door;
use crate::site::{CONFIG, Counted, Counts, in_session, initialize, tool};
use crate::virtual_time;

static CATALOG: Catalog<'_> =
    Catalog::new().tools(entries![tool("echo"), tool("wait"), tool("endless"), tool("long")]);

/// A server that runs as long as a test waits for something, in virtual time.
pub(crate) struct World {
    runtime: Runtime,
    served: Pin<Box<dyn Future<Output = io::Result<()>>>>,
    door: Door<Stream>,
    /// Of `wait`.
    pub(crate) counts: Arc<Counts>,
    /// Lets a call of `wait` complete.
    pub(crate) gate: smol::channel::Sender<()>,
}

impl World {
    pub(crate) fn new(options: HttpOptions) -> Self {
        Self::with(options, Limits { max_pending: 4096, ..Limits::new() })
    }

    pub(crate) fn with(options: HttpOptions, limits: Limits) -> Self {
        let (gate, opened) = smol::channel::unbounded();
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        let handler = move |ctx: Context| -> Pin<Box<dyn Future<Output = HandlerResult>>> {
            let (opened, counts) = (opened.clone(), Arc::clone(&counted));
            Box::pin(async move {
                match ctx.name() {
                    "wait" => {
                        let _counted = Counted::new(counts);
                        let _ = opened.recv().await;
                    }
                    "endless" => {
                        // Only increasing progress is sent.
                        for step in 1.. {
                            ctx.tool(&ctx.request()?).progress(&Progress::of(step)).await?;
                        }
                    }
                    "long" => return ctx.reply(&TextResult::new(&"x".repeat(70_000))),
                    _ => {}
                }
                ctx.reply(&TextResult::new("done"))
            })
        };
        let limits = Limits { max_line: 100_000, ..limits };
        let app = App::new(&CONFIG, handler).catalog(&CATALOG).limits(limits);
        let door = Door::default();
        let listener = door.clone();
        let served = Box::pin(async move { serve(&app, listener, options).await });
        let runtime = virtual_time::runtime();
        Self { runtime, served, door, counts, gate }
    }

    /// Connects a client that sends this, and reads everything.
    pub(crate) fn connect(&self, sent: &str) -> Peer {
        self.connect_from(None, sent)
    }

    /// As [`connect`](Self::connect), from an address.
    pub(crate) fn connect_from(&self, address: Option<[u8; 4]>, sent: &str) -> Peer {
        let peer = Peer(Arc::new(Mutex::new(State {
            sent: sent.bytes().collect(),
            next: None,
            then: Then::Silence,
            pause: Duration::ZERO,
            takes: Takes::All,
            calls: 0,
            most_calls: 100_000,
            taken: Vec::new(),
            is_closed: false,
            is_gone: false,
            waker: None,
        })));
        self.door.enter(Stream(peer.clone()), address.map(IpAddr::from));
        peer
    }

    /// Runs the server until a condition holds.
    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        self.runtime.block_on(async {
            let mut limit = pin!(sleep(Duration::from_secs(20)));
            poll_fn(|cx| {
                if is_so() {
                    return Poll::Ready(());
                }
                assert!(limit.as_mut().poll(cx).is_pending(), "{what}");
                assert!(self.served.as_mut().poll(cx).is_pending());
                if is_so() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        });
    }

    /// Opens a session, and returns its id.
    pub(crate) fn open_session(&mut self) -> String {
        let peer = self.connect("");
        self.ask(&peer, &initialize("2025-11-25"), 1, &[]);
        let text = peer.text();
        let id = text.split_once("mcp-session-id: ").unwrap().1;
        let id = id.split_once("\r\n").unwrap().0.to_owned();
        peer.send(&in_session(&id, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
        self.until("202", || peer.answers("202") == 1);
        peer.get().then = Then::End;
        peer.send("");
        id
    }

    /// Runs the server for this time.
    pub(crate) fn sleep(&mut self, duration: Duration) {
        self.runtime.block_on(async {
            let mut timer = pin!(sleep(duration));
            poll_fn(|cx| {
                assert!(self.served.as_mut().poll(cx).is_pending());
                timer.as_mut().poll(cx)
            })
            .await;
        });
    }

    /// Sends one request after the other on this connection, each of which gets 200. Returns the
    /// maximum number of reads and writes of any other connection until a response.
    pub(crate) fn ask(
        &mut self,
        peer: &Peer,
        request: &str,
        times: usize,
        others: &[Peer],
    ) -> usize {
        let mut most = 0;
        for _ in 0..times {
            let answers = peer.answers("200");
            let before: Vec<_> = others.iter().map(|other| other.get().calls).collect();
            peer.send(request);
            self.until("an answer", || peer.answers("200") > answers);
            let calls = others.iter().zip(before).map(|(other, before)| other.get().calls - before);
            most = most.max(calls.max().unwrap_or(0));
        }
        most
    }
}

/// A client, and the server's end of its connection.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Mutex<State>>);

pub(crate) struct State {
    sent: VecDeque<u8>,
    /// Sent as soon as the server has written the end of a JSON response.
    pub(crate) next: Option<String>,
    /// Input after that.
    pub(crate) then: Then,
    /// Minimum duration of a read.
    pub(crate) pause: Duration,
    pub(crate) takes: Takes,
    /// Number of reads and writes by the server, and the limit at which the test fails.
    pub(crate) calls: usize,
    pub(crate) most_calls: usize,
    /// Output of the server.
    pub(crate) taken: Vec<u8>,
    /// Whether the server has closed its side.
    pub(crate) is_closed: bool,
    /// Whether the server has dropped the connection.
    pub(crate) is_gone: bool,
    waker: Option<Waker>,
}

/// Input that follows what a client has sent.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Silence,
    /// The same for ever, as much as is read at once.
    Flood(&'static str),
    /// The same for ever, byte by byte, without a pause.
    Drip(&'static str),
    End,
}

/// Reading behaviour of a client.
pub(crate) enum Takes {
    All,
    Nothing,
    /// One byte at a time, without a pause.
    Bytes,
    /// One byte at a time, with a pause after each.
    Slowly(Duration, Option<Pin<Box<Sleep>>>),
    /// Takes bytes when they are flushed. With `None`, flushing has no end.
    Flushed(Option<Vec<u8>>),
}

impl Peer {
    pub(crate) fn get(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn then(self, then: Then) -> Self {
        self.get().then = then;
        self
    }

    pub(crate) fn takes(self, takes: Takes) -> Self {
        self.get().takes = takes;
        self
    }

    pub(crate) fn send(&self, bytes: &str) {
        let mut state = self.get();
        state.sent.extend(bytes.bytes());
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Returns the number of responses with this status.
    pub(crate) fn answers(&self, status: &str) -> usize {
        self.text().matches(&format!("HTTP/1.1 {status}")).count()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.get().taken).into_owned()
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.get().is_gone
    }
}

impl State {
    /// Returns whether the server has read everything and waits for more.
    pub(crate) fn is_silent(&self) -> bool {
        self.sent.is_empty() && self.waker.is_some()
    }

    /// Moves out as many bytes as there are and fit.
    fn read(&mut self, into: &mut [u8]) -> usize {
        self.sent.make_contiguous();
        io::Read::read(&mut self.sent, into).unwrap()
    }

    fn count(&mut self) {
        self.calls += 1;
        assert!(self.calls <= self.most_calls, "more than the limit: {} calls", self.calls);
    }
}

/// The server's end of a connection.
pub(crate) struct Stream(Peer);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.get().is_gone = true;
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Cx<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.get();
        state.count();
        if !state.pause.is_zero() {
            virtual_time::pass(state.pause);
        }
        if !state.sent.is_empty() {
            return Poll::Ready(Ok(state.read(buf)));
        }
        let (again, most) = match state.then {
            Then::Silence => {
                state.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Then::End => return Poll::Ready(Ok(0)),
            Then::Flood(again) => (again, buf.len()),
            Then::Drip(again) => (again, 1),
        };
        // Whole repetitions, so that the next read starts with one again.
        let times = (most / again.len()).max(1);
        state.sent.extend(again.repeat(times).bytes());
        Poll::Ready(Ok(state.read(&mut buf[..most])))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.get();
        state.count();
        let State { takes, waker, .. } = &mut *state;
        let written = match takes {
            Takes::All => buf.len(),
            Takes::Flushed(kept) => {
                kept.iter_mut().for_each(|kept| kept.extend_from_slice(buf));
                return Poll::Ready(Ok(buf.len()));
            }
            Takes::Nothing => {
                *waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Takes::Bytes => 1,
            Takes::Slowly(pause, timer) => {
                if let Some(timer) = timer
                    && timer.as_mut().poll(cx).is_pending()
                {
                    return Poll::Pending;
                }
                *timer = Some(Box::pin(sleep(*pause)));
                1
            }
        };
        state.taken.extend_from_slice(&buf[..written]);
        if state.taken.ends_with(b"}}") {
            let next = state.next.take().unwrap_or_default();
            state.sent.extend(next.bytes());
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.get();
        let State { takes, taken, .. } = &mut *state;
        match takes {
            Takes::Flushed(Some(kept)) => taken.append(kept),
            Takes::Flushed(None) => return Poll::Pending,
            _ => {}
        }
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<io::Result<()>> {
        self.0.get().is_closed = true;
        Poll::Ready(Ok(()))
    }
}
