//! Bytes to events.

use core::time::Duration;

use crate::rx::Frame;
use crate::storage::{self, Storage};

/// Collects an event stream and lends its events: the [`RxBuffer`](crate::RxBuffer) of HTTP. Any
/// chunking gives the same events.
///
/// ```
/// use mcp_sansio::Frame;
/// use mcp_sansio::http::sse::EventReader;
/// let mut events = EventReader::new([0; 64]);
/// let bytes = b": hello\nid: 7\ndata: {\"jsonrpc\":\"2.0\"}\n\n";
/// events.spare()[..bytes.len()].copy_from_slice(bytes);
/// events.commit(bytes.len());
/// assert_eq!(events.next_event().unwrap().data, Frame::Complete(b"{\"jsonrpc\":\"2.0\"}"));
/// assert!(events.next_event().is_none());
/// assert_eq!(events.last_event_id(), Some("7"));
/// ```
///
/// Data of one line, as all MCP servers write it, is lent where it was read to; lines of several
/// are moved together. Data longer than the buffer (and, for storage that grows, than the limit) is
/// [`Frame::Oversized`]: its first and its last bytes. What has no empty line behind it is no
/// event.
///
/// The buffer has 32 bytes at least; a shorter one may be full for ever.
#[derive(Debug)]
pub struct EventReader<S: Storage + ?Sized> {
    /// The data of the event under way, or its last bytes when it is oversized.
    data: usize,
    data_end: usize,
    has_data: bool,
    /// Bytes kept of the beginning of oversized data.
    prefix: Option<usize>,
    /// First byte of the line under way.
    line: usize,
    /// Everything before this was searched for the line's end.
    scanned: usize,
    /// End of what was committed.
    end: usize,
    /// What is known of the line under way, of which a part is gone.
    cut: Cut,
    /// The last line ended with a carriage return: a line feed behind it belongs to that.
    after_return: bool,
    /// No line has ended yet: there may be a byte order mark.
    at_start: bool,
    kind: EventKind,
    id: IdText,
    /// The id in an event that is not complete.
    next_id: Option<IdText>,
    retry: Option<u32>,
    limit: usize,
    storage: S,
}

/// What [`EventReader::next_event`] lends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event<'f> {
    /// What it is for.
    pub kind: EventKind,
    /// Its data, never empty: for [`Messages::new`](crate::Messages::new).
    pub data: Frame<'f>,
}

/// What an event is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EventKind {
    /// It has a message: its type is `message`, or not given.
    Message,
    /// It has the URI to which messages are to be posted (2024-11-05).
    Endpoint,
    /// It is none of ours: to be ignored.
    Other,
}

impl<S: Storage> EventReader<S> {
    /// A reader that uses all of `storage`, and never grows.
    #[must_use]
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// A reader whose storage may grow up to `limit` bytes.
    #[must_use]
    pub const fn with_limit(storage: S, limit: usize) -> Self {
        Self {
            data: 0,
            data_end: 0,
            has_data: false,
            prefix: None,
            line: 0,
            scanned: 0,
            end: 0,
            cut: Cut::Nothing,
            after_return: false,
            at_start: true,
            kind: EventKind::Message,
            id: IdText::EMPTY,
            next_id: None,
            retry: None,
            limit,
            storage,
        }
    }
}

impl<S: Storage + ?Sized> EventReader<S> {
    /// Where the transport reads to. Empty only while an event waits for
    /// [`next_event`](Self::next_event) in a full buffer.
    pub fn spare(&mut self) -> &mut [u8] {
        let cap = self.storage.bytes().len();
        if cap.saturating_sub(self.end) <= cap / 2 {
            self.make_room();
        }
        let end = self.end;
        self.storage.bytes_mut().get_mut(end..).unwrap_or_default()
    }

    /// Takes over the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.storage.bytes().len());
    }

    /// The next event, lent until the next call. `None`: read more.
    pub fn next_event(&mut self) -> Option<Event<'_>> {
        loop {
            if self.after_return && self.line < self.end {
                self.after_return = false;
                if self.byte(self.line) == Some(b'\n') {
                    self.line += 1;
                    self.scanned = self.line;
                }
            }
            let fresh = self.storage.bytes().get(self.scanned..self.end).unwrap_or_default();
            let Some(at) = line_end(fresh) else {
                self.scanned = self.end;
                return None;
            };
            let (line, line_end) = (self.line, self.scanned + at);
            self.after_return = self.byte(line_end) == Some(b'\r');
            self.line = line_end + 1;
            self.scanned = self.line;
            let cut = core::mem::replace(&mut self.cut, Cut::Nothing);
            let at_start = core::mem::take(&mut self.at_start);
            match cut {
                Cut::Unwanted => {}
                Cut::Data => self.append(line, line_end, false),
                Cut::Nothing => {
                    let has_mark =
                        at_start && self.bytes(line, line_end).starts_with(b"\xef\xbb\xbf");
                    let line = if has_mark { line + 3 } else { line };
                    if line < line_end {
                        self.take_line(line, line_end);
                    } else if self.dispatch() {
                        return Some(self.lend());
                    }
                }
            }
        }
    }

    /// The id of the last event that had one: what a stream is resumed from (2025-11-25,
    /// basic/transports). An id longer than [`MAX_EVENT_ID`] is none.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.id.as_str()
    }

    /// How long the server wants us to wait before we connect again, if it said so.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry.map(|ms| Duration::from_millis(ms.into()))
    }

    /// Begins another stream, or the same one again: what is not complete is forgotten, the id and
    /// the time to wait are not.
    pub fn restart(&mut self) {
        (self.data, self.data_end, self.line, self.scanned, self.end) = (0, 0, 0, 0, 0);
        (self.has_data, self.prefix, self.cut) = (false, None, Cut::Nothing);
        (self.after_return, self.at_start, self.kind, self.next_id) =
            (false, true, EventKind::Message, None);
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.storage.bytes().get(at).copied()
    }

    fn bytes(&self, from: usize, to: usize) -> &[u8] {
        self.storage.bytes().get(from..to).unwrap_or_default()
    }

    /// A line that is not empty.
    fn take_line(&mut self, start: usize, end: usize) {
        let line = self.bytes(start, end);
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at_checked(colon.unwrap_or(line.len())).unwrap_or_default();
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let value_start = end - value.len();
        match name {
            b"data" => {
                let joins = self.has_data;
                self.append(value_start, end, joins);
            }
            b"event" => {
                self.kind = match value {
                    b"" | b"message" => EventKind::Message,
                    b"endpoint" => EventKind::Endpoint,
                    _ => EventKind::Other,
                }
            }
            b"id" if !value.contains(&0) => self.next_id = Some(IdText::new(value)),
            b"retry" => {
                if let Some(ms) = number(value) {
                    self.retry = Some(ms);
                }
            }
            // A comment, or what another standard has added.
            _ => {}
        }
    }

    /// More data, which stands somewhere behind what there is.
    fn append(&mut self, start: usize, end: usize, joins: bool) {
        if !self.has_data {
            (self.data, self.data_end, self.has_data) = (start, end, true);
            return;
        }
        let mut to = self.data_end;
        if joins && let Some(byte) = self.storage.bytes_mut().get_mut(to) {
            *byte = b'\n';
            to += 1;
        }
        storage::move_down(self.storage.bytes_mut(), start, end, to);
        self.data_end = to + (end - start);
    }

    /// An event ends. `false` when there is nothing in it.
    fn dispatch(&mut self) -> bool {
        if let Some(id) = self.next_id.take() {
            self.id = id;
        }
        let is_event = self.has_data && (self.data < self.data_end || self.prefix.is_some());
        if !is_event {
            (self.has_data, self.prefix, self.kind) = (false, None, EventKind::Message);
        }
        is_event
    }

    fn lend(&mut self) -> Event<'_> {
        let prefix = self.prefix.take();
        let kind = core::mem::replace(&mut self.kind, EventKind::Message);
        self.has_data = false;
        let data = self.bytes(self.data, self.data_end);
        let data = match prefix {
            Some(kept) => Frame::Oversized { prefix: self.bytes(0, kept), tail: data },
            None => Frame::Complete(data),
        };
        Event { kind, data }
    }

    /// Moves what is held to the front, grows, or forgets something: one of them makes room unless
    /// there is something to be read first.
    fn make_room(&mut self) {
        let waiting = self.scanned < self.end;
        let floor = self.prefix.unwrap_or(0);
        let held = if self.has_data { self.data_end - self.data } else { 0 };
        let gone = self.line - held - floor;
        // Moving what waits must be paid for by what went.
        if gone > 0 && (!waiting || gone >= self.end - self.line) {
            self.compact(floor, held);
        }
        let cap = self.storage.bytes().len();
        if self.end < if waiting { cap } else { cap - cap / 4 } {
            return;
        }
        if self.prefix.is_none() && storage::grow(&mut self.storage, self.end + 1, self.limit) {
            return;
        }
        if self.end == self.storage.bytes().len() && !waiting {
            self.forget();
        }
    }

    fn compact(&mut self, floor: usize, held: usize) {
        let (data, data_end, line, end) = (self.data, self.data_end, self.line, self.end);
        let bytes = self.storage.bytes_mut();
        if self.has_data {
            storage::move_down(bytes, data, data_end, floor);
        }
        storage::move_down(bytes, line, end, floor + held);
        (self.data, self.data_end, self.line) = (floor, floor + held, floor + held);
        self.scanned -= line - self.line;
        self.end -= line - self.line;
    }

    /// The event does not fit.
    fn forget(&mut self) {
        if core::mem::take(&mut self.at_start)
            && self.bytes(self.line, self.end).starts_with(b"\xef\xbb\xbf")
        {
            self.line += 3;
        }
        let (line, end) = (self.line, self.end);
        let cap = self.storage.bytes().len();
        match (self.cut, self.bytes(line, end)) {
            // Too little of it to say whether it matters.
            (Cut::Nothing, start)
                if [&b"data:"[..], b"event:", b"id:"]
                    .iter()
                    .any(|field| field.starts_with(start)) => {}
            (Cut::Nothing, start) if start.starts_with(b"data:") => {
                self.cut = Cut::Data;
                self.take_line(line, end);
            }
            (Cut::Nothing, start) => {
                // No type of ours is that long, and no id that is kept.
                if start.starts_with(b"event:") {
                    self.kind = EventKind::Other;
                } else if start.starts_with(b"id:") {
                    self.next_id = Some(IdText::EMPTY);
                }
                self.cut = Cut::Unwanted;
            }
            (Cut::Data, _) => self.append(line, end, false),
            _ => {}
        }
        if self.cut != Cut::Nothing {
            (self.line, self.scanned, self.end) = (end, end, end);
        }
        // What is left is data, and perhaps the very beginning of a line.
        let floor = self.prefix.unwrap_or(0);
        let held = if self.has_data { self.data_end - self.data } else { 0 };
        self.compact(floor, held);
        if self.end < cap - cap / 4 || !self.has_data {
            return;
        }
        let kept = self.prefix.unwrap_or((cap / 2).min(self.data_end));
        // Its first half, and from now on the latest bytes of the rest.
        self.prefix = Some(kept);
        let tail = ((cap - kept) / 2).min(self.data_end.saturating_sub(kept));
        self.data = self.data_end - tail;
        self.compact(kept, tail);
    }
}

/// A line of which a part is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    /// Nothing is.
    Nothing,
    /// The rest is data.
    Data,
    /// Nobody wants the rest.
    Unwanted,
}

/// The id of an event, kept.
#[derive(Clone, Copy, Debug)]
struct IdText {
    bytes: [u8; MAX_EVENT_ID],
    len: u8,
}

impl IdText {
    const EMPTY: Self = Self { bytes: [0; MAX_EVENT_ID], len: 0 };

    fn new(id: &[u8]) -> Self {
        let mut new = Self::EMPTY;
        if core::str::from_utf8(id).is_ok()
            && let Some(place) = new.bytes.get_mut(..id.len())
        {
            place.copy_from_slice(id);
            new.len = id.len() as u8;
        }
        new
    }

    fn as_str(&self) -> Option<&str> {
        let text = core::str::from_utf8(self.bytes.get(..usize::from(self.len))?).ok()?;
        if text.is_empty() { None } else { Some(text) }
    }
}

/// Digits and nothing else. What no timer counts is the longest time there is.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

/// Where the first line feed or carriage return is. Blocks are tested as a whole, which the
/// compiler turns into vector code.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    while let Some((block, after)) = rest.split_first_chunk::<64>() {
        if block.iter().fold(false, |hit, byte| hit | (*byte == b'\n') | (*byte == b'\r')) {
            break;
        }
        rest = after;
    }
    let skipped = bytes.len() - rest.len();
    rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).map(|at| skipped + at)
}

/// The longest id of an event that is kept, in bytes. A stream whose ids are longer cannot be
/// resumed.
pub const MAX_EVENT_ID: usize = 128;
