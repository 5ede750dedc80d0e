//! A connection's bytes: requests in, and what is to be written out.

use std::future::{Future as _, poll_fn};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_io::Timer;
use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::http::codec::{CONTINUE, Fault, Part, RequestReader};

use super::head::Head;
use super::patience::Patience;

pub(super) struct Wire<T> {
    stream: T,
    pub(super) reader: RequestReader<Vec<u8>>,
    /// Whether the request has been read to its end.
    is_read: bool,
    /// What is to be written, and how much of it has been.
    pub(super) out: Vec<u8>,
    written: usize,
    is_flushed: bool,
    /// When something was written last.
    pub(super) wrote_at: Instant,
    /// Since when the client has not taken what there is for it.
    stuck_since: Option<Instant>,
    /// For whatever is waited for here.
    pub(super) timer: Patience,
}

/// What a connection says next.
pub(super) enum Next<R> {
    Got(R),
    /// Nothing: it has ended, or is silent for too long.
    End,
    Fault(Fault),
}

impl<T: AsyncRead + AsyncWrite + Unpin> Wire<T> {
    pub(super) fn new(stream: T, max_body: usize) -> Self {
        Self {
            stream,
            reader: RequestReader::with_limit(Vec::new(), MAX_HEAD).max_body(max_body as u64),
            is_read: false,
            out: Vec::new(),
            written: 0,
            is_flushed: true,
            wrote_at: Instant::now(),
            stuck_since: None,
            timer: Patience::new(),
        }
    }

    /// The head of the next request; `Err` of `stop` when that is ready before anything has come.
    pub(super) async fn head(
        &mut self,
        timeout: Duration,
        mut stop: impl FnMut(&mut Context<'_>) -> bool,
    ) -> io::Result<Next<Head>> {
        let due = Instant::now() + timeout;
        loop {
            match self.reader.next_part() {
                Ok(Some(Part::Head(head))) => {
                    self.is_read = false;
                    return Ok(Next::Got(Head::of(&head)));
                }
                Ok(Some(_)) => continue,
                Ok(None) => {}
                Err(fault) => return Ok(Next::Fault(fault)),
            }
            let read = poll_fn(|cx| {
                if stop(cx) && self.reader.is_between_requests() {
                    return Poll::Ready(Ok(0));
                }
                self.poll_read(cx, due)
            });
            if read.await? == 0 {
                return Ok(Next::End);
            }
        }
    }

    /// The body that belongs to a head.
    pub(super) async fn body(&mut self, head: &Head, timeout: Duration) -> io::Result<Next<Vec<u8>>> {
        // In one piece, as long as that is short: a length is only what a client claims.
        let mut body = Vec::with_capacity(head.content_length.map_or(0, |length| length.min(SHORT_BODY)));
        // As far as it is known, and not so much that a connection which is idle later keeps more than others need.
        self.reader.reserve(head.content_length.map_or(0, |length| length.min(LONG_READ)));
        let due = Instant::now() + timeout;
        if head.expects_continue {
            self.out.extend_from_slice(CONTINUE);
            self.flush().await?;
        }
        loop {
            match self.reader.next_part() {
                Ok(Some(Part::Body(piece))) => {
                    body.extend_from_slice(piece);
                    continue;
                }
                Ok(Some(Part::End)) => {
                    self.is_read = true;
                    return Ok(Next::Got(body));
                }
                Ok(_) => {}
                Err(fault) => return Ok(Next::Fault(fault)),
            }
            if poll_fn(|cx| self.poll_read(cx, due)).await? == 0 {
                return Ok(Next::End);
            }
        }
    }

    /// Passes by what is there of a body. Whether that is all of it.
    pub(super) fn skip_body(&mut self) -> bool {
        while let Ok(Some(part)) = self.reader.next_part() {
            self.is_read |= part == Part::End;
        }
        self.is_read
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, due: Instant) -> Poll<io::Result<usize>> {
        loop {
            match Pin::new(&mut self.stream).poll_read(cx, self.reader.spare()) {
                Poll::Ready(Ok(read)) => {
                    self.reader.commit(read);
                    return Poll::Ready(Ok(read));
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Pending if self.timer.poll(cx, due) => return Poll::Ready(Ok(0)),
                other => return other,
            }
        }
    }

    /// Whether the client has gone away while it waits for its answer. What it sends ahead is kept for later.
    pub(super) fn poll_gone(&mut self, cx: &mut Context<'_>) -> bool {
        loop {
            if self.reader.spare().is_empty() {
                return false;
            }
            match Pin::new(&mut self.stream).poll_read(cx, self.reader.spare()) {
                Poll::Pending => return false,
                Poll::Ready(Ok(0)) => return true,
                Poll::Ready(Ok(read)) => self.reader.commit(read),
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(_)) => return true,
            }
        }
    }

    /// Writes what is to be written. `Ready` when all of it is.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.out.get(self.written..) {
            match Pin::new(&mut self.stream).poll_write(cx, rest) {
                Poll::Pending => {
                    self.stuck_since.get_or_insert_with(Instant::now);
                    return Poll::Pending;
                }
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => {
                    self.stuck_since = None;
                    self.written += written;
                    self.is_flushed = false;
                    self.wrote_at = Instant::now();
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
        self.out.clear();
        self.written = 0;
        if !self.is_flushed {
            match Pin::new(&mut self.stream).poll_flush(cx) {
                Poll::Ready(Ok(())) => self.is_flushed = true,
                other => return other,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// When there is something to do about silence: `keep_alive` after the last byte, and `patience` after the client has stopped to read.
    pub(super) fn silent_until(&self, keep_alive: Duration, patience: Duration) -> Instant {
        self.stuck_since.map_or(self.wrote_at + keep_alive, |since| since + patience)
    }

    /// Whether the client takes nothing any more, although there is something.
    pub(super) fn is_stuck(&self, patience: Duration) -> bool {
        self.stuck_since.is_some_and(|since| since.elapsed() >= patience)
    }

    pub(super) async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_write(cx)).await
    }

    /// Ends the connection. What the client still sends is read for a while, so that the system does not throw away what it has not read yet.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.flush().await?;
        poll_fn(|cx| Pin::new(&mut self.stream).poll_close(cx)).await?;
        let mut timer = Timer::after(LINGER);
        let mut rest = [0; 1024];
        poll_fn(|cx| {
            if Pin::new(&mut timer).poll(cx).is_ready() {
                return Poll::Ready(());
            }
            loop {
                match Pin::new(&mut self.stream).poll_read(cx, &mut rest) {
                    Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
        Ok(())
    }
}

/// The longest head, in bytes.
const MAX_HEAD: usize = 64 << 10;
/// The longest body that room is made for before it is there, in bytes.
const SHORT_BODY: usize = 128 << 10;
/// The most that is read of a body at once, in bytes, unless a head was longer.
const LONG_READ: usize = 16 << 10;
/// How long what is sent after the end is still read.
const LINGER: Duration = Duration::from_millis(500);
