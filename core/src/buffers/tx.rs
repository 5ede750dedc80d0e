//! Writing of frames: each completely or not at all, except that a frame longer than the buffer is
//! written in parts.

#[cfg(all(test, feature = "alloc"))]
mod tests;

use super::Storage;
use super::framing::{Delimiters, Framing};
use crate::buffers;
use crate::encode::{Encoder, Tracker};
use crate::protocol::Revision;
use crate::protocol::error::{NotAllowed, SendError, SendResult};

/// Holds complete frames until the transport takes them.
///
/// The core writes; the adapter sends [`pending`](Self::pending) and reports the number of sent
/// bytes with [`advance`](Self::advance).
#[derive(Debug)]
#[must_use]
pub struct TxBuffer<S: Storage + ?Sized> {
    head: usize,
    tail: usize,
    /// The frame whose beginning has been written and whose end has not.
    open: Option<OpenFrame>,
    /// Where the next part of the open frame begins.
    tracker: Tracker,
    framing: Framing,
    /// `None` if calls go through all of a long frame; otherwise whether one has stopped.
    #[cfg(not(small))]
    stopped: Option<bool>,
    limit: usize,
    storage: S,
}

/// Maximum number of bytes of an outcome that one step of a [`Connection`](crate::Connection), or
/// of a site over HTTP, goes through. One that is longer takes several steps, before its first byte
/// leaves as well as after. On bare metal it is checked in one step, to save flash.
pub const STEP_OUTPUT: usize = 64 << 10;

/// The buffer that session methods take: `&mut TxBuffer<[u8; 512]>` coerces to `&mut Tx`.
pub type Tx<'s> = TxBuffer<dyn Storage + 's>;

impl<S: Storage> TxBuffer<S> {
    /// Creates a buffer that uses all of `storage` and never grows.
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// Creates a buffer whose storage may grow up to `limit` bytes. Longer frames are written in
    /// parts.
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        Self {
            head: 0,
            tail: 0,
            open: None,
            tracker: Tracker::START,
            framing: Framing::Lines,
            #[cfg(not(small))]
            stopped: None,
            limit,
            storage,
        }
    }

    /// Takes the storage out, for another buffer. Nothing is pending here any more.
    pub fn take_storage(&mut self) -> S
    where
        S: Default,
    {
        self.clear();
        core::mem::take(&mut self.storage)
    }

    /// Changes the framing, which is lines by default.
    #[cfg(feature = "http")]
    pub(crate) const fn with_framing(mut self, framing: Framing) -> Self {
        self.framing = framing;
        self
    }

    /// Repeats `call` until it returns something other than
    /// [`Full`](SendError::Full); before each repetition all pending bytes are written out.
    ///
    /// `write` writes some of the given bytes and returns their number, as `std::io::Write::write`
    /// does. It must wait until the transport takes at least one byte, or fail.
    ///
    /// ```
    /// use mcp_sansio::types::Implementation;
    /// use mcp_sansio::{ClientConfig, ClientFeatures, ClientState, Instant, SendError, TxBuffer};
    /// # fn main() -> Result<(), SendError> {
    /// let config = ClientConfig::new(Implementation::new("c", "1"), ClientFeatures::NONE);
    /// let mut state: ClientState = ClientState::new();
    /// let mut client = state.client(&config);
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
    /// Those of `write`, and those of `call` except `Full`. `Full` is returned only if nothing is
    /// pending and there is still no room, because a frame of another call is open
    /// ([`is_mid_frame`](Self::is_mid_frame)).
    pub fn send<R, E: From<SendError>>(
        &mut self,
        mut write: impl FnMut(&[u8]) -> Result<usize, E>,
        mut call: impl FnMut(&mut Tx<'_>) -> SendResult<R>,
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
    /// Writes all [`pending`](Self::pending) bytes out, with as many calls of `write` as needed: a
    /// `write` that returns 0 is called again at once, so it has to wait or to fail. Call it before
    /// each wait for input.
    ///
    /// # Errors
    /// Those of `write`. Bytes that it took before are removed from the buffer.
    pub fn drain<E>(&mut self, mut write: impl FnMut(&[u8]) -> Result<usize, E>) -> Result<(), E> {
        while !self.pending().is_empty() {
            let written = write(self.pending())?;
            self.advance(written);
        }
        Ok(())
    }

    /// Returns the bytes that wait to be sent.
    pub fn pending(&self) -> &[u8] {
        self.storage.bytes().get(self.head..self.tail).unwrap_or_default()
    }

    /// Returns the number of [`pending`](Self::pending) bytes.
    pub const fn pending_len(&self) -> usize {
        self.tail - self.head
    }

    /// Removes the first `n` bytes of [`pending`](Self::pending), which the transport has taken.
    pub fn advance(&mut self, n: usize) {
        self.head = self.head.saturating_add(n).min(self.tail);
        if self.head == self.tail {
            self.clear_pending();
        }
    }

    /// Forgets the pending bytes and the open frame, for the next peer.
    pub fn clear(&mut self) {
        self.clear_pending();
        self.open = None;
    }

    fn clear_pending(&mut self) {
        (self.head, self.tail) = (0, 0);
        #[cfg(feature = "http")]
        if let Framing::Post(written) = &mut self.framing {
            *written = None;
        }
    }

    /// Returns whether nothing is pending and no frame is open.
    pub fn is_idle(&self) -> bool {
        self.head == self.tail && self.open.is_none()
    }

    /// Returns whether a frame is open, that is partly written or checked. Only the call that began
    /// it can continue; all others return [`SendError::Full`].
    pub fn is_mid_frame(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the number of bytes that can be written before the buffer is full, growth included.
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
    /// Writes one frame, in parts if necessary. Only the same writer may continue an open frame.
    pub(crate) fn frame(
        &mut self,
        writer_id: WriterId,
        revision: Revision,
        write: &mut impl FnMut(&mut Encoder<'_>),
    ) -> SendResult {
        self.write(writer_id, revision, FramePart::Resumable, write)
    }

    /// Makes calls that go through at most [`STEP_OUTPUT`] bytes of a long frame, before its first
    /// byte leaves as well as after. Returns whether one has stopped before there was a piece to
    /// send: it is to be repeated although nothing is pending.
    ///
    /// Where flash is scarce, calls go through all of a frame: the code for less takes 800 bytes.
    pub(crate) fn in_slices(&mut self, calls: impl FnOnce(&mut Self)) -> bool {
        self.set_stopped(Some(false));
        calls(self);
        let has_stopped = self.stopped() == Some(true);
        self.set_stopped(None);
        has_stopped
    }

    fn stopped(&self) -> Option<bool> {
        #[cfg(not(small))]
        return self.stopped;
        #[cfg(small)]
        None
    }

    fn set_stopped(&mut self, stopped: Option<bool>) {
        #[cfg(not(small))]
        (self.stopped = stopped);
        let _ = stopped;
    }

    /// Writes the beginning of a streamed frame, which stays open until [`finish`](Self::finish).
    pub(crate) fn begin(
        &mut self,
        writer_id: WriterId,
        revision: Revision,
        write: &mut impl FnMut(&mut Encoder<'_>),
    ) -> SendResult {
        self.write(writer_id, revision, FramePart::Begin, write)
    }

    /// Writes the end of a streamed frame.
    pub(crate) fn finish(
        &mut self,
        writer_id: WriterId,
        revision: Revision,
        write: &mut impl FnMut(&mut Encoder<'_>),
    ) -> SendResult {
        self.write(writer_id, revision, FramePart::End, write)
    }

    /// Writes as much of `json` into a streamed frame as fits, with line breaks replaced by spaces.
    /// Returns the number of bytes written.
    pub(crate) fn write_part(&mut self, writer_id: WriterId, json: &[u8]) -> SendResult<usize> {
        if !self.open.is_some_and(|open| {
            open.writer_id == writer_id && open.mode == WriteMode::Streamed && open.sent == 0
        }) {
            return Err(SendError::NotAllowed(NotAllowed::OutOfOrder));
        }
        if self.storage.bytes().len() - self.tail < json.len() {
            self.move_down();
            buffers::grow(&mut self.storage, (self.tail + json.len()).min(self.limit), self.limit);
        }
        let tail = self.tail;
        let out = self.storage.bytes_mut().get_mut(tail..).unwrap_or_default();
        let mut written = 0;
        for (to, from) in out.iter_mut().zip(json) {
            *to = if matches!(from, b'\n' | b'\r') { b' ' } else { *from };
            written += 1;
        }
        self.tail += written;
        if written < json.len().min(1) { Err(SendError::Full) } else { Ok(written) }
    }

    /// Writes one frame, completely or not at all.
    pub(crate) fn whole_frame(
        &mut self,
        revision: Revision,
        write: &mut impl FnMut(&mut Encoder<'_>),
    ) -> SendResult {
        self.write(WriterId::UNKEYED, revision, FramePart::Whole, write)
    }

    /// Writes one frame with other delimiters, completely or not at all.
    #[cfg(feature = "http")]
    pub(crate) fn whole_frame_with(
        &mut self,
        delimiters: Delimiters,
        write: &mut impl FnMut(&mut Encoder<'_>),
    ) -> SendResult {
        self.write_with(delimiters, WriterId::UNKEYED, Revision::LATEST, FramePart::Whole, write)
    }

    /// Announces that the request body is a batch, which may cause several frames.
    pub(crate) fn expect_batch(&mut self) {
        self.framing.expect_batch();
    }

    /// Returns whether the open frame is of this writer.
    pub(crate) fn is_open(&self, writer_id: WriterId) -> bool {
        self.open.is_some_and(|open| open.writer_id == writer_id)
    }

    /// Returns whether a frame is open.
    pub(crate) fn has_open(&self) -> bool {
        self.open.is_some()
    }

    /// Prevents all frames until [`unlock`](Self::unlock). Returns `false` and does nothing if a
    /// frame is open.
    pub(crate) fn lock(&mut self) -> bool {
        let is_free = self.open.is_none();
        if is_free {
            let (writer_id, mode) = (WriterId::LOCK, WriteMode::Repeated);
            self.open = Some(OpenFrame { writer_id, sent: 0, mode });
        }
        is_free
    }

    /// Returns whether a frame is open of which nothing has been written.
    pub(crate) fn is_checking(&self) -> bool {
        self.open.is_some_and(|open| open.is_checked())
    }

    /// Ends [`lock`](Self::lock).
    pub(crate) fn unlock(&mut self) {
        self.open = None;
    }

    /// Abandons the open frame, if it is of this writer: its line ends here.
    pub(crate) fn abandon(&mut self, writer_id: WriterId) -> SendResult {
        if self.is_open(writer_id) { self.abandon_open() } else { Ok(()) }
    }

    /// Abandons the open frame, if the application sends it. Returns whether it did.
    pub(crate) fn abandon_application(&mut self) -> SendResult<bool> {
        if self.open.is_some_and(|open| open.writer_id.is_application()) {
            self.abandon_any()
        } else {
            Ok(false)
        }
    }

    /// Abandons the open frame. Returns whether there was one.
    pub(crate) fn abandon_any(&mut self) -> SendResult<bool> {
        if self.open.is_none() {
            return Ok(false);
        }
        self.abandon_open().map(|()| true)
    }

    /// Abandons a frame whose beginning has been sent and which nothing goes on with. Returns
    /// whether there was one. A streamed frame awaits the data of its source.
    pub(crate) fn abandon_orphan(&mut self) -> bool {
        self.head == self.tail
            && self.open.is_some_and(|open| open.mode != WriteMode::Streamed)
            && self.abandon_open().is_ok()
    }

    fn abandon_open(&mut self) -> SendResult {
        let open = self.open.take();
        if open.is_some_and(|open| open.is_checked()) {
            return Ok(());
        }
        let Some(delimiters) = self.framing.abandoned() else {
            #[cfg(feature = "http")]
            if let Framing::Post(_) = self.framing {
                self.clear_pending();
            }
            return Ok(());
        };
        let mut nothing = |_: &mut Encoder<'_>| {};
        let result = self.write_with(
            delimiters,
            WriterId::UNKEYED,
            Revision::LATEST,
            FramePart::Whole,
            &mut nothing,
        );
        if result.is_err() {
            self.open = open;
        }
        result
    }

    /// Moves the pending bytes to the front.
    fn move_down(&mut self) {
        let (head, tail) = (self.head, self.tail);
        buffers::move_down(self.storage.bytes_mut(), head, tail, 0);
        self.tail -= head;
        self.head = 0;
    }

    fn write(
        &mut self,
        writer_id: WriterId,
        revision: Revision,
        part: FramePart,
        body: &mut dyn Body,
    ) -> SendResult {
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
    ) -> SendResult {
        let (mut sent, mut mode) = match self.open {
            Some(open) if open.writer_id != writer_id => return Err(SendError::Full),
            Some(open) if open.mode == part.mode() => (open.sent, open.mode),
            Some(open) if open.is_checked() && part == FramePart::Resumable => {
                (open.sent, open.mode)
            }
            None if part != FramePart::End => (0, part.mode()),
            _ => return Err(SendError::NotAllowed(NotAllowed::OutOfOrder)),
        };
        if sent > 0 && self.tail > 0 {
            return Err(SendError::Full);
        }
        let is_sliced = self.stopped().is_some() && part == FramePart::Resumable;
        let most = if is_sliced { STEP_OUTPUT } else { usize::MAX };
        let mut left = most;
        // A frame that fits is written without looking for places to go on from.
        let mut is_tracked = sent > 0 || self.open.is_some_and(|open| open.is_checked());
        loop {
            if cfg!(not(small)) && mode == WriteMode::Kept {
                let end = sent.saturating_add(left).min(self.limit);
                if self.storage.bytes().len() < end {
                    buffers::grow(&mut self.storage, end, self.limit);
                }
                if self.storage.bytes().len() <= sent {
                    mode = WriteMode::Checked;
                }
            }
            let is_kept = cfg!(not(small)) && mode == WriteMode::Kept;
            let start = if is_kept { sent } else { self.tail };
            let len = self.storage.bytes().len().saturating_sub(start).min(left);
            let out = self.storage.bytes_mut().get_mut(start..).unwrap_or_default();
            let out = out.get_mut(..len).unwrap_or_default();
            let mut writer = Encoder::new(out, sent, revision);
            if is_tracked {
                writer.track(&mut self.tracker);
            } else {
                writer.stop_behind(most);
            }
            if part != FramePart::End {
                delimiters.write_start(&mut writer);
            }
            body.write(&mut writer);
            if part != FramePart::Begin {
                delimiters.write_end(&mut writer);
            }
            writer.end_piece();
            let (total, status) = (writer.position(), writer.status());
            let is_end = total.saturating_sub(sent) <= len;
            match writer.is_invalid() {
                // The written part cannot be taken back. Its line ends here; otherwise no other
                // frame could be written.
                Some(rule) if self.open.is_some() => {
                    return self.abandon_open().and(Err(SendError::Invalid(rule)));
                }
                Some(rule) => return Err(SendError::Invalid(rule)),
                None if is_end && (cfg!(small) || mode != WriteMode::Checked) => {
                    self.tail = start + total.saturating_sub(sent);
                    self.open = (part == FramePart::Begin).then_some(OpenFrame {
                        writer_id,
                        sent: 0,
                        mode: WriteMode::Streamed,
                    });
                    let is_whole = part != FramePart::Begin;
                    self.framing.written(writer_id.is_response(), status, revision, is_whole);
                    return Ok(());
                }
                // It does not fit: make room and serialize again. This does not happen in the
                // steady state.
                None => {}
            }
            if cfg!(not(small))
                && let WriteMode::Kept | WriteMode::Checked = mode
            {
                if len == 0 {
                    self.open = None;
                    return Err(SendError::TooLarge);
                }
                (sent, left) = (sent + len, left - len);
                if is_end {
                    // It can be written: from its beginning.
                    self.tracker.restart();
                    (sent, mode) = (0, WriteMode::Repeated);
                }
                self.open = Some(OpenFrame { writer_id, sent, mode });
                if left == 0 || is_end && is_sliced {
                    self.set_stopped(Some(true));
                    return Err(SendError::Full);
                }
                continue;
            }
            let is_long = is_sliced && !is_tracked && total > most;
            if self.head > 0 && !is_long {
                self.move_down();
                continue;
            }
            if !is_tracked
                && !is_long
                && buffers::grow(&mut self.storage, (start + total).min(self.limit), self.limit)
            {
                continue;
            }
            if self.tail > 0 {
                return Err(SendError::Full);
            }
            if is_long {
                self.tracker.restart();
                self.open = Some(OpenFrame { writer_id, sent: 0, mode: WriteMode::Kept });
                self.set_stopped(Some(true));
                return Err(SendError::Full);
            }
            if part == FramePart::Whole || len == 0 {
                return Err(SendError::TooLarge);
            }
            if !is_tracked {
                self.tracker.restart();
                is_tracked = true;
                continue;
            }
            self.tail = len;
            self.open = Some(OpenFrame { writer_id, sent: sent + len, mode: part.mode() });
            self.framing.written(writer_id.is_response(), status, revision, false);
            return Err(SendError::Full);
        }
    }
}

/// The content of a frame. It is written again when room had to be made, so it must write the same
/// bytes each time.
///
/// Not `dyn FnMut`: its vtable also contains `call_once`, which costs code per closure.
trait Body {
    fn write(&mut self, writer: &mut Encoder<'_>);
}

impl<F: FnMut(&mut Encoder<'_>)> Body for F {
    fn write(&mut self, writer: &mut Encoder<'_>) {
        self(writer);
    }
}

#[derive(Clone, Copy, Debug)]
struct OpenFrame {
    writer_id: WriterId,
    /// Number of bytes written, or checked, of the frame; of a streamed frame, only those of its
    /// end.
    sent: usize,
    mode: WriteMode,
}

impl OpenFrame {
    /// Returns whether nothing of the frame has been written yet.
    fn is_checked(self) -> bool {
        match self.mode {
            _ if cfg!(small) => false,
            WriteMode::Kept | WriteMode::Checked => true,
            WriteMode::Repeated => self.sent == 0,
            WriteMode::Streamed => false,
        }
    }
}

/// The way in which an open frame is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriteMode {
    // Nonzero discriminants keep the initial state all zero, so that a `static` buffer stays in
    // `.bss`.
    Repeated = 1,
    Streamed = 2,
    /// Goes through the frame before its first byte leaves, since a value that cannot be written is
    /// an error response then. The pieces stay behind the pending bytes, where they are the frame
    /// if all of them find room.
    Kept = 3,
    /// The same, after one that did not: pieces are written over each other, and then again.
    Checked = 4,
}

/// The part of a frame that a call writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FramePart {
    /// A whole frame, in several calls if it is longer than the buffer.
    Resumable,
    /// A whole frame, in one call.
    Whole,
    /// The beginning of a streamed frame.
    Begin,
    /// The end of a streamed frame.
    End,
}

impl FramePart {
    /// Returns the mode of the open frames that this part can continue.
    fn mode(self) -> WriteMode {
        if self == Self::End { WriteMode::Streamed } else { WriteMode::Repeated }
    }
}

/// The state of a call that may have found no room. Each attempt reads or serializes its message
/// anew, so it is repeated only after half of the pending bytes have been taken, or all of them if
/// it is in the middle of its frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    /// Maximum number of pending bytes at which the call is repeated.
    enough: usize,
}

impl Backoff {
    pub(crate) const NEW: Self = Self { enough: usize::MAX };

    pub(crate) const fn is_blocked(self) -> bool {
        self.enough < usize::MAX
    }

    pub(crate) fn may_retry<W: Storage + ?Sized>(self, tx: &TxBuffer<W>) -> bool {
        tx.pending_len() <= self.enough
    }

    pub(crate) fn failed<W: Storage + ?Sized>(&mut self, tx: &TxBuffer<W>) {
        self.enough = if tx.is_mid_frame() { 0 } else { tx.pending_len() / 2 };
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::NEW;
    }
}

/// Identifies the writer of an open frame, since only the same writer may continue it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WriterId {
    /// Bits of the kind, and the slot if there is one.
    kind: u32,
    number: u32,
}

impl WriterId {
    /// A response that the state machine sends on its own when it receives a request.
    pub(crate) const AUTOMATIC_RESPONSE: Self = Self::new(0, 1);
    /// A keep-alive ping.
    pub(crate) const PING: Self = Self::new(0, 2);
    /// `initialize` or `server/discover`.
    pub(crate) const CONNECT: Self = Self::new(0, 3);
    /// The writer of no frame, while `Tx::lock` prevents all of them.
    const LOCK: Self = Self::new(0, 4);
    const UNKEYED: Self = Self::new(0, 0);

    const fn new(kind: u32, number: u32) -> Self {
        Self { kind, number }
    }

    /// A message that the application sends. `hash` distinguishes messages, so that two senders
    /// that take turns do not write into one frame.
    pub(crate) const fn application(hash: u32) -> Self {
        Self::new(1, hash)
    }

    const fn is_application(self) -> bool {
        self.kind == 1
    }

    /// The notifications of a `subscriptions/listen` request before its result.
    pub(crate) const fn subscription(slot: u16, serial: u32) -> Self {
        Self::new(1 << 28 | slot as u32, serial)
    }

    /// Returns whether the frame is a response; otherwise it is a notification or a call.
    const fn is_response(self) -> bool {
        self.kind >= 1 << 30 || self.kind == 0 && self.number == Self::AUTOMATIC_RESPONSE.number
    }

    /// The `notifications/cancelled` of the call with this number.
    pub(crate) const fn cancel(number: u32) -> Self {
        Self::new(1 << 29, number)
    }

    /// The `notifications/cancelled` of a call that timed out. Its reason differs from the
    /// application's.
    pub(crate) const fn timeout_cancel(number: u32) -> Self {
        Self::new(1 << 29 | 1 << 28, number)
    }

    /// The error response to the request in this slot when it times out.
    pub(crate) const fn timeout_error(slot: u16, serial: u32) -> Self {
        Self::new(1 << 30 | slot as u32, serial)
    }

    /// The response to the request in this slot.
    pub(crate) const fn response(slot: u16, serial: u32) -> Self {
        Self::new(1 << 31 | slot as u32, serial)
    }

    /// The error response in place of a response that was abandoned.
    pub(crate) const fn replacement(slot: u16, serial: u32) -> Self {
        Self::new(1 << 31 | 1 << 30 | slot as u32, serial)
    }
}
