//! An end of a stream that never pauses, never reads, or drips. It counts what is done with it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite};

use crate::virtual_time;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// Maximum number of bytes of a read, or none at all.
    says: usize,
    /// Maximum number of bytes of a write, or none at all.
    takes: usize,
    /// Whether it makes each other read wait.
    pauses: bool,
    /// Time that passes with each step: a peer that never pauses leaves no other for it. Five
    /// thousand of them are the time limits of the tests.
    step: Option<Duration>,
}

const STEP: Option<Duration> = Some(Duration::from_micros(10));

#[allow(dead_code, reason = "not all tests need all")]
impl Manner {
    pub(crate) const NEVER_PAUSES: Self = Self { says: 1024, takes: 1, pauses: false, step: STEP };
    pub(crate) const NEVER_READS: Self = Self { says: 0, takes: 0, ..Self::NEVER_PAUSES };
    pub(crate) const DRIPS: Self = Self { says: 1, pauses: true, ..Self::NEVER_PAUSES };
    pub(crate) const DRIPS_ON: Self = Self { says: 1, takes: 1, ..Self::FLOODS };
    pub(crate) const FLOODS: Self =
        Self { says: usize::MAX, takes: usize::MAX, pauses: false, step: None };
    pub(crate) const FLOODS_DEAF: Self = Self { takes: 0, ..Self::FLOODS };
    pub(crate) const ALL: [Self; 3] = [Self::NEVER_PAUSES, Self::NEVER_READS, Self::DRIPS];
}

/// Number of reads, of writes, and of lines that were written.
#[derive(Default)]
pub(crate) struct Counts([AtomicUsize; 3]);

#[allow(dead_code, reason = "not all tests need all")]
impl Counts {
    /// Returns the number of reads and writes.
    pub(crate) fn steps(&self) -> usize {
        self.0[..2].iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Returns the counts since the last call.
    pub(crate) fn take(&self) -> [usize; 3] {
        self.0.each_ref().map(|count| count.swap(0, Ordering::Relaxed))
    }

    fn add(&self, what: usize, count: usize) {
        self.0[what].fetch_add(count, Ordering::Relaxed);
    }
}

/// Sends `first`, and then `repeated` for ever.
pub(crate) struct Hostile {
    manner: Manner,
    text: Vec<u8>,
    repeated_from: usize,
    at: usize,
    counts: Arc<Counts>,
    waits: bool,
}

impl Hostile {
    pub(crate) fn new(manner: Manner, first: &str, repeated: &str, counts: &Arc<Counts>) -> Self {
        Self {
            manner,
            text: format!("{first}{repeated}").into_bytes(),
            repeated_from: first.len(),
            at: 0,
            counts: Arc::clone(counts),
            waits: false,
        }
    }

    fn step(&self, what: usize) {
        self.counts.add(what, 1);
        self.manner.step.into_iter().for_each(virtual_time::pass);
    }
}

impl AsyncRead for Hostile {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.step(0);
        self.waits = self.manner.pauses && !self.waits;
        if self.manner.says == 0 || self.waits {
            if self.waits {
                cx.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        let len = into.len().min(self.manner.says);
        for byte in &mut into[..len] {
            *byte = self.text[self.at];
            self.at += 1;
            if self.at == self.text.len() {
                self.at = self.repeated_from;
            }
        }
        Poll::Ready(Ok(len))
    }
}

impl AsyncWrite for Hostile {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.step(1);
        let taken = &bytes[..bytes.len().min(self.manner.takes)];
        if taken.is_empty() {
            return Poll::Pending;
        }
        self.counts.add(2, taken.iter().filter(|byte| **byte == b'\n').count());
        Poll::Ready(Ok(taken.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
