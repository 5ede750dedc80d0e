//! Tasks in a store.

use std::fmt;
use std::sync::Arc;

use mcp_sansio::tasks::TaskId;
pub use mcp_sansio_engine::{RecordError, TaskCall, TaskInput, TaskOutcome, TaskRecord};

use super::{Store, StoreError};
use crate::KeyRing;

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
        super::run(self.store.blocks(), move || call(&this)).await
    }

    /// Calls `call`, and does not wait for it. Without a thread a record is left, whose task has
    /// failed for the next process.
    pub(crate) fn run_apart(&self, call: impl FnOnce(&Self) + Send + 'static) {
        let this = self.clone();
        super::run_apart(self.store.blocks(), move || call(&this));
    }
}

impl fmt::Debug for TaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskStore").finish_non_exhaustive()
    }
}

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
