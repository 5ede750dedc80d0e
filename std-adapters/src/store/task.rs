//! What a task needs to survive its process.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use mcp_sansio::tasks::{StoredTask, TaskEnd, TaskId, TaskInfo};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{Store, StoreError};

/// First byte of the records that are written. Records of the version before it are read, too.
const VERSION: u8 = 1;

/// A task as it is stored: one byte with the version of the format, 1, and a JSON object with these
/// members, named in camel case. Members without a value are left out, and unknown ones are
/// ignored, so that a later program can add some.
///
/// It is plain text: arguments and results can be read by whoever can read the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRecord {
    /// The id. In JSON 32 digits in lower case.
    #[serde(with = "id")]
    pub id: TaskId,
    /// Whose task it is, for example issuer and subject of a `Principal`; `None` where all clients
    /// are one. It is the text of which a [`TaskOwner`] is made, since that may be another number
    /// in another process.
    ///
    /// [`TaskOwner`]: mcp_sansio::tasks::TaskOwner
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the call, a JSON object.
    #[serde(with = "json")]
    pub arguments: String,
    /// [`TaskInfo::created_unix_ms`]
    pub created_unix_ms: u64,
    /// [`TaskInfo::updated_unix_ms`]
    pub updated_unix_ms: u64,
    /// [`TaskInfo::ttl_ms`]
    pub ttl_ms: u64,
    /// [`TaskInfo::message`]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How it ended; `None` while it is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TaskOutcome>,
    /// Everything it has asked for, in order. Answers are kept, so that the tool can be run again
    /// from its start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TaskInput>,
}

/// How a task ended: in JSON `{"completed":{..}}`, `{"toolFailed":{..}}`, `{"failed":{..}}` or
/// `"cancelled"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskOutcome {
    /// [`TaskEnd::Completed`], with the result of the request as JSON.
    Completed(#[serde(with = "json")] String),
    /// [`TaskEnd::ToolFailed`], with the result of the request as JSON, which has `isError`.
    ToolFailed(#[serde(with = "json")] String),
    /// [`TaskEnd::Failed`], with the JSON-RPC error of the request as JSON.
    Failed(#[serde(with = "json")] String),
    /// [`TaskEnd::Cancelled`]
    Cancelled,
}

impl TaskOutcome {
    /// Returns the outcome without its JSON.
    const fn end(&self) -> TaskEnd {
        match self {
            Self::Completed(_) => TaskEnd::Completed,
            Self::ToolFailed(_) => TaskEnd::ToolFailed,
            Self::Failed(_) => TaskEnd::Failed,
            Self::Cancelled => TaskEnd::Cancelled,
        }
    }
}

/// Something that a task has asked its client for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInput {
    /// Number of the input request, unique in its task.
    pub number: u32,
    /// The request as JSON: `method` and `params`.
    #[serde(with = "json")]
    pub request: String,
    /// The client's answer as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_json")]
    pub answer: Option<String>,
}

impl TaskRecord {
    /// Creates the record of a live task. `arguments` is a JSON object; the times are those of its
    /// [`TaskInfo`].
    #[must_use]
    pub fn new(
        id: TaskId,
        tool: impl Into<String>,
        arguments: impl Into<String>,
        created_unix_ms: u64,
        ttl_ms: u64,
    ) -> Self {
        Self {
            id,
            owner: None,
            tool: tool.into(),
            arguments: arguments.into(),
            created_unix_ms,
            updated_unix_ms: created_unix_ms,
            ttl_ms,
            message: String::new(),
            outcome: None,
            inputs: Vec::new(),
        }
    }

    /// Takes over the times and the message.
    pub fn update(&mut self, info: &TaskInfo) {
        self.created_unix_ms = info.created_unix_ms();
        self.updated_unix_ms = info.updated_unix_ms();
        self.ttl_ms = info.ttl_ms();
        info.message().clone_into(&mut self.message);
    }

    /// Returns what [`Tasks::restore`](mcp_sansio::tasks::Tasks::restore) takes.
    #[must_use]
    pub fn stored(&self) -> StoredTask<'_> {
        StoredTask::new(self.created_unix_ms, self.updated_unix_ms, self.ttl_ms)
            .end(self.outcome.as_ref().map(TaskOutcome::end))
            .message(&self.message)
            .last_input(self.inputs.iter().map(|input| input.number).max().unwrap_or(0))
    }

    /// Returns the bytes of the record, without a seal.
    ///
    /// # Errors
    ///
    /// [`RecordError::Invalid`] if a text that should be JSON is not.
    pub fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let mut bytes = vec![VERSION];
        serde_json::to_writer(&mut bytes, self).map_err(RecordError::invalid)?;
        Ok(bytes)
    }

    /// Reads the bytes of a record.
    ///
    /// # Errors
    ///
    /// [`RecordError`]
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        match bytes {
            [VERSION, record @ ..] => serde_json::from_slice(record).map_err(RecordError::invalid),
            [version, ..] => Err(RecordError::Version(*version)),
            [] => Err(RecordError::Invalid("it is empty".into())),
        }
    }

    /// Returns how long the task is kept from its last change.
    pub(super) fn remaining(&self) -> Duration {
        let until = self.created_unix_ms.saturating_add(self.ttl_ms);
        Duration::from_millis(until.saturating_sub(self.updated_unix_ms))
    }
}

/// Reasons why bytes are no record that this program can use, or a record cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// It was not sealed with a secret that this program accepts, or was changed since.
    Seal,
    /// It has this version: it was written by a program that is too new or too old.
    Version(u8),
    /// It has the right version, but not its form.
    Invalid(String),
}

impl RecordError {
    fn invalid(error: serde_json::Error) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seal => f.write_str("the seal is not valid"),
            Self::Version(version) => write!(f, "version {version} is not known"),
            Self::Invalid(error) => write!(f, "the form is not valid: {error}"),
        }
    }
}

impl Error for RecordError {}

mod id {
    use mcp_sansio::tasks::TaskId;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(id: &TaskId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TaskId, D::Error> {
        let text = String::deserialize(from)?;
        TaskId::parse(&*text).ok_or_else(|| D::Error::custom("the id is not valid"))
    }
}

/// JSON text as a value, not as a string.
mod json {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, ser::Error as _};
    use serde_json::value::RawValue;

    pub(super) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(text).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        Ok(Box::<str>::from(raw).into())
    }
}

mod optional_json {
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        text: &Option<String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match text {
            Some(text) => super::json::serialize(text, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<String>, D::Error> {
        super::json::deserialize(from).map(Some)
    }
}

// Authenticates records, since a store is input: others may be able to write to it.

/// Length of the tag at the end of a sealed record.
const TAG: usize = 32;

/// Seals records: they can be opened only unchanged, under the key of the store for which they were
/// sealed, and with the secret.
///
/// A sealed record is the record and 32 bytes of HMAC-SHA256 over a label of this format, the
/// length of the key as 8 bytes, the key, and the record. It is not encrypted, and the seal does
/// not show that a record is the latest: whoever can write to the store can remove a record, or put
/// an older one back under the same key.
///
/// The secret is 32 random bytes from the program's configuration, for example of
/// `openssl rand -hex 32`, and used for nothing else.
#[derive(Clone)]
pub struct Seal {
    /// The secret with which records are sealed.
    pub secret: [u8; 32],
    /// Opens also records that were sealed with this secret, but seals none with it: for the time
    /// until all of them have been saved again or are gone. Default: none.
    pub previous: Option<[u8; 32]>,
}

impl Seal {
    /// Creates a seal with this secret.
    #[must_use]
    pub const fn new(secret: [u8; 32]) -> Self {
        Self { secret, previous: None }
    }

    /// Returns the record with its tag, to be stored under `key`.
    #[must_use]
    pub fn seal(&self, key: &str, mut record: Vec<u8>) -> Vec<u8> {
        let tag = mac(&self.secret, key, &record).finalize().into_bytes();
        record.extend_from_slice(&tag);
        record
    }

    /// Returns the record without its tag, if it was sealed for `key`.
    #[must_use]
    pub fn open<'b>(&self, key: &str, sealed: &'b [u8]) -> Option<&'b [u8]> {
        let (record, tag) = sealed.split_last_chunk::<TAG>()?;
        let mut secrets = [Some(&self.secret), self.previous.as_ref()].into_iter().flatten();
        // In constant time, so that the duration of a rejection reveals nothing.
        secrets.any(|secret| mac(secret, key, record).verify_slice(tag).is_ok()).then_some(record)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").finish_non_exhaustive()
    }
}

fn mac(secret: &[u8; 32], key: &str, record: &[u8]) -> Hmac<Sha256> {
    // HMAC fills a key that is shorter than a block with zeros.
    let mut block = [0; 64];
    block[..32].copy_from_slice(secret);
    let mut mac = Hmac::<Sha256>::new((&block).into());
    mac.update(b"mcp-sansio record\n");
    mac.update(&(key.len() as u64).to_be_bytes());
    mac.update(key.as_bytes());
    mac.update(record);
    mac
}

// Tasks in a store.

const PREFIX: &str = "task/";

/// The tasks of a server in a [`Store`], sealed. Clones share the store.
///
/// Records of one task are saved in the order of the calls only if each call is made after the one
/// before it has returned.
#[derive(Clone)]
pub struct TaskStore {
    store: Arc<dyn Store>,
    seal: Seal,
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
    pub fn new(store: impl Store + 'static, seal: Seal) -> Self {
        Self { store: Arc::new(store), seal }
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
        self.store.put(&key, &self.seal.seal(&key, record), Some(task.remaining()))
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
        TaskRecord::decode(self.seal.open(key, sealed).ok_or(RecordError::Seal)?)
    }

    /// Calls `call` where it may wait: on a thread for blocking work, if the store
    /// [blocks](Store::blocks), else at once.
    ///
    /// A call that has begun goes on when the future is dropped.
    #[cfg(feature = "asynchronous")]
    pub async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> T {
        let this = self.clone();
        super::run(self.store.blocks(), move || call(&this)).await
    }

    /// Calls `call`, and does not wait for it. Without a thread a record is left, whose task has
    /// failed for the next process.
    #[cfg(feature = "asynchronous")]
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

impl fmt::Debug for DamagedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for DamagedRecord {}

fn key(id: TaskId) -> String {
    format!("{PREFIX}{id}")
}
