//! Driver of one connection.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use futures_lite::{AsyncRead, AsyncWrite};
use mcp_sansio::RxBuffer;

use super::app::{App, IDLE_TIMEOUT};
use super::broadcast::Broadcaster;
use super::context::Context;
use super::dispatcher::Dispatcher;
use super::inner::ConnectionInner;
use super::reply::IntoReply;
use crate::asynchronous::timer::Timer;
use crate::observer::{Disconnect, Hooks, Transport};

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
    app: A,
    /// The observer, until it is told of the connection.
    hooks: Option<Hooks<'static>>,
    transport: Transport,
    stream: T,
    rx: RxBuffer<Vec<u8>>,
    inner: Arc<ConnectionInner>,
    dispatcher: Dispatcher<F>,
    broadcaster: Broadcaster,
    receiver_id: u64,
    timer: Timer,
    timer_at: Option<Instant>,
    /// Whether the frame that is lent next waits for another request to end.
    is_held: bool,
    /// Limit of [`App::idle_timeout`].
    idle_timeout: Option<Duration>,
    /// Time of the last activity: a line, an empty output buffer, or [`PROGRESS`] bytes.
    active: Instant,
    /// Bytes read and written since `active`.
    read_since: usize,
    written_since: usize,
    input_ended: bool,
    is_flushed: bool,
    end: Option<ConnectionEnd>,
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
    /// [`Broadcaster::shut_down`] was called.
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
        let inner = Arc::new(ConnectionInner::new(&app.settings));
        let weak = Arc::downgrade(&inner);
        let broadcaster = app.broadcaster().clone();
        Self {
            hooks: app.settings.hooks(),
            transport: Transport::Stream,
            stream,
            rx: RxBuffer::with_limit(Vec::new(), app.settings.max_line),
            inner,
            dispatcher: Dispatcher::new(),
            receiver_id: broadcaster.add(weak),
            broadcaster,
            timer: Timer::never(),
            timer_at: None,
            is_held: false,
            idle_timeout: app.settings.idle_timeout,
            active: Instant::now(),
            read_since: 0,
            written_since: 0,
            input_ended: false,
            is_flushed: true,
            end: None,
            app,
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
            this.dispatcher.connected(hooks, this.transport);
        }
        this.inner.driver.begin_round();
        for _ in 0..ROUNDS {
            let end = match this.round(cx) {
                Ok(Round::Moved) => continue,
                Ok(Round::Still) if this.inner.driver.register(cx.waker()) => return Poll::Pending,
                Ok(Round::Still) => continue,
                Ok(Round::Ended(end)) => end,
                Err(error) if is_gone(&error) => ConnectionEnd::Closed,
                Err(error) => {
                    this.dispatcher.disconnected(Disconnect::Failed(&error));
                    return Poll::Ready(Err(error));
                }
            };
            this.dispatcher.disconnected(match end {
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
        let mut moved = false;
        if self.end.is_none() {
            moved |= self.read(cx)?;
            self.dispatcher.is_closing = self.broadcaster.is_shutting_down();
            moved |= self.take_frames(cx);
            moved |= self.dispatcher.run(&self.app, &self.inner, cx);
            moved |= self.dispatcher.handle_timeouts(&self.app, &self.inner, cx);
            self.dispatcher.send(&self.inner);
        }
        moved |= self.write(cx)?;
        if self.dispatcher.is_unresponsive {
            return Ok(Round::Ended(ConnectionEnd::Unresponsive));
        }
        self.see_whether_it_ends();
        if let Some(end) = self.end
            && self.is_flushed
            && self.inner.lock().output.tx.pending().is_empty()
            && Pin::new(&mut self.stream).poll_close(cx).is_ready()
        {
            return Ok(Round::Ended(end));
        }
        moved |= self.poll_timer(cx);
        if self.idle_at().is_some_and(|at| at <= Instant::now()) {
            return Ok(Round::Ended(self.end.unwrap_or(ConnectionEnd::Idle)));
        }
        Ok(if moved { Round::Moved } else { Round::Still })
    }

    fn read(&mut self, cx: &mut task::Context<'_>) -> io::Result<bool> {
        // The buffer is full only while a frame waits for room for its response.
        if self.input_ended || self.rx.spare().is_empty() {
            return Ok(false);
        }
        match Pin::new(&mut self.stream).poll_read(cx, self.rx.spare()) {
            Poll::Pending => return Ok(false),
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Ready(Ok(0)) => {
                self.input_ended = true;
                self.rx.end_of_input();
            }
            Poll::Ready(Ok(read)) => {
                self.rx.commit(read);
                self.read_since += read;
                if self.read_since >= PROGRESS {
                    self.progressed();
                }
            }
        }
        Ok(true)
    }

    /// Processes frames, as long as there is room for the responses of the core. If a response does
    /// not fit, the buffer lends the frame again later.
    fn take_frames(&mut self, cx: &mut task::Context<'_>) -> bool {
        let mut moved = false;
        let now = self.inner.now();
        self.dispatcher.has_frames = true;
        // Frames behind it cannot release what it waits for.
        if self.is_held
            && !self.input_ended
            && self.dispatcher.still_holds_back(&self.app, &self.inner)
        {
            return moved;
        }
        for number in 0.. {
            if !self.rx.is_mid_frame() && !self.inner.lock().has_room() {
                return moved;
            }
            // Yields to the other sources.
            if number == FRAMES {
                return true;
            }
            let is_new = !self.rx.is_mid_frame();
            let Some(mut messages) = self.rx.next_messages() else { break };
            if is_new {
                (self.active, self.read_since) = (Instant::now(), 0);
            }
            loop {
                self.is_held = !self.input_ended
                    && self.dispatcher.holds_back(&self.app, &self.inner, &messages);
                if self.is_held {
                    return moved;
                }
                let event = self.inner.lock().next_event(now, &mut messages);
                match event {
                    Ok(Some(event)) => {
                        moved = true;
                        self.dispatcher.event(&event, &self.app, &self.inner, cx);
                    }
                    Ok(None) => break,
                    Err(_) => return moved,
                }
            }
        }
        self.dispatcher.has_frames = false;
        moved
    }

    fn write(&mut self, cx: &mut task::Context<'_>) -> io::Result<bool> {
        let mut moved = false;
        for number in 0.. {
            let mut state = self.inner.lock();
            let tx = &mut state.output.tx;
            if tx.pending().is_empty() {
                break;
            }
            // Yields to the other sources.
            if number == WRITES {
                return Ok(true);
            }
            match Pin::new(&mut self.stream).poll_write(cx, tx.pending()) {
                Poll::Pending => return Ok(moved),
                Poll::Ready(Ok(0)) => return Err(ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => {
                    tx.advance(written);
                    let is_empty = tx.pending().is_empty();
                    drop(state);
                    self.inner.drained();
                    self.written_since += written;
                    if is_empty || self.written_since >= PROGRESS {
                        self.progressed();
                    }
                    self.is_flushed = false;
                    moved = true;
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
        if !self.is_flushed
            && let Poll::Ready(flushed) = Pin::new(&mut self.stream).poll_flush(cx)
        {
            flushed?;
            self.is_flushed = true;
            moved = true;
        }
        Ok(moved)
    }

    fn progressed(&mut self) {
        (self.active, self.read_since, self.written_since) = (Instant::now(), 0, 0);
    }

    fn see_whether_it_ends(&mut self) {
        if self.end.is_some() || self.dispatcher.has_frames || !self.dispatcher.is_sent() {
            return;
        }
        if self.input_ended {
            self.end = Some(ConnectionEnd::Closed);
        } else if self.dispatcher.is_closing && self.dispatcher.is_idle(&self.inner) {
            self.end = Some(ConnectionEnd::ShutDown);
        }
        if self.end.is_some() {
            // The connection is over: drop running handlers.
            self.dispatcher.drop_all();
        }
    }

    /// Returns the time at which the connection counts as idle.
    fn idle_at(&self) -> Option<Instant> {
        let timeout = self.idle_timeout?;
        let mut state = self.inner.lock();
        // Even with requests in flight: a client that does not read will not read their responses.
        let is_stuck = !state.output.tx.pending().is_empty();
        if self.end.is_some() || is_stuck || state.server().open_requests() == 0 {
            self.active.checked_add(timeout)
        } else {
            None
        }
    }

    /// Returns whether a timeout is due. The timer is set to an earlier time at once, but to a
    /// later one only when it fires, because deadlines are usually postponed.
    ///
    /// A deadline that this round has handled already waits for room, not for time. One that has
    /// passed since is due, because nothing else would wake the task.
    fn poll_timer(&mut self, cx: &mut task::Context<'_>) -> bool {
        let deadline = self.inner.lock().server().poll_timeout();
        let deadline = deadline
            .filter(|at| *at > self.dispatcher.timeouts_checked_at)
            .and_then(|at| self.inner.real_time(at));
        let timeouts_checked_at = self.inner.real_time(self.dispatcher.timeouts_checked_at);
        let full_until = self.dispatcher.full_until(&self.app).filter(|at| {
            timeouts_checked_at.is_none_or(|timeouts_checked_at| *at > timeouts_checked_at)
        });
        let limits = [deadline, full_until].into_iter().flatten().filter(|_| self.end.is_none());
        if let Some(due) = limits.chain(self.idle_at()).min()
            && self.timer_at.is_none_or(|at| due < at)
        {
            self.timer.set_at(due);
            self.timer_at = Some(due);
        }
        let Some(at) = self.timer_at else { return false };
        if Pin::new(&mut self.timer).poll(cx).is_pending() {
            // A timer fires only once, even if the clock of another processor was a moment ahead of
            // this one: set it again.
            if at.saturating_duration_since(Instant::now()) < SKEW {
                self.timer.set_at(at);
            }
            return false;
        }
        self.timer_at = None;
        true
    }
}

impl<A, T, F> Drop for Connection<A, T, F> {
    fn drop(&mut self) {
        self.dispatcher.drop_all();
        self.inner.close();
        self.broadcaster.remove(self.receiver_id);
    }
}

/// Returns whether the error means that the client closed the connection.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
    )
}

/// Rounds in a row before the task yields. A round reads once.
const ROUNDS: usize = 16;
/// Maximum number of lines and of writes of a round.
const FRAMES: usize = 16;
const WRITES: usize = 4;
/// Number of bytes that count as activity without a complete line or an empty output buffer.
const PROGRESS: usize = 64 << 10;
/// Maximum difference between the clocks of two processors.
const SKEW: Duration = Duration::from_millis(1);

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
