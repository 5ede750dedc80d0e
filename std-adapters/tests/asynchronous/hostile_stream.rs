//! A server's end of a stream that never pauses, never reads, or drips. It counts its steps.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite};

use crate::virtual_time;

/// Five thousand of them are the time limits of the tests.
const STEP: Duration = Duration::from_micros(10);

/// Sends `first`, and then `repeated` for ever.
pub(crate) struct Hostile {
    kind: Kind,
    first: &'static [u8],
    repeated: &'static [u8],
    at: usize,
    steps: Arc<AtomicUsize>,
    /// Whether it drips now, or makes the client wait.
    drips: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    NeverPauses,
    NeverReads,
    Drips,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::NeverPauses, Self::NeverReads, Self::Drips];
}

impl Hostile {
    pub(crate) fn new(
        kind: Kind,
        first: &'static str,
        repeated: &'static str,
        steps: &Arc<AtomicUsize>,
    ) -> Self {
        Self {
            kind,
            first: first.as_bytes(),
            repeated: repeated.as_bytes(),
            at: 0,
            steps: Arc::clone(steps),
            drips: false,
        }
    }

    /// Counts a step. Time passes by them: a peer that never pauses leaves no other for it.
    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        virtual_time::pass(STEP);
    }

    fn fill(&mut self, into: &mut [u8]) -> usize {
        for byte in into.iter_mut() {
            *byte = match self.at.checked_sub(self.first.len()) {
                None => self.first[self.at],
                Some(beyond) => self.repeated[beyond % self.repeated.len()],
            };
            self.at += 1;
        }
        into.len()
    }
}

impl AsyncRead for Hostile {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.step();
        match self.kind {
            Kind::NeverPauses => {
                let len = into.len().min(1024);
                Poll::Ready(Ok(self.fill(&mut into[..len])))
            }
            Kind::NeverReads => Poll::Pending,
            Kind::Drips => {
                self.drips = !self.drips;
                if self.drips {
                    return Poll::Ready(Ok(self.fill(&mut into[..1])));
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for Hostile {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.step();
        match self.kind {
            Kind::NeverReads => Poll::Pending,
            // One byte, without a pause.
            Kind::NeverPauses | Kind::Drips => Poll::Ready(Ok(bytes.len().min(1))),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
