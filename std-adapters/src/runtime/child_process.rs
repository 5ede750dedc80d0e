//! Servers as child processes.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_lite::io::{empty, sink};
use futures_lite::{AsyncRead, AsyncWrite};

use super::io::{BoxedStream, JoinedIo};
use super::{current, elapsed, now};
use crate::client::child::{EXIT_TIMEOUT, end};
use crate::client::{Stderr, StderrLines};

/// A server that is started as a child process and connected over its standard input and output,
/// for [`Connector::connect`](crate::asynchronous::client::Connector::connect). Its pipes are those
/// of the [`Runtime`](crate::asynchronous::Runtime) in which it is started.
///
/// It is shut down as the specification requires (2025-11-25, basic/lifecycle): closing or dropping
/// this closes its input; if it still runs some time after this was dropped
/// ([`exit_timeouts`](Self::exit_timeouts)), it gets SIGTERM, and then SIGKILL. A thread waits for
/// that, unless the process exits at once; the program should not end before.
pub struct ChildProcess {
    pipes: BoxedStream,
    /// Until this is dropped.
    child: Option<Child>,
    /// The last lines of its standard error, for messages about its end.
    pub stderr: StderrLines,
    /// How long to wait for its exit after the end of its input, and again after SIGTERM. Default:
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
    /// Errors of the operating system.
    pub fn spawn(command: &mut Command, stderr: Stderr) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr.stdio());
        let mut child = command.spawn()?;
        let stderr = stderr.read(child.stderr.take());
        let (Some(output), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(ErrorKind::BrokenPipe.into());
        };
        Ok(Self {
            pipes: current().pipes(output, input)?,
            child: Some(child),
            stderr,
            exit_timeouts: [EXIT_TIMEOUT; 2],
            closed_at: None,
        })
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

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.pipes = Box::new(JoinedIo::new(empty(), sink()));
        let Some(mut child) = self.child.take() else { return };
        // The time since its input was closed counts.
        let waited = self.closed_at.map_or(Duration::ZERO, elapsed);
        let [after_input, after_sigterm] = self.exit_timeouts;
        let timeouts = [after_input.saturating_sub(waited), after_sigterm];
        if let Ok(None) = child.try_wait() {
            // Without another thread its input is closed all the same.
            let thread = std::thread::Builder::new().name("mcp-child-end".to_owned());
            let _ = thread.spawn(move || end(child, timeouts));
        }
    }
}

mcp_sansio::opaque_debug!(ChildProcess { child });
