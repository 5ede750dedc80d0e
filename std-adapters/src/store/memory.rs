//! A store in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Bound::{Included, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::{Store, StoreError};
use crate::lock::lock;

/// What a record costs in a [`MemoryStore`] beside its key and its bytes, in bytes.
pub const ENTRY_COST: usize = 128;

/// A store in memory, with a limit in bytes. Its records end with the process.
///
/// A record costs its key, its bytes and [`ENTRY_COST`]. At the limit, records whose time is over
/// make room; then a `put` is [`StoreError::Full`]. Nothing else is evicted.
pub struct MemoryStore {
    records: Mutex<Records>,
    limit: usize,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
}

#[derive(Default)]
struct Records {
    by_key: BTreeMap<Arc<str>, Record>,
    /// The records that have an end, in the order of it.
    ends: BTreeSet<(Duration, Arc<str>)>,
    cost: usize,
}

struct Record {
    bytes: Vec<u8>,
    ends: Option<Duration>,
}

impl MemoryStore {
    /// Creates an empty store for at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        let start = Instant::now();
        Self { records: Mutex::default(), limit, clock: Box::new(move || start.elapsed()) }
    }

    /// Takes the time from `clock`, counted from any moment. The default is the monotonic clock of
    /// the operating system.
    #[must_use]
    pub fn clock(self, clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// Each change of the records is complete before anything can panic, so poison means nothing.
    fn lock(&self) -> MutexGuard<'_, Records> {
        lock(&self.records)
    }

    fn put_if(
        &self,
        key: &str,
        bytes: &[u8],
        ttl: Option<Duration>,
        condition: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<bool, StoreError> {
        let mut records = self.lock();
        let now = (self.clock)();
        records.remove_ended(now);
        let old = records.by_key.get(key);
        if !condition(old.map(|record| &*record.bytes)) {
            return Ok(false);
        }
        let freed = old.map_or(0, |record| cost(key, &record.bytes));
        if records.cost - freed + cost(key, bytes) > self.limit {
            return Err(StoreError::Full);
        }
        records.remove(key);
        records.insert(key, bytes, ttl.and_then(|ttl| now.checked_add(ttl)));
        Ok(true)
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let (records, now) = (self.lock(), (self.clock)());
        let record = records.by_key.get(key).filter(|record| record.is_current(now));
        Ok(record.map(|record| record.bytes.clone()))
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        self.put_if(key, bytes, ttl, |_| true).map(drop)
    }

    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError> {
        self.put_if(key, bytes, ttl, |found| found == expected)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.lock().remove(key);
        Ok(())
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let (records, now) = (self.lock(), (self.clock)());
        let from = records.by_key.range::<str, _>((Included(prefix), Unbounded));
        let with_prefix = from.take_while(|(key, _)| key.starts_with(prefix));
        let current = with_prefix.filter(|(_, record)| record.is_current(now));
        Ok(current.map(|(key, _)| String::from(&**key)).collect())
    }

    fn blocks(&self) -> bool {
        false
    }
}

impl fmt::Debug for MemoryStore {
    /// Shows the bytes that the records take, including those whose time is over. They may be
    /// private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("cost", &self.lock().cost).finish_non_exhaustive()
    }
}

impl Record {
    fn is_current(&self, now: Duration) -> bool {
        self.ends.is_none_or(|ends| now < ends)
    }
}

impl Records {
    fn insert(&mut self, key: &str, bytes: &[u8], ends: Option<Duration>) {
        let key: Arc<str> = key.into();
        self.cost += cost(&key, bytes);
        if let Some(ends) = ends {
            self.ends.insert((ends, Arc::clone(&key)));
        }
        self.by_key.insert(key, Record { bytes: bytes.to_vec(), ends });
    }

    fn remove(&mut self, key: &str) {
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
