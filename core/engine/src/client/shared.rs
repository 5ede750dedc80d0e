//! The engine of a connection, and the commands of the handles of its client.

use alloc::string::String;
use alloc::sync::Arc;
use core::task::{Context, Poll};

use mcp_sansio::Instant;

use super::call_events::{CallEvent, CallEvents, Change};
use super::{CallId, Cancelled, ClientEngine, ConnectState, Connected, Driver};
use crate::errors::{CallError, ConnectError};

/// The application of a client whose calls are asked for their events.
pub trait ClientApplication: Driver {
    /// Returns the events of its calls.
    fn events(&mut self) -> &mut CallEvents;

    /// Drops what answers questions: no answer is needed any more.
    fn drop_inputs(&mut self);
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
            Command::End => {
                self.end(End::Over);
                self.app.drop_inputs();
            }
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
