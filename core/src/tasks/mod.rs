//! Tasks of a server: calls that go on after their response, in both dialects: the experiment of
//! 2025-11-25 and the extension `io.modelcontextprotocol/tasks` of 2026-07-28.
//!
//! [`Tasks`] has the state of each task: who may see it, how it goes, what it asks, until when it
//! is kept. The work, its result and its questions are with the program. A tool that takes long
//! goes like this:
//!
//! 1. [`Server::task_mode`](crate::Server::task_mode) says whether a call may or must be a task.
//! 2. [`Tasks::create`] makes one, and [`TaskReply::created`] is the response to the call.
//! 3. Each further request of a client goes to [`Tasks::handle`] before the catalog, which says
//!    what to do and what to respond.
//! 4. The work reports what it does with [`Tasks::set_message`], [`Tasks::ask`] and
//!    [`Tasks::end`].
//! 5. [`Tasks::handle_timeout`] says which tasks are over, because their time is.
//!
//! One set of tasks serves all connections of a program.

mod entry;
mod handle;
mod reply;
mod state;
mod time;

pub use entry::{
    MAX_INPUTS, MAX_LISTENED, MAX_STATUS_MESSAGE, TaskEnd, TaskId, TaskInfo, TaskOwner,
};
pub(crate) use handle::wanted_ttl;
pub use handle::{TaskMode, TaskResponses, TaskStep};
pub use reply::{TaskContent, TaskList, TaskReply};
#[cfg(feature = "alloc")]
pub use state::GrowingTasksState;
pub use state::TasksState;
pub use time::TaskTime;

use core::fmt;
use core::time::Duration;

use crate::inflight::Slot;
use crate::time::Instant;
use entry::{Entry, State};
use state::Index;

/// Limits of tasks. Shared by all connections; usually a `const` or `static`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TasksConfig {
    /// Time that a task is kept from its creation, unless the client asks for less. When it is over
    /// before the work, the task fails. Default: 1 hour.
    pub ttl: Duration,
    /// Longest time that a client can ask for (2025-11-25). Default: 24 hours.
    pub max_ttl: Duration,
    /// Time between two requests for the state that clients are told to wait, and the shortest time
    /// that a client can ask for: a task that is over before its first poll helps nobody. Default:
    /// 1 s.
    pub poll_interval: Duration,
    /// Maximum number of tasks of one owner. Default: 64.
    pub max_per_owner: usize,
}

impl TasksConfig {
    /// Creates the default limits.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            ttl: Duration::from_secs(3600),
            max_ttl: Duration::from_secs(24 * 3600),
            poll_interval: Duration::from_secs(1),
            max_per_owner: 64,
        }
    }

    /// Sets [`ttl`](Self::ttl).
    #[must_use]
    pub const fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Sets [`max_ttl`](Self::max_ttl).
    #[must_use]
    pub const fn max_ttl(self, max_ttl: Duration) -> Self {
        Self { max_ttl, ..self }
    }

    /// Sets [`poll_interval`](Self::poll_interval).
    #[must_use]
    pub const fn poll_interval(self, poll_interval: Duration) -> Self {
        Self { poll_interval, ..self }
    }

    /// Sets [`max_per_owner`](Self::max_per_owner).
    #[must_use]
    pub const fn max_per_owner(self, max_per_owner: usize) -> Self {
        Self { max_per_owner, ..self }
    }
}

impl Default for TasksConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Handle of a task. Valid only for the state that created it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TaskKey(Slot);

impl TaskKey {
    /// Returns the place of the task in its table, less than the number of tasks that the state can
    /// hold. It is used again when the task is gone.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// The tasks of a server: a view of a [`TasksState`].
#[derive(Debug)]
pub struct Tasks<'s> {
    config: &'s TasksConfig,
    index: Index<'s>,
}

/// Reason why there is no new task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TaskError {
    /// The table is full.
    Full,
    /// The owner has as many tasks as it may.
    FullForOwner,
    /// The id is in use.
    IdInUse,
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl core::error::Error for TaskError {}

impl TaskError {
    /// Returns a text for the client.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "There are too many tasks: try again later",
            Self::FullForOwner => "You have too many tasks: try again when one has ended",
            Self::IdInUse => "The id of the task is in use",
        }
    }
}

/// A task whose time is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskTimeout {
    /// It has failed, because its time was over before its work: stop that. Clients are told for
    /// another minute.
    Expired(TaskKey),
    /// It does not exist any more: drop what is kept for it.
    Gone(TaskKey),
}

impl Tasks<'_> {
    /// Returns the number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.table.len()
    }

    /// Returns whether there are no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Creates a task. `ttl_ms` is what the client asks for ([`TaskMode::Task`]); the task is kept
    /// for at least the [poll interval](TasksConfig::poll_interval), and for at most
    /// [`TasksConfig::max_ttl`].
    ///
    /// # Errors
    /// A limit is reached. The call can be an ordinary one then, unless the client or the tool
    /// needs a task.
    pub fn create(
        &mut self,
        time: TaskTime,
        id: TaskId,
        owner: TaskOwner,
        ttl_ms: Option<u64>,
    ) -> Result<TaskKey, TaskError> {
        let after = |ttl| time.now.saturating_add(ttl).as_millis() - time.now.as_millis();
        let ttl_ms = match ttl_ms {
            Some(ttl_ms) => ttl_ms.max(after(self.config.poll_interval)),
            None => after(self.config.ttl),
        };
        let ttl_ms = ttl_ms.min(after(self.config.max_ttl));
        let expires = Instant::from_millis(time.now.as_millis() + ttl_ms);
        self.insert(id, owner, expires, time.unix_ms, ttl_ms)
    }

    /// Creates a task that was stored by an earlier run of the program: its id, its owner, and what
    /// its [`TaskInfo`] said. The work of a live one has to be begun again, or to
    /// [end](Self::end). Returns `None` for one whose time is over.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn restore(
        &mut self,
        time: TaskTime,
        id: TaskId,
        owner: TaskOwner,
        stored: &StoredTask<'_>,
    ) -> Result<Option<TaskKey>, TaskError> {
        let left = stored.created_unix_ms.saturating_add(stored.ttl_ms).checked_sub(time.unix_ms);
        let Some(left) = left.filter(|left| *left > 0) else { return Ok(None) };
        let expires = time.now.saturating_add(Duration::from_millis(left.min(stored.ttl_ms)));
        let key = self.insert(id, owner, expires, stored.created_unix_ms, stored.ttl_ms)?;
        if let Some(entry) = self.index.table.get_mut(key.0) {
            entry.updated = stored.updated_unix_ms;
            entry.inputs.last = stored.last_input;
            entry.message.set(&stored.message);
            if let Some(end) = stored.end {
                entry.state = State::Ended(end);
            }
        }
        Ok(Some(key))
    }

    #[cfg_attr(small, inline(never))]
    fn insert(
        &mut self,
        id: TaskId,
        owner: TaskOwner,
        expires: Instant,
        created: u64,
        ttl_ms: u64,
    ) -> Result<TaskKey, TaskError> {
        if self.index.find(id).is_some() {
            return Err(TaskError::IdInUse);
        }
        if self.index.owned_by(owner) >= self.config.max_per_owner {
            return Err(TaskError::FullForOwner);
        }
        let inserted = self.index.table.insert(id.hash(), Some(expires));
        let (slot, entry) = inserted.ok_or(TaskError::Full)?;
        entry.begin(id, owner, created, ttl_ms);
        self.index.added(slot, id, owner);
        Ok(TaskKey(slot))
    }

    /// Returns the task with this id. Only what clients may do needs an owner.
    #[must_use]
    pub fn find(&self, id: TaskId) -> Option<TaskKey> {
        self.index.find(id).map(TaskKey)
    }

    /// Returns how a task is now; `None` if it is gone.
    #[must_use]
    pub fn info(&self, task: TaskKey) -> Option<TaskInfo> {
        let entry = self.index.table.get(task.0)?;
        let poll = Instant::from_millis(0).saturating_add(self.config.poll_interval);
        Some(TaskInfo {
            id: entry.id,
            state: entry.state,
            inputs: entry.inputs,
            created: entry.created,
            updated: entry.updated,
            ttl_ms: entry.ttl_ms,
            poll_ms: poll.as_millis(),
            message: entry.message,
        })
    }

    /// Returns who may see a task.
    #[must_use]
    pub fn owner(&self, task: TaskKey) -> Option<TaskOwner> {
        self.index.table.get(task.0).map(|entry| entry.owner)
    }

    /// Sets the message that describes the status for people, up to [`MAX_STATUS_MESSAGE`] bytes.
    /// Returns `false` if it is the same, and after the end of the task.
    pub fn set_message(
        &mut self,
        task: TaskKey,
        message: &dyn fmt::Display,
        time: TaskTime,
    ) -> bool {
        self.live(task).is_some_and(|entry| {
            let is_new = entry.message.set(message);
            if is_new {
                entry.updated = time.unix_ms;
            }
            is_new
        })
    }

    /// Begins to wait for input. Returns the number of the input request, which is its key:
    /// [`TaskContent`] writes it. `None` after the end of the task, and if more than [`MAX_INPUTS`]
    /// would be between the oldest one and this.
    pub fn ask(&mut self, task: TaskKey, time: TaskTime) -> Option<u32> {
        let entry = self.live(task)?;
        let number = entry.inputs.add()?;
        entry.updated = time.unix_ms;
        Some(number)
    }

    /// Stops waiting for an input that is not needed any more. Returns `false` if there is a
    /// response already.
    pub fn withdraw(&mut self, task: TaskKey, number: u32, time: TaskTime) -> bool {
        self.live(task).is_some_and(|entry| {
            let was_open = entry.inputs.remove(number);
            if was_open {
                entry.updated = time.unix_ms;
            }
            was_open
        })
    }

    /// Ends a task. Returns `false` if it has ended already: a task ends once, and what comes late
    /// is dropped.
    pub fn end(&mut self, task: TaskKey, end: TaskEnd, time: TaskTime) -> bool {
        self.live(task).is_some_and(|entry| {
            entry.state = State::Ended(end);
            entry.inputs.clear();
            entry.updated = time.unix_ms;
            true
        })
    }

    /// Removes a task at once, whose clients then find nothing.
    pub fn remove(&mut self, task: TaskKey) -> bool {
        self.index.remove(task.0)
    }

    /// Returns the next time to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.index.table.earliest()
    }

    /// Returns a task whose time is over: call it until there is none.
    pub fn handle_timeout(&mut self, time: TaskTime) -> Option<TaskTimeout> {
        let slot = self.index.expired(time.now)?;
        let entry = self.index.table.get_mut(slot)?;
        if entry.state != State::Live {
            self.index.remove(slot);
            return Some(TaskTimeout::Gone(TaskKey(slot)));
        }
        entry.state = State::Expired;
        entry.inputs.clear();
        entry.updated = time.unix_ms;
        self.index.table.set_deadline(slot, Some(time.now.saturating_add(TOLD)));
        Some(TaskTimeout::Expired(TaskKey(slot)))
    }

    fn live(&mut self, task: TaskKey) -> Option<&mut Entry> {
        self.index.table.get_mut(task.0).filter(|entry| entry.state == State::Live)
    }
}

/// What a store kept of a task: see [`Tasks::restore`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StoredTask<'a> {
    /// [`TaskInfo::created_unix_ms`]
    pub created_unix_ms: u64,
    /// [`TaskInfo::updated_unix_ms`]
    pub updated_unix_ms: u64,
    /// [`TaskInfo::ttl_ms`]
    pub ttl_ms: u64,
    /// [`TaskInfo::end`]
    pub end: Option<TaskEnd>,
    /// [`TaskInfo::message`]
    pub message: &'a str,
    /// The number of the newest input request: no number is used twice in the life of a task.
    pub last_input: u32,
}

impl<'a> StoredTask<'a> {
    /// Creates a live task without a message that has asked nothing.
    #[must_use]
    pub const fn new(created_unix_ms: u64, updated_unix_ms: u64, ttl_ms: u64) -> Self {
        Self { created_unix_ms, updated_unix_ms, ttl_ms, end: None, message: "", last_input: 0 }
    }

    /// Sets [`end`](Self::end).
    #[must_use]
    pub const fn end(self, end: Option<TaskEnd>) -> Self {
        Self { end, ..self }
    }

    /// Sets [`message`](Self::message).
    #[must_use]
    pub const fn message(self, message: &'a str) -> Self {
        Self { message, ..self }
    }

    /// Sets [`last_input`](Self::last_input).
    #[must_use]
    pub const fn last_input(self, number: u32) -> Self {
        Self { last_input: number, ..self }
    }
}

/// Time that clients are told of a task that expired before its work was done.
const TOLD: Duration = Duration::from_secs(60);
