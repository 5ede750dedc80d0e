//! Cache hints of results.

use crate::json::RawJson;
use crate::time::Instant;
use crate::types::CacheScope;

/// Cache hint of a result (2026-07-28, server/utilities/caching): schema type `CacheableResult`.
///
/// The library caches no results. A cache must use the method and all parameters as its key, skip
/// results of requests with input responses ([`retry`](crate::Client::retry)), serve private
/// results to the same authorization only, and drop what a [`Changed`](crate::Changed) event names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheHint {
    /// Time that the result stays fresh, in milliseconds; 0 means not at all.
    pub ttl_ms: u64,
    /// Whether caches may share the result between users; private if missing.
    pub cache_scope: CacheScope,
}

impl CacheHint {
    /// Reads the hint of a result. A missing or invalid `ttlMs` is 0; any `cacheScope` except
    /// `public` is private.
    #[must_use]
    pub fn from_result(result: RawJson<'_>) -> Self {
        let public = result
            .get("cacheScope")
            .and_then(RawJson::as_string)
            .is_some_and(|scope| scope == "public");
        let cache_scope = if public { CacheScope::Public } else { CacheScope::Private };
        Self { ttl_ms: result.get("ttlMs").and_then(RawJson::as_u64).unwrap_or(0), cache_scope }
    }

    /// Returns the time until which a result received at `received` is fresh.
    #[must_use]
    pub const fn fresh_until(self, received: Instant) -> Instant {
        received.saturating_add(core::time::Duration::from_millis(self.ttl_ms))
    }

    /// Returns whether a result received at `received` is still fresh at `now`.
    #[must_use]
    pub const fn is_fresh(self, received: Instant, now: Instant) -> bool {
        now.as_millis() < self.fresh_until(received).as_millis()
    }
}
