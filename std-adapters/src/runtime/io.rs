//! Streams of any type, and pairs of a reader and a writer.

use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_lite::{AsyncRead, AsyncWrite};

use crate::asynchronous::Listener;

/// A stream of any type.
pub type BoxedStream = Box<dyn ReadWrite>;

/// Both halves of a stream, for [`BoxedStream`].
pub trait ReadWrite: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> ReadWrite for T {}

/// A listener of any type.
pub type BoxedListener = Box<dyn Listener<Stream = AcceptedStream> + Send + Sync>;

/// A stream of a [`BoxedListener`].
pub struct AcceptedStream {
    /// The stream.
    pub stream: BoxedStream,
    /// The address of its client, if it is known: see [`Listener::peer_address`].
    pub peer_address: Option<IpAddr>,
}

impl AsyncRead for AcceptedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for AcceptedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }
}

mcp_sansio::opaque_debug!(AcceptedStream { peer_address });

/// A listener whose streams are boxed.
#[cfg(any(feature = "smol", feature = "tokio"))]
pub(super) struct Boxing<L>(pub(super) L);

#[cfg(any(feature = "smol", feature = "tokio"))]
impl<L: Listener<Stream: Send + 'static>> Listener for Boxing<L> {
    type Stream = AcceptedStream;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<AcceptedStream>> {
        self.0.poll_accept(cx).map_ok(|stream| AcceptedStream {
            peer_address: self.0.peer_address(&stream),
            stream: Box::new(stream),
        })
    }

    fn peer_address(&self, stream: &AcceptedStream) -> Option<IpAddr> {
        stream.peer_address
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
