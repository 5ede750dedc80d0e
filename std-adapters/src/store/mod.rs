//! Stores: what a server keeps so that it outlives its process, as records under keys.
//!
//! [`Store`] is the trait. [`MemoryStore`] is the default: it forgets everything at the end of the
//! process. [`DirectoryStore`] has a file for each record, for a few of them, such as the tokens of
//! a client. The package `mcp-sansio-redb` has one file for many. `TaskStore` keeps
//! tasks in any of them, as `TaskRecord`s that a `KeyRing` seals.
//!
//! ```
//! use mcp_sansio::tasks::TaskId;
//! use mcp_sansio_adapters::KeyRing;
//! use mcp_sansio_adapters::store::{MemoryStore, TaskOutcome, TaskRecord, TaskStore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tasks = TaskStore::new(MemoryStore::new(64 << 20), KeyRing::new([7; 32]));
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

pub use directory::DirectoryStore;

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcp_sansio::tasks::TaskId;
use mcp_sansio_engine::internal::{self, NoRoom, Records};
pub use mcp_sansio_engine::{RecordError, TaskCall, TaskInput, TaskOutcome, TaskRecord};

use crate::KeyRing;
use crate::lock::lock;

/// Records under keys, each with a time after which it is gone.
///
/// Calls return when what they say is true also after the process is killed, as far as the store
/// keeps anything at all: a server answers after it has saved. So they may wait for a disk or a
/// network. The trait is synchronous: a call blocks its thread, and the adapters make it on one for
/// blocking work, never on that of an executor and never under a lock, unless
/// [`blocks`](Self::blocks) says that it returns at once. The functions that a program calls itself
/// block its thread: `App::resume_tasks`, `OAuth::is_logged_in` and `log_out`, [`Lease`] and
/// `TaskStore`, except `TaskStore::run`.
///
/// Keys are text with parts between slashes, such as `task/` and an id. A store gives no meaning to
/// keys and bytes. Bytes that come from it are input: they are checked before use, those of tasks
/// by a `KeyRing`.
///
/// Each call happens as a whole or not at all, also when the process is killed in between. Calls
/// from several threads, or processes if the store can be shared, happen in some order: one that
/// begins after another has returned sees what that has changed. A store that is only eventually
/// consistent has to wait for it (extension `io.modelcontextprotocol/tasks`, task creation).
///
/// A store over a network
///
/// - gives each call a time limit: a thread waits for it, of which a runtime has some hundred;
/// - lends a connection to each call, so that calls do not wait for each other;
/// - closes a connection whose reply did not come, which would be taken for that of the next call;
/// - returns [`StoreError::Unavailable`] then, and does not send a
///   [`compare_and_put`](Self::compare_and_put) again: if it was carried out, the second one finds
///   the bytes of the first, and says that nothing was stored;
/// - lets the server compare: a `get` before a `put` is not a whole.
///
/// On the threads of tokio for blocking work `tokio::runtime::Handle::current().block_on(..)` calls
/// a client library that is asynchronous.
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

    /// Puts what `change` makes of the bytes under the key, of `None` if there are none; nothing if
    /// it returns `None`. It is called again, with the new bytes, if another writer came between.
    /// Returns whether something was put.
    ///
    /// The default gets, and compares. A store that can do it in one transaction overrides it.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]. After [`StoreError::Unavailable`] the change may have been made.
    fn update(
        &self,
        key: &str,
        ttl: Option<Duration>,
        change: &mut Update<'_>,
    ) -> Result<bool, StoreError> {
        loop {
            let found = self.get(key)?;
            let Some(bytes) = change(found.as_deref()) else { return Ok(false) };
            if self.compare_and_put(key, found.as_deref(), &bytes, ttl)? {
                return Ok(true);
            }
        }
    }

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

/// What a [`Store::update`] makes of a record.
pub type Update<'u> = dyn FnMut(Option<&[u8]>) -> Option<Vec<u8>> + 'u;

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

    fn update(
        &self,
        key: &str,
        ttl: Option<Duration>,
        change: &mut Update<'_>,
    ) -> Result<bool, StoreError> {
        (**self).update(key, ttl, change)
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

/// Makes a call of a store where it may wait: on a thread for blocking work, if the store `blocks`,
/// else at once. A call that has begun goes on when the future is dropped.
pub(crate) async fn run<T: Send + 'static>(
    blocks: bool,
    call: impl FnOnce() -> T + Send + 'static,
) -> T {
    if blocks { crate::runtime::unblock(call).await } else { call() }
}

/// Makes a call of a store, and does not wait for it: on a thread of its own, if the store
/// `blocks`, since the runtime may end. Without a thread it is not made.
pub(crate) fn run_apart(blocks: bool, call: impl FnOnce() + Send + 'static) {
    if !blocks {
        return call();
    }
    let _ = std::thread::Builder::new().spawn(call);
}

// The errors of stores.

/// Reasons why a store did not do what it was called for. A server then refuses the request
/// (-32603); it never answers as if the record were saved.
#[non_exhaustive]
pub enum StoreError {
    /// There is no room for the record, and nothing was written. Old records have to be removed, or
    /// to reach the end of their time; repeating the call before that does not help.
    Full,
    /// The store cannot be reached now, for example over a network. Whether the call was carried
    /// out is not known. It may be repeated later, as may any call of a store.
    Unavailable(Box<dyn Error + Send + Sync>),
    /// The store does not work until an operator has repaired it: the disk is full or broken, or
    /// the file is not one of this store.
    Failed(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the store is full: remove records, or raise its limit"),
            Self::Unavailable(error) => write!(f, "the store is unavailable, try later: {error}"),
            Self::Failed(error) => write!(f, "the store has failed and must be repaired: {error}"),
        }
    }
}

mcp_sansio::error_type!(StoreError, |error| match error {
    StoreError::Full => None,
    StoreError::Unavailable(error) | StoreError::Failed(error) => Some(&**error),
});

// A lock that ends by itself when its holder does.

/// A lock under a key of a store, for a time. The store is a reference or an `Arc` of one. Of the
/// processes that share the store one can hold it, for example the one that resumes a task.
///
/// The holder has to be done, or to [`renew`](Self::renew) it, before the time is over: then
/// another can acquire it. So a lease that is dropped without [`release`](Self::release) ends by
/// itself.
#[derive(Debug)]
pub struct Lease<S: Store> {
    pub(crate) store: S,
    key: String,
    holder: [u8; 16],
}

impl<S: Store> Lease<S> {
    /// Acquires the lease of `key` for `ttl`, unless another has it.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; without random numbers [`StoreError::Failed`].
    pub fn acquire(store: S, key: &str, ttl: Duration) -> Result<Option<Self>, StoreError> {
        let mut holder = [0; 16];
        getrandom::fill(&mut holder).map_err(|error| StoreError::Failed(error.into()))?;
        let acquired = store.compare_and_put(key, None, &holder, Some(ttl))?;
        Ok(acquired.then(|| Self { store, key: key.to_owned(), holder }))
    }

    /// Extends the lease to `ttl` from now. Returns whether it is still this one's: otherwise its
    /// time was over.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub fn renew(&self, ttl: Duration) -> Result<bool, StoreError> {
        self.store.compare_and_put(&self.key, Some(&self.holder), &self.holder, Some(ttl))
    }

    /// Lets others acquire it.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]. The lease then ends when its time is over.
    pub fn release(self) -> Result<(), StoreError> {
        self.renew(Duration::ZERO).map(drop)
    }
}

// Tasks in a store.

/// The tasks of a server in a [`Store`], sealed. Clones share the store.
///
/// Records of one task are saved in the order of the calls only if each call is made after the one
/// before it has returned.
#[derive(Clone)]
pub struct TaskStore {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: KeyRing,
}

/// A record that cannot be used, for whatever reason. It stays where it is.
#[derive(Clone, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Its key in the store. Do not log it, since it has the id of a task; `Debug` and `Display`
    /// show its beginning.
    pub key: String,
    /// The reason.
    pub error: RecordError,
}

impl TaskStore {
    /// Keeps tasks in this store, under keys that begin with `task/`.
    #[must_use]
    pub fn new(store: impl Store + 'static, keys: KeyRing) -> Self {
        Self { store: Arc::new(store), keys }
    }

    /// Saves the task, in place of the record that there is of it. The store keeps it until the
    /// time of the task is over, counted from [`TaskRecord::updated_unix_ms`].
    ///
    /// # Errors
    ///
    /// See [`StoreError`]. A record whose texts are not JSON is [`StoreError::Failed`].
    pub fn save(&self, task: &TaskRecord) -> Result<(), StoreError> {
        let key = key(task.id);
        let record = task.encode().map_err(|error| StoreError::Failed(error.into()))?;
        self.store.put(&key, &self.keys.seal_record(&key, record), Some(task.remaining()))
    }

    /// Removes the task.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub fn remove(&self, id: TaskId) -> Result<(), StoreError> {
        self.store.remove(&key(id))
    }

    /// Calls `each` with every task in the store, and with every record that cannot be used: it is
    /// to be reported, and is otherwise of no effect.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]. That of a single record is returned when all others are loaded.
    pub fn load(
        &self,
        mut each: impl FnMut(Result<TaskRecord, DamagedRecord>),
    ) -> Result<(), StoreError> {
        let mut result = Ok(());
        for key in self.store.keys(PREFIX)? {
            match self.store.get(&key) {
                Ok(Some(sealed)) => {
                    each(self.read(&key, &sealed).map_err(|error| DamagedRecord { key, error }));
                }
                // Its time is over since.
                Ok(None) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    fn read(&self, key: &str, sealed: &[u8]) -> Result<TaskRecord, RecordError> {
        TaskRecord::decode(self.keys.open_record(key, sealed).ok_or(RecordError::Seal)?)
    }

    /// Returns the record of a task; `None` also for one that cannot be used.
    pub(crate) fn get(&self, id: TaskId) -> Result<Option<TaskRecord>, StoreError> {
        let key = key(id);
        let found = self.store.get(&key)?;
        Ok(found.and_then(|sealed| self.read(&key, &sealed).ok()))
    }

    /// Puts what `change` makes of the record of a task, of `None` if there is none; nothing if it
    /// returns `None`. It is called again if another writer came between. Returns the record that
    /// is there now, and whether it was put.
    pub(crate) fn change(
        &self,
        id: TaskId,
        mut change: impl FnMut(Option<&TaskRecord>) -> Option<TaskRecord>,
    ) -> Result<(Option<TaskRecord>, bool), StoreError> {
        let key = key(id);
        loop {
            let found = self.store.get(&key)?;
            let record = found.as_ref().and_then(|sealed| self.read(&key, sealed).ok());
            let Some(new) = change(record.as_ref()) else { return Ok((record, false)) };
            let bytes = new.encode().map_err(|error| StoreError::Failed(error.into()))?;
            let (sealed, left) = (self.keys.seal_record(&key, bytes), Some(new.remaining()));
            if self.store.compare_and_put(&key, found.as_deref(), &sealed, left)? {
                return Ok((Some(new), true));
            }
        }
    }

    /// Calls `call` where it may wait: on a thread for blocking work, if the store
    /// [blocks](Store::blocks), else at once.
    ///
    /// A call that has begun goes on when the future is dropped.
    pub async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let this = self.clone();
        run(self.store.blocks(), move || call(&this)).await
    }

    /// Calls `call`, and does not wait for it. Without a thread a record is left, whose task has
    /// failed for the next process.
    pub(crate) fn run_apart(&self, call: impl FnOnce(&Self) + Send + 'static) {
        let this = self.clone();
        run_apart(self.store.blocks(), move || call(&this));
    }
}

mcp_sansio::opaque_debug!(TaskStore {});

impl fmt::Display for DamagedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beginning: String = self.key.chars().take(PREFIX.len() + 4).collect();
        write!(f, "the record \"{}..\" is skipped: {}", beginning.escape_debug(), self.error)
    }
}

mcp_sansio::error_type!(DamagedRecord);

fn key(id: TaskId) -> String {
    format!("{PREFIX}{id}")
}

const PREFIX: &str = "task/";

// A store in memory.

/// Cost of a record in a [`MemoryStore`] beside its key and its bytes, in bytes.
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

// Shows the bytes that the records take, including those whose time is over. They may be private.
mcp_sansio::opaque_debug!(MemoryStore |it| { cost: lock(&it.records).cost() });
