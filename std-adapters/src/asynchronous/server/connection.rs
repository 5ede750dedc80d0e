//! Driver of a connection on a stream.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use futures_lite::{AsyncRead, AsyncWrite};

use super::app::{App, IDLE_TIMEOUT, SHUTDOWN_TIMEOUT, Settings};
use super::broadcast::{Receiver, Registration};
use super::context::Context;
use super::reply::IntoReply;
use super::runner::Runner;
use super::stream::SharedStream;
use super::stream_io::StreamIo;
use crate::asynchronous::timer::LazyTimer;
use crate::observer::{Disconnect, Hooks, ObservedConnection, Transport};

/// A connection and all of its handlers: a future to be awaited or spawned. It completes when the
/// connection ends.
///
/// `app` is a reference to an [`App`] or an [`Arc`] of one; `stream` is a socket, or a
/// [`JoinedIo`](crate::asynchronous::JoinedIo) of pipes.
///
/// Not cancel safe: dropping it closes the connection and drops its handlers. Polling it from
/// another task later is fine.
#[must_use = "a connection does nothing unless it is polled"]
pub struct Connection<A, T, F> {
    pub(super) app: A,
    pub(super) settings: Arc<Settings>,
    pub(super) shared: Arc<SharedStream>,
    pub(super) io: StreamIo<T>,
    pub(super) runner: Runner<(), F>,
    /// The observer, until it is told of the connection.
    hooks: Option<Hooks<'static>>,
    pub(super) observed: Option<ObservedConnection<'static>>,
    transport: Transport,
    _registration: Registration,
    timer: LazyTimer,
    /// The next deadline of the core.
    pub(super) until: Option<Instant>,
    /// Limit of [`App::idle_timeout`].
    idle_timeout: Option<Duration>,
    pub(super) is_closing: bool,
    /// When open requests are cancelled, after a shutdown or the end of the input.
    pub(super) ends_at: Option<Instant>,
    pub(super) end: Option<ConnectionEnd>,
}

/// Reason why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The client closed it.
    Closed,
    /// It was idle too long: see [`App::idle_timeout`].
    Idle,
    /// The client did not respond to a ping: see
    /// [`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval).
    Unresponsive,
    /// [`Broadcaster::shut_down`](super::Broadcaster::shut_down) was called.
    ShutDown,
}

impl<A, T, F> Connection<A, T, F> {
    /// Creates a connection on this stream. It counts towards [`App::max_connections`] until it is
    /// dropped.
    pub fn new<H>(app: A, stream: T) -> Self
    where
        A: Deref<Target = App<H>>,
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let settings = Arc::clone(&app.settings);
        let shared = Arc::new(SharedStream::new(&settings));
        let receiver = Arc::downgrade(&shared) as Weak<dyn Receiver>;
        Self {
            app,
            io: StreamIo::new(stream),
            hooks: settings.hooks(),
            observed: None,
            transport: Transport::Stream,
            _registration: settings.broadcaster.register(receiver),
            runner: Runner::new(&settings, &shared.driver),
            shared,
            timer: LazyTimer::new(),
            until: None,
            idle_timeout: settings.idle_timeout,
            is_closing: false,
            ends_at: None,
            end: None,
            settings,
        }
    }

    pub(in crate::asynchronous) fn transport(mut self, transport: Transport) -> Self {
        self.transport = transport;
        self
    }

    /// Creates an accepted connection, which has an idle timeout by default.
    pub(super) fn accepted<H>(app: A, stream: T) -> Self
    where
        A: Deref<Target = App<H>>,
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let mut connection = Self::new(app, stream);
        connection.idle_timeout.get_or_insert(IDLE_TIMEOUT);
        connection
    }
}

impl<A, H, T, F> Future for Connection<A, T, F>
where
    A: Deref<Target = App<H>> + Unpin,
    H: Fn(Context) -> F,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output: IntoReply>,
{
    type Output = io::Result<ConnectionEnd>;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(hooks) = this.hooks.take() {
            let connection = this.observed.insert(ObservedConnection::new(hooks));
            connection.connected(this.transport)();
        }
        this.shared.driver.begin_round();
        for _ in 0..ROUNDS {
            let end = match this.round(cx) {
                Ok(Round::Moved) => continue,
                Ok(Round::Still) if this.shared.driver.register(cx.waker()) => {
                    return Poll::Pending;
                }
                Ok(Round::Still) => continue,
                Ok(Round::Ended(end)) => end,
                Err(error) if is_gone(&error) => ConnectionEnd::Closed,
                Err(error) => {
                    this.disconnected(Disconnect::Failed(&error));
                    return Poll::Ready(Err(error));
                }
            };
            this.disconnected(match end {
                ConnectionEnd::Closed => Disconnect::Closed,
                ConnectionEnd::Idle => Disconnect::Idle,
                ConnectionEnd::Unresponsive => Disconnect::Unresponsive,
                ConnectionEnd::ShutDown => Disconnect::ShutDown,
            });
            return Poll::Ready(Ok(end));
        }
        // Yields to other tasks.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Result of a round.
enum Round {
    /// There was progress: run another round.
    Moved,
    /// Nothing to do until the task is woken.
    Still,
    Ended(ConnectionEnd),
}

impl<A, H, T, F> Connection<A, T, F>
where
    A: Deref<Target = App<H>> + Unpin,
    H: Fn(Context) -> F,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output: IntoReply>,
{
    /// One pass over all sources; none blocks the others.
    fn round(&mut self, cx: &mut task::Context<'_>) -> io::Result<Round> {
        if !self.is_closing && self.settings.broadcaster.is_shutting_down() {
            self.is_closing = true;
            let timeout = self.settings.shutdown_timeout.unwrap_or(SHUTDOWN_TIMEOUT);
            self.ends_at = earlier(self.ends_at, timeout);
            self.shared.lock().core.shut_down();
        }
        let moved = self.end.is_none() && self.steps(cx)?;
        if self.end.is_none() && self.ends_at.is_some_and(|at| at <= Instant::now()) {
            self.end(if self.io.input_ended {
                ConnectionEnd::Closed
            } else {
                ConnectionEnd::ShutDown
            });
        }
        if let Some(end) = self.end
            && (end == ConnectionEnd::Unresponsive || self.close(cx)?)
        {
            return Ok(Round::Ended(end));
        }
        if self.idle_timeout.is_some_and(|timeout| self.io.active.elapsed() >= timeout)
            && self.idle_at().is_some()
        {
            return Ok(Round::Ended(self.end.unwrap_or(ConnectionEnd::Idle)));
        }
        if moved {
            return Ok(Round::Moved);
        }
        let until = [self.until, self.ends_at, self.runner.due()];
        let until = until.into_iter().flatten().min();
        match until.filter(|_| self.end.is_none()).into_iter().chain(self.idle_at()).min() {
            Some(due) if self.timer.poll(cx, due) => Ok(Round::Moved),
            _ => Ok(Round::Still),
        }
    }

    /// Writes what is left, and closes the stream. Returns whether that is done.
    fn close(&mut self, cx: &mut task::Context<'_>) -> io::Result<bool> {
        let core = &mut self.shared.lock().core;
        while !core.tx().pending().is_empty() {
            let written = self.io.write(cx, core.tx().pending())?;
            if written == 0 {
                return Ok(false);
            }
            core.wrote(written);
        }
        self.io.close(cx)
    }
}

impl<A, T, F> Connection<A, T, F> {
    fn disconnected(&mut self, how: Disconnect<'_>) {
        self.runner.end(&());
        if let Some(connection) = &mut self.observed {
            connection.disconnected(how);
        }
    }

    /// Returns the time at which the connection counts as idle.
    fn idle_at(&self) -> Option<Instant> {
        let timeout = self.idle_timeout?;
        let core = &mut self.shared.lock().core;
        // Even with requests in flight: a client that does not read will not read their responses.
        let is_stuck = !core.tx().pending().is_empty();
        let is_idle = self.end.is_some() || is_stuck || core.machine().open_requests() == 0;
        if is_idle { self.io.active.checked_add(timeout) } else { None }
    }
}

impl<A, T, F> Drop for Connection<A, T, F> {
    fn drop(&mut self) {
        self.runner.end(&());
        self.shared.close();
    }
}

/// Returns the time after this limit, unless another limit has begun.
pub(super) fn earlier(limit: Option<Instant>, timeout: Duration) -> Option<Instant> {
    limit.or_else(|| Instant::now().checked_add(timeout))
}

/// Returns whether the error means that the client closed the connection.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
    )
}

/// Rounds in a row before the task yields. A round reads once and writes once.
const ROUNDS: usize = 16;

#[cfg(test)]
mod tests {
    use mcp_sansio::ServerConfig;
    use mcp_sansio::types::Implementation;

    use super::*;
    use crate::asynchronous::JoinedIo;

    static CONFIG: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("t", "1"), mcp_sansio::ServerFeatures::NONE);

    #[test]
    fn d4_only_connections_that_were_accepted_have_an_idle_limit_by_default() {
        let handler = |ctx: Context| async move { ctx.reply(&[0_u8; 0]) };
        let stream = || JoinedIo::new(futures_lite::io::empty(), futures_lite::io::sink());
        let app = App::new(&CONFIG, handler);
        assert_eq!(Connection::accepted(&app, stream()).idle_timeout, Some(IDLE_TIMEOUT));
        assert_eq!(Connection::new(&app, stream()).idle_timeout, None);
        // `Duration::MAX` is no limit.
        let app = App::new(&CONFIG, handler).idle_timeout(Duration::MAX);
        let connection = Connection::accepted(&app, stream());
        assert_eq!((connection.idle_timeout, connection.idle_at()), (Some(Duration::MAX), None));
    }
}
