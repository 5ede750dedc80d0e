//! What a connection shares with its clients: the session, which one of them works with at a time.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mcp_sansio::types::ProgressParams;
use mcp_sansio::{Era, Instant, OwnedJson, SendError};
use mcp_sansio_engine::internal::{CallEvent, SharedClient};
use mcp_sansio_engine::{CallError, CallId, Change, ClientEngine, Finished};

use super::connector::Application;
use super::handle::ClientInner;
use crate::client::ClientLimits;
use crate::lock::lock;
use crate::runtime;
pub(crate) use mcp_sansio_engine::internal::{Command, End};

pub(crate) struct ConnectionInner {
    state: Mutex<State>,
    clock: std::time::Instant,
    /// Time limit of calls without one of their own.
    pub(crate) call_limit: Duration,
    /// Limits of each connection.
    pub(crate) limits: ClientLimits,
}

struct State {
    /// Number of the connection that may work with the session: the latest.
    connection: u32,
    /// `None` while the connection works with it. Not behind the lock then, because it calls
    /// functions of the application, which may use a client.
    session: Option<Box<Session>>,
    /// What clients want meanwhile.
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
        let session = Session::new(engine, app);
        let state = State {
            connection: 0,
            session: Some(Box::new(session)),
            commands: Vec::new(),
            waiting: Vec::new(),
            era: None,
            driver: None,
        };
        Self { state: Mutex::new(state), clock: runtime::now(), call_limit, limits }
    }

    /// Returns the time since the connection was created.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_millis(
            u64::try_from(runtime::elapsed(self.clock).as_millis()).unwrap_or(u64::MAX),
        )
    }

    pub(crate) fn real_time(&self, at: Instant) -> Option<std::time::Instant> {
        self.clock.checked_add(Duration::from_millis(at.as_millis()))
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

    /// Ends the session of a connection that nobody drives any more, unless there is a later one.
    pub(crate) fn end(&self, connection: u32) {
        let state = lock(&self.state);
        if state.connection == connection {
            self.obey(state, Command::End);
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
        session.obey(command, self.now());
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
    pub(crate) fn connect(&self, url: Option<String>) -> u32 {
        let mut state = lock(&self.state);
        state.connection += 1;
        let number = state.connection;
        self.obey(state, Command::Connect(url));
        number
    }

    pub(crate) fn is_latest(&self, connection: u32) -> bool {
        lock(&self.state).connection == connection
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
        commands.into_iter().for_each(|command| session.obey(command, self.now()));
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
        let begun = poll_fn(|cx| inner.poll(cx, |it| Poll::Ready(begin(it, inner.now()))));
        Ok(begun.await?.map(|id| Self { owner: Arc::clone(owner), id }))
    }

    pub(crate) fn poll_event(&self, cx: &Context<'_>) -> Poll<CallEvent> {
        self.owner.inner.poll(cx, |session| session.poll_call(self.id, cx))
    }

    pub(crate) fn poll_change(&self, cx: &Context<'_>) -> Poll<Result<Change, Option<CallError>>> {
        self.owner.inner.poll(cx, |session| session.poll_change(self.id, cx))
    }

    pub(crate) async fn next_event(&self) -> CallEvent {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// Waits for the end.
    pub(crate) async fn finished(
        &self,
        on_progress: &mut impl FnMut(&ProgressParams<'_>),
    ) -> Finished {
        loop {
            if let Some(over) = self.next_event().await.finished(on_progress) {
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
