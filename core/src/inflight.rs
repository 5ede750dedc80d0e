//! Tables of open requests and calls. Insert, get and remove take constant time. Lookup by id scans
//! a four-byte hash per slot, [`Table::expired`] the deadlines once one is due, [`Table::slots`]
//! the used part of the table.

use crate::message::Id;
use crate::time::Instant;

/// A table with up to `N` entries, found by [`Slot`] without a search, and by id through a hash.
#[derive(Debug)]
pub(crate) struct Table<T, const N: usize> {
    /// Hashes of the ids; zero for free entries.
    hashes: [u32; N],
    entries: [Entry<T>; N],
    /// Head of the list of free entries.
    free: u16,
    /// Entries from here on were never used.
    unused: u16,
    len: u16,
    serial: u32,
    /// Lower bound of all deadlines, corrected by `expired`.
    earliest: Instant,
}

/// Handle of an entry. The serial number distinguishes it from earlier users of the slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Slot {
    pub(crate) index: u16,
    pub(crate) serial: u32,
}

#[derive(Debug)]
struct Entry<T> {
    serial: u32,
    next_free: u16,
    /// [`Instant::NEVER`] if there is no deadline.
    deadline: Instant,
    entry: Option<T>,
}

/// An entry that has an id.
pub(crate) trait Keyed {
    fn has_id(&self, id: Id<'_>) -> bool;
}

impl<T: Keyed, const N: usize> Table<T, N> {
    pub(crate) const fn new() -> Self {
        const { assert!(N < NONE as usize, "a table holds fewer than 65,535 entries") };
        Self {
            hashes: [0; N],
            entries: [const {
                Entry { serial: 0, next_free: NONE, deadline: Instant::NEVER, entry: None }
            }; N],
            free: NONE,
            unused: 0,
            len: 0,
            serial: 0,
            earliest: Instant::NEVER,
        }
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= N
    }

    /// Inserts an entry; returns `None` if the table is full.
    pub(crate) fn insert(
        &mut self,
        hash: u32,
        deadline: Option<Instant>,
        entry: T,
    ) -> Option<(Slot, &mut T)> {
        let index = if self.free != NONE { self.free } else { self.unused };
        let slot_entry = self.entries.get_mut(usize::from(index))?;
        if self.free != NONE {
            self.free = slot_entry.next_free;
        } else {
            self.unused += 1;
        }
        self.serial = self.serial.wrapping_add(1);
        slot_entry.serial = self.serial;
        slot_entry.deadline = deadline.unwrap_or(Instant::NEVER);
        let entry = slot_entry.entry.insert(entry);
        if let Some(stored) = self.hashes.get_mut(usize::from(index)) {
            *stored = hash;
        }
        self.len += 1;
        self.earliest = self.earliest.min(slot_entry.deadline);
        Some((Slot { index, serial: self.serial }, entry))
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&T> {
        let slot_entry = self.entries.get(usize::from(slot.index))?;
        slot_entry.entry.as_ref().filter(|_| slot_entry.serial == slot.serial)
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        let slot_entry = self.entries.get_mut(usize::from(slot.index))?;
        slot_entry.entry.as_mut().filter(|_| slot_entry.serial == slot.serial)
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> Option<T> {
        let slot_entry = self.entries.get_mut(usize::from(slot.index))?;
        if slot_entry.serial != slot.serial {
            return None;
        }
        let entry = slot_entry.entry.take()?;
        slot_entry.deadline = Instant::NEVER;
        slot_entry.next_free = self.free;
        self.free = slot.index;
        if let Some(stored) = self.hashes.get_mut(usize::from(slot.index)) {
            *stored = 0;
        }
        self.len -= 1;
        if self.len == 0 {
            self.earliest = Instant::NEVER;
        }
        Some(entry)
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        loop {
            let Some(slot) = self.slots().next() else { return };
            self.remove(slot);
        }
    }

    /// Returns the entry with this id, whose hash is given.
    pub(crate) fn find(&self, id: Id<'_>, hash: u32) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        let mut from = 0;
        loop {
            let at = from + self.hashes.get(from..)?.iter().position(|stored| *stored == hash)?;
            let slot_entry = self.entries.get(at)?;
            if slot_entry.entry.as_ref().is_some_and(|entry| entry.has_id(id)) {
                return Some(Slot { index: at as u16, serial: slot_entry.serial });
            }
            from = at + 1;
        }
    }

    /// Returns the slots of all entries.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.entries
            .iter()
            .take(usize::from(self.unused))
            .enumerate()
            .filter(|(_, slot_entry)| slot_entry.entry.is_some())
            .map(|(index, slot_entry)| Slot { index: index as u16, serial: slot_entry.serial })
    }

    pub(crate) fn deadline(&self, slot: Slot) -> Option<Instant> {
        self.entries
            .get(usize::from(slot.index))
            .filter(|slot_entry| slot_entry.serial == slot.serial)?
            .deadline
            .or_none()
    }

    pub(crate) fn set_deadline(&mut self, slot: Slot, deadline: Option<Instant>) {
        if let Some(slot_entry) = self
            .entries
            .get_mut(usize::from(slot.index))
            .filter(|slot_entry| slot_entry.serial == slot.serial)
        {
            slot_entry.deadline = deadline.unwrap_or(Instant::NEVER);
            self.earliest = self.earliest.min(slot_entry.deadline);
        }
    }

    /// Returns the next time to call [`expired`](Self::expired); possibly early, never late.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.earliest.or_none()
    }

    /// Returns an entry whose deadline has passed; corrects the lower bound if there is none.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<Slot> {
        if self.earliest > now {
            return None;
        }
        let mut earliest = Instant::NEVER;
        for (index, slot_entry) in self.entries.iter().enumerate() {
            if slot_entry.deadline <= now && slot_entry.deadline != Instant::NEVER {
                return Some(Slot { index: index as u16, serial: slot_entry.serial });
            }
            earliest = earliest.min(slot_entry.deadline);
        }
        self.earliest = earliest;
        None
    }
}

/// Index that no entry has.
const NONE: u16 = u16::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry with a string as its id.
    #[derive(Debug)]
    struct Named(&'static str);

    impl Keyed for Named {
        fn has_id(&self, id: Id<'_>) -> bool {
            id.as_str() == self.0
        }
    }

    #[test]
    fn entries_whose_ids_have_one_hash_are_told_apart() {
        let mut table = Table::<Named, 4>::new();
        let slots =
            ["10", "20", "30"].map(|id| table.insert(7, None, Named(id)).expect("there is room").0);
        let find = |table: &Table<Named, 4>, id| table.find(Id::parse(id).expect("an id"), 7);
        assert_eq!(["10", "20", "30"].map(|id| find(&table, id)), slots.map(Some));
        assert_eq!(
            (find(&table, "40"), table.find(Id::parse("10").expect("an id"), 8)),
            (None, None)
        );
        // A removed entry is not found, and its slot is used again with another serial number.
        assert!(table.remove(slots[1]).is_some() && table.remove(slots[1]).is_none());
        assert_eq!(
            (find(&table, "20"), find(&table, "30"), table.len()),
            (None, Some(slots[2]), 2)
        );
        let again = table.insert(7, None, Named("20")).expect("there is room").0;
        assert!(
            again.index == slots[1].index
                && again.serial != slots[1].serial
                && table.get(slots[1]).is_none()
        );
        assert_eq!(find(&table, "20"), Some(again));
        assert!(
            table.insert(7, None, Named("50")).is_some()
                && table.is_full()
                && table.insert(7, None, Named("60")).is_none()
        );
        // Each free slot is used once.
        for slot in [slots[0], slots[2]] {
            assert!(table.remove(slot).is_some());
        }
        let mut entries =
            ["70", "80"].map(|id| table.insert(7, None, Named(id)).expect("there is room").0.index);
        entries.sort_unstable();
        assert_eq!(entries, [slots[0].index, slots[2].index]);
        assert!(table.is_full());
        table.clear();
        assert_eq!((table.len(), table.slots().count(), find(&table, "70")), (0, 0, None));
    }

    #[test]
    fn the_earliest_deadline_is_never_late() {
        let at = Instant::from_millis;
        let mut table = Table::<Named, 4>::new();
        assert_eq!((table.earliest(), table.expired(at(u64::MAX - 1))), (None, None));
        let one = table.insert(1, Some(at(50)), Named("1")).expect("there is room").0;
        let two = table.insert(2, Some(at(30)), Named("2")).expect("there is room").0;
        let never = table.insert(3, None, Named("3")).expect("there is room").0;
        assert_eq!(
            (table.earliest(), table.expired(at(29)), table.expired(at(30))),
            (Some(at(30)), None, Some(two))
        );
        assert_eq!((table.deadline(one), table.deadline(never)), (Some(at(50)), None));
        table.set_deadline(two, Some(at(20)));
        assert_eq!((table.earliest(), table.expired(at(20))), (Some(at(20)), Some(two)));
        // The bound may be early until `expired` corrects it.
        table.set_deadline(two, None);
        assert_eq!(
            (table.expired(at(49)), table.earliest(), table.expired(at(50))),
            (None, Some(at(50)), Some(one))
        );
        assert!(table.remove(one).is_some() && table.deadline(one).is_none());
        assert_eq!(table.expired(at(u64::MAX - 1)), None);
    }
}
