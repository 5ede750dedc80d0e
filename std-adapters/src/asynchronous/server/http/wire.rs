//! Bytes of a connection: requests in, responses out.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::mem::{replace, take};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::thread::LocalKey;
use std::time::{Duration, Instant};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio_engine::PeerAddress;
use mcp_sansio_engine::site::{HeadMemory, OwnedHead};
use mcp_sansio_http1::{IncomingRequest, MessageError, OwnedFields, Part, RequestReader};

use crate::runtime;
use crate::runtime::timer::{LazyTimer, NEVER, later};

/// A connection's byte stream, with its buffers and limits.
pub(crate) struct Wire<'t, T> {
    stream: T,
    pub(crate) reader: RequestReader<Vec<u8>>,
    /// Whether the reader has the memory of the thread.
    has_input: bool,
    last_head: LastHead,
    /// Whether the current request has been read completely.
    is_read: bool,
    /// Output, and how much of it has been written. Without any it has no memory.
    pub(crate) out: Vec<u8>,
    written: usize,
    is_flushed: bool,
    /// Number of pipelined bytes for which there was no room.
    dropped: usize,
    /// Limit of [`HttpOptions::read_timeout`](super::HttpOptions::read_timeout).
    read_timeout: Duration,
    /// Reads and writes that are left before the task yields.
    turns: &'t Turns,
    /// Set while the client reads nothing, or only little.
    stuck: Option<Stuck>,
    /// Timer of all waits here.
    pub(crate) timer: LazyTimer,
}

/// Limits the reads and writes of a connection in one poll, so that a client that sends or reads
/// without a pause does not starve others.
pub(crate) struct Turns(AtomicUsize);

impl Turns {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(TURNS))
    }

    /// Resets the count at the start of a poll.
    pub(crate) fn begin(&self) {
        self.0.store(TURNS, Ordering::Relaxed);
    }

    /// Counts one. Returns `false` if none is left: the task is polled again after others.
    fn take(&self, cx: &Context<'_>) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 0 {
            cx.waker().wake_by_ref();
        }
        left > 0
    }
}

/// A client that does not read, or slowly.
struct Stuck {
    since: Instant,
    /// Number of bytes that it has read nevertheless.
    taken: usize,
}

/// Result of waiting for input.
pub(crate) enum Next<R> {
    Got(R),
    /// The connection has ended, or was idle for too long.
    End,
    Invalid(MessageError),
}

impl<'t, T: AsyncRead + AsyncWrite + Unpin> Wire<'t, T> {
    pub(crate) fn new(
        stream: T,
        peer: Option<PeerAddress>,
        max_body: usize,
        read_timeout: Duration,
        turns: &'t Turns,
    ) -> Self {
        Self {
            stream,
            reader: RequestReader::with_limit(Vec::new(), INPUT_LEN).max_body(max_body as u64),
            has_input: false,
            last_head: LastHead::new(peer),
            is_read: false,
            out: Vec::new(),
            written: 0,
            is_flushed: true,
            dropped: 0,
            read_timeout,
            turns,
            stuck: None,
            timer: LazyTimer::new(),
        }
    }

    /// Reads the head of the next request, which may begin within `idle` if it is not the first of
    /// its connection. Ends if it is to stop before any input. Even then the first request is
    /// awaited for a moment: its client sends it already.
    pub(crate) async fn head(
        &mut self,
        mut idle: Option<Duration>,
        stop: impl Fn() -> bool,
    ) -> io::Result<Next<Head>> {
        let is_first = idle.is_none();
        let mut due = later(runtime::now(), idle.unwrap_or(self.read_timeout));
        let mut is_stopping = false;
        self.is_read = false;
        loop {
            if let Some(head) = self.last_head.again(&mut self.reader) {
                return Ok(Next::Got(head));
            }
            match self.reader.next_part() {
                Ok(Some(Part::Head(head))) => {
                    return Ok(Next::Got(self.last_head.copy(&head)));
                }
                Ok(Some(_)) => continue,
                Ok(None) => {}
                Err(error) => return Ok(Next::Invalid(error)),
            }
            if idle.is_some() && !self.reader.is_between_requests() {
                idle = None;
                due = later(runtime::now(), self.read_timeout);
            }
            let read = poll_fn(|cx| {
                if self.reader.is_between_requests() && !is_stopping && stop() {
                    is_stopping = true;
                    let moment = if is_first { LINGER } else { Duration::ZERO };
                    due = due.min(later(runtime::now(), moment));
                }
                self.poll_read_until(cx, due)
            });
            if read.await? == 0 {
                return Ok(Next::End);
            }
        }
    }

    /// Records that the body has been read completely.
    pub(crate) const fn end_body(&mut self) {
        self.is_read = true;
    }

    /// Skips the received part of a body. Returns whether that is all of it.
    pub(crate) fn skip_body(&mut self) -> bool {
        while let Ok(Some(part)) = self.reader.next_part() {
            self.is_read |= part == Part::End;
        }
        self.is_read
    }

    /// Reads a part of a body. Its time is limited by the site.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.poll_read_until(cx, later(runtime::now(), NEVER))
    }

    /// Returns 0 also when the time is due.
    fn poll_read_until(&mut self, cx: &mut Context<'_>, due: Instant) -> Poll<io::Result<usize>> {
        while self.turns.take(cx) {
            match self.poll_input(cx) {
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Pending if self.timer.poll(cx, due) => return Poll::Ready(Ok(0)),
                other => return other,
            }
        }
        self.return_input();
        // The timer is not polled while there is always input.
        if due <= runtime::now() { Poll::Ready(Ok(0)) } else { Poll::Pending }
    }

    /// Reads into the memory of the thread, unless there is input that is incomplete.
    fn poll_input(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.has_input && self.reader.is_empty() {
            let mut input = lend(&INPUT);
            input.resize(INPUT_LEN, 0);
            self.reader.replace_storage(input);
            self.has_input = true;
        }
        let read = Pin::new(&mut self.stream).poll_read(cx, self.reader.spare());
        match read {
            Poll::Ready(Ok(read)) => self.reader.commit(read),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.return_input(),
        }
        read
    }

    /// Gives the memory of the thread back, and keeps what is incomplete: call it before a wait.
    pub(crate) fn return_input(&mut self) {
        if take(&mut self.has_input) {
            give_back(&INPUT, self.reader.replace_storage(Vec::new()));
        }
    }

    /// Returns whether the client has gone while it waits for its response. Pipelined input is kept
    /// as far as there is room; the rest is read and dropped, because the end of the connection is
    /// only seen behind it. A client that sends more than [`MAX_DROPPED`] bytes counts as gone.
    pub(crate) fn poll_gone(&mut self, cx: &mut Context<'_>) -> bool {
        while self.turns.take(cx) {
            // Bytes behind dropped ones are not the start of a request.
            let has_room = self.reader.is_empty() || !self.reader.spare().is_empty();
            let is_kept = self.dropped == 0 && has_room;
            let read = if is_kept {
                self.poll_input(cx)
            } else {
                Pin::new(&mut self.stream).poll_read(cx, &mut [0; 4096])
            };
            match read {
                Poll::Pending => return false,
                Poll::Ready(Ok(0)) => return true,
                Poll::Ready(Ok(_)) if is_kept => {}
                Poll::Ready(Ok(read)) => {
                    self.dropped += read;
                    if self.dropped > MAX_DROPPED {
                        return true;
                    }
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(_)) => return true,
            }
        }
        false
    }

    /// Returns whether no pipelined input was dropped, so that another request can be read.
    pub(crate) fn is_whole(&self) -> bool {
        self.dropped == 0
    }

    /// Writes pending output. `Ready` when all of it is written.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.out.get(self.written..) {
            if !self.turns.take(cx) {
                return Poll::Pending;
            }
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Pending => {
                    self.stuck.get_or_insert_with(Stuck::new);
                    self.keep_rest();
                    return Poll::Pending;
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => {
                    self.stuck = self.stuck.take().and_then(|stuck| stuck.and_took(written));
                    self.written += written;
                    self.is_flushed = false;
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
        self.written = 0;
        if self.out.capacity() > 0 {
            return_output(take(&mut self.out));
        }
        if !self.is_flushed {
            let flushed = Pin::new(&mut self.stream).poll_flush(cx);
            if flushed.is_pending() {
                self.stuck.get_or_insert_with(Stuck::new);
            }
            ready!(flushed)?;
            self.is_flushed = true;
        }
        self.stuck = None;
        Poll::Ready(Ok(()))
    }

    /// Keeps no more memory than the output that waits needs.
    fn keep_rest(&mut self) {
        let rest = self.out.get(self.written..).unwrap_or_default();
        if self.out.capacity() / 2 > rest.len() {
            let rest = rest.to_vec();
            return_output(replace(&mut self.out, rest));
            self.written = 0;
        }
    }

    /// Returns whether the client reads nothing any more, although output is pending.
    pub(crate) fn poll_stuck(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(stuck) = &self.stuck else { return false };
        self.timer.poll(cx, later(stuck.since, self.read_timeout))
    }

    /// Writes all pending output.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] if the client reads nothing any more.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| {
            let written = self.poll_write(cx);
            if written.is_pending() && self.poll_stuck(cx) {
                return Poll::Ready(Err(ErrorKind::TimedOut.into()));
            }
            written
        })
        .await
    }

    /// Closes the connection. Input is read for a while longer, so that the operating system does
    /// not discard output that the client has not read.
    pub(crate) async fn close(&mut self) -> io::Result<()> {
        self.flush().await?;
        let due = later(runtime::now(), self.read_timeout.min(LINGER));
        let mut is_closed = false;
        poll_fn(|cx| {
            // On the stack, not in every connection.
            let mut rest = [0; 1024];
            if !is_closed {
                match Pin::new(&mut self.stream).poll_close(cx) {
                    Poll::Ready(closed) => closed?,
                    Poll::Pending if self.timer.poll(cx, due) => {
                        return Poll::Ready(Err(ErrorKind::TimedOut.into()));
                    }
                    Poll::Pending => return Poll::Pending,
                }
                is_closed = true;
            }
            while self.turns.take(cx) {
                match Pin::new(&mut self.stream).poll_read(cx, &mut rest) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Ok(())),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending if self.timer.poll(cx, due) => return Poll::Ready(Ok(())),
                    Poll::Pending => return Poll::Pending,
                }
            }
            if due <= runtime::now() { Poll::Ready(Ok(())) } else { Poll::Pending }
        })
        .await
    }
}

impl Stuck {
    fn new() -> Self {
        Self { since: runtime::now(), taken: 0 }
    }

    /// Returns `None` if it has read enough in its time.
    fn and_took(self, bytes: usize) -> Option<Self> {
        let taken = self.taken + bytes;
        (taken < LEAST_TAKEN).then_some(Self { taken, ..self })
    }
}

/// Maximum number of reads and writes in one poll.
const TURNS: usize = 16;
/// Minimum number of bytes that a client must read in its time.
const LEAST_TAKEN: usize = 4 << 10;
/// Maximum number of pipelined bytes that are dropped, beyond the longest head, which is kept.
const MAX_DROPPED: usize = 1 << 20;
/// Time in which input is still read after the end.
pub(crate) const LINGER: Duration = Duration::from_millis(500);

// Memory of a thread for all of its connections: one that waits keeps only what is incomplete.

type Lent = LocalKey<Cell<Vec<u8>>>;

thread_local! {
    static INPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static OUTPUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static HEADS: RefCell<Vec<Option<Heads>>> = const { RefCell::new(Vec::new()) };
}

/// Lends memory that is written into.
pub(super) fn lend_output() -> Vec<u8> {
    lend(&OUTPUT)
}

/// Takes back what [`lend_output`] has lent, unless it has become long.
pub(super) fn return_output(mut output: Vec<u8>) {
    output.clear();
    if output.capacity() <= KEPT_OUTPUT {
        give_back(&OUTPUT, output);
    }
}

fn lend(memory: &'static Lent) -> Vec<u8> {
    // A thread that ends has none.
    memory.try_with(Cell::take).unwrap_or_default()
}

fn give_back(memory: &'static Lent, bytes: Vec<u8>) {
    let _ = memory.try_with(|memory| memory.set(bytes));
}

/// The head of a request, and how its body is framed.
pub(super) struct Head {
    pub(super) head: OwnedHead,
    pub(super) is_http_1_0: bool,
    pub(super) expects_continue: bool,
    /// Length of the body, if known.
    pub(super) content_length: Option<usize>,
}

/// The last head of a connection, so that it is not parsed when it comes again. A thread keeps
/// [`KEPT_HEADS`], so that of many connections only busy ones have it.
pub(super) struct LastHead {
    /// The number of the connection, which no other of the process has.
    connection: u64,
    peer: Option<PeerAddress>,
}

/// The memory of the heads of a connection.
struct Heads {
    connection: u64,
    memory: HeadMemory<OwnedFields>,
    is_http_1_0: bool,
}

impl LastHead {
    pub(super) fn new(peer: Option<PeerAddress>) -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(1);
        Self { connection: OPENED.fetch_add(1, Ordering::Relaxed), peer }
    }

    /// Takes the next head, if it is the last one again.
    pub(super) fn again(&self, reader: &mut RequestReader<Vec<u8>>) -> Option<Head> {
        self.with_place(|place| {
            let heads = place.as_mut().filter(|heads| heads.connection == self.connection)?;
            heads.again(reader)
        })
    }

    /// Copies another head.
    pub(super) fn copy(&self, request: &IncomingRequest<'_>) -> Head {
        let copied = self.with_place(|place| {
            if place.as_ref().is_none_or(|heads| heads.connection != self.connection) {
                *place = Some(self.heads());
            }
            let (head, len) = place.as_mut()?.copy(request);
            if len > LONG_HEAD {
                *place = None;
            }
            Some(head)
        });
        copied.unwrap_or_else(|| self.heads().copy(request).0)
    }

    fn heads(&self) -> Heads {
        let memory = HeadMemory::new(self.peer);
        Heads { connection: self.connection, memory, is_http_1_0: false }
    }

    /// Lends the place of this connection in its thread, which another may have.
    fn with_place<R>(&self, call: impl FnOnce(&mut Option<Heads>) -> Option<R>) -> Option<R> {
        let call = |all: &RefCell<Vec<Option<Heads>>>| {
            let mut all = all.try_borrow_mut().ok()?;
            if all.is_empty() {
                all.resize_with(KEPT_HEADS, || None);
            }
            let place = usize::try_from(self.connection % KEPT_HEADS as u64).unwrap_or_default();
            call(all.get_mut(place)?)
        };
        HEADS.try_with(call).ok().flatten()
    }
}

impl Drop for LastHead {
    fn drop(&mut self) {
        let heads =
            self.with_place(|place| place.take_if(|heads| heads.connection == self.connection));
        drop(heads);
    }
}

impl Heads {
    fn again(&mut self, reader: &mut RequestReader<Vec<u8>>) -> Option<Head> {
        let (head, length) = self.memory.again(|last| reader.next_same_head(last))?;
        let (is_http_1_0, content_length) = (self.is_http_1_0, usize::try_from(length).ok());
        Some(Head { head, is_http_1_0, expects_continue: false, content_length })
    }

    /// Returns the length of the head, too.
    fn copy(&mut self, request: &IncomingRequest<'_>) -> (Head, usize) {
        let length = |length| usize::try_from(length).unwrap_or(usize::MAX);
        let mut head_len = 0;
        let head = self.memory.copy(request.method, request.target, |fields| {
            fields.copy(request.fields);
            head_len = fields.head_len();
        });
        self.is_http_1_0 = request.is_http_1_0;
        let head = Head {
            head,
            is_http_1_0: request.is_http_1_0,
            expects_continue: request.expects_continue,
            content_length: request.content_length.map(length),
        };
        (head, head_len)
    }
}

/// Number of bytes that are read at once: the longest head, and most bodies behind theirs.
pub(super) const INPUT_LEN: usize = 64 << 10;
/// Maximum number of bytes of output whose memory a thread keeps.
const KEPT_OUTPUT: usize = 128 << 10;
/// Number of heads that a thread keeps: about 700 bytes each.
const KEPT_HEADS: usize = 64;
/// Maximum length of a head that is kept, in bytes.
const LONG_HEAD: usize = 4 << 10;

#[cfg(all(test, feature = "smol"))]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    /// Sends these bytes, and reads so many; then it waits.
    struct Peer(&'static [u8], usize);

    impl AsyncRead for Peer {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            to: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            let sent = take(&mut self.0);
            to[..sent.len()].copy_from_slice(sent);
            if sent.is_empty() { Poll::Pending } else { Poll::Ready(Ok(sent.len())) }
        }
    }

    impl AsyncWrite for Peer {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let read = take(&mut self.1).min(bytes.len());
            if read == 0 { Poll::Pending } else { Poll::Ready(Ok(read)) }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn a_connection_that_waits_keeps_only_what_is_incomplete() {
        let (turns, mut cx) = (Turns::new(), Context::from_waker(Waker::noop()));
        for sent in [&b""[..], b"GET / HT"] {
            let mut wire = Wire::new(Peer(sent, 4), None, 0, LINGER, &turns);
            assert!(pin!(wire.head(Some(NEVER), || false)).poll(&mut cx).is_pending());
            assert_eq!(wire.reader.replace_storage(Vec::new()), sent);
            wire.out = lend_output();
            wire.out.reserve(1000);
            wire.out.extend_from_slice(b"four and the rest");
            assert!(pin!(wire.flush()).poll(&mut cx).is_pending());
            assert_eq!(
                (&wire.out[wire.written..], wire.out.capacity()),
                (&b" and the rest"[..], 13)
            );
            wire.stream.1 = 100;
            assert!(pin!(wire.flush()).poll(&mut cx).is_ready());
            assert_eq!(wire.out.capacity(), 0);
        }
    }
}
