//! The time of everything that has a limit, by the same clock as the [timers](super::timer).

use std::time::{Duration, Instant};

/// Returns the present: with the feature `tokio` that of its clock, which a test can pause.
pub(crate) fn now() -> Instant {
    #[cfg(feature = "tokio")]
    return tokio::time::Instant::now().into_std();
    #[cfg(not(feature = "tokio"))]
    Instant::now()
}

/// Returns the time since then.
pub(crate) fn elapsed(since: Instant) -> Duration {
    now().saturating_duration_since(since)
}
