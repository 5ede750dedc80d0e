//! The engine of a connection, and the commands of the handles of its client.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};

use mcp_sansio::types::ProgressParams;
use mcp_sansio::{Changed, ClientEvent, Instant, OwnedJson, RawJson};

use super::{CallId, Cancelled, ClientEngine, ConnectState, Connected, Driver, Finished};
use crate::errors::{CallError, ConnectError};

/// The application of a client whose calls are asked for their events.
pub trait ClientApplication: Driver {
    /// Returns the events of its calls.
    fn events(&mut self) -> &mut CallEvents;
}

/// The engine of a connection, and the application as that sees it. A connection and the handles of
/// its client share it.
pub struct SharedClient<A> {
    /// The engine.
    pub engine: ClientEngine<'static>,
    /// The application.
    pub app: A,
    connected: Option<Arc<Connected>>,
    /// URL of the server, if messages are sent in POST requests.
    url: Option<String>,
    /// Why it is over.
    pub end: Option<End>,
    /// Whether the connection has something to do.
    pub is_changed: bool,
}

/// Why a session is over.
#[derive(Clone)]
pub enum End {
    /// The application closed it. What is pending is still written.
    Closing,
    /// The server cannot be used.
    ConnectFailed(ConnectError),
    /// The connection has ended.
    Over,
}

/// A command of a client, which does not wait for its end.
pub enum Command {
    /// Connects, to a server with this URL if messages are sent in POST requests.
    Connect(Option<String>),
    /// Closes the connection, once what is pending is written.
    Close,
    /// Ends at once.
    End,
    /// Cancels a call, and its task.
    Cancel(CallId),
    /// Leaves the task of a call to the server.
    Detach(CallId),
    /// Cancels a task.
    CancelTask(String),
    /// Sends nothing for the task of a call until it is waited for.
    Hold(CallId),
}

impl<A: ClientApplication> SharedClient<A> {
    /// Creates a client that is not connected.
    pub const fn new(engine: ClientEngine<'static>, app: A) -> Self {
        Self { engine, app, connected: None, url: None, end: None, is_changed: false }
    }

    /// Returns the result of connecting; pending before that.
    pub fn poll_connected(&mut self) -> Poll<Result<Arc<Connected>, CallError>> {
        match &self.end {
            Some(End::ConnectFailed(why)) => {
                let (server, why) = (self.url.clone(), why.clone());
                Poll::Ready(Err(CallError::ConnectFailed { server, why }))
            }
            Some(End::Closing | End::Over) => Poll::Ready(Err(CallError::Closed)),
            None => self.connected().map_or(Poll::Pending, |it| Poll::Ready(Ok(it))),
        }
    }

    fn connected(&mut self) -> Option<Arc<Connected>> {
        if self.connected.is_none()
            && matches!(self.engine.connect_state(), ConnectState::Connected)
        {
            self.connected = self.engine.connected().map(Arc::new);
        }
        self.connected.clone()
    }

    /// Polls a call for what it has to tell.
    pub fn poll_call(&mut self, call: CallId, cx: &Context<'_>) -> Poll<CallEvent> {
        if let Some(event) = self.app.events().take(call, cx.waker()) {
            return Poll::Ready(event);
        }
        let over = self.engine.take(call);
        over.map_or(Poll::Pending, |over| Poll::Ready(CallEvent::Finished(over)))
    }

    /// Polls a subscription. Returns its end as an error.
    pub fn poll_change(
        &mut self,
        call: CallId,
        cx: &Context<'_>,
    ) -> Poll<Result<Change, Option<CallError>>> {
        if let Some(CallEvent::Change(change)) = self.app.events().take(call, cx.waker()) {
            return Poll::Ready(Ok(change));
        }
        // The result is left, for the next connection to begin it again.
        if self.engine.is_lost(call) {
            return Poll::Ready(Err(Some(CallError::Closed)));
        }
        let over = self.engine.take(call);
        over.map_or(Poll::Pending, |over| Poll::Ready(Err(over.result.err())))
    }

    /// Connects, or connects again.
    fn connect(&mut self, now: Instant, url: Option<String>) {
        self.end(End::Over);
        (self.end, self.connected, self.url) = (None, None, url);
        let Self { engine, app, .. } = self;
        app.events().missed(|call| engine.is_lost(call));
        #[cfg(feature = "http")]
        engine.set_over_http(self.url.is_some());
        if engine.connect(now, app).is_err() {
            self.end(End::ConnectFailed(ConnectError::NoCommonRevision(None)));
        }
    }

    /// Does what a client wants.
    pub fn obey(&mut self, command: Command, now: Instant) {
        let Self { engine, app, .. } = self;
        match command {
            Command::Connect(url) => self.connect(now, url),
            Command::Close => self.end(End::Closing),
            Command::End => self.end(End::Over),
            Command::Cancel(call) => {
                app.events().close(call);
                if let Some(Cancelled::Task(task)) = engine.cancel(now, call, None, app)
                    && self.end.is_none()
                {
                    engine.cancel_task(now, task, app);
                }
            }
            Command::Detach(call) => {
                app.events().close(call);
                engine.cancel(now, call, None, app);
            }
            Command::CancelTask(task) if self.end.is_none() => engine.cancel_task(now, task, app),
            Command::CancelTask(_) => {}
            Command::Hold(call) => engine.hold(now, call, true, app),
        }
    }

    /// Ends the connection; everything that waits is woken. The first reason is kept.
    pub fn end(&mut self, end: End) {
        match (&self.end, &end) {
            (None, _) | (Some(End::Closing), End::Over) => {
                self.end = Some(end);
                self.engine.end(&mut self.app);
            }
            _ => {}
        }
    }
}

// Events of calls before their results, kept until somebody asks.

/// Something that changed: cached copies of it are stale.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource with this URI, or a sub-resource of it.
    Resource(Arc<str>),
    /// The state of the task with this id.
    Task(Arc<str>),
    /// Changes were dropped, because more arrived than are kept: anything subscribed to may have
    /// changed.
    Missed,
}

/// The events of all calls. Those that wait for one are [woken](Self::woken) where no lock is held.
#[derive(Default)]
pub struct CallEvents {
    calls: BTreeMap<CallId, Entry>,
    woken: Vec<Waker>,
}

/// The events of one call before its result.
#[derive(Default)]
struct Entry {
    events: VecDeque<CallEvent>,
    waker: Option<Waker>,
}

/// An event of a call.
pub enum CallEvent {
    /// A report of its progress.
    Progress(OwnedJson),
    /// A change that it subscribes to.
    Change(Change),
    /// Its end.
    Finished(Finished),
}

impl CallEvents {
    /// Keeps the events of a call from now on.
    #[inline]
    pub fn open(&mut self, call: CallId) {
        self.calls.insert(call, Entry::default());
    }

    /// Forgets a call.
    #[inline]
    pub fn close(&mut self, call: CallId) {
        self.calls.remove(&call);
    }

    /// Takes the oldest event of a call. If there is none, keeps the waker.
    #[inline]
    pub fn take(&mut self, call: CallId, waker: &Waker) -> Option<CallEvent> {
        let entry = self.calls.get_mut(&call)?;
        let event = entry.events.pop_front();
        if event.is_none() && !entry.waker.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            entry.waker = Some(waker.clone());
        }
        event
    }

    /// Keeps the waker for the next news of a call.
    pub fn wake_by(&mut self, call: CallId, waker: &Waker) {
        if let Some(entry) = self.calls.get_mut(&call) {
            entry.waker = Some(waker.clone());
        }
    }

    /// Tells these subscriptions that they have missed changes.
    pub fn missed(&mut self, is_lost: impl Fn(CallId) -> bool) {
        for (_, entry) in self.calls.iter_mut().filter(|(call, _)| is_lost(**call)) {
            self.woken.extend(entry.push(CallEvent::Change(Change::Missed)));
        }
    }

    /// Wakes who waits for news of a call: see [`Driver::updated`](crate::Driver::updated).
    #[inline]
    pub fn updated(&mut self, call: CallId) {
        self.woken.extend(self.calls.get_mut(&call).and_then(|entry| entry.waker.take()));
    }

    /// Keeps an [event](crate::Driver::event) of a call. Returns `false` if it is for the
    /// application.
    pub fn event(&mut self, about: Option<CallId>, event: &ClientEvent<'_>) -> bool {
        let event = match event {
            ClientEvent::Progress { params, .. } => CallEvent::Progress((*params).into()),
            // The engine keeps it.
            ClientEvent::Listening { .. } => return true,
            ClientEvent::Changed { listen, what } if about.is_some() || listen.is_some() => {
                CallEvent::Change(Change::from(*what))
            }
            _ => return false,
        };
        let entry = about.and_then(|call| self.calls.get_mut(&call));
        self.woken.extend(entry.and_then(|entry| entry.push(event)));
        true
    }

    /// Returns who is to be woken since the last call.
    #[inline]
    pub fn woken(&mut self) -> Vec<Waker> {
        core::mem::take(&mut self.woken)
    }
}

impl Entry {
    fn push(&mut self, mut event: CallEvent) -> Option<Waker> {
        match &event {
            // The latest report supersedes the others.
            CallEvent::Progress(_) => {
                while self.is_full(&event)
                    && matches!(self.events.front(), Some(CallEvent::Progress(_)))
                {
                    self.events.pop_front();
                }
            }
            CallEvent::Change(change) => {
                let is_told = |kept: &CallEvent| {
                    matches!(
                        kept,
                        CallEvent::Change(kept) if kept == change || *kept == Change::Missed
                    )
                };
                if self.events.iter().any(is_told) {
                    return None;
                }
                if self.is_full(&event) {
                    self.events.retain(|event| !matches!(event, CallEvent::Change(_)));
                    event = CallEvent::Change(Change::Missed);
                }
            }
            _ => {}
        }
        self.events.push_back(event);
        self.waker.take()
    }

    /// Whether there is no room for another event.
    fn is_full(&self, event: &CallEvent) -> bool {
        let bytes = || self.events.iter().chain([event]).map(CallEvent::bytes).sum::<usize>();
        self.events.len() >= MAX_EVENTS || bytes() > MAX_EVENT_BYTES
    }
}

impl CallEvent {
    /// Reports progress. Returns the end of the call.
    pub fn finished(self, on_progress: &mut impl FnMut(&ProgressParams<'_>)) -> Option<Finished> {
        match self {
            Self::Finished(over) => return Some(over),
            Self::Progress(params) => params.to().iter().for_each(on_progress),
            _ => {}
        }
        None
    }

    /// Returns the size of events that can be numerous.
    fn bytes(&self) -> usize {
        match self {
            Self::Progress(params) => params.as_json().as_str().len(),
            Self::Change(Change::Resource(uri)) => uri.len(),
            _ => 0,
        }
    }
}

impl From<Changed<'_>> for Change {
    fn from(changed: Changed<'_>) -> Self {
        match changed {
            Changed::Tools => Self::Tools,
            Changed::Prompts => Self::Prompts,
            Changed::Resources => Self::Resources,
            Changed::Resource { uri } => Self::Resource(uri.to_string().into()),
            Changed::Task(task) => {
                let id = task.get("taskId").and_then(RawJson::as_string);
                id.map_or(Self::Missed, |id| Self::Task(id.to_string().into()))
            }
            _ => Self::Missed,
        }
    }
}

/// Maximum number of events that are kept for a call. Older progress is dropped, and changes become
/// one [`Change::Missed`].
const MAX_EVENTS: usize = 64;
/// Maximum number of bytes of them. The latest progress report is kept even if it is longer.
const MAX_EVENT_BYTES: usize = 64 << 10;
