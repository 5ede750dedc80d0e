//! Pairs of a reader and a writer.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_lite::{AsyncRead, AsyncWrite};

/// Joins a reader and a writer into one stream: the pipes of a child process, standard input and
/// output.
///
/// Closing it drops the writer, which closes the pipe for the other end.
#[derive(Debug)]
pub struct JoinedIo<R, W> {
    /// The reading half.
    pub reader: R,
    /// The writing half, until it is closed.
    pub writer: Option<W>,
}

impl<R, W> JoinedIo<R, W> {
    /// Joins the two halves.
    pub const fn new(reader: R, writer: W) -> Self {
        Self { reader, writer: Some(writer) }
    }
}

impl<R: AsyncRead + Unpin, W: Unpin> AsyncRead for JoinedIo<R, W> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.reader).poll_read(cx, buffer)
    }
}

impl<R: Unpin, W: AsyncWrite + Unpin> AsyncWrite for JoinedIo<R, W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Some(writer) = &mut self.writer else {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        };
        Pin::new(writer).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer.as_mut().map_or(Poll::Ready(Ok(())), |writer| Pin::new(writer).poll_flush(cx))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(writer) = &mut self.writer else { return Poll::Ready(Ok(())) };
        let closed = ready!(Pin::new(writer).poll_close(cx));
        self.writer = None;
        Poll::Ready(closed)
    }
}
