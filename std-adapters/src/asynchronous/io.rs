//! Streams: accepted sockets, and pairs of a reader and a writer.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_lite::{AsyncRead, AsyncWrite};

/// An accepted connection. It reads as [`Async`] does, with fewer system calls: a read that did not
/// fill the buffer has emptied the socket, so the next one waits for readiness first.
pub struct Socket<T> {
    stream: Async<T>,
    /// Whether there may be data to read.
    is_readable: bool,
}

impl<T> Socket<T> {
    pub(super) fn new(stream: Async<T>) -> Self {
        // Most clients send right after they connect.
        Self { stream, is_readable: true }
    }

    /// Returns the socket itself.
    pub fn get_ref(&self) -> &T {
        self.stream.get_ref()
    }
}

impl<T> AsyncRead for Socket<T>
where
    for<'s> &'s T: Read,
    T: Unpin,
{
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            if !self.is_readable {
                match self.stream.poll_readable(cx) {
                    Poll::Ready(ready) => ready?,
                    Poll::Pending => return Poll::Pending,
                }
                self.is_readable = true;
            }
            let read = self.stream.get_ref().read(buf);
            match read {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.is_readable = false,
                // End of input and errors are returned again by the next read.
                Ok(read) if read > 0 && read < buf.len() => {
                    self.is_readable = false;
                    return Poll::Ready(Ok(read));
                }
                other => return Poll::Ready(other),
            }
        }
    }
}

impl<T> AsyncWrite for Socket<T>
where
    T: Unpin,
    Async<T>: AsyncWrite + Unpin,
{
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

impl<T> fmt::Debug for Socket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").finish_non_exhaustive()
    }
}

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
