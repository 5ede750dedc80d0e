//! Bytes to frames: the line framer, and how it finds its way back.

use crate::storage::{self, Storage};

/// Collects what the transport reads and lends it out a line at a time.
///
/// ```
/// use mcp_sansio::{Frame, RxBuffer};
/// let mut rx = RxBuffer::new([0u8; 64]);
/// let bytes = b"{\"jsonrpc\":\"2.0\"}\n";
/// rx.spare()[..bytes.len()].copy_from_slice(bytes); // a real transport reads straight into `spare`
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
    /// First byte that has not been lent yet.
    start: usize,
    /// Everything before this was searched for a newline.
    scanned: usize,
    /// End of what was committed.
    end: usize,
    /// Start of the frame that was lent last, for [`unread`](Self::unread).
    lent: usize,
    /// Where the line ends that was taken back: it is not searched again.
    unread: Option<usize>,
    /// Bytes kept of the beginning of an oversized line whose end has not arrived.
    prefix: Option<usize>,
    limit: usize,
    storage: S,
}

/// What [`RxBuffer::next_frame`] lends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'f> {
    /// A line, without its end. Or the body of an HTTP exchange.
    Complete(&'f [u8]),
    /// A line that did not fit. What was kept of it: its beginning and its last bytes (clients
    /// write `id` in either place).
    Oversized {
        /// The first bytes of the line.
        prefix: &'f [u8],
        /// The last bytes of the line; what lay between is gone.
        tail: &'f [u8],
    },
}

/// Where the transport reads to while a frame is lent: see [`RxBuffer::next_frame_and_spare`].
#[derive(Debug)]
pub struct Spare<'f> {
    free: &'f mut [u8],
    /// Of the buffer.
    end: &'f mut usize,
}

impl<S: Storage> RxBuffer<S> {
    /// A buffer that uses all of `storage`, and never grows.
    #[must_use]
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// A buffer whose storage may grow up to `limit` bytes (that is then the longest line accepted,
    /// with its newline), and not beyond 4 GiB.
    #[must_use]
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        let limit = if limit > MAX_LINE { MAX_LINE } else { limit };
        Self { start: 0, scanned: 0, end: 0, lent: 0, unread: None, prefix: None, limit, storage }
    }
}

impl<S: Storage + ?Sized> RxBuffer<S> {
    /// Where the transport reads to. Empty only while a whole frame waits for
    /// [`next_frame`](Self::next_frame) in a full buffer.
    pub fn spare(&mut self) -> &mut [u8] {
        let cap = self.storage.bytes().len();
        if cap.saturating_sub(self.end) <= cap / 2 {
            self.make_room();
        }
        // What was lent before may be overwritten from here on.
        self.lent = self.start;
        let end = self.end;
        self.storage.bytes_mut().get_mut(end..).unwrap_or_default()
    }

    /// Takes over the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.storage.bytes().len());
    }

    /// The next line, lent until the next call. `None`: read more.
    pub fn next_frame(&mut self) -> Option<Frame<'_>> {
        loop {
            // Asked after each frame.
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
                // Both parts are addressed before the borrow that is returned.
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

    /// The next line, as [`next_frame`](Self::next_frame) lends it, and what is free behind it. For
    /// an adapter that must go on reading while the frame is lent, since its answer waits for
    /// room.
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
        // What may be written to behind it can no more be moved to be lent again.
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

    /// Takes the last frame back, so that [`next_frame`](Self::next_frame) lends it again. For an
    /// adapter that must go on reading while it waits for room to answer. Only a complete frame
    /// can be taken back, and only before the next [`spare`](Self::spare); reading may go on
    /// behind it. Lending it again costs nothing, however long it is.
    pub fn unread(&mut self) {
        if self.prefix.is_none() && self.lent < self.start {
            self.unread = Some(self.start - 1);
            self.start = self.lent;
            self.scanned = self.lent;
        }
    }

    /// How many bytes of an unfinished line are held: what an end of input cuts off.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.prefix.unwrap_or(0) + (self.end - self.start)
    }

    /// Moves what is held to the front. Not within an oversized line, whose rest begins behind its
    /// prefix already.
    fn move_down(&mut self) {
        let (start, end) = (self.start, self.end);
        storage::move_down(self.storage.bytes_mut(), start, end, 0);
        self.scanned -= start;
        self.unread = self.unread.map(|line_end| line_end - start);
        self.end -= start;
        self.start = 0;
    }

    /// Moves what is held to the front, grows, or starts to discard: one of them makes room unless
    /// a whole frame waits.
    fn make_room(&mut self) {
        // While frames may wait there is no hurry: moving them must be paid for by those that went,
        // or each frame would move all others.
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
        // The line fills everything: keep its first half, and from now on the latest bytes of the
        // rest.
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
    /// Where the transport reads to. Empty when there is no more room before the frame is done
    /// with.
    pub const fn spare(&mut self) -> &mut [u8] {
        self.free
    }

    /// Takes over the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        let n = n.min(self.free.len());
        self.free = core::mem::take(&mut self.free).get_mut(n..).unwrap_or_default();
        *self.end += n;
    }
}

/// Where the first newline is. Blocks are tested as a whole, which the compiler turns into vector
/// code; then words.
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

/// In a shape that the compiler turns into vector code.
#[inline(always)]
fn has_newline<const N: usize>(block: &[u8; N]) -> bool {
    block.iter().fold(false, |hit, b| hit | (*b == b'\n'))
}

/// Places in a frame are kept in 32 bits.
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
    fn d5_a_line_is_never_longer_than_what_32_bits_count() {
        assert_eq!(RxBuffer::with_limit(Vec::new(), usize::MAX).limit, 0xffff_ffff);
    }

    #[test]
    fn what_is_held_is_moved_when_as_much_has_gone() {
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
    fn a_line_that_begins_the_input_may_be_blank() {
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
