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

pub use crate::server::MAX_LISTENED;
pub use crate::types::task::TaskId;
pub use entry::{MAX_INPUTS, MAX_STATUS_MESSAGE, TaskEnd, TaskInfo, TaskOwner};
pub use handle::{TaskContent, TaskList, TaskMode, TaskReply, TaskResponses, TaskStep};

#[cfg(feature = "alloc")]
use alloc::collections::BTreeMap;
use core::fmt;
use core::time::Duration;

use crate::protocol::error::require;
#[cfg(feature = "alloc")]
use crate::rpc::inflight::GrowingTable;
use crate::rpc::inflight::{Slot, Table, TableState};
use crate::time::Instant;
use crate::types::setters;
use entry::{Entry, Inputs, State};

/// Limits of tasks. Shared by all connections; usually a `const` or `static`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
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
    pub const fn new() -> Self {
        Self {
            ttl: Duration::from_secs(3600),
            max_ttl: Duration::from_secs(24 * 3600),
            poll_interval: Duration::from_secs(1),
            max_per_owner: 64,
        }
    }

    setters! {
        ttl: Duration;
        max_ttl: Duration;
        poll_interval: Duration;
        max_per_owner: usize;
    }
}

crate::text::default_is_new!(TasksConfig);

/// Handle of a task. Valid only for the state that created it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskKey(Slot);

impl TaskKey {
    /// Returns the place of the task in its table, less than the number of tasks that the state can
    /// hold. It is used again when the task is gone.
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
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskError {
    /// The table is full.
    Full,
    /// The owner has as many tasks as it may.
    FullForOwner,
    /// The id is in use.
    IdInUse,
}

crate::text::error_type!(TaskError => |it| it.as_str());

impl TaskError {
    /// Returns a text for the client.
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
    pub fn len(&self) -> usize {
        self.index.table.len()
    }

    /// Returns whether there are no tasks.
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

    /// Creates a task that was stored by another run of the program: its id, its owner, and what
    /// its [`TaskInfo`] said. Unless that run goes on with it, the work of a live one has to be
    /// begun again, or to [end](Self::end). Returns `None` for one whose time is over.
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
        self.set_stored(key, stored);
        Ok(Some(key))
    }

    /// Brings a task to the state that another run of the program has stored: its message, its open
    /// input requests, its end and the time of its last change.
    pub fn set_stored(&mut self, task: TaskKey, stored: &StoredTask<'_>) {
        let Some(entry) = self.index.table.get_mut(task.0) else { return };
        entry.updated = stored.updated_unix_ms;
        entry.inputs = Inputs::restored(stored.open_inputs, stored.last_input);
        entry.message.set(&stored.message);
        if let Some(end) = stored.end {
            entry.state = State::Ended(end);
        }
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
        require(self.index.find(id).is_none(), TaskError::IdInUse)?;
        let owned = self.index.owned_by(owner);
        require(owned < self.config.max_per_owner, TaskError::FullForOwner)?;
        let inserted = self.index.table.insert(id.hash(), Some(expires));
        let (slot, entry) = inserted.ok_or(TaskError::Full)?;
        entry.begin(id, owner, created, ttl_ms);
        self.index.added(slot, id, owner);
        Ok(TaskKey(slot))
    }

    /// Returns the task with this id. Only what clients may do needs an owner.
    pub fn find(&self, id: TaskId) -> Option<TaskKey> {
        self.index.find(id).map(TaskKey)
    }

    /// Returns how a task is now; `None` if it is gone.
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
    pub fn owner(&self, task: TaskKey) -> Option<TaskOwner> {
        self.index.table.get(task.0).map(|entry| entry.owner)
    }

    /// Sets the message that describes the status for people, up to [`MAX_STATUS_MESSAGE`] bytes.
    /// Returns `false` if it is the same, and after the end of the task.
    pub fn set_message(
        &mut self,
        time: TaskTime,
        task: TaskKey,
        message: &dyn fmt::Display,
    ) -> bool {
        self.update(time, task, |entry| entry.message.set(message))
    }

    /// Begins to wait for input. Returns the number of the input request, which is its key:
    /// [`TaskContent`] writes it. `None` after the end of the task, and if more than [`MAX_INPUTS`]
    /// would be between the oldest one and this.
    pub fn ask(&mut self, time: TaskTime, task: TaskKey) -> Option<u32> {
        let entry = self.live(task)?;
        let number = entry.inputs.add()?;
        entry.updated = time.unix_ms;
        Some(number)
    }

    /// Stops waiting for an input that is not needed any more. Returns `false` if there is a
    /// response already.
    pub fn withdraw(&mut self, time: TaskTime, task: TaskKey, number: u32) -> bool {
        self.update(time, task, |entry| entry.inputs.remove(number))
    }

    /// Ends a task. Returns `false` if it has ended already: a task ends once, and what comes late
    /// is dropped.
    pub fn end(&mut self, time: TaskTime, task: TaskKey, end: TaskEnd) -> bool {
        self.update(time, task, |entry| {
            entry.state = State::Ended(end);
            entry.inputs.clear();
            true
        })
    }

    /// Removes a task at once, whose clients then find nothing.
    pub fn remove(&mut self, task: TaskKey) -> bool {
        self.index.remove(task.0)
    }

    /// Returns the next time to call [`handle_timeout`](Self::handle_timeout).
    pub fn poll_timeout(&self) -> Option<Instant> {
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
        self.index.table.set_deadline(slot, Some(time.now.saturating_add(EXPIRED_VISIBLE)));
        Some(TaskTimeout::Expired(TaskKey(slot)))
    }

    /// Changes a live task. Returns whether the function says that it has.
    fn update(
        &mut self,
        time: TaskTime,
        task: TaskKey,
        change: impl FnOnce(&mut Entry) -> bool,
    ) -> bool {
        let Some(entry) = self.live(task) else { return false };
        let is_changed = change(entry);
        if is_changed {
            entry.updated = time.unix_ms;
        }
        is_changed
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
    /// [`TaskInfo::open_inputs`]
    pub open_inputs: &'a [u32],
}

impl<'a> StoredTask<'a> {
    /// Creates a live task without a message that has asked nothing.
    pub const fn new(created_unix_ms: u64, updated_unix_ms: u64, ttl_ms: u64) -> Self {
        Self {
            created_unix_ms,
            updated_unix_ms,
            ttl_ms,
            end: None,
            message: "",
            last_input: 0,
            open_inputs: &[],
        }
    }

    setters! {
        end: Option<TaskEnd>;
        message: &'a str;
        last_input: u32;
        open_inputs: &'a [u32];
    }
}

/// Time that clients are told of a task that expired before its work was done.
const EXPIRED_VISIBLE: Duration = Duration::from_secs(60);

/// The memory of up to `T` tasks: 144 bytes each on a 32-bit target, and 16 more. It is all zeros
/// at first, so that a `static` takes no flash.
///
/// ```
/// use mcp_sansio::tasks::{TasksConfig, TasksState};
/// const CONFIG: TasksConfig = TasksConfig::new();
/// let mut state: TasksState<4> = TasksState::new();
/// assert_eq!(state.tasks(&CONFIG).len(), 0);
/// ```
#[derive(Debug)]
pub struct TasksState<const T: usize> {
    table: TableState<Entry, T>,
    latest_timeout: u16,
}

impl<const T: usize> TasksState<T> {
    /// Creates the memory of no tasks.
    pub const fn new() -> Self {
        Self { table: TableState::new(), latest_timeout: 0 }
    }

    /// Returns the tasks. Each view of a state must have the same configuration.
    pub fn tasks<'s>(&'s mut self, config: &'s TasksConfig) -> Tasks<'s> {
        let index = Index {
            table: self.table.table(),
            latest_timeout: &mut self.latest_timeout,
            #[cfg(feature = "alloc")]
            by_key: None,
        };
        Tasks { config, index }
    }
}

crate::text::default_is_new!([const T: usize] TasksState<T>);

/// The memory of tasks on the heap, which grows up to a limit. Tasks are found in logarithmic time.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub struct GrowingTasksState {
    table: GrowingTable<Entry>,
    latest_timeout: u16,
    by_key: ByKey,
}

#[cfg(feature = "alloc")]
#[derive(Debug, Default)]
struct ByKey {
    ids: BTreeMap<TaskId, Slot>,
    owned: BTreeMap<TaskOwner, u16>,
}

#[cfg(feature = "alloc")]
impl GrowingTasksState {
    /// Creates the memory of up to `limit` tasks, at most 65,534.
    pub const fn new(limit: u16) -> Self {
        let by_key = ByKey { ids: BTreeMap::new(), owned: BTreeMap::new() };
        Self { table: GrowingTable::new(limit), latest_timeout: 0, by_key }
    }

    /// Returns the tasks, with room for one more if the limit allows. Each view of a state must
    /// have the same configuration.
    pub fn tasks<'s>(&'s mut self, config: &'s TasksConfig) -> Tasks<'s> {
        let index = Index {
            table: self.table.table(1),
            latest_timeout: &mut self.latest_timeout,
            by_key: Some(&mut self.by_key),
        };
        Tasks { config, index }
    }
}

/// The table, and where it grows, maps beside it: a table of constant size is searched.
#[derive(Debug)]
struct Index<'s> {
    table: Table<'s, Entry>,
    /// The place of the latest task whose time was over. Many may follow it at once: searching from
    /// the first place would be quadratic.
    latest_timeout: &'s mut u16,
    #[cfg(feature = "alloc")]
    by_key: Option<&'s mut ByKey>,
}

impl Index<'_> {
    fn find(&self, id: TaskId) -> Option<Slot> {
        #[cfg(feature = "alloc")]
        if let Some(by_key) = &self.by_key {
            return by_key.ids.get(&id).copied();
        }
        self.table.matching(|entry| entry.id == id).next()
    }

    fn owned_by(&self, owner: TaskOwner) -> usize {
        #[cfg(feature = "alloc")]
        if let Some(by_key) = &self.by_key {
            return by_key.owned.get(&owner).copied().unwrap_or_default().into();
        }
        self.table.matching(|entry| entry.owner == owner).count()
    }

    /// Adds an entry that is in the table already.
    #[cfg_attr(
        not(feature = "alloc"),
        expect(clippy::unused_self, clippy::needless_pass_by_ref_mut)
    )]
    fn added(&mut self, slot: Slot, id: TaskId, owner: TaskOwner) {
        #[cfg(feature = "alloc")]
        if let Some(by_key) = &mut self.by_key {
            by_key.ids.insert(id, slot);
            *by_key.owned.entry(owner).or_default() += 1;
        }
        #[cfg(not(feature = "alloc"))]
        let _ = (slot, id, owner);
    }

    /// Returns a task whose time is over.
    fn expired(&mut self, now: Instant) -> Option<Slot> {
        self.table.earliest().filter(|earliest| *earliest <= now)?;
        let from = usize::from(*self.latest_timeout);
        let slot = self.table.expired_from(from, now).or_else(|| self.table.expired(now))?;
        *self.latest_timeout = slot.index;
        Some(slot)
    }

    fn remove(&mut self, slot: Slot) -> bool {
        let Some(Entry { id, owner, .. }) = self.table.remove(slot) else { return false };
        #[cfg(feature = "alloc")]
        if let Some(by_key) = &mut self.by_key {
            by_key.ids.remove(id);
            if let Some(count) = by_key.owned.get_mut(owner) {
                *count -= 1;
                if *count == 0 {
                    by_key.owned.remove(owner);
                }
            }
        }
        #[cfg(not(feature = "alloc"))]
        let _ = (id, owner);
        true
    }
}

// Time stamps as RFC 3339 writes them.

/// The current time: of the caller's clock, by which tasks expire, and of the calendar, which their
/// stamps show.
///
/// A device without a calendar may count from 1970-01-01 on: its stamps then show how long it has
/// run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskTime {
    /// Time since an arbitrary zero. It never goes back.
    pub now: Instant,
    /// Milliseconds since 1970-01-01 00:00 UTC.
    pub unix_ms: u64,
}

impl TaskTime {
    /// Creates a time.
    pub const fn new(now: Instant, unix_ms: u64) -> Self {
        Self { now, unix_ms }
    }

    /// Creates the time of a device without a calendar.
    pub const fn without_calendar(now: Instant) -> Self {
        Self { now, unix_ms: now.as_millis() }
    }
}

/// A time stamp as text, for example `2026-07-28T12:00:00.000Z`.
struct Stamp([u8; 24]);

impl Stamp {
    fn new(unix_ms: u64) -> Self {
        let (seconds, millis) = divide(unix_ms.min(LATEST), 1000);
        let (days, second) = divide(seconds, 86_400);
        let (year, month, day) = date(days as u32);
        let (minute, second) = divide(second.into(), 60);
        let (hour, minute) = divide(minute, 60);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        for (end, value) in [
            (4, year),
            (7, month),
            (10, day),
            (13, hour as u32),
            (16, minute),
            (19, second),
            (23, millis),
        ] {
            let mut rest = u64::from(value);
            let digits = text.get_mut(..end).unwrap_or_default().iter_mut().rev();
            for byte in digits.take_while(|byte| byte.is_ascii_digit()) {
                let digit;
                (rest, digit) = divide(rest, 10);
                *byte = b'0' + digit as u8;
            }
        }
        Self(text)
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// Returns the quotient and the rest.
fn divide(value: u64, by: u32) -> (u64, u32) {
    let by = u64::from(by.max(1));
    if cfg!(not(small)) {
        return (value / by, (value % by) as u32);
    }
    // A Cortex-M0 cannot divide.
    let (mut quotient, mut rest) = (0, 0);
    for bit in (0..u64::BITS).rev() {
        rest = rest << 1 | (value >> bit & 1);
        if rest >= by {
            rest -= by;
            quotient |= 1 << bit;
        }
    }
    (quotient, rest as u32)
}

/// The last millisecond of the year 9999.
const LATEST: u64 = 253_402_300_799_999;

/// Returns year, month and day of a number of days since 1970-01-01, by the algorithm
/// `civil_from_days` of Howard Hinnant: a year begins in March, so that its last day is the leap
/// day.
fn date(days: u32) -> (u32, u32, u32) {
    let split = |value: u32, by: u32| {
        let (quotient, rest) = divide(value.into(), by);
        (quotient as u32, rest)
    };
    // Days since 0000-03-01.
    let (era, of_era) = split(days + 719_468, 146_097);
    let leaps = split(of_era, 1460).0 + split(of_era, 146_096).0 - split(of_era, 36_524).0;
    let year = split(of_era - leaps, 365).0;
    let of_year = of_era - (365 * year + split(year, 4).0 - split(year, 100).0);
    let month = split(5 * of_year + 2, 153).0;
    let day = of_year - split(153 * month + 2, 5).0 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_rfc_3339() {
        for (unix_ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (86_399_999, "1970-01-01T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (1_785_240_000_123, "2026-07-28T12:00:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (LATEST, "9999-12-31T23:59:59.999Z"),
            (u64::MAX, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Stamp::new(unix_ms).as_str(), text);
        }
    }
}
