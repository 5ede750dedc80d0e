//! From what was written to the stream.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_lite::AsyncWrite;

use super::incoming::is_gone;
use super::link::Link;

/// How far sending has come.
pub(super) struct Outgoing {
    is_flushed: bool,
    is_closed: bool,
    /// The server takes nothing any more. What it has sent before can still be read.
    is_deaf: bool,
    /// Since when something is pending of which nothing is taken.
    waits_since: Option<Instant>,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        Self { is_flushed: true, is_closed: false, is_deaf: false, waits_since: None }
    }

    pub(super) fn write<const N: usize>(
        &mut self,
        stream: &mut (impl AsyncWrite + Unpin),
        link: &Link<N>,
        cx: &mut Context<'_>,
    ) -> io::Result<bool> {
        let mut moved = false;
        while let Some(written) = link.with(|state| {
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
        }) {
            match written {
                Poll::Pending => {
                    self.waits_since.get_or_insert_with(Instant::now);
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

    /// Whether all has been sent.
    pub(super) fn is_done<const N: usize>(&self, link: &Link<N>) -> bool {
        self.is_flushed && link.with(|state| state.tx.is_idle())
    }

    /// Closes our side. `true` when that is done, or has failed: either way there is nothing left to do.
    pub(super) fn poll_close(&mut self, stream: &mut (impl AsyncWrite + Unpin), cx: &mut Context<'_>) -> bool {
        self.is_closed = self.is_closed || Pin::new(stream).poll_close(cx).is_ready();
        self.is_closed
    }

    /// When the server has taken nothing for too long.
    pub(super) fn stalls_at(&self, timeout: Duration) -> Option<Instant> {
        self.waits_since?.checked_add(timeout)
    }

    pub(super) fn is_stalled(&self, timeout: Duration) -> bool {
        self.waits_since.is_some_and(|since| since.elapsed() >= timeout)
    }
}
