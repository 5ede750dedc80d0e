//! Reading and writing of a stream.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::Spare;

use crate::runtime;

/// A stream, and when it was used.
pub(crate) struct StreamIo<T> {
    /// `None` once it is dropped.
    stream: Option<T>,
    pub(crate) input_ended: bool,
    is_flushed: bool,
    /// Time of the last activity: a message, an empty output buffer, or [`PROGRESS`] bytes.
    pub(crate) active: Instant,
    /// Bytes read and written since then.
    bytes_since: usize,
}

impl<T> StreamIo<T> {
    pub(crate) fn new(stream: T) -> Self {
        let active = runtime::now();
        Self { stream: Some(stream), input_ended: false, is_flushed: true, active, bytes_since: 0 }
    }

    pub(crate) fn drop_stream(&mut self) {
        self.stream = None;
    }

    /// Records activity.
    pub(crate) fn progressed(&mut self) {
        (self.active, self.bytes_since) = (runtime::now(), 0);
    }

    fn moved(&mut self, bytes: usize) {
        self.bytes_since += bytes;
        if self.bytes_since >= PROGRESS {
            self.progressed();
        }
    }
}

/// Returns the stream.
fn pinned<T: Unpin>(stream: &mut Option<T>) -> io::Result<Pin<&mut T>> {
    stream.as_mut().map(Pin::new).ok_or_else(|| ErrorKind::NotConnected.into())
}

impl<T: AsyncRead + AsyncWrite + Unpin> StreamIo<T> {
    /// Reads once. Returns whether anything was read, or the input has ended.
    pub(crate) fn read(&mut self, cx: &mut Context<'_>, to: &mut Spare<'_>) -> io::Result<bool> {
        // Without memory, a message waits for room for its response.
        if self.input_ended || to.spare().is_empty() {
            return Ok(false);
        }
        let Some(read) = retried(|| pinned(&mut self.stream)?.poll_read(cx, to.spare()))? else {
            return Ok(false);
        };
        to.commit(read);
        self.input_ended = read == 0;
        self.moved(read);
        Ok(true)
    }

    /// Writes once, and flushes what was written completely. Returns the number of bytes.
    pub(crate) fn write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        if !bytes.is_empty() {
            written = match retried(|| pinned(&mut self.stream)?.poll_write(cx, bytes))? {
                Some(0) => return Err(ErrorKind::WriteZero.into()),
                Some(written) => written,
                None => return Ok(0),
            };
            self.is_flushed = false;
            self.moved(written);
        }
        if written == bytes.len() && !self.is_flushed {
            if written > 0 {
                self.progressed();
            }
            self.is_flushed = retried(|| pinned(&mut self.stream)?.poll_flush(cx))?.is_some();
        }
        Ok(written)
    }

    /// Closes the stream once it is flushed. Returns whether that is done.
    pub(crate) fn close(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        self.write(cx, &[])?;
        Ok(self.is_flushed && pinned(&mut self.stream)?.poll_close(cx).is_ready())
    }
}

/// Returns the result of an operation, `None` if it is pending.
fn retried<R>(mut poll: impl FnMut() -> Poll<io::Result<R>>) -> io::Result<Option<R>> {
    loop {
        match poll() {
            Poll::Pending => return Ok(None),
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            Poll::Ready(result) => return result.map(Some),
        }
    }
}

/// Number of bytes that count as activity without a message or an empty output buffer.
const PROGRESS: usize = 64 << 10;
