//! Where a frame that is written in pieces goes on, so that the work for it is linear.
//!
//! Each piece goes down the same path of open objects and arrays, but the members and elements
//! before the path are left out, and the inside of a long text is begun where the last piece ended.

use super::Encoder;
use crate::error::InvalidPayload;

/// Number of nested objects and arrays on a path. Of a value that is nested more deeply, the part
/// below is written from its beginning again for each piece.
const LEVELS: usize = 8;

/// Length in bytes of the parts of a long text: at most one is written again for each piece. A
/// multiple of 3, for base64.
const PART: usize = 240;

/// The place at which the next piece of a frame goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// The member or element that is written, of each open object and array.
    places: [Place; LEVELS],
    len: usize,
    /// The part of a long text that is written, if the value at the end of the path is one;
    /// otherwise the position is 0.
    text: Place,
    /// Hash of the bytes from the last place to the end of the piece. The next piece writes them
    /// again: they must be the same.
    hash: u32,
}

/// A member, an element or a part of a text: its number, and its position in the frame.
#[derive(Clone, Copy, Debug)]
struct Place {
    index: usize,
    position: usize,
}

impl Place {
    const START: Self = Self { index: 0, position: 0 };
}

impl Path {
    pub(crate) const START: Self =
        Self { places: [Place::START; LEVELS], len: 0, text: Place::START, hash: HASH_START };

    fn has_text(&self) -> bool {
        self.text.position > 0
    }

    fn position(&self) -> usize {
        if self.has_text() {
            return self.text.position;
        }
        let last = self.len.checked_sub(1).and_then(|last| self.places.get(last));
        last.map_or(0, |place| place.position)
    }
}

/// The state of a piece that is written.
pub(crate) struct Tracker {
    path: Path,
    /// Number of members so far, of each open object.
    counts: [usize; LEVELS],
    /// Number of places of the path that are reached again; all of them on new ground.
    reached: usize,
    /// Whether the part of a text is still to be reached.
    awaits_text: bool,
    /// Hash of what was written again before the window.
    hash: u32,
    /// Whether to leave out what is behind the window.
    stops: bool,
}

impl Tracker {
    /// `stops` leaves out what is behind the window; otherwise the length of the frame is counted.
    pub(crate) fn new(path: Path, stops: bool) -> Self {
        let awaits_text = path.has_text();
        Self { path, counts: [0; LEVELS], reached: 0, awaits_text, hash: HASH_START, stops }
    }

    fn is_on_new_ground(&self) -> bool {
        self.reached == self.path.len && !self.awaits_text
    }
}

impl<'b> Encoder<'b> {
    /// Writes a piece of a frame, from where `tracker` goes on.
    pub(crate) fn track(&mut self, tracker: &'b mut Tracker) {
        self.tracker = Some(tracker);
        self.watch(0);
    }

    /// The depth up to which places are on the path.
    pub(super) fn tracked(&self) -> u32 {
        if self.tracker.is_some() { LEVELS as u32 } else { 0 }
    }

    /// Begins the count of the members of an object.
    #[cold]
    #[inline(never)]
    pub(super) fn track_object(&mut self) {
        let level = self.level();
        if let Some(count) = self.tracker.as_mut().and_then(|t| t.counts.get_mut(level)) {
            *count = 0;
        }
    }

    /// Counts a member. Returns whether it is written.
    pub(super) fn track_member(&mut self) -> bool {
        let level = self.level();
        let Some(count) = self.tracker.as_mut().and_then(|t| t.counts.get_mut(level)) else {
            return true;
        };
        let index = *count;
        *count += 1;
        self.track_place(index, true) == Some(index)
    }

    /// Returns the element that is written next, `None` if no more fits.
    #[cold]
    #[inline(never)]
    pub(super) fn track_element(&mut self, index: usize) -> Option<usize> {
        let next = self.track_place(index, false);
        if next.is_some_and(|next| next < index) {
            self.invalid(InvalidPayload::Changed);
        }
        next
    }

    /// Begins a member or an element. Returns the number of the one that is written next.
    fn track_place(&mut self, index: usize, is_member: bool) -> Option<usize> {
        let level = self.level();
        let position = self.position();
        let (from, is_behind) = (self.state.from, self.is_behind_window());
        let Some(tracker) = &mut self.tracker else { return Some(index) };
        if tracker.is_on_new_ground() && position >= from {
            if is_behind {
                return if tracker.stops { None } else { Some(index) };
            }
            if let Some(place) = tracker.path.places.get_mut(level) {
                *place = Place { index, position };
                tracker.path.len = level + 1;
                tracker.path.text = Place::START;
                tracker.reached = level + 1;
            }
            return Some(index);
        }
        let place = tracker.path.places.get(level).filter(|_| level < tracker.path.len);
        let Some(place) = place.filter(|_| tracker.reached == level).copied() else {
            self.invalid(InvalidPayload::Changed);
            return None;
        };
        if index == place.index || (index < place.index && !is_member) {
            // Reached: the comma and the name are written again.
            tracker.reached += 1;
            self.state.at = place.position.wrapping_sub(from);
            self.state.is_first = place.index == 0;
        }
        Some(place.index)
    }

    /// Writes a long text, part by part, each with `write`.
    pub(super) fn in_parts(&mut self, text: &[u8], write: fn(&mut Self, &[u8])) {
        let (depth, from) = (self.state.depth as usize, self.state.from);
        let mut offset = 0;
        if let Some(tracker) = &mut self.tracker
            && tracker.awaits_text
            && tracker.reached == depth
            && depth == tracker.path.len
        {
            let Place { index, position } = tracker.path.text;
            tracker.awaits_text = false;
            offset = index;
            self.state.at = position.wrapping_sub(from);
        }
        for part in text.get(offset..).unwrap_or_default().chunks(PART) {
            let (position, is_behind) = (self.position(), self.is_behind_window());
            let Some(tracker) = &mut self.tracker else { return };
            if is_behind && tracker.stops {
                return;
            }
            if !is_behind && depth == tracker.path.len && tracker.is_on_new_ground() {
                tracker.path.text = Place { index: offset, position };
            }
            write(self, part);
            offset += part.len();
        }
    }

    /// Whether a text of this length is written in parts.
    #[inline]
    pub(super) fn is_long(&self, len: usize) -> bool {
        len > PART && self.tracker.is_some()
    }

    /// Hashes bytes that are written again before the window.
    pub(super) fn track_sent(&mut self, bytes: &[u8]) {
        if let Some(tracker) = &mut self.tracker
            && tracker.is_on_new_ground()
        {
            tracker.hash = hash(tracker.hash, bytes);
        }
    }

    /// Ends a piece: checks that what was written again is the same, and returns where the next
    /// piece goes on.
    pub(crate) fn end_piece(&mut self, resumed: Path) -> Path {
        let (position, from) = (self.position(), self.state.from);
        let Some(tracker) = &self.tracker else { return resumed };
        let is_same =
            tracker.is_on_new_ground() && position >= from && tracker.hash == resumed.hash;
        let mut path = tracker.path;
        path.hash = match path.position().checked_sub(from) {
            Some(start) => hash(HASH_START, self.out.get(start..).unwrap_or_default()),
            None => hash(resumed.hash, self.out),
        };
        if !is_same {
            self.invalid(InvalidPayload::Changed);
        }
        path
    }

    fn level(&self) -> usize {
        (self.state.depth as usize).wrapping_sub(1)
    }

    /// Whether the next byte is behind the window, and not its first one.
    fn is_behind_window(&self) -> bool {
        self.position() > self.state.from + self.out.len()
    }
}

/// Zero, so that an empty buffer is all zeros.
const HASH_START: u32 = 0;

/// FNV-1a with another start. Line breaks count as the spaces that replace them in the window.
fn hash(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |hash, byte| {
        let byte = if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
