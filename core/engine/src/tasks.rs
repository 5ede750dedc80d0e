//! Tasks of a server as a client follows them, and as text, to be followed again later.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
#[cfg(feature = "std")]
use std::time::{SystemTime, UNIX_EPOCH};

use mcp_sansio::tasks::TaskTime;
use mcp_sansio::types::meta::{RELATED_TASK, TASK_PROGRESS};
use mcp_sansio::types::{Number, ProgressParams, Task, TaskSupport, Text, Tool};
use mcp_sansio::{Encode, Encoder, JsonStr, OwnedJson, RawJson, Revision, TaskPoll};

/// A task of a server that can be stored, and followed again over another connection or by another
/// process: `resume` of a client.
///
/// [`to_json`](Self::to_json) and [`from_json`](Self::from_json) are its stored form. Keep it as a
/// secret: with some servers, who knows the id of a task may have its result.
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct TaskRef {
    server: String,
    task_id: String,
    revision: Revision,
    tool: String,
    /// Keys of the input requests whose responses the server has acknowledged.
    answered: Vec<String>,
    /// In milliseconds since 1970, by the clock of this computer.
    created: u64,
    ttl: Option<Duration>,
}

impl TaskRef {
    /// Returns the name that the server reported; empty if it was not asked.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the name of the tool that was called.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the id of the task.
    pub fn task_id(&self) -> &str {
        &self.task_id
    }

    /// Returns the revision of the connection that the task was created on.
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns the time until which the server keeps the task, by the clock of this computer.
    /// `None`: without limit, or beyond the range of the clock.
    #[cfg(feature = "std")]
    pub fn expires(&self) -> Option<SystemTime> {
        UNIX_EPOCH.checked_add(Duration::from_millis(self.created))?.checked_add(self.ttl?)
    }

    /// Returns the same time in milliseconds since 1970.
    pub fn expires_unix_ms(&self) -> Option<u64> {
        self.created.checked_add(millis(self.ttl?))
    }

    /// Returns the task as a line of JSON.
    pub fn to_json(&self) -> String {
        let json = OwnedJson::new(self, Revision::LATEST);
        json.map_or_else(|_| "{}".to_owned(), |json| json.as_json().to_string())
    }

    /// Reads what [`to_json`](Self::to_json) has written. `None` if it is something else, or of a
    /// later version of this library.
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
            created: json.get("created")?.as_u64()?,
            ttl: match json.get("ttl")? {
                ttl if ttl.is_null() => None,
                ttl => Some(Duration::from_millis(ttl.as_u64()?)),
            },
        })
    }
}

impl Encode for TaskRef {
    fn encode(&self, to: &mut Encoder<'_>) {
        mcp_sansio::object!(to, {
            "version": VERSION,
            "server": self.server,
            "taskId": self.task_id,
            "revision": self.revision.as_str(),
            "tool": self.tool,
            "answered": self.answered,
            "created": self.created,
            "ttl": self.ttl.map(millis),
        });
    }
}

// Does not show the id.
mcp_sansio::opaque_debug!(TaskRef |it| { server, tool, expires: it.expires_unix_ms() });

/// A task that a client follows: what says the next step, and what the application knows of it.
pub(crate) struct FollowedTask {
    /// What says the next step.
    pub poll: TaskPoll<MAX_TASK_INPUTS>,
    /// What an application can keep of it.
    pub kept: TaskRef,
    /// The latest message that describes the status.
    pub message: Option<String>,
    /// The latest progress and its total, as numbers in JSON.
    progress: Option<(OwnedJson, Option<OwnedJson>)>,
    pub responses: TaskResponses,
}

/// Responses that the server has not acknowledged, by the keys of their requests.
#[derive(Default)]
pub(crate) struct TaskResponses(pub(crate) Vec<(String, OwnedJson)>);

impl FollowedTask {
    /// Follows a task that was just created.
    pub(crate) fn created(
        now: TaskTime,
        random: u32,
        revision: Revision,
        server: String,
        tool: String,
        task: RawJson<'_>,
    ) -> Option<Self> {
        let read: Task<'_> = task.to().ok()?;
        let kept = TaskRef {
            server,
            task_id: text(read.task_id),
            revision,
            tool,
            answered: Vec::new(),
            created: now.unix_ms,
            ttl: None,
        };
        let poll = TaskPoll::new(now.now, random, revision, &read);
        let mut this = Self::of(poll, kept);
        this.note_state(task);
        Some(this)
    }

    /// Follows a task of an earlier connection.
    pub(crate) fn resumed(now: TaskTime, kept: TaskRef) -> Self {
        let age = Duration::from_millis(now.unix_ms.saturating_sub(kept.created));
        let mut poll = TaskPoll::resume(now.now, kept.revision, age);
        kept.answered.iter().for_each(|key| with_json(key, |key| poll.restore(key)));
        Self::of(poll, kept)
    }

    fn of(poll: TaskPoll<MAX_TASK_INPUTS>, kept: TaskRef) -> Self {
        let responses = TaskResponses::default();
        Self { poll, kept, message: None, progress: None, responses }
    }

    /// Returns the id.
    pub(crate) fn id(&self) -> &str {
        &self.kept.task_id
    }

    /// Takes what people read from the state of the task. Returns the parameters of a progress
    /// notification if the numbers or the status message are new.
    pub(crate) fn note_state(&mut self, state: RawJson<'_>) -> Option<OwnedJson> {
        let task: Task<'_> = state.to().ok()?;
        self.kept.ttl = task.ttl_ms.map(Duration::from_millis);
        let message = task.status_message.map(text);
        let mut is_new = message.is_some() && message != self.message;
        self.message = message;
        if let Some(numbers) = state.get("_meta").and_then(|meta| meta.get(TASK_PROGRESS)) {
            is_new |= self.note_progress(numbers);
        }
        self.progress().filter(|_| is_new)
    }

    /// Takes the progress of the task, below which no further report of ours may be. Returns
    /// whether it is new.
    pub(crate) fn note_progress(&mut self, numbers: RawJson<'_>) -> bool {
        let number = |name| numbers.get(name).filter(|json| json.is_number()).map(OwnedJson::from);
        let new = number("progress").map(|progress| (progress, number("total")));
        let is_new = new.is_some() && new != self.progress;
        if is_new {
            self.progress = new;
        }
        is_new
    }

    /// Returns the latest progress and message, as the parameters of a progress notification.
    /// `None` before there are any.
    pub(crate) fn progress(&self) -> Option<OwnedJson> {
        let (progress, total) = match &self.progress {
            Some((progress, total)) => (number(progress)?, total.as_ref().and_then(number)),
            None if self.message.is_some() => (Number::new(0), None),
            None => return None,
        };
        let mut params = ProgressParams::new(RawJson::from_static("0"), progress);
        params.total = total;
        params.message = self.message.as_deref().map(Text::new);
        OwnedJson::new(&params, Revision::LATEST).ok()
    }

    /// Takes the responses to input requests, to be sent with `tasks/update`.
    pub(crate) fn answer(&mut self, responses: Vec<(String, OwnedJson)>) {
        responses.iter().for_each(|(key, _)| with_json(key, |key| self.poll.answered(key)));
        self.responses.0.extend(responses);
    }

    /// Notes that the server has acknowledged the responses.
    pub(crate) fn acknowledge(&mut self) {
        let keys = self.responses.0.drain(..).map(|(key, _)| key);
        self.kept.answered.extend(keys);
        // Keys are never used again; a server that lists more than these at once is refused.
        let old = self.kept.answered.len().saturating_sub(MAX_TASK_INPUTS);
        self.kept.answered.drain(..old);
    }
}

impl Encode for TaskResponses {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for (key, response) in &self.0 {
            to.member(key, response);
        }
        to.end_object();
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Calls with a text as the core reads it.
fn with_json(text: &str, call: impl FnMut(JsonStr<'_>)) {
    let json = OwnedJson::new(text, Revision::LATEST);
    json.iter().filter_map(|json| json.as_json().as_string()).for_each(call);
}

fn number(json: &OwnedJson) -> Option<Number<'_>> {
    Number::from_json(json.as_json())
}

fn text(text: Text<'_>) -> String {
    text.chars().collect()
}

/// Which tools can or must be called as tasks (2025-11-25, basic/utilities/tasks), as far as the
/// application has listed them.
#[derive(Default)]
pub(crate) struct ToolSupport(BTreeMap<String, TaskSupport>);

impl ToolSupport {
    /// Takes a page of the list of tools.
    pub(crate) fn note(&mut self, page: RawJson<'_>) {
        for tool in page.get("tools").unwrap_or(RawJson::EMPTY).elements() {
            let Ok(tool) = tool.to::<Tool<'_>>() else { continue };
            let support = tool.execution.and_then(|execution| execution.task_support);
            let name = text(tool.name);
            if self.0.len() < MAX_TOOLS || self.0.contains_key(&name) {
                self.0.insert(name, support.unwrap_or(TaskSupport::Forbidden));
            }
        }
    }

    /// Returns what the list says about a tool.
    pub(crate) fn of(&self, tool: &str) -> Option<TaskSupport> {
        self.0.get(tool).copied()
    }
}

/// Returns the result of a request of a server with these parameters. If the request belongs to a
/// task, so does the result (2025-11-25): it has the id of the task in its `_meta`.
pub(crate) fn of_task(result: OwnedJson, params: RawJson<'_>, revision: Revision) -> OwnedJson {
    let task = params.get("_meta").and_then(|meta| meta.get(RELATED_TASK));
    let Some(task) = task.filter(|task| task.is_object() && !revision.is_modern()) else {
        return result;
    };
    let meta = result.as_json().get("_meta").unwrap_or(RawJson::EMPTY);
    let meta = With { object: meta, name: RELATED_TASK, value: &task };
    let whole = With { object: result.as_json(), name: "_meta", value: &meta };
    OwnedJson::new(&whole, revision).unwrap_or(result)
}

/// An object with this value in place of the member of this name, if it has one.
pub(crate) struct With<'a> {
    pub(crate) object: RawJson<'a>,
    pub(crate) name: &'static str,
    pub(crate) value: &'a dyn Encode,
}

impl Encode for With<'_> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        for (key, value) in self.object.members().filter(|(key, _)| *key != *self.name) {
            to.member(&key.to_string(), &value);
        }
        to.member(self.name, self.value);
        to.end_object();
    }
}

/// Version of the stored form.
const VERSION: u64 = 1;
/// Maximum number of input requests that a task may have at once (2026-07-28). A task with more is
/// given up.
pub const MAX_TASK_INPUTS: usize = 64;
/// Maximum number of tools whose support of tasks is kept. Others are called plainly at first.
const MAX_TOOLS: usize = 10_000;
