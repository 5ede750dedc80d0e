//! How a request is made.

use core::time::Duration;

use crate::types::LoggingLevel;

/// How a request is made. `CallOptions::new().progress()`
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    pub(super) timeout: Option<Duration>,
    pub(super) limit: Option<Duration>,
    pub(super) progress: bool,
    pub(super) log_level: Option<LoggingLevel>,
}

impl CallOptions {
    /// As the configuration says, without progress.
    #[must_use]
    pub const fn new() -> Self {
        Self { timeout: None, limit: None, progress: false, log_level: None }
    }

    /// Given up after this long a silence.
    #[must_use]
    pub const fn timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Given up after this long, whatever progress it reports.
    #[must_use]
    pub const fn limit(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The time set with [`limit`](Self::limit).
    #[must_use]
    pub const fn given_limit(&self) -> Option<Duration> {
        self.limit
    }

    /// The server is asked to report progress.
    #[must_use]
    pub const fn progress(self) -> Self {
        Self { progress: true, ..self }
    }

    /// The server is asked for log messages of this level and above. Only a modern one: a legacy
    /// session has one level, `logging/setLevel`.
    #[must_use]
    pub const fn log_level(self, level: LoggingLevel) -> Self {
        Self { log_level: Some(level), ..self }
    }

    /// The same as [`log_level`](Self::log_level), unless a level has been given.
    #[must_use]
    pub const fn or_log_level(self, level: LoggingLevel) -> Self {
        if self.log_level.is_some() { self } else { self.log_level(level) }
    }
}
