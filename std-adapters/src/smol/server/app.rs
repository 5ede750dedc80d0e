//! What all connections have in common.

use std::future::Future;
use std::time::Duration;

use mcp_sansio::{Catalog, ServerConfig, ServerEvent};

use super::context::Context;
use super::hub::Hub;
use super::reply::{Failure, Reply};
use super::rounds::Seal;

/// An application: what it is, what it offers, and the function that answers requests. One value serves all connections.
///
/// Each connection may have `N` requests in flight and `S` subscribed URIs. Configuration and catalog are `'static`, as they are as long as the process; for those
/// that are made at its start there is [`Box::leak`].
pub struct App<H, const N: usize = IN_FLIGHT, const S: usize = SUBSCRIPTIONS> {
    pub(super) config: &'static ServerConfig<'static>,
    pub(super) catalog: Option<&'static Catalog<'static>>,
    pub(super) handler: H,
    pub(super) seal: Option<Box<dyn Seal>>,
    pub(super) observer: Option<Box<Observer>>,
    pub(super) max_connections: usize,
    pub(super) max_line: usize,
    pub(super) max_pending: usize,
    pub(super) idle_timeout: Option<Duration>,
    hub: Hub,
}

impl<H> App<H> {
    /// An application with connections of the usual size. For other sizes: [`with_capacity`](App::with_capacity).
    pub fn new<F>(config: &'static ServerConfig<'static>, handler: H) -> Self
    where
        H: Fn(Context) -> F,
        F: Future<Output = Result<Reply, Failure>>,
    {
        Self::with_capacity(config, handler)
    }
}

impl<H, const N: usize, const S: usize> App<H, N, S> {
    /// An application for connections whose size the type says.
    pub fn with_capacity<F>(config: &'static ServerConfig<'static>, handler: H) -> Self
    where
        H: Fn(Context<N, S>) -> F,
        F: Future<Output = Result<Reply, Failure>>,
    {
        Self {
            config,
            catalog: None,
            handler,
            seal: None,
            observer: None,
            max_connections: MAX_CONNECTIONS,
            max_line: MAX_LINE,
            max_pending: MAX_PENDING,
            idle_timeout: None,
            hub: Hub::new(),
        }
    }

    /// Answers lists and unknown names from this catalog. Without one, the handler is called for everything.
    #[must_use]
    pub fn catalog(self, catalog: &'static Catalog<'static>) -> Self {
        Self { catalog: Some(catalog), ..self }
    }

    /// Protects what modern clients carry for handlers between two rounds.
    #[must_use]
    pub fn seal(self, seal: impl Seal + 'static) -> Self {
        Self { seal: Some(Box::new(seal)), ..self }
    }

    /// Is shown everything that happens on any connection before it is dealt with: for logs and statistics.
    #[must_use]
    pub fn observer(self, observer: impl Fn(&ServerEvent<'_>) + Send + Sync + 'static) -> Self {
        Self { observer: Some(Box::new(observer)), ..self }
    }

    /// How many connections there may be. More wait until one has ended. Default: [`MAX_CONNECTIONS`].
    #[must_use]
    pub fn max_connections(self, max_connections: usize) -> Self {
        Self { max_connections, ..self }
    }

    /// The longest line accepted, in bytes. A longer one is refused; memory is taken as lines need it. Default: [`MAX_LINE`].
    #[must_use]
    pub fn max_line(self, max_line: usize) -> Self {
        Self { max_line: max_line.max(MIN_BUFFER), ..self }
    }

    /// The most that is held back for a client that does not read, in bytes. A longer answer is written in pieces. Default: [`MAX_PENDING`].
    #[must_use]
    pub fn max_pending(self, max_pending: usize) -> Self {
        Self { max_pending: max_pending.max(MIN_BUFFER), ..self }
    }

    /// After how long a silence a connection is ended: nothing comes in and nothing goes out, although there is something, or no request in flight. Default: never.
    ///
    /// A legacy client that only waits for changes is silent too: ping it more often
    /// ([`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval)).
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        Self { idle_timeout: Some(timeout), ..self }
    }

    /// What reaches all connections.
    #[must_use]
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    pub(super) fn seal_ref(&self) -> Option<&dyn Seal> {
        self.seal.as_deref()
    }
}

/// Looks on.
pub(super) type Observer = dyn Fn(&ServerEvent<'_>) + Send + Sync;

/// Requests in flight on a connection, unless the type says otherwise.
pub const IN_FLIGHT: usize = 64;
/// Subscribed URIs of a connection, unless the type says otherwise.
pub const SUBSCRIPTIONS: usize = 64;
/// Connections, unless the application says otherwise.
pub const MAX_CONNECTIONS: usize = 1024;
/// The longest line accepted, in bytes, unless the application says otherwise.
pub const MAX_LINE: usize = 4 << 20;
/// The most that is held back for a client, in bytes, unless the application says otherwise.
pub const MAX_PENDING: usize = 1 << 20;
/// Whatever the core answers by itself to what it cannot read must fit, and an id with it.
pub(super) const MIN_BUFFER: usize = 1024;
