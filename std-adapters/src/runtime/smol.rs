//! smol: the timers and sockets of async-io, the threads of `blocking`.

use std::any::Any;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::pin::Pin;
use std::process::{ChildStdin, ChildStdout};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use async_io::{Async, Timer};
use blocking::Unblock;
use futures_lite::{AsyncRead, AsyncWrite};

use super::io::{BoxedListener, BoxedStream, Boxing, JoinedIo};
use super::{LocalFuture, Runtime, RuntimeFuture};
use crate::asynchronous::{Accepted, Listener};
#[cfg(unix)]
use crate::waiting::Waiting;

/// The runtime of everything that no other polls.
pub(super) struct Smol;

impl Runtime for Smol {
    fn sleep_until(&self, at: Instant) -> RuntimeFuture<()> {
        let mut timer = Timer::at(at);
        Box::pin(poll_fn(move |cx| Pin::new(&mut timer).poll(cx).map(|_| ())))
    }

    fn run_blocking(&self, work: Box<dyn FnOnce() + Send>) -> RuntimeFuture<()> {
        Box::pin(blocking::unblock(work))
    }

    fn connect(&self, address: SocketAddr) -> RuntimeFuture<io::Result<BoxedStream>> {
        Box::pin(async move {
            let stream = Async::<TcpStream>::connect(address).await?;
            stream.get_ref().set_nodelay(true)?;
            Ok(Box::new(stream) as BoxedStream)
        })
    }

    fn listen(&self, listener: TcpListener) -> io::Result<BoxedListener> {
        Ok(Box::new(Boxing(Async::new(listener)?)))
    }

    fn block_on(&self, future: LocalFuture<'_>) -> io::Result<()> {
        async_io::block_on(future);
        Ok(())
    }

    #[cfg(unix)]
    fn pipes(&self, output: ChildStdout, input: ChildStdin) -> io::Result<BoxedStream> {
        Ok(Box::new(JoinedIo::new(Async::new(output)?, Async::new(input)?)))
    }

    // Pipes have no readiness there, so threads read and write them.
    #[cfg(not(unix))]
    fn pipes(&self, output: ChildStdout, input: ChildStdin) -> io::Result<BoxedStream> {
        Ok(Box::new(JoinedIo::new(Unblock::new(output), Unblock::new(input))))
    }

    fn files(&self, input: File, output: File) -> io::Result<BoxedStream> {
        #[cfg(unix)]
        let (input, output) = (Waiting(input), Waiting(output));
        Ok(Box::new(JoinedIo::new(Unblock::new(input), Unblock::new(output))))
    }
}

/// An accepted connection. It reads as [`Async`] does, with fewer system calls: a read that did not
/// fill the buffer has emptied the socket, so the next one waits for readiness first.
pub struct Socket<T> {
    stream: Async<T>,
    /// Whether there may be data to read.
    is_readable: bool,
}

impl<T> Socket<T> {
    pub(crate) fn new(stream: Async<T>) -> Self {
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
                ready!(self.stream.poll_readable(cx))?;
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
    T: Unpin + 'static,
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
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(cx));
        shut_down(&mut self.stream);
        Poll::Ready(flushed)
    }
}

mcp_sansio::opaque_debug!([T] Socket<T> {});

impl Listener for Async<TcpListener> {
    type Stream = Socket<TcpStream>;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted<Self::Stream>>> {
        poll_accept(self, cx, |listener| {
            let (stream, peer) = listener.accept()?;
            // Responses are small and awaited by the client. A connection that is closed already is
            // detected by the next read.
            let _ = stream.set_nodelay(true);
            Ok((Socket::new(Async::new(stream)?), Some(peer.ip())))
        })
    }
}

#[cfg(unix)]
impl Listener for Async<UnixListener> {
    type Stream = Socket<UnixStream>;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted<Self::Stream>>> {
        poll_accept(self, cx, |listener| Ok((Socket::new(Async::new(listener.accept()?.0)?), None)))
    }
}

fn poll_accept<L, T>(
    listener: &Async<L>,
    cx: &mut Context<'_>,
    accept: impl Fn(&L) -> io::Result<T>,
) -> Poll<io::Result<T>> {
    loop {
        match accept(listener.get_ref()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            accepted => return Poll::Ready(accepted),
        }
        ready!(listener.poll_readable(cx))?;
    }
}

/// Shuts a socket down for writing, so that the peer sees the end of its input. Most streams do so
/// when they are closed; [`Async`] only flushes.
pub(crate) fn shut_down<T: 'static>(stream: &mut T) {
    let stream: &mut dyn Any = stream;
    // A socket that is no longer connected need not be shut down.
    if let Some(socket) = stream.downcast_ref::<Async<TcpStream>>() {
        let _ = socket.get_ref().shutdown(Shutdown::Write);
    }
    #[cfg(unix)]
    if let Some(socket) = stream.downcast_ref::<Async<UnixStream>>() {
        let _ = socket.get_ref().shutdown(Shutdown::Write);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;

    use futures_lite::AsyncWriteExt as _;

    use super::*;

    #[test]
    fn an_accepted_socket_that_is_closed_ends_the_input_of_its_client() {
        let (server, mut client) = UnixStream::pair().unwrap();
        let mut server = Socket::new(Async::new(server).unwrap());
        async_io::block_on(async {
            server.write_all(b"bye").await.unwrap();
            server.close().await.unwrap();
        });
        // The server still reads: its client may be sending.
        client.set_nonblocking(true).unwrap();
        let mut read = Vec::new();
        client.read_to_end(&mut read).unwrap();
        assert_eq!(read, b"bye");
        client.write_all(b"more").unwrap();
        drop(server);
    }
}
