//! Server-sent events: responses of more than one message (2025-03-26 and later, basic/transports),
//! and all messages of a server of HTTP+SSE (2024-11-05).

use core::time::Duration;

use crate::buffers::rx::Frame;
use crate::buffers::{self, Storage};
use crate::text::copy;

/// An element of an event stream that carries no message.
///
/// ```
/// use mcp_sansio::http::sse::ControlEvent;
/// let mut out = [0; 64];
/// let n = ControlEvent::Priming { id: "7-0", retry: Some(500) }.write(&mut out).unwrap();
/// assert_eq!(&out[..n], b"id: 7-0\nretry: 500\ndata: \n\n");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlEvent<'p> {
    /// A comment, which clients ignore: keeps proxies from closing an idle connection (2026-07-28,
    /// basic/transports/streamable-http).
    Comment,
    /// An empty event with an id, from which the client can resume before the first message
    /// (2025-11-25, basic/transports).
    Priming {
        /// The event id: one line, without NUL.
        id: &'p str,
        /// The time to wait before resuming, in milliseconds.
        retry: Option<u32>,
    },
    /// The time to wait before reconnecting, in milliseconds (2025-11-25, basic/transports).
    Retry(u32),
    /// The URI for POST requests, absolute or relative: the first event of a stream of HTTP+SSE
    /// (2024-11-05).
    Endpoint(&'p str),
}

impl ControlEvent<'_> {
    /// Writes the element and returns its length; `None`, with nothing usable written, if it does
    /// not fit or contains a line break or NUL.
    pub fn write(&self, out: &mut [u8]) -> Option<usize> {
        let text = match self {
            Self::Priming { id, .. } => id,
            Self::Endpoint(uri) => uri,
            Self::Comment | Self::Retry(_) => "",
        };
        if text.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return None;
        }
        let mut output = Output { out, len: 0 };
        match self {
            Self::Comment => output.put(b":\n\n")?,
            Self::Priming { id, retry } => {
                output.field(b"id: ", id)?;
                if let Some(ms) = retry {
                    output.retry(*ms)?;
                }
                output.put(b"data: \n\n")?;
            }
            Self::Retry(ms) => {
                output.retry(*ms)?;
                output.put(b"\n")?;
            }
            Self::Endpoint(uri) => {
                output.field(b"event: endpoint\ndata: ", uri)?;
                output.put(b"\n")?;
            }
        }
        Some(output.len)
    }
}

struct Output<'o> {
    out: &'o mut [u8],
    len: usize,
}

impl Output<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        copy(bytes, self.out.get_mut(self.len..)?.get_mut(..bytes.len())?);
        self.len += bytes.len();
        Some(())
    }

    fn field(&mut self, name: &[u8], value: &str) -> Option<()> {
        self.put(name)?;
        self.put(value.as_bytes())?;
        self.put(b"\n")
    }

    fn retry(&mut self, ms: u32) -> Option<()> {
        self.put(b"retry: ")?;
        self.put(crate::json::Decimal::new(u64::from(ms), false).as_bytes())?;
        self.put(b"\n")
    }
}

// Incremental parser of event streams.

/// Collects the bytes of an event stream and lends its events, like [`RxBuffer`](crate::RxBuffer)
/// for lines. The result does not depend on how the bytes are chunked.
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
/// Data in one line, as MCP servers write it, is lent in place; several `data` lines are joined.
/// Data longer than the buffer (or, for storage that grows, than the limit) becomes
/// [`Frame::Oversized`]: its first and last bytes. An event without a final empty line is
/// discarded.
///
/// The buffer needs at least 32 bytes; a shorter one may stay full forever.
#[derive(Debug)]
pub struct EventReader<S: Storage + ?Sized> {
    /// The data of the current event, or its last bytes if it is oversized.
    data: usize,
    data_end: usize,
    has_data: bool,
    /// Number of bytes kept from the start of oversized data.
    prefix: Option<usize>,
    /// Start of the current line.
    line: usize,
    /// End of the bytes searched for a line end.
    scanned: usize,
    /// End of the committed bytes.
    end: usize,
    /// Treatment of the rest of the current line, if its start was discarded.
    cut: Cut,
    /// The last line ended with a carriage return, to which a following line feed belongs.
    after_return: bool,
    /// No line has ended yet: a byte order mark is skipped.
    at_start: bool,
    kind: EventKind,
    id: IdText,
    /// The id of the current event.
    next_id: Option<IdText>,
    retry: Option<u32>,
    limit: usize,
    storage: S,
}

/// An event, lent by [`EventReader::next_event`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event<'f> {
    /// The type of the event.
    pub kind: EventKind,
    /// The data, never empty: for [`Messages::new`](crate::Messages::new).
    pub data: Frame<'f>,
}

/// The type of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EventKind {
    /// A JSON-RPC message: type `message`, or none given.
    Message,
    /// The URI for POST requests (HTTP+SSE, 2024-11-05).
    Endpoint,
    /// Unknown event type: ignored.
    Other,
}

impl<S: Storage> EventReader<S> {
    /// Creates a reader that uses all of `storage` and never grows.
    pub const fn new(storage: S) -> Self {
        Self::with_limit(storage, 0)
    }

    /// Creates a reader whose storage may grow up to `limit` bytes.
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
            id: IdText::new(),
            next_id: None,
            retry: None,
            limit,
            storage,
        }
    }
}

impl<S: Storage + ?Sized> EventReader<S> {
    /// Returns the free space that the transport reads into. Empty only while
    /// [`next_event`](Self::next_event) has an event in a full buffer.
    pub fn spare(&mut self) -> &mut [u8] {
        let cap = self.storage.bytes().len();
        if cap.saturating_sub(self.end) <= cap / 2 {
            self.make_room();
        }
        let end = self.end;
        self.storage.bytes_mut().get_mut(end..).unwrap_or_default()
    }

    /// Appends the first `n` bytes of [`spare`](Self::spare), which the transport has filled.
    pub fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.storage.bytes().len());
    }

    /// Returns the next event, lent until the next call; `None` if more bytes are needed.
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
                Cut::Discard => {}
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

    /// Returns the id of the last event that had one, from which the stream can be resumed
    /// (2025-11-25, basic/transports). Ids longer than [`MAX_EVENT_ID`] are not kept.
    pub fn last_event_id(&self) -> Option<&str> {
        Some(&*self.id).filter(|id| !id.is_empty())
    }

    /// Returns the reconnection time that the server has sent, if any.
    pub fn retry(&self) -> Option<Duration> {
        self.retry.map(|ms| Duration::from_millis(ms.into()))
    }

    /// Starts a new stream, or the resumed one: discards an incomplete event, keeps the id and the
    /// reconnection time.
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

    /// Handles a line that is not empty.
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
            b"id" if !value.contains(&0) => self.next_id = Some(id_text(value)),
            b"retry" => {
                if let Some(ms) = number(value) {
                    self.retry = Some(ms);
                }
            }
            // A comment or an unknown field.
            _ => {}
        }
    }

    /// Appends data that lies somewhere after the data held.
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
        buffers::move_down(self.storage.bytes_mut(), start, end, to);
        self.data_end = to + (end - start);
    }

    /// Ends an event; returns `false` if it has no data.
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

    /// Makes room unless an event is ready: moves the held bytes to the front, grows, or discards
    /// bytes.
    fn make_room(&mut self) {
        let waiting = self.scanned < self.end;
        let floor = self.prefix.unwrap_or(0);
        let held = if self.has_data { self.data_end - self.data } else { 0 };
        let gone = self.line - held - floor;
        // Moving costs as much as the waiting bytes: do it only when at least as many have been
        // consumed.
        if gone > 0 && (!waiting || gone >= self.end - self.line) {
            self.compact(floor, held);
        }
        let cap = self.storage.bytes().len();
        if self.end < if waiting { cap } else { cap - cap / 4 } {
            return;
        }
        if self.prefix.is_none() && buffers::grow(&mut self.storage, self.end + 1, self.limit) {
            return;
        }
        if self.end == self.storage.bytes().len() && !waiting {
            self.discard();
        }
    }

    fn compact(&mut self, floor: usize, held: usize) {
        let (data, data_end, line, end) = (self.data, self.data_end, self.line, self.end);
        let bytes = self.storage.bytes_mut();
        if self.has_data {
            buffers::move_down(bytes, data, data_end, floor);
        }
        buffers::move_down(bytes, line, end, floor + held);
        (self.data, self.data_end, self.line) = (floor, floor + held, floor + held);
        self.scanned -= line - self.line;
        self.end -= line - self.line;
    }

    /// Discards bytes of an event that does not fit.
    fn discard(&mut self) {
        if core::mem::take(&mut self.at_start)
            && self.bytes(self.line, self.end).starts_with(b"\xef\xbb\xbf")
        {
            self.line += 3;
        }
        let (line, end) = (self.line, self.end);
        let cap = self.storage.bytes().len();
        match (self.cut, self.bytes(line, end)) {
            // Too short to tell which field it is.
            (Cut::Nothing, start)
                if [&b"data:"[..], b"event:", b"id:"]
                    .iter()
                    .any(|field| field.starts_with(start)) => {}
            (Cut::Nothing, start) if start.starts_with(b"data:") => {
                self.cut = Cut::Data;
                self.take_line(line, end);
            }
            (Cut::Nothing, start) => {
                // Known types and ids that can be kept are shorter.
                if start.starts_with(b"event:") {
                    self.kind = EventKind::Other;
                } else if start.starts_with(b"id:") {
                    self.next_id = Some(IdText::new());
                }
                self.cut = Cut::Discard;
            }
            (Cut::Data, _) => self.append(line, end, false),
            _ => {}
        }
        if self.cut != Cut::Nothing {
            (self.line, self.scanned, self.end) = (end, end, end);
        }
        // Only data remains, and perhaps the start of a line.
        let floor = self.prefix.unwrap_or(0);
        let held = if self.has_data { self.data_end - self.data } else { 0 };
        self.compact(floor, held);
        if self.end < cap - cap / 4 || !self.has_data {
            return;
        }
        let kept = self.prefix.unwrap_or((cap / 2).min(self.data_end));
        // Keep the first half of the buffer, and from now on the latest bytes of the rest.
        self.prefix = Some(kept);
        let tail = ((cap - kept) / 2).min(self.data_end.saturating_sub(kept));
        self.data = self.data_end - tail;
        self.compact(kept, tail);
    }
}

/// Treatment of the rest of a line whose start was discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    /// Nothing was discarded.
    Nothing,
    /// The rest is data.
    Data,
    /// The rest is discarded.
    Discard,
}

/// The id of an event; empty if it has none that can be kept.
type IdText = heapless::String<MAX_EVENT_ID, u8>;

fn id_text(id: &[u8]) -> IdText {
    let text = core::str::from_utf8(id).ok();
    text.and_then(|text| IdText::try_from(text).ok()).unwrap_or_default()
}

/// Parses decimal digits; saturates.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

/// Returns the index of the first line feed or carriage return. Tests whole blocks, which the
/// compiler vectorizes.
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

/// Maximum length of an event id that is kept, in bytes. A stream with longer ids cannot be
/// resumed.
pub const MAX_EVENT_ID: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_written_whole_or_not_at_all() {
        let cases: [(ControlEvent<'_>, &[u8]); 5] = [
            (ControlEvent::Comment, b":\n\n"),
            (ControlEvent::Retry(1500), b"retry: 1500\n\n"),
            (ControlEvent::Priming { id: "a", retry: None }, b"id: a\ndata: \n\n"),
            (
                ControlEvent::Priming { id: "a", retry: Some(u32::MAX) },
                b"id: a\nretry: 4294967295\ndata: \n\n",
            ),
            (
                ControlEvent::Endpoint("/messages?id=1"),
                b"event: endpoint\ndata: /messages?id=1\n\n",
            ),
        ];
        for (element, expected) in cases {
            for room in 0..expected.len() {
                assert_eq!(element.write(&mut [0; 64][..room]), None, "{element:?} {room}");
            }
            let mut out = [0; 64];
            assert_eq!(element.write(&mut out), Some(expected.len()));
            assert_eq!(&out[..expected.len()], expected);
        }
    }

    #[test]
    fn text_with_line_breaks_or_nul_is_rejected() {
        for text in ["a\nb", "a\rb", "a\0b"] {
            assert_eq!(ControlEvent::Priming { id: text, retry: None }.write(&mut [0; 64]), None);
            assert_eq!(ControlEvent::Endpoint(text).write(&mut [0; 64]), None);
        }
    }
}
