//! Output of a connection: from the buffer to the stream.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_lite::AsyncWrite;

use super::inner::ConnectionInner;
use crate::runtime::{self, is_gone};

/// Progress of writing, flushing and closing.
pub(crate) struct Outgoing {
    is_flushed: bool,
    is_closed: bool,
    /// Whether the server has closed its reading side. What it sent before can still be read.
    is_deaf: bool,
    /// Start of the time in which output was pending and none was accepted.
    waits_since: Option<Instant>,
}

impl Outgoing {
    pub(crate) fn new() -> Self {
        Self { is_flushed: true, is_closed: false, is_deaf: false, waits_since: None }
    }

    pub(crate) fn write(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        inner: &ConnectionInner,
        cx: &mut Context<'_>,
    ) -> io::Result<bool> {
        let mut moved = false;
        let mut writes = 0;
        // The rest is written in the next round.
        while writes < WRITES
            && let Some(written) = inner.with(|state| {
                let pending = state.tx.pending();
                if pending.is_empty() {
                    return None;
                }
                let written = match self.is_deaf {
                    true => Poll::Ready(Ok(pending.len())),
                    false => Pin::new(&mut *stream).poll_write(cx, pending),
                };
                if let Poll::Ready(Ok(written)) = written {
                    state.tx.advance(written);
                    if state.tx.pending().is_empty() {
                        state.wake_next();
                    }
                }
                Some(written)
            })
        {
            match written {
                Poll::Pending => {
                    self.waits_since.get_or_insert_with(runtime::now);
                    return Ok(moved);
                }
                Poll::Ready(Ok(0)) => return Err(ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(_)) => {
                    self.is_flushed = false;
                    moved = true;
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) if is_gone(&error) => self.is_deaf = true,
                Poll::Ready(Err(error)) => return Err(error),
            }
            self.waits_since = None;
            writes += 1;
        }
        if !self.is_flushed
            && let Poll::Ready(flushed) = Pin::new(stream).poll_flush(cx)
        {
            self.is_flushed = true;
            if !self.is_deaf {
                flushed?;
            }
        }
        Ok(moved)
    }

    /// Returns whether all output has been sent.
    pub(crate) fn is_done(&self, inner: &ConnectionInner) -> bool {
        self.is_flushed && inner.with(|state| state.tx.is_idle())
    }

    /// Closes our side. Returns `true` once it is closed or closing has failed: either way there is
    /// nothing left to do.
    pub(crate) fn poll_close(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin + 'static),
        cx: &mut Context<'_>,
    ) -> bool {
        if !self.is_closed && Pin::new(&mut *stream).poll_close(cx).is_ready() {
            runtime::shut_down(stream);
            self.is_closed = true;
        }
        self.is_closed
    }

    /// Returns the time at which the server counts as unresponsive.
    pub(crate) fn stalls_at(&self, timeout: Duration) -> Option<Instant> {
        self.waits_since?.checked_add(timeout)
    }
}

/// Writes in a row before the other sources are processed.
const WRITES: usize = 16;
