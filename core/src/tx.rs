//! Frames to bytes: all of a frame or none of it, except that one longer than the buffer is written
//! in pieces.

use crate::error::SendError;
use crate::framing::{Delimiters, Framing};
use crate::json::{WriteError, Writer};
use crate::lifecycle::Revision;
use crate::storage::{self, Storage};

/// Holds finished frames until the transport takes them.
///
/// The core writes; the adapter sends [`pending`](Self::pending) and says how much with
/// [`advance`](Self::advance).
#[derive(Debug)]
pub struct TxBuffer<S: Storage + ?Sized> {
    head: usize,
    tail: usize,
    /// A frame whose beginning has been written.
    open: Option<OpenFrame>,
    framing: Framing,
    limit: usize,
    storage: S,
}

/// What session calls take: `&mut TxBuffer<[u8; 512]>` or any other becomes it by itself at the
/// call.
pub type Tx<'s> = TxBuffer<dyn Storage + 's>;

impl<S: Storage> TxBuffer<S> {
    /// A buffer that uses all of `storage`, and never grows.
    #[must_use]
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// A buffer whose storage may grow up to `limit` bytes. Frames longer than that are written in
    /// pieces.
    #[must_use]
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        Self { head: 0, tail: 0, open: None, framing: Framing::Lines, limit, storage }
    }

    /// The same buffer for other frames than lines.
    #[cfg(feature = "http")]
    pub(crate) const fn with_framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Makes a call until it is through: while it is [`Full`](SendError::Full), writes everything
    /// out and repeats it.
    ///
    /// `write` writes some of the bytes that it is given and returns their number, as
    /// `std::io::Write::write` does. It has to wait until the transport takes at least one byte, or
    /// to fail.
    ///
    /// ```
    /// use mcp_sansio::types::Implementation;
    /// use mcp_sansio::{Client, ClientConfig, ClientFeatures, Instant, SendError, TxBuffer};
    /// # fn main() -> Result<(), SendError> {
    /// let config = ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
    /// let mut client = Client::new(&config);
    /// let mut tx = TxBuffer::new([0; 16]);
    /// let mut out = Vec::new();
    /// let mut write = |bytes: &[u8]| {
    ///     out.extend_from_slice(bytes);
    ///     Ok::<_, SendError>(bytes.len())
    /// };
    /// tx.send(&mut write, |tx| client.connect(Instant::from_millis(0), tx))?;
    /// tx.drain(&mut write)?;
    /// assert!(out.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\""));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `write`, and those of `call` but `Full`. `Full` only if nothing is pending and there
    /// is no room all the same: somebody else's frame is open
    /// ([`is_mid_frame`](Self::is_mid_frame)).
    pub fn send<R, E: From<SendError>>(
        &mut self,
        mut write: impl FnMut(&[u8]) -> Result<usize, E>,
        mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, E> {
        loop {
            match call(self) {
                Err(SendError::Full) if !self.pending().is_empty() => self.drain(&mut write)?,
                result => return result.map_err(E::from),
            }
        }
    }
}

impl<S: Storage + ?Sized> TxBuffer<S> {
    /// Writes everything out that is [`pending`](Self::pending), with as many calls of `write` as
    /// it takes. To be called before each wait for input.
    ///
    /// # Errors
    /// Those of `write`; what it has taken before is gone from the buffer.
    pub fn drain<E>(&mut self, mut write: impl FnMut(&[u8]) -> Result<usize, E>) -> Result<(), E> {
        while !self.pending().is_empty() {
            let written = write(self.pending())?;
            self.advance(written);
        }
        Ok(())
    }

    /// What waits to be sent.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        self.storage.bytes().get(self.head..self.tail).unwrap_or_default()
    }

    /// Forgets the first `n` bytes of [`pending`](Self::pending), which the transport has taken.
    pub fn advance(&mut self, n: usize) {
        self.head = self.head.saturating_add(n).min(self.tail);
        if self.head == self.tail {
            self.head = 0;
            self.tail = 0;
        }
    }

    /// Whether nothing waits to be sent and no frame is open.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.head == self.tail && self.open.is_none()
    }

    /// Whether a frame has begun and not ended: only its writer can go on, all others get
    /// [`SendError::Full`].
    #[must_use]
    pub fn is_mid_frame(&self) -> bool {
        self.open.is_some()
    }

    /// How many bytes fit before the buffer is full, growth included.
    #[must_use]
    pub fn room(&self) -> usize {
        let len = self.storage.bytes().len();
        let most = if self.storage.can_grow() { self.limit.max(len) } else { len };
        most - (self.tail - self.head)
    }

    #[cfg(feature = "http")]
    pub(crate) fn framing(&self) -> &Framing {
        &self.framing
    }

    #[cfg(feature = "http")]
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }
}

impl Tx<'_> {
    /// Writes one frame, in pieces if it must be. `key` says who writes: only the same writer may
    /// go on with an open frame.
    pub(crate) fn frame(
        &mut self,
        writer_id: WriterId,
        revision: Revision,
        write: &mut impl FnMut(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), SendError> {
        self.write(writer_id, revision, FramePart::Resumable, write)
    }

    /// Writes the beginning of a frame that is fed by hand. Until [`finish`](Self::finish) nobody else
    /// writes.
    pub(crate) fn begin(
        &mut self,
        writer_id: WriterId,
        revision: Revision,
        write: &mut impl FnMut(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), SendError> {
        self.write(writer_id, revision, FramePart::Begin, write)
    }

    /// Writes the end of a frame that was fed by hand.
    pub(crate) fn finish(
        &mut self,
        writer_id: WriterId,
        revision: Revision,
        write: &mut impl FnMut(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), SendError> {
        self.write(writer_id, revision, FramePart::End, write)
    }

    /// Puts as much of `json` into a frame that is fed by hand as fits, line breaks as spaces;
    /// returns how much that was.
    pub(crate) fn write_part(
        &mut self,
        writer_id: WriterId,
        json: &[u8],
    ) -> Result<usize, SendError> {
        if !self.open.is_some_and(|open| {
            open.writer_id == writer_id && open.mode == WriteMode::Streamed && open.sent == 0
        }) {
            return Err(SendError::NotAllowed);
        }
        if self.storage.bytes().len() - self.tail < json.len() {
            let (head, tail) = (self.head, self.tail);
            storage::move_down(self.storage.bytes_mut(), head, tail, 0);
            self.tail -= head;
            self.head = 0;
            storage::grow(&mut self.storage, (self.tail + json.len()).min(self.limit), self.limit);
        }
        let tail = self.tail;
        let out = self.storage.bytes_mut().get_mut(tail..).unwrap_or_default();
        let mut fed = 0;
        for (to, from) in out.iter_mut().zip(json) {
            *to = if matches!(from, b'\n' | b'\r') { b' ' } else { *from };
            fed += 1;
        }
        self.tail += fed;
        if fed < json.len().min(1) { Err(SendError::Full) } else { Ok(fed) }
    }

    /// Writes one frame, whole or not at all.
    pub(crate) fn whole_frame(
        &mut self,
        revision: Revision,
        write: &mut impl FnMut(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), SendError> {
        self.write(WriterId::UNKEYED, revision, FramePart::Whole, write)
    }

    /// Writes a frame with something else around it, whole or not at all.
    #[cfg(feature = "http")]
    pub(crate) fn whole_frame_with(
        &mut self,
        delimiters: Delimiters,
        write: &mut impl FnMut(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), SendError> {
        self.write_with(delimiters, WriterId::UNKEYED, Revision::LATEST, FramePart::Whole, write)
    }

    /// What comes may be answered by several frames.
    pub(crate) fn expect_several(&mut self) {
        self.framing.expect_several();
    }

    /// Whether the frame of this writer has begun and not ended.
    pub(crate) fn is_open(&self, writer_id: WriterId) -> bool {
        self.open.is_some_and(|open| open.writer_id == writer_id)
    }

    /// Whether the frame of any writer has begun and not ended.
    pub(crate) fn has_open(&self) -> bool {
        self.open.is_some()
    }

    /// Breaks an open frame off: the line ends where it is.
    pub(crate) fn abandon(&mut self, writer_id: WriterId) -> Result<(), SendError> {
        if self.is_open(writer_id) { self.abandon_open() } else { Ok(()) }
    }

    /// The same for a frame of what the application sends, whichever it is. `false` when none is
    /// open.
    pub(crate) fn abandon_application(&mut self) -> Result<bool, SendError> {
        if !self.open.is_some_and(|open| open.writer_id.is_application()) {
            return Ok(false);
        }
        self.abandon_open().map(|()| true)
    }

    fn abandon_open(&mut self) -> Result<(), SendError> {
        let open = self.open.take();
        let Some(delimiters) = self.framing.abandoned() else { return Ok(()) };
        let mut nothing = |_: &mut Writer<'_>| Ok(());
        let broken = self.write_with(
            delimiters,
            WriterId::UNKEYED,
            Revision::LATEST,
            FramePart::Whole,
            &mut nothing,
        );
        if broken.is_err() {
            self.open = open;
        }
        broken
    }

    #[cfg_attr(small, inline(never))]
    fn write(
        &mut self,
        writer_id: WriterId,
        revision: Revision,
        part: FramePart,
        body: &mut dyn Body,
    ) -> Result<(), SendError> {
        let delimiters = self.framing.delimiters(writer_id.is_response())?;
        self.write_with(delimiters, writer_id, revision, part, body)
    }

    #[cfg_attr(all(feature = "http", small), inline(never))]
    fn write_with(
        &mut self,
        delimiters: Delimiters,
        writer_id: WriterId,
        revision: Revision,
        part: FramePart,
        body: &mut dyn Body,
    ) -> Result<(), SendError> {
        let sent = match self.open {
            Some(open) if open.writer_id != writer_id => return Err(SendError::Full),
            Some(open) if open.mode == part.mode() => open.sent,
            None if part != FramePart::End => 0,
            _ => return Err(SendError::NotAllowed),
        };
        loop {
            let len = self.storage.bytes().len();
            let fixed = self.head == 0 && !(self.storage.can_grow() && len < self.limit);
            let tail = self.tail;
            let out = self.storage.bytes_mut().get_mut(tail..).unwrap_or_default();
            let mut writer = Writer::new(out, sent, revision, !fixed);
            let begun =
                if part == FramePart::End { Ok(()) } else { delimiters.write_start(&mut writer) };
            let result = begun.and_then(|()| body.write(&mut writer));
            let result = result.and_then(|()| {
                if part == FramePart::Begin { Ok(()) } else { delimiters.write_end(&mut writer) }
            });
            let (total, status) = (writer.position(), writer.status());
            match result {
                // What has begun cannot be taken back: its line ends here, or nobody could write
                // any more.
                Err(WriteError::Value) if self.open.is_some() => {
                    return self.abandon_open().and(Err(SendError::Value));
                }
                Err(WriteError::Value) => return Err(SendError::Value),
                Ok(()) if total.saturating_sub(sent) <= len - tail => {
                    self.tail += total.saturating_sub(sent);
                    self.open = (part == FramePart::Begin).then_some(OpenFrame {
                        writer_id,
                        sent: 0,
                        mode: WriteMode::Streamed,
                    });
                    self.framing.written(writer_id.is_response(), status, part != FramePart::Begin);
                    return Ok(());
                }
                // It does not fit. Make room and format again: in the steady state that never
                // happens.
                _ => {}
            }
            if self.head > 0 {
                let (head, tail) = (self.head, self.tail);
                storage::move_down(self.storage.bytes_mut(), head, tail, 0);
                self.tail -= head;
                self.head = 0;
                continue;
            }
            if !fixed
                && storage::grow(
                    &mut self.storage,
                    (self.tail + total - sent).min(self.limit),
                    self.limit,
                )
            {
                continue;
            }
            if self.tail > 0 {
                return Err(SendError::Full);
            }
            if part == FramePart::Whole || len == 0 {
                return Err(SendError::TooLarge);
            }
            // Whether the value can be written to its end is known before its beginning leaves.
            let value_fails = |result| matches!(result, Err(WriteError::Value));
            if self.open.is_none()
                && value_fails(body.write(&mut Writer::new(&mut [], 0, revision, true)))
            {
                return Err(SendError::Value);
            }
            self.tail = len;
            self.open = Some(OpenFrame { writer_id, sent: sent + len, mode: part.mode() });
            self.framing.written(writer_id.is_response(), status, false);
            return Err(SendError::Full);
        }
    }
}

/// What a frame consists of; called again when room had to be made, so it must write the same each
/// time.
///
/// A trait of its own for closures: the `dyn` of theirs also has ways to call them by value, which
/// would be made for each.
trait Body {
    fn write(&mut self, writer: &mut Writer<'_>) -> Result<(), WriteError>;
}

impl<F: FnMut(&mut Writer<'_>) -> Result<(), WriteError>> Body for F {
    fn write(&mut self, writer: &mut Writer<'_>) -> Result<(), WriteError> {
        self(writer)
    }
}

/// Who writes a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WriterId(u64);

impl WriterId {
    /// Answers that the machine gives by itself while it takes a frame.
    pub(crate) const AUTOMATIC_RESPONSE: Self = Self(1);
    /// A ping that is due.
    pub(crate) const PING: Self = Self(2);
    /// What opens a session.
    pub(crate) const CONNECT: Self = Self(3);
    const UNKEYED: Self = Self(0);

    /// What the application sends: `hash` of what it is, so that two senders who take turns do not
    /// write into one frame.
    pub(crate) const fn application(hash: u32) -> Self {
        Self(1 << 32 | hash as u64)
    }

    const fn is_application(self) -> bool {
        self.0 >> 32 == 1
    }

    /// What tells a `subscriptions/listen` of its beginning and its end before the result does.
    pub(crate) const fn subscription(slot: u16, serial: u32) -> Self {
        Self(1 << 60 | (slot as u64) << 32 | serial as u64)
    }

    /// Whether it ends a request of the peer's; else it is a notification or a request of ours.
    const fn is_response(self) -> bool {
        self.0 == Self::AUTOMATIC_RESPONSE.0 || self.0 >= 1 << 62
    }

    /// The cancellation of our request with this number.
    pub(crate) const fn cancel(number: u32) -> Self {
        Self(1 << 61 | number as u64)
    }

    /// The cancellation of our request with this number whose time is over: in other words than the
    /// application's.
    pub(crate) const fn timeout_cancel(number: u32) -> Self {
        Self(1 << 61 | 1 << 60 | number as u64)
    }

    /// The error that ends the request in this slot when its time is over.
    pub(crate) const fn timeout_error(slot: u16, serial: u32) -> Self {
        Self(1 << 62 | (slot as u64) << 32 | serial as u64)
    }

    /// The answer to the request in this slot.
    pub(crate) const fn response(slot: u16, serial: u32) -> Self {
        Self(1 << 63 | (slot as u64) << 32 | serial as u64)
    }

    /// The error in place of one that was broken off.
    pub(crate) const fn replacement(slot: u16, serial: u32) -> Self {
        Self(Self::response(slot, serial).0 | 1 << 62)
    }
}

#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    writer_id: WriterId,
    /// Bytes of the frame that have been put into the buffer so far; of its end, when it was fed
    /// by hand.
    sent: usize,
    mode: WriteMode,
}

/// How an open frame is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriteMode {
    // None is zero: a buffer in a `static` is no part of a firmware's image.
    Repeated = 1,
    Streamed = 2,
}

impl FramePart {
    /// How what is open must have been begun for this to go on with it.
    fn mode(self) -> WriteMode {
        if self == Self::End { WriteMode::Streamed } else { WriteMode::Repeated }
    }
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FramePart {
    /// A frame, in pieces if it must be.
    Resumable,
    /// A frame, or nothing.
    Whole,
    /// The beginning of a frame that is fed by hand.
    Begin,
    /// The end of one.
    End,
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{format, string::String, vec, vec::Vec};

    use super::*;
    use crate::json::{RawJson, write_value};

    const WRITER: WriterId = WriterId::response(3, 7);
    const OTHER_WRITER: WriterId = WriterId::response(3, 8);

    /// A frame in which everything is written that is written in its own way.
    fn body(writer: &mut Writer<'_>) -> Result<(), WriteError> {
        writer.put(b"[")?;
        writer.string("text with \"escapes\" and \u{e9}\n")?;
        writer.put(b",")?;
        writer.raw("{ \"raw\" :\r\n[ 1 ] }")?;
        writer.put(b",\"")?;
        writer.base64(
            b"some bytes, more than one chunk of them, so that they are encoded piece by piece",
        )?;
        writer.put(b"\",")?;
        writer.unsigned(18_446_744_073_709_551_615)?;
        writer.put(b",")?;
        writer.signed(i64::MIN)?;
        writer.put(b",")?;
        writer.plain(&1.5e-300)?;
        writer.put(b",\"")?;
        writer.display(&"\u{1f}\\")?;
        writer.put(b"\"]")
    }

    fn whole() -> Vec<u8> {
        let mut tx = TxBuffer::new([0; 1024]);
        let tx: &mut Tx<'_> = &mut tx;
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Ok(()));
        tx.pending().to_vec()
    }

    /// Sends what is pending, `most` bytes at a time, until the call succeeds.
    fn pieces(tx: &mut Tx<'_>, most: usize) -> Vec<u8> {
        let mut sent = Vec::new();
        for _ in 0..10_000 {
            let result = tx.frame(WRITER, Revision::LATEST, &mut body);
            let n = most.min(tx.pending().len());
            sent.extend_from_slice(&tx.pending()[..n]);
            tx.advance(n);
            match result {
                Ok(()) => {
                    sent.extend_from_slice(tx.pending());
                    tx.advance(usize::MAX);
                    assert!(tx.is_idle());
                    return sent;
                }
                Err(e) => assert!(e.is_full(), "{e}"),
            }
        }
        panic!("no end");
    }

    #[test]
    fn a_frame_is_the_same_in_pieces_of_any_size() {
        let whole = whole();
        assert_eq!(whole.iter().filter(|b| matches!(b, b'\n' | b'\r')).count(), 1);
        assert_eq!(whole.last(), Some(&b'\n'));
        for size in (1..=whole.len() + 1)
            .filter(|size| *size < 70 || size % 9 == 0 || size.abs_diff(whole.len()) < 3)
        {
            for most in [1, 64, usize::MAX] {
                assert_eq!(
                    pieces(&mut TxBuffer::new(&mut vec![0; size][..]), most),
                    whole,
                    "{size} {most}"
                );
                #[cfg(feature = "alloc")]
                assert_eq!(
                    pieces(&mut TxBuffer::with_limit(Vec::new(), size), most),
                    whole,
                    "{size} {most}"
                );
            }
        }
    }

    #[test]
    fn a_frame_begins_behind_what_is_pending_and_waits_where_it_does_not_fit() {
        let whole = whole();
        for room in 0..=whole.len() {
            let mut storage = vec![0; whole.len() + 4];
            let mut tx = TxBuffer::new(&mut storage[..]);
            let tx: &mut Tx<'_> = &mut tx;
            let before = format!("\"{}\"", "x".repeat(whole.len() + 1 - room));
            assert_eq!(tx.whole_frame(Revision::LATEST, &mut |w| w.raw(&before)), Ok(()));
            let taken = before.len() + 1;
            let expected = if room == whole.len() { Ok(()) } else { Err(SendError::Full) };
            assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), expected, "{room}");
            assert_eq!(tx.pending().len(), taken + if expected.is_ok() { whole.len() } else { 0 });
            tx.advance(taken);
            if expected.is_err() {
                assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Ok(()));
            }
            assert_eq!(tx.pending(), whole);
        }
    }

    #[test]
    fn others_wait_while_a_frame_is_open() {
        let mut tx = TxBuffer::new([0; 16]);
        let tx: &mut Tx<'_> = &mut tx;
        assert_eq!(tx.whole_frame(Revision::LATEST, &mut body), Err(SendError::TooLarge));
        assert!(tx.is_idle());
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
        assert!(tx.is_mid_frame());
        tx.advance(16);
        assert_eq!(tx.frame(OTHER_WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
        assert_eq!(tx.whole_frame(Revision::LATEST, &mut |w| w.put(b"1")), Err(SendError::Full));
        assert!(
            tx.is_open(WRITER)
                && !tx.is_open(OTHER_WRITER)
                && tx.is_mid_frame()
                && tx.pending().is_empty()
        );
        assert_eq!(pieces(tx, 16), whole()[16..]);
        assert!(!tx.is_mid_frame());
    }

    /// Storage that remembers how it has grown.
    #[derive(Default)]
    struct Growing {
        bytes: Vec<u8>,
        sizes: Vec<usize>,
    }

    impl Storage for Growing {
        fn bytes(&self) -> &[u8] {
            &self.bytes
        }
        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.bytes
        }
        fn try_grow(&mut self, len: usize) -> bool {
            self.sizes.push(len);
            self.bytes.resize(len, 0);
            true
        }
        fn can_grow(&self) -> bool {
            true
        }
    }

    #[test]
    fn storage_grows_once_to_what_a_frame_needs_and_at_least_to_its_double() {
        let frame = |tx: &mut Tx<'_>, len: usize| {
            let text = "x".repeat(len - 3);
            assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut |w| w.string(&text)), Ok(()));
        };
        for (frames, limit, sizes) in [
            (&[1000][..], 10_000, &[1024][..]),
            (&[1000, 24], 10_000, &[1024]),
            (&[1000, 25], 10_000, &[1024, 2048]),
            (&[1000, 3000], 10_000, &[1024, 4000]),
            (&[5000, 4000, 1000], 10_000, &[5000, 10_000]),
            (&[900], 900, &[900]),
        ] {
            let mut tx = TxBuffer::with_limit(Growing::default(), limit);
            for len in frames {
                frame(&mut tx, *len);
            }
            assert_eq!(tx.storage.sizes, sizes, "{frames:?}");
            assert_eq!(
                (tx.pending().len(), tx.room()),
                (frames.iter().sum(), limit - frames.iter().sum::<usize>())
            );
        }
        // Fed bytes.
        let mut tx = TxBuffer::with_limit(Growing { bytes: vec![0; 16], sizes: vec![] }, 10_000);
        let fed = |tx: &mut Tx<'_>, len: usize| {
            assert_eq!(tx.write_part(WRITER, &vec![b'1'; len]), Ok(len))
        };
        assert_eq!(
            (&mut tx as &mut Tx<'_>).begin(WRITER, Revision::LATEST, &mut |w| w.put(b"[")),
            Ok(())
        );
        fed(&mut tx, 15);
        assert_eq!(tx.storage.sizes, [0; 0], "it fits");
        fed(&mut tx, 1);
        assert_eq!(tx.storage.sizes, [1024]);
        tx.advance(usize::MAX);
        fed(&mut tx, 5000);
        assert_eq!(tx.storage.sizes, [1024, 5000]);
        assert_eq!((&mut tx as &mut Tx<'_>).write_part(WRITER, &[b'1'; 6000]), Ok(5000));
        assert_eq!(tx.storage.sizes, [1024, 5000, 10_000]);
    }

    #[test]
    fn an_open_frame_is_abandoned_or_goes_on_where_it_was() {
        let mut tx = TxBuffer::new([0; 16]);
        let tx: &mut Tx<'_> = &mut tx;
        assert_eq!(tx.abandon(WRITER), Ok(()));
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
        assert!(tx.is_mid_frame());
        // No room for the end of the line: nothing happened, and the frame may still be finished.
        assert_eq!(tx.abandon(WRITER), Err(SendError::Full));
        assert_eq!(tx.abandon(OTHER_WRITER), Ok(()));
        assert!(tx.is_open(WRITER));
        let first: Vec<u8> = tx.pending().into();
        tx.advance(16);
        assert_eq!([first, pieces(tx, 16)].concat(), whole());

        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
        assert!(tx.is_mid_frame());
        tx.advance(16);
        assert_eq!(tx.abandon(WRITER), Ok(()));
        assert_eq!(tx.pending(), b"\n");
        assert!(!tx.is_open(WRITER));
    }

    #[test]
    fn a_value_that_fails_leaves_nothing_behind() {
        let mut tx = TxBuffer::new([0; 64]);
        let tx: &mut Tx<'_> = &mut tx;
        let mut failing =
            |writer: &mut Writer<'_>| writer.put(b"beginning").and(Err(WriteError::Value));
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut failing), Err(SendError::Value));
        assert!(tx.is_idle());
    }

    #[test]
    fn raw_json_that_is_no_string_is_no_key() {
        struct Keyed(RawJson<'static>);
        impl serde::Serialize for Keyed {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map([(self.0, 1)])
            }
        }
        let mut tx = TxBuffer::new([0; 64]);
        let tx: &mut Tx<'_> = &mut tx;
        let number = Keyed(RawJson::from_static("1"));
        assert_eq!(
            tx.frame(WRITER, Revision::LATEST, &mut |w| write_value(w, &number)),
            Err(SendError::Value)
        );
        let string = Keyed(RawJson::from_static("\"a\""));
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut |w| write_value(w, &string)), Ok(()));
        assert_eq!(tx.pending(), b"{\"a\":1}\n");
    }

    #[test]
    fn a_value_that_fails_says_so_whatever_waits_to_be_sent() {
        let mut failing =
            |writer: &mut Writer<'_>| writer.put(b"beginning").and(Err(WriteError::Value));
        for size in [16, 64] {
            let mut storage = [0; 64];
            let mut tx = TxBuffer::new(&mut storage[..size]);
            let tx: &mut Tx<'_> = &mut tx;
            assert_eq!(tx.whole_frame(Revision::LATEST, &mut |w| w.put(b"1")), Ok(()));
            assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut failing), Err(SendError::Value));
            assert_eq!(tx.pending(), b"1\n");
        }
    }

    #[test]
    fn room_is_what_the_buffer_or_its_limit_has_left() {
        let mut fixed = TxBuffer::new([0; 16]);
        assert!(fixed.room() == 16 && !fixed.is_mid_frame() && fixed.is_idle());
        let tx: &mut Tx<'_> = &mut fixed;
        for _ in 0..2 {
            assert_eq!(tx.whole_frame(Revision::LATEST, &mut |w| w.put(b"123")), Ok(()));
        }
        assert_eq!(tx.room(), 8);
        // Taken bytes make room, although they are not moved away yet.
        tx.advance(4);
        assert_eq!((tx.room(), tx.pending()), (12, &b"123\n"[..]));
        tx.advance(usize::MAX);
        assert_eq!(tx.room(), 16);
        // Storage that grows has room up to the limit, or what it has already.
        #[cfg(feature = "alloc")]
        for (len, limit, room) in [(0, 100, 100), (30, 100, 100), (30, 20, 30)] {
            assert_eq!(TxBuffer::with_limit(vec![0; len], limit).room(), room);
        }
    }

    #[test]
    fn a_frame_is_fed_by_the_one_who_began_it_and_only_between_its_beginning_and_its_end() {
        let (mut begin, mut end) =
            (|w: &mut Writer<'_>| w.put(b"["), |w: &mut Writer<'_>| w.put(b"] and a long end"));
        let mut tx = TxBuffer::new([0; 8]);
        let tx: &mut Tx<'_> = &mut tx;
        assert_eq!(tx.write_part(WRITER, b"1"), Err(SendError::NotAllowed));
        assert_eq!(tx.finish(WRITER, Revision::LATEST, &mut end), Err(SendError::NotAllowed));
        assert_eq!(tx.begin(WRITER, Revision::LATEST, &mut begin), Ok(()));
        assert_eq!(tx.begin(WRITER, Revision::LATEST, &mut begin), Err(SendError::NotAllowed));
        assert_eq!(tx.write_part(OTHER_WRITER, b"1"), Err(SendError::NotAllowed));
        assert_eq!(tx.write_part(WRITER, b""), Ok(0));
        // As much as fits, line breaks as spaces.
        assert_eq!(tx.write_part(WRITER, b"1,\r\n2,3,4"), Ok(7));
        assert_eq!(tx.pending(), b"[1,  2,3");
        assert_eq!(
            (tx.write_part(WRITER, b",4"), tx.write_part(WRITER, b"")),
            (Err(SendError::Full), Ok(0))
        );
        tx.advance(6);
        assert_eq!((tx.write_part(WRITER, b",4,5"), tx.pending()), (Ok(4), &b",3,4,5"[..]));
        tx.advance(2);
        // A piece that fits exactly, behind what waits, after what has been taken.
        assert_eq!((tx.write_part(WRITER, b",6,7"), tx.pending()), (Ok(4), &b",4,5,6,7"[..]));
        tx.advance(usize::MAX);
        // The end is longer than the buffer: once it has begun nothing more is fed.
        assert_eq!(tx.finish(WRITER, Revision::LATEST, &mut end), Err(SendError::Full));
        assert!(tx.is_mid_frame());
        assert_eq!(tx.write_part(WRITER, b"8"), Err(SendError::NotAllowed));
        tx.advance(usize::MAX);
        assert_eq!(tx.finish(WRITER, Revision::LATEST, &mut end), Err(SendError::Full));
        assert!(tx.is_mid_frame());
        tx.advance(usize::MAX);
        assert_eq!(
            (tx.finish(WRITER, Revision::LATEST, &mut end), tx.pending()),
            (Ok(()), &b"\n"[..])
        );
        // A frame that is written from values is not fed.
        tx.advance(usize::MAX);
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::Full));
        assert!(tx.is_mid_frame());
        tx.advance(usize::MAX);
        assert_eq!(tx.write_part(WRITER, b"1"), Err(SendError::NotAllowed));
    }

    #[test]
    #[cfg(feature = "alloc")]
    fn storage_grows_for_what_is_fed_up_to_its_limit() {
        let mut tx = TxBuffer::with_limit(Vec::new(), 3000);
        let tx: &mut Tx<'_> = &mut tx;
        assert_eq!(
            tx.begin(WRITER, Revision::LATEST, &mut |w: &mut Writer<'_>| w.put(b"[")),
            Ok(())
        );
        let (short, long) = (vec![b'1'; 1000], vec![b'2'; 2500]);
        assert_eq!(tx.write_part(WRITER, &short), Ok(1000));
        assert_eq!((tx.write_part(WRITER, &long), tx.pending().len()), (Ok(1999), 3000));
        assert_eq!(tx.write_part(WRITER, &long), Err(SendError::Full));
        tx.advance(3000);
        assert_eq!(tx.write_part(WRITER, &long), Ok(2500));
    }

    #[test]
    fn those_who_write_have_keys_of_their_own_that_say_what_they_write() {
        let (most, last) = (u32::MAX, u16::MAX - 1);
        let mut keys = vec![
            (WriterId::UNKEYED, false, false),
            (WriterId::AUTOMATIC_RESPONSE, false, true),
            (WriterId::PING, false, false),
        ];
        keys.push((WriterId::CONNECT, false, false));
        for number in [0, 1, most] {
            keys.extend([
                (WriterId::application(number), true, false),
                (WriterId::cancel(number), false, false),
            ]);
            keys.push((WriterId::timeout_cancel(number), false, false));
            for slot in [0, 1, last] {
                keys.extend([
                    (WriterId::subscription(slot, number), false, false),
                    (WriterId::timeout_error(slot, number), false, true),
                ]);
                keys.extend([(WriterId::response(slot, number), false, true)]);
                keys.extend([(WriterId::replacement(slot, number), false, true)]);
            }
        }
        for (at, (writer_id, sent, response)) in keys.iter().enumerate() {
            assert_eq!(
                (writer_id.is_application(), writer_id.is_response()),
                (*sent, *response),
                "{writer_id:?}"
            );
            assert!(
                keys.iter().skip(at + 1).all(|(other, ..)| other != writer_id),
                "{writer_id:?}"
            );
        }
    }

    #[test]
    fn without_capacity_everything_is_too_large() {
        let mut tx = TxBuffer::new([0; 0]);
        let tx: &mut Tx<'_> = &mut tx;
        assert_eq!(tx.frame(WRITER, Revision::LATEST, &mut body), Err(SendError::TooLarge));
        assert_eq!(tx.abandon(WRITER), Ok(()));
        assert!(tx.is_idle() && String::from_utf8_lossy(tx.pending()).is_empty());
    }
}
