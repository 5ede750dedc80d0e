//! The application: configuration and limits shared by all connections.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mcp_sansio::{GrowingServerState, ServerConfig};
use mcp_sansio_engine::internal::StateSeal;
use mcp_sansio_engine::site::Principal;

use super::admission::CatalogOf;
use super::broadcast::Broadcaster;
use super::context::{Context, Origin, owner_text};
use super::reply::IntoReply;
use super::task_hub::{TaskHub, TaskOptions};
use crate::observer::{Hooks, Observer, STALLED, Watching};
use crate::rounds::state_seal;
use crate::store::{DamagedRecord, StoreError};
use crate::{CatalogSource, KeyRing};

/// An application: its configuration, its catalog, its limits and the handler of its requests. One
/// value serves all connections.
///
/// Configuration and catalog are `'static`, because they live as long as the process; use
/// [`Box::leak`] for values that are built at startup.
#[must_use = "an application does nothing until it is served: hand it to `serve` or a `Connection`"]
pub struct App<H> {
    pub(crate) settings: Arc<Settings>,
    pub(crate) handler: H,
}

/// All of an [`App`] but its handler: shared by connections and HTTP servers.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) config: &'static ServerConfig<'static>,
    pub(crate) catalog: Option<CatalogSource<'static>>,
    pub(crate) catalog_of: Option<Arc<CatalogOf>>,
    pub(crate) keys: Option<KeyRing>,
    observer: Option<Arc<dyn Observer>>,
    watch: Option<Arc<Watching>>,
    pub(crate) limits: Limits,
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
            catalog_of: None,
            keys: None,
            observer: None,
            watch: None,
            limits: Limits::new(),
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
    /// The arguments of the tools of an enum ([`Catalog::tools_of`]) are checked when the handler
    /// asks for them.
    ///
    /// [`Catalog`]: mcp_sansio::Catalog
    /// [`Catalog::tools_of`]: mcp_sansio::Catalog::tools_of
    pub fn catalog(self, catalog: impl Into<CatalogSource<'static>>) -> Self {
        let catalog = catalog.into();
        if let CatalogSource::Shared(catalog) = &catalog {
            catalog.listen(self.settings.broadcaster.listener());
        }
        self.with(|settings| settings.catalog = Some(catalog))
    }

    /// Chooses the catalog for the requests of each principal: those that an HTTP server has
    /// authorized. All others have the [`catalog`](Self::catalog).
    ///
    /// `choose` is called once or twice for each request, for its scopes and for its target, while
    /// others wait, and must not use the application; a request for which it panics gets an
    /// internal error (-32603). Clients are not told of changes of a
    /// [`SharedCatalog`](crate::SharedCatalog) that was chosen: publish them with the
    /// [`broadcaster`](Self::broadcaster).
    pub fn catalog_of<C: Into<CatalogSource<'static>>>(
        self,
        choose: impl Fn(&Principal) -> C + Send + Sync + 'static,
    ) -> Self {
        let choose = move |principal: &Principal| choose(principal).into();
        self.with(|settings| settings.catalog_of = Some(Arc::new(choose)))
    }

    /// Sets the keys that seal the state which clients keep while they are asked for input
    /// (2026-07-28, basic/patterns/mrtr). Default: a key that the process draws, so a state is of
    /// no use to another process: servers behind one address need one ring.
    pub fn key_ring(self, keys: KeyRing) -> Self {
        self.with(|settings| settings.keys = Some(keys))
    }

    /// Tells an observer of requests and their ends, of failures and of connections. In debug
    /// builds also of handlers that stall, as if [`watch`](Self::watch) had been called with
    /// [`STALLED`](crate::observer::STALLED).
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.with(|settings| {
            settings.observer = Some(Arc::new(observer));
            if cfg!(debug_assertions) && settings.watch.is_none() {
                settings.watch = Some(Arc::new(Watching::new(STALLED)));
            }
        })
    }

    /// Tells the observer of a handler that runs for longer than this without waiting
    /// ([`Event::Stalled`](crate::observer::Event::Stalled)), for example
    /// [`STALLED`](crate::observer::STALLED): all others of its thread wait meanwhile. Starts one
    /// thread with the first connection, for as long as the application exists.
    pub fn watch(self, limit: Duration) -> Self {
        self.with(|settings| settings.watch = Some(Arc::new(Watching::new(limit))))
    }

    /// Sets the limits of connections, sessions and requests. Values out of range become the
    /// nearest in it.
    pub fn limits(self, limits: Limits) -> Self {
        self.with(|settings| settings.limits = limits.in_range())
    }

    /// Sets the limits and times of tasks. Calls become tasks where the configuration has
    /// [`ServerFeatures::TASKS`](mcp_sansio::ServerFeatures::TASKS), the catalog says that the tool
    /// supports it, and the client does, too.
    pub fn tasks(self, options: TaskOptions) -> Self {
        self.with(|settings| settings.tasks = Arc::new(TaskHub::new(options)))
    }

    /// Loads the tasks of an earlier process from the [store](TaskOptions::store), for which it may
    /// wait: call it once, before serving. Tasks that have ended are served until their time is
    /// over; those that have not, have failed. `damaged` gets the records that cannot be used.
    /// Tasks of a fleet are left alone. Returns the number of tasks.
    ///
    /// # Errors
    /// See [`StoreError`]. All tasks that can be read are served all the same: those that have not
    /// ended have failed until the next restart, if the store has no room for their ends.
    pub fn resume_tasks(&self, damaged: impl FnMut(DamagedRecord)) -> Result<usize, StoreError> {
        let hooks = self.settings.hooks();
        self.settings.tasks.restore(damaged, |record| {
            if let Some(hooks) = &hooks {
                hooks.lost(record);
            }
        })
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
        Some(Hooks { observer, watch: self.watch.clone(), peer: None })
    }

    /// Returns whether there is an observer.
    pub(crate) const fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    /// Tells the observer, where no mutex is locked.
    pub(crate) fn tell(&self, tell: impl FnOnce(&Hooks<'static>)) {
        if let Some(hooks) = self.hooks() {
            tell(&hooks);
        }
    }

    /// Creates the state of a server.
    pub(crate) fn server_state(&self) -> GrowingServerState {
        GrowingServerState::new(self.limits.max_in_flight, self.limits.max_subscriptions)
    }

    /// Returns the seal of the state of a request.
    pub(crate) fn state_seal(&self, origin: &Origin) -> StateSeal<'_> {
        state_seal(self.keys.as_ref(), owner_text(origin))
    }
}

/// Limits of an [`App`], for [`App::limits`]. New versions add fields, so a value ends with
/// `..Limits::new()`:
///
/// ```
/// # use mcp_sansio_adapters::asynchronous::Limits;
/// let limits = Limits { max_connections: 500, max_line: 1 << 20, ..Limits::new() };
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of requests of a connection, or of a session over HTTP, that are admitted and
    /// have no response yet, open `subscriptions/listen` included. At the limit the next request
    /// waits, and on a stream everything behind it: see [`full_timeout`](Self::full_timeout). Each
    /// takes about 200 bytes, and its parameters. Default: 1,024; 1 to 65,534.
    pub max_in_flight: u16,
    /// Maximum number of subscribed URIs of a connection, or of a session over HTTP. Each takes 8
    /// bytes; memory for all of them is allocated if the configuration declares subscriptions.
    /// Default: 64.
    pub max_subscriptions: usize,
    /// Maximum number of handlers of a connection, or of a session over HTTP, that run at the same
    /// time. A response of more than 4 KiB counts as its handler while it waits for room in the
    /// output, which the client makes by reading. Other admitted requests are started in order of
    /// arrival, and can be cancelled before. Each takes the memory of its future, or its response
    /// and its parameters. Default: 64; at least 1.
    pub max_running: usize,
    /// Maximum number of bytes of parameters of the requests in flight on a connection, or in a
    /// session over HTTP. At the limit the next request of a stream waits, as with
    /// [`max_in_flight`](Self::max_in_flight), and that of a session is refused at once (-32603).
    /// A single request may be longer, so the parameters take at most this and one
    /// [`max_line`](Self::max_line). Default: 16 MiB.
    pub max_params: usize,
    /// Time that a request waits while [`max_in_flight`](Self::max_in_flight) or
    /// [`max_params`](Self::max_params) is reached and no other request ends. After it the request
    /// is refused with -32603, so that the messages behind it are read, for example a cancellation.
    /// While a request of the server waits for its response, requests beyond the limits are refused
    /// at once, because the response may be behind them. Default: 30 seconds. [`Duration::MAX`]: no
    /// limit.
    pub full_timeout: Duration,
    /// Maximum number of connections. More are accepted and closed, over HTTP with status 503.
    /// Default: 1,024.
    pub max_connections: usize,
    /// The part of the [connections](Self::max_connections) that one address may have, in percent.
    /// Over HTTP it is also the part of what requests without a principal take of everything in
    /// which they have a share, as
    /// [`HttpOptions::principal_share`](super::http::HttpOptions::principal_share) is for
    /// principals, of sessions, and of checks of tokens that wait. The rest is left to others.
    ///
    /// All clients behind a proxy have its address: set 100 there, and limit clients in the proxy.
    /// Of IPv6 the first 64 bits count; streams without an address, such as Unix sockets, have no
    /// share. Default: 75.
    pub address_share: u8,
    /// Maximum length of a received line, in bytes, and of a body over HTTP. A longer one is
    /// rejected. The buffer grows as lines need it. Default: 4 MiB; 1,024 to `u32::MAX`.
    pub max_line: usize,
    /// Maximum number of bytes that wait to be written to a client that does not read. A longer
    /// response is written in pieces. Default: 1 MiB; at least 1,024.
    pub max_pending: usize,
    /// Time after which an idle connection ends: nothing is received, and either nothing can be
    /// written although output is pending, or no request is in flight. Input and output count as
    /// activity when they complete a line, empty the output buffer or amount to 64 KiB; single
    /// bytes do not count. Default: `None`, 10 minutes for [accepted](super::accept) connections,
    /// and no limit for others, such as the pipes of a process. [`Duration::MAX`]: no limit.
    ///
    /// A legacy client that only waits for changes is idle, too: ping it more often
    /// ([`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval)).
    ///
    /// Over HTTP it is the time between two requests of a connection. A proxy in front has to close
    /// its connections before: on one that the server closes in the same moment a request is lost.
    pub idle_timeout: Option<Duration>,
    /// Time in which requests in flight can end after [`Broadcaster::shut_down`]; then the rest is
    /// cancelled, and clients have half a second to read what is left. Default: 5 seconds, half of
    /// what `docker stop` waits. [`Duration::MAX`]: no limit.
    pub shutdown_timeout: Duration,
    /// The same after the end of the input of a stream. Default: half a second. The official SDKs
    /// terminate a server that still runs 2 seconds after they have closed its input.
    pub end_of_input_timeout: Duration,
}

impl Limits {
    /// Creates the default limits.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            max_in_flight: 1024,
            max_subscriptions: 64,
            max_running: 64,
            max_params: 16 << 20,
            full_timeout: Duration::from_secs(30),
            max_connections: 1024,
            address_share: 75,
            max_line: 4 << 20,
            max_pending: 1 << 20,
            idle_timeout: None,
            shutdown_timeout: Duration::from_secs(5),
            end_of_input_timeout: Duration::from_millis(500),
        }
    }

    fn in_range(self) -> Self {
        Self {
            max_in_flight: self.max_in_flight.clamp(1, u16::MAX - 1),
            max_running: self.max_running.max(1),
            max_line: self.max_line.clamp(MIN_BUFFER, u32::MAX as usize),
            max_pending: self.max_pending.max(MIN_BUFFER),
            ..self
        }
    }
}

mcp_sansio::default_is_new!(Limits);

/// Default of [`Limits::idle_timeout`] for accepted connections.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// Smallest buffer: every response that the core writes to an unreadable message fits, including
/// the id.
const MIN_BUFFER: usize = 1024;

#[cfg(test)]
mod tests {
    use mcp_sansio::ServerFeatures;
    use mcp_sansio::types::Implementation;

    use super::*;
    use crate::asynchronous::HandlerResult;
    use crate::observer::StderrObserver;

    static CONFIG: ServerConfig<'_> =
        ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS);

    #[test]
    fn an_observer_of_a_debug_build_is_told_of_handlers_that_stall() {
        let limit = |app: App<fn(Context) -> std::future::Pending<HandlerResult>>| {
            app.settings.watch.as_ref().map(|watch| watch.limit())
        };
        let app = || App::new(&CONFIG, (|_| std::future::pending()) as fn(Context) -> _);
        assert_eq!(limit(app()), None);
        let in_debug = cfg!(debug_assertions).then_some(STALLED);
        assert_eq!(limit(app().observer(StderrObserver::new())), in_debug);
        let own = Duration::from_secs(9);
        assert_eq!(limit(app().watch(own).observer(StderrObserver::new())), Some(own));
        assert_eq!(limit(app().observer(StderrObserver::new()).watch(own)), Some(own));
    }
}
