//! A task as text, to be followed again later.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_sansio::{Encode, Encoder, OwnedJson, RawJson, Revision};

/// A task of a server that can be stored, and followed again over another connection or by another
/// process: `resume` of a client.
///
/// [`to_json`](Self::to_json) and [`from_json`](Self::from_json) are its stored form. Keep it as a
/// secret: with some servers, who knows the id of a task may have its result.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskRef {
    pub(crate) server: String,
    pub(crate) task_id: String,
    pub(crate) revision: Revision,
    pub(crate) tool: String,
    /// Keys of the input requests whose responses the server has acknowledged.
    pub(crate) answered: Vec<String>,
    pub(crate) created: SystemTime,
    pub(crate) ttl: Option<Duration>,
}

impl TaskRef {
    /// Returns the name that the server reported; empty if it was not asked.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the name of the tool that was called.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the id of the task.
    #[must_use]
    pub fn task_id(&self) -> &str {
        &self.task_id
    }

    /// Returns the revision of the connection that the task was created on.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the time until which the server keeps the task, by the clock of this computer.
    /// `None`: without limit, or beyond the range of the clock.
    #[must_use]
    pub fn expires(&self) -> Option<SystemTime> {
        self.created.checked_add(self.ttl?)
    }

    /// Returns the task as a line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let json = OwnedJson::new(self, Revision::LATEST);
        json.map_or_else(|_| "{}".to_owned(), |json| json.as_raw().to_string())
    }

    /// Reads what [`to_json`](Self::to_json) has written. `None` if it is something else, or of a
    /// later version of this library.
    #[must_use]
    pub fn from_json(json: &str) -> Option<Self> {
        let json = RawJson::parse(json.trim()).ok()?;
        let text = |key: &str| Some(json.get(key)?.as_string()?.to_string());
        if json.get("version")?.as_u64()? != VERSION {
            return None;
        }
        let answered = json.get("answered")?.elements();
        Some(Self {
            server: text("server")?,
            task_id: text("taskId")?,
            revision: Revision::parse(&text("revision")?)?,
            tool: text("tool")?,
            answered: answered
                .map(|key| key.as_string().map(|key| key.to_string()))
                .collect::<Option<_>>()?,
            created: UNIX_EPOCH
                .checked_add(Duration::from_millis(json.get("created")?.as_u64()?))?,
            ttl: match json.get("ttl")? {
                ttl if ttl.is_null() => None,
                ttl => Some(Duration::from_millis(ttl.as_u64()?)),
            },
        })
    }
}

impl Encode for TaskRef {
    fn encode(&self, to: &mut Encoder<'_>) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let created = self.created.duration_since(UNIX_EPOCH).unwrap_or_default();
        to.begin_object();
        to.member("version", &VERSION);
        to.member("server", self.server.as_str());
        to.member("taskId", self.task_id.as_str());
        to.member("revision", self.revision.as_str());
        to.member("tool", self.tool.as_str());
        to.member("answered", self.answered.as_slice());
        to.member("created", &millis(created));
        match self.ttl {
            Some(ttl) => to.member("ttl", &millis(ttl)),
            None => to.member("ttl", &RawJson::NULL),
        }
        to.end_object();
    }
}

/// Does not show the id.
impl fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRef")
            .field("server", &self.server)
            .field("tool", &self.tool)
            .field("expires", &self.expires())
            .finish_non_exhaustive()
    }
}

/// Version of the stored form.
const VERSION: u64 = 1;
