//! Sockets, listeners, standard streams and child processes of tokio.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::process::Stdio;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_lite::{AsyncRead, AsyncWrite};
use tokio::io::{Stdin, Stdout};
use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use super::JoinedIo;
use super::server::Listener;

/// A stream of tokio, for [`Connector::connect`](super::client::Connector::connect) and
/// [`Connection::new`](super::Connection::new).
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

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Self::Stream>> {
        Self::poll_accept(self, cx).map_ok(|(stream, _)| {
            // Responses are small and awaited by the client. A connection that is closed already is
            // detected by the next read.
            let _ = stream.set_nodelay(true);
            TokioStream::new(stream)
        })
    }
}

#[cfg(unix)]
impl Listener for UnixListener {
    type Stream = TokioStream<UnixStream>;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Self::Stream>> {
        Self::poll_accept(self, cx).map_ok(|(stream, _)| TokioStream::new(stream))
    }
}

/// Standard input and output, for [`Connection::new`](super::Connection::new). tokio reads on a
/// thread, which the end of a runtime waits for: call `Runtime::shutdown_background` if the program
/// ends before its input does.
#[must_use]
pub fn tokio_stdio() -> JoinedIo<TokioStream<Stdin>, TokioStream<Stdout>> {
    let output = TokioStream(tokio::io::stdout().compat_write());
    JoinedIo::new(TokioStream::new(tokio::io::stdin()), output)
}

/// A server that is started as a child process and connected over its standard input and output,
/// for [`Connector::connect`](super::client::Connector::connect).
///
/// It is shut down as the specification requires (2025-11-25, basic/lifecycle): closing this closes
/// its input; if it runs two seconds after this was dropped, it gets SIGTERM, and after two seconds
/// more SIGKILL. A task does that; if the runtime ends before, the process gets SIGKILL at once.
#[derive(Debug)]
pub struct TokioChild {
    pipes: JoinedIo<TokioStream<ChildStdout>, TokioStream<ChildStdin>>,
    /// Until this is dropped.
    child: Option<Child>,
}

impl TokioChild {
    /// Starts the process. Its standard input and output are overridden; its arguments,
    /// environment, working directory and standard error are not.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        let input = TokioStream(input.compat_write());
        Ok(Self { pipes: JoinedIo::new(TokioStream::new(output), input), child: Some(child) })
    }

    /// Returns the process id while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }
}

impl AsyncRead for TokioChild {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipes).poll_read(cx, buffer)
    }
}

impl AsyncWrite for TokioChild {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipes).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipes).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipes).poll_close(cx)
    }
}

impl Drop for TokioChild {
    fn drop(&mut self) {
        self.pipes.writer = None;
        if let (Some(child), Ok(runtime)) = (self.child.take(), Handle::try_current()) {
            runtime.spawn(end(child));
        }
    }
}

/// Waits for the exit of a process whose input is closed, and then makes it exit.
async fn end(mut child: Child) {
    if tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await.is_ok() {
        return;
    }
    #[cfg(unix)]
    if let Some(id) = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
        // The process has not been reaped, so the id is still its own.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        if tokio::time::timeout(EXIT_TIMEOUT, child.wait()).await.is_ok() {
            return;
        }
    }
    let _ = child.kill().await;
}

/// Time to exit after the end of its input, and after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
