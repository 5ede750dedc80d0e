//! The application: configuration and limits shared by all connections.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::{GrowingServerState, ServerConfig};

use super::broadcast::Broadcaster;
use super::catalog::CatalogSource;
use super::context::Context;
use super::reply::IntoReply;
use super::task_hub::{TaskHub, TaskOptions};
use crate::observer::{Hooks, Observer, Telling, Watching};
use crate::rounds::StateProtector;
#[cfg(feature = "store")]
use crate::store::{DamagedRecord, StoreError};

/// An application: its configuration, its catalog, its limits and the handler of its requests. One
/// value serves all connections.
///
/// Configuration and catalog are `'static`, because they live as long as the process; use
/// [`Box::leak`] for values that are built at startup.
pub struct App<H> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) handler: H,
}

/// All of an [`App`] but its handler: shared by connections and HTTP servers.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) config: &'static ServerConfig<'static>,
    pub(crate) catalog: Option<CatalogSource>,
    pub(crate) state_protector: Option<Arc<dyn StateProtector>>,
    observer: Option<Arc<dyn Observer>>,
    watch: Option<Arc<Watching>>,
    pub(crate) max_in_flight: usize,
    pub(crate) max_subscriptions: usize,
    pub(crate) max_running: usize,
    pub(crate) max_params: usize,
    pub(crate) full_timeout: Duration,
    pub(crate) max_connections: usize,
    pub(crate) address_share: u8,
    pub(crate) max_line: usize,
    pub(crate) max_pending: usize,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) shutdown_timeout: Option<Duration>,
    pub(crate) broadcaster: Broadcaster,
    pub(crate) tasks: Arc<TaskHub>,
}

impl<H> App<H> {
    /// Creates an application with the default limits.
    pub fn new<F>(config: &'static ServerConfig<'static>, handler: H) -> Self
    where
        H: Fn(Context) -> F,
        F: Future<Output: IntoReply>,
    {
        let settings = Settings {
            config,
            catalog: None,
            state_protector: None,
            observer: None,
            watch: None,
            max_in_flight: IN_FLIGHT,
            max_subscriptions: SUBSCRIPTIONS,
            max_running: MAX_RUNNING,
            max_params: MAX_PARAMS,
            full_timeout: FULL_TIMEOUT,
            max_connections: MAX_CONNECTIONS,
            address_share: ADDRESS_SHARE,
            max_line: MAX_LINE,
            max_pending: MAX_PENDING,
            idle_timeout: None,
            shutdown_timeout: None,
            broadcaster: Broadcaster::new(),
            tasks: Arc::new(TaskHub::new(TaskOptions::new())),
        };
        Self { settings: Arc::new(settings), handler }
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Serves lists from this catalog, and rejects names that are not in it and invalid arguments:
    /// a `&'static` [`Catalog`], or a [`SharedCatalog`](crate::SharedCatalog) that changes, of
    /// which all connections are told. Without a catalog the handler is called for these requests
    /// as well.
    ///
    /// The arguments of the tools of an enum ([`Catalog::calls`]) are checked when the handler asks
    /// for them.
    ///
    /// [`Catalog`]: mcp_sansio::Catalog
    /// [`Catalog::calls`]: mcp_sansio::Catalog::calls
    #[must_use]
    pub fn catalog(self, catalog: impl Into<CatalogSource>) -> Self {
        let catalog = catalog.into();
        catalog.announce(&self.settings.broadcaster);
        self.with(|settings| settings.catalog = Some(catalog))
    }

    /// Sets the protection of the request state that modern clients keep between two rounds
    /// (2026-07-28, basic/patterns/mrtr).
    #[must_use]
    pub fn state_protector(self, protector: impl StateProtector + 'static) -> Self {
        self.with(|settings| settings.state_protector = Some(Arc::new(protector)))
    }

    /// Tells an observer of requests and their ends, of failures and of connections.
    #[must_use]
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.with(|settings| settings.observer = Some(Arc::new(observer)))
    }

    /// Tells the observer of a handler that runs for longer than this without waiting
    /// ([`Event::Stalled`](crate::observer::Event::Stalled)), for example
    /// [`STALLED`](crate::observer::STALLED): all others of its thread wait meanwhile. Starts one
    /// thread with the first connection, for as long as the application exists.
    #[must_use]
    pub fn watch(self, limit: Duration) -> Self {
        self.with(|settings| settings.watch = Some(Arc::new(Watching::new(limit))))
    }

    /// Limits the requests of a connection, or of a session over HTTP, that are admitted and have
    /// no response yet, open `subscriptions/listen` included. At the limit the next request waits,
    /// and on a stream everything behind it: see [`full_timeout`](Self::full_timeout). Each takes
    /// about 200 bytes, and its parameters. Default: [`IN_FLIGHT`]; at most 65,534.
    #[must_use]
    pub fn max_in_flight(self, max_in_flight: usize) -> Self {
        self.with(|settings| {
            settings.max_in_flight = max_in_flight.clamp(1, usize::from(u16::MAX - 1))
        })
    }

    /// Limits the subscribed URIs of a connection, or of a session over HTTP. Each takes 8 bytes;
    /// memory for all of them is allocated if the configuration declares subscriptions. Default:
    /// [`SUBSCRIPTIONS`].
    #[must_use]
    pub fn max_subscriptions(self, max_subscriptions: usize) -> Self {
        self.with(|settings| settings.max_subscriptions = max_subscriptions)
    }

    /// Limits the handlers of a connection, or of a session over HTTP, that run at the same time.
    /// Other admitted requests are started in order of arrival, and can be cancelled before.
    /// Default: [`MAX_RUNNING`]; each takes the memory of its future.
    #[must_use]
    pub fn max_running(self, max_running: usize) -> Self {
        self.with(|settings| settings.max_running = max_running.max(1))
    }

    /// Limits the bytes of parameters of the requests in flight on a connection, or in a session
    /// over HTTP. At the limit the next request of a stream waits, as with
    /// [`max_in_flight`](Self::max_in_flight), and that of a session is refused at once (-32603).
    /// A single request may be longer, so the parameters take at most this and one
    /// [`max_line`](Self::max_line). Default: [`MAX_PARAMS`].
    #[must_use]
    pub fn max_params(self, max_params: usize) -> Self {
        self.with(|settings| settings.max_params = max_params)
    }

    /// Limits the time that a request waits while a limit of [`max_in_flight`](Self::max_in_flight)
    /// or [`max_params`](Self::max_params) is reached and no other request ends. After it the
    /// request is refused with -32603, so that the messages behind it are read, for example a
    /// cancellation. While a request of the server waits for its response, requests beyond the
    /// limits are refused at once, because the response may be behind them. Default:
    /// [`FULL_TIMEOUT`]. [`Duration::MAX`]: no limit.
    #[must_use]
    pub fn full_timeout(self, timeout: Duration) -> Self {
        self.with(|settings| settings.full_timeout = timeout)
    }

    /// Limits the number of connections. More are accepted and closed, over HTTP with status 503.
    /// Default: [`MAX_CONNECTIONS`].
    #[must_use]
    pub fn max_connections(self, max_connections: usize) -> Self {
        self.with(|settings| settings.max_connections = max_connections)
    }

    /// Limits the connections from one address, in percent of
    /// [`max_connections`](Self::max_connections). Over HTTP it also limits what requests without a
    /// principal take of everything in which they have a share, as
    /// [`HttpOptions::principal_share`](super::http::HttpOptions::principal_share) does for
    /// principals, of sessions, and of checks of tokens that wait. The rest is left to others.
    ///
    /// All clients behind a proxy have its address: set 100 there, and limit clients in the proxy.
    /// Of IPv6 the first 64 bits count; streams without an address, such as Unix sockets, have no
    /// share. Default: [`ADDRESS_SHARE`].
    #[must_use]
    pub fn address_share(self, percent: u8) -> Self {
        self.with(|settings| settings.address_share = percent)
    }

    /// Limits the length of a received line, in bytes. A longer line is rejected. The buffer grows
    /// as lines need it. Default: [`MAX_LINE`].
    #[must_use]
    pub fn max_line(self, max_line: usize) -> Self {
        self.with(|settings| settings.max_line = max_line.clamp(MIN_BUFFER, u32::MAX as usize))
    }

    /// Limits the bytes that wait to be written to a client that does not read. A longer response
    /// is written in pieces. Default: [`MAX_PENDING`].
    #[must_use]
    pub fn max_pending(self, max_pending: usize) -> Self {
        self.with(|settings| settings.max_pending = max_pending.max(MIN_BUFFER))
    }

    /// Ends a connection that is idle for this time: nothing is received, and either nothing can be
    /// written although output is pending, or no request is in flight. Input and output count as
    /// activity when they complete a line, empty the output buffer or amount to 64 KiB; single
    /// bytes do not count. Default: [`IDLE_TIMEOUT`] for [accepted](super::accept) connections, no
    /// limit for others, such as the pipes of a process. [`Duration::MAX`]: no limit.
    ///
    /// A legacy client that only waits for changes is idle, too: ping it more often
    /// ([`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval)).
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        self.with(|settings| settings.idle_timeout = Some(timeout))
    }

    /// Limits the time in which requests in flight can end after [`Broadcaster::shut_down`], and
    /// after the end of the input of a stream; then the rest is cancelled. Default:
    /// [`SHUTDOWN_TIMEOUT`], and [`END_OF_INPUT_TIMEOUT`] at the end of the input.
    /// [`Duration::MAX`]: no limit.
    #[must_use]
    pub fn shutdown_timeout(self, timeout: Duration) -> Self {
        self.with(|settings| settings.shutdown_timeout = Some(timeout))
    }

    /// Sets the limits and times of tasks. Calls become tasks where the configuration has
    /// [`ServerFeatures::TASKS`](mcp_sansio::ServerFeatures::TASKS), the catalog says that the tool
    /// supports it, and the client does, too.
    #[must_use]
    pub fn tasks(self, options: TaskOptions) -> Self {
        self.with(|settings| settings.tasks = Arc::new(TaskHub::new(options)))
    }

    /// Loads the tasks of an earlier process from the [store](TaskOptions::store), for which it may
    /// wait: call it once, before serving. Tasks that have ended are served until their time is
    /// over; those that have not, have failed. `damaged` gets the records that cannot be used.
    /// Returns the number of tasks.
    ///
    /// # Errors
    /// See [`StoreError`]. All tasks that can be read are served all the same: those that have not
    /// ended have failed until the next restart, if the store has no room for their ends.
    #[cfg(feature = "store")]
    pub fn resume_tasks(&self, damaged: impl FnMut(DamagedRecord)) -> Result<usize, StoreError> {
        self.settings.tasks.restore(damaged)
    }

    /// Returns the broadcaster, which reaches all connections.
    #[must_use]
    pub fn broadcaster(&self) -> &Broadcaster {
        &self.settings.broadcaster
    }
}

impl Settings {
    /// Returns the observer, and starts its watch over handlers unless it runs.
    pub(crate) fn hooks(&self) -> Option<Hooks<'static>> {
        let observer = self.observer.clone()?;
        if let Some(watch) = &self.watch {
            watch.start_once(&observer);
        }
        Some(Hooks { observer, watch: self.watch.clone() })
    }

    /// Tells the observer, where no mutex is locked.
    pub(crate) fn tell(&self, telling: Telling) {
        if let Some(hooks) = self.hooks() {
            telling.tell(&hooks);
        }
    }

    /// Creates the state of a server.
    pub(crate) fn server_state(&self) -> GrowingServerState {
        let in_flight = u16::try_from(self.max_in_flight).unwrap_or(u16::MAX);
        GrowingServerState::new(in_flight, self.max_subscriptions)
    }

    pub(crate) fn state_protector_ref(&self) -> Option<&dyn StateProtector> {
        self.state_protector.as_deref()
    }
}

/// Default of [`App::max_in_flight`].
pub const IN_FLIGHT: usize = 1024;
/// Default of [`App::max_running`].
pub const MAX_RUNNING: usize = 64;
/// Default of [`App::max_params`], in bytes: 16 MiB.
pub const MAX_PARAMS: usize = 16 << 20;
/// Default of [`App::idle_timeout`] for accepted connections: 10 minutes.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// Default of [`App::full_timeout`]: 30 seconds.
pub const FULL_TIMEOUT: Duration = Duration::from_secs(30);
/// Default of [`App::shutdown_timeout`]: 5 seconds, half of what `docker stop` waits.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Default of [`App::shutdown_timeout`] at the end of the input of a stream: half a second. The
/// official SDKs terminate a server that still runs 2 seconds after they have closed its input.
pub const END_OF_INPUT_TIMEOUT: Duration = Duration::from_millis(500);
/// Default of [`App::max_subscriptions`].
pub const SUBSCRIPTIONS: usize = 64;
/// Default of [`App::max_connections`].
pub const MAX_CONNECTIONS: usize = 1024;
/// Default of [`App::address_share`], in percent.
pub const ADDRESS_SHARE: u8 = 75;
/// Default of [`App::max_line`], in bytes: 4 MiB.
pub const MAX_LINE: usize = 4 << 20;
/// Default of [`App::max_pending`], in bytes: 1 MiB.
pub const MAX_PENDING: usize = 1 << 20;
/// Smallest buffer: every response that the core writes to an unreadable message fits, including
/// the id.
pub(crate) const MIN_BUFFER: usize = 1024;
