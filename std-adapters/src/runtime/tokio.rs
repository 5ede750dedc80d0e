//! tokio: its timers and threads, sockets, listeners and standard streams.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::process::{ChildStdin, ChildStdout};
use std::task::{Context, Poll};
use std::time::Instant;

use futures_lite::{AsyncRead, AsyncWrite};
#[cfg(unix)]
use rustix::fs::{OFlags, fcntl_getfl};
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use super::io::{BoxedListener, BoxedStream, Boxing, JoinedIo};
use super::{LocalFuture, Runtime, RuntimeFuture};
use crate::asynchronous::{Accepted, Listener};

/// The runtime of what is polled in one of tokio.
pub(super) struct Tokio;

impl Runtime for Tokio {
    fn sleep_until(&self, at: Instant) -> RuntimeFuture<()> {
        Box::pin(tokio::time::sleep_until(at.into()))
    }

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) -> RuntimeFuture<()> {
        let work = tokio::task::spawn_blocking(work);
        Box::pin(async { drop(work.await) })
    }

    fn connect(&self, address: SocketAddr) -> RuntimeFuture<io::Result<BoxedStream>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(TokioStream::new(stream)) as BoxedStream)
        })
    }

    fn listen(&self, listener: std::net::TcpListener) -> io::Result<BoxedListener> {
        Ok(Box::new(Boxing(TcpListener::from_std(listener)?)))
    }

    fn block_on(&self, future: LocalFuture<'_>) -> io::Result<()> {
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future);
        Ok(())
    }

    fn pipes(&self, output: ChildStdout, input: ChildStdin) -> io::Result<BoxedStream> {
        let output = tokio::process::ChildStdout::from_std(output)?.compat();
        let input = tokio::process::ChildStdin::from_std(input)?.compat_write();
        Ok(Box::new(JoinedIo::new(output, input)))
    }

    fn files(&self, input: File, output: File) -> io::Result<BoxedStream> {
        Ok(Box::new(JoinedIo::new(reader(input)?, writer(output)?)))
    }
}

/// Threads read a file, but not one that another process with the same open file has set to
/// non-blocking mode: that has readiness, as a pipe.
fn reader(file: File) -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    #[cfg(unix)]
    if let Some(file) = non_blocking(&file)?
        && let Ok(pipe) = tokio::process::ChildStdout::from_std(file.into())
    {
        return Ok(Box::new(pipe.compat()));
    }
    Ok(Box::new(tokio::fs::File::from_std(file).compat()))
}

/// Writes as [`reader`] reads.
fn writer(file: File) -> io::Result<Box<dyn AsyncWrite + Send + Unpin>> {
    #[cfg(unix)]
    if let Some(file) = non_blocking(&file)?
        && let Ok(pipe) = tokio::process::ChildStdin::from_std(file.into())
    {
        return Ok(Box::new(pipe.compat_write()));
    }
    Ok(Box::new(tokio::fs::File::from_std(file).compat_write()))
}

/// Returns another descriptor of a file in non-blocking mode. Regular files have no readiness, and
/// need none.
#[cfg(unix)]
fn non_blocking(file: &File) -> io::Result<Option<OwnedFd>> {
    let is_set = fcntl_getfl(file)?.contains(OFlags::NONBLOCK);
    is_set.then(|| file.try_clone().map(OwnedFd::from)).transpose()
}

/// A stream of tokio, for [`Connection::new`] and
/// [`Connector::connect`](crate::asynchronous::client::Connector::connect).
///
/// [`Connection::new`]: crate::asynchronous::Connection::new
#[derive(Debug)]
pub struct TokioStream<T>(Compat<T>);

impl<T: tokio::io::AsyncRead> TokioStream<T> {
    /// Wraps a stream.
    pub fn new(stream: T) -> Self {
        Self(stream.compat())
    }
}

impl<T> TokioStream<T> {
    /// Returns the stream of tokio.
    pub fn get_ref(&self) -> &T {
        self.0.get_ref()
    }
}

impl<T: tokio::io::AsyncRead + Unpin> AsyncRead for TokioStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<T: tokio::io::AsyncWrite + Unpin> AsyncWrite for TokioStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

impl Listener for TcpListener {
    type Stream = TokioStream<TcpStream>;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted<Self::Stream>>> {
        Self::poll_accept(self, cx).map_ok(|(stream, peer)| {
            // Responses are small and awaited by the client. A connection that is closed already is
            // detected by the next read.
            let _ = stream.set_nodelay(true);
            (TokioStream::new(stream), Some(peer.ip()))
        })
    }
}

#[cfg(unix)]
impl Listener for UnixListener {
    type Stream = TokioStream<UnixStream>;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted<Self::Stream>>> {
        Self::poll_accept(self, cx).map_ok(|(stream, _)| (TokioStream::new(stream), None))
    }
}
