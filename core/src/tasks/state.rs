//! The memory of tasks, of which [`Tasks`] is a view.

#[cfg(feature = "alloc")]
use alloc::collections::BTreeMap;

use super::entry::{Entry, TaskId, TaskOwner};
use super::{Tasks, TasksConfig};
#[cfg(feature = "alloc")]
use crate::inflight::GrowingTable;
use crate::inflight::{Slot, Table, TableState};
use crate::time::Instant;

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
    #[must_use]
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

impl<const T: usize> Default for TasksState<T> {
    fn default() -> Self {
        Self::new()
    }
}

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
    #[must_use]
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
pub(super) struct Index<'s> {
    pub(super) table: Table<'s, Entry>,
    /// The place of the latest task whose time was over. Many may follow it at once: searching from
    /// the first place would be quadratic.
    latest_timeout: &'s mut u16,
    #[cfg(feature = "alloc")]
    by_key: Option<&'s mut ByKey>,
}

impl Index<'_> {
    pub(super) fn find(&self, id: TaskId) -> Option<Slot> {
        #[cfg(feature = "alloc")]
        if let Some(by_key) = &self.by_key {
            return by_key.ids.get(&id).copied();
        }
        let has_id = |slot: &Slot| self.table.get(*slot).is_some_and(|entry| entry.id == id);
        self.table.slots().find(has_id)
    }

    pub(super) fn owned_by(&self, owner: TaskOwner) -> usize {
        #[cfg(feature = "alloc")]
        if let Some(by_key) = &self.by_key {
            return by_key.owned.get(&owner).copied().unwrap_or_default().into();
        }
        let is_owned = |slot: &Slot| self.table.get(*slot).is_some_and(|it| it.owner == owner);
        self.table.slots().filter(is_owned).count()
    }

    /// Adds an entry that is in the table already.
    #[cfg_attr(
        not(feature = "alloc"),
        expect(clippy::unused_self, clippy::needless_pass_by_ref_mut)
    )]
    pub(super) fn added(&mut self, slot: Slot, id: TaskId, owner: TaskOwner) {
        #[cfg(feature = "alloc")]
        if let Some(by_key) = &mut self.by_key {
            by_key.ids.insert(id, slot);
            *by_key.owned.entry(owner).or_default() += 1;
        }
        #[cfg(not(feature = "alloc"))]
        let _ = (slot, id, owner);
    }

    /// Returns a task whose time is over.
    pub(super) fn expired(&mut self, now: Instant) -> Option<Slot> {
        self.table.earliest().filter(|earliest| *earliest <= now)?;
        let from = usize::from(*self.latest_timeout);
        let slot = self.table.expired_from(from, now).or_else(|| self.table.expired(now))?;
        *self.latest_timeout = slot.index;
        Some(slot)
    }

    pub(super) fn remove(&mut self, slot: Slot) -> bool {
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
