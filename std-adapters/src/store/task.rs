//! What a task needs to survive its process.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use mcp_sansio::types::TaskStatus;
use serde::{Deserialize, Serialize};

/// First byte of the records that are written. Records of the version before it are read, too.
const VERSION: u8 = 1;

/// A task as it is stored: one byte with the version of the format, 1, and a JSON object with these
/// members. Optional members that are absent are left out, and unknown members are ignored, so that
/// a later program can add some.
///
/// It is plain text: arguments and results can be read by whoever can read the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskRecord {
    /// The id, 128 random bits. In JSON 32 digits in lower case.
    #[serde(with = "hex")]
    pub id: u128,
    /// Whose task it is, for example issuer and subject of a `Principal`; `None` where all clients
    /// are one. A hash with a key of the process would be worth nothing in the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the call, a JSON object.
    #[serde(with = "json")]
    pub arguments: String,
    /// The state, named as on the wire.
    #[serde(with = "status")]
    pub status: TaskStatus,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it last changed, in milliseconds since 1970.
    pub last_updated_ms: u64,
    /// How long it is kept from its creation, in milliseconds; `None` without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How long a client should wait between two polls, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// Text for people about the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TaskOutcome>,
    /// Everything it has asked for, in order. Answers are kept, so that the tool can be run again
    /// from its start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<TaskInput>,
}

/// How a task ended: in JSON `{"result":{..}}` or `{"error":{..}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskOutcome {
    /// The result of the request as JSON, also one with `isError`.
    Result(#[serde(with = "json")] String),
    /// The JSON-RPC error of the request as JSON.
    Error(#[serde(with = "json")] String),
}

/// Something that a task has asked its client for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInput {
    /// Number of the input request, unique in its task.
    pub key: u32,
    /// The request as JSON: `method` and `params`.
    #[serde(with = "json")]
    pub request: String,
    /// The client's answer as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_json")]
    pub answer: Option<String>,
}

impl TaskRecord {
    /// Creates the record of a task that has just begun to work, at `created_ms` since 1970.
    /// `arguments` is a JSON object.
    #[must_use]
    pub fn new(
        id: u128,
        tool: impl Into<String>,
        arguments: impl Into<String>,
        created_ms: u64,
    ) -> Self {
        Self {
            id,
            owner: None,
            tool: tool.into(),
            arguments: arguments.into(),
            status: TaskStatus::Working,
            created_ms,
            last_updated_ms: created_ms,
            ttl_ms: None,
            poll_interval_ms: None,
            status_message: None,
            outcome: None,
            inputs: Vec::new(),
        }
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
    pub(super) fn remaining(&self) -> Option<Duration> {
        let until = self.created_ms.saturating_add(self.ttl_ms?);
        Some(Duration::from_millis(until.saturating_sub(self.last_updated_ms)))
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

/// A number as 32 digits, since many JSON readers have no integers of 128 bits.
mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(id: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{id:032x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = String::deserialize(from)?;
        u128::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

mod status {
    use mcp_sansio::types::TaskStatus;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(
        status: &TaskStatus,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(status.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TaskStatus, D::Error> {
        let text = String::deserialize(from)?;
        TaskStatus::parse(&text).ok_or_else(|| D::Error::custom("the status is not known"))
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
