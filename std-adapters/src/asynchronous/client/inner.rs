//! State that a connection shares with its clients: the core's client and the output buffer, locked
//! for the duration of a call.

#[cfg(feature = "http")]
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

#[cfg(feature = "http")]
use mcp_sansio::http::client::Post;
use mcp_sansio::types::TaskParams;
use mcp_sansio::{Call, CallOptions, ClientEvent, Instant, SendError, Tx, TxBuffer, methods};

use super::calls::CallTable;
use super::connector::{Connected, Limits};
use super::deadline::LoginTime;
use super::error::CallError;
use super::input::InputHandler;
use super::send_queue::SendQueue;
use crate::client::ConnectError;
use crate::lock::lock;
use crate::runtime;

#[doc(hidden)]
pub struct ConnectionInner {
    state: Mutex<State>,
    clock: std::time::Instant,
    pub(crate) input_handler: InputHandler,
    /// Limit of [`Connector::max_list`](super::Connector::max_list), in bytes.
    pub(crate) max_list: usize,
    /// Time limit of calls without one of their own.
    pub(crate) call_limit: Duration,
}

pub(crate) struct State {
    pub(crate) memory: mcp_sansio::GrowingClientState,
    pub(crate) config: &'static mcp_sansio::ClientConfig<'static>,
    pub(crate) tx: TxBuffer<Vec<u8>>,
    /// Messages that the link has not taken, if it sends them in POST requests.
    #[cfg(feature = "http")]
    pub(crate) posts: VecDeque<Post>,
    #[cfg(feature = "http")]
    max_posts: usize,
    /// URL of the server, if messages are sent in POST requests.
    url: Option<String>,
    pub(crate) phase: Phase,
    pub(crate) calls: CallTable,
    /// Calls whose futures were dropped, still in the core's table: up to
    /// [`Connector::max_in_flight`](super::Connector::max_in_flight).
    pub(crate) abandoned: Vec<Call>,
    /// Ids of tasks to be cancelled.
    abandoned_tasks: Vec<String>,
    /// Which tools the application has listed as tasks.
    pub(crate) tool_support: crate::client::ToolSupport,
    /// Number of sessions that the link has begun.
    pub(crate) sessions: u32,
    pub(crate) send_queue: SendQueue,
    pub(crate) login_time: LoginTime,
    /// Whether a partly sent request was dropped.
    pub(crate) is_cut_off: bool,
    /// Waker of the task that drives the connection, while it waits.
    waker: Option<Waker>,
    /// Whether there was a notification since the driver last looked.
    is_notified: bool,
    /// Called after the lock is released: a waker may drop a call, which takes the lock.
    pub(crate) wakers: Vec<Waker>,
}

/// Phase of a connection.
#[derive(Clone)]
pub(crate) enum Phase {
    Connecting,
    Connected(Arc<Connected>),
    /// Closed by the application.
    Closing,
    /// The core could not connect.
    ConnectFailed(ConnectError),
    Over,
}

impl ConnectionInner {
    pub(crate) fn new(
        config: &'static mcp_sansio::ClientConfig<'static>,
        limits: &Limits,
        input_handler: InputHandler,
        url: Option<String>,
    ) -> Self {
        let call_limit = config.call_limit;
        let state = State {
            memory: mcp_sansio::GrowingClientState::new(limits.max_in_flight),
            config,
            #[cfg(feature = "http")]
            tx: match url {
                // A body is sent as a whole.
                Some(_) => empty_tx_for_posts(),
                None => TxBuffer::with_limit(Vec::new(), limits.max_pending),
            },
            #[cfg(not(feature = "http"))]
            tx: TxBuffer::with_limit(Vec::new(), limits.max_pending),
            #[cfg(feature = "http")]
            posts: VecDeque::new(),
            #[cfg(feature = "http")]
            max_posts: limits.max_pending,
            url,
            phase: Phase::Connecting,
            calls: CallTable::default(),
            abandoned: Vec::new(),
            abandoned_tasks: Vec::new(),
            tool_support: crate::client::ToolSupport::default(),
            sessions: 0,
            send_queue: SendQueue::default(),
            login_time: LoginTime::default(),
            is_cut_off: false,
            waker: None,
            is_notified: false,
            wakers: Vec::new(),
        };
        let clock = runtime::now();
        Self {
            state: Mutex::new(state),
            clock,
            input_handler,
            max_list: limits.max_list,
            call_limit,
        }
    }

    /// Locks the state; never held across an await. A poisoned lock is used all the same, because
    /// each call of the core is all or nothing.
    pub(crate) fn with<R>(&self, call: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = call(&mut state);
        let first = state.wakers.pop();
        let rest =
            if state.wakers.is_empty() { Vec::new() } else { std::mem::take(&mut state.wakers) };
        drop(state);
        first.into_iter().chain(rest).for_each(Waker::wake);
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
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

    /// Ends a round: the driver is woken from now on. Returns `false` if it was notified already.
    pub(crate) fn register_driver(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        if std::mem::take(&mut state.is_notified) {
            return false;
        }
        if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
        true
    }

    /// Starts a round. The driver sees what others do during it without being woken.
    pub(crate) fn begin_round(&self) {
        self.lock().waker = None;
    }
}

impl State {
    pub(crate) fn client(&mut self) -> mcp_sansio::Client<'_> {
        self.memory.client(self.config)
    }

    /// Makes any call of the core's client that writes. A message for a POST request is taken at
    /// once, so that the buffer is free again.
    pub(crate) fn call<R>(
        &mut self,
        call: impl FnOnce(&mut mcp_sansio::Client<'_>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        let result = call(&mut self.memory.client(self.config), &mut self.tx);
        #[cfg(feature = "http")]
        if let Some(post) = self.tx.take_post() {
            // Releases the memory that a long message needed.
            if post.body().len() > self.max_posts {
                self.tx = empty_tx_for_posts();
            }
            self.posts.push_back(post);
        }
        result
    }

    /// Returns whether another message may be written: up to [`MAX_POSTS`] wait for the link, and
    /// up to the limit of bytes and one message.
    pub(crate) fn has_room(&self) -> bool {
        #[cfg(feature = "http")]
        if !self.posts.is_empty() {
            let bytes: usize = self.posts.iter().map(|post| post.body().len()).sum();
            return self.posts.len() < MAX_POSTS && bytes < self.max_posts;
        }
        true
    }

    /// Wakes the driver.
    pub(crate) fn notify_driver(&mut self) {
        self.is_notified = true;
        self.wakers.extend(self.waker.take());
    }

    /// Wakes the first in the send queue: there may be room.
    pub(crate) fn wake_next(&mut self) {
        self.wakers.extend(self.send_queue.first());
    }

    /// Notes whether a person is logging in. Those that wait to be sent have more time then.
    #[cfg(feature = "http")]
    pub(crate) fn set_logging_in(&mut self, is_logging_in: bool) {
        if self.login_time.set(is_logging_in) {
            self.wakers.extend(self.send_queue.all());
        }
    }

    /// Hands an event to its call. Returns `false` if it belongs to no call.
    pub(crate) fn take(&mut self, event: &ClientEvent<'_>) -> bool {
        match event {
            ClientEvent::Connected(connected) => self.on_connected(Connected::from(*connected)),
            ClientEvent::ConnectFailed(error) => {
                self.end(Phase::ConnectFailed(ConnectError::from(*error)))
            }
            // An entry of the core's table is free.
            ClientEvent::CallFinished { .. } => self.wake_next(),
            _ => {}
        }
        self.calls.deliver(event, &mut self.wakers)
    }

    pub(crate) fn on_connected(&mut self, connected: Connected) {
        if matches!(self.phase, Phase::Connecting) {
            self.phase = Phase::Connected(Arc::new(connected));
            self.wake_next();
        }
    }

    /// Closes the connection for the application.
    pub(crate) fn close(&mut self) {
        if matches!(self.phase, Phase::Connecting | Phase::Connected(_)) {
            self.end(Phase::Closing);
        }
    }

    /// Ends the connection for this reason; everything that waits is woken.
    pub(crate) fn end(&mut self, phase: Phase) {
        // The first reason is kept.
        if matches!(self.phase, Phase::ConnectFailed(_) | Phase::Over) {
            return;
        }
        self.phase = phase;
        while let Some(event) = self.client().close() {
            self.calls.deliver(&event, &mut self.wakers);
        }
        self.calls.finish_all(&mut self.wakers);
        self.wakers.extend(self.send_queue.all());
        self.abandoned.clear();
        self.abandoned_tasks.clear();
        self.is_cut_off |= std::mem::take(&mut self.send_queue.is_mid_request);
        self.notify_driver();
    }

    /// Returns the result of connecting; pending before that.
    pub(crate) fn connected(&self) -> Poll<Result<Arc<Connected>, CallError>> {
        match &self.phase {
            Phase::Connecting => Poll::Pending,
            Phase::Connected(connected) => Poll::Ready(Ok(Arc::clone(connected))),
            Phase::ConnectFailed(failure) => {
                let (server, why) = (self.url.clone(), failure.clone());
                Poll::Ready(Err(CallError::ConnectFailed { server, why }))
            }
            Phase::Closing | Phase::Over => Poll::Ready(Err(CallError::Closed)),
        }
    }

    /// Cancels calls that were dropped, and ends lines that were cut off, as far as there is room.
    pub(crate) fn tidy_up(&mut self, now: Instant) -> Result<(), SendError> {
        let _ = now;
        if self.is_cut_off {
            self.call(|client, tx| client.abort_frame(tx))?;
            self.is_cut_off = false;
        }
        while let Some(call) = self.abandoned.last().copied().filter(|_| self.has_room()) {
            self.call(|client, tx| client.cancel_call(call, None, tx))?;
            self.abandoned.pop();
            // An entry of the core's table is free.
            self.wakers.extend(self.send_queue.first());
        }
        self.cancel_tasks(now);
        Ok(())
    }
}

impl State {
    /// Cancels a task that nothing waits for any more: at once if there is room, because the
    /// connection may close next. Nothing waits for the response.
    pub(crate) fn cancel_task(&mut self, now: Instant, task_id: String) {
        self.abandoned_tasks.push(task_id);
        self.cancel_tasks(now);
        self.notify_driver();
    }

    fn cancel_tasks(&mut self, now: Instant) {
        while let Some(id) = self.abandoned_tasks.last().filter(|_| self.has_room()).cloned() {
            let params = TaskParams::new(&id);
            let sent = self.call(|client, tx| {
                client.request(now, methods::TASKS_CANCEL, &params, CallOptions::new(), tx)
            });
            match sent {
                Err(SendError::Full | SendError::TooManyCalls) => return,
                // A server that cannot cancel tasks ends them by itself.
                Ok(_) | Err(_) => drop(self.abandoned_tasks.pop()),
            }
        }
    }
}

#[cfg(feature = "http")]
fn empty_tx_for_posts() -> TxBuffer<Vec<u8>> {
    TxBuffer::for_http_requests(Vec::new(), isize::MAX as usize)
}

/// Maximum number of messages that wait for the link to take them. At the limit calls wait.
#[cfg(feature = "http")]
const MAX_POSTS: usize = 16;
