//! Proofs that were accepted and tokens that were refused, as a server remembers them.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::expiring::Expiring;

/// A proof that was accepted.
#[derive(Clone, Copy)]
pub struct SeenProof {
    /// The second after which it is refused as too old.
    pub end: u64,
    /// The key with which it was made, as a hash.
    pub key: [u8; 32],
    /// Its id, as a hash.
    pub id: [u8; 32],
}

/// Proofs that were accepted and are still good.
#[derive(Default)]
pub struct SeenProofs {
    /// The key of each, by its id.
    by_id: Expiring<[u8; 32], [u8; 32], u64>,
    /// Key, end, id.
    by_key: BTreeSet<([u8; 32], u64, [u8; 32])>,
    /// The number of remembered proofs by key.
    counts: BTreeMap<[u8; 32], usize>,
    keys_by_count: BTreeSet<(usize, [u8; 32])>,
}

impl SeenProofs {
    /// Remembers a proof. At the limit, the oldest of the key that has the most is forgotten.
    /// Returns `false` if the proof is among them.
    pub fn insert(&mut self, proof: SeenProof, now: u64, limit: usize) -> bool {
        while let Some((end, id, key)) = self.by_id.pop_first(|end| end < now) {
            self.forget(&SeenProof { end, key, id });
        }
        if self.by_id.by_key().contains_key(&proof.id) {
            return false;
        }
        self.by_id.insert(proof.id, proof.key, Some(proof.end), 0);
        self.by_key.insert((proof.key, proof.end, proof.id));
        self.count(proof.key, |count| count + 1);
        while self.remembered() > limit
            && let Some((_, key)) = self.keys_by_count.last()
            && let Some((key, end, id)) = self.by_key.range((*key, 0, [0; 32])..).next().copied()
        {
            self.by_id.remove(&id);
            self.forget(&SeenProof { end, key, id });
        }
        true
    }

    /// Returns their number.
    pub fn remembered(&self) -> usize {
        self.by_id.by_key().len()
    }

    fn forget(&mut self, proof: &SeenProof) {
        self.by_key.remove(&(proof.key, proof.end, proof.id));
        self.count(proof.key, |count| count - 1);
    }

    fn count(&mut self, key: [u8; 32], change: impl FnOnce(usize) -> usize) {
        let before = self.counts.remove(&key).unwrap_or(0);
        self.keys_by_count.remove(&(before, key));
        let count = change(before);
        if count > 0 {
            self.counts.insert(key, count);
            self.keys_by_count.insert((count, key));
        }
    }
}

/// Tokens that were refused a moment ago, by the SHA-256 of each.
/// They end in seconds since 1970.
pub struct RefusedTokens<R>(Expiring<[u8; 32], R, u64>);

impl<R> Default for RefusedTokens<R> {
    fn default() -> Self {
        Self(Expiring::new())
    }
}

impl<R: Copy> RefusedTokens<R> {
    /// Returns why a token was refused.
    pub fn get(&mut self, token: &[u8; 32], now: u64) -> Option<R> {
        while self.0.pop_first(|end| end <= now).is_some() {}
        self.0.by_key().get(token).map(|refused| refused.value)
    }

    /// Remembers why a token is refused.
    pub fn insert(&mut self, token: [u8; 32], refusal: R, now: u64) {
        self.0.insert(token, refusal, Some(now.saturating_add(REFUSED_AGE)), 0);
        if self.remembered() > MAX_REFUSED {
            self.0.pop_first(|_| true);
        }
    }

    /// Returns their number.
    pub fn remembered(&self) -> usize {
        self.0.by_key().len()
    }
}

/// A refused token is remembered for this many seconds.
const REFUSED_AGE: u64 = 10;
/// Refused tokens that are remembered.
const MAX_REFUSED: usize = 4096;
