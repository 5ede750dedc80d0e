//! The client.

use std::io;
use std::process::Command;
use std::time::Duration;

use mcp_sansio::types::{ProgressParams, SubscriptionFilter};
use mcp_sansio::{CallOptions, ClientConfig, Encode, Era, Instant, OwnedJson, RawJson, Revision};
use mcp_sansio_engine::{CallError, Cancelled, ClientEngine, ConnectState, Finished};

use super::connector::Application;
use super::{
    CallId, ClientLimits, Connected, ConnectionEnd, Connector, Error, Process, Transferred,
    Transport,
};

/// Result of a call, or its error.
pub type CallResult = Result<OwnedJson, Error>;

/// A client of one server. See the [module](super).
pub struct Client<'c> {
    /// Its output buffer is unlimited, so that a call never waits for room: long messages are the
    /// application's own, and the engine limits those that the server causes.
    pub(super) engine: ClientEngine<'c>,
    pub(super) limits: ClientLimits,
    pub(super) app: Application<'c>,
    pub(super) transport: Box<dyn Transport + 'c>,
    /// `None` before the first connection.
    pub(super) connected: Option<Connected>,
    pub(super) ended: Option<ConnectionEnd>,
    /// The end of the last connection, for calls that have ended with it.
    pub(super) last_end: ConnectionEnd,
}

impl<'c> Client<'c> {
    /// Starts a server and connects to it. For a handler or other settings use [`Connector`] and
    /// [`Process`].
    ///
    /// # Errors
    /// [`Error::Start`], [`Error::ConnectFailed`], [`Error::Closed`].
    pub fn spawn(config: &'c ClientConfig<'c>, command: Command) -> Result<Self, Error> {
        Connector::new(config).connect(Process::new(command))
    }

    /// Connects again after the [end of the connection](Error::Closed), starting the server again
    /// if it is a process. Repeats [`listen`](Self::listen) and
    /// [`set_log_level`](Self::set_log_level). Calls that were in flight have failed; only the
    /// application knows whether they can be repeated.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn reconnect(&mut self) -> Result<(), Error> {
        if self.ended.is_none() {
            self.end();
        }
        self.connect()?;
        if let Some(level) = self.engine.restored() {
            self.wait(level)?;
        }
        Ok(())
    }

    /// Sends a request and waits for its result. `params` is any value that serializes as a JSON
    /// object, `RawJson::EMPTY` for no parameters.
    ///
    /// # Errors
    /// All errors but those of connecting.
    pub fn request<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<OwnedJson, Error> {
        let id = self.begin(method, params, options)?;
        self.wait(id)
    }

    /// As [`request`](Self::request), and reports the progress, also while the server runs a tool
    /// as a task. The [handler](super::Handler) gets it, too.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub fn request_with_progress<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
        on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, Error> {
        let call = self.begin(method, params, options.progress(true))?;
        self.wait_with_progress(call, on_progress)
    }

    /// As [`wait`](Self::wait), and reports the progress from now on, if the call asked for it:
    /// with [`CallOptions::progress`], or by [`call_tool_as_task`](Self::call_tool_as_task) or
    /// [`resume`](Self::resume). The [handler](super::Handler) gets it, too. Of a task this is the
    /// latest that is known, what the server reports (2025-11-25), and what is new in its state:
    /// the message that describes the status, and the numbers if the server is one of this library
    /// ([`TASK_PROGRESS`](mcp_sansio::types::meta::TASK_PROGRESS)). Without them the numbers are
    /// those so far, at first zero.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_with_progress(
        &mut self,
        call: CallId,
        mut on_progress: impl FnMut(&ProgressParams<'_>),
    ) -> Result<OwnedJson, Error> {
        self.app.watch(call, self.engine.task_progress(call));
        self.wait_with(call, |app| {
            for report in app.reports() {
                if let Ok(params) = report.to() {
                    on_progress(&params);
                }
            }
        })
    }

    /// Sends a request without waiting. [`wait`](Self::wait) returns its result.
    ///
    /// # Errors
    /// [`Error::Call`], [`Error::Closed`].
    pub fn start<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        let id = self.begin(method, params, options)?;
        // If this ends the connection, it ends the call too.
        let _ = self.flush();
        Ok(id)
    }

    pub(super) fn begin<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        self.make_room(method)?;
        let begun = self.engine.call(self.app.now(), method, params, options, &mut self.app);
        begun.map_err(|error| Error::of(method, error))
    }

    /// Waits for the result of a call.
    ///
    /// # Errors
    /// All errors but those of connecting.
    pub fn wait(&mut self, call: CallId) -> Result<OwnedJson, Error> {
        self.wait_with(call, |_| ())
    }

    /// As [`wait`](Self::wait). `each` is called after each event, before the result.
    pub(super) fn wait_with(
        &mut self,
        call: CallId,
        each: impl FnMut(&mut Application<'c>),
    ) -> CallResult {
        let over = self.finished(call, each)?;
        self.result(over)
    }

    /// Waits for the end of a call.
    pub(super) fn finished(
        &mut self,
        call: CallId,
        mut each: impl FnMut(&mut Application<'c>),
    ) -> Result<Finished, Error> {
        self.catch_up();
        loop {
            each(&mut self.app);
            if let Some(over) = self.engine.take(call) {
                return Ok(over);
            }
            if !self.engine.is_known(call) {
                return Err(Error::UnknownCall);
            }
            self.step(None)?;
        }
    }

    /// Waits for the first call that ends. Returns `None` if there are no calls.
    ///
    /// # Errors
    /// Errors of the connection. An error of the call is in its result.
    pub fn wait_any(&mut self) -> Result<Option<(CallId, CallResult)>, Error> {
        self.catch_up();
        loop {
            if let Some(over) = self.engine.take_any() {
                return Ok(Some((over.id, self.result(over))));
            }
            if !self.engine.has_calls() {
                return Ok(None);
            }
            self.step(None)?;
        }
    }

    /// Cancels a call, or a [`listen`](Self::listen), and notifies the server. Returns `false` if
    /// it was over already; its result is dropped then. A task that the server runs the call as is
    /// cancelled with it, which waits for the acknowledgement.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Io`]; for a task as [`request`](Self::request).
    pub fn cancel(&mut self, call: CallId, reason: Option<&str>) -> Result<bool, Error> {
        match self.engine.cancel(self.app.now(), call, reason, &mut self.app) {
            None => Ok(false),
            Some(Cancelled::Task(task)) => self.cancel_task(&task),
            Some(cancelled) => {
                self.flush()?;
                Ok(cancelled == Cancelled::Call)
            }
        }
    }

    /// Subscribes to changes, which the [handler](super::Handler) gets, and waits until the server
    /// has acknowledged it. It ends by [`cancel`](Self::cancel), or by the server, for which
    /// [`wait`](Self::wait) waits.
    ///
    /// A modern server gets `subscriptions/listen`, and acknowledges it by the event
    /// [`Listening`](mcp_sansio::ClientEvent::Listening). A legacy server reports changes of its
    /// lists unasked, and gets a `resources/subscribe` for each resource; what it reports belongs
    /// to no call.
    ///
    /// # Errors
    /// See [`request`](Self::request).
    pub fn listen(&mut self, filter: &SubscriptionFilter<'_>) -> Result<CallId, Error> {
        self.make_room(LISTEN)?;
        let options = CallOptions::new();
        let begun = self.engine.listen(self.app.now(), filter, options, &mut self.app);
        let listen = begun.map_err(|error| Error::of(LISTEN, error))?;
        self.acknowledged(listen).inspect_err(|_| {
            // Otherwise the next connection would open it, although nobody knows of it.
            self.engine.cancel(self.app.now(), listen, None, &mut self.app);
        })?;
        Ok(listen)
    }

    /// Waits until the server has acknowledged a subscription.
    fn acknowledged(&mut self, listen: CallId) -> Result<(), Error> {
        while self.engine.is_known(listen) && self.engine.acknowledged(listen).is_none() {
            let ended = || Error::Closed(self.last_end.clone());
            // It is left, for the next connection to open it.
            if self.engine.is_lost(listen) {
                return Err(ended());
            }
            if let Some(over) = self.engine.take(listen) {
                return Err(self.result(over).err().unwrap_or_else(ended));
            }
            self.step(None)?;
        }
        Ok(())
    }

    /// Handles events for this time. If it is zero, handles those that have come already.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn run_for(&mut self, duration: Duration) -> Result<(), Error> {
        self.catch_up();
        let until = self.app.now().saturating_add(duration);
        // Limited, since a server may never stop sending.
        let mut more = MORE_STEPS;
        while self.step(Some(until))? && more > 0 || self.app.now() < until {
            more -= u32::from(self.app.now() >= until);
        }
        Ok(())
    }

    /// Notifies a legacy server that the roots have changed.
    ///
    /// # Errors
    /// [`Error::Call`] for a modern server, and if `roots.listChanged` was not declared.
    pub fn roots_changed(&mut self) -> Result<(), Error> {
        self.notify("notifications/roots/list_changed", &RawJson::EMPTY)
    }

    /// Sends a custom notification.
    ///
    /// # Errors
    /// [`Error::Call`], [`Error::Closed`].
    pub fn notify<P: Encode + ?Sized>(&mut self, method: &str, params: &P) -> Result<(), Error> {
        self.make_room(method)?;
        let sent = self.engine.notify(self.app.now(), method, params, &mut self.app);
        sent.map_err(|error| Error::of(method, error))?;
        self.flush()
    }

    /// Closes the connection and returns how the server ended. Calls in flight are lost.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn close(mut self) -> Result<ConnectionEnd, Error> {
        if let Some(ended) = self.ended.take() {
            return Ok(ended);
        }
        // Queued messages, a cancellation for example, are still written if the server reads them.
        let until = self.app.now().saturating_add(CLOSE_TIMEOUT);
        while self.engine.pending() > 0 && self.app.now() < until && self.ended.is_none() {
            self.step(Some(until))?;
        }
        match self.ended.take() {
            Some(ended) => Ok(ended),
            None => Ok(self.transport.close()?),
        }
    }

    /// Returns what is known of the server, since the last time that it was connected.
    pub const fn connected(&self) -> Option<&Connected> {
        self.connected.as_ref()
    }

    /// Returns the era of the server, which can be kept for [`Connector::era`].
    pub fn era(&self) -> Option<Era> {
        Some(self.connected.as_ref()?.revision.era())
    }

    /// Returns the result of a call that has ended, with what its error lacks.
    pub(super) fn result(&self, over: Finished) -> CallResult {
        let Finished { method, result, .. } = over;
        result.map_err(|error| match error {
            CallError::Closed => Error::Closed(self.last_end.clone()),
            error => Error::Call { method, error },
        })
    }
}

mcp_sansio::opaque_debug!(Client<'_> |it| { server: it.transport.name() });

/// Maximum time that [`Client::close`] spends on writing queued messages.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum number of iterations of [`Client::run_for`] after its time.
const MORE_STEPS: u32 = 256;
const LISTEN: &str = "subscriptions/listen";

// The event loop. All reading, writing and waiting is done here.

impl Client<'_> {
    pub(super) fn connect(&mut self) -> Result<(), Error> {
        let core = self.engine.core();
        let revisions = core.config().revisions;
        let probes = core.era().is_none()
            && revisions.contains(Revision::LATEST)
            && revisions.newest_legacy().is_some();
        match self.attempt() {
            // Some legacy servers exit on an unknown method.
            Err(Error::Closed(first)) if probes => {
                self.engine.core().set_era(Some(Era::Legacy));
                self.attempt().map_err(|error| {
                    self.engine.core().set_era(None);
                    match error {
                        Error::Start { error, .. }
                            if error.kind() == io::ErrorKind::Unsupported =>
                        {
                            Error::Closed(first)
                        }
                        error => error,
                    }
                })
            }
            attempted => attempted,
        }
    }

    fn attempt(&mut self) -> Result<(), Error> {
        self.transport
            .open()
            .map_err(|error| Error::Start { server: self.transport.name(), error })?;
        self.ended = None;
        let sent = self.engine.connect(self.app.now(), &mut self.app);
        sent.map_err(|error| Error::of("initialize", error))?;
        loop {
            match self.engine.connect_state() {
                ConnectState::Connecting => self.step(None).map(|_| ())?,
                ConnectState::Connected => {
                    self.connected = self.engine.connected();
                    return Ok(());
                }
                ConnectState::Failed(why) => {
                    let why = why.clone();
                    self.end();
                    return Err(Error::ConnectFailed { why, ended: self.last_end.clone() });
                }
            }
        }
    }

    /// Handles what has come since the last call before any timeout: the response may be in it.
    pub(super) fn catch_up(&mut self) {
        self.engine.begin_wait(self.app.now());
        self.app.free_input_requests();
    }

    /// Waits until at most [`ClientLimits::max_pending`](super::ClientLimits) bytes are pending.
    pub(super) fn make_room(&mut self, method: &str) -> Result<(), Error> {
        self.alive()?;
        self.catch_up();
        let until = self.app.now().saturating_add(self.engine.core().config().call_timeout);
        while self.engine.pending() > self.limits.max_pending {
            if self.app.now() >= until {
                return Err(Error::of(method, CallError::TimedOut));
            }
            self.step(Some(until))?;
        }
        Ok(())
    }

    /// Writes without blocking. The rest is written by later iterations.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.catch_up();
        self.step(Some(Instant::from_millis(0))).map(|_| ())
    }

    fn alive(&self) -> Result<(), Error> {
        self.ended.as_ref().map_or(Ok(()), |ended| Err(Error::Closed(ended.clone())))
    }

    /// Runs one iteration: reads and writes what is possible, waits until `until` at most, and
    /// handles the messages that came and the timeouts that are due. Returns `false` if no byte was
    /// read or written.
    pub(super) fn step(&mut self, until: Option<Instant>) -> Result<bool, Error> {
        self.alive()?;
        let due = [until, self.engine.poll_timeout()].into_iter().flatten().min();
        let timeout = due.map(|due| due.saturating_duration_since(self.app.now()));
        let transferred = match self.transfer(timeout) {
            Ok(transferred) => transferred,
            Err(error) => {
                self.end();
                return Err(error.into());
            }
        };
        let now = self.app.now();
        while self.engine.step(now, &mut self.app) {}
        let moved = transferred != Transferred::default();
        let handled = self.engine.handle_timeout(now, moved, &mut self.app);
        handled.map_err(|error| Error::of("initialize", error))?;
        if transferred.ended || self.engine.is_unresponsive() {
            self.end();
        }
        Ok(moved)
    }

    /// Closes the transport and ends all calls.
    pub(super) fn end(&mut self) {
        let ended = self.transport.close();
        self.last_end = ended.unwrap_or_else(|_| ConnectionEnd::new(self.transport.name()));
        self.ended = Some(self.last_end.clone());
        self.engine.end(&mut self.app);
    }

    /// Reads and writes once, and waits for either for at most `timeout`.
    fn transfer(&mut self, timeout: Option<Duration>) -> io::Result<Transferred> {
        #[cfg(all(feature = "http", feature = "smol"))]
        if let Some(http) = self.transport.http() {
            return http.exchange(&mut self.engine, &mut self.app, timeout);
        }
        let done = self.engine.io(|out, into| {
            // Limited although a long line may have grown the buffer.
            let most = into.len().min(MAX_READ);
            self.transport.transfer(out, into.get_mut(..most).unwrap_or_default(), timeout)
        })?;
        self.engine.received(done.read);
        self.engine.written(done.written);
        if done.ended {
            self.engine.end_of_input();
        }
        Ok(done)
    }
}

/// Maximum number of bytes per read.
const MAX_READ: usize = 64 << 10;
