//! Tokens that were found valid, by their hash.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::digest::{SHA256, digest};

use super::claims::Verified;

/// SHA-256 of a token. Tokens themselves are not kept.
pub(super) type TokenHash = [u8; 32];

pub(super) fn hash(token: &str) -> TokenHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    hash
}

/// At the limit, the oldest entries are forgotten: their tokens are checked again.
pub(super) struct TokenCache {
    max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<TokenHash, Entry>,
    by_age: BTreeMap<u64, TokenHash>,
    bytes: usize,
    count: u64,
    /// The keys with which the entries were verified.
    generation: u64,
}

struct Entry {
    verified: Arc<Verified>,
    /// Seconds since 1970.
    until: u64,
    number: u64,
    bytes: usize,
}

impl TokenCache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: Mutex::default() }
    }

    pub(super) fn set_max_bytes(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes;
    }

    /// Returns a token's entry. Entries of other generations than the one given are forgotten.
    pub(super) fn get(&self, hash: &TokenHash, generation: u64, now: u64) -> Option<Arc<Verified>> {
        let mut state = self.lock();
        state.enter(generation);
        let entry = state.entries.get(hash)?;
        if entry.until <= now {
            state.remove(hash);
            return None;
        }
        Some(Arc::clone(&entry.verified))
    }

    pub(super) fn insert(
        &self,
        hash: TokenHash,
        generation: u64,
        until: u64,
        verified: &Arc<Verified>,
    ) {
        let mut state = self.lock();
        state.enter(generation);
        state.remove(&hash);
        let principal = &verified.principal;
        let texts = [&principal.issuer, &principal.subject, &principal.scopes, &principal.claims];
        let bytes = ENTRY + texts.iter().map(|text| text.len()).sum::<usize>();
        state.count += 1;
        let number = state.count;
        let verified = Arc::clone(verified);
        state.entries.insert(hash, Entry { verified, until, number, bytes });
        state.by_age.insert(number, hash);
        state.bytes += bytes;
        while state.bytes > self.max_bytes {
            let Some((_, oldest)) = state.by_age.pop_first() else { break };
            state.remove(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn enter(&mut self, generation: u64) {
        if self.generation != generation {
            *self = Self { generation, count: self.count, ..Self::default() };
        }
    }

    fn remove(&mut self, hash: &TokenHash) {
        if let Some(entry) = self.entries.remove(hash) {
            self.by_age.remove(&entry.number);
            self.bytes -= entry.bytes;
        }
    }
}

/// Bytes of an entry besides its texts: itself, its places in both maps, and what the allocator
/// adds.
const ENTRY: usize = 512;
/// Default limit of [`TokenCache`].
pub(super) const CACHE: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use mcp_sansio::http::site::Principal;

    use super::*;

    fn entry(subject: &str) -> Arc<Verified> {
        let principal = Arc::new(Principal::new("", subject));
        Arc::new(Verified { principal, jkt: None })
    }

    #[test]
    fn auth_155_an_entry_lasts_until_its_time() {
        let cache = TokenCache::new(CACHE);
        cache.insert(hash("a"), 1, 100, &entry("a"));
        assert_eq!(cache.get(&hash("a"), 1, 99).unwrap().principal.subject, "a");
        assert!(cache.get(&hash("b"), 1, 99).is_none());
        assert!(cache.get(&hash("a"), 1, 100).is_none());
        let state = cache.lock();
        assert_eq!((state.bytes, state.by_age.len()), (0, 0));
    }

    #[test]
    fn auth_154_other_keys_empty_the_cache() {
        let cache = TokenCache::new(CACHE);
        cache.insert(hash("a"), 1, 100, &entry("a"));
        assert!(cache.get(&hash("a"), 2, 0).is_none());
        assert!(cache.get(&hash("a"), 1, 0).is_none());
    }

    #[test]
    fn auth_154_ten_thousand_tokens_take_no_more_than_the_limit() {
        let cache = TokenCache::new(100 * (ENTRY + 4));
        for n in 1000..11_000 {
            let n = n.to_string();
            cache.insert(hash(&n), 1, 100, &entry(&n[n.len() - 4..]));
            // The same token again takes no second place.
            cache.insert(hash(&n), 1, 100, &entry(&n[n.len() - 4..]));
        }
        let state = cache.lock();
        assert_eq!((state.entries.len(), state.by_age.len()), (100, 100));
        assert_eq!(state.bytes, 100 * (ENTRY + 4));
        drop(state);
        assert!(cache.get(&hash("10900"), 1, 0).is_some());
        assert!(cache.get(&hash("10899"), 1, 0).is_none());
    }
}
