//! Records of tasks, by which they survive their process.

use alloc::borrow::ToOwned as _;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use mcp_sansio::tasks::{StoredTask, TaskEnd, TaskId, TaskInfo};
use mcp_sansio::{
    ClientFeatures, ErrorCode, OwnedJson, OwnedRpcError, RawJson, Revision, RpcError, SESSION_LEN,
};
use serde::{Deserialize, Serialize};

use crate::task_hub::{TaskResult, end_of, is_error};

/// First byte of records. Those of other versions are not read.
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
    /// Its end; `None` while it is live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TaskOutcome>,
    /// Everything it has asked for, in order. Answers are kept, so that the tool can be run again
    /// from its start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TaskInput>,
    /// Its progress and the total, as decimal numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<(String, Option<String>)>,
    /// The run of a server of a fleet that has the task; `None` outside of a fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The call, by which another server of the fleet goes on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<TaskCall>,
    /// The state that its handler has saved, as JSON, to go on from when it is called again.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json")]
    pub saved: Option<String>,
}

/// The call that has become a task, beside its tool and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskCall {
    /// The revision of the call.
    pub revision: String,
    /// Capabilities of the client, as the number that this version has for them.
    pub capabilities: u32,
    /// The session of a client without a principal, in which the task is listed; `u64::MAX` if its
    /// connection is a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
    /// The agreement of `initialize` with the client, before 2026-07-28.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<[u8; SESSION_LEN]>,
    /// The `_meta` of the call, since 2026-07-28.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json")]
    pub meta: Option<String>,
    /// Whether the tool may be called again with the same arguments: it only reads, or is
    /// idempotent.
    pub is_repeatable: bool,
    /// Number of times that servers have begun it.
    pub runs: u8,
}

impl TaskCall {
    /// Creates the description of a call that has begun once.
    #[must_use]
    pub fn new(revision: Revision, capabilities: ClientFeatures, is_repeatable: bool) -> Self {
        Self {
            revision: revision.as_str().to_owned(),
            capabilities: capabilities.bits(),
            session: None,
            agreed: None,
            meta: None,
            is_repeatable,
            runs: 1,
        }
    }
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

    /// Returns how a task has ended with the result of its handler. `None` if that cannot be
    /// written.
    pub fn of(result: &TaskResult) -> Option<Self> {
        Some(match result {
            Ok(result) => {
                let json = result.as_json().as_str().to_owned();
                match is_error(result.as_json()) {
                    true => Self::ToolFailed(json),
                    false => Self::Completed(json),
                }
            }
            Err(error) => {
                let error = error.as_error();
                // Some codes have a number of their own only in older revisions.
                let latest = ErrorCode::from_number(error.code.number(Revision::LATEST));
                let is_kept = latest == error.code;
                let revision = if is_kept { Revision::LATEST } else { Revision::V2025_11_25 };
                let json = OwnedJson::new(&error, revision).ok()?;
                Self::Failed(json.as_json().as_str().to_owned())
            }
        })
    }

    /// Returns the end of a task that cannot go on.
    pub(crate) fn failed(why: &'static str) -> Option<Self> {
        Self::of(&Err(RpcError::internal(why).into()))
    }

    /// Returns the result of the handler, if there is one that can be read.
    pub(crate) fn result(&self) -> Option<TaskResult> {
        match self {
            Self::Completed(json) | Self::ToolFailed(json) => {
                RawJson::parse(json).ok().map(|json| Ok(json.into()))
            }
            Self::Failed(json) => RawJson::parse(json)
                .ok()
                .and_then(|json| OwnedRpcError::from_json(json).ok().map(Err)),
            Self::Cancelled => None,
        }
    }
}

/// Something that a task has asked its client for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskInput {
    /// Number of the input request, unique in its task.
    pub number: u32,
    /// The request as JSON: `method` and `params`.
    #[serde(with = "json")]
    pub request: String,
    /// The client's answer as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json")]
    pub answer: Option<String>,
    /// Capabilities that a client needs to see it, as the number that this version has for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub needs: u32,
    /// Whether nothing waits for an answer any more, or the client has refused to give one.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_closed: bool,
}

impl TaskInput {
    /// Creates an input request without an answer, for any client.
    #[must_use]
    pub fn new(number: u32, request: impl Into<String>) -> Self {
        Self { number, request: request.into(), answer: None, needs: 0, is_closed: false }
    }

    /// Returns whether an answer is awaited.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.answer.is_none() && !self.is_closed
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
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
            progress: None,
            node: None,
            call: None,
            saved: None,
        }
    }

    /// Takes over the times and the message.
    pub fn update(&mut self, info: &TaskInfo) {
        self.created_unix_ms = info.created_unix_ms();
        self.updated_unix_ms = self.updated_unix_ms.max(info.updated_unix_ms());
        self.ttl_ms = info.ttl_ms();
        info.message().clone_into(&mut self.message);
    }

    /// Ends the task with the result of its handler, at this time in milliseconds since 1970: its
    /// message is that of the error.
    pub fn end(&mut self, unix_ms: u64, result: &TaskResult) {
        self.updated_unix_ms = self.updated_unix_ms.max(unix_ms);
        self.message = end_of(result).1.unwrap_or_else(|| core::mem::take(&mut self.message));
        self.outcome = TaskOutcome::of(result);
    }

    /// Returns what [`Tasks::restore`](mcp_sansio::tasks::Tasks::restore) takes, without input
    /// requests that are open.
    #[must_use]
    pub fn stored(&self) -> StoredTask<'_> {
        StoredTask::new(self.created_unix_ms, self.updated_unix_ms, self.ttl_ms)
            .end(self.outcome.as_ref().map(TaskOutcome::end))
            .message(&self.message)
            .last_input(self.inputs.iter().map(|input| input.number).max().unwrap_or(0))
    }

    /// Returns the numbers of the input requests that are open.
    #[must_use]
    pub fn open_inputs(&self) -> Vec<u32> {
        let is_live = self.outcome.is_none();
        let open = self.inputs.iter().filter(|input| is_live && input.is_open());
        open.map(|input| input.number).collect()
    }

    /// Returns the bytes of the record, without a seal.
    ///
    /// # Errors
    ///
    /// [`RecordError::Invalid`] if a text that should be JSON is not.
    pub fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let json = serde_json::to_vec(self).map_err(RecordError::invalid)?;
        Ok([&[VERSION], &*json].concat())
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
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let until = self.created_unix_ms.saturating_add(self.ttl_ms);
        Duration::from_millis(until.saturating_sub(self.updated_unix_ms))
    }
}

/// Reasons why bytes are no record that this program can use, or a record cannot be written.
#[derive(Clone, PartialEq, Eq)]
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

mcp_sansio::error_type!(RecordError);

mod id {
    use alloc::string::String;

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

/// JSON text, or a text that may be missing, as a value, not as a string.
mod json {
    use alloc::boxed::Box;
    use alloc::string::String;

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, ser::Error as _};
    use serde_json::value::RawValue;

    pub(super) fn serialize<'t, T, S: Serializer>(text: &'t T, to: S) -> Result<S::Ok, S::Error>
    where
        Option<&'t String>: From<&'t T>,
    {
        let text = Option::<&String>::from(text);
        let raw = text.map(|text| serde_json::from_str::<&RawValue>(text)).transpose();
        raw.map_err(S::Error::custom)?.serialize(to)
    }

    pub(super) fn deserialize<'de, T, D: Deserializer<'de>>(from: D) -> Result<T, D::Error>
    where
        T: From<String>,
    {
        let raw = Box::<RawValue>::deserialize(from)?;
        Ok(String::from(Box::<str>::from(raw)).into())
    }
}
