//! Frames to bytes: all of a frame or none of it, except that one longer than the buffer is written
//! in pieces.

use crate::encode::{WriteError, Writer};
use crate::error::SendError;
use crate::framing::{Delimiters, Framing};
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
mod tests;
