//! Driver of a connection on a stream.

use std::future::Future;
use std::io;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio_engine::PeerAddress;

use super::app::{App, IDLE_TIMEOUT, SHUTDOWN_TIMEOUT, Settings};
use super::broadcast::{Receiver, Registration};
use super::context::Context;
use super::reply::IntoReply;
use super::runner::Runner;
use super::stream::SharedStream;
use super::stream_io::StreamIo;
use crate::observer::{Disconnect, ObservedConnection, Transport};
use crate::runtime::timer::LazyTimer;
use crate::runtime::{self, is_gone};

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
    pub(crate) app: A,
    pub(crate) settings: Arc<Settings>,
    pub(crate) shared: Arc<SharedStream>,
    pub(crate) io: StreamIo<T>,
    pub(crate) runner: Runner<(), F>,
    /// `None` when the observer is told of the connection.
    transport: Option<Transport>,
    pub(crate) observed: Option<ObservedConnection<'static>>,
    registration: Registration,
    timer: LazyTimer,
    /// The next deadline of the core.
    pub(crate) until: Option<Instant>,
    /// Limit of [`App::idle_timeout`].
    idle_timeout: Option<Duration>,
    pub(crate) is_closing: bool,
    /// When open requests are cancelled, after a shutdown or the end of the input.
    pub(crate) ends_at: Option<Instant>,
    pub(crate) end: Option<ConnectionEnd>,
    /// Whether tasks go on after the end.
    keeps_tasks: bool,
    /// The result, while tasks go on after the end.
    result: Option<io::Result<ConnectionEnd>>,
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
        Self::from_peer(app, stream, None)
    }

    fn from_peer<H>(app: A, stream: T, peer: Option<PeerAddress>) -> Self
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
            transport: Some(Transport::Stream),
            observed: None,
            registration: settings.broadcaster.register(receiver, peer),
            runner: Runner::new(&settings, &shared.driver),
            shared,
            timer: LazyTimer::new(),
            until: None,
            idle_timeout: settings.idle_timeout,
            is_closing: false,
            ends_at: None,
            end: None,
            keeps_tasks: false,
            result: None,
            settings,
        }
    }

    pub(crate) fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// Creates an accepted connection, which has an idle timeout by default.
    pub(crate) fn accepted<H>(app: A, stream: T, peer: Option<PeerAddress>) -> Self
    where
        A: Deref<Target = App<H>>,
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let mut connection = Self::from_peer(app, stream, peer);
        connection.idle_timeout.get_or_insert(IDLE_TIMEOUT);
        {
            connection.keeps_tasks = true;
        }
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
        if this.result.is_some() {
            return this.poll_tasks(cx);
        }
        if let Some(transport) = this.transport.take() {
            let hooks = this.settings.hooks();
            this.observed = hooks.map(|hooks| ObservedConnection::new(hooks, transport));
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
                    return this.finish(Err(error), cx);
                }
            };
            this.disconnected(match end {
                ConnectionEnd::Closed => Disconnect::Closed,
                ConnectionEnd::Idle => Disconnect::Idle,
                ConnectionEnd::Unresponsive => Disconnect::Unresponsive,
                ConnectionEnd::ShutDown => Disconnect::ShutDown,
            });
            return this.finish(Ok(end), cx);
        }
        // Yields to other tasks.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<A, H, T, F> Connection<A, T, F>
where
    A: Deref<Target = App<H>> + Unpin,
    H: Fn(Context) -> F,
    T: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output: IntoReply>,
{
    /// The connection is over. Its tasks go on if others can ask for them.
    fn finish(
        &mut self,
        result: io::Result<ConnectionEnd>,
        cx: &mut task::Context<'_>,
    ) -> Poll<io::Result<ConnectionEnd>> {
        let goes_on = self.keeps_tasks || matches!(result, Ok(ConnectionEnd::ShutDown));
        if !goes_on || self.runner.tasks.is_empty() {
            return Poll::Ready(result);
        }
        self.result = Some(result);
        // Unless it is a shutdown, nothing limits them but their own time.
        self.ends_at = self.ends_at.filter(|_| self.is_closing);
        self.io.drop_stream();
        self.shared.close();
        // It does not count as a connection any more, but is still to be told of a shutdown.
        let receiver = Arc::downgrade(&self.shared) as Weak<dyn Receiver>;
        self.registration = self.settings.broadcaster.register_uncounted(receiver);
        self.poll_tasks(cx)
    }

    /// Runs the tasks that go on after the end.
    fn poll_tasks(&mut self, cx: &mut task::Context<'_>) -> Poll<io::Result<ConnectionEnd>> {
        for _ in 0..ROUNDS {
            self.shared.driver.begin_round();
            let mut moved = self.run_handlers(cx);
            if self.settings.broadcaster.is_shutting_down() {
                let timeout = self.settings.shutdown_timeout.unwrap_or(SHUTDOWN_TIMEOUT);
                self.ends_at = earlier(self.ends_at, timeout);
            }
            if self.ends_at.is_some_and(|at| at <= runtime::now()) {
                self.runner.end_tasks();
            }
            if self.runner.tasks.is_empty()
                && let Some(result) = self.result.take()
            {
                return Poll::Ready(result);
            }
            if let Some(due) = self.ends_at.into_iter().chain(self.runner.due()).min() {
                moved |= self.timer.poll(cx, due);
            }
            if !moved && self.shared.driver.register(cx.waker()) {
                return Poll::Pending;
            }
        }
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
        if self.end.is_none() && self.ends_at.is_some_and(|at| at <= runtime::now()) {
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
        if self.idle_timeout.is_some_and(|timeout| runtime::elapsed(self.io.active) >= timeout)
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
pub(crate) fn earlier(limit: Option<Instant>, timeout: Duration) -> Option<Instant> {
    limit.or_else(|| runtime::now().checked_add(timeout))
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
        assert_eq!(Connection::accepted(&app, stream(), None).idle_timeout, Some(IDLE_TIMEOUT));
        assert_eq!(Connection::new(&app, stream()).idle_timeout, None);
        // `Duration::MAX` is no limit.
        let app = App::new(&CONFIG, handler).idle_timeout(Duration::MAX);
        let connection = Connection::accepted(&app, stream(), None);
        assert_eq!((connection.idle_timeout, connection.idle_at()), (Some(Duration::MAX), None));
    }
}
