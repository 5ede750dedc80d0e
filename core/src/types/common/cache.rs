//! How long an answer may be kept, and for whom.

use crate::json::RawJson;
use crate::time::Instant;
use crate::types::CacheScope;

/// What a result says about being kept (2026-07-28, server/utilities/caching). The library keeps no
/// results; who does reads this.
///
/// What goes with it: keep under the method and all parameters, not what was asked for with input
/// ([`retry`](crate::Client::retry)), private results for one authorization only; and forget what a
/// [`Changed`](crate::Changed) event names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheHint {
    /// For how many milliseconds the result stays fresh. Zero: not at all.
    pub ttl_ms: u64,
    /// Who may share it.
    pub cache_scope: CacheScope,
}

impl CacheHint {
    /// The hint of a result. What is absent, negative or no integer counts as zero; what is not
    /// plainly public is private.
    #[must_use]
    pub fn from_result(result: RawJson<'_>) -> Self {
        let public = result
            .get("cacheScope")
            .and_then(RawJson::as_string)
            .is_some_and(|scope| scope == "public");
        let cache_scope = if public { CacheScope::Public } else { CacheScope::Private };
        Self { ttl_ms: result.get("ttlMs").and_then(RawJson::as_u64).unwrap_or(0), cache_scope }
    }

    /// When a result that came at `received` goes stale.
    #[must_use]
    pub const fn fresh_until(self, received: Instant) -> Instant {
        received.saturating_add(core::time::Duration::from_millis(self.ttl_ms))
    }

    /// Whether a result that came at `received` is still fresh `now`.
    #[must_use]
    pub const fn is_fresh(self, received: Instant, now: Instant) -> bool {
        now.as_millis() < self.fresh_until(received).as_millis()
    }
}
