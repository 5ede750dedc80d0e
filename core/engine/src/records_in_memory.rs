//! Records in memory, each until its time is over.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound::{Included, Unbounded};
use core::time::Duration;

/// Records by their keys, with a limit in bytes. A record costs its key, its bytes and
/// [`ENTRY_COST`]. Times are counted from any moment.
#[derive(Default)]
pub struct Records {
    by_key: BTreeMap<Arc<str>, Record>,
    /// The records that have an end, in the order of it.
    ends: BTreeSet<(Duration, Arc<str>)>,
    cost: usize,
}

struct Record {
    bytes: Vec<u8>,
    ends: Option<Duration>,
}

/// The records that are there, and the new one, would cost more than the limit.
#[derive(Debug)]
pub struct NoRoom;

impl Records {
    /// Returns the bytes of a record.
    pub fn get(&self, now: Duration, key: &str) -> Option<&[u8]> {
        let record = self.by_key.get(key).filter(|record| record.is_current(now));
        record.map(|record| &*record.bytes)
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
        self.remove_ended(now);
        let old = self.by_key.get(key);
        if !condition(old.map(|record| &*record.bytes)) {
            return Ok(false);
        }
        let freed = old.map_or(0, |record| cost(key, &record.bytes));
        if self.cost - freed + cost(key, bytes) > limit {
            return Err(NoRoom);
        }
        self.remove(key);
        self.insert(key, bytes, ttl.and_then(|ttl| now.checked_add(ttl)));
        Ok(true)
    }

    /// Returns the keys that begin with this text, in order.
    pub fn keys(&self, now: Duration, prefix: &str) -> Vec<String> {
        let from = self.by_key.range::<str, _>((Included(prefix), Unbounded));
        let with_prefix = from.take_while(|(key, _)| key.starts_with(prefix));
        let current = with_prefix.filter(|(_, record)| record.is_current(now));
        current.map(|(key, _)| String::from(&**key)).collect()
    }

    /// Returns the bytes that all records cost, including those whose time is over.
    pub const fn cost(&self) -> usize {
        self.cost
    }

    fn insert(&mut self, key: &str, bytes: &[u8], ends: Option<Duration>) {
        let key: Arc<str> = key.into();
        self.cost += cost(&key, bytes);
        if let Some(ends) = ends {
            self.ends.insert((ends, Arc::clone(&key)));
        }
        self.by_key.insert(key, Record { bytes: bytes.to_vec(), ends });
    }

    /// Removes a record.
    pub fn remove(&mut self, key: &str) {
        if let Some((key, record)) = self.by_key.remove_entry(key) {
            self.cost -= cost(&key, &record.bytes);
            if let Some(ends) = record.ends {
                self.ends.remove(&(ends, key));
            }
        }
    }

    fn remove_ended(&mut self, now: Duration) {
        while let Some((ends, key)) = self.ends.first() {
            if now < *ends {
                break;
            }
            let key = Arc::clone(key);
            self.remove(&key);
        }
    }
}

fn cost(key: &str, bytes: &[u8]) -> usize {
    key.len() + bytes.len() + ENTRY_COST
}

impl Record {
    fn is_current(&self, now: Duration) -> bool {
        self.ends.is_none_or(|ends| now < ends)
    }
}

/// The cost of a record beside its key and its bytes, in bytes.
pub const ENTRY_COST: usize = 128;
