//! Servers as child processes.

use std::fmt;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_lite::{AsyncRead, AsyncWrite};

use super::child::{EXIT_TIMEOUT, end};
use super::clock;
use super::io::JoinedIo;
use crate::client::{Stderr, StderrLines};

/// A server that is started as a child process and connected over its standard input and output,
/// for [`Connector::connect`](crate::asynchronous::client::Connector::connect). Its pipes are those of tokio, if
/// it is started in a tokio runtime; otherwise of async-io.
///
/// It is shut down as the specification requires (2025-11-25, basic/lifecycle): closing or dropping
/// this closes its input; if it still runs some time after this was dropped
/// ([`exit_timeouts`](Self::exit_timeouts)), it gets SIGTERM, and then SIGKILL. A thread waits for
/// that, unless the process exits at once; the program should not end before.
pub struct ChildProcess {
    pipes: JoinedIo<Reader, Writer>,
    /// Until this is dropped.
    child: Option<Child>,
    stderr: StderrLines,
    /// Time to exit after the end of its input, and after SIGTERM.
    exit_timeouts: [Duration; 2],
    /// The time when its input was closed.
    closed_at: Option<Instant>,
}

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

impl ChildProcess {
    /// Starts the process. Its standard streams are overridden; its arguments, environment and
    /// working directory are not.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn spawn(command: &mut Command, stderr: Stderr) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr.stdio());
        let mut child = command.spawn()?;
        let stderr = stderr.read(child.stderr.take());
        let (Some(output), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        Ok(Self {
            pipes: pipes(output, input)?,
            child: Some(child),
            stderr,
            exit_timeouts: [EXIT_TIMEOUT; 2],
            closed_at: None,
        })
    }

    /// Sets how long to wait for its exit after the end of its input, and again after SIGTERM.
    /// Default: two seconds each; `Duration::MAX` waits without a limit.
    #[must_use]
    pub fn exit_timeouts(mut self, after_input: Duration, after_sigterm: Duration) -> Self {
        self.exit_timeouts = [after_input, after_sigterm];
        self
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Returns the last lines of its standard error, for messages about its end.
    #[must_use]
    pub fn stderr_lines(&self) -> StderrLines {
        self.stderr.clone()
    }
}

fn pipes(output: ChildStdout, input: ChildStdin) -> io::Result<JoinedIo<Reader, Writer>> {
    #[cfg(all(feature = "smol", feature = "tokio"))]
    if tokio::runtime::Handle::try_current().is_err() {
        return with_async_io(output, input);
    }
    #[cfg(feature = "tokio")]
    return with_tokio(output, input);
    #[cfg(not(feature = "tokio"))]
    with_async_io(output, input)
}

#[cfg(feature = "tokio")]
fn with_tokio(output: ChildStdout, input: ChildStdin) -> io::Result<JoinedIo<Reader, Writer>> {
    use tokio::process;
    use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

    let output = process::ChildStdout::from_std(output)?.compat();
    let input = process::ChildStdin::from_std(input)?.compat_write();
    Ok(JoinedIo::new(Box::new(output), Box::new(input)))
}

#[cfg(all(feature = "smol", unix))]
fn with_async_io(output: ChildStdout, input: ChildStdin) -> io::Result<JoinedIo<Reader, Writer>> {
    use async_io::Async;
    Ok(JoinedIo::new(Box::new(Async::new(output)?), Box::new(Async::new(input)?)))
}

// Pipes have no readiness there, so threads read and write them.
#[cfg(all(feature = "smol", not(unix)))]
fn with_async_io(output: ChildStdout, input: ChildStdin) -> io::Result<JoinedIo<Reader, Writer>> {
    use blocking::Unblock;
    Ok(JoinedIo::new(Box::new(Unblock::new(output)), Box::new(Unblock::new(input))))
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
            self.closed_at.get_or_insert_with(clock::now);
        }
        closed
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.pipes.writer = None;
        let Some(mut child) = self.child.take() else { return };
        // The time since its input was closed counts.
        let waited = self.closed_at.map_or(Duration::ZERO, clock::elapsed);
        let [after_input, after_sigterm] = self.exit_timeouts;
        let timeouts = [after_input.saturating_sub(waited), after_sigterm];
        if let Ok(None) = child.try_wait() {
            // Without another thread its input is closed all the same.
            let thread = std::thread::Builder::new().name("mcp-child-end".to_owned());
            let _ = thread.spawn(move || end(child, timeouts));
        }
    }
}

impl fmt::Debug for ChildProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildProcess").field("child", &self.child).finish_non_exhaustive()
    }
}
