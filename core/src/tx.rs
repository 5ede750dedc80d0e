//! Frames to bytes: all of a frame or none of it, except that one longer than the buffer is written in pieces.

use crate::error::SendError;
use crate::json::{WriteError, Writer};
use crate::lifecycle::Revision;
use crate::storage::{self, Storage};

/// Holds finished frames until the transport takes them.
///
/// The core writes; the adapter sends [`pending`](Self::pending) and says how much with [`advance`](Self::advance).
#[derive(Debug)]
pub struct TxBuffer<S: Storage + ?Sized> {
    head: usize,
    tail: usize,
    /// A frame whose beginning has been written.
    open: Option<Open>,
    limit: usize,
    storage: S,
}

/// What session calls take: `&mut TxBuffer<[u8; 512]>` or any other becomes it by itself at the call.
pub type Tx<'s> = TxBuffer<dyn Storage + 's>;

impl<S: Storage> TxBuffer<S> {
    /// A buffer that uses all of `storage`, and never grows.
    #[must_use]
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// A buffer whose storage may grow up to `limit` bytes. Frames longer than that are written in pieces.
    #[must_use]
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        Self { head: 0, tail: 0, open: None, limit, storage }
    }
}

impl<S: Storage + ?Sized> TxBuffer<S> {
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

    /// How many bytes fit before the buffer is full, growth included.
    #[must_use]
    pub fn room(&self) -> usize {
        let len = self.storage.bytes().len();
        let most = if self.storage.can_grow() { self.limit.max(len) } else { len };
        most - (self.tail - self.head)
    }
}

impl Tx<'_> {
    /// Writes one frame, in pieces if it must be. `key` says who writes: only the same writer may go on with an open frame.
    pub(crate) fn frame(&mut self, key: FrameKey, revision: Revision, write: Body<'_>) -> Result<(), SendError> {
        self.write(key, revision, false, write)
    }

    /// Writes one frame, whole or not at all.
    pub(crate) fn whole_frame(&mut self, revision: Revision, write: Body<'_>) -> Result<(), SendError> {
        self.write(FrameKey::WHOLE, revision, true, write)
    }

    /// Whether the frame of this writer has begun and not ended.
    pub(crate) fn is_open(&self, key: FrameKey) -> bool {
        self.open.is_some_and(|open| open.key == key)
    }

    /// Breaks an open frame off: the line ends where it is.
    pub(crate) fn abandon(&mut self, key: FrameKey) -> Result<(), SendError> {
        if !self.is_open(key) {
            return Ok(());
        }
        let open = self.open.take();
        let broken = self.whole_frame(Revision::LATEST, &mut |_| Ok(()));
        if broken.is_err() {
            self.open = open;
        }
        broken
    }

    fn write(&mut self, key: FrameKey, revision: Revision, whole: bool, write: Body<'_>) -> Result<(), SendError> {
        let sent = match self.open {
            Some(open) if open.key != key => return Err(SendError::Full),
            Some(open) => open.sent,
            None => 0,
        };
        loop {
            let len = self.storage.bytes().len();
            let fixed = self.head == 0 && !(self.storage.can_grow() && len < self.limit);
            let tail = self.tail;
            let out = self.storage.bytes_mut().get_mut(tail..).unwrap_or_default();
            let mut writer = Writer::new(out, sent, revision, !fixed);
            let result = write(&mut writer).and_then(|()| writer.put(b"\n"));
            let total = writer.position();
            match result {
                Err(WriteError::Value) => return Err(SendError::Value),
                Ok(()) if total.saturating_sub(sent) <= len - tail => {
                    self.tail += total.saturating_sub(sent);
                    self.open = None;
                    return Ok(());
                }
                // It does not fit. Make room and format again: in the steady state that never happens.
                _ => {}
            }
            if self.head > 0 {
                let (head, tail) = (self.head, self.tail);
                storage::move_down(self.storage.bytes_mut(), head, tail, 0);
                self.tail -= head;
                self.head = 0;
                continue;
            }
            if !fixed && storage::grow(&mut self.storage, (self.tail + total - sent).min(self.limit), self.limit) {
                continue;
            }
            if self.tail > 0 {
                return Err(SendError::Full);
            }
            if whole || len == 0 {
                return Err(SendError::TooLarge);
            }
            self.tail = len;
            self.open = Some(Open { key, sent: sent + len });
            return Err(SendError::More);
        }
    }
}

/// What a frame consists of; called again when room had to be made, so it must write the same each time.
pub(crate) type Body<'b> = &'b mut dyn FnMut(&mut Writer<'_>) -> Result<(), WriteError>;

/// Who writes a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameKey(u64);

impl FrameKey {
    /// Answers that the machine gives by itself while it takes a frame.
    pub(crate) const ANSWER: Self = Self(1);
    /// What the application sends unasked.
    pub(crate) const NOTIFY: Self = Self(2);
    /// A request of our own.
    pub(crate) const REQUEST: Self = Self(3);
    /// What a deadline or an end makes necessary.
    pub(crate) const TIMEOUT: Self = Self(4);
    const WHOLE: Self = Self(0);

    /// The answer to the request in this slot.
    pub(crate) const fn response(slot: u16, serial: u32) -> Self {
        Self(1 << 63 | (slot as u64) << 32 | serial as u64)
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    key: FrameKey,
    /// Bytes of the frame that have been put into the buffer so far.
    sent: usize,
}
