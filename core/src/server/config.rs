//! Configuration and memory of a server.

use core::time::Duration;

use super::rules::Refusal;
#[cfg(feature = "alloc")]
use super::subscriptions::Changes;
use super::subscriptions::Subscriptions;
use super::{
    CapabilityHooks, InflightCall, InflightRequest, KeepAlive, Linked, Peer, Reconnect,
    RequestTimeout, Server, Timers,
};
#[cfg(feature = "alloc")]
use crate::buffers::tx::Backoff;
use crate::json::RawJson;
use crate::protocol::error::{ConfigError, require};
use crate::protocol::{Revisions, ServerFeatures};
#[cfg(feature = "alloc")]
use crate::rpc::inflight::GrowingTable;
use crate::rpc::inflight::TableState;
use crate::time::Instant;
use crate::types::meta::{check_declared, is_modern_only, is_valid_extension_id};
use crate::types::setters;
use crate::types::{CacheScope, DeclaredExtensions, Implementation, Info, LoggingLevel};

/// Identity, capabilities and timeouts of a server. Shared by all connections; usually a `const` or
/// `static`.
///
/// ```
/// use mcp_sansio::{ServerFeatures, ServerConfig, types::Implementation};
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("thermometer", "1.0.0"), ServerFeatures::TOOLS)
///         .instructions("Call read for the temperature in the hall.");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
pub struct ServerConfig<'c> {
    pub(super) info: Info<'c>,
    capabilities: ServerFeatures,
    pub(super) features: CapabilityHooks,
    /// Instructions for the model on how to use the server.
    pub instructions: Option<&'c str>,
    /// The object `capabilities.experimental`.
    pub experimental: Option<RawJson<'c>>,
    /// The object `capabilities.extensions` (2025-06-18 on): extensions that the server supports.
    pub extensions: Option<DeclaredExtensions<'c>>,
    pub(super) client_extensions: &'static [&'static str],
    /// Function pointer, so that the code is linked only if there are client extensions.
    pub(super) read_extensions: Option<fn(RawJson<'_>, &'static [&'static str]) -> u16>,
    /// The supported revisions. Default: all.
    pub revisions: Revisions,
    /// Additional methods, reported as [`ServerEvent::Request`](crate::ServerEvent::Request).
    /// Default: none.
    pub methods: &'c [&'c str],
    /// Whether modern results contain the server's name in `_meta` (2026-07-28, basic: SHOULD).
    /// Default: yes.
    pub send_server_info: bool,
    /// Time that a client may cache the result of `server/discover`, in milliseconds. Default: 0.
    pub discover_ttl_ms: u64,
    /// Whether shared caches may store it, too. Default: [`CacheScope::Public`].
    pub discover_scope: CacheScope,
    pub(super) timers: Linked<(), Option<&'static Timers>>,
    pub(super) request_timeout: Option<Linked<Duration, RequestTimeout>>,
    /// Time after which a call without a response is cancelled, unless it sets its own. Default: 60
    /// s.
    pub call_timeout: Duration,
    pub(super) ping_interval: Option<Linked<Duration, KeepAlive>>,
    /// Time after which a ping without a response is reported as
    /// [`ServerEvent::Unresponsive`](crate::ServerEvent::Unresponsive). Default: 20 s.
    pub ping_timeout: Duration,
    /// Minimum time between two progress notifications of a request. Default: zero.
    pub progress_interval: Duration,
    /// Log level of a legacy session before `logging/setLevel`. Default: debug.
    pub log_level: LoggingLevel,
    pub(super) peer_can_reconnect: Linked<bool, Option<Reconnect>>,
    /// Function pointer, so that the words are linked only if they are sent.
    pub(super) words: Option<fn(Refusal) -> &'static str>,
}

impl<'c> ServerConfig<'c> {
    /// Creates a configuration with all revisions and without a request timeout.
    pub const fn new(info: Implementation<'c>, capabilities: ServerFeatures) -> Self {
        Self {
            info: Info::new(info),
            capabilities,
            features: CapabilityHooks::of(capabilities),
            instructions: None,
            experimental: None,
            extensions: None,
            client_extensions: &[],
            read_extensions: None,
            revisions: Revisions::ALL,
            methods: &[],
            send_server_info: true,
            discover_ttl_ms: 0,
            discover_scope: CacheScope::Public,
            timers: Linked { value: (), code: None },
            request_timeout: None,
            call_timeout: Duration::from_secs(60),
            ping_interval: None,
            ping_timeout: Duration::from_secs(20),
            progress_interval: Duration::ZERO,
            log_level: LoggingLevel::Debug,
            peer_can_reconnect: Linked { value: false, code: None },
            words: Some(Refusal::words),
        }
    }

    /// Checks the configuration: extension ids must have a prefix and follow the grammar,
    /// extensions and experimental capabilities must be objects, and `client_extensions` has at
    /// most [`MAX_EXTENSIONS`] entries.
    ///
    /// # Errors
    /// The first error found. Call it in a test or at start-up.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_declared(self.experimental, self.extensions.map(|declared| declared.as_json()))?;
        let ids = self.client_extensions;
        require(ids.len() <= MAX_EXTENSIONS, ConfigError::TooManyExtensions)?;
        require(ids.iter().all(|id| is_valid_extension_id(id)), ConfigError::ExtensionId)
    }

    /// Returns the name and version, sent in `initialize` and in each modern result.
    pub const fn info(&self) -> &Implementation<'c> {
        &self.info.value
    }

    /// Returns the capabilities. Methods of undeclared capabilities are responded to with -32601.
    pub const fn capabilities(&self) -> ServerFeatures {
        self.capabilities
    }

    /// Replaces the capabilities.
    pub const fn with_capabilities(mut self, capabilities: ServerFeatures) -> Self {
        self.capabilities = capabilities;
        self.features = CapabilityHooks::of(capabilities);
        self
    }

    /// Leaves the words out of the errors with which the server itself rejects messages: they say
    /// `Refused`, and their code says why. Saves about 2 KB of flash, if the configuration is a
    /// constant.
    pub const fn terse(mut self) -> Self {
        self.words = None;
        self
    }

    setters! {
        instructions?: &'c str;
        experimental?: RawJson<'c>;
    }

    /// Sets [`extensions`](Self::extensions).
    pub const fn extensions(mut self, extensions: RawJson<'c>) -> Self {
        self.extensions = Some(DeclaredExtensions::new(extensions));
        self
    }

    /// Sets the extensions of the client that
    /// [`Request::has_extension`](super::Request::has_extension) can query.
    ///
    /// A client of 2026-07-28 declares its extensions with each request. An older one declares them
    /// in `initialize`, and the session stores those of this list, one bit each: the first
    /// [`MAX_EXTENSIONS`].
    ///
    /// ```
    /// # use mcp_sansio::{ServerFeatures, ServerConfig, types::Implementation};
    /// static CONFIG: ServerConfig =
    ///     ServerConfig::new(Implementation::new("charts", "1.0.0"), ServerFeatures::TOOLS)
    ///         .client_extensions(&["io.modelcontextprotocol/ui"]);
    /// ```
    pub const fn client_extensions(mut self, ids: &'static [&'static str]) -> Self {
        self.client_extensions = ids;
        self.read_extensions = Some(read_declared);
        self
    }

    setters! {
        revisions: Revisions;
        methods: &'c [&'c str];
        send_server_info: bool;
    }

    /// Sets [`discover_ttl_ms`](Self::discover_ttl_ms) and
    /// [`discover_scope`](Self::discover_scope).
    pub const fn discover_cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.discover_ttl_ms = ttl_ms;
        self.discover_scope = scope;
        self
    }

    /// Sets the time after which an open request is responded to with an error. Paused while a call
    /// of the request is open. Default: none.
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        let code = RequestTimeout {
            deadline: Instant::saturating_add,
            handle: |server, now, tx| server.time_out_request(now, tx),
        };
        self.timers.code = Some(Timers::ALL);
        self.request_timeout = Some(Linked { value: timeout, code });
        self
    }

    setters! {
        call_timeout: Duration;
    }

    /// Sets the time without a message after which a legacy peer is pinged. Default: never.
    pub const fn ping_interval(mut self, interval: Duration) -> Self {
        let code = KeepAlive {
            due: |server| server.ping_due(),
            ping: |server, now, tx| server.ping(now, tx),
        };
        self.timers.code = Some(Timers::ALL);
        self.ping_interval = Some(Linked { value: interval, code });
        self
    }

    setters! {
        ping_timeout: Duration;
        progress_interval: Duration;
        log_level: LoggingLevel;
    }

    /// Sets whether a peer may restart on an open stream, as on a serial line. A second
    /// `initialize` then ends the session before it, and a request whose id is in use ends the
    /// request that had it
    /// ([`ServerEvent::RequestCancelled`](crate::ServerEvent::RequestCancelled) for each);
    /// otherwise both are errors. Default: no.
    pub const fn peer_can_reconnect(mut self, yes: bool) -> Self {
        let reconnect: Reconnect =
            |server, id, method, envelope, tx| server.reconnect(id, method, envelope, tx);
        let code = if yes { Some(reconnect) } else { None };
        self.peer_can_reconnect = Linked { value: yes, code };
        self
    }
}

/// Adds capabilities, with the code for those of `linked`, which contains them: a program whose
/// configuration is made while it runs links the code of those alone that it names in a constant.
#[inline(always)]
pub const fn declare(
    config: &mut ServerConfig<'_>,
    capabilities: ServerFeatures,
    linked: ServerFeatures,
) {
    config.capabilities = config.capabilities.with(capabilities);
    config.features = config.features.and(CapabilityHooks::of(linked));
}

/// Maximum number of client extensions that a session stores.
pub const MAX_EXTENSIONS: usize = 16;

// Extensions that the client of a session declared.

/// The configured ids, and one bit each for those that were declared, in their order. A session
/// stores no ids or settings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extensions {
    pub(super) ids: &'static [&'static str],
    pub(super) declared: u16,
}

const _: () = assert!(MAX_EXTENSIONS == u16::BITS as usize);

impl Extensions {
    pub(super) fn contains(&self, id: &str) -> bool {
        let at = self.ids.iter().take(MAX_EXTENSIONS).position(|known| *known == id);
        at.is_some_and(|at| self.declared & (1 << at) != 0)
    }
}

/// Returns the bits for the `ClientCapabilities` of an `initialize`. Each id in it is looked up
/// among the configured ones.
fn read_declared(capabilities: RawJson<'_>, ids: &'static [&'static str]) -> u16 {
    let mut declared = 0;
    for (id, settings) in capabilities.get("extensions").into_iter().flat_map(RawJson::members) {
        if settings.is_object()
            && !is_modern_only(id)
            && let Some(at) = ids.iter().take(MAX_EXTENSIONS).position(|known| id == *known)
        {
            declared |= 1 << at;
        }
    }
    declared
}

/// The memory of a [`Server`]: up to `N` open requests, up to `N` open calls, and up to `S`
/// subscribed URIs.
///
/// One value serves one id space: the stdio of a process, a connection, a legacy HTTP session, or
/// one modern HTTP exchange. It is all zeros at first, so that a `static` takes no flash.
///
/// ```
/// # use mcp_sansio::{ServerConfig, ServerFeatures, ServerState, types::Implementation};
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("thermometer", "1.0.0"), ServerFeatures::TOOLS);
/// let mut state: ServerState<4, 0> = ServerState::new();
/// let server = state.server(&CONFIG);
/// assert_eq!(server.open_requests(), 0);
/// ```
///
/// Memory on a 32-bit target: about 210 bytes for each of `N`, 8 for each of `S`, and 80 more.
#[derive(Debug)]
pub struct ServerState<const N: usize = 8, const S: usize = 8> {
    requests: TableState<InflightRequest, N>,
    calls: TableState<InflightCall, N>,
    subscriptions: [u64; S],
    peer: Peer,
}

impl<const N: usize, const S: usize> ServerState<N, S> {
    /// Creates the memory of a server without a session.
    pub const fn new() -> Self {
        Self {
            requests: TableState::new(),
            calls: TableState::new(),
            subscriptions: [0; S],
            peer: Peer::UNKNOWN,
        }
    }

    /// Begins anew, for another peer. Handles of the requests and calls before are valid for none
    /// of its.
    pub fn renew(&mut self) {
        self.requests.table().clear();
        self.calls.table().clear();
        (self.subscriptions, self.peer) = ([0; S], Peer::UNKNOWN);
    }

    /// Returns the server. Each view of a state must have the same configuration.
    #[inline]
    pub fn server<'s>(&'s mut self, config: &'s ServerConfig<'s>) -> Server<'s> {
        Server {
            config,
            requests: self.requests.table(),
            calls: self.calls.table(),
            subscriptions: Subscriptions(&mut self.subscriptions),
            peer: &mut self.peer,
        }
    }
}

crate::text::default_is_new!([const N: usize, const S: usize] ServerState<N, S>);

/// The memory of a [`Server`] on the heap, which grows up to a limit. For the rest as
/// [`ServerState`].
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct GrowingServerState {
    requests: GrowingTable<InflightRequest>,
    calls: GrowingTable<InflightCall>,
    subscriptions: alloc::vec::Vec<u64>,
    max_subscriptions: usize,
    peer: Peer,
    pub(super) changes: Changes,
    /// When to go on with notifications that no event has caused.
    pub(super) notices: Backoff,
    pub(crate) is_closing: bool,
    pub(crate) admission: Admission,
}

/// The requests that a [`Connection`](crate::Connection) with a growing state admits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Those for which the table has an entry. Others wait, unless the server itself awaits the
    /// response to a call, which may be behind them: then they are refused.
    Wait,
    /// None: the next request waits. Cancellations and responses before it are handled.
    Hold,
    /// Those for which the table has an entry. Others are refused (-32603), so that what is behind
    /// them is read.
    Refuse,
}

#[cfg(feature = "alloc")]
impl GrowingServerState {
    /// Creates the memory of a server with up to `requests` open requests, as many open calls (at
    /// most 65,534), and up to `subscriptions` subscribed URIs.
    pub const fn new(requests: u16, subscriptions: usize) -> Self {
        Self {
            requests: GrowingTable::new(requests),
            calls: GrowingTable::new(requests),
            subscriptions: alloc::vec::Vec::new(),
            max_subscriptions: subscriptions,
            peer: Peer::UNKNOWN,
            changes: Changes::new(),
            notices: Backoff::NEW,
            is_closing: false,
            admission: Admission::Wait,
        }
    }

    /// Begins anew, for another peer, in the memory of the tables if they are short and empty.
    pub fn renew(&mut self) {
        let Self {
            requests,
            calls,
            subscriptions,
            max_subscriptions: _,
            peer,
            changes,
            notices,
            is_closing,
            admission,
        } = self;
        requests.renew();
        calls.renew();
        *subscriptions = alloc::vec::Vec::new();
        (*peer, *changes, *notices) = (Peer::UNKNOWN, Changes::new(), Backoff::NEW);
        (*is_closing, *admission) = (false, Admission::Wait);
    }

    /// Returns the server, whose tables have room for one more request and, in a session, for
    /// eight more calls, if the limits allow. Each view of a state must have the same
    /// configuration.
    #[inline(always)]
    pub fn server<'s>(&'s mut self, config: &'s ServerConfig<'s>) -> Server<'s> {
        // One message may subscribe to many URIs, so this table does not grow by and by.
        if self.subscriptions.is_empty() && config.capabilities().has_names() {
            self.subscriptions.resize(self.max_subscriptions, 0);
        }
        Server {
            config,
            // One for a request, and one that `subscriptions/listen` leaves to others.
            requests: self.requests.table(2),
            calls: self.calls.table(if self.peer.session.is_some() { CALLS_OF_A_VIEW } else { 0 }),
            subscriptions: Subscriptions(&mut self.subscriptions),
            peer: &mut self.peer,
        }
    }
}

/// Number of calls that an application can make with one view, for example while it handles an
/// event.
#[cfg(feature = "alloc")]
const CALLS_OF_A_VIEW: usize = 8;
