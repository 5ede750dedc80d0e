//! Tables of what waits for an answer. Nothing here takes longer because the table is larger, but for a search by id, which reads four bytes a slot.

use crate::message::Id;
use crate::time::Instant;

/// Up to `N` entries. An entry is found by its [`Slot`] without a search, and by its id through a hash.
#[derive(Debug)]
pub(crate) struct Table<T, const N: usize> {
    /// Hashes of the ids; zero where nothing is.
    hashes: [u32; N],
    places: [Place<T>; N],
    /// First of the chain of free places.
    free: u16,
    /// Places that were never used come after those of the chain.
    untouched: u16,
    len: u16,
    serial: u32,
    /// No deadline is earlier. Put right when it fires.
    earliest: Instant,
}

/// Where an entry is. The serial tells it from an earlier tenant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Slot {
    pub(crate) index: u16,
    pub(crate) serial: u32,
}

#[derive(Debug)]
struct Place<T> {
    serial: u32,
    next_free: u16,
    /// At the far end of time where there is none.
    deadline: Instant,
    entry: Option<T>,
}

/// An entry that has an id.
pub(crate) trait Keyed {
    fn answers_to(&self, id: Id<'_>) -> bool;
}

impl<T: Keyed, const N: usize> Table<T, N> {
    pub(crate) const fn new() -> Self {
        const { assert!(N < NONE as usize, "a table holds fewer than 65,535 entries") };
        Self {
            hashes: [0; N],
            places: [const { Place { serial: 0, next_free: NONE, deadline: Instant::NEVER, entry: None } }; N],
            free: NONE,
            untouched: 0,
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

    /// Takes an entry in; `None` when the table is full.
    pub(crate) fn insert(&mut self, hash: u32, deadline: Option<Instant>, entry: T) -> Option<(Slot, &mut T)> {
        let index = if self.free != NONE { self.free } else { self.untouched };
        let place = self.places.get_mut(usize::from(index))?;
        if self.free != NONE {
            self.free = place.next_free;
        } else {
            self.untouched += 1;
        }
        self.serial = self.serial.wrapping_add(1);
        place.serial = self.serial;
        place.next_free = NONE;
        place.deadline = deadline.unwrap_or(Instant::NEVER);
        let entry = place.entry.insert(entry);
        if let Some(stored) = self.hashes.get_mut(usize::from(index)) {
            *stored = hash;
        }
        self.len += 1;
        self.earliest = self.earliest.min(place.deadline);
        Some((Slot { index, serial: self.serial }, entry))
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&T> {
        let place = self.places.get(usize::from(slot.index))?;
        place.entry.as_ref().filter(|_| place.serial == slot.serial)
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        let place = self.places.get_mut(usize::from(slot.index))?;
        place.entry.as_mut().filter(|_| place.serial == slot.serial)
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> Option<T> {
        let place = self.places.get_mut(usize::from(slot.index))?;
        if place.serial != slot.serial {
            return None;
        }
        let entry = place.entry.take()?;
        place.deadline = Instant::NEVER;
        place.next_free = self.free;
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

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        loop {
            let Some(slot) = self.slots().next() else { return };
            self.remove(slot);
        }
    }

    /// The entry with this id, whose hash is given.
    pub(crate) fn find(&self, id: Id<'_>, hash: u32) -> Option<Slot> {
        if self.len == 0 {
            return None;
        }
        let mut from = 0;
        loop {
            let at = from + self.hashes.get(from..)?.iter().position(|stored| *stored == hash)?;
            let place = self.places.get(at)?;
            if place.entry.as_ref().is_some_and(|entry| entry.answers_to(id)) {
                return Some(Slot { index: at as u16, serial: place.serial });
            }
            from = at + 1;
        }
    }

    /// All entries' places.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.places
            .iter()
            .take(usize::from(self.untouched))
            .enumerate()
            .filter(|(_, place)| place.entry.is_some())
            .map(|(index, place)| Slot { index: index as u16, serial: place.serial })
    }

    pub(crate) fn deadline(&self, slot: Slot) -> Option<Instant> {
        self.places.get(usize::from(slot.index)).filter(|place| place.serial == slot.serial)?.deadline.or_none()
    }

    pub(crate) fn set_deadline(&mut self, slot: Slot, deadline: Option<Instant>) {
        if let Some(place) = self.places.get_mut(usize::from(slot.index)).filter(|place| place.serial == slot.serial) {
            place.deadline = deadline.unwrap_or(Instant::NEVER);
            self.earliest = self.earliest.min(place.deadline);
        }
    }

    /// When [`expired`](Self::expired) is worth a call: perhaps early, never late.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.earliest.or_none()
    }

    /// An entry whose deadline has passed. When there is none the bound is put right.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<Slot> {
        if self.earliest > now {
            return None;
        }
        let mut earliest = Instant::NEVER;
        for (index, place) in self.places.iter().enumerate() {
            if place.deadline <= now && place.deadline != Instant::NEVER {
                return Some(Slot { index: index as u16, serial: place.serial });
            }
            earliest = earliest.min(place.deadline);
        }
        self.earliest = earliest;
        None
    }
}

/// No place.
const NONE: u16 = u16::MAX;
