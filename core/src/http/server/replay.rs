//! Replay of sent events to clients that lost their connection (2025-03-26 to 2025-11-25,
//! basic/transports).

use crate::buffers::framing::EventId;
use crate::buffers::{self, Storage};
use crate::protocol::error::require;

/// A ring buffer of sent events. It records the bytes that leave the buffers of a session, up to
/// the size of its storage; the oldest are overwritten.
///
/// ```
/// use mcp_sansio::http::server::{StreamRecorder, ReplayBuffer};
///
/// let mut replay = ReplayBuffer::new([0; 1024]);
/// let mut recording = StreamRecorder::new(3);
/// replay.record(&mut recording, b"id: 3-0\ndata:\n\nid: 3-1\nda"); // in any chunks
/// replay.record(&mut recording, b"ta: {}\n\n");
/// let mut cursor = replay.read_after("3-0".parse().unwrap());
/// let mut seen = Vec::new();
/// while let Ok(Some(parts)) = replay.next_part(&mut cursor) {
///     seen.extend(parts.concat());
/// }
/// assert_eq!(seen, b"id: 3-1\ndata: {}\n\n");
/// ```
#[derive(Debug)]
pub struct ReplayBuffer<S: Storage> {
    /// Counts of recorded bytes: the start of the oldest part kept, and the end. Their index in the
    /// storage is the distance from `base`, modulo its length.
    oldest: u64,
    end: u64,
    base: u64,
    limit: usize,
    storage: S,
}

/// The recording state of one stream, from its first byte to its last.
#[derive(Clone, Copy, Debug)]
pub struct StreamRecorder {
    event: EventId,
    /// Whether a part of the current event has been recorded.
    has_begun: bool,
    /// Whether the last byte was a line feed.
    ends_line: bool,
}

/// A read position in the events of one stream.
#[derive(Clone, Copy, Debug)]
pub struct ReplayCursor {
    stream: u32,
    /// The number of the first event to replay.
    from: u32,
    at: u64,
    /// Whether the last part did not end its event.
    is_mid_event: bool,
}

/// The event that was being replayed has been overwritten: close the connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Overwritten;

crate::text::error_type!(Overwritten => |_| {
    "the event that was being replayed has been overwritten"
});

/// The place of a recorded part.
#[derive(Clone, Copy, Debug)]
pub struct RecordedPart {
    start: u64,
    /// Its length in bytes.
    pub len: usize,
}

/// The header of a recorded part.
#[derive(Clone, Copy)]
struct PartHead {
    event: EventId,
    len: usize,
    is_first: bool,
    is_last: bool,
}

impl<S: Storage> ReplayBuffer<S> {
    /// Creates a ring that uses all of `storage`. Each event, and each further part of one, takes
    /// 12 bytes in addition.
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// Creates a ring whose storage grows up to `limit` bytes before it overwrites anything.
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        Self { oldest: 0, end: 0, base: 0, limit, storage }
    }

    /// Records bytes sent on a stream.
    pub fn record(&mut self, recording: &mut StreamRecorder, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // Bytes beyond this part are searched when their part is recorded.
            let end = end_of_event(bytes.get(..LONGEST_PART).unwrap_or(bytes), recording.ends_line);
            let (part, rest) = bytes
                .split_at_checked(end.unwrap_or(bytes.len()).min(LONGEST_PART))
                .unwrap_or((bytes, &[]));
            let is_last = end == Some(part.len());
            self.push(
                PartHead {
                    event: recording.event,
                    len: part.len(),
                    is_first: !recording.has_begun,
                    is_last,
                },
                part,
            );
            recording.ends_line = !is_last && part.last() == Some(&b'\n');
            recording.has_begun = !is_last;
            if is_last {
                recording.event.number = recording.event.number.wrapping_add(1);
            }
            bytes = rest;
        }
    }

    /// Returns a cursor to the events that follow `event` in its stream.
    pub const fn read_after(&self, event: EventId) -> ReplayCursor {
        let from = event.number.saturating_add(1);
        ReplayCursor { from, ..self.read_stream(event.stream) }
    }

    /// Returns a cursor to the oldest recorded event of a stream.
    pub const fn read_stream(&self, stream: u32) -> ReplayCursor {
        ReplayCursor { stream, from: 0, at: self.oldest, is_mid_event: false }
    }

    /// Whether any event of the stream is still recorded.
    pub fn has_stream(&self, stream: u32) -> bool {
        matches!(self.next_part(&mut self.read_stream(stream)), Ok(Some(_)))
    }

    /// Returns the next part, in two slices if it wraps around the end of the storage; `None` at
    /// the end of the recording.
    ///
    /// # Errors
    /// [`Overwritten`] if the current event was overwritten while it was replayed.
    pub fn next_part(&self, cursor: &mut ReplayCursor) -> Result<Option<[&[u8]; 2]>, Overwritten> {
        self.find_part(cursor)?.map(|part| self.bytes_of(part)).transpose()
    }

    /// Returns where the next part is, for a reader that sends it by and by.
    ///
    /// # Errors
    /// As [`next_part`](Self::next_part).
    pub fn find_part(
        &self,
        cursor: &mut ReplayCursor,
    ) -> Result<Option<RecordedPart>, Overwritten> {
        if cursor.at < self.oldest {
            if cursor.is_mid_event {
                return Err(Overwritten);
            }
            cursor.at = self.oldest;
        }
        while cursor.at < self.end {
            let head = self.head(cursor.at);
            let start = cursor.at + HEAD as u64;
            cursor.at = start + head.len as u64;
            let is_wanted = head.event.stream == cursor.stream && head.event.number >= cursor.from;
            if is_wanted && (head.is_first || cursor.is_mid_event) {
                cursor.is_mid_event = !head.is_last;
                return Ok(Some(RecordedPart { start, len: head.len }));
            }
        }
        Ok(None)
    }

    /// Returns the bytes of a part, in two slices if it wraps around the end of the storage.
    ///
    /// # Errors
    /// [`Overwritten`] if it was overwritten meanwhile.
    pub fn bytes_of(&self, part: RecordedPart) -> Result<[&[u8]; 2], Overwritten> {
        require(part.start >= self.oldest, Overwritten)?;
        Ok(self.slices(part.start, part.len))
    }

    fn push(&mut self, head: PartHead, part: &[u8]) {
        let needed = HEAD + part.len();
        let capacity = self.grow(needed);
        if needed > capacity {
            // The events recorded before are followed by a gap: drop them. The place of the part
            // counts, so that no cursor goes on behind it.
            self.end += needed as u64;
            (self.oldest, self.base) = (self.end, self.end);
            return;
        }
        while self.end - self.oldest > (capacity - needed) as u64 {
            self.oldest += (HEAD + self.head(self.oldest).len) as u64;
        }
        self.put(&head.to_bytes());
        self.put(part);
    }

    /// Grows the storage for `needed` more bytes where it can, and returns its length.
    fn grow(&mut self, needed: usize) -> usize {
        let used = (self.end - self.base) as usize;
        // Until something is overwritten, nothing wraps around the end.
        if used <= self.storage.bytes().len() {
            let whole = used.saturating_add(needed);
            if whole > self.storage.bytes().len()
                && !buffers::grow(&mut self.storage, whole, self.limit)
            {
                buffers::grow(&mut self.storage, self.limit, self.limit);
            }
        }
        self.storage.bytes().len()
    }

    fn put(&mut self, bytes: &[u8]) {
        let at = self.place(self.end);
        let (behind, around) = self
            .storage
            .bytes_mut()
            .split_at_mut_checked(at)
            .map_or((&mut [][..], &mut [][..]), |(a, b)| (b, a));
        for (to, from) in behind.iter_mut().chain(around).zip(bytes) {
            *to = *from;
        }
        self.end += bytes.len() as u64;
    }

    fn head(&self, at: u64) -> PartHead {
        let mut bytes = [0; HEAD];
        let [one, other] = self.slices(at, HEAD);
        for (to, from) in bytes.iter_mut().zip(one.iter().chain(other)) {
            *to = *from;
        }
        PartHead::from_bytes(bytes)
    }

    fn slices(&self, at: u64, len: usize) -> [&[u8]; 2] {
        let (bytes, at) = (self.storage.bytes(), self.place(at));
        let one = bytes.get(at..bytes.len().min(at + len)).unwrap_or_default();
        [one, bytes.get(..len - one.len()).unwrap_or_default()]
    }

    fn place(&self, at: u64) -> usize {
        ((at - self.base) % self.storage.bytes().len().max(1) as u64) as usize
    }
}

impl StreamRecorder {
    /// Creates the state of a stream that has not sent anything yet.
    pub const fn new(stream: u32) -> Self {
        Self { event: EventId { stream, number: 0 }, has_begun: false, ends_line: false }
    }

    /// Whether the last recorded byte did not end its event.
    pub const fn is_mid_event(&self) -> bool {
        self.has_begun
    }
}

impl ReplayCursor {
    /// Whether the last part did not end its event, so that nothing else may be written to the
    /// stream.
    pub const fn is_mid_event(&self) -> bool {
        self.is_mid_event
    }
}

impl PartHead {
    fn to_bytes(self) -> [u8; HEAD] {
        let marks = u32::from(self.is_first) << 31 | u32::from(self.is_last) << 30;
        let mut bytes = [0; HEAD];
        for (to, word) in bytes.chunks_exact_mut(4).zip([
            self.event.stream,
            self.event.number,
            self.len as u32 | marks,
        ]) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: [u8; HEAD]) -> Self {
        let mut words = [0; 3];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = bytes.try_into().map_or(0, u32::from_le_bytes);
        }
        let [stream, number, marked] = words;
        let len = (marked & 0x3fff_ffff) as usize;
        Self {
            event: EventId { stream, number },
            len,
            is_first: marked >> 31 != 0,
            is_last: marked >> 30 & 1 != 0,
        }
    }
}

/// Returns the index after the empty line that ends the event, if there is one.
fn end_of_event(bytes: &[u8], ends_line: bool) -> Option<usize> {
    if ends_line && bytes.first() == Some(&b'\n') {
        return Some(1);
    }
    bytes.windows(2).position(|two| two == b"\n\n").map(|at| at + 2)
}

/// Length of the header of a part, in bytes.
const HEAD: usize = 12;
/// Longer parts are divided, so that one part does not overwrite everything else at once.
const LONGEST_PART: usize = 4096;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{format, string::String, vec, vec::Vec};

    use super::*;

    fn read<S: Storage>(replay: &ReplayBuffer<S>, cursor: &mut ReplayCursor) -> String {
        let mut all = Vec::new();
        while let Some([one, other]) = replay.next_part(cursor).unwrap() {
            all.extend_from_slice(one);
            all.extend_from_slice(other);
        }
        String::from_utf8(all).unwrap()
    }

    fn events(stream: u32, numbers: core::ops::Range<u32>) -> String {
        numbers
            .map(|number| {
                format!("id: {stream}-{number}\ndata: {}\n\n", "x".repeat(number as usize * 3))
            })
            .collect()
    }

    #[test]
    fn sse_04_replay_has_what_came_after_in_that_stream_and_nothing_else() {
        for chunk in [1, 2, 3, 7, 1000] {
            let mut replay = ReplayBuffer::new([0; 1 << 14]);
            let (mut three, mut four) = (StreamRecorder::new(3), StreamRecorder::new(4));
            let (of_three, of_four) = (events(3, 0..9), events(4, 0..9));
            let both = of_three.as_bytes().chunks(chunk).zip(of_four.as_bytes().chunks(chunk));
            for (one, other) in both {
                replay.record(&mut three, one);
                replay.record(&mut four, other);
            }
            for number in 0..9 {
                let event = EventId { stream: 3, number };
                assert_eq!(
                    read(&replay, &mut replay.read_after(event)),
                    events(3, number + 1..9),
                    "{chunk} {number}"
                );
            }
            assert_eq!(read(&replay, &mut replay.read_stream(4)), of_four);
            assert!(replay.has_stream(4) && !replay.has_stream(5));
        }
    }

    #[test]
    fn a_cursor_goes_on_with_what_comes() {
        let mut replay = ReplayBuffer::new([0; 1024]);
        let mut recording = StreamRecorder::new(1);
        let mut cursor = replay.read_stream(1);
        for (number, byte) in events(1, 0..4).bytes().enumerate() {
            replay.record(&mut recording, &[byte]);
            assert_eq!(read(&replay, &mut cursor).as_bytes(), [byte], "{number}");
        }
    }

    #[test]
    fn the_oldest_events_go_first_and_a_cut_one_is_not_replayed() {
        for size in 1..300 {
            let mut storage = vec![0; size];
            let mut replay = ReplayBuffer::new(&mut storage[..]);
            let mut recording = StreamRecorder::new(1);
            for chunk in events(1, 0..12).as_bytes().chunks(5) {
                replay.record(&mut recording, chunk);
            }
            let left = read(&replay, &mut replay.read_stream(1));
            assert!(left.is_empty() || left.starts_with("id: 1-"), "{left}");
            assert!(events(1, 0..12).ends_with(&left));
            assert!(size < 200 || !left.is_empty());
        }
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn a_ring_that_grows_keeps_as_much_as_one_that_was_large_from_the_start() {
        for limit in (1..3000).step_by(13) {
            let mut growing = ReplayBuffer::with_limit(Vec::new(), limit);
            let mut large = ReplayBuffer::new(vec![0; limit]);
            let (mut one, mut other) = (StreamRecorder::new(1), StreamRecorder::new(1));
            for chunk in events(1, 0..40).as_bytes().chunks(700) {
                growing.record(&mut one, chunk);
                large.record(&mut other, chunk);
                assert_eq!(
                    read(&growing, &mut growing.read_stream(1)),
                    read(&large, &mut large.read_stream(1)),
                    "{limit}"
                );
            }
        }
        let mut small = ReplayBuffer::with_limit(Vec::new(), 1 << 20);
        small.record(&mut StreamRecorder::new(1), b"data: 1\n\n");
        assert!(small.storage.len() <= 1024);
    }

    #[test]
    fn overwriting_an_event_while_it_is_read_is_an_error() {
        let mut replay = ReplayBuffer::new([0; 64]);
        let mut recording = StreamRecorder::new(1);
        let mut cursor = replay.read_stream(1);
        replay.record(&mut recording, b"data: aaa");
        assert_eq!(read(&replay, &mut cursor), "data: aaa");
        for _ in 0..9 {
            replay.record(&mut recording, b"aaaaaaaa");
        }
        assert_eq!(replay.next_part(&mut cursor), Err(Overwritten));

        // By a part that the buffer cannot hold, too.
        let mut recording = StreamRecorder::new(2);
        let mut cursor = replay.read_stream(2);
        replay.record(&mut recording, b"data: bbb");
        assert_eq!(read(&replay, &mut cursor), "data: bbb");
        replay.record(&mut recording, &[b'b'; 64]);
        replay.record(&mut recording, b"end\n\n");
        assert_eq!(replay.next_part(&mut cursor), Err(Overwritten));
    }
}
