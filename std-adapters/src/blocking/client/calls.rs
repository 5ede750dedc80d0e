//! The client.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use mcp_sansio::types::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::{
    CallOptions, ClientConfig, Connection, Encode, Era, GrowingClientState, OwnedJson, Revision,
    ServerFeatures,
};

use super::application::Application;
use super::event_loop::{CATCH_UP_STEPS, empty_rx, empty_tx};
use super::pending_calls::LISTEN;
use super::{CallId, ConnectionEnd, Connector, Error, IN_FLIGHT, Process, Transport};

/// Result of a call, or its error.
pub type CallResult = Result<OwnedJson, Error>;

/// A client of one server. See the [module](super).
pub struct Client<'c> {
    /// Its output buffer is unlimited, so that a call never waits for room: long messages are the
    /// application's own, and `unread_responses` limits those that the server causes.
    pub(super) connection: Connection<'c, GrowingClientState, Vec<u8>, Vec<u8>>,
    pub(super) app: Application<'c>,
    pub(super) max_line: usize,
    /// Whether the next line has been traced.
    pub(super) is_traced: bool,
    /// Maximum number of pending bytes since the output buffer was allocated.
    pub(super) most_pending: usize,
    /// Number of pending bytes that are responses to requests of the server.
    pub(super) unread_responses: usize,
    pub(super) transport: Box<dyn Transport + 'c>,
    /// Remaining iterations in which no timeout is handled, after a long pause.
    pub(super) catch_up_steps: u32,
    pub(super) peer: Peer,
    pub(super) connect_result: Option<OwnedJson>,
    pub(super) ended: Option<ConnectionEnd>,
    /// Log level for modern requests.
    pub(super) log_level: Option<LoggingLevel>,
    /// Subscribed URIs, with their `subscriptions/listen` if the server is modern.
    pub(super) subscribed: Vec<(String, Option<CallId>)>,
}

/// The server, as far as it is known.
#[derive(Default)]
pub(super) struct Peer {
    pub(super) revision: Option<Revision>,
    pub(super) era: Option<Era>,
    pub(super) capabilities: Option<ServerFeatures>,
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

    pub(super) fn open(
        config: &'c ClientConfig<'c>,
        app: Application<'c>,
        max_line: usize,
        era: Option<Era>,
        mut transport: Box<dyn Transport + 'c>,
    ) -> Result<Self, Error> {
        let memory = GrowingClientState::new(IN_FLIGHT);
        let tx = empty_tx(&mut *transport);
        let mut client = Self {
            connection: Connection::new(config, memory, empty_rx(max_line), tx),
            app,
            max_line,
            is_traced: false,
            most_pending: 0,
            unread_responses: 0,
            transport,
            catch_up_steps: 0,
            peer: Peer::default(),
            connect_result: None,
            ended: None,
            log_level: None,
            subscribed: Vec::new(),
        };
        client.core().set_era(era);
        client.connect()?;
        Ok(client)
    }

    /// Connects again after the [end of the connection](Error::Closed), starting the server again
    /// if it is a process. Repeats [`listen`](Self::listen), [`subscribe`](Self::subscribe) and
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
        self.listen_again()?;
        self.restore_settings()
    }

    /// Sends the `subscriptions/listen` that ended with the last connection once more (2026-07-28,
    /// basic/patterns/subscriptions).
    fn listen_again(&mut self) -> Result<(), Error> {
        for id in self.app.calls.lost_listens() {
            let Some(pending) = self.app.calls.get(id) else { continue };
            let (filter, options) = (pending.params.clone(), pending.options);
            let filter = filter
                .as_ref()
                .map(OwnedJson::to::<SubscriptionFilter<'_>>)
                .transpose()?
                .unwrap_or(SubscriptionFilter::new());
            let call = self.send(|core, now, tx| core.listen(now, &filter, options, tx))?;
            self.app.calls.set_attempt(id, call);
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

    /// Sends a request without waiting. [`wait`](Self::wait) returns its result.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::NotSent`], [`Error::Closed`].
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

    fn begin<P: Encode + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        self.make_room(method)?;
        let mut options = options;
        options.log_level = options.log_level.or(self.log_level);
        // Only modern servers respond with `InputRequiredResult`, and only to these methods.
        let may_repeat = self.is_modern() && WITH_INPUT.contains(&method);
        // A call that a server refuses without a task, or with one, is sent again.
        let may_repeat =
            may_repeat || self.app.tasks.has_old && method == mcp_sansio::methods::TOOLS_CALL;
        let kept = if may_repeat { Some(OwnedJson::new(params, Revision::LATEST)?) } else { None };
        let options = self.app.tasks.options(method, kept.as_ref(), options);
        let sent = self.send(|core, now, tx| core.request(now, method, params, options, tx));
        self.app.add_call(sent, method, kept, options)
    }

    /// Waits for the result of a call.
    ///
    /// # Errors
    /// All errors but those of connecting.
    pub fn wait(&mut self, call: CallId) -> Result<OwnedJson, Error> {
        self.catch_up();
        loop {
            if let Some((_, result)) = self.app.calls.take_result(Some(call)) {
                return result;
            }
            if self.app.calls.get(call).is_none() {
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
            if let Some(over) = self.app.calls.take_result(None) {
                return Ok(Some(over));
            }
            if !self.app.calls.is_any() {
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
        let Some(pending) = self.app.calls.forget(call) else { return Ok(false) };
        if let Some(task) = pending.task.as_ref().filter(|_| pending.result.is_none()) {
            self.send(|core, _, tx| core.cancel_call(pending.call, reason, tx))?;
            return self.cancel_task(task.followed.id());
        }
        let was_open = self.core().is_call_open(pending.call);
        self.send(|core, _, tx| core.cancel_call(pending.call, reason, tx))?;
        self.flush()?;
        Ok(was_open)
    }

    /// Sends `subscriptions/listen` to a modern server, so that the [handler](super::Handler) gets
    /// its changes, and waits until the server has acknowledged it (event
    /// [`Listening`](mcp_sansio::ClientEvent::Listening)). It ends by [`cancel`](Self::cancel), or
    /// by the server, for which [`wait`](Self::wait) waits. A legacy server reports changes of its
    /// lists without a request. For single resources of both eras use
    /// [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a legacy server.
    pub fn listen(&mut self, filter: &SubscriptionFilter<'_>) -> Result<CallId, Error> {
        self.make_room(LISTEN)?;
        let kept = OwnedJson::new(filter, Revision::LATEST)?;
        let options = CallOptions::new();
        let sent = self.send(|core, now, tx| core.listen(now, filter, options, tx));
        let listen = self.app.add_call(sent, LISTEN, Some(kept), options)?;
        while self.app.calls.get(listen).is_some_and(|pending| !pending.acknowledged) {
            self.step(None)?;
            if let Some((_, result)) = self.app.calls.take_result(Some(listen)) {
                return Err(result
                    .err()
                    .unwrap_or_else(|| Error::Unsupported { method: LISTEN.to_owned() }));
            }
        }
        Ok(listen)
    }

    /// Handles events for this time. If it is zero, handles those that have come already.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn run_for(&mut self, duration: Duration) -> Result<(), Error> {
        self.catch_up();
        let until = self.app.now().saturating_add(duration);
        // Limited, since a server may never stop sending.
        let mut more = CATCH_UP_STEPS;
        while self.step(Some(until))? && more > 0 || self.app.now() < until {
            more -= u32::from(self.app.now() >= until);
        }
        Ok(())
    }

    /// Notifies a legacy server that the roots have changed.
    ///
    /// # Errors
    /// [`Error::NotSent`] for a modern server, and if `roots.listChanged` was not declared.
    pub fn roots_changed(&mut self) -> Result<(), Error> {
        self.send(|core, _, tx| core.roots_changed(tx))?;
        self.flush()
    }

    /// Sends a custom notification.
    ///
    /// # Errors
    /// [`Error::NotSent`], [`Error::Closed`].
    pub fn notify<P: Encode + ?Sized>(&mut self, method: &str, params: &P) -> Result<(), Error> {
        self.make_room(method)?;
        self.send(|core, _, tx| core.notify(method, params, tx))?;
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
        while self.pending() > 0 && self.app.now() < until && self.ended.is_none() {
            self.step(Some(until))?;
        }
        match self.ended.take() {
            Some(ended) => Ok(ended),
            None => Ok(self.transport.close()?),
        }
    }

    /// Returns the revision of the connection.
    #[must_use]
    pub const fn revision(&self) -> Option<Revision> {
        self.peer.revision
    }

    /// Returns the era of the server, which can be kept for [`Connector::era`].
    #[must_use]
    pub const fn era(&self) -> Option<Era> {
        self.peer.era
    }

    /// Returns the capabilities of the server. `None` if its era was set, since then it was not
    /// asked.
    #[must_use]
    pub const fn server_capabilities(&self) -> Option<ServerFeatures> {
        self.peer.capabilities
    }

    /// Returns the result of connecting: an
    /// [`InitializeResult`](mcp_sansio::types::InitializeResult) or a
    /// [`DiscoverResult`](mcp_sansio::types::DiscoverResult). `None` if the era was set and nothing
    /// was sent.
    #[must_use]
    pub fn connect_result(&self) -> Option<&OwnedJson> {
        self.connect_result.as_ref()
    }
}

impl fmt::Debug for Client<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.transport.name();
        f.debug_struct("Client").field("server", &server).finish_non_exhaustive()
    }
}

/// Maximum time that [`Client::close`] spends on writing queued messages.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Methods to which a modern server may respond with `InputRequiredResult`.
const WITH_INPUT: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];
