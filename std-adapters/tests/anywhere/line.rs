//! A serial line whose client sends a call once it has the response to the one before.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::task::Poll;

use embedded_io_async::{ErrorType, Read, Write};
use mcp_sansio::Instant;
use mcp_sansio_adapters::embedded_async::Clock;

pub(crate) struct Line {
    calls: Vec<String>,
    sent: Cell<usize>,
    output: RefCell<Vec<u8>>,
}

pub(crate) struct Receiver<'l>(pub(crate) &'l Line);
pub(crate) struct Sender<'l>(pub(crate) &'l Line);

/// A clock that stands still.
pub(crate) struct Still;

impl Line {
    pub(crate) fn new(calls: Vec<String>) -> Self {
        Self { calls, sent: Cell::new(0), output: RefCell::default() }
    }

    pub(crate) fn output(&self) -> String {
        String::from_utf8(self.output.borrow().clone()).unwrap()
    }

    /// Returns the number of calls that have their response.
    fn responses(&self) -> usize {
        self.output().lines().filter(|line| line.contains(r#""id":"#)).count()
    }

    /// Returns the bytes that the client can send now.
    fn sendable(&self) -> &[u8] {
        let mut start = 0;
        for call in self.calls.iter().take(self.responses() + 1) {
            if let Some(rest @ [_, ..]) = call.as_bytes().get(self.sent.get() - start..) {
                return rest;
            }
            start += call.len();
        }
        &[]
    }
}

impl ErrorType for Receiver<'_> {
    type Error = Infallible;
}

impl ErrorType for Sender<'_> {
    type Error = Infallible;
}

impl Read for Receiver<'_> {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Infallible> {
        poll_fn(|cx| {
            let bytes = self.0.sendable();
            let len = bytes.len().min(into.len());
            into[..len].copy_from_slice(&bytes[..len]);
            self.0.sent.set(self.0.sent.get() + len);
            if len > 0 || self.0.responses() == self.0.calls.len() {
                return Poll::Ready(Ok(len));
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await
    }
}

impl Write for Sender<'_> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        self.0.output.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

impl Clock for Still {
    fn now(&self) -> Instant {
        Instant::from_millis(0)
    }

    fn sleep_until(&self, _: Instant) -> impl Future<Output = ()> {
        pending()
    }
}
