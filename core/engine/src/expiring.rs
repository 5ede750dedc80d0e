//! Entries that end: what caches, stores in memory, and memories of what was seen are made of.

use alloc::collections::{BTreeMap, BTreeSet};
use core::borrow::Borrow;

/// Entries by their keys, each with what it costs and, unless it stays, the time of its end.
#[derive(Debug)]
pub(crate) struct Expiring<K, V, T> {
    by_key: BTreeMap<K, Entry<V, T>>,
    /// The entries that have an end, in the order of it.
    ends: BTreeSet<(T, K)>,
    cost: usize,
}

#[derive(Debug)]
pub(crate) struct Entry<V, T> {
    pub(crate) value: V,
    pub(crate) end: Option<T>,
    cost: usize,
}

impl<K, V, T> Expiring<K, V, T> {
    pub(crate) const fn new() -> Self {
        Self { by_key: BTreeMap::new(), ends: BTreeSet::new(), cost: 0 }
    }

    /// Returns what all entries cost.
    pub(crate) const fn cost(&self) -> usize {
        self.cost
    }
}

impl<K: Ord + Clone, V, T: Ord + Copy> Expiring<K, V, T> {
    /// Returns all entries, in the order of their keys.
    pub(crate) const fn by_key(&self) -> &BTreeMap<K, Entry<V, T>> {
        &self.by_key
    }

    /// Puts an entry in place of the one that there is.
    pub(crate) fn insert(&mut self, key: K, value: V, end: Option<T>, cost: usize) {
        self.remove(&key);
        self.ends.extend(end.map(|end| (end, key.clone())));
        self.cost += cost;
        self.by_key.insert(key, Entry { value, end, cost });
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (key, Entry { value, end, cost }) = self.by_key.remove_entry(key)?;
        self.cost -= cost;
        if let Some(end) = end {
            self.ends.remove(&(end, key));
        }
        Some(value)
    }

    /// Removes the entry that ends first, if its end is one of these.
    pub(crate) fn pop_first(&mut self, is_one: impl FnOnce(T) -> bool) -> Option<(T, K, V)> {
        let (end, key) = self.ends.first().filter(|(end, _)| is_one(*end)).cloned()?;
        let value = self.remove(&key)?;
        Some((end, key, value))
    }
}

mcp_sansio::default_is_new!([K, V, T] Expiring<K, V, T>);
