//! A store in memory.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use mcp_sansio_engine::internal::{self, NoRoom, Records};

use super::{Store, StoreError};
use crate::lock::lock;

/// What a record costs in a [`MemoryStore`] beside its key and its bytes, in bytes.
pub const ENTRY_COST: usize = internal::ENTRY_COST;

/// A store in memory, with a limit in bytes. Its records end with the process.
///
/// A record costs its key, its bytes and [`ENTRY_COST`]. At the limit, records whose time is over
/// make room; then a `put` is [`StoreError::Full`]. Nothing else is evicted.
pub struct MemoryStore {
    records: Mutex<Records>,
    limit: usize,
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
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

    fn put_if(
        &self,
        key: &str,
        bytes: &[u8],
        ttl: Option<Duration>,
        condition: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<bool, StoreError> {
        let (mut records, now) = (lock(&self.records), (self.clock)());
        let put = records.put_if(now, self.limit, (key, bytes), ttl, condition);
        put.map_err(|NoRoom| StoreError::Full)
    }
}

impl Store for MemoryStore {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(lock(&self.records).get((self.clock)(), key).map(<[u8]>::to_vec))
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
        lock(&self.records).remove(key);
        Ok(())
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        Ok(lock(&self.records).keys((self.clock)(), prefix))
    }

    fn blocks(&self) -> bool {
        false
    }
}

impl fmt::Debug for MemoryStore {
    /// Shows the bytes that the records take, including those whose time is over. They may be
    /// private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("cost", &lock(&self.records).cost())
            .finish_non_exhaustive()
    }
}
