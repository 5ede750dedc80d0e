//! Streams of any type, and pairs of a reader and a writer.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::process::{Child, Command};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_lite::io::{empty, sink};
use futures_lite::{AsyncRead, AsyncWrite};

use super::{current, elapsed, now};
use crate::asynchronous::{Accepted, Listener};
use crate::client::child::{EXIT_TIMEOUT, Stderr, StderrLines, end, spawn};

/// A stream of any type.
pub type BoxedStream = Box<dyn ReadWrite>;

/// Both halves of a stream, for [`BoxedStream`].
pub trait ReadWrite: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> ReadWrite for T {}

/// A listener of any type.
pub type BoxedListener = Box<dyn Listener<Stream = BoxedStream> + Send + Sync>;

/// A listener whose streams are boxed.
#[cfg(any(feature = "smol", feature = "tokio"))]
pub(super) struct Boxing<L>(pub(super) L);

#[cfg(any(feature = "smol", feature = "tokio"))]
impl<L: Listener<Stream: Send + 'static>> Listener for Boxing<L> {
    type Stream = BoxedStream;

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted<BoxedStream>>> {
        self.0.poll_accept(cx).map_ok(|(stream, peer)| (Box::new(stream) as BoxedStream, peer))
    }
}

/// Polls for the next connection whose client is still there.
pub(crate) fn poll_accept<L: Listener + ?Sized>(
    listener: &L,
    cx: &mut Context<'_>,
) -> Poll<io::Result<Accepted<L::Stream>>> {
    match listener.poll_accept(cx) {
        Poll::Ready(Err(error)) if is_of_one(&error) => {
            // Others get their turn, however many have gone.
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        accepted => accepted,
    }
}

/// Returns whether an error of accepting is that of one connection (`accept(2)` of Linux, `accept`
/// of Windows) and says nothing about the next.
fn is_of_one(error: &io::Error) -> bool {
    use ErrorKind::{
        ConnectionAborted, ConnectionReset, HostUnreachable, Interrupted, NetworkUnreachable,
    };
    // No others: a listener that has failed for good may return them for ever.
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | HostUnreachable | Interrupted | NetworkUnreachable
    )
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

// Servers as child processes.

/// A server that is started as a child process and connected over its standard input and output,
/// for [`Connector::connect`](crate::asynchronous::client::Connector::connect). Its pipes are those
/// of the [`Runtime`](crate::asynchronous::Runtime) in which it is started.
///
/// It is shut down as the specification requires (2025-11-25, basic/lifecycle): closing or dropping
/// this closes its input; if it still runs some time after this was dropped
/// ([`exit_timeouts`](Self::exit_timeouts)), it gets SIGTERM, and then SIGKILL; on Windows it is
/// terminated, since nothing there asks it to exit. A thread waits for that, unless the process
/// exits at once; the program should not end before.
pub struct ChildProcess {
    pipes: BoxedStream,
    /// Until this is dropped.
    child: Option<Child>,
    /// The last lines of its standard error, for messages about its end.
    pub stderr: StderrLines,
    /// Times to wait for its exit after the end of its input, and again after SIGTERM. Default:
    /// two seconds each; `Duration::MAX` waits without a limit.
    pub exit_timeouts: [Duration; 2],
    /// The time when its input was closed.
    closed_at: Option<Instant>,
}

impl ChildProcess {
    /// Starts the process. Its standard streams are overridden; its arguments, environment and
    /// working directory are not.
    ///
    /// # Errors
    /// Errors of the operating system; a [`Runtime`](crate::asynchronous::Runtime) of yours without
    /// pipes, which ends the process again.
    pub fn spawn(command: &mut Command, stderr: Stderr) -> io::Result<Self> {
        let (child, output, input, stderr) = spawn(command, &stderr)?;
        // From here on it is ended if it is dropped.
        let mut process = Self {
            pipes: no_pipes(),
            child: Some(child),
            stderr,
            exit_timeouts: [EXIT_TIMEOUT; 2],
            closed_at: None,
        };
        process.pipes = current().pipes(output, input)?;
        Ok(process)
    }

    /// Returns the process id.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

impl AsyncRead for ChildProcess {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipes).poll_read(cx, buffer)
    }
}

impl AsyncWrite for ChildProcess {
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
        let closed = Pin::new(&mut self.pipes).poll_close(cx);
        if closed.is_ready() {
            self.closed_at.get_or_insert_with(now);
        }
        closed
    }
}

fn no_pipes() -> BoxedStream {
    Box::new(JoinedIo::new(empty(), sink()))
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.pipes = no_pipes();
        let Some(mut child) = self.child.take() else { return };
        // The time since its input was closed counts.
        let waited = self.closed_at.map_or(Duration::ZERO, elapsed);
        let [after_input, after_sigterm] = self.exit_timeouts;
        let timeouts = [after_input.saturating_sub(waited), after_sigterm];
        if let Ok(None) = child.try_wait() {
            // Without another thread its input is closed all the same.
            let thread = std::thread::Builder::new().name("mcp-child-end".to_owned());
            let _ = thread.spawn(move || end(&mut child, timeouts, std::thread::sleep));
        }
    }
}

mcp_sansio::opaque_debug!(ChildProcess { child });
