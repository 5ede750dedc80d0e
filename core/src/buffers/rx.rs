//! Line framing, and recovery after an oversized line.

use super::Storage;
use crate::buffers;

/// Collects received bytes and lends them out line by line.
///
/// ```
/// use mcp_sansio::RxBuffer;
/// let mut rx = RxBuffer::new([0u8; 64]);
/// let bytes = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
/// // A transport reads straight into `spare`.
/// rx.spare()[..bytes.len()].copy_from_slice(bytes);
/// rx.commit(bytes.len());
/// while let Some(mut messages) = rx.next_messages() {
///     while let Some(message) = messages.next_message() {
///         assert!(message.is_ok());
///     }
/// }
/// ```
///
/// A line ends with `\n` or `\r\n`; blank lines are skipped. A line longer than the buffer (and,
/// for storage that grows, than the limit) is discarded up to its end and reported as
/// [`Frame::Oversized`]; its tail is never taken for a frame.
#[derive(Debug)]
pub struct RxBuffer<S: Storage + ?Sized> {
    /// Start of the frame that is lent, otherwise of the next line.
    start: usize,
    /// End of the frame that is lent, with its terminator.
    frame: Option<usize>,
    /// The next message of that frame.
    cursor: Cursor,
    /// Everything before this index has been searched for a newline.
    scanned: usize,
    /// End of the committed bytes.
    end: usize,
    /// Index at which a line ends without a terminator.
    line_end: Option<usize>,
    /// Number of bytes kept from the start of an oversized line.
    prefix: Option<usize>,
    limit: usize,
    storage: S,
}

/// A frame that [`RxBuffer::next_frame`] lends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'f> {
    /// A line without its terminator, or an HTTP body.
    Complete(&'f [u8]),
    /// A line that did not fit. Its first and its last bytes are kept, since clients write `id` at
    /// either end.
    Oversized {
        /// The first bytes of the line; empty if bytes of it [were lost](RxBuffer::lost).
        prefix: &'f [u8],
        /// The last bytes of the line; the bytes in between are lost.
        tail: &'f [u8],
    },
}

/// The position of the next message in its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cursor {
    Start,
    /// At an element of a batch.
    Element(usize),
    End,
}

/// Free memory for reading while a frame is lent: see [`RxBuffer::next_messages_and_spare`].
#[derive(Debug)]
pub struct Spare<'f> {
    free: &'f mut [u8],
    /// The buffer's end of committed bytes.
    end: &'f mut usize,
}

impl<S: Storage> RxBuffer<S> {
    /// Creates a buffer that uses all of `storage` and never grows.
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// Creates a buffer whose storage may grow up to `limit` bytes, at most 4 GiB. That is then
    /// also the longest line accepted, including its newline.
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        let limit = if limit > MAX_LINE { MAX_LINE } else { limit };
        Self {
            start: 0,
            frame: None,
            cursor: Cursor::Start,
            scanned: 0,
            end: 0,
            line_end: None,
            prefix: None,
            limit,
            storage,
        }
    }
}

impl<S: Storage + ?Sized> RxBuffer<S> {
    /// Returns the memory that the transport reads into. Empty only while a complete frame waits in
    /// a full buffer.
    pub fn spare(&mut self) -> &mut [u8] {
        self.make_room();
        let end = self.end;
        self.storage.bytes_mut().get_mut(end..).unwrap_or_default()
    }

    /// Commits the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.storage.bytes().len());
    }

    /// Ends an unfinished line, which becomes a frame although its terminator is missing: the input
    /// has ended, or nothing more is expected. Bytes that come later begin a new line.
    pub fn end_of_input(&mut self) {
        if !self.is_mid_line() {
            return;
        }
        let end = self.end;
        match self.storage.bytes_mut().get_mut(end) {
            Some(byte) => {
                *byte = b'\n';
                self.end += 1;
            }
            None => self.line_end = Some(end),
        }
    }

    /// Records that bytes were lost here, by a serial port for example: the line that they belong
    /// to is rejected as invalid UTF-8, unless only blanks of it have arrived.
    pub fn lost(&mut self) {
        if !self.is_mid_line() {
            return;
        }
        let (start, end) = (self.frame.unwrap_or(self.start), self.end);
        let bytes = self.storage.bytes_mut();
        let held = bytes.get(start..end).unwrap_or_default();
        let line = held.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_discarded =
            self.prefix.is_some() && self.frame.is_none() && line.len() == held.len();
        if !is_discarded && is_blank(line) {
            return;
        }
        // Its end has room, so that it does not become too long: then its id would be kept, which
        // may be wrong.
        let last = bytes.len().saturating_sub(2);
        let at = end.min(if bytes.get(last) == Some(&b'\n') { last + 1 } else { last });
        if let Some(byte) = bytes.get_mut(at) {
            *byte = NEVER_UTF8;
            (self.end, self.scanned) = (at + 1, self.scanned.min(at));
        }
        // So may that of one which is too long already.
        if is_discarded {
            self.prefix = Some(0);
        }
    }

    /// Forgets all that was received, for the next peer.
    pub fn clear(&mut self) {
        (self.start, self.scanned, self.end) = (0, 0, 0);
        (self.frame, self.line_end, self.prefix) = (None, None, None);
    }

    /// Returns the next line as it is, lent once, or `None` when more input is needed.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        if !self.find_frame() {
            return None;
        }
        self.cursor = Cursor::End;
        let (start, end) = (self.start, self.frame?);
        frame(self.storage.bytes(), self.prefix, start, end)
    }

    /// Returns the number of bytes held of an unfinished line, which are lost if the input ends.
    pub fn unfinished(&self) -> usize {
        let has_ended = self.frame.or(self.line_end).is_some();
        let kept = if has_ended { 0 } else { self.prefix.unwrap_or(0) };
        let start = self.frame.unwrap_or(self.start);
        kept + (self.end - self.line_end.unwrap_or(start))
    }

    /// Returns whether the last byte received belongs to a line that has not ended.
    pub fn is_mid_line(&self) -> bool {
        let last = self.end.checked_sub(1).and_then(|last| self.storage.bytes().get(last));
        self.unfinished() > 0 && last != Some(&b'\n')
    }

    /// Returns whether a frame was lent whose messages have not all been handled.
    #[inline]
    pub fn is_mid_frame(&self) -> bool {
        self.frame.is_some() && self.cursor != Cursor::End
    }

    /// Goes past the frame that is lent and finds the next one. Returns whether there is one.
    pub(crate) fn find_frame(&mut self) -> bool {
        self.pass();
        // Fast path: this is called once more after every frame.
        while self.scanned < self.end || self.line_end.is_some() {
            let searched = self.line_end.unwrap_or(self.end);
            let fresh = self.storage.bytes().get(self.scanned..searched).unwrap_or_default();
            let (line_end, after) = match newline(fresh) {
                Some(at) => (self.scanned + at, self.scanned + at + 1),
                None => match self.line_end.take() {
                    Some(line_end) => (line_end, line_end),
                    None => {
                        self.scanned = self.end;
                        return false;
                    }
                },
            };
            self.scanned = after;
            let line = self.storage.bytes().get(self.start..line_end).unwrap_or_default();
            if self.prefix.is_some() || !is_blank(line) {
                (self.frame, self.cursor) = (Some(after), Cursor::Start);
                return true;
            }
            self.start = after;
        }
        false
    }

    /// Goes past the frame that is lent.
    #[inline]
    fn pass(&mut self) {
        if let Some(end) = self.frame.take() {
            self.start = end;
            self.prefix = None;
        }
    }

    /// Lends the frame, if there is one, its cursor, and the free memory.
    pub(crate) fn lend(&mut self) -> (Option<Frame<'_>>, &mut Cursor, Spare<'_>) {
        let end = self.end.min(self.storage.bytes().len());
        let (held, free) = self.storage.bytes_mut().split_at_mut(end);
        let lent = self.frame.and_then(|end| frame(held, self.prefix, self.start, end));
        (lent, &mut self.cursor, Spare { free, end: &mut self.end })
    }

    /// Moves the held bytes to the front. Must not be called while a prefix is held, behind which
    /// the rest of its line begins.
    fn move_down(&mut self) {
        let (start, end) = (self.start, self.end);
        buffers::move_down(self.storage.bytes_mut(), start, end, 0);
        self.scanned -= start;
        self.frame = self.frame.map(|end| end - start);
        self.line_end = self.line_end.map(|end| end - start);
        self.end -= start;
        self.start = 0;
    }

    /// Moves the held bytes to the front, grows, or starts to discard a line that is too long, if
    /// less than half of the memory is free. One of them makes room, unless a complete frame waits.
    /// A quarter is enough where only the beginning of a line is left of a read, which costs little
    /// to move: further reads come to the same memory, which is in the cache.
    pub(crate) fn make_room(&mut self) {
        let cap = self.storage.bytes().len();
        let is_rest = cfg!(not(small)) && self.frame.is_none() && self.scanned >= self.end;
        if self.end < if is_rest { cap / 4 } else { cap / 2 } {
            return;
        }
        if !self.is_mid_frame() {
            self.pass();
        }
        // While frames may wait, bytes are moved only when at least as many have been consumed;
        // otherwise each frame would move all that follow it.
        let waiting = self.scanned < self.end || self.frame.is_some() || self.line_end.is_some();
        if self.prefix.is_none()
            && self.start > 0
            && (!waiting || self.start >= self.end - self.start)
        {
            self.move_down();
        }
        if self.end < if waiting { cap } else { cap - cap / 4 } {
            return;
        }
        if self.prefix.is_none() && buffers::grow(&mut self.storage, self.end + 1, self.limit) {
            return;
        }
        if self.end < self.storage.bytes().len() || waiting {
            return;
        }
        // The line fills the buffer: keep its first half, and from now on only the latest bytes of
        // the rest.
        let kept = *self.prefix.get_or_insert(cap / 2);
        self.start = kept;
        let keep = (cap - kept) / 2;
        let (from, end) = (self.end - keep, self.end);
        buffers::move_down(self.storage.bytes_mut(), from, end, kept);
        self.end = kept + keep;
        self.scanned = self.end;
    }
}

/// Whether nothing of a line is to be handled.
fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

impl Spare<'_> {
    /// Returns an empty one: nothing may be read any more.
    pub(crate) fn without_memory(self) -> Self {
        Self { free: &mut [], ..self }
    }

    /// Returns the memory that the transport reads into. Empty when no room is left until the frame
    /// has been handled.
    pub const fn spare(&mut self) -> &mut [u8] {
        self.free
    }

    /// Commits the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        let n = n.min(self.free.len());
        self.free = core::mem::take(&mut self.free).get_mut(n..).unwrap_or_default();
        *self.end += n;
    }
}

/// Returns the frame in the line at `start..end`, whose terminator may be missing.
fn frame(bytes: &[u8], prefix: Option<usize>, start: usize, end: usize) -> Option<Frame<'_>> {
    let line = bytes.get(start..end)?;
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    Some(match prefix {
        Some(kept) => Frame::Oversized { prefix: bytes.get(..kept)?, tail: line },
        None => Frame::Complete(line.strip_suffix(b"\r").unwrap_or(line)),
    })
}

/// Returns the index of the first newline. Tests whole blocks, which the compiler turns into vector
/// code, then words.
pub fn newline(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    if cfg!(small) {
        return bytes.iter().position(|b| *b == b'\n');
    }
    let mut rest = skip_blocks::<16>(skip_blocks::<64>(bytes));
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let zero = u64::from_le_bytes(*word) ^ (ONES * u64::from(b'\n'));
        let hits = zero.wrapping_sub(ONES) & !zero & (ONES << 7);
        if hits != 0 {
            return Some(bytes.len() - rest.len() + (hits.trailing_zeros() / 8) as usize);
        }
        rest = after;
    }
    let skipped = bytes.len() - rest.len();
    rest.iter().position(|b| *b == b'\n').map(|at| skipped + at)
}

/// Returns the bytes from the first block with a newline on. The fold is turned into vector code.
#[inline(always)]
fn skip_blocks<const N: usize>(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while let Some((block, after)) = rest.split_first_chunk::<N>()
        && !block.iter().fold(false, |hit, b| hit | (*b == b'\n'))
    {
        rest = after;
    }
    rest
}

/// Positions in a frame are kept in 32 bits.
const MAX_LINE: usize = u32::MAX as usize;
/// A byte that no UTF-8 text has.
const NEVER_UTF8: u8 = 0xff;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{vec, vec::Vec};

    use super::*;

    fn filled<S: Storage>(mut rx: RxBuffer<S>, bytes: &[u8]) -> RxBuffer<S> {
        rx.spare()[..bytes.len()].copy_from_slice(bytes);
        rx.commit(bytes.len());
        rx
    }

    #[test]
    #[cfg(feature = "alloc")]
    fn d5_a_line_is_never_longer_than_32_bits_can_count() {
        assert_eq!(RxBuffer::with_limit(Vec::new(), usize::MAX).limit, 0xffff_ffff);
    }

    #[test]
    fn held_bytes_are_moved_once_as_many_have_been_consumed() {
        let mut rx = filled(RxBuffer::new([0; 16]), b"a1\nb2\nc3\nd4\ne5\nf");
        // The room for reading after each line.
        for room in [0, 0, 9, 9, 9] {
            assert!(rx.next_frame().is_some());
            assert_eq!(rx.spare().len(), room);
        }
        assert_eq!(rx.next_frame(), None);
        assert_eq!(rx.unfinished(), 1);
    }

    #[test]
    fn the_first_line_of_the_input_may_be_blank() {
        for input in [&b"\n{}\n"[..], b"\r\n{}\n", b"\n\n{}\n"] {
            let mut rx = filled(RxBuffer::new([0; 16]), input);
            assert_eq!(rx.next_frame(), Some(Frame::Complete(b"{}")));
            assert_eq!(rx.next_frame(), None);
        }
    }

    #[test]
    fn storage_at_its_limit_does_not_grow() {
        struct Full(Vec<u8>);
        impl Storage for Full {
            fn bytes(&self) -> &[u8] {
                &self.0
            }
            fn bytes_mut(&mut self) -> &mut [u8] {
                &mut self.0
            }
            fn try_grow(&mut self, len: usize) -> bool {
                panic!("{} bytes are asked to be {len}", self.0.len());
            }
            fn can_grow(&self) -> bool {
                true
            }
        }
        for limit in [0, 8, 16] {
            let mut rx = filled(RxBuffer::with_limit(Full(vec![0; 16]), limit), &[b'x'; 16]);
            assert_eq!(rx.next_frame(), None);
            assert!(!rx.spare().is_empty(), "the line is being discarded");
        }
    }
}
