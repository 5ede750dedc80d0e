//! Tokens that were found valid.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::hint::black_box;
use std::sync::{Arc, Mutex};

use zeroize::Zeroizing;

use super::Verified;
use crate::lock::lock;

/// Known tokens. A token is found by a number made of its end, and counts as known if all of it is
/// the same as the one that was kept. Of two tokens with the same number, the last is kept.
///
/// At the limit, the oldest entries are forgotten: their tokens are checked again.
pub struct TokenCache {
    /// Number of bytes at the end of a token that its number is made of.
    end: usize,
    /// So that others do not know which tokens have the same number.
    seed: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<u64, Entry, BuildHasherDefault<Unhashed>>,
    by_age: BTreeMap<u64, u64>,
    bytes: usize,
    count: u64,
    /// The keys with which the entries were verified.
    generation: u64,
}

struct Entry {
    token: Zeroizing<Box<[u8]>>,
    verified: Arc<Verified>,
    /// Seconds since 1970.
    until: u64,
    number: u64,
    bytes: usize,
}

impl TokenCache {
    pub(super) fn new(end: usize) -> Self {
        let seed = RandomState::new().hash_one(0);
        Self { end, seed, state: Mutex::default() }
    }

    /// Returns a token's entry. Entries of other generations than the one given are forgotten.
    pub(super) fn get(&self, token: &[u8], generation: u64, now: u64) -> Option<Arc<Verified>> {
        let place = self.place(token);
        let mut state = lock(&self.state);
        state.enter(generation);
        let entry = state.entries.get(&place).filter(|entry| is_same(&entry.token, token))?;
        if entry.until <= now {
            state.remove(place);
            return None;
        }
        Some(Arc::clone(&entry.verified))
    }

    pub(super) fn insert(
        &self,
        token: &[u8],
        generation: u64,
        until: u64,
        verified: &Arc<Verified>,
        max_bytes: usize,
    ) {
        let place = self.place(token);
        let mut state = lock(&self.state);
        state.enter(generation);
        state.remove(place);
        let principal = &verified.principal;
        let texts = [&principal.issuer, &principal.subject, &principal.scopes, &principal.claims];
        let bytes = ENTRY + token.len() + texts.iter().map(|text| text.len()).sum::<usize>();
        state.count += 1;
        let number = state.count;
        let (token, verified) = (Zeroizing::new(token.into()), Arc::clone(verified));
        state.entries.insert(place, Entry { token, verified, until, number, bytes });
        state.by_age.insert(number, place);
        state.bytes += bytes;
        while state.bytes > max_bytes {
            let Some((_, oldest)) = state.by_age.pop_first() else { break };
            state.remove(oldest);
        }
    }

    /// Makes a number of the end of a token.
    fn place(&self, token: &[u8]) -> u64 {
        let end = token.get(token.len().saturating_sub(self.end)..).unwrap_or_default();
        let (first, words) = end.as_rchunks::<8>();
        let mut place = self.seed;
        let mut add = |word: u64| {
            place = (place ^ word).wrapping_mul(FACTOR);
            place ^= place >> 32;
        };
        first.iter().for_each(|byte| add(u64::from(*byte)));
        words.iter().for_each(|word| add(u64::from_le_bytes(*word)));
        place
    }
}

impl State {
    fn enter(&mut self, generation: u64) {
        if self.generation != generation {
            *self = Self { generation, count: self.count, ..Self::default() };
        }
    }

    fn remove(&mut self, place: u64) {
        if let Some(entry) = self.entries.remove(&place) {
            self.by_age.remove(&entry.number);
            self.bytes -= entry.bytes;
        }
    }
}

/// Compares tokens in a time that does not tell how much of them is the same.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let ((ones, one), (others, other)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    let pairs = ones.iter().zip(others).map(|(one, other)| (*one, *other));
    let of_words = pairs
        .fold(0, |all, (one, other)| all | (u64::from_le_bytes(one) ^ u64::from_le_bytes(other)));
    let of_rest = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    black_box(of_words | u64::from(of_rest)) == 0
}

/// For numbers that are spread already.
#[derive(Default)]
struct Unhashed(u64);

impl Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = (self.0 << 8) | u64::from(*byte));
    }
}

/// Odd, with as many ones as zeros: the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes of an entry besides token and texts: itself, its places in both maps, and what the
/// allocator adds.
const ENTRY: usize = 512;
/// Default limit of a cache.
pub(super) const MAX_BYTES: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use mcp_sansio::http::Principal;

    use super::*;

    fn entry(subject: &str) -> Arc<Verified> {
        let principal = Arc::new(Principal::new("", subject));
        Arc::new(Verified { principal, jkt: None })
    }

    fn insert(cache: &TokenCache, token: &[u8], subject: &str) {
        cache.insert(token, 1, 100, &entry(subject), MAX_BYTES);
    }

    /// The subject of the entry of a token.
    fn subject(cache: &TokenCache, token: &[u8]) -> Option<String> {
        cache.get(token, 1, 0).map(|verified| verified.principal.subject.clone())
    }

    #[test]
    fn auth_155_an_entry_lasts_until_its_time() {
        let cache = TokenCache::new(16);
        insert(&cache, b"a", "a");
        assert_eq!(cache.get(b"a", 1, 99).unwrap().principal.subject, "a");
        assert!(cache.get(b"b", 1, 99).is_none());
        assert!(cache.get(b"a", 1, 100).is_none());
        let state = lock(&cache.state);
        assert_eq!((state.bytes, state.by_age.len(), state.entries.len()), (0, 0, 0));
    }

    #[test]
    fn auth_154_other_keys_empty_the_cache() {
        let cache = TokenCache::new(16);
        insert(&cache, b"a", "a");
        assert!(cache.get(b"a", 2, 0).is_none());
        assert!(cache.get(b"a", 1, 0).is_none());
    }

    #[test]
    fn auth_154_a_token_is_not_taken_for_another_at_its_place() {
        let cache = TokenCache::new(4);
        insert(&cache, b"header.ada.same", "ada");
        for token in [
            &b"header.bob.same"[..],
            b"same",
            b"",
            b"eader.ada.same",
            b"xheader.ada.same",
            b"header.ada.samf",
        ] {
            assert_eq!(subject(&cache, token), None);
        }
        assert_eq!(cache.place(b"header.ada.same"), cache.place(b"header.bob.same"));
        assert_eq!(subject(&cache, b"header.ada.same").as_deref(), Some("ada"));
        // Another valid one takes the place.
        insert(&cache, b"header.bob.same", "bob");
        assert_eq!(subject(&cache, b"header.bob.same").as_deref(), Some("bob"));
        assert_eq!(subject(&cache, b"header.ada.same"), None);
        let state = lock(&cache.state);
        assert_eq!((state.entries.len(), state.by_age.len()), (1, 1));
    }

    #[test]
    fn tokens_with_an_equal_end_have_places_of_their_own_if_all_of_them_counts() {
        let cache = TokenCache::new(usize::MAX);
        for n in 0..100 {
            insert(&cache, format!("{n}-of-the-same-tenant").as_bytes(), "");
        }
        assert_eq!(lock(&cache.state).entries.len(), 100);
    }

    #[test]
    fn every_byte_of_a_token_is_compared() {
        let token = [b'x'; 300];
        assert!(is_same(&token, &token));
        for at in 0..token.len() {
            let mut other = token;
            other[at] ^= 1;
            assert!(!is_same(&token, &other), "{at}");
            assert!(!is_same(&token, &token[..at]) && !is_same(&token[..at], &token));
        }
    }

    #[test]
    fn auth_154_ten_thousand_tokens_take_no_more_than_the_limit() {
        let (cache, max_bytes) = (TokenCache::new(16), 100 * (ENTRY + 9));
        for n in 1000..11_000 {
            let n = format!("{n:05}");
            cache.insert(n.as_bytes(), 1, 100, &entry(&n[1..]), max_bytes);
            // The same token again takes no second place.
            cache.insert(n.as_bytes(), 1, 100, &entry(&n[1..]), max_bytes);
        }
        let state = lock(&cache.state);
        assert_eq!((state.entries.len(), state.by_age.len()), (100, 100));
        assert_eq!(state.bytes, 100 * (ENTRY + 9));
        drop(state);
        assert!(cache.get(b"10900", 1, 0).is_some());
        assert!(cache.get(b"10899", 1, 0).is_none());
    }
}
