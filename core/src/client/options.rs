//! Options of a call.

use core::time::Duration;

use crate::types::LoggingLevel;

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
}

impl CallOptions {
    /// The defaults of the configuration, without progress.
    #[must_use]
    pub const fn new() -> Self {
        Self { timeout: None, limit: None, progress: false, log_level: None }
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
}
