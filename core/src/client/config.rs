//! Configuration of a client, and options of its calls.

use core::time::Duration;

use super::server_request::Refusal;
use crate::error::ConfigError;
use crate::json::RawJson;
use crate::lifecycle::{ClientFeatures, Revisions};
use crate::types::meta::check_declared;
use crate::types::{DeclaredExtensions, Implementation, Info, LoggingLevel};

/// Name, capabilities and time limits of a client. Shared by all connections; usually a `const`
/// or `static`.
///
/// ```
/// use mcp_sansio::{ClientFeatures, ClientConfig, types::Implementation};
/// static CONFIG: ClientConfig = ClientConfig::new(
///     Implementation::new("panel", "1.0.0"),
///     ClientFeatures::ELICITATION_FORM,
/// );
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ClientConfig<'c> {
    pub(super) info: Info<'c>,
    /// Capabilities that a server may use. Other requests are rejected.
    pub capabilities: ClientFeatures,
    /// The object `capabilities.experimental`.
    pub experimental: Option<RawJson<'c>>,
    /// The object `capabilities.extensions` (2025-06-18 on).
    pub extensions: Option<DeclaredExtensions<'c>>,
    /// Supported revisions. Default: all.
    pub revisions: Revisions,
    /// Values of `resultType` that extensions add; results of other types are invalid (2026-07-28,
    /// basic). Default: none.
    pub result_types: &'c [&'c str],
    /// Whether modern requests contain the client's info in `_meta` (2026-07-28, basic: SHOULD).
    /// Default: yes.
    pub send_client_info: bool,
    /// Minimum level of the log messages that modern requests ask for, unless
    /// [`CallOptions::log_level`] is set. Default: no messages. For legacy servers use
    /// `logging/setLevel`.
    pub log_level: Option<LoggingLevel>,
    /// Time without a response to the probe after which the server is taken for a legacy one that
    /// ignores unknown methods. Must exceed the time that the server process needs to start.
    /// Default: 10 s.
    pub probe_timeout: Duration,
    /// Time without progress after which a call is cancelled, unless [`CallOptions::timeout`] is
    /// set. Default: 60 s.
    pub call_timeout: Duration,
    /// Time after which a call is cancelled whatever progress it reports, unless
    /// [`CallOptions::limit`] is set. Default: 10 min.
    pub call_limit: Duration,
    /// Whether a progress notification restarts the timeout of a call, up to its limit. Default:
    /// yes.
    pub progress_extends_timeout: bool,
    /// Maximum number of retries with input per call (2026-07-28, basic/patterns/mrtr). Default:
    /// 16.
    pub max_rounds: u8,
    /// Time after which a request of the server without a response is ended with an error. Default:
    /// never.
    pub request_timeout: Option<Duration>,
    /// Time without a message after which a legacy server is pinged. Default: never.
    pub ping_interval: Option<Duration>,
    /// Time without a response to a ping after which the connection counts as lost. Default: 20 s.
    pub ping_timeout: Duration,
    /// Minimum time between two progress notifications about one request of the server. Default:
    /// zero.
    pub progress_interval: Duration,
    /// Function pointer, so that the words are linked only if they are sent.
    pub(super) words: Option<fn(Refusal) -> &'static str>,
}

impl<'c> ClientConfig<'c> {
    /// Creates a configuration with the defaults, for all revisions.
    #[must_use]
    pub const fn new(info: Implementation<'c>, capabilities: ClientFeatures) -> Self {
        Self {
            info: Info::new(info),
            capabilities,
            experimental: None,
            extensions: None,
            revisions: Revisions::ALL,
            result_types: &[],
            send_client_info: true,
            log_level: None,
            probe_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(60),
            call_limit: Duration::from_secs(600),
            progress_extends_timeout: true,
            max_rounds: 16,
            request_timeout: None,
            ping_interval: None,
            ping_timeout: Duration::from_secs(20),
            progress_interval: Duration::ZERO,
            words: Some(Refusal::words),
        }
    }

    /// Checks that extension ids are valid, and that extensions and experimental capabilities are
    /// objects of objects. Call it in a test or at start-up.
    ///
    /// # Errors
    /// The first mistake.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_declared(self.experimental, self.extensions.map(|declared| declared.as_json()))
    }

    /// Returns the name and version, sent in `initialize` and in each modern request.
    #[must_use]
    pub const fn info(&self) -> &Implementation<'c> {
        &self.info.value
    }

    /// Leaves the words out of the errors with which the client itself rejects requests of a
    /// server: they say `Refused`, and their code says why. Saves flash, if the configuration is a
    /// constant.
    #[must_use]
    pub const fn terse(mut self) -> Self {
        self.words = None;
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
        self.extensions = Some(DeclaredExtensions::new(extensions));
        self
    }

    /// Sets [`revisions`](Self::revisions).
    #[must_use]
    pub const fn revisions(mut self, revisions: Revisions) -> Self {
        self.revisions = revisions;
        self
    }

    /// Sets [`send_client_info`](Self::send_client_info).
    #[must_use]
    pub const fn send_client_info(mut self, yes: bool) -> Self {
        self.send_client_info = yes;
        self
    }

    /// Sets [`log_level`](Self::log_level).
    #[must_use]
    pub const fn log_level(mut self, level: LoggingLevel) -> Self {
        self.log_level = Some(level);
        self
    }

    /// Sets [`probe_timeout`](Self::probe_timeout).
    #[must_use]
    pub const fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.probe_timeout = timeout;
        self
    }

    /// Sets [`call_timeout`](Self::call_timeout).
    #[must_use]
    pub const fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets [`call_limit`](Self::call_limit).
    #[must_use]
    pub const fn call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// Sets [`progress_extends_timeout`](Self::progress_extends_timeout).
    #[must_use]
    pub const fn progress_extends_timeout(mut self, yes: bool) -> Self {
        self.progress_extends_timeout = yes;
        self
    }

    /// Sets [`max_rounds`](Self::max_rounds).
    #[must_use]
    pub const fn max_rounds(mut self, rounds: u8) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// Sets [`request_timeout`](Self::request_timeout).
    #[must_use]
    pub const fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = Some(timeout);
        self
    }

    /// Sets [`progress_interval`](Self::progress_interval).
    #[must_use]
    pub const fn progress_interval(mut self, interval: Duration) -> Self {
        self.progress_interval = interval;
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

    /// Sets [`result_types`](Self::result_types).
    #[must_use]
    pub const fn result_types(mut self, types: &'c [&'c str]) -> Self {
        self.result_types = types;
        self
    }
}

/// Options of one call; the rest is as in [`ClientConfig`](super::ClientConfig).
///
/// ```
/// # use mcp_sansio::CallOptions;
/// # use core::time::Duration;
/// let options = CallOptions::new().progress(true).timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CallOptions {
    /// Time without a message about the call after which it is cancelled. Default:
    /// [`call_timeout`](super::ClientConfig::call_timeout).
    pub timeout: Option<Duration>,
    /// Time after which the call is cancelled whatever progress it reports. Default:
    /// [`call_limit`](super::ClientConfig::call_limit).
    pub limit: Option<Duration>,
    /// Whether to request progress notifications. Default: no.
    pub progress: bool,
    /// Minimum level of the log messages that the server sends for this call. Modern servers only:
    /// a legacy session has one level, set with `logging/setLevel`. Default:
    /// [`log_level`](super::ClientConfig::log_level).
    pub log_level: Option<LoggingLevel>,
    /// Whether the server is to run the call as a task. Default: no.
    #[cfg(feature = "tasks")]
    pub task: bool,
    /// Time that the server should keep the task. Default: its own choice.
    #[cfg(feature = "tasks")]
    pub task_ttl: Option<Duration>,
}

impl CallOptions {
    /// The defaults of the configuration, without progress.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            timeout: None,
            limit: None,
            progress: false,
            log_level: None,
            #[cfg(feature = "tasks")]
            task: false,
            #[cfg(feature = "tasks")]
            task_ttl: None,
        }
    }

    /// Sets [`timeout`](Self::timeout).
    #[must_use]
    pub const fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Sets [`limit`](Self::limit).
    #[must_use]
    pub const fn limit(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Sets [`progress`](Self::progress).
    #[must_use]
    pub const fn progress(self, progress: bool) -> Self {
        Self { progress, ..self }
    }

    /// Sets [`log_level`](Self::log_level).
    #[must_use]
    pub const fn log_level(self, level: LoggingLevel) -> Self {
        Self { log_level: Some(level), ..self }
    }

    /// Asks the server to run a `tools/call` as a task, and to keep the task for this time
    /// (2025-11-25, basic/utilities/tasks). The call ends with
    /// [`CallOutcome::Task`](super::CallOutcome::Task) then. No effect in 2026-07-28, where the
    /// server decides; in other revisions, with other methods, and with a server that did not
    /// declare `tasks.requests.tools.call`, the request is not allowed.
    #[cfg(feature = "tasks")]
    #[must_use]
    pub const fn task(self, ttl: Option<Duration>) -> Self {
        Self { task: true, task_ttl: ttl, ..self }
    }
}
