//! What a server is and offers.

use core::time::Duration;

use super::capability_hooks::CapabilityHooks;
use super::extensions;
use crate::error::ConfigError;
use crate::json::RawJson;
use crate::lifecycle::{Revisions, ServerFeatures};
use crate::types::meta::{check_declared, is_valid_extension_id};
use crate::types::{CacheScope, Implementation, LoggingLevel};

/// What a server is, what it offers, and its limits in time. Shared by all connections; usually a
/// `const` or `static`.
///
/// ```
/// use mcp_sansio::{ServerFeatures, ServerConfig, types::Implementation};
/// static CONFIG: ServerConfig =
///     ServerConfig::new(Implementation::new("thermometer", "1.0.0"), ServerFeatures::TOOLS)
///         .instructions("Call read for the temperature in the hall.");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerConfig<'c> {
    /// Name and version, told in `initialize` and in each modern result.
    pub info: Implementation<'c>,
    capabilities: ServerFeatures,
    pub(super) features: CapabilityHooks,
    /// How a model should use the server.
    pub instructions: Option<&'c str>,
    /// The object `capabilities.experimental`.
    pub experimental: Option<RawJson<'c>>,
    /// The object `capabilities.extensions` (2025-06-18 on): what the server offers.
    pub extensions: Option<RawJson<'c>>,
    pub(super) client_extensions: &'static [&'static str],
    /// A function that is linked only where there are such.
    pub(super) read_extensions: Option<fn(RawJson<'_>, &'static [&'static str]) -> u16>,
    /// The revisions spoken. Default: all.
    pub revisions: Revisions,
    /// Methods of your own, handed over like the known ones. Default: none.
    pub methods: &'c [&'c str],
    /// Whether modern results name the server in `_meta` (2026-07-28, basic: SHOULD). Default:
    /// yes.
    pub send_server_info: bool,
    /// How long a client may keep the answer to `server/discover`, in milliseconds. Default: 0.
    pub discover_ttl_ms: u64,
    /// Who may keep it. Default: everybody.
    pub discover_scope: CacheScope,
    /// After how long a request that the application has not answered is answered with an error.
    /// Default: never. Does not count while the application waits for a request of its own on
    /// behalf of this one.
    pub request_timeout: Option<Duration>,
    /// After how long a request of ours is given up, unless it says otherwise. Default: 60 s.
    pub call_timeout: Duration,
    /// After how long a silence a legacy peer is pinged. Default: never.
    pub ping_interval: Option<Duration>,
    /// After how long an unanswered ping means that the peer is gone. Default: 20 s.
    pub ping_timeout: Duration,
    /// The least time between two progress notifications of a request. Default: none.
    pub progress_interval: Duration,
    /// What a legacy client is sent before it asked for a level. Default: everything.
    pub log_level: LoggingLevel,
    /// Whether a peer may begin again without an end of the stream, as on a serial line. Then a
    /// second `initialize` ends the session before it, and a request whose id is in use ends
    /// the request that had it ([`ServerEvent::RequestCancelled`](crate::ServerEvent::RequestCancelled) for
    /// each); otherwise both are refused. Default: no.
    pub peer_can_reconnect: bool,
}

impl<'c> ServerConfig<'c> {
    /// A server that speaks all revisions, with no limits in time on its own work.
    #[must_use]
    pub const fn new(info: Implementation<'c>, capabilities: ServerFeatures) -> Self {
        Self {
            info,
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
            request_timeout: None,
            call_timeout: Duration::from_secs(60),
            ping_interval: None,
            ping_timeout: Duration::from_secs(20),
            progress_interval: Duration::ZERO,
            log_level: LoggingLevel::Debug,
            peer_can_reconnect: false,
        }
    }

    /// Looks for what a client could not understand: extensions whose id has no prefix or breaks
    /// the grammar, extensions and experimental capabilities that are no objects; more than
    /// [`MAX_EXTENSIONS`] of the client's.
    ///
    /// # Errors
    /// What is wrong. Worth a test, or a line at start-up.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_declared(self.experimental, self.extensions)?;
        if self.client_extensions.len() > MAX_EXTENSIONS {
            return Err(ConfigError::TooManyExtensions);
        }
        let valid = self.client_extensions.iter().all(|id| is_valid_extension_id(id));
        if valid { Ok(()) } else { Err(ConfigError::ExtensionId) }
    }

    /// What is offered. Methods behind anything else are answered with -32601.
    #[must_use]
    pub const fn capabilities(&self) -> ServerFeatures {
        self.capabilities
    }

    /// The same configuration of a server that offers something else.
    #[must_use]
    pub const fn with_capabilities(mut self, capabilities: ServerFeatures) -> Self {
        self.capabilities = capabilities;
        self.features = CapabilityHooks::of(capabilities);
        self
    }

    /// Sets [`instructions`](Self::instructions).
    #[must_use]
    pub const fn instructions(mut self, instructions: &'c str) -> Self {
        self.instructions = Some(instructions);
        self
    }

    /// Sets [`experimental`](Self::experimental).
    #[must_use]
    pub const fn experimental(mut self, experimental: RawJson<'c>) -> Self {
        self.experimental = Some(experimental);
        self
    }

    /// Sets [`extensions`](Self::extensions).
    #[must_use]
    pub const fn extensions(mut self, extensions: RawJson<'c>) -> Self {
        self.extensions = Some(extensions);
        self
    }

    /// The extensions of the client that the server asks about with
    /// [`Request::has_extension`](super::Request::has_extension).
    ///
    /// A client of 2026-07-28 declares its extensions with each request. One before declares them
    /// in `initialize`, and its session remembers those of this list, in a bit each: the first
    /// [`MAX_EXTENSIONS`].
    ///
    /// ```
    /// # use mcp_sansio::{ServerFeatures, ServerConfig, types::Implementation};
    /// static CONFIG: ServerConfig =
    ///     ServerConfig::new(Implementation::new("charts", "1.0.0"), ServerFeatures::TOOLS)
    ///         .client_extensions(&["io.modelcontextprotocol/ui"]);
    /// ```
    #[must_use]
    pub const fn client_extensions(mut self, ids: &'static [&'static str]) -> Self {
        self.client_extensions = ids;
        self.read_extensions = Some(extensions::read);
        self
    }

    /// Sets [`revisions`](Self::revisions).
    #[must_use]
    pub const fn revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// Sets [`methods`](Self::methods).
    #[must_use]
    pub const fn methods(mut self, methods: &'c [&'c str]) -> Self {
        self.methods = methods;
        self
    }

    /// Sets [`send_server_info`](Self::send_server_info).
    #[must_use]
    pub const fn send_server_info(mut self, yes: bool) -> Self {
        self.send_server_info = yes;
        self
    }

    /// Sets [`discover_ttl_ms`](Self::discover_ttl_ms) and
    /// [`discover_scope`](Self::discover_scope).
    #[must_use]
    pub const fn discover_cache(mut self, ttl_ms: u64, scope: CacheScope) -> Self {
        self.discover_ttl_ms = ttl_ms;
        self.discover_scope = scope;
        self
    }

    /// Sets [`request_timeout`](Self::request_timeout).
    #[must_use]
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = Some(timeout);
        self
    }

    /// Sets [`call_timeout`](Self::call_timeout).
    #[must_use]
    pub const fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets [`ping_interval`](Self::ping_interval).
    #[must_use]
    pub const fn ping_interval(mut self, interval: Duration) -> Self {
        self.ping_interval = Some(interval);
        self
    }

    /// Sets [`ping_timeout`](Self::ping_timeout).
    #[must_use]
    pub const fn ping_timeout(mut self, timeout: Duration) -> Self {
        self.ping_timeout = timeout;
        self
    }

    /// Sets [`progress_interval`](Self::progress_interval).
    #[must_use]
    pub const fn progress_interval(mut self, interval: Duration) -> Self {
        self.progress_interval = interval;
        self
    }

    /// Sets [`log_level`](Self::log_level).
    #[must_use]
    pub const fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = level;
        self
    }

    /// Sets [`peer_can_reconnect`](Self::peer_can_reconnect).
    #[must_use]
    pub const fn peer_can_reconnect(mut self, yes: bool) -> Self {
        self.peer_can_reconnect = yes;
        self
    }
}

/// The most extensions of a client that a session remembers, in two bytes.
pub const MAX_EXTENSIONS: usize = 16;
