//! Line framing, and recovery after an oversized line.

use crate::storage::{self, Storage};

/// Collects received bytes and lends them out line by line.
///
/// ```
/// use mcp_sansio::{Frame, RxBuffer};
/// let mut rx = RxBuffer::new([0u8; 64]);
/// let bytes = b"{\"jsonrpc\":\"2.0\"}\n";
/// // A transport reads straight into `spare`.
/// rx.spare()[..bytes.len()].copy_from_slice(bytes);
/// rx.commit(bytes.len());
/// assert!(matches!(rx.next_frame(), Some(Frame::Complete(b"{\"jsonrpc\":\"2.0\"}"))));
/// assert!(rx.next_frame().is_none());
/// ```
///
/// A line ends with `\n` or `\r\n`; blank lines are skipped. A line longer than the buffer (and,
/// for storage that grows, than the limit) is discarded up to its end and reported as
/// [`Frame::Oversized`]; its tail is never taken for a frame.
#[derive(Debug)]
pub struct RxBuffer<S: Storage + ?Sized> {
    /// Index of the first byte that has not been lent yet.
    start: usize,
    /// Everything before this index has been searched for a newline.
    scanned: usize,
    /// End of the committed bytes.
    end: usize,
    /// Start of the frame that was lent last, for [`unread`](Self::unread).
    lent: usize,
    /// End of the line that was unread, so that it is not searched again.
    unread: Option<usize>,
    /// Number of bytes kept from the start of an oversized line whose end has not arrived.
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
        /// The first bytes of the line.
        prefix: &'f [u8],
        /// The last bytes of the line; the bytes in between are lost.
        tail: &'f [u8],
    },
}

/// Free memory for reading while a frame is lent: see [`RxBuffer::next_frame_and_spare`].
#[derive(Debug)]
pub struct Spare<'f> {
    free: &'f mut [u8],
    /// The buffer's end of committed bytes.
    end: &'f mut usize,
}

impl<S: Storage> RxBuffer<S> {
    /// Creates a buffer that uses all of `storage` and never grows.
    #[must_use]
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// Creates a buffer whose storage may grow up to `limit` bytes, at most 4 GiB. That is then
    /// also the longest line accepted, including its newline.
    #[must_use]
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        let limit = if limit > MAX_LINE { MAX_LINE } else { limit };
        Self { start: 0, scanned: 0, end: 0, lent: 0, unread: None, prefix: None, limit, storage }
    }
}

impl<S: Storage + ?Sized> RxBuffer<S> {
    /// Returns the memory that the transport reads into. Empty only while a complete frame waits
    /// for [`next_frame`](Self::next_frame) in a full buffer.
    pub fn spare(&mut self) -> &mut [u8] {
        let cap = self.storage.bytes().len();
        if cap.saturating_sub(self.end) <= cap / 2 {
            self.make_room();
        }
        // The last frame cannot be unread any more: reading may overwrite it.
        self.lent = self.start;
        let end = self.end;
        self.storage.bytes_mut().get_mut(end..).unwrap_or_default()
    }

    /// Commits the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.storage.bytes().len());
    }

    /// Returns the next line, lent until the next call, or `None` when more input is needed.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        loop {
            // Fast path: this is called once more after every frame.
            if self.scanned == self.end {
                return None;
            }
            let known = self.unread.take();
            let line_end = match known {
                Some(line_end) => line_end,
                None => {
                    let fresh =
                        self.storage.bytes().get(self.scanned..self.end).unwrap_or_default();
                    let Some(at) = newline(fresh) else {
                        self.scanned = self.end;
                        return None;
                    };
                    self.scanned + at
                }
            };
            let line_start = self.start;
            self.start = line_end + 1;
            self.scanned = self.start;
            if let Some(kept) = self.prefix.take() {
                self.lent = self.start;
                // Both slices are taken before the borrow that is returned.
                let bytes = self.storage.bytes();
                return Some(Frame::Oversized {
                    prefix: bytes.get(..kept).unwrap_or_default(),
                    tail: bytes.get(line_start..line_end).unwrap_or_default(),
                });
            }
            let line = self.storage.bytes().get(line_start..line_end).unwrap_or_default();
            let len = line.len() - usize::from(line.last() == Some(&b'\r'));
            if known.is_some() || !line.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')) {
                self.lent = line_start;
                return self.storage.bytes().get(line_start..line_start + len).map(Frame::Complete);
            }
        }
    }

    /// Returns the next line, as [`next_frame`](Self::next_frame) does, together with the free
    /// memory behind it. For adapters that must go on reading while the frame is lent, because the
    /// response waits for room to be written.
    pub fn next_frame_and_spare(&mut self) -> Option<(Frame<'_>, Spare<'_>)> {
        let cap = self.storage.bytes().len();
        if self.prefix.is_none() && self.start > 0 && cap.saturating_sub(self.end) <= cap / 2 {
            self.move_down();
        }
        let (kept, len) = match self.next_frame()? {
            Frame::Complete(line) => (None, line.len()),
            Frame::Oversized { prefix, tail } => (Some(prefix.len()), tail.len()),
        };
        let from = if kept.is_some() { (self.start - 1).saturating_sub(len) } else { self.lent };
        // The free memory behind the frame may be written to, so the frame cannot be moved and lent
        // again.
        self.lent = self.start;
        let (held, free) = self.storage.bytes_mut().split_at_mut_checked(self.end)?;
        let held: &[u8] = held;
        let line = held.get(from..from + len)?;
        let frame = match kept {
            Some(kept) => Frame::Oversized { prefix: held.get(..kept)?, tail: line },
            None => Frame::Complete(line),
        };
        Some((frame, Spare { free, end: &mut self.end }))
    }

    /// Takes the last frame back, so that [`next_frame`](Self::next_frame) lends it again, at no
    /// cost, however long it is. For adapters that must go on reading while they wait for room to
    /// respond. Only a complete frame can be taken back, and only before the next
    /// [`spare`](Self::spare); reading may go on behind it.
    pub fn unread(&mut self) {
        if self.prefix.is_none() && self.lent < self.start {
            self.unread = Some(self.start - 1);
            self.start = self.lent;
            self.scanned = self.lent;
        }
    }

    /// Returns the number of bytes held of an unfinished line, which are lost if the input ends.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.prefix.unwrap_or(0) + (self.end - self.start)
    }

    /// Moves the held bytes to the front. Must not be called within an oversized line, whose rest
    /// already begins right behind its prefix.
    fn move_down(&mut self) {
        let (start, end) = (self.start, self.end);
        storage::move_down(self.storage.bytes_mut(), start, end, 0);
        self.scanned -= start;
        self.unread = self.unread.map(|line_end| line_end - start);
        self.end -= start;
        self.start = 0;
    }

    /// Moves the held bytes to the front, grows, or starts to discard a line that is too long. One
    /// of them makes room, unless a complete frame waits.
    fn make_room(&mut self) {
        // While frames may wait, bytes are moved only when at least as many have been consumed;
        // otherwise each frame would move all that follow it.
        let waiting = self.scanned < self.end;
        if self.prefix.is_none()
            && self.start > 0
            && (!waiting || self.start >= self.end - self.start)
        {
            self.move_down();
        }
        let cap = self.storage.bytes().len();
        if self.end < if waiting { cap } else { cap - cap / 4 } {
            return;
        }
        if self.prefix.is_none() && storage::grow(&mut self.storage, self.end + 1, self.limit) {
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
        storage::move_down(self.storage.bytes_mut(), from, end, kept);
        self.end = kept + keep;
        self.scanned = self.end;
    }
}

impl Spare<'_> {
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

/// Returns the index of the first newline. Tests whole blocks, which the compiler turns into vector
/// code, then words.
fn newline(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    if cfg!(small) {
        return bytes.iter().position(|b| *b == b'\n');
    }
    let mut rest = bytes;
    while let Some((block, after)) = rest.split_first_chunk::<64>() {
        if has_newline(block) {
            break;
        }
        rest = after;
    }
    while let Some((block, after)) = rest.split_first_chunk::<16>() {
        if has_newline(block) {
            break;
        }
        rest = after;
    }
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

/// Written so that the compiler turns it into vector code.
#[inline(always)]
fn has_newline<const N: usize>(block: &[u8; N]) -> bool {
    block.iter().fold(false, |hit, b| hit | (*b == b'\n'))
}

/// Positions in a frame are kept in 32 bits.
const MAX_LINE: usize = u32::MAX as usize;

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
            rx.unread(); // nothing was lent
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
