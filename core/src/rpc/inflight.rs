//! Tables of open requests and calls. Insert, get and remove take constant time. Lookup by id scans
//! a four-byte hash per entry, [`SlotHeads::expired`] the deadlines once one is due,
//! [`SlotHeads::slots`] the table.

use core::ops::{Deref, DerefMut};

use super::id::Id;
use crate::time::Instant;

/// Memory of a table with `N` entries. All zeros while it is empty, so that a `static` takes no
/// flash.
#[derive(Debug)]
pub(crate) struct TableState<T, const N: usize> {
    head: Head,
    places: [SlotHead; N],
    entries: [T; N],
}

/// Memory of a table that grows up to a limit.
#[cfg(feature = "alloc")]
#[derive(Debug)]
pub(crate) struct GrowingTable<T> {
    head: Head,
    places: alloc::vec::Vec<SlotHead>,
    entries: alloc::vec::Vec<T>,
    limit: u16,
}

/// A table of any size: entries are found by [`Slot`] without a search, and by id through a hash.
///
/// A free entry holds what was last in it, and entries are written where they are.
#[derive(Debug)]
pub(crate) struct Table<'a, T> {
    places: SlotHeads<'a>,
    entries: &'a mut [T],
}

/// All of a table but the entries: one instance of its functions serves all tables.
#[derive(Debug)]
pub(crate) struct SlotHeads<'a> {
    head: &'a mut Head,
    all: &'a mut [SlotHead],
}

/// Handle of an entry. The serial number distinguishes it from earlier users of the slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Slot {
    pub(crate) index: u16,
    pub(crate) serial: u32,
}

impl Slot {
    /// Returns whether the entry was made after the other one.
    pub(crate) fn is_after(self, other: Self) -> bool {
        (1..1 << 31).contains(&self.serial.wrapping_sub(other.serial))
    }
}

/// An entry that has an id.
pub(crate) trait Keyed {
    /// The content of an entry that was never used: all zeros.
    const EMPTY: Self;

    fn has_id(&self, id: Id<'_>) -> bool;
}

#[derive(Debug)]
struct Head {
    /// Lower bound of all deadlines, corrected by `expired`. Meaningless while the table is empty.
    earliest: Instant,
    serial: u32,
    /// The first free place; the length of the table if there is none.
    free: u16,
    len: u16,
}

impl Head {
    const EMPTY: Self = Self { earliest: Instant::from_millis(0), serial: 0, free: 0, len: 0 };
}

#[derive(Clone, Copy, Debug)]
struct SlotHead {
    /// Hash of the id; zero while the place is free.
    hash: u32,
    /// Serial number of the entry. While the place is free, the distance from the place behind it
    /// to the next free one: zeros are a chain of all places, also when more are appended.
    serial: u32,
    /// [`Instant::NEVER`] if there is no deadline.
    deadline: Instant,
}

impl SlotHead {
    const FREE: Self = Self { hash: 0, serial: 0, deadline: Instant::from_millis(0) };

    fn is_due(&self, now: Instant) -> bool {
        self.deadline <= now && self.deadline != Instant::NEVER
    }
}

impl<T: Keyed, const N: usize> TableState<T, N> {
    pub(crate) const fn new() -> Self {
        const { assert!(N < u16::MAX as usize, "a table holds fewer than 65,535 entries") };
        Self { head: Head::EMPTY, places: [SlotHead::FREE; N], entries: [const { T::EMPTY }; N] }
    }

    #[inline]
    pub(crate) fn table(&mut self) -> Table<'_, T> {
        let places = SlotHeads { head: &mut self.head, all: &mut self.places };
        Table { places, entries: &mut self.entries }
    }
}

#[cfg(feature = "alloc")]
impl<T: Keyed> GrowingTable<T> {
    /// Creates a table for up to `limit` entries, at most 65,534.
    pub(crate) const fn new(limit: u16) -> Self {
        let limit = if limit == u16::MAX { limit - 1 } else { limit };
        Self {
            head: Head::EMPTY,
            places: alloc::vec::Vec::new(),
            entries: alloc::vec::Vec::new(),
            limit,
        }
    }

    /// Forgets all entries. The memory stays if it is short and has none.
    pub(crate) fn renew(&mut self) {
        if self.head.len > 0 || self.places.len() > KEPT_ENTRIES {
            let head = Head { serial: self.head.serial, ..Head::EMPTY };
            *self = Self { head, ..Self::new(self.limit) };
        }
    }

    /// Returns the table with this number of free entries, or as many as the limit allows.
    #[inline]
    pub(crate) fn table(&mut self, free: usize) -> Table<'_, T> {
        if usize::from(self.head.len) + free > self.places.len() {
            self.grow(free);
        }
        let places = SlotHeads { head: &mut self.head, all: &mut self.places };
        Table { places, entries: &mut self.entries }
    }

    #[cold]
    fn grow(&mut self, free: usize) {
        let len = (usize::from(self.head.len) + free).min(self.limit.into());
        self.places.resize(len.max(self.places.len()), SlotHead::FREE);
        self.entries.resize_with(self.places.len(), || T::EMPTY);
    }
}

impl<T: Keyed> Table<'_, T> {
    /// Inserts an entry, whose content the caller writes; returns `None` if the table is full. The
    /// hash is not zero.
    pub(crate) fn insert(
        &mut self,
        hash: u32,
        deadline: Option<Instant>,
    ) -> Option<(Slot, &mut T)> {
        let slot = self.places.claim(hash, deadline)?;
        Some((slot, self.entries.get_mut(usize::from(slot.index))?))
    }

    pub(crate) fn reborrow(&mut self) -> Table<'_, T> {
        let places = SlotHeads { head: self.places.head, all: self.places.all };
        Table { places, entries: self.entries }
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&T> {
        self.places.get(slot)?;
        self.entries.get(usize::from(slot.index))
    }

    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.places.get(slot)?;
        self.entries.get_mut(usize::from(slot.index))
    }

    /// Removes an entry, and shows it for the last time.
    pub(crate) fn remove(&mut self, slot: Slot) -> Option<&T> {
        self.places.release(slot)?;
        self.entries.get(usize::from(slot.index))
    }

    /// Returns the slots of the entries for which this holds.
    pub(crate) fn matching(&self, holds: impl Fn(&T) -> bool) -> impl Iterator<Item = Slot> {
        self.slots().filter(move |slot| self.get(*slot).is_some_and(&holds))
    }

    /// Returns the entry with this id, whose hash is given.
    pub(crate) fn find(&self, id: Id<'_>, hash: u32) -> Option<Slot> {
        if self.places.head.len == 0 {
            return None;
        }
        let mut from = 0;
        loop {
            let slot = self.places.first(from, |place| place.hash == hash)?;
            let at = usize::from(slot.index);
            if self.entries.get(at)?.has_id(id) {
                return Some(slot);
            }
            from = at + 1;
        }
    }
}

impl<'a, T> Deref for Table<'a, T> {
    type Target = SlotHeads<'a>;

    fn deref(&self) -> &SlotHeads<'a> {
        &self.places
    }
}

impl<T> DerefMut for Table<'_, T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.places
    }
}

impl SlotHeads<'_> {
    pub(crate) fn len(&self) -> usize {
        usize::from(self.head.len)
    }

    /// Returns the number of entries for which there is memory.
    pub(crate) fn capacity(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.capacity()
    }

    fn claim(&mut self, hash: u32, deadline: Option<Instant>) -> Option<Slot> {
        let index = self.head.free;
        let place = self.all.get_mut(usize::from(index))?;
        let deadline = deadline.unwrap_or(Instant::NEVER);
        self.head.free = index.wrapping_add(1).wrapping_add(place.serial as u16);
        self.head.serial = self.head.serial.wrapping_add(1);
        *place = SlotHead { hash, serial: self.head.serial, deadline };
        self.head.earliest =
            if self.head.len == 0 { deadline } else { self.head.earliest.min(deadline) };
        self.head.len += 1;
        Some(Slot { index, serial: self.head.serial })
    }

    fn release(&mut self, slot: Slot) -> Option<()> {
        let next = self.head.free.wrapping_sub(slot.index).wrapping_sub(1);
        let place = self.get_mut(slot)?;
        *place = SlotHead { serial: next.into(), ..SlotHead::FREE };
        self.head.free = slot.index;
        self.head.len -= 1;
        Some(())
    }

    fn get(&self, slot: Slot) -> Option<&SlotHead> {
        let place = self.all.get(usize::from(slot.index))?;
        (place.hash != 0 && place.serial == slot.serial).then_some(place)
    }

    fn get_mut(&mut self, slot: Slot) -> Option<&mut SlotHead> {
        let place = self.all.get_mut(usize::from(slot.index))?;
        (place.hash != 0 && place.serial == slot.serial).then_some(place)
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.all.fill(SlotHead::FREE);
        self.head.free = 0;
        self.head.len = 0;
    }

    /// Returns the first entry for which this holds, from an index on.
    fn first(&self, from: usize, holds: impl Fn(&SlotHead) -> bool) -> Option<Slot> {
        let at = from + self.all.get(from..)?.iter().position(holds)?;
        Some(Slot { index: at as u16, serial: self.all.get(at)?.serial })
    }

    /// Returns the slots of all entries.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let mut from = 0;
        core::iter::from_fn(move || {
            let slot = self.first(from, |place| place.hash != 0)?;
            from = usize::from(slot.index) + 1;
            Some(slot)
        })
    }

    pub(crate) fn deadline(&self, slot: Slot) -> Option<Instant> {
        self.get(slot)?.deadline.or_none()
    }

    pub(crate) fn set_deadline(&mut self, slot: Slot, deadline: Option<Instant>) {
        let deadline = deadline.unwrap_or(Instant::NEVER);
        if let Some(place) = self.get_mut(slot) {
            place.deadline = deadline;
            self.head.earliest = self.head.earliest.min(deadline);
        }
    }

    /// Returns the next time to call [`expired`](Self::expired); possibly early, never late.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        if self.head.len == 0 { None } else { self.head.earliest.or_none() }
    }

    /// Returns the first entry from an index on whose deadline has passed.
    #[cfg(feature = "tasks")]
    pub(crate) fn expired_from(&self, from: usize, now: Instant) -> Option<Slot> {
        self.first(from, |place| place.hash != 0 && place.is_due(now))
    }

    /// Returns an entry whose deadline has passed; corrects the lower bound if there is none.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<Slot> {
        if self.earliest()? > now {
            return None;
        }
        let mut earliest = Instant::NEVER;
        for (index, place) in self.all.iter().enumerate().filter(|(_, place)| place.hash != 0) {
            if place.is_due(now) {
                return Some(Slot { index: index as u16, serial: place.serial });
            }
            earliest = earliest.min(place.deadline);
        }
        self.head.earliest = earliest;
        None
    }
}

// Handles of requests and calls, ids of HTTP exchanges.

/// Handle of a request of the peer. Valid only for the server or client that created it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestHandle(pub(crate) Slot);

impl RequestHandle {
    /// Returns its index in the table of requests, for tables of the program beside it: unique
    /// among the open ones, and below their maximum number.
    #[inline]
    pub const fn index(self) -> u16 {
        self.0.index
    }
}

/// Returns a number for [`request_of_bits`], for programs in other languages. It is not 0.
pub const fn bits_of_request(RequestHandle(slot): RequestHandle) -> u64 {
    1 << 63 | (slot.index as u64) << 32 | slot.serial as u64
}

/// Returns the handle of a number that [`bits_of_request`] has returned. With any other number it
/// is that of no open request, or of another one.
pub const fn request_of_bits(bits: u64) -> RequestHandle {
    RequestHandle(Slot { index: (bits >> 32) as u16, serial: bits as u32 })
}

/// Returns a number for [`call_of_bits`]. It is not 0.
pub const fn bits_of_call(Call(slot): Call) -> u64 {
    bits_of_request(RequestHandle(slot))
}

/// Returns the handle of a number that [`bits_of_call`] has returned; of any other number as
/// [`request_of_bits`].
pub const fn call_of_bits(bits: u64) -> Call {
    Call(request_of_bits(bits).0)
}

/// Handle of a call: a request to the peer. Valid only for the server or client that created it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Call(pub(crate) Slot);

/// Id of an HTTP exchange, chosen by the application: the request that it came with, and the output
/// that belongs to its response. Without the feature `http` all messages belong to the stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExchangeId(#[cfg(feature = "http")] u32);

impl ExchangeId {
    /// No exchange of a request. Over HTTP, its output belongs to the standalone GET stream of the
    /// session.
    pub const SESSION: Self = Self(
        #[cfg(feature = "http")]
        0,
    );

    /// Creates the id of an exchange. The number must be unique among the open exchanges of a
    /// server, and not 0, which is [`SESSION`](Self::SESSION): as the number of the stream that
    /// [`with_event_ids`](crate::TxBuffer::with_event_ids) takes.
    #[cfg(feature = "http")]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    pub(crate) fn is_session(self) -> bool {
        self == Self::SESSION
    }
}

/// Outcome of a notification about a request: `progress` or `log`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Delivery {
    /// Written to `tx`.
    Sent,
    /// Not written: the peer sent no progress token, or wants no log messages of this level.
    NotRequested,
    /// Not written: sooner after the last report than `progress_interval`, or no progress since.
    Throttled,
    /// Not written: the request has been responded to, was cancelled or timed out. Stop working on
    /// it.
    Gone,
}

/// Whether a function that writes one frame per call, such as
/// [`Server::publish`](crate::Server::publish), has more frames to write.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Remaining {
    /// There may be another frame: call again.
    More,
    /// All frames have been written.
    Done,
}

impl Remaining {
    /// Returns whether there may be another frame.
    pub const fn is_more(self) -> bool {
        matches!(self, Self::More)
    }
}

impl Call {
    /// Returns the index of the call in the table: smaller than the table size, and unique among
    /// open calls. For tables of the application.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// Maximum number of entries of a table that is kept for another peer.
#[cfg(feature = "alloc")]
const KEPT_ENTRIES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// An entry with a string as its id.
    #[derive(Debug)]
    struct Named(&'static str);

    impl Keyed for Named {
        const EMPTY: Self = Self("");

        fn has_id(&self, id: Id<'_>) -> bool {
            id.as_str() == self.0
        }
    }

    fn insert(
        table: &mut Table<'_, Named>,
        hash: u32,
        deadline: Option<Instant>,
        id: &'static str,
    ) -> Option<Slot> {
        let (slot, entry) = table.insert(hash, deadline)?;
        *entry = Named(id);
        Some(slot)
    }

    #[test]
    fn entries_whose_ids_have_one_hash_are_told_apart() {
        let mut state = TableState::<Named, 4>::new();
        let mut table = state.table();
        let slots =
            ["10", "20", "30"].map(|id| insert(&mut table, 7, None, id).expect("there is room"));
        let find = |table: &Table<'_, Named>, id| table.find(Id::parse(id).expect("an id"), 7);
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
        let again = insert(&mut table, 7, None, "20").expect("there is room");
        assert!(
            again.index == slots[1].index
                && again.serial != slots[1].serial
                && table.get(slots[1]).is_none()
        );
        assert_eq!(find(&table, "20"), Some(again));
        assert!(
            insert(&mut table, 7, None, "50").is_some()
                && table.is_full()
                && insert(&mut table, 7, None, "60").is_none()
        );
        // Each free slot is used once.
        for slot in [slots[0], slots[2]] {
            assert!(table.remove(slot).is_some());
        }
        let mut entries =
            ["70", "80"].map(|id| insert(&mut table, 7, None, id).expect("there is room").index);
        entries.sort_unstable();
        assert_eq!(entries, [slots[0].index, slots[2].index]);
        assert!(table.is_full());
        table.clear();
        assert_eq!((table.len(), table.slots().count(), find(&table, "70")), (0, 0, None));
    }

    #[test]
    fn the_earliest_deadline_is_never_late() {
        let at = Instant::from_millis;
        let mut state = TableState::<Named, 4>::new();
        let mut table = state.table();
        assert_eq!((table.earliest(), table.expired(at(u64::MAX - 1))), (None, None));
        let one = insert(&mut table, 1, Some(at(50)), "1").expect("there is room");
        let two = insert(&mut table, 2, Some(at(30)), "2").expect("there is room");
        let never = insert(&mut table, 3, None, "3").expect("there is room");
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

    #[cfg(feature = "alloc")]
    #[test]
    fn a_growing_table_keeps_its_entries_and_its_limit() {
        let mut state = GrowingTable::<Named>::new(5);
        let ids = ["10", "20", "30", "40", "50"];
        let slots = ids.map(|id| {
            let mut table = state.table(2);
            assert!(!table.is_full());
            insert(&mut table, 7, None, id).expect("there is room")
        });
        assert_eq!(slots.map(|slot| slot.index), [0, 1, 2, 3, 4]);
        let mut table = state.table(2);
        assert!(table.is_full() && insert(&mut table, 7, None, "60").is_none());
        assert!(table.remove(slots[3]).is_some() && table.remove(slots[1]).is_some());
        let again =
            ["70", "80"].map(|id| insert(&mut table, 7, None, id).expect("there is room").index);
        assert_eq!((again, table.is_full()), ([1, 3], true));
        assert_eq!(table.find(Id::parse("50").expect("an id"), 7), Some(slots[4]));
        // No entry of the next peer has a handle from before.
        state.renew();
        assert!(insert(&mut state.table(2), 7, None, "10").is_some());
        assert!(slots.iter().all(|slot| state.table(2).get(*slot).is_none()));
    }
}
