//! A server and its clients in one thread, without sockets: what a client sends and takes is
//! written down, and each read and write of the server is counted.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context as Cx, Poll, Waker};
use std::time::Duration;

use async_io::Timer;
use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{Catalog, Progress, RawJson, ServerConfig, ServerFeatures};
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, serve};
use mcp_sansio_adapters::asynchronous::{App, Context, Failure, Listener, Reply};
use smol::io::{AsyncRead, AsyncWrite};

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> = Catalog::new().tools(&[tool("echo"), tool("wait"), tool("endless")]);

const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object"}"#))
}

/// A server that goes on as long as a test waits for something.
pub(crate) struct World {
    served: Pin<Box<dyn Future<Output = io::Result<()>>>>,
    door: Door,
    /// How many handlers wait, and how many of them have been dropped or have ended.
    pub(crate) waiting: Arc<AtomicUsize>,
    pub(crate) ended: Arc<AtomicUsize>,
    gate: smol::channel::Sender<()>,
}

struct Ended(Arc<AtomicUsize>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl World {
    pub(crate) fn new(options: HttpOptions) -> Self {
        let (gate, opened) = smol::channel::unbounded();
        let (waiting, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counts = (Arc::clone(&waiting), Arc::clone(&ended));
        let handler = move |ctx: Context| -> Pin<Box<dyn Future<Output = Result<Reply, Failure>>>> {
            let (opened, waiting, ended) =
                (opened.clone(), Arc::clone(&counts.0), Arc::clone(&counts.1));
            Box::pin(async move {
                match ctx.name() {
                    "wait" => {
                        waiting.fetch_add(1, Ordering::SeqCst);
                        let _ended = Ended(ended);
                        let _ = opened.recv().await;
                    }
                    "endless" => {
                        // Only progress that grows is sent.
                        for step in 1.. {
                            ctx.progress(&Progress::of(step)).await?;
                        }
                    }
                    _ => {}
                }
                ctx.reply(&TextResult::new("done"))
            })
        };
        let app = App::new(&CONFIG, handler).catalog(&CATALOG).max_line(100_000).max_pending(4096);
        let door = Door::default();
        let listener = door.clone();
        let served = Box::pin(async move { serve(&app, listener, options).await });
        Self { served, door, waiting, ended, gate }
    }

    /// A client that connects, sends this, and reads everything.
    pub(crate) fn connect(&self, sent: &str) -> Peer {
        let peer = Peer(Arc::new(Mutex::new(State {
            sent: sent.bytes().collect(),
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
        let mut door = self.door.0.lock().unwrap();
        door.0.push_back(peer.clone());
        if let Some(waker) = door.1.take() {
            waker.wake();
        }
        peer
    }

    /// A call of `wait` is answered.
    pub(crate) fn open_gate(&self) {
        self.gate.try_send(()).unwrap();
    }

    /// Has the server go on until something has come to pass.
    pub(crate) fn until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        let mut limit = Timer::after(Duration::from_secs(20));
        smol::block_on(poll_fn(|cx| {
            if is_so() {
                return Poll::Ready(());
            }
            assert!(Pin::new(&mut limit).poll(cx).is_pending(), "{what}");
            assert!(self.served.as_mut().poll(cx).is_pending());
            if is_so() { Poll::Ready(()) } else { Poll::Pending }
        }));
    }

    /// One request after the other on this connection, each of which is answered with 200. Returns
    /// the most calls that there were to any of the others until an answer.
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
    /// What is read behind that.
    pub(crate) then: Then,
    /// How long each read takes at least.
    pub(crate) pause: Duration,
    pub(crate) takes: Takes,
    /// How often the server has read or written, and how often it may before the test fails.
    pub(crate) calls: usize,
    pub(crate) most_calls: usize,
    /// What the server has written.
    pub(crate) taken: Vec<u8>,
    /// Whether the server has ended its side.
    pub(crate) is_closed: bool,
    /// Whether the server has dropped the connection.
    pub(crate) is_gone: bool,
    waker: Option<Waker>,
}

/// What comes behind what a client has sent.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Silence,
    /// The same for ever, as much as is read at once.
    Flood(&'static str),
    /// The same for ever, byte by byte, without a pause.
    Drip(&'static str),
    End,
}

/// What a client reads.
pub(crate) enum Takes {
    All,
    Nothing,
    /// One byte at a time, without a pause.
    Bytes,
    /// One byte at a time, and then nothing for as long.
    Slowly(Duration, Option<Timer>),
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

    /// How many answers of this status there are.
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
    /// Whether the server has read all and waits for more.
    pub(crate) fn is_silent(&self) -> bool {
        self.sent.is_empty() && self.waker.is_some()
    }

    fn count(&mut self) {
        self.calls += 1;
        assert!(self.calls <= self.most_calls, "{} calls, and the test goes on", self.calls);
    }
}

/// The server's end.
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
        std::thread::sleep(state.pause);
        if !state.sent.is_empty() {
            let read = state.sent.len().min(buf.len());
            buf.iter_mut().zip(state.sent.drain(..read)).for_each(|(to, from)| *to = from);
            return Poll::Ready(Ok(read));
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
        // Whole ones, so that the next read begins with one again.
        let times = (most / again.len()).max(1);
        state.sent.extend(again.repeat(times).bytes());
        let read = most.min(state.sent.len());
        buf.iter_mut().zip(state.sent.drain(..read)).for_each(|(to, from)| *to = from);
        Poll::Ready(Ok(read))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Cx<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.get();
        state.count();
        let written = match &mut state.takes {
            Takes::All => buf.len(),
            Takes::Nothing => return Poll::Pending,
            Takes::Bytes => 1,
            Takes::Slowly(pause, timer) => {
                if let Some(timer) = timer
                    && Pin::new(timer).poll(cx).is_pending()
                {
                    return Poll::Pending;
                }
                *timer = Some(Timer::after(*pause));
                1
            }
        };
        state.taken.extend_from_slice(&buf[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Cx<'_>) -> Poll<io::Result<()>> {
        self.0.get().is_closed = true;
        Poll::Ready(Ok(()))
    }
}

/// Where clients connect.
#[derive(Clone, Default)]
struct Door(Arc<Mutex<(VecDeque<Peer>, Option<Waker>)>>);

impl Listener for Door {
    type Stream = Stream;

    fn poll_accept(&self, cx: &mut Cx<'_>) -> Poll<io::Result<Stream>> {
        let mut door = self.0.lock().unwrap();
        if let Some(peer) = door.0.pop_front() {
            return Poll::Ready(Ok(Stream(peer)));
        }
        door.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}
