//! Two halves as one stream.

use std::io::{ErrorKind, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_lite::{AsyncRead, AsyncWrite};

/// A reader and a writer of their own, as one stream: a child process's pipes, standard input and
/// output.
///
/// Closed, it drops the writer: that is how the other end of a pipe sees that no more comes.
#[derive(Debug)]
pub struct JoinedIo<R, W> {
    /// What is read from.
    pub reader: R,
    /// The writer, until it is closed.
    pub writer: Option<W>,
}

impl<R, W> JoinedIo<R, W> {
    /// Puts them together.
    pub const fn new(reader: R, writer: W) -> Self {
        Self { reader, writer: Some(writer) }
    }
}

impl<R: AsyncRead + Unpin, W: Unpin> AsyncRead for JoinedIo<R, W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.reader).poll_read(cx, buffer)
    }
}

impl<R: Unpin, W: AsyncWrite + Unpin> AsyncWrite for JoinedIo<R, W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let Some(writer) = &mut self.writer else {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        };
        Pin::new(writer).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.writer.as_mut().map_or(Poll::Ready(Ok(())), |writer| Pin::new(writer).poll_flush(cx))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(Ok(())) };
        let closed = ready!(Pin::new(writer).poll_close(cx));
        self.writer = None;
        Poll::Ready(closed)
    }
}
