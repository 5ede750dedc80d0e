//! Driver of one connection.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker, ready};
use std::time::{self, Duration};

use mcp_sansio::types::ProgressParams;
use mcp_sansio::{Era, Instant, OwnedJson, SendError};
use mcp_sansio_engine::internal::SharedClient;
pub(crate) use mcp_sansio_engine::internal::{Command, End};
use mcp_sansio_engine::{
    CallError, CallId, Change, ClientEngine, ConnectState, Finished, InputId, InputRefusal,
    InputResponse,
};

use super::connector::{Application, InputFuture};
use super::handle::ClientInner;
use super::transport::{Link as _, Transport};
use crate::client::{Changes, ClientLimits, ConnectError};
use crate::lock::lock;
use crate::runtime;
use crate::runtime::tasks::Tasks;
use crate::runtime::timer::{Clock, LazyTimer};

/// A connection to a server: a future to be awaited, spawned or [driven](Self::drive). It completes
/// when the connection ends.
///
/// Not cancel safe: dropping it closes the connection; all calls end with
/// [`CallError::Closed`](super::CallError::Closed).
#[must_use = "a connection does nothing unless it is polled"]
pub struct Connection<T: Transport> {
    link: T::Link,
    inner: Arc<ConnectionInner>,
    /// Its number.
    number: u32,
    /// While the connection works with it.
    session: Option<Box<Session>>,
    /// The futures of answers. They may own calls and clients of this session, so they are polled
    /// while the clients have it, and never dropped behind their lock.
    inputs: Tasks<InputId, InputFuture>,
    answers: Vec<(InputId, InputResponse)>,
    timer: LazyTimer,
    /// Start of closing.
    closing_since: Option<time::Instant>,
    end: Option<ConnectionEnd>,
}

/// Reason why a connection ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ConnectionEnd {
    /// The application closed it: [`Client::close`](super::Client::close), or the last client was
    /// dropped, or another connection [took its place](super::Client::reconnect).
    Closed,
    /// The server closed it.
    ServerClosed,
    /// The server did not respond to a ping
    /// ([`ClientConfig::ping_interval`](mcp_sansio::ClientConfig::ping_interval)), or reads nothing
    /// ([`ClientLimits::stall_timeout`](super::ClientLimits::stall_timeout)).
    Unresponsive,
    /// `initialize` or `server/discover` failed.
    ConnectFailed(ConnectError),
}

impl<T: Transport> Connection<T> {
    /// Takes the place of the last connection, and connects.
    pub(crate) fn new(transport: T, inner: Arc<ConnectionInner>) -> Self {
        let number = inner.connect(transport.url_for_posts(), transport.changes());
        Self {
            link: transport.into_link(),
            inner,
            number,
            session: None,
            inputs: Tasks::new(),
            answers: Vec::new(),
            timer: LazyTimer::new(),
            closing_since: None,
            end: None,
        }
    }

    /// Runs the connection until `work` completes, then closes it.
    ///
    /// Not cancel safe: dropping the future drops `work` and the connection.
    pub async fn drive<R>(self, work: impl Future<Output = R>) -> R {
        let (inner, number) = (Arc::clone(&self.inner), self.number);
        let connection = pin!(self);
        let mut connection = Some(connection);
        let mut work = pin!(work);
        let result = poll_fn(|cx| {
            let result = work.as_mut().poll(cx);
            if result.is_pending()
                && connection
                    .as_mut()
                    .is_some_and(|connection| connection.as_mut().poll(cx).is_ready())
            {
                connection = None;
                // Calls have ended with the connection: `work` sees it now.
                return work.as_mut().poll(cx);
            }
            result
        });
        let result = result.await;
        inner.command_as(number, Command::Close);
        if let Some(connection) = connection {
            let _ = connection.await;
        }
        result
    }

    /// One pass over all sources; none blocks the others.
    fn round(&mut self, session: &mut Session, cx: &mut Context<'_>) -> io::Result<bool> {
        let now = self.inner.clock.now();
        let mut moved = self.link.read(session, cx)?;
        moved |= self.link.handle(session, now);
        if !self.answers.is_empty() {
            moved = true;
            self.answer_inputs(session, now);
        }
        // An error is a call's own, which ends with it.
        let _ = session.engine.handle_timeout(now, true, &mut session.app);
        if !session.app.asked.is_empty() || !session.app.withdrawn.is_empty() {
            self.take_inputs(session);
        }
        moved |= self.link.write(session, now, cx)?;
        moved |= self.update_end(session, cx);
        if self.end.is_none()
            && let Some(due) = self.due(session, now)
            && self.timer.poll(cx, due)
        {
            moved = true;
            let stalls_at = self.link.stalls_at(self.inner.limits.stall_timeout);
            if stalls_at.is_some_and(|at| at <= runtime::now()) {
                self.end = Some(ConnectionEnd::Unresponsive);
            }
        }
        Ok(moved)
    }

    fn update_end(&mut self, session: &mut Session, cx: &mut Context<'_>) -> bool {
        if let ConnectState::Failed(why) = session.engine.connect_state() {
            session.end(End::ConnectFailed(why.clone()));
        }
        self.end = match &session.end {
            Some(End::ConnectFailed(why)) => Some(ConnectionEnd::ConnectFailed(why.clone())),
            Some(_) => self.close(session, cx),
            None if session.engine.is_unresponsive() => Some(ConnectionEnd::Unresponsive),
            None => self.link.has_ended(session).then_some(ConnectionEnd::ServerClosed),
        };
        self.end.is_some()
    }

    /// Sends pending output, closes our side, and waits for the server to close its own. Input is
    /// read and discarded: closing a socket with unread input may reset it, and the server would
    /// lose what was sent last.
    fn close(&mut self, session: &mut Session, cx: &mut Context<'_>) -> Option<ConnectionEnd> {
        self.drop_inputs();
        self.link.discard(session);
        let since = *self.closing_since.get_or_insert_with(runtime::now);
        let has_ended = self.link.has_ended(session);
        let is_over = runtime::elapsed(since) >= self.inner.limits.close_timeout || has_ended;
        let is_closed = self.link.poll_close(session, cx);
        (is_over || is_closed && self.link.has_ended(session)).then_some(ConnectionEnd::Closed)
    }

    /// `now` is the time for which timeouts were handled.
    fn due(&self, session: &mut Session, now: Instant) -> Option<time::Instant> {
        let deadline = session.engine.poll_timeout_after(now);
        let deadline = deadline.map(|at| self.inner.clock.real_time(at));
        let closed =
            self.closing_since.and_then(|since| since.checked_add(self.inner.limits.close_timeout));
        [deadline, closed, self.link.stalls_at(self.inner.limits.stall_timeout)]
            .into_iter()
            .flatten()
            .min()
    }

    fn give_back(&mut self, driver: &Waker) {
        if let Some(session) = self.session.take() {
            self.inner.put(session, driver);
        }
    }

    /// Hands the answers in that are ready. Few rounds have one: inlined, this and the next
    /// function make a call take 1,000 instructions more, since `round` gets too long for other
    /// inlining.
    #[inline(never)]
    fn answer_inputs(&mut self, session: &mut Session, now: Instant) {
        for (input, answer) in self.answers.drain(..) {
            session.engine.answer(now, input, answer, &mut session.app);
        }
    }

    #[inline(never)]
    fn take_inputs(&mut self, session: &mut Session) {
        for (input, answer) in session.app.asked.drain(..) {
            self.inputs.insert(input, answer);
        }
        for withdrawn in session.app.withdrawn.drain(..) {
            self.inputs.drop_where(|input| *input == withdrawn);
        }
    }

    fn poll_inputs(&mut self, cx: &Context<'_>) {
        // Most connections are asked nothing: they need no lock.
        while !self.inputs.is_empty()
            && let Poll::Ready(polled) = self.inputs.poll_next(cx)
        {
            if let Some((input, answer)) = polled {
                self.answers.push((input, answer.unwrap_or(Err(InputRefusal::Panicked))));
            }
        }
    }

    /// Drops what answers questions: no answer is needed any more.
    fn drop_inputs(&mut self) {
        self.answers.clear();
        self.inputs = Tasks::new();
    }

    /// Ends the session, and gives it back to the clients.
    fn over(&mut self) {
        self.drop_inputs();
        self.give_back(Waker::noop());
        // The session would wait for a driver that is gone.
        self.inner.command_as(self.number, Command::End);
    }
}

impl<T: Transport> Future for Connection<T> {
    type Output = io::Result<ConnectionEnd>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.poll_inputs(cx);
        // It is here already if somebody has caught a panic of the last round.
        if this.session.is_none() {
            this.session = ready!(this.inner.take(this.number, cx.waker()));
            if this.session.is_none() {
                return Poll::Ready(Ok(ConnectionEnd::Closed));
            }
        }
        for _ in 0..ROUNDS {
            let Some(mut session) = this.session.take() else { return Poll::Pending };
            let moved = catch_unwind(AssertUnwindSafe(|| this.round(&mut session, cx)));
            // After a panic, `drop` gives it back to the clients.
            this.session = Some(session);
            match moved.unwrap_or_else(|panic| resume_unwind(panic)) {
                Err(error) => {
                    this.over();
                    return Poll::Ready(Err(error));
                }
                Ok(moved) => {
                    if let Some(end) = this.end.clone() {
                        this.over();
                        return Poll::Ready(Ok(end));
                    }
                    if !moved {
                        this.give_back(cx.waker());
                        if !this.inputs.is_empty() && this.inputs.ready() > 0 {
                            cx.waker().wake_by_ref();
                        }
                        return Poll::Pending;
                    }
                }
            }
        }
        this.give_back(cx.waker());
        // Yields to other tasks.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<T: Transport> Drop for Connection<T> {
    fn drop(&mut self) {
        self.over();
    }
}

mcp_sansio::opaque_debug!([T: Transport] Connection<T> { end });

/// Rounds in a row before the task yields. A round reads once, up to 64 KiB.
const ROUNDS: usize = 16;

// The session, which a connection shares with its clients: one of them works with it at a time.

pub(crate) struct ConnectionInner {
    state: Mutex<State>,
    pub(crate) clock: Clock,
    /// Shared with the application, with which a connection may be working.
    changes: Arc<Mutex<Option<Changes>>>,
    /// Time limit of calls without one of their own.
    pub(crate) call_limit: Duration,
    /// Limits of each connection.
    pub(crate) limits: ClientLimits,
}

#[derive(Default)]
struct State {
    /// Number of the connection that may work with the session: the latest.
    connection: u32,
    /// `None` while the connection works with it. Not behind the lock then, because it calls
    /// functions of the application, which may use a client.
    session: Option<Box<Session>>,
    /// Commands that clients have given meanwhile.
    commands: Vec<Command>,
    /// Of futures that were polled meanwhile.
    waiting: Vec<Waker>,
    era: Option<Era>,
    /// Waker of the task that drives the connection, while it waits.
    driver: Option<Waker>,
}

pub(crate) type Session = SharedClient<Application>;

impl ConnectionInner {
    pub(crate) fn new(
        engine: ClientEngine<'static>,
        app: Application,
        call_limit: Duration,
        limits: ClientLimits,
    ) -> Self {
        let changes = Arc::clone(&app.changes);
        let session = Session::new(engine, app);
        let state = State { session: Some(Box::new(session)), ..State::default() };
        Self { state: Mutex::new(state), clock: Clock::new(), changes, call_limit, limits }
    }

    /// Polls a function with the session, once the connection does not work with it.
    pub(crate) fn poll<R>(
        &self,
        cx: &Context<'_>,
        poll: impl FnOnce(&mut Session) -> Poll<R>,
    ) -> Poll<R> {
        let mut state = lock(&self.state);
        let Some(session) = &mut state.session else {
            state.waiting.push(cx.waker().clone());
            return Poll::Pending;
        };
        let polled = poll(session);
        let wakers = session.app.events.woken();
        let is_changed = std::mem::take(&mut session.is_changed);
        let driver = if is_changed { state.driver.take() } else { None };
        drop(state);
        driver.into_iter().chain(wakers).for_each(Waker::wake);
        polled
    }

    pub(crate) fn command(&self, command: Command) {
        self.obey(lock(&self.state), command);
    }

    /// Gives a command of a connection, unless there is a later one.
    fn command_as(&self, connection: u32, command: Command) {
        let state = lock(&self.state);
        if state.connection == connection {
            self.obey(state, command);
        }
    }

    fn obey(&self, mut state: MutexGuard<'_, State>, command: Command) {
        let Some(session) = &mut state.session else { return state.commands.push(command) };
        // The usual end of a call: there is nothing to cancel.
        if let Command::Cancel(call) = command
            && !session.engine.is_known(call)
        {
            return session.app.events.close(call);
        }
        session.obey(command, self.clock.now());
        let wakers = session.app.events.woken();
        let driver = state.driver.take();
        drop(state);
        driver.into_iter().chain(wakers).for_each(Waker::wake);
    }

    pub(crate) fn era(&self) -> Option<Era> {
        let mut state = lock(&self.state);
        match &mut state.session {
            Some(session) => session.engine.core().era(),
            None => state.era,
        }
    }

    /// Connects, to a server with this URL if messages are sent in POST requests. Returns the
    /// number of the connection, which takes the place of the last one.
    pub(crate) fn connect(&self, url: Option<String>, changes: Option<Changes>) -> u32 {
        let mut state = lock(&self.state);
        *lock(&self.changes) = changes;
        state.connection += 1;
        let number = state.connection;
        self.obey(state, Command::Connect(url));
        number
    }

    /// Takes the session, for a connection to work with it; `None` if there is a later one. Waits
    /// for the one before.
    pub(crate) fn take(&self, connection: u32, waker: &Waker) -> Poll<Option<Box<Session>>> {
        let mut state = lock(&self.state);
        if state.connection != connection {
            return Poll::Ready(None);
        }
        let Some(mut session) = state.session.take() else {
            state.waiting.push(waker.clone());
            return Poll::Pending;
        };
        state.era = session.engine.core().era();
        state.driver = None;
        Poll::Ready(Some(session))
    }

    /// Puts the session back, and wakes those who wait for it. Then `driver` is woken when there is
    /// something to do; at once if there is already.
    pub(crate) fn put(&self, mut session: Box<Session>, driver: &Waker) {
        let mut state = lock(&self.state);
        let commands = std::mem::take(&mut state.commands);
        let mut wakers = std::mem::take(&mut state.waiting);
        if !commands.is_empty() {
            wakers.push(driver.clone());
        }
        commands.into_iter().for_each(|command| session.obey(command, self.clock.now()));
        wakers.append(&mut session.app.events.woken());
        state.driver = Some(driver.clone());
        state.session = Some(session);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

// One call: cancelled when it is dropped.

/// A call whose result was not taken.
pub(crate) struct PendingCall {
    /// Keeps the connection open.
    owner: Arc<ClientInner>,
    pub(crate) id: CallId,
}

impl PendingCall {
    /// Makes a call. `begin` does, once the connection does not work with the session.
    pub(crate) async fn begin(
        owner: &Arc<ClientInner>,
        mut begin: impl FnMut(&mut Session, Instant) -> Result<CallId, SendError>,
    ) -> Result<Self, CallError> {
        let begun = Self::begin_unless(owner, |session, now| begin(session, now).map(Some)).await?;
        begun.ok_or(CallError::Closed)
    }

    /// As [`begin`](Self::begin), for what may be over at once.
    pub(crate) async fn begin_unless(
        owner: &Arc<ClientInner>,
        mut begin: impl FnMut(&mut Session, Instant) -> Result<Option<CallId>, SendError>,
    ) -> Result<Option<Self>, CallError> {
        let inner = &owner.inner;
        let mut begin = |session: &mut Session, now| {
            if let Poll::Ready(Err(error)) = session.poll_connected() {
                return Err(error);
            }
            session.is_changed = true;
            let id = begin(session, now).map_err(CallError::NotSent)?;
            id.into_iter().for_each(|id| session.app.events.open(id));
            Ok(id)
        };
        let begun = poll_fn(|cx| inner.poll(cx, |it| Poll::Ready(begin(it, inner.clock.now()))));
        Ok(begun.await?.map(|id| Self { owner: Arc::clone(owner), id }))
    }

    pub(crate) fn poll_change(&self, cx: &Context<'_>) -> Poll<Result<Change, Option<CallError>>> {
        self.owner.inner.poll(cx, |session| session.poll_change(self.id, cx))
    }

    /// Waits for the end.
    pub(crate) async fn finished(
        &self,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Finished {
        let inner = &self.owner.inner;
        loop {
            let event = poll_fn(|cx| inner.poll(cx, |session| session.poll_call(self.id, cx)));
            if let Some(over) = event.await.finished(on_progress) {
                return over;
            }
        }
    }

    /// Waits for the result.
    pub(crate) async fn result(
        self,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, CallError> {
        self.finished(on_progress).await.result
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.owner.inner.command(Command::Cancel(self.id));
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use futures_lite::{AsyncRead, AsyncWrite};

    use mcp_sansio::types::Implementation;
    use mcp_sansio::{ClientConfig, ClientFeatures, Era, RawJson};

    use super::super::ClientLimits;
    use super::*;
    use crate::asynchronous::client::Connector;

    static CONFIG: ClientConfig<'_> =
        ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::ROOTS);

    /// A legacy server that cancels all its requests but the first ones, and reads little.
    struct Fickle {
        said: String,
        server_requests: usize,
        /// Number of requests that it makes.
        most: usize,
        /// Number of bytes that it still reads.
        reads: usize,
        heard: Vec<u8>,
    }

    impl AsyncRead for Fickle {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            into: &mut [u8],
        ) -> Poll<io::Result<usize>> {
            while self.said.len() < into.len() && self.server_requests < self.most {
                let id = self.server_requests;
                self.said +=
                    &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"roots/list\"}}\n");
                // The responses to the first requests fill the output buffer, and one of them stays
                // in front of all others.
                if id > LAST_KEPT {
                    let cancelled = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId"#;
                    self.said += &format!("{cancelled}\":{id}}}}}\n");
                }
                self.server_requests += 1;
            }
            let len = self.said.len().min(into.len());
            into[..len].copy_from_slice(&self.said.as_bytes()[..len]);
            self.said.drain(..len);
            if len == 0 { Poll::Pending } else { Poll::Ready(Ok(len)) }
        }
    }

    impl AsyncWrite for Fickle {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let len = bytes.len().min(self.reads);
            self.reads -= len;
            self.heard.extend_from_slice(&bytes[..len]);
            if len == 0 { Poll::Pending } else { Poll::Ready(Ok(len)) }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// The last request that the server does not take back.
    const LAST_KEPT: usize = 40;

    /// A server that makes this many requests, and its client.
    fn fickle(most: usize) -> (crate::asynchronous::client::Client, Connection<Fickle>) {
        let info = r#""capabilities":{},"serverInfo":{"name":"s","version":"1"}"#;
        let said = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"protocolVersion\":\"2025-11-25\",{info}}}}}\n"
        );
        let stream = Fickle { said, server_requests: 0, most, reads: 400, heard: Vec::new() };
        let connector = Connector::new(&CONFIG)
            .era(Era::Legacy)
            .limits(ClientLimits { max_pending: 1024, ..ClientLimits::new() })
            .on_input_request(async |input_request| input_request.respond(&RawJson::EMPTY));
        connector.connect(stream)
    }

    fn kept(connection: &Connection<Fickle>) -> usize {
        let taken = connection.inner.take(connection.number, Waker::noop());
        let Poll::Ready(Some(session)) = taken else { panic!() };
        let answers = connection.inputs.len() + connection.answers.len();
        let kept = answers + session.engine.unsent();
        connection.inner.put(session, Waker::noop());
        kept
    }

    #[test]
    fn c1_answers_to_what_the_server_has_taken_back_are_not_kept() {
        let (_client, mut connection) = fickle(usize::MAX);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..50 {
            assert!(Pin::new(&mut connection).poll(&mut cx).is_pending());
            let kept = kept(&connection);
            assert!(kept <= usize::from(ClientLimits::new().max_in_flight), "{kept}");
        }
        assert!(
            connection.link.stream.server_requests
                > 10 * usize::from(ClientLimits::new().max_in_flight),
            "{}",
            connection.link.stream.server_requests
        );
    }

    #[test]
    fn answers_that_wait_for_room_are_sent_although_the_server_takes_other_requests_back() {
        let (_client, mut connection) = fickle(60);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut connection).poll(&mut cx).is_pending());
        assert!(kept(&connection) > 0);
        connection.link.stream.reads = usize::MAX;
        assert!(Pin::new(&mut connection).poll(&mut cx).is_pending());
        let heard = String::from_utf8(connection.link.stream.heard.clone()).unwrap();
        let answers = heard.lines().filter(|line| line.contains("\"result\""));
        let ids: Vec<usize> = answers.map(id).collect();
        assert_eq!(ids, (0..=LAST_KEPT).collect::<Vec<_>>());
    }

    /// Returns the id of a response.
    fn id(line: &str) -> usize {
        RawJson::parse(line).unwrap().get("id").and_then(RawJson::as_u64).unwrap() as usize
    }
}
