//! Tasks: the experiment of 2025-11-25, and the extension `io.modelcontextprotocol/tasks` of
//! 2026-07-28. Both have the same data, under other names and in another shape.

#[cfg(feature = "tasks")]
use core::fmt;

use super::Text;
use super::macros::{names, payload, wrong};
use crate::encode::{Encode, Encoder, object};
use crate::json::RawJson;
#[cfg(feature = "tasks")]
use crate::json::is_whole;
#[cfg(feature = "tasks")]
use crate::text::hex_digit;
use serde::{Deserialize, Deserializer, de};

payload! {
    /// Request for execution as a task. 2025-11-25 only, schema type `TaskMetadata`.
    pub struct TaskMetadata {
        optional:
        /// Time that the receiver should keep the task, in milliseconds from its creation.
        "ttl" ttl: millis;
    }
}

names! {
    /// State of a task. Schema type `TaskStatus`.
    pub enum TaskStatus {
        /// The work goes on.
        Working = "working",
        /// The task waits for input.
        InputRequired = "input_required",
        /// The request has a result. In 2026-07-28 this is also that of a tool that failed.
        Completed = "completed",
        /// The request ended with an error; in 2025-11-25 also with a tool that failed.
        Failed = "failed",
        /// The task was cancelled.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// Whether the task has ended: its status never changes again.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// A task: the result of `tasks/get` and of `tasks/cancel` (2025-11-25), and the parameters of its
/// notifications. Schema types `Task` and `DetailedTask`.
///
/// It is written as the peer's revision defines it, and read in either form.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Task<'a> {
    /// The id, by which further requests name the task. Do not log it: who knows the id may have
    /// the result.
    pub task_id: Text<'a>,
    /// The state.
    pub status: TaskStatus,
    /// Describes the state, for people.
    pub status_message: Option<Text<'a>>,
    /// Time of the creation, as RFC 3339.
    pub created_at: Text<'a>,
    /// Time of the last change, as RFC 3339.
    pub last_updated_at: Text<'a>,
    /// Time that the task is kept from its creation, in milliseconds; `None`: without limit.
    pub ttl_ms: Option<u64>,
    /// Time between two requests for the state that the server suggests, in milliseconds.
    pub poll_interval_ms: Option<u64>,
    /// The input that the task waits for: [`InputRequests`](super::InputRequests). 2026-07-28.
    pub input_requests: Option<RawJson<'a>>,
    /// The result of a completed task: that of the original request. 2026-07-28.
    pub result: Option<RawJson<'a>>,
    /// The error of a failed task: an [`ErrorObject`](super::ErrorObject). 2026-07-28.
    pub error: Option<RawJson<'a>>,
}

impl<'a> Task<'a> {
    /// Creates a task without the optional members.
    pub const fn new(
        task_id: &'a str,
        status: TaskStatus,
        created_at: &'a str,
        last_updated_at: &'a str,
        ttl_ms: Option<u64>,
    ) -> Self {
        Self {
            task_id: Text::new(task_id),
            status,
            status_message: None,
            created_at: Text::new(created_at),
            last_updated_at: Text::new(last_updated_at),
            ttl_ms,
            poll_interval_ms: None,
            input_requests: None,
            result: None,
            error: None,
        }
    }

    pub(crate) fn write_members(&self, to: &mut Encoder<'_>) {
        object!(@member to
            "taskId": self.task_id,
            "status": self.status,
            "statusMessage"?: self.status_message,
            "createdAt": self.created_at,
            "lastUpdatedAt": self.last_updated_at,
            "ttl" only V2025_11_25: self.ttl_ms,
            "pollInterval"? only V2025_11_25: self.poll_interval_ms,
            "ttlMs" since V2026_07_28: self.ttl_ms,
            "pollIntervalMs"? since V2026_07_28: self.poll_interval_ms,
            "inputRequests"? since V2026_07_28: self.input_requests,
            "result"? since V2026_07_28: self.result,
            "error"? since V2026_07_28: self.error,
        );
    }

    /// Reads the task that an object is.
    pub(crate) fn read(object: RawJson<'a>) -> Option<Self> {
        let text = |key| object.get(key).and_then(RawJson::as_string).map(Text::from_json);
        let millis = |old, new| {
            let value = object.get(new).or_else(|| object.get(old));
            value.filter(|value| value.is_number()).map(|value| match value.as_u64() {
                Some(millis) => millis,
                // A fraction is left out. Negative ones count as zero, larger ones as the longest.
                None => value.as_str().parse::<f64>().unwrap_or_default() as u64,
            })
        };
        Some(Self {
            task_id: text("taskId")?,
            status: TaskStatus::from_json(object.get("status")?.as_string()?)?,
            status_message: text("statusMessage"),
            created_at: text("createdAt").unwrap_or(Text::new("")),
            last_updated_at: text("lastUpdatedAt").unwrap_or(Text::new("")),
            ttl_ms: millis("ttl", "ttlMs"),
            poll_interval_ms: millis("pollInterval", "pollIntervalMs"),
            input_requests: object.get("inputRequests").filter(|value| value.is_object()),
            result: object.get("result").filter(|value| value.is_object()),
            error: object.get("error").filter(|value| value.is_object()),
        })
    }
}

impl Encode for Task<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        self.write_members(to);
        to.end_object();
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Task<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        if !raw.is_object() {
            return Err(wrong(&"an object (Task)"));
        }
        Self::read(raw).ok_or_else(|| de::Error::custom("a task needs taskId and a known status"))
    }
}

payload! {
    /// Parameters of `tasks/get`, `tasks/result` and `tasks/cancel`. Schema types
    /// `GetTaskRequest`, `GetTaskPayloadRequest` and `CancelTaskRequest`.
    pub struct TaskParams<'a> {
        /// Id of the task.
        "taskId" task_id: text;
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Parameters of `tasks/update`. 2026-07-28, schema type `UpdateTaskRequest`.
    pub struct UpdateTaskParams<'a> {
        /// Id of the task.
        "taskId" task_id: text;
        /// Responses to input requests, by their keys:
        /// [`InputResponses`](super::InputResponses).
        "inputResponses" input_responses: object;
        optional:
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

payload! {
    /// Result of `tasks/list`. 2025-11-25, schema type `ListTasksResult`.
    pub struct ListTasksResult<'a> {
        /// The tasks of this page.
        "tasks" tasks: list(Task<'a>);
        optional:
        /// Cursor of the next page; absent on the last page.
        "nextCursor" next_cursor: text;
        /// Metadata by key: see [`meta`](crate::types::meta).
        "_meta" meta: object;
    }
}

/// Id of a task: 128 random bits, written as 32 hexadecimal digits. Whoever knows it may have the
/// result, unless tasks have owners: do not log it.
#[cfg(feature = "tasks")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub(crate) [u8; 16]);

#[cfg(feature = "tasks")]
impl TaskId {
    /// Creates an id of random bytes: from a generator that cannot be guessed (extension
    /// `io.modelcontextprotocol/tasks`, Security).
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// Returns its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Reads the text of an id.
    pub fn parse<'t>(text: impl Into<Text<'t>>) -> Option<Self> {
        let mut id = [0; 16];
        let mut digits = text.into().chars();
        for byte in &mut id {
            for _ in 0..2 {
                let digit = digits.next().filter(|digit| !digit.is_ascii_uppercase())?;
                *byte = *byte << 4 | digit.to_digit(16)? as u8;
            }
        }
        digits.next().is_none().then_some(Self(id))
    }

    /// The first bytes, not zero.
    pub(crate) const fn hash(self) -> u32 {
        u32::from_le_bytes([self.0[0], self.0[1], self.0[2], self.0[3]]) | 1
    }

    /// Returns the text in quotes.
    pub(crate) fn json(self) -> [u8; 34] {
        let mut text = [b'"'; 34];
        let digits = self.0.iter().flat_map(|byte| [hex_digit(byte >> 4), hex_digit(*byte)]);
        for (place, digit) in text.iter_mut().skip(1).zip(digits) {
            *place = digit;
        }
        text
    }
}

#[cfg(feature = "tasks")]
impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = self.json();
        f.write_str(core::str::from_utf8(json.get(1..33).unwrap_or_default()).unwrap_or_default())
    }
}

/// Shows the first digits only: logs must not have the id.
#[cfg(feature = "tasks")]
impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskId({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// Returns the time that `params.task` asks for, if it does, or what is wrong with it.
#[cfg(feature = "tasks")]
pub(crate) fn wanted_ttl(task: RawJson<'_>) -> Result<Option<u64>, &'static str> {
    if !task.is_object() {
        return Err("params.task must be an object");
    }
    let Some(ttl) = task.get("ttl").filter(|ttl| !ttl.is_null()) else { return Ok(None) };
    let is_longest = || ttl.is_number() && !ttl.as_str().starts_with('-') && is_whole(ttl.as_str());
    match ttl.as_u64() {
        None if is_longest() => Ok(Some(u64::MAX)),
        None => Err("params.task.ttl must be a whole number of milliseconds, not negative"),
        ttl_ms => Ok(ttl_ms),
    }
}
