//! Where a frame that is written in pieces goes on, so that the work for it is linear.
//!
//! Each piece goes down the same path of open objects and arrays, but the members and elements
//! before the path are left out, and the inside of a long text is begun where the last piece ended.

use super::Encoder;
use super::encoder::{Gate, RawMember};
use crate::protocol::error::InvalidPayload;

/// Number of nested objects and arrays on a path. Of a value that is nested more deeply, the part
/// below is written from its beginning again for each piece.
const LEVELS: usize = if cfg!(small) { 5 } else { 8 };

/// Length in bytes of the parts of a long text: at most one is written again for each piece. A
/// multiple of 3, for base64.
const PART: usize = 240;

/// Minimum number of bytes that a piece writes again of a text and compares, so that the rest of a
/// text that has changed does not begin in the middle of a character.
const COMPARED: usize = 4;

/// Where a frame that is written in pieces goes on, and how far the piece that is written has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracker {
    /// The path: the member or element that is written, of each open object and array.
    places: [Mark; LEVELS],
    len: usize,
    /// The part of a long text that is written, if the value at the end of the path is one;
    /// otherwise the position is 0.
    text: Mark,
    /// Hash of the bytes from the last place to the end of the piece. The next piece writes them
    /// again: they must be the same.
    hash: u32,
    /// Number of members so far, of each open object.
    counts: [usize; LEVELS],
    /// Number of places of the path that are reached again; all of them on new ground.
    reached: usize,
    /// Whether the part of a text is still to be reached.
    awaits_text: bool,
    /// Hash of what was written again before the window.
    sent_hash: u32,
    /// The last member that was written of an object that is completed from JSON text.
    raw: RawMember,
}

/// A member, an element or a part of a text: its number, and its position in the frame.
#[derive(Clone, Copy, Debug)]
struct Mark {
    index: usize,
    position: usize,
}

impl Mark {
    const START: Self = Self { index: 0, position: 0 };
}

impl Tracker {
    /// At the beginning of a frame: all zeros.
    pub(crate) const START: Self = Self {
        places: [Mark::START; LEVELS],
        len: 0,
        text: Mark::START,
        hash: HASH_START,
        counts: [0; LEVELS],
        reached: 0,
        awaits_text: false,
        sent_hash: HASH_START,
        raw: RawMember::NONE,
    };

    /// Begins a frame.
    pub(crate) fn restart(&mut self) {
        (self.len, self.text, self.hash) = (0, Mark::START, HASH_START);
        self.raw.depth = 0;
    }

    fn has_text(&self) -> bool {
        self.text.position > 0
    }

    /// Returns the position of the last place.
    fn position(&self) -> usize {
        if self.has_text() {
            return self.text.position;
        }
        let last = self.len.checked_sub(1).and_then(|last| self.places.get(last));
        last.map_or(0, |place| place.position)
    }

    fn is_on_new_ground(&self) -> bool {
        self.reached == self.len && !self.awaits_text
    }
}

/// A text that is written in parts.
pub(super) struct Parts {
    /// Number of bytes of the text so far, including those that are left out.
    offset: usize,
    /// Offset of the next part.
    end: usize,
    /// Number of bytes that are left out, because they have been sent.
    skipped: usize,
}

impl<'b> Encoder<'b> {
    /// Writes the piece of a frame that `tracker` goes on with, and leaves out what is behind the
    /// window.
    pub(crate) fn track(&mut self, tracker: &'b mut Tracker) {
        (tracker.reached, tracker.awaits_text) = (0, tracker.has_text());
        tracker.sent_hash = HASH_START;
        self.tracker = Some(tracker);
        self.watch(0);
    }

    /// The depth up to which places are on the path.
    pub(super) fn tracked(&self) -> u32 {
        if self.is_stopped() {
            u32::MAX
        } else if self.tracker.is_some() {
            LEVELS as u32
        } else {
            0
        }
    }

    /// Begins the count of the members of an object.
    #[cold]
    #[cfg_attr(not(small), inline(never))]
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
            return !self.is_stopped();
        };
        let index = *count;
        *count += 1;
        self.track_place(index, true) == Some(index)
    }

    /// Returns the member to go on with in an object that is completed from JSON text, if it is
    /// known. Members before it are counted, since they are left out.
    pub(super) fn resumed_member(&mut self, len: usize) -> Option<RawMember> {
        let (level, depth) = (self.level(), self.state.depth);
        let tracker = self.tracker.as_mut()?;
        let place = tracker.places.get(level).filter(|_| level < tracker.len)?;
        let raw = tracker.raw;
        let is_same = raw.depth == depth && raw.len == len && raw.index == place.index;
        if !is_same || tracker.reached != level {
            return None;
        }
        *tracker.counts.get_mut(level)? = raw.index;
        Some(raw)
    }

    /// Keeps the member that is written.
    pub(super) fn keep_member(&mut self, member: RawMember) {
        let (level, depth) = (self.level(), self.state.depth);
        let Some(tracker) = &mut self.tracker else { return };
        if let Some(count) = tracker.counts.get(level) {
            tracker.raw = RawMember { depth, index: count.wrapping_sub(1), ..member };
        }
    }

    /// Whether what follows is behind the window of a piece.
    pub(super) fn is_full(&self) -> bool {
        self.tracker.is_some() && self.is_behind_window() || self.is_stopped()
    }

    /// Returns the element that is written next, `None` if no more fits.
    #[cold]
    #[cfg_attr(not(small), inline(never))]
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
        let is_stopped = self.is_stopped();
        let Some(tracker) = &mut self.tracker else { return (!is_stopped).then_some(index) };
        if tracker.is_on_new_ground() && position >= from {
            if is_behind {
                return None;
            }
            if let Some(place) = tracker.places.get_mut(level) {
                *place = Mark { index, position };
                tracker.len = level + 1;
                tracker.text = Mark::START;
                tracker.reached = level + 1;
            }
            return Some(index);
        }
        let place = tracker.places.get(level).filter(|_| level < tracker.len);
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
        let mut parts = self.begin_parts();
        self.put_parts(&mut parts, text, write);
    }

    /// Writes JSON text that was [rendered](crate::types::rendered), without the parts that the
    /// revision does not define.
    pub(crate) fn rendered(&mut self, text: &str) {
        let text = text.as_bytes();
        let in_parts = self.is_long(text.len());
        let mut offset = if in_parts { self.begin_parts().skipped } else { 0 };
        // A text goes on inside of a part that is written.
        let mut is_written = true;
        while let Some(rest) = text.get(offset..)
            && let Some(first) = rest.first()
        {
            if begins_gated(first) {
                is_written = self.knows(Gate(*first));
                offset += 1;
                continue;
            }
            let part = rest.get(..PART).filter(|_| in_parts).unwrap_or(rest);
            let part = part.get(..gate_at(part)).unwrap_or_default();
            if is_written {
                if in_parts && !self.begin_part(offset) {
                    return;
                }
                self.put(part);
            }
            offset += part.len();
        }
    }

    /// Begins a text of any length, or goes on where the last piece ended inside of it.
    pub(super) fn begin_parts(&mut self) -> Parts {
        let (depth, from) = (self.state.depth as usize, self.state.from);
        let mut skipped = 0;
        if let Some(tracker) = &mut self.tracker
            && tracker.awaits_text
            && tracker.reached == depth
            && depth == tracker.len
        {
            let Mark { index, position } = tracker.text;
            tracker.awaits_text = false;
            skipped = index;
            self.state.at = position.wrapping_sub(from);
        }
        Parts { offset: 0, end: 0, skipped }
    }

    /// Writes the next bytes of a text, each part of them with `write`. Returns `false` if no more
    /// fits.
    pub(super) fn put_parts(
        &mut self,
        parts: &mut Parts,
        text: &[u8],
        write: fn(&mut Self, &[u8]),
    ) -> bool {
        let sent = parts.skipped.saturating_sub(parts.offset).min(text.len());
        parts.offset += sent;
        if sent > 0 {
            // A part begins where writing goes on.
            parts.end = parts.offset;
        }
        let mut rest = text.get(sent..).unwrap_or_default();
        while !rest.is_empty() {
            if parts.offset == parts.end {
                if !self.begin_part(parts.offset) {
                    return false;
                }
                parts.end += PART;
            }
            let left = parts.end - parts.offset;
            let (part, after) = rest.split_at_checked(left).unwrap_or((rest, &[]));
            write(self, part);
            parts.offset += part.len();
            rest = after;
        }
        true
    }

    /// Begins a part of a text. Returns `false` if no more fits.
    fn begin_part(&mut self, index: usize) -> bool {
        let (depth, position) = (self.state.depth as usize, self.position());
        let (is_behind, room) = (self.is_behind_window(), self.window_len());
        let compared = position.wrapping_sub(self.state.from).saturating_add(COMPARED.min(room));
        let Some(tracker) = &mut self.tracker else { return true };
        if is_behind {
            return false;
        }
        if compared <= room && depth == tracker.len && tracker.is_on_new_ground() {
            tracker.text = Mark { index, position };
        }
        true
    }

    /// Whether a text of this length is written in parts.
    #[inline]
    pub(super) fn is_long(&self, len: usize) -> bool {
        len > PART && self.tracker.is_some()
    }

    /// Counts a text of this length, if it is longer than all that is left before the stop.
    #[inline]
    pub(super) fn skips(&mut self, len: usize) -> bool {
        let skips = len > PART && self.position().saturating_add(len) > self.stop();
        if skips {
            self.state.at = self.state.at.wrapping_add(len);
            self.watch(0);
        }
        skips
    }

    /// Hashes bytes that are written again before the window.
    pub(super) fn track_sent(&mut self, bytes: &[u8]) {
        if let Some(tracker) = &mut self.tracker
            && tracker.is_on_new_ground()
        {
            tracker.sent_hash = hash(tracker.sent_hash, bytes);
        }
    }

    /// Ends a piece: checks that what was written again is the same. The path is then that of the
    /// next piece.
    pub(crate) fn end_piece(&mut self) {
        let (position, from) = (self.position(), self.state.from);
        let is_last = !self.is_behind_window();
        let Some(tracker) = &mut self.tracker else { return };
        let resumed = tracker.hash;
        let is_same =
            tracker.is_on_new_ground() && position >= from && tracker.sent_hash == resumed;
        tracker.hash = match tracker.position().checked_sub(from) {
            // No piece follows, and the rest of the buffer was not written.
            _ if is_last => HASH_START,
            Some(start) => hash(HASH_START, self.out.get(start..).unwrap_or_default()),
            None => hash(resumed, self.out),
        };
        if !is_same {
            self.invalid(InvalidPayload::Changed);
        }
    }

    fn level(&self) -> usize {
        (self.state.depth as usize).wrapping_sub(1)
    }

    fn window_len(&self) -> usize {
        #[cfg(not(small))]
        return self.out.len() + self.escaped.len();
        #[cfg(small)]
        self.out.len()
    }

    /// Whether the next byte is behind the window, and not its first one.
    fn is_behind_window(&self) -> bool {
        self.position() > self.state.from + self.window_len()
    }
}

/// Whether a byte of a rendered text is the gate of a part.
fn begins_gated(byte: &u8) -> bool {
    *byte < b' ' && *byte != b'\t'
}

/// Returns the offset of the next gate, or the end. Folds over blocks of fixed size are vectorized.
fn gate_at(text: &[u8]) -> usize {
    let hit = |block: &[u8; 64]| block.iter().fold(false, |hit, byte| hit | begins_gated(byte));
    let blocks = if cfg!(small) { &[] } else { text.as_chunks().0 };
    let start = 64 * blocks.iter().take_while(|block| !hit(block)).count();
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().position(begins_gated).unwrap_or(rest.len())
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
