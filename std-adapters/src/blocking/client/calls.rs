//! The client: what is called.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use mcp_sansio::types::{LoggingLevel, SubscriptionFilter};
use mcp_sansio::{CallOptions, ClientConfig, Era, OwnedJson, Revision, RxBuffer, ServerFeatures};
use serde::Serialize;

use super::driver::Driver;
use super::event_loop::CATCHING_UP;
use super::pending_calls::LISTEN;
use super::{CallId, ConnectionEnd, Connector, Error, Process, Transport};

/// How a request ended.
pub type CallResult = Result<OwnedJson, Error>;

/// A driver with one server. See the [module](self::super).
pub struct Client<'c> {
    pub(super) driver: Driver<'c>,
    pub(super) transport: Box<dyn Transport + 'c>,
    pub(super) rx: RxBuffer<Vec<u8>>,
    pub(super) max_line: usize,
    /// Turns in which nothing expires yet, because nobody looked for long.
    pub(super) behind: u32,
    /// The most that has waited to be sent since the buffer was new.
    pub(super) most_pending: usize,
    pub(super) about: Option<OwnedJson>,
    pub(super) ended: Option<ConnectionEnd>,
    /// Of modern requests.
    pub(super) log_level: Option<LoggingLevel>,
    /// URIs, and their listens with a modern server.
    pub(super) subscribed: Vec<(String, Option<CallId>)>,
}

impl<'c> Client<'c> {
    /// Starts a server and opens the driver. With a handler, or other ways of starting it:
    /// [`Connector`], [`Process`].
    ///
    /// # Errors
    /// [`Error::Start`], [`Error::ConnectFailed`], [`Error::Closed`].
    pub fn spawn(config: &'c ClientConfig<'c>, command: Command) -> Result<Self, Error> {
        Connector::new(config).connect(Process::new(command))
    }

    pub(super) fn open(
        driver: Driver<'c>,
        transport: Box<dyn Transport + 'c>,
        max_line: usize,
    ) -> Result<Self, Error> {
        let rx = RxBuffer::with_limit(Vec::new(), max_line);
        let (behind, most_pending) = (0, 0);
        let (about, ended, log_level, subscribed) = (None, None, None, Vec::new());
        let mut client = Self {
            driver,
            transport,
            rx,
            max_line,
            behind,
            most_pending,
            about,
            ended,
            log_level,
            subscribed,
        };
        client.connect()?;
        Ok(client)
    }

    /// Starts the server again after its [end](Error::Closed), or a connection that can be opened
    /// again, and asks once more for what was [listened](Self::listen) for,
    /// [subscribed](Self::subscribe) to and logged. PendingCalls that were in flight are lost: whether
    /// they may be repeated, the application knows.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    pub fn reconnect(&mut self) -> Result<(), Error> {
        if self.ended.is_none() {
            self.end();
        }
        self.connect()?;
        self.driver.listen_again()?;
        self.set_again()
    }

    /// Sends a request and waits for its result. `params` is anything that serializes as a JSON
    /// object, `RawJson::EMPTY` for none.
    ///
    /// # Errors
    /// All but those of the opening.
    pub fn call<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<OwnedJson, Error> {
        let id = self.begin(method, params, options)?;
        self.wait(id)
    }

    /// Sends a request, whose result is to be [waited for](Self::wait) later.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`Error::NotSent`], [`Error::Closed`].
    pub fn start<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        let id = self.begin(method, params, options)?;
        // If the connection ends over it, so does the call.
        let _ = self.flush();
        Ok(id)
    }

    fn begin<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: &P,
        options: CallOptions,
    ) -> Result<CallId, Error> {
        self.make_room(method)?;
        let options = self.log_level.map_or(options, |level| options.or_log_level(level));
        self.driver.start(method, params, options)
    }

    /// Waits for the result of a request.
    ///
    /// # Errors
    /// All but those of the opening.
    pub fn wait(&mut self, call: CallId) -> Result<OwnedJson, Error> {
        self.catch_up();
        loop {
            if let Some((_, result)) = self.driver.calls.take_result(Some(call)) {
                return result;
            }
            if self.driver.calls.get(call).is_none() {
                return Err(Error::UnknownCall);
            }
            self.turn(None)?;
        }
    }

    /// Waits for the result of whichever request is over first. `None` when there is none to wait
    /// for.
    ///
    /// # Errors
    /// Of the connection; those of the request are in its result.
    pub fn wait_any(&mut self) -> Result<Option<(CallId, CallResult)>, Error> {
        self.catch_up();
        loop {
            if let Some(over) = self.driver.calls.take_result(None) {
                return Ok(Some(over));
            }
            if !self.driver.calls.is_any() {
                return Ok(None);
            }
            self.turn(None)?;
        }
    }

    /// Gives a request up, or a [listen](Self::listen), and tells the server. `false` when it was
    /// over already; its result is forgotten then.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Io`].
    pub fn cancel(&mut self, call: CallId, reason: Option<&str>) -> Result<bool, Error> {
        let cancelled = self.driver.cancel(call, reason)?;
        self.flush()?;
        Ok(cancelled)
    }

    /// Asks a modern server to be told of changes, which the [handler](super::Handler) is, and
    /// waits until the server says what it will tell (the event
    /// [`Listening`](mcp_sansio::ClientEvent::Listening)). It ends when it is
    /// [cancelled](Self::cancel), or when the server ends it, which can be [waited
    /// for](Self::wait). A legacy server tells of its lists without being asked; for single
    /// resources of either, there is [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a legacy server.
    pub fn listen(&mut self, filter: &SubscriptionFilter<'_>) -> Result<CallId, Error> {
        self.make_room(LISTEN)?;
        let listen = self.driver.listen(filter, CallOptions::new())?;
        while self.driver.calls.get(listen).is_some_and(|waiting| !waiting.acknowledged) {
            self.turn(None)?;
            if let Some((_, result)) = self.driver.calls.take_result(Some(listen)) {
                return Err(result
                    .err()
                    .unwrap_or_else(|| Error::Unsupported { method: LISTEN.to_owned() }));
            }
        }
        Ok(listen)
    }

    /// Attends to whatever comes for so long; to what has come already when that is zero.
    ///
    /// # Errors
    /// Of the connection.
    pub fn run_for(&mut self, duration: Duration) -> Result<(), Error> {
        self.catch_up();
        let until = self.driver.now().saturating_add(duration);
        // A server that never stops does not keep us for ever.
        let mut more = CATCHING_UP;
        while self.turn(Some(until))? && more > 0 || self.driver.now() < until {
            more -= u32::from(self.driver.now() >= until);
        }
        Ok(())
    }

    /// Tells a legacy server that the roots are not what they were.
    ///
    /// # Errors
    /// [`Error::NotSent`] for a modern server, and where `roots.listChanged` was not declared.
    pub fn roots_changed(&mut self) -> Result<(), Error> {
        self.driver.send(|machine, _, tx| machine.roots_changed(tx))?;
        self.flush()
    }

    /// Sends a notification of your own.
    ///
    /// # Errors
    /// [`Error::NotSent`], [`Error::Closed`].
    pub fn notify<P: Serialize + ?Sized>(&mut self, method: &str, params: &P) -> Result<(), Error> {
        self.make_room(method)?;
        self.driver.send(|machine, _, tx| machine.notify(method, params, tx))?;
        self.flush()
    }

    /// Ends the driver, and says how the server ended. PendingCalls that are in flight are lost.
    ///
    /// # Errors
    /// When a process cannot be ended.
    pub fn close(mut self) -> Result<ConnectionEnd, Error> {
        if let Some(ended) = self.ended.take() {
            return Ok(ended);
        }
        // What was said last, a cancellation perhaps, still goes out if the server takes it.
        let until = self.driver.now().saturating_add(CLOSE_TIMEOUT);
        while !self.driver.tx.pending().is_empty()
            && self.driver.now() < until
            && self.ended.is_none()
        {
            self.turn(Some(until))?;
        }
        match self.ended.take() {
            Some(ended) => Ok(ended),
            None => Ok(self.transport.close()?),
        }
    }

    /// The revision that is spoken.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.driver.machine.revision()
    }

    /// The era of the server: worth keeping for the next time ([`Connector::era`]).
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.driver.machine.era()
    }

    /// What the server declared. `None` where it was not asked, since its era was said.
    #[must_use]
    pub fn server_capabilities(&self) -> Option<ServerFeatures> {
        self.driver.machine.server_capabilities()
    }

    /// How the server introduced itself: an
    /// [`InitializeResult`](mcp_sansio::types::InitializeResult) or a
    /// [`DiscoverResult`](mcp_sansio::types::DiscoverResult). `None` where it was not asked.
    #[must_use]
    pub fn connect_result(&self) -> Option<&OwnedJson> {
        self.about.as_ref()
    }
}

impl fmt::Debug for Client<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.transport.name();
        f.debug_struct("Client")
            .field("server", &server)
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

/// How long the last words before the end may take.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
