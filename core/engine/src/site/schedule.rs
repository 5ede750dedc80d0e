//! The tables of a site, and when each entry of them is looked at again.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use mcp_sansio::Instant;

/// The key of an entry in a [`Slab`]: its index, and a serial number that differs for each later
/// entry there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SlabKey {
    index: u32,
    serial: u32,
}

impl SlabKey {
    pub(super) const fn to_number(self) -> u64 {
        (self.index as u64) << 32 | self.serial as u64
    }

    pub(super) const fn from_number(number: u64) -> Self {
        Self { index: (number >> 32) as u32, serial: number as u32 }
    }
}

/// A table whose entries are found by key, and whose stale keys find nothing.
#[derive(Debug)]
pub(super) struct Slab<T> {
    entries: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, value: T) -> SlabKey {
        let index = self.free.pop().unwrap_or(self.entries.len() as u32);
        match self.entries.get_mut(index as usize) {
            Some((serial, entry)) => {
                *serial = serial.wrapping_add(1);
                *entry = Some(value);
                SlabKey { index, serial: *serial }
            }
            None => {
                self.entries.push((0, Some(value)));
                SlabKey { index, serial: 0 }
            }
        }
    }

    pub(super) fn get(&self, key: SlabKey) -> Option<&T> {
        let (serial, entry) = self.entries.get(key.index as usize)?;
        entry.as_ref().filter(|_| *serial == key.serial)
    }

    pub(super) fn get_mut(&mut self, key: SlabKey) -> Option<&mut T> {
        let (serial, entry) = self.entries.get_mut(key.index as usize)?;
        entry.as_mut().filter(|_| *serial == key.serial)
    }

    pub(super) fn remove(&mut self, key: SlabKey) -> Option<T> {
        let (serial, entry) = self.entries.get_mut(key.index as usize)?;
        let value = entry.take_if(|_| *serial == key.serial)?;
        self.free.push(key.index);
        Some(value)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (SlabKey, &mut T)> {
        self.entries.iter_mut().enumerate().filter_map(|(index, (serial, entry))| {
            Some((SlabKey { index: index as u32, serial: *serial }, entry.as_mut()?))
        })
    }
}

/// What is looked at: an exchange or an instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Work {
    Exchange(SlabKey),
    Instance(SlabKey),
}

/// What is looked at next, each once and in turns, and at which time. Entries are marked here and
/// not in their tables, so that one can be scheduled while others are borrowed.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    turns: VecDeque<Work>,
    /// The exchanges that have something for their connections.
    ready: VecDeque<SlabKey>,
    timers: BTreeSet<(Instant, Work)>,
    exchanges: Vec<Marks>,
    instances: Vec<Marks>,
}

/// The marks of the latest entry at an index.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    serial: u32,
    has_turn: bool,
    is_ready: bool,
    due: Option<Instant>,
}

impl Schedule {
    /// Gives it a turn, behind all others.
    pub(super) fn turn(&mut self, work: Work) {
        if let Some(marks) = self.marks(work)
            && !core::mem::replace(&mut marks.has_turn, true)
        {
            self.turns.push_back(work);
        }
    }

    /// Reports an exchange to its connection.
    pub(super) fn ready(&mut self, exchange: SlabKey) {
        if let Some(marks) = self.marks(Work::Exchange(exchange))
            && !core::mem::replace(&mut marks.is_ready, true)
        {
            self.ready.push_back(exchange);
        }
    }

    /// Replaces its timer.
    pub(super) fn set_timer(&mut self, work: Work, due: Option<Instant>) {
        let Some(marks) = self.marks(work) else { return };
        let old = core::mem::replace(&mut marks.due, due);
        if old == due {
            return;
        }
        if let Some(old) = old {
            self.timers.remove(&(old, work));
        }
        self.timers.extend(due.map(|due| (due, work)));
    }

    /// Sets its timer, unless that is set to an earlier time.
    pub(super) fn wake_at(&mut self, work: Work, at: Instant) {
        if self.marks(work).is_some_and(|marks| marks.due.is_none_or(|due| at < due)) {
            self.set_timer(work, Some(at));
        }
    }

    /// Returns the exchange that is reported next.
    pub(super) fn next_ready(&mut self) -> Option<SlabKey> {
        let key = self.ready.pop_front()?;
        if let Some(marks) = self.marks(Work::Exchange(key)) {
            marks.is_ready = false;
        }
        Some(key)
    }

    /// Returns what has the next turn. Timers that are due give turns.
    pub(super) fn next_turn(&mut self, now: Instant) -> Option<Work> {
        while let Some((_, work)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.set_timer(work, None);
            self.turn(work);
        }
        let work = self.turns.pop_front()?;
        if let Some(marks) = self.marks(work) {
            marks.has_turn = false;
        }
        Some(work)
    }

    /// Returns the time of the first timer.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// Returns the marks of an entry. `None` if a later one has its index.
    fn marks(&mut self, work: Work) -> Option<&mut Marks> {
        let (all, SlabKey { index, serial }) = match work {
            Work::Exchange(key) => (&mut self.exchanges, key),
            Work::Instance(key) => (&mut self.instances, key),
        };
        let index = index as usize;
        if all.len() <= index {
            all.resize(index + 1, Marks::default());
        }
        let marks = all.get_mut(index)?;
        if marks.serial != serial {
            if (serial.wrapping_sub(marks.serial) as i32) < 0 {
                return None;
            }
            *marks = Marks { serial, ..Marks::default() };
        }
        Some(marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_leaves_the_marks_of_the_entry_that_took_its_place() {
        let (mut table, mut schedule) = (Slab::new(), Schedule::default());
        let old = table.insert("old");
        schedule.turn(Work::Exchange(old));
        table.remove(old);
        let new = table.insert("new");
        let due = Some(Instant::from_millis(5));
        schedule.turn(Work::Exchange(new));
        schedule.turn(Work::Exchange(new));
        schedule.set_timer(Work::Exchange(new), due);

        schedule.turn(Work::Exchange(old));
        schedule.set_timer(Work::Exchange(old), Some(Instant::from_millis(1)));
        schedule.ready(old);
        assert_eq!((schedule.next_ready(), schedule.next_timeout()), (None, due));

        let mut next = |now| schedule.next_turn(Instant::from_millis(now));
        assert_eq!(next(0), Some(Work::Exchange(old)));
        assert_eq!((next(0), next(0)), (Some(Work::Exchange(new)), None));
        assert_eq!((next(5), next(5)), (Some(Work::Exchange(new)), None));
    }
}
