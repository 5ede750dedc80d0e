//! Reads the messages of a frame: one JSON-RPC message, or a batch of them (2025-03-26).

mod envelope;
#[cfg(not(small))]
mod fast;
#[cfg(small)]
mod small;

pub use crate::rpc::id::MAX_ID;
pub(crate) use crate::rpc::id::{Id, OwnedId};
pub(crate) use envelope::{Classified, Envelope, Member};
pub use envelope::{Malformed, Message, MessageKind, PeerViolation};
#[cfg(all(feature = "http", feature = "alloc", not(small)))]
pub(crate) use fast::Found;
#[cfg(not(small))]
pub(crate) use fast::ParamPositions;
#[cfg(not(small))]
pub use fast::{Arguments, Params};
#[cfg(all(feature = "http", feature = "alloc", small))]
pub(crate) use small::Found;
#[cfg(small)]
pub(crate) use small::ParamPositions;
#[cfg(small)]
pub use small::{Arguments, Params};

use core::fmt;
use core::marker::PhantomData;

use crate::buffers::Storage;
use crate::buffers::rx::{Cursor, Frame, RxBuffer, Spare};
#[cfg(feature = "http")]
use crate::http::head::Fields;
use crate::json::{JsonStr, RawJson, ReadError, skip_string, skip_value, skip_whitespace};
use crate::protocol::error::Violation;
use crate::rpc::inflight::ExchangeId;

/// A cursor over the messages of a frame. It advances when a message has been handled, so a call
/// that returned `Full` is repeated with the same cursor, or with the next one that
/// [`RxBuffer::next_messages`](crate::RxBuffer::next_messages) returns.
#[derive(Debug)]
pub struct Messages<'f> {
    source: Source<'f>,
    cursor: Cursor,
    /// Where the receive buffer keeps the cursor, if the frame is one of its lines.
    kept: Option<&'f mut Cursor>,
    full_table: FullTable,
    transport: TransportContext<'f>,
    /// What was found in the first message, if it was read before.
    #[cfg(all(feature = "http", feature = "alloc"))]
    found: Option<&'f Found>,
}

#[derive(Clone, Copy, Debug)]
enum Source<'f> {
    /// Validated where it is read: the whole frame at its start, the elements of a batch one by
    /// one, so that creating a cursor for each of them costs nothing.
    Bytes(&'f [u8]),
    Oversized {
        prefix: &'f [u8],
        tail: &'f [u8],
    },
}

/// The treatment of a request for which the table has no entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FullTable {
    Refuses,
    Delays,
    Delayed,
}

/// The position in a body of several steps: its next message, and what was found in the first of
/// them when it was routed, so that it is read once.
#[cfg(all(feature = "http", feature = "alloc"))]
#[derive(Debug)]
pub struct BodyPosition {
    cursor: Cursor,
    found: Option<Found>,
}

#[cfg(all(feature = "http", feature = "alloc"))]
impl BodyPosition {
    pub(crate) const fn start(found: Option<Found>) -> Self {
        Self { cursor: Cursor::Start, found }
    }

    /// Returns the messages in a body, from this position on, which goes on with them.
    pub fn messages<'f>(
        &'f mut self,
        body: &'f [u8],
        http: Option<(&'f dyn Fields, ExchangeId)>,
    ) -> Messages<'f> {
        let Self { cursor, found } = self;
        let found = found.as_ref();
        let messages = Messages { found, ..Messages::of_buffer(Frame::Complete(body), cursor) };
        match http {
            Some((fields, exchange)) => {
                Messages { transport: TransportContext::http(fields, exchange), ..messages }
            }
            None => messages,
        }
    }
}

#[cfg(all(feature = "http", feature = "alloc"))]
impl Default for BodyPosition {
    fn default() -> Self {
        Self::start(None)
    }
}

/// The item at the cursor.
pub(crate) enum Item<'f> {
    /// A message; its members are in the envelope.
    Message(Classified<'f>),
    /// The start of a batch.
    Batch,
    /// An invalid message. The error response goes out under `id`, if that could be read, and is
    /// left out if `forbids_response`: the message was meant as a response or notification.
    Invalid { violation: Violation, id: Option<Id<'f>>, forbids_response: bool },
}

impl<S: Storage + ?Sized> RxBuffer<S> {
    /// Returns the messages of a line, or `None` when more input is needed.
    ///
    /// A line whose messages have not all been handled is lent again, from the message at which its
    /// cursor stands: when there is no room for a response ([`SendError::Full`]), drop the cursor
    /// and go on later. Bytes may be read meanwhile.
    ///
    /// [`SendError::Full`]: crate::SendError::Full
    pub fn next_messages(&mut self) -> Option<Messages<'_>> {
        if !self.is_mid_frame() && !self.find_frame() {
            return None;
        }
        let (frame, cursor, _) = self.lend();
        frame.map(|frame| Messages::of_buffer(frame, cursor))
    }

    /// Returns the messages of a line, as [`next_messages`](Self::next_messages) does, together
    /// with the free memory behind it. For adapters that must go on reading while the line is lent,
    /// because the response waits for room to be written.
    pub fn next_messages_and_spare(&mut self) -> (Option<Messages<'_>>, Spare<'_>) {
        if !self.is_mid_frame() {
            self.find_frame();
        }
        self.make_room();
        let (frame, cursor, spare) = self.lend();
        (frame.map(|frame| Messages::of_buffer(frame, cursor)), spare)
    }
}

impl<'f> Messages<'f> {
    /// Creates a cursor over the messages of `frame`. An oversized frame is rejected as one invalid
    /// message; so is a frame of 4 GiB or more, since positions in a frame are kept in 32 bits.
    #[cfg_attr(not(small), inline)]
    pub fn new(frame: Frame<'f>) -> Self {
        let source = match frame {
            Frame::Complete(bytes) => Source::new(without_mark(bytes)),
            Frame::Oversized { prefix, tail } => {
                Source::Oversized { prefix: without_mark(prefix), tail }
            }
        };
        Self {
            source,
            cursor: Cursor::Start,
            kept: None,
            full_table: FullTable::Refuses,
            transport: TransportContext::STREAM,
            #[cfg(all(feature = "http", feature = "alloc"))]
            found: None,
        }
    }

    /// Creates a cursor over a frame of the receive buffer, which keeps its position. Within a
    /// batch this costs as much as reading the next message, however long the batch is.
    #[cfg_attr(not(small), inline)]
    pub(crate) fn of_buffer(frame: Frame<'f>, kept: &'f mut Cursor) -> Self {
        Self { cursor: *kept, kept: Some(kept), ..Self::new(frame) }
    }

    /// Creates a cursor over the messages in the body of an HTTP request. The state machine checks
    /// `head` where the protocol requires it, and stores `exchange` with each request.
    #[cfg(feature = "http")]
    pub fn over_http(
        body: Frame<'f>,
        head: &crate::http::head::RequestHead<'f>,
        exchange: ExchangeId,
    ) -> Self {
        Self { transport: TransportContext::http(head.fields, exchange), ..Self::new(body) }
    }

    /// Returns the frame, without a byte order mark.
    pub const fn frame(&self) -> Frame<'f> {
        match self.source {
            Source::Bytes(bytes) => Frame::Complete(bytes),
            Source::Oversized { prefix, tail } => Frame::Oversized { prefix, tail },
        }
    }

    /// Lets requests wait while the table of open requests is full, instead of refusing them. The
    /// machine returns [`SendError::Full`](crate::SendError::Full) then, and the message
    /// [lacks an entry](Self::lacks_entry).
    #[inline]
    pub fn await_entries(&mut self) {
        self.full_table = FullTable::Delays;
    }

    /// Delays a request for which there is no entry. Returns whether it may wait.
    pub(crate) fn delay(&mut self) -> bool {
        if self.full_table != FullTable::Refuses {
            self.full_table = FullTable::Delayed;
        }
        self.full_table == FullTable::Delayed
    }

    /// Returns whether the next request waits for an entry of the table: handle it again when a
    /// request has ended.
    #[inline]
    pub fn lacks_entry(&self) -> bool {
        self.full_table == FullTable::Delayed
    }

    pub(crate) fn transport(&self) -> TransportContext<'f> {
        self.transport
    }

    /// Returns whether all messages have been handled.
    pub fn is_done(&self) -> bool {
        self.cursor == Cursor::End
    }

    /// Returns whether the first message is the next one, and was found to call a common method.
    #[cfg(all(feature = "http", feature = "alloc"))]
    pub(crate) fn is_known_request(&self) -> bool {
        self.cursor == Cursor::Start && self.found.is_some_and(Found::is_common)
    }

    /// Returns an empty envelope for [`peek`](Self::peek) to fill with the members of the next
    /// message.
    #[inline]
    pub(crate) fn envelope(&self) -> Envelope<'f> {
        let Source::Bytes(bytes) = self.source else { return Envelope::new("") };
        let bytes = if let Cursor::Element(at) = self.cursor { element(bytes, at) } else { bytes };
        // Invalid UTF-8 reads as an empty message, which is never valid.
        let text = core::str::from_utf8(bytes).unwrap_or_default();
        #[cfg(all(feature = "http", feature = "alloc"))]
        if let (Some(found), Cursor::Start) = (self.found, self.cursor) {
            return Envelope::again(text, *found);
        }
        Envelope::new(text)
    }

    /// Returns the item at the cursor and the position behind it, or `None` at the end. Each call
    /// needs a new envelope.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn peek(&self, envelope: &mut Envelope<'f>) -> Option<(Item<'f>, Cursor)> {
        let bytes = match self.source {
            Source::Bytes(bytes) => bytes,
            Source::Oversized { prefix, tail } => {
                return Some((unread(Violation::TooLong, prefix, tail), Cursor::End));
            }
        };
        let text = envelope.text();
        if text.is_empty() && !bytes.is_empty() && self.cursor != Cursor::End {
            return Some(invalid(Violation::NotUtf8));
        }
        match self.cursor {
            Cursor::Start => {
                let start = skip_whitespace(bytes, 0);
                if bytes.get(start) == Some(&b'[') {
                    return Some(peek_batch(text, start));
                }
                Some((read_message(envelope, text, start, 0, true), Cursor::End))
            }
            Cursor::Element(at) => {
                let after = skip_whitespace(bytes, at.saturating_add(text.len()));
                let next = match bytes.get(after) {
                    Some(b',') => Cursor::Element(skip_whitespace(bytes, after + 1)),
                    _ => Cursor::End,
                };
                Some((read_message(envelope, text, 0, 1, false), next))
            }
            Cursor::End => None,
        }
    }

    pub(crate) fn advance(&mut self, next: Cursor) {
        self.cursor = next;
        if let Some(kept) = &mut self.kept {
            **kept = next;
        }
    }

    /// Drops the rest of the frame.
    pub(crate) fn finish(&mut self) {
        self.advance(Cursor::End);
    }

    pub(crate) fn in_batch(&self) -> bool {
        matches!(self.cursor, Cursor::Element(_))
    }
}

impl<'f> Source<'f> {
    #[cfg_attr(not(small), inline)]
    fn new(bytes: &'f [u8]) -> Self {
        if u32::try_from(bytes.len()).is_err() {
            return Self::Oversized { prefix: bytes.get(..1024).unwrap_or_default(), tail: &[] };
        }
        Self::Bytes(bytes)
    }
}

/// Returns the message at `at`. The whole array has been scanned, so its elements are valid.
fn element(bytes: &[u8], at: usize) -> &[u8] {
    let end = skip_value(bytes, at, 1).unwrap_or(bytes.len());
    bytes.get(at..end).unwrap_or_default()
}

fn invalid<'f>(violation: Violation) -> (Item<'f>, Cursor) {
    (Item::Invalid { violation, id: None, forbids_response: false }, Cursor::End)
}

fn peek_batch<'f>(text: &'f str, start: usize) -> (Item<'f>, Cursor) {
    let bytes = text.as_bytes();
    match skip_value(bytes, start, 0) {
        Ok(end) if skip_whitespace(bytes, end) == bytes.len() => {
            let first = skip_whitespace(bytes, start + 1);
            if bytes.get(first) == Some(&b']') {
                return invalid(Violation::EmptyBatch);
            }
            (Item::Batch, Cursor::Element(first))
        }
        Err(e) if e.is_too_deep() => invalid(Violation::TooDeep),
        _ => invalid(Violation::NotJson),
    }
}

/// Reads the message at `at`; if `alone`, only whitespace may follow it.
#[cfg_attr(not(small), inline(always))]
fn read_message<'f>(
    envelope: &mut Envelope<'f>,
    text: &'f str,
    at: usize,
    used: u32,
    alone: bool,
) -> Item<'f> {
    let bytes = text.as_bytes();
    let violation = match envelope.read(at, used) {
        Ok(end) if !alone || end == bytes.len() || skip_whitespace(bytes, end) == bytes.len() => {
            match envelope.kind() {
                Ok(kind) => return Item::Message(kind),
                Err(violation) => violation,
            }
        }
        Ok(_) => Violation::NotJson,
        Err(e) if e.is_too_deep() => return unread(Violation::TooDeep, bytes, bytes),
        // Valid JSON that is not an object is not a message; anything else is not JSON.
        Err(_) => match skip_value(bytes, at, used) {
            Ok(end) if !alone || skip_whitespace(bytes, end) == bytes.len() => {
                Violation::NotAMessage
            }
            _ => Violation::NotJson,
        },
    };
    let (id, forbids_response) = match violation {
        Violation::NotJson => (None, false),
        _ => (envelope.id(), envelope.is_response() || envelope.is_notification()),
    };
    Item::Invalid { violation, id, forbids_response }
}

// The `params` of a message.

impl<'f> Params<'f> {
    /// Returns the whole object; `{}` if it is missing.
    #[inline]
    pub fn as_json(&self) -> RawJson<'f> {
        self.given().unwrap_or(RawJson::EMPTY)
    }

    /// Returns a member. On large processors the members that the protocol's requests have in
    /// common are found without a search.
    #[cfg_attr(not(small), inline(always))]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        self.find(key)
    }

    /// Returns `name`, of a tool or a prompt.
    #[inline]
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.given_name().and_then(RawJson::as_string)
    }

    /// Returns `arguments`; empty if they are missing.
    #[inline]
    pub fn arguments(&self) -> Arguments<'f> {
        self.given_arguments()
    }

    /// Returns `_meta`.
    #[inline]
    pub fn meta(&self) -> Option<RawJson<'f>> {
        self.get("_meta")
    }

    /// Deserializes `params` as `T`.
    ///
    /// # Errors
    /// [`ReadError`] if they do not fit the type.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.as_json().to()
    }
}

impl<'f> Arguments<'f> {
    /// Returns the object, or whatever value the peer sent instead.
    #[inline]
    pub fn as_json(&self) -> RawJson<'f> {
        self.given().unwrap_or(RawJson::EMPTY)
    }

    /// Returns an argument.
    #[inline]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        self.find(key)
    }

    /// Deserializes the arguments as `T`, which may borrow from the frame.
    ///
    /// # Errors
    /// [`ReadError`] if they do not fit the type. From 2025-11-25 on, respond with a result that
    /// has `isError`, so that the model can correct itself.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.as_json().to()
    }
}

// Identifies the request in a line that did not fit, by the id at its start or at its very end.

/// Returns a message that cannot be read. Its id is searched in its first and its last bytes.
fn unread<'f>(violation: Violation, prefix: &'f [u8], tail: &'f [u8]) -> Item<'f> {
    let text = valid_prefix(prefix);
    let mut envelope = Envelope::new(text);
    // This fails where the line was cut; the members before that are recorded.
    let _ = envelope.read(skip_whitespace(text.as_bytes(), 0), 0);
    // Without its beginning it may be a response.
    let tail = if text.is_empty() { &[] } else { tail };
    let id = envelope.complete_id().or_else(|| id_at_the_end(tail));
    // Without a known id it may be a response or a notification.
    let forbids_response = envelope.starts_as_response() || id.is_none();
    Item::Invalid { violation, id, forbids_response }
}

/// Returns the id if it is the last member of the outermost object: `,"id":` value `}` and nothing
/// else. Only the last brace closes that object, and inside a string the quotes around `id` would
/// be escaped.
fn id_at_the_end(tail: &[u8]) -> Option<Id<'_>> {
    const KEY: &[u8] = b"\"id\"";
    let line = tail.trim_ascii_end();
    let body = line.strip_suffix(b"}")?.trim_ascii_end();
    // Searches backwards; the id is short.
    let lowest = body.len().saturating_sub(MAX_ID + 16);
    let key = (lowest..body.len()).rev().find(|at| body.get(*at..*at + KEY.len()) == Some(KEY))?;
    if body.get(..key)?.trim_ascii_end().last() != Some(&b',') {
        return None;
    }
    let colon = skip_whitespace(body, key + KEY.len());
    if body.get(colon) != Some(&b':') {
        return None;
    }
    let start = skip_whitespace(body, colon + 1);
    let end = match body.get(start)? {
        b'"' => skip_string(body, start).ok()?,
        _ => skip_value(body, start, 1).ok()?,
    };
    if end != body.len() {
        return None;
    }
    Id::parse(core::str::from_utf8(body.get(start..end)?).ok()?)
}

/// Skips a byte order mark, with which some writers start.
#[cfg_attr(small, inline(never))]
#[cfg_attr(not(small), inline(always))]
fn without_mark(bytes: &[u8]) -> &[u8] {
    match bytes {
        // One byte shows that there is none.
        [0xef, ..] => bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes),
        _ => bytes,
    }
}

fn valid_prefix(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => bytes
            .get(..e.valid_up_to())
            .and_then(|valid| core::str::from_utf8(valid).ok())
            .unwrap_or_default(),
    }
}

/// The transport of one frame: a stream, or an HTTP request whose head repeats some members of the
/// message.
#[derive(Clone, Copy)]
pub(crate) struct TransportContext<'f> {
    /// The fields of the HTTP request, and the id of its exchange.
    #[cfg(feature = "http")]
    http: Option<(&'f dyn Fields, ExchangeId)>,
    lent: PhantomData<&'f ()>,
}

impl<'f> TransportContext<'f> {
    pub(crate) const STREAM: Self = Self {
        #[cfg(feature = "http")]
        http: None,
        lent: PhantomData,
    };

    #[cfg(feature = "http")]
    pub(crate) const fn http(fields: &'f dyn Fields, exchange: ExchangeId) -> Self {
        Self { http: Some((fields, exchange)), lent: PhantomData }
    }

    #[cfg(feature = "http")]
    pub(crate) fn fields(&self) -> Option<&'f dyn Fields> {
        self.http.map(|(fields, _)| fields)
    }

    pub(crate) fn exchange(&self) -> ExchangeId {
        #[cfg(feature = "http")]
        return self.http.map_or(ExchangeId::SESSION, |(_, exchange)| exchange);
        #[cfg(not(feature = "http"))]
        ExchangeId::SESSION
    }
}

impl fmt::Debug for TransportContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TransportContext").field(&self.exchange()).finish()
    }
}
