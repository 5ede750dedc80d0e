//! The input and output of a connection: lines of a stream, or messages over HTTP.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant as SystemInstant};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::Instant;

use super::connection::Session;
use crate::client::Changes;
use crate::gone::is_gone;
use crate::runtime;

/// The transport of a client: any stream (one message a line), or an `HttpTransport`.
pub trait Transport: IntoLink + 'static {}

impl<T: IntoLink + 'static> Transport for T {}

/// A transport as its connection uses it.
pub trait IntoLink {
    type Link: Link;
    /// Returns the URL of the server, if messages are sent in POST requests.
    fn url_for_posts(&self) -> Option<String>;

    /// Returns the count of changes of the access token, if it can change.
    fn changes(&self) -> Option<Changes> {
        None
    }

    fn into_link(self) -> Self::Link;
}

/// The input and output of a connection.
pub trait Link: Unpin {
    /// Reads. Returns whether there is something new.
    fn read(&mut self, session: &mut Session, cx: &mut Context<'_>) -> io::Result<bool>;

    /// Handles messages. Returns whether there were any.
    fn handle(&mut self, session: &mut Session, now: Instant) -> bool;

    /// Writes. Returns whether something was written.
    fn write(
        &mut self,
        session: &mut Session,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> io::Result<bool>;

    /// Returns whether the input has ended and everything is handled.
    fn has_ended(&self, session: &mut Session) -> bool;

    /// Discards the input.
    fn discard(&mut self, session: &mut Session);

    /// Closes our side. Returns whether nothing is left to do.
    fn poll_close(&mut self, session: &mut Session, cx: &mut Context<'_>) -> bool;

    /// Returns the time at which the server counts as unresponsive.
    fn stalls_at(&self, timeout: Duration) -> Option<SystemInstant>;
}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> IntoLink for T {
    type Link = Lines<T>;

    fn url_for_posts(&self) -> Option<String> {
        None
    }

    fn into_link(self) -> Lines<T> {
        Lines {
            stream: self,
            input_ended: false,
            has_more: false,
            is_flushed: true,
            is_closed: false,
            is_deaf: false,
            waits_since: None,
        }
    }
}

// A stream with one message a line: bytes between it and the engine.

/// A stream, and how far reading, writing, flushing and closing are.
pub struct Lines<T> {
    pub(crate) stream: T,
    input_ended: bool,
    /// Whether messages are left that were read.
    has_more: bool,
    is_flushed: bool,
    is_closed: bool,
    /// Whether the server has closed its reading side. What it sent before can still be read.
    is_deaf: bool,
    /// Start of the time in which output was pending and none was accepted.
    waits_since: Option<SystemInstant>,
}

impl<T: AsyncRead + AsyncWrite + Unpin + 'static> Link for Lines<T> {
    fn read(&mut self, session: &mut Session, cx: &mut Context<'_>) -> io::Result<bool> {
        if self.input_ended {
            return Ok(false);
        }
        let stream = Pin::new(&mut self.stream);
        let read = session.engine.io(|_, spare| {
            let len = spare.len().min(READ);
            // The buffer is full only while a message waits for room for its response.
            let spare = spare.get_mut(..len).filter(|spare| !spare.is_empty());
            spare.map_or(Poll::Pending, |spare| stream.poll_read(cx, spare))
        });
        match read {
            Poll::Pending => return Ok(false),
            Poll::Ready(Ok(read)) if read > 0 => session.engine.received(read),
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            Poll::Ready(Err(error)) if !is_gone(&error) => return Err(error),
            Poll::Ready(Ok(_) | Err(_)) => {
                self.input_ended = true;
                session.engine.end_of_input();
            }
        }
        Ok(true)
    }

    fn handle(&mut self, session: &mut Session, now: Instant) -> bool {
        let mut handled = 0;
        while handled < MESSAGES && session.engine.step(now, &mut session.app) {
            handled += 1;
        }
        // The rest is handled in the next round.
        self.has_more = handled == MESSAGES;
        handled > 0
    }

    fn write(
        &mut self,
        session: &mut Session,
        _: Instant,
        cx: &mut Context<'_>,
    ) -> io::Result<bool> {
        let mut moved = false;
        // The rest is written in the next round.
        for _ in 0..WRITES {
            let Self { stream, is_deaf, .. } = self;
            let written = session.engine.io(|output, _| match output.len() {
                0 => None,
                all if *is_deaf => Some(Poll::Ready(Ok(all))),
                _ => Some(Pin::new(stream).poll_write(cx, output)),
            });
            match written {
                None => break,
                Some(Poll::Pending) => {
                    self.waits_since.get_or_insert_with(runtime::now);
                    return Ok(moved);
                }
                Some(Poll::Ready(Ok(0))) => return Err(ErrorKind::WriteZero.into()),
                Some(Poll::Ready(Ok(written))) => {
                    session.engine.written(written);
                    self.is_flushed = false;
                    moved = true;
                }
                Some(Poll::Ready(Err(error))) if error.kind() == ErrorKind::Interrupted => {}
                Some(Poll::Ready(Err(error))) if is_gone(&error) => self.is_deaf = true,
                Some(Poll::Ready(Err(error))) => return Err(error),
            }
            self.waits_since = None;
        }
        if !self.is_flushed
            && let Poll::Ready(flushed) = Pin::new(&mut self.stream).poll_flush(cx)
        {
            self.is_flushed = true;
            if !self.is_deaf {
                flushed?;
            }
        }
        Ok(moved)
    }

    fn has_ended(&self, session: &mut Session) -> bool {
        self.input_ended && !self.has_more && !session.engine.has_input()
    }

    fn discard(&mut self, session: &mut Session) {
        self.has_more = false;
        session.engine.discard();
    }

    /// Closing has failed: there is nothing left to do, either.
    fn poll_close(&mut self, session: &mut Session, cx: &mut Context<'_>) -> bool {
        if !self.is_flushed || !session.engine.is_idle() {
            return false;
        }
        if !self.is_closed && Pin::new(&mut self.stream).poll_close(cx).is_ready() {
            runtime::shut_down(&mut self.stream);
            self.is_closed = true;
        }
        self.is_closed
    }

    fn stalls_at(&self, timeout: Duration) -> Option<SystemInstant> {
        self.waits_since?.checked_add(timeout)
    }
}

/// Maximum number of bytes of a read.
const READ: usize = 64 << 10;
/// Messages in a row before the other sources are processed.
const MESSAGES: usize = 256;
/// Writes in a row before the other sources are processed.
const WRITES: usize = 16;
