//! Records in memory, each until its time is over.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound::{Included, Unbounded};
use core::time::Duration;

use crate::expiring::{Entry, Expiring};

/// Records by their keys, with a limit in bytes. A record costs its key, its bytes and
/// [`ENTRY_COST`]. Times are counted from any moment.
#[derive(Default)]
pub struct Records(Expiring<Arc<str>, Vec<u8>, Duration>);

/// The records that are there, and the new one, would cost more than the limit.
#[derive(Debug)]
pub struct NoRoom;

impl Records {
    /// Returns the bytes of a record.
    pub fn get(&self, now: Duration, key: &str) -> Option<&[u8]> {
        let record = self.0.by_key().get(key).filter(|record| is_current(record, now));
        record.map(|record| &*record.value)
    }

    /// Puts a record in place of the one that there is, if that fulfils the condition. Returns
    /// whether it did. Records whose time is over make room.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn put_if(
        &mut self,
        now: Duration,
        limit: usize,
        (key, bytes): (&str, &[u8]),
        ttl: Option<Duration>,
        condition: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<bool, NoRoom> {
        while self.0.pop_first(|end| end <= now).is_some() {}
        let old = self.0.by_key().get(key).map(|record| &*record.value);
        if !condition(old) {
            return Ok(false);
        }
        let freed = old.map_or(0, |old| cost(key, old));
        if self.0.cost() - freed + cost(key, bytes) > limit {
            return Err(NoRoom);
        }
        let end = ttl.and_then(|ttl| now.checked_add(ttl));
        self.0.insert(key.into(), bytes.to_vec(), end, cost(key, bytes));
        Ok(true)
    }

    /// Returns the keys that begin with this text, in order.
    pub fn keys(&self, now: Duration, prefix: &str) -> Vec<String> {
        let from = self.0.by_key().range::<str, _>((Included(prefix), Unbounded));
        let with_prefix = from.take_while(|(key, _)| key.starts_with(prefix));
        let current = with_prefix.filter(|(_, record)| is_current(record, now));
        current.map(|(key, _)| String::from(&**key)).collect()
    }

    /// Returns the bytes that all records cost, including those whose time is over.
    pub const fn cost(&self) -> usize {
        self.0.cost()
    }

    /// Removes a record.
    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }
}

fn cost(key: &str, bytes: &[u8]) -> usize {
    key.len() + bytes.len() + ENTRY_COST
}

fn is_current(record: &Entry<Vec<u8>, Duration>, now: Duration) -> bool {
    record.end.is_none_or(|end| now < end)
}

/// The cost of a record beside its key and its bytes, in bytes.
pub const ENTRY_COST: usize = 128;
