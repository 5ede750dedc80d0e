//! Stores: what a server keeps so that it outlives its process, as records under keys.
//!
//! [`Store`] is the trait. [`MemoryStore`] is the default: it forgets everything at the end of the
//! process. [`DirectoryStore`] has a file for each record, for a few of them, such as the tokens of
//! a client. The package `mcp-sansio-redb` has one file for many. With the feature `store`,
//! `TaskStore` keeps tasks in any of them, as `TaskRecord`s that a `Seal` authenticates.
//!
#![cfg_attr(feature = "store", doc = "```")]
#![cfg_attr(not(feature = "store"), doc = "```ignore")]
//! use mcp_sansio::tasks::TaskId;
//! use mcp_sansio_adapters::store::{MemoryStore, Seal, TaskOutcome, TaskRecord, TaskStore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tasks = TaskStore::new(MemoryStore::new(64 << 20), Seal::new([7; 32]));
//! let (id, now) = (TaskId::new([1; 16]), 1_795_000_000_000);
//! let mut record = TaskRecord::new(id, "erase", r#"{"sector":3}"#, now, 60_000);
//! tasks.save(&record)?;
//! record.outcome = Some(TaskOutcome::Cancelled);
//! tasks.save(&record)?;
//!
//! // At the next start of the process.
//! let mut loaded = Vec::new();
//! tasks.load(|task| loaded.extend(task.inspect_err(|damaged| eprintln!("{damaged}"))))?;
//! assert_eq!(loaded, [record]);
//! # Ok(())
//! # }
//! ```

mod directory;
mod error;
mod lease;
mod memory;
#[cfg(feature = "store")]
mod seal;
#[cfg(feature = "store")]
mod task;
#[cfg(feature = "store")]
mod task_store;

use std::ops::Deref;
use std::time::Duration;

pub use directory::DirectoryStore;
pub use error::StoreError;
pub use lease::Lease;
pub use memory::{ENTRY_COST, MemoryStore};
#[cfg(feature = "store")]
pub use seal::Seal;
#[cfg(feature = "store")]
pub use task::{RecordError, TaskInput, TaskOutcome, TaskRecord};
#[cfg(feature = "store")]
pub use task_store::{DamagedRecord, TaskStore};

/// Records under keys, each with a time after which it is gone.
///
/// Calls return when what they say is true also after the process is killed, as far as the store
/// keeps anything at all: a server answers after it has saved. So they may wait for a disk or a
/// network. The trait is synchronous because what it is made for is: a database file, a client
/// library. An asynchronous server calls it on a thread for blocking work, unless
/// [`blocks`](Self::blocks) says that this is not necessary; then other connections are served
/// meanwhile.
///
/// Keys are text with parts between slashes, such as `task/` and an id. A store gives no meaning to
/// keys and bytes. Bytes that come from it are input: they are checked before use, those of tasks
/// by a `Seal`.
///
/// Each call happens as a whole or not at all, also when the process is killed in between. Calls
/// from several threads, or processes if the store can be shared, happen in some order: one that
/// begins after another has returned sees what that has changed. A store that is only eventually
/// consistent has to wait for it (extension `io.modelcontextprotocol/tasks`, task creation).
pub trait Store: Send + Sync {
    /// Returns the bytes under the key, unless there are none or their time is over.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; never [`StoreError::Full`].
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Stores bytes under the key, in place of what is there. They are gone after `ttl`, or never;
    /// with zero at once.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError>;

    /// Does as [`put`](Self::put) if `expected` is what is there, `None` for nothing; otherwise
    /// nothing. Returns whether it did.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError>;

    /// Removes the key, if it is there.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; never [`StoreError::Full`].
    fn remove(&self, key: &str) -> Result<(), StoreError>;

    /// Returns all keys that begin with `prefix` and whose time is not over, in order.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; never [`StoreError::Full`].
    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError>;

    /// Returns whether calls may wait for a disk or a network.
    fn blocks(&self) -> bool {
        true
    }
}

/// References, `Arc` and `Box`.
impl<P: Deref<Target: Store> + Send + Sync> Store for P {
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        (**self).get(key)
    }

    fn put(&self, key: &str, bytes: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        (**self).put(key, bytes, ttl)
    }

    fn compare_and_put(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        bytes: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, StoreError> {
        (**self).compare_and_put(key, expected, bytes, ttl)
    }

    fn remove(&self, key: &str) -> Result<(), StoreError> {
        (**self).remove(key)
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        (**self).keys(prefix)
    }

    fn blocks(&self) -> bool {
        (**self).blocks()
    }
}
