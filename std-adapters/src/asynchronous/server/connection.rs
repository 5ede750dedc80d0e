//! Driver of a connection on a stream.

use std::future::{Future, pending, poll_fn};
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{self, Poll, Waker, ready};
use std::time::{Duration, Instant};

use futures_lite::{AsyncRead, AsyncWrite, future};
use mcp_sansio::{ServerEvent, Spare, Step};
use mcp_sansio_engine::PeerAddress;

use super::admission::Slot;
use super::app::{App, IDLE_TIMEOUT, Settings};
use super::broadcast::{Receiver, Registration};
use super::context::Context;
use super::life::{Live, Requests, Work, live};
use super::reply::IntoReply;
use super::source::RequestSource;
use super::stream::{Output, SharedStream, State};
use crate::asynchronous::JoinedIo;
use crate::asynchronous::client::{Client, Connector};
use crate::gone::is_gone;
use crate::observer::{Disconnect, Hooks, ObservedConnection, Refusal, Transport};
use crate::runtime::timer::LazyTimer;
use crate::runtime::{self, current};
use crate::stdio::StandardStreams;

/// A connection and all of its handlers: a future to be awaited or spawned. It completes when the
/// connection ends.
///
/// `app` is a reference to an [`App`] or an [`Arc`] of one; `stream` is a socket, or a
/// [`JoinedIo`](crate::asynchronous::JoinedIo) of pipes.
///
/// Not cancel safe: dropping it closes the connection and drops its handlers. Polling it from
/// another task later is fine.
#[must_use = "a connection does nothing unless it is polled"]
pub struct Connection<D>(Pin<Box<D>>);

impl Connection<()> {
    /// Creates a connection on this stream. It counts towards
    /// [`Limits::max_connections`](super::Limits::max_connections) until it is dropped.
    pub fn new<A, H, T, F>(
        app: A,
        stream: T,
    ) -> Connection<impl Future<Output = io::Result<ConnectionEnd>>>
    where
        A: Deref<Target = App<H>>,
        H: Fn(Context) -> F,
        T: AsyncRead + AsyncWrite + Unpin,
        F: Future<Output: IntoReply>,
    {
        Incoming::new(app, stream, Transport::Stream, None).serve()
    }
}

/// A connection that [`accept`](super::accept) returns. It counts towards
/// [`Limits::max_connections`](super::Limits::max_connections).
#[must_use = "a connection does nothing unless it is served"]
pub struct Incoming<A, T> {
    app: A,
    stream: T,
    transport: Transport,
    /// The address of its client, if it was accepted.
    accepted: Option<Option<PeerAddress>>,
    shared: Arc<SharedStream>,
    registration: Registration,
}

impl<A, H, T> Incoming<A, T>
where
    A: Deref<Target = App<H>>,
{
    /// Creates a connection. `accepted` has the address of its client, if it was accepted.
    pub(crate) fn new(
        app: A,
        stream: T,
        transport: Transport,
        accepted: Option<Option<PeerAddress>>,
    ) -> Self {
        let shared = Arc::new(SharedStream::new(Arc::clone(&app.settings)));
        let receiver = Arc::downgrade(&shared) as Weak<dyn Receiver>;
        let registration = app.settings.broadcaster.register(receiver, Some(accepted.flatten()));
        Self { app, stream, transport, accepted, shared, registration }
    }

    /// Returns the future of the connection.
    pub fn serve<F>(self) -> Connection<impl Future<Output = io::Result<ConnectionEnd>>>
    where
        H: Fn(Context) -> F,
        T: AsyncRead + AsyncWrite + Unpin,
        F: Future<Output: IntoReply>,
    {
        let Self { app, stream, transport, accepted, shared, registration } = self;
        Connection(Box::pin(async move {
            let app: &App<H> = &app;
            let source: Arc<dyn RequestSource> = Arc::<SharedStream>::clone(&shared);
            let live = |request| live(app, request, Arc::clone(&source));
            let mut driver = Driver::new(shared, stream, registration, live);
            if accepted.is_some() {
                driver.accepted();
            }
            driver.observed = app.settings.hooks().map(|hooks| {
                let hooks = Hooks { peer: accepted.flatten(), ..hooks };
                ObservedConnection::new(hooks, transport)
            });
            let result = poll_fn(|cx| driver.poll(cx)).await;
            if driver.goes_on(&result) {
                poll_fn(|cx| driver.poll_tasks(cx)).await;
            }
            result
        }))
    }
}

impl<H> App<H> {
    /// Serves standard input and output until the input ends. Both are read and written on threads,
    /// since they may be files; the end of a runtime of tokio waits for such a thread, unless it is
    /// `Runtime::shutdown_background`.
    ///
    /// Until it returns, also by a panic, standard input is empty for everything else in the
    /// process and for its children, and what they write to standard output goes to standard error:
    /// a `println!` cannot break the stream. On Windows that is not so for code in C, whose runtime
    /// keeps the handles with which the program began.
    ///
    /// # Errors
    /// Errors of reading or writing; [`ResourceBusy`](io::ErrorKind::ResourceBusy) if the process
    /// serves them already; a [`Runtime`](crate::asynchronous::Runtime) of yours without files.
    pub async fn serve_stdio<F>(&self) -> io::Result<()>
    where
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let streams = StandardStreams::take()?;
        let (input, output) = (streams.input.try_clone()?, streams.output.try_clone()?);
        let stream = current().files(input, output)?;
        Incoming::new(self, stream, Transport::Stdio, None).serve().await.map(|_| ())
    }

    /// Serves one client in memory until `work` is done: for tests of an application, without a
    /// socket. The bytes are those of a real connection, 64 KiB in each direction at most. Time is
    /// that of the computer, unless a test pauses tokio's; `blocking::Memory` has virtual time.
    ///
    #[cfg_attr(feature = "smol", doc = "```")]
    #[cfg_attr(not(feature = "smol"), doc = "```ignore")]
    /// # use mcp_sansio::types::{Implementation, TextResult, Tool};
    /// # use mcp_sansio::{Catalog, ClientConfig, ClientFeatures, Era, RawJson, entries};
    /// # use mcp_sansio::{ServerConfig, ServerFeatures};
    /// # use mcp_sansio_adapters::asynchronous::{App, Context, client::{CallError, Connector}};
    /// # static SERVER: ServerConfig =
    /// #     ServerConfig::new(Implementation::new("clock", "0.1.0"), ServerFeatures::TOOLS);
    /// # static CATALOG: Catalog = Catalog::new()
    /// #     .tools(entries![Tool::new("time", RawJson::from_static(r#"{"type":"object"}"#))]);
    /// # static CLIENT: ClientConfig =
    /// #     ClientConfig::new(Implementation::new("test", "0.1.0"), ClientFeatures::NONE);
    /// // Responds to each call with the text "noon".
    /// let app = App::new(&SERVER, async |ctx: Context| ctx.reply(&TextResult::new("noon")))
    ///     .catalog(&CATALOG);
    /// for era in Era::ALL {
    ///     let connector = Connector::new(&CLIENT).era(era);
    ///     let called = app.memory(connector, async |client| {
    ///         client.call_tool("time", &RawJson::EMPTY).await
    ///     });
    ///     let result = async_io::block_on(called)?;
    ///     assert!(result.as_json().as_str().contains("noon"));
    /// }
    /// # Ok::<(), CallError>(())
    /// ```
    ///
    /// Not cancel safe: dropping the future drops `work` and the connection.
    pub async fn memory<F, R>(&self, connector: Connector, work: impl AsyncFnOnce(Client) -> R) -> R
    where
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let ((requests, to_server), (responses, to_client)) =
            (piper::pipe(MEMORY_CAPACITY), piper::pipe(MEMORY_CAPACITY));
        let (client, connection) = connector.connect(JoinedIo::new(responses, to_server));
        let server =
            Incoming::new(self, JoinedIo::new(requests, to_client), Transport::Memory, None)
                .serve();
        let serve = async {
            // The client learns from its connection how this ended.
            let _ = server.await;
            pending().await
        };
        future::or(connection.drive(work(client)), serve).await
    }
}

mcp_sansio::opaque_debug!([A, T] Incoming<A, T> {});

impl<D: Future> Future for Connection<D> {
    type Output = D::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<D::Output> {
        self.0.as_mut().poll(cx)
    }
}

/// Reason why a connection ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The client closed it.
    Closed,
    /// It was idle too long: see [`Limits::idle_timeout`](super::Limits::idle_timeout).
    Idle,
    /// The client did not respond to a ping: see
    /// [`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval).
    Unresponsive,
    /// [`Broadcaster::shut_down`](super::Broadcaster::shut_down) was called.
    ShutDown,
}

/// Drives a connection: its stream, and the lives of its requests.
struct Driver<T, M: Live> {
    shared: Arc<SharedStream>,
    io: StreamIo<T>,
    requests: Requests<(), M>,
    observed: Option<ObservedConnection<'static>>,
    registration: Registration,
    timer: LazyTimer,
    /// The next deadline of the core.
    until: Option<Instant>,
    /// Limit of [`Limits::idle_timeout`].
    idle_timeout: Option<Duration>,
    is_closing: bool,
    /// When open requests are cancelled, after a shutdown or the end of the input. After a shutdown
    /// also when a client that does not read what is left is waited for no longer.
    ends_at: Option<Instant>,
    end: Option<ConnectionEnd>,
    /// Whether tasks go on after the end.
    keeps_tasks: bool,
}

impl<T, M: Live> Driver<T, M> {
    fn new(shared: Arc<SharedStream>, stream: T, registration: Registration, live: M) -> Self {
        Self {
            io: StreamIo::new(stream),
            requests: Requests::new(live),
            observed: None,
            registration,
            timer: LazyTimer::new(),
            until: None,
            idle_timeout: shared.settings.limits.idle_timeout,
            is_closing: false,
            ends_at: None,
            end: None,
            keeps_tasks: false,
            shared,
        }
    }

    /// An accepted connection has an idle timeout by default, and its tasks go on after it.
    fn accepted(&mut self) {
        self.idle_timeout.get_or_insert(IDLE_TIMEOUT);
        self.keeps_tasks = true;
    }

    /// Returns the time at which the connection counts as idle.
    fn idle_at(&self) -> Option<Instant> {
        let timeout = self.idle_timeout?;
        let core = &mut self.shared.lock().output.core;
        // Even with requests in flight: a client that does not read will not read their responses.
        let is_stuck = !core.tx().pending().is_empty();
        let is_idle = self.end.is_some() || is_stuck || core.machine().open_requests() == 0;
        if is_idle { self.io.active.checked_add(timeout) } else { None }
    }
}

/// Result of a step.
enum Next {
    Work(Work<()>),
    Step,
    /// A line has been handled.
    Line,
    /// There is nothing to do without I/O, or until this time.
    Idle(Option<mcp_sansio::Instant>),
    End(ConnectionEnd),
}

impl<T: AsyncRead + AsyncWrite + Unpin, M: Live> Driver<T, M> {
    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<io::Result<ConnectionEnd>> {
        let shared = Arc::clone(&self.shared);
        let result = ready!(shared.driver.poll_rounds(cx, |cx| match self.round(cx) {
            Ok(round) => round.map(|end| end.map(Ok)),
            Err(error) if is_gone(&error) => Poll::Ready(Some(Ok(ConnectionEnd::Closed))),
            Err(error) => Poll::Ready(Some(Err(error))),
        }));
        self.requests.end(());
        if let Some(connection) = &mut self.observed {
            connection.disconnected(match &result {
                Ok(ConnectionEnd::Closed) => Disconnect::Closed,
                Ok(ConnectionEnd::Idle) => Disconnect::Idle,
                Ok(ConnectionEnd::Unresponsive) => Disconnect::Unresponsive,
                Ok(ConnectionEnd::ShutDown) => Disconnect::ShutDown,
                Err(error) => Disconnect::Failed(error),
            });
        }
        Poll::Ready(result)
    }

    /// The connection is over. Returns whether it has tasks that go on, as others can ask for them.
    fn goes_on(&mut self, result: &io::Result<ConnectionEnd>) -> bool {
        let may_go_on = self.keeps_tasks || matches!(result, Ok(ConnectionEnd::ShutDown));
        if !may_go_on || self.requests.is_empty() {
            return false;
        }
        // Unless it is a shutdown, nothing limits them but their own time.
        self.ends_at = self.ends_at.filter(|_| self.is_closing);
        self.io.stream = None;
        self.shared.close();
        // It does not count as a connection any more, but is still to be told of a shutdown.
        self.registration.uncount();
        true
    }

    /// Runs the tasks that go on after the end.
    fn poll_tasks(&mut self, cx: &mut task::Context<'_>) -> Poll<()> {
        let shared = Arc::clone(&self.shared);
        shared.driver.poll_rounds(cx, |cx| {
            let moved = self.run_requests(cx);
            let due = self.requests.limit_tasks(&shared.settings, &mut self.ends_at);
            if self.requests.is_empty() {
                return Poll::Ready(Some(()));
            }
            match moved || due.is_some_and(|due| self.timer.poll(cx, due)) {
                true => Poll::Ready(None),
                false => Poll::Pending,
            }
        })
    }

    /// One pass over all sources; none blocks the others. Returns how the connection ends.
    fn round(&mut self, cx: &mut task::Context<'_>) -> io::Result<Poll<Option<ConnectionEnd>>> {
        if !self.is_closing && self.shared.settings.limit_shutdown(&mut self.ends_at) {
            self.is_closing = true;
            self.shared.lock().output.core.shut_down();
        }
        let moved = self.end.is_none() && self.steps(cx)?;
        if self.end.is_none() && self.ends_at.is_some_and(|at| at <= runtime::now()) {
            self.end(if self.io.input_ended {
                ConnectionEnd::Closed
            } else {
                ConnectionEnd::ShutDown
            });
        }
        let closes_until = self.ends_at.and_then(|at| at.checked_add(LINGER));
        if let Some(end) = self.end
            && (end == ConnectionEnd::Unresponsive
                || self.close(cx)?
                || closes_until.is_some_and(|until| until <= runtime::now()))
        {
            return Ok(Poll::Ready(Some(end)));
        }
        if self.idle_timeout.is_some_and(|timeout| runtime::elapsed(self.io.active) >= timeout)
            && self.idle_at().is_some()
        {
            return Ok(Poll::Ready(Some(self.end.unwrap_or(ConnectionEnd::Idle))));
        }
        if moved {
            return Ok(Poll::Ready(None));
        }
        let until = match self.end {
            None => [self.until, self.ends_at],
            Some(_) => [closes_until, None],
        };
        match until.into_iter().flatten().chain(self.idle_at()).min() {
            Some(due) if self.timer.poll(cx, due) => Ok(Poll::Ready(None)),
            _ => Ok(Poll::Pending),
        }
    }

    /// Writes what is left, and closes the stream. Returns whether that is done.
    fn close(&mut self, cx: &mut task::Context<'_>) -> io::Result<bool> {
        let core = &mut self.shared.lock().output.core;
        while !core.tx().pending().is_empty() {
            let written = self.io.write(cx, core.tx().pending())?;
            if written == 0 {
                return Ok(false);
            }
            core.wrote(written);
        }
        self.io.close(cx)
    }

    // The steps: what the core says is done, and what it needs.

    /// Runs handlers, and makes steps until there is nothing to do without I/O. Returns whether
    /// there may be more to do.
    fn steps(&mut self, cx: &mut task::Context<'_>) -> io::Result<bool> {
        let moved = self.run_requests(cx);
        // Received messages are handled before timeouts, which may wait for them.
        let (mut catches_up, mut is_idle, mut lines) = (true, false, 0);
        let now = self.shared.now();
        for _ in 0..STEPS {
            match self.step(&mut catches_up, now) {
                Next::Work(work) => {
                    // A handler that completes at once is answered at once, so responses keep the
                    // order of requests.
                    let settings = &self.shared.settings;
                    if let Some(((), request, response)) = self.requests.work(work, settings) {
                        self.shared.answer(request, response);
                    }
                }
                Next::Step => {}
                Next::Line if lines == LINES => break,
                Next::Line => lines += 1,
                Next::Idle(until) => {
                    self.until = until.map(|until| self.shared.clock.real_time(until));
                    is_idle = true;
                    break;
                }
                Next::End(end) => {
                    self.end(end);
                    return Ok(false);
                }
            }
        }
        Ok(self.transfer(is_idle, now, cx)? || moved)
    }

    /// Polls the requests that have been woken. Returns whether any made progress.
    fn run_requests(&mut self, cx: &mut task::Context<'_>) -> bool {
        let shared = &self.shared;
        self.requests.poll(cx, |(), request, response| shared.answer(request, response))
    }

    fn step(&mut self, catches_up: &mut bool, now: mcp_sansio::Instant) -> Next {
        let Self { shared, io, observed, is_closing, .. } = self;
        let mut state = shared.lock();
        state.send_input_requests(now);
        state.limit_requests(&shared.settings, io.input_ended);
        let State { output: Output { core, .. }, server, full_since, .. } = &mut *state;
        let step = if *catches_up { core.catch_up(now) } else { core.next(now) };
        match step {
            Step::Event(event, mut turn) => {
                let connection = observed.as_ref().map(|to| (&to.hooks, to.number));
                let work = match event {
                    ServerEvent::Request(request) => {
                        let (machine, tx) = turn.parts();
                        let slot = if *is_closing {
                            Err(("The server is shutting down", Refusal::ShuttingDown))
                        } else {
                            Slot::take(&request, machine, server.load.as_ref(), &shared.driver)
                        };
                        let (settings, origin) = (&shared.settings, ((), None));
                        let admission =
                            settings.admit(&request, origin, machine, tx, slot, connection);
                        if let Some(response) = admission.response {
                            // It has none yet.
                            let _ = turn.answer(request.handle, response);
                        }
                        admission.work
                    }
                    ServerEvent::CallFinished { call, outcome } => {
                        server.input_requests.finish(call, &outcome);
                        None
                    }
                    ServerEvent::Unresponsive => return Next::End(ConnectionEnd::Unresponsive),
                    event => {
                        Work::of(&event, (), connection.map(|(hooks, number)| (number, hooks.peer)))
                    }
                };
                if matches!(work, Some(Work::Cancel(..))) {
                    *full_since = None;
                }
                work.map_or(Next::Step, Next::Work)
            }
            Step::Again => {
                io.progressed();
                Next::Line
            }
            Step::Io { until, .. } if *catches_up && until.is_some_and(|until| until <= now) => {
                *catches_up = false;
                Next::Step
            }
            Step::Io { until, .. } => Next::Idle(until),
            Step::Closed if io.input_ended => Next::End(ConnectionEnd::Closed),
            Step::Closed => Next::End(ConnectionEnd::ShutDown),
        }
    }

    /// Writes, and reads if all lines are handled. Returns whether there may be more to do.
    fn transfer(
        &mut self,
        is_idle: bool,
        now: mcp_sansio::Instant,
        cx: &mut task::Context<'_>,
    ) -> io::Result<bool> {
        let Self { shared, io, ends_at, .. } = self;
        let SharedStream { settings, .. } = &**shared;
        let mut state = shared.lock();
        let had_ended = io.input_ended;
        let mut turn = state.output.core.turn(now);
        let (write, read) = turn.io();
        let pending = write.len();
        let written = io.write(cx, write)?;
        let has_read = is_idle && io.read(cx, read)?;
        turn.wrote(written);
        if io.input_ended && !had_ended {
            state.output.core.end_of_input();
            // No response will arrive.
            state.server.input_requests.close();
            let timeout = settings.limits.end_of_input_timeout;
            *ends_at = earlier(*ends_at, timeout);
        }
        let waits = state.output.core.waits_for_room();
        self.until = self.until.into_iter().chain(state.full_until(settings)).min();
        let waiting = state.with_room();
        drop(state);
        waiting.for_each(Waker::wake);
        let is_waiting = written < pending || waits || self.is_closing;
        Ok(!is_idle || has_read || written > 0 && is_waiting)
    }

    /// The connection is over: drops running handlers.
    fn end(&mut self, end: ConnectionEnd) {
        self.requests.end(());
        self.end = Some(end);
        // At the end of the input, one who reads slowly still gets what is left.
        self.ends_at = self.ends_at.filter(|_| self.is_closing);
    }
}

impl<T, M: Live> Drop for Driver<T, M> {
    fn drop(&mut self) {
        self.requests.end(());
        self.shared.close();
    }
}

impl Settings {
    /// Sets when requests are cut off, once the application shuts down: returns whether it does.
    pub(crate) fn limit_shutdown(&self, ends_at: &mut Option<Instant>) -> bool {
        let is_shutting_down = self.broadcaster.is_shutting_down();
        if is_shutting_down {
            *ends_at = earlier(*ends_at, self.limits.shutdown_timeout);
        }
        is_shutting_down
    }
}

/// Returns the time after this limit, unless another limit has begun.
fn earlier(limit: Option<Instant>, timeout: Duration) -> Option<Instant> {
    limit.or_else(|| runtime::now().checked_add(timeout))
}

/// Number of bytes that wait in each direction between a client and a server in memory.
const MEMORY_CAPACITY: usize = 64 << 10;
/// Time for a client to read what is left, after the limit of a shutdown.
const LINGER: Duration = Duration::from_millis(500);
/// Maximum number of lines of a round, and of steps for them.
const LINES: usize = 16;
const STEPS: usize = 64;

// Reading and writing of a stream.

/// A stream, and when it was used.
struct StreamIo<T> {
    /// `None` once it is dropped.
    stream: Option<T>,
    input_ended: bool,
    is_flushed: bool,
    /// Time of the last activity: a message, an empty output buffer, or [`PROGRESS`] bytes.
    active: Instant,
    /// Bytes read and written since then.
    bytes_since: usize,
}

impl<T> StreamIo<T> {
    fn new(stream: T) -> Self {
        let active = runtime::now();
        Self { stream: Some(stream), input_ended: false, is_flushed: true, active, bytes_since: 0 }
    }

    /// Records activity.
    fn progressed(&mut self) {
        (self.active, self.bytes_since) = (runtime::now(), 0);
    }

    fn moved(&mut self, bytes: usize) {
        self.bytes_since += bytes;
        if self.bytes_since >= PROGRESS {
            self.progressed();
        }
    }
}

/// Returns the stream.
fn pinned<T: Unpin>(stream: &mut Option<T>) -> io::Result<Pin<&mut T>> {
    stream.as_mut().map(Pin::new).ok_or_else(|| ErrorKind::NotConnected.into())
}

impl<T: AsyncRead + AsyncWrite + Unpin> StreamIo<T> {
    /// Reads once. Returns whether anything was read, or the input has ended.
    fn read(&mut self, cx: &mut task::Context<'_>, to: &mut Spare<'_>) -> io::Result<bool> {
        // Without memory, a message waits for room for its response.
        if self.input_ended || to.spare().is_empty() {
            return Ok(false);
        }
        let Some(read) = retried(|| pinned(&mut self.stream)?.poll_read(cx, to.spare()))? else {
            return Ok(false);
        };
        to.commit(read);
        self.input_ended = read == 0;
        self.moved(read);
        Ok(true)
    }

    /// Writes once, and flushes what was written completely. Returns the number of bytes.
    fn write(&mut self, cx: &mut task::Context<'_>, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        if !bytes.is_empty() {
            written = match retried(|| pinned(&mut self.stream)?.poll_write(cx, bytes))? {
                Some(0) => return Err(ErrorKind::WriteZero.into()),
                Some(written) => written,
                None => return Ok(0),
            };
            self.is_flushed = false;
            self.moved(written);
        }
        if written == bytes.len() && !self.is_flushed {
            if written > 0 {
                self.progressed();
            }
            self.is_flushed = retried(|| pinned(&mut self.stream)?.poll_flush(cx))?.is_some();
        }
        Ok(written)
    }

    /// Closes the stream once it is flushed. Returns whether that is done.
    fn close(&mut self, cx: &mut task::Context<'_>) -> io::Result<bool> {
        self.write(cx, &[])?;
        Ok(self.is_flushed && pinned(&mut self.stream)?.poll_close(cx).is_ready())
    }
}

/// Returns the result of an operation, `None` if it is pending.
fn retried<R>(mut poll: impl FnMut() -> Poll<io::Result<R>>) -> io::Result<Option<R>> {
    loop {
        match poll() {
            Poll::Pending => return Ok(None),
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            Poll::Ready(result) => return result.map(Some),
        }
    }
}

/// Number of bytes that count as activity without a message or an empty output buffer.
const PROGRESS: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use mcp_sansio::ServerConfig;
    use mcp_sansio::types::Implementation;

    use super::*;
    use crate::asynchronous::Limits;

    static CONFIG: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("t", "1"), mcp_sansio::ServerFeatures::NONE);

    #[test]
    fn d4_only_connections_that_were_accepted_have_an_idle_limit_by_default() {
        let handler = |ctx: Context| async move { ctx.reply(&[0_u8; 0]) };
        let driver = |app: App<_>| {
            let settings = Arc::clone(&app.settings);
            let shared = Arc::new(SharedStream::new(Arc::clone(&settings)));
            let receiver = Arc::downgrade(&shared) as Weak<dyn Receiver>;
            let registration = settings.broadcaster.register(receiver, Some(None));
            let stream = JoinedIo::new(futures_lite::io::empty(), futures_lite::io::sink());
            let mut driver = Driver::new(shared, stream, registration, |_| pending());
            let by_default = driver.idle_timeout;
            driver.accepted();
            (by_default, driver.idle_timeout, driver.idle_at())
        };
        let (new, accepted, _) = driver(App::new(&CONFIG, handler));
        assert_eq!((new, accepted), (None, Some(IDLE_TIMEOUT)));
        // `Duration::MAX` is no limit.
        let limits = Limits { idle_timeout: Some(Duration::MAX), ..Limits::new() };
        let (_, accepted, idle_at) = driver(App::new(&CONFIG, handler).limits(limits));
        assert_eq!((accepted, idle_at), (Some(Duration::MAX), None));
    }
}
