//! Peers that use as much as they can, beside an ordinary one. Polls, reads, writes and lines are
//! counted, not seconds.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::Result;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite, future};
use mcp_sansio::types::TextResult;
use mcp_sansio_adapters::asynchronous::{
    Accepted, App, Connection, Context, HandlerResult, Limits, Listener, serve,
};
use serde_json::json;

use crate::client::{Client, call};
use crate::pipe::{Pipe, pipe};
use crate::{CATALOG, CONFIG, virtual_time};

/// Behaviour of a hostile peer.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// Always sends, and reads everything.
    NeverPauses,
    /// Always sends, and reads nothing.
    NeverReads,
    /// Sends and reads one byte at a time, without a pause.
    Drips,
}

#[derive(Default)]
struct Counts {
    reads: Cell<usize>,
    writes: Cell<usize>,
    lines: Cell<usize>,
}

struct Hostile {
    manner: Manner,
    /// Sent once, and then repeated for ever.
    text: Vec<u8>,
    again: usize,
    at: usize,
    counts: Rc<Counts>,
}

impl Hostile {
    fn new(manner: Manner, first: &str, again: &str, counts: &Rc<Counts>) -> Self {
        let text = format!("{first}{again}").into_bytes();
        Self { manner, text, again: first.len(), at: 0, counts: counts.clone() }
    }
}

impl AsyncRead for Hostile {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
        to: &mut [u8],
    ) -> Poll<Result<usize>> {
        self.counts.reads.set(self.counts.reads.get() + 1);
        let len = if self.manner == Manner::Drips { 1 } else { to.len() };
        for byte in &mut to[..len] {
            *byte = self.text[self.at];
            self.at += 1;
            if self.at == self.text.len() {
                self.at = self.again;
            }
        }
        Poll::Ready(Ok(len))
    }
}

impl AsyncWrite for Hostile {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut TaskContext<'_>,
        from: &[u8],
    ) -> Poll<Result<usize>> {
        if self.manner == Manner::NeverReads {
            return Poll::Pending;
        }
        self.counts.writes.set(self.counts.writes.get() + 1);
        let from = if self.manner == Manner::Drips { &from[..1] } else { from };
        self.counts
            .lines
            .set(self.counts.lines.get() + from.iter().filter(|byte| **byte == b'\n').count());
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
}

async fn echo(ctx: Context) -> HandlerResult {
    ctx.reply(&TextResult::new("done"))
}

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

#[test]
fn p1_a_poll_of_a_connection_reads_takes_in_and_writes_a_bounded_number_of_times() {
    // A long line first, so that the buffers are large from then on.
    let long = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n", "x".repeat(1 << 20));
    for manner in [Manner::NeverPauses, Manner::NeverReads, Manner::Drips] {
        let first = if manner == Manner::Drips { "" } else { long.as_str() };
        let app = App::new(&CONFIG, echo).catalog(&CATALOG);
        let counts = Rc::new(Counts::default());
        let mut connection =
            pin!(Connection::new(&app, Hostile::new(manner, first, PING, &counts)));
        let mut cx = TaskContext::from_waker(Waker::noop());
        let mut answered = 0;
        for poll in 0..5_000 {
            assert!(connection.as_mut().poll(&mut cx).is_pending());
            let (reads, writes, lines) =
                (counts.reads.take(), counts.writes.take(), counts.lines.take());
            assert!(
                reads <= 16 && writes <= 64 && lines <= 256 + 16,
                "poll {poll}: {reads} {writes} {lines}"
            );
            answered += lines;
        }
        assert_eq!(answered > 0, manner != Manner::NeverReads);
    }
}

/// A listener with connections that all arrive at once.
struct Door(RefCell<Vec<Box<dyn Stream>>>);

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl Stream for Hostile {}
impl Stream for Pipe {}

impl Listener for &Door {
    type Stream = Box<dyn Stream>;

    fn poll_accept(&self, _: &mut TaskContext<'_>) -> Poll<Result<Accepted<Self::Stream>>> {
        self.0.borrow_mut().pop().map_or(Poll::Pending, |stream| Poll::Ready(Ok((stream, None))))
    }
}

#[test]
fn p1_three_hostile_peers_do_not_delay_the_calls_of_an_ordinary_one() {
    let calls = format!("{}\n", call(1, "echo", json!({})));
    let counts = Rc::new(Counts::default());
    let (server, client) = pipe(4096, 4096);
    let streams: Vec<Box<dyn Stream>> = vec![
        Box::new(server),
        Box::new(Hostile::new(Manner::NeverPauses, "", PING, &counts)),
        Box::new(Hostile::new(Manner::NeverReads, "", &calls, &counts)),
        Box::new(Hostile::new(Manner::Drips, "", &calls, &counts)),
    ];
    let door = Door(RefCell::new(streams));
    let app = App::new(&CONFIG, echo).catalog(&CATALOG).limits(Limits {
        idle_timeout: Some(Duration::MAX),
        max_pending: 4096,
        ..Limits::new()
    });
    let mut client = Client::new(client);
    let mut server = pin!(serve(&app, &door));
    let mut ordinary = pin!(async {
        for id in 1..=20 {
            assert_eq!(client.ask(&call(id, "echo", json!({}))).await["id"], id);
        }
    });
    let mut cx = TaskContext::from_waker(Waker::noop());
    let mut polls = 0;
    loop {
        polls += 1;
        assert!(server.as_mut().poll(&mut cx).is_pending());
        let (reads, writes) = (counts.reads.take(), counts.writes.take());
        assert!(
            reads <= 64 * 16 && writes <= 64 * 64,
            "{reads} reads and {writes} writes in a poll"
        );
        if ordinary.as_mut().poll(&mut cx).is_ready() {
            break;
        }
        assert!(polls < 100, "twenty calls take at least a hundred polls");
    }
}

#[test]
fn p1_a_client_that_never_reads_is_disconnected_beside_busy_ones() {
    let calls = format!("{}\n", call(1, "echo", json!({})));
    let counts = Rc::new(Counts::default());
    let streams: Vec<Box<dyn Stream>> = vec![
        Box::new(Hostile::new(Manner::NeverPauses, "", PING, &counts)),
        Box::new(Hostile::new(Manner::NeverReads, "", &calls, &counts)),
    ];
    let door = Door(RefCell::new(streams));
    let app = App::new(&CONFIG, echo).catalog(&CATALOG).limits(Limits {
        idle_timeout: Some(Duration::from_millis(50)),
        max_pending: 4096,
        ..Limits::new()
    });
    let mut server = pin!(serve(&app, &door));
    virtual_time::block_on(async {
        for _ in 0..100 {
            assert!(future::poll_once(server.as_mut()).await.is_none());
            tokio::time::advance(Duration::from_millis(1)).await;
        }
    });
    assert!(door.0.borrow().is_empty());
    assert_eq!(app.broadcaster().connections(), 1);
}
