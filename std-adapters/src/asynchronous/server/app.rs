//! What all connections have in common.

use std::future::Future;
use std::time::Duration;

use mcp_sansio::{Catalog, ServerConfig, ServerEvent};

use super::broadcast::Broadcaster;
use super::context::Context;
use super::mrtr::StateProtector;
use super::reply::{Failure, PanicReport, Reply};
use super::tasks::{Panic, caught};

/// An application: what it is, what it offers, and the function that answers requests. One value
/// serves all connections.
///
/// Each connection may have `N` requests in flight and `S` subscribed URIs. Configuration and
/// catalog are `'static`, as they are as long as the process; for those that are made at its start
/// there is [`Box::leak`].
pub struct App<H, const N: usize = IN_FLIGHT, const S: usize = SUBSCRIPTIONS> {
    pub(super) config: &'static ServerConfig<'static>,
    pub(super) catalog: Option<&'static Catalog<'static>>,
    pub(super) handler: H,
    pub(super) state_protector: Option<Box<dyn StateProtector>>,
    observer: Option<Box<Observer>>,
    panic_observer: Option<Box<PanicObserver>>,
    pub(super) max_in_flight: usize,
    pub(super) max_running: usize,
    pub(super) max_params: usize,
    pub(super) full_timeout: Duration,
    pub(super) max_connections: usize,
    pub(super) max_line: usize,
    pub(super) max_pending: usize,
    pub(super) idle_timeout: Option<Duration>,
    broadcaster: Broadcaster,
}

impl<H> App<H> {
    /// An application with connections of the usual size. For other sizes:
    /// [`with_table_sizes`](App::with_table_sizes).
    pub fn new<F>(config: &'static ServerConfig<'static>, handler: H) -> Self
    where
        H: Fn(Context) -> F,
        F: Future<Output = Result<Reply, Failure>>,
    {
        Self::with_table_sizes(config, handler)
    }
}

impl<H, const N: usize, const S: usize> App<H, N, S> {
    /// An application for connections whose size the type says.
    pub fn with_table_sizes<F>(config: &'static ServerConfig<'static>, handler: H) -> Self
    where
        H: Fn(Context<N, S>) -> F,
        F: Future<Output = Result<Reply, Failure>>,
    {
        Self {
            config,
            catalog: None,
            handler,
            state_protector: None,
            observer: None,
            panic_observer: None,
            max_in_flight: N,
            max_running: MAX_RUNNING,
            max_params: MAX_PARAMS,
            full_timeout: FULL_TIMEOUT,
            max_connections: MAX_CONNECTIONS,
            max_line: MAX_LINE,
            max_pending: MAX_PENDING,
            idle_timeout: None,
            broadcaster: Broadcaster::new(),
        }
    }

    /// Answers lists and unknown names from this catalog. Without one, the handler is called for
    /// everything.
    #[must_use]
    pub fn catalog(self, catalog: &'static Catalog<'static>) -> Self {
        Self { catalog: Some(catalog), ..self }
    }

    /// Protects what modern clients carry for handlers between two rounds.
    #[must_use]
    pub fn state_protector(self, protector: impl StateProtector + 'static) -> Self {
        Self { state_protector: Some(Box::new(protector)), ..self }
    }

    /// Is shown everything that happens on any connection before it is dealt with: for logs and
    /// statistics. Its panics change nothing.
    #[must_use]
    pub fn observer(self, observer: impl Fn(&ServerEvent<'_>) + Send + Sync + 'static) -> Self {
        Self { observer: Some(Box::new(observer)), ..self }
    }

    /// Is shown each panic of a handler, or of another function of the application: for logs. The
    /// call of a handler that panics is answered with -32603, and nothing else ends. Standard error
    /// has the message already, unless there is a panic hook that says otherwise.
    #[must_use]
    pub fn panic_observer(self, observer: impl Fn(&PanicReport) + Send + Sync + 'static) -> Self {
        Self { panic_observer: Some(Box::new(observer)), ..self }
    }

    /// Limits the requests of a connection, or of a session over HTTP, that are taken in before
    /// others are answered, open `subscriptions/listen` included. At the limit the next request
    /// waits, and on a stream everything behind it: see [`full_timeout`](Self::full_timeout). No
    /// more than `N`, which is the default ([`IN_FLIGHT`]) and what memory is taken for: about 240
    /// bytes each, and the parameters of those that are there.
    #[must_use]
    pub fn max_in_flight(self, max_in_flight: usize) -> Self {
        Self { max_in_flight: max_in_flight.clamp(1, N.max(1)), ..self }
    }

    /// Limits the handlers of a connection, or of a session over HTTP, that are under way at the
    /// same time. Other requests that were taken in are begun in turn, and can be cancelled before.
    /// Default: [`MAX_RUNNING`]; each takes the memory of its future.
    #[must_use]
    pub fn max_running(self, max_running: usize) -> Self {
        Self { max_running: max_running.max(1), ..self }
    }

    /// Limits the bytes of parameters that the requests of a connection, or of a session over HTTP,
    /// have before the next request waits, as it does behind [`max_in_flight`](Self::max_in_flight)
    /// requests. One request may be longer. So they take at most this and one
    /// [`max_line`](Self::max_line). Default: [`MAX_PARAMS`].
    #[must_use]
    pub fn max_params(self, max_params: usize) -> Self {
        Self { max_params, ..self }
    }

    /// Limits the time that a request waits while the limits of
    /// [`max_in_flight`](Self::max_in_flight) or [`max_params`](Self::max_params) are reached and
    /// no other request ends. Then it is refused with -32603, and what follows it is read: a
    /// cancellation, perhaps. While a request of our own waits for its answer, requests beyond the
    /// limits are refused at once, since the answer may be behind them. Default: [`FULL_TIMEOUT`].
    /// [`Duration::MAX`]: without an end.
    #[must_use]
    pub fn full_timeout(self, timeout: Duration) -> Self {
        Self { full_timeout: timeout, ..self }
    }

    /// How many connections there may be. More wait until one has ended. Default:
    /// [`MAX_CONNECTIONS`].
    #[must_use]
    pub fn max_connections(self, max_connections: usize) -> Self {
        Self { max_connections, ..self }
    }

    /// The longest line accepted, in bytes. A longer one is refused; memory is taken as lines need
    /// it. Default: [`MAX_LINE`].
    #[must_use]
    pub fn max_line(self, max_line: usize) -> Self {
        Self { max_line: max_line.clamp(MIN_BUFFER, u32::MAX as usize), ..self }
    }

    /// The most that is held back for a client that does not read, in bytes. A longer answer is
    /// written in pieces. Default: [`MAX_PENDING`].
    #[must_use]
    pub fn max_pending(self, max_pending: usize) -> Self {
        Self { max_pending: max_pending.max(MIN_BUFFER), ..self }
    }

    /// Ends a connection after this silence: nothing comes in and nothing goes out, although there
    /// is something, or no request in flight. What comes in or goes out counts when it ends a line,
    /// empties what is held back, or makes up 64 KiB: single bytes do not. Default:
    /// [`IDLE_TIMEOUT`] for connections that were [accepted](super::accept), and none for others,
    /// such as the pipes of a process. [`Duration::MAX`]: never.
    ///
    /// A legacy client that only waits for changes is silent too: ping it more often
    /// ([`ServerConfig::ping_interval`](mcp_sansio::ServerConfig::ping_interval)).
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        Self { idle_timeout: Some(timeout), ..self }
    }

    /// What reaches all connections.
    #[must_use]
    pub fn broadcaster(&self) -> &Broadcaster {
        &self.broadcaster
    }

    pub(super) fn observe(&self, event: &ServerEvent<'_>) {
        if let Some(observer) = &self.observer
            && let Err(panic) = caught(|| observer(event))
        {
            self.panicked("", "", &panic);
        }
    }

    /// Tells of a panic. What panics there is not told.
    pub(super) fn panicked(&self, method: &str, name: &str, panic: &Panic) {
        if let Some(observer) = &self.panic_observer {
            let _ = caught(|| observer(&PanicReport::new(method, name, &panic.0)));
        }
    }

    pub(super) fn state_protector_ref(&self) -> Option<&dyn StateProtector> {
        self.state_protector.as_deref()
    }
}

/// Looks on.
type Observer = dyn Fn(&ServerEvent<'_>) + Send + Sync;
type PanicObserver = dyn Fn(&PanicReport) + Send + Sync;

/// Requests in flight on a connection, unless the type says otherwise.
pub const IN_FLIGHT: usize = 128;
/// Handlers under way on a connection, unless the application says otherwise.
pub const MAX_RUNNING: usize = 64;
/// Bytes of parameters that the requests in flight on a connection have, unless the application
/// says otherwise.
pub const MAX_PARAMS: usize = 16 << 20;
/// The silence that ends a connection that was accepted, unless the application says otherwise: 10
/// minutes.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// The time that a request waits for another to end, unless the application says otherwise.
pub const FULL_TIMEOUT: Duration = Duration::from_secs(30);
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
