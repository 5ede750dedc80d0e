//! Header fields, what they determine about the body and the connection, and the bytes received.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::borrow::Borrow;
use core::fmt;
#[cfg(feature = "alloc")]
use core::ops::Range;

use super::{Body, MessageError};
use mcp_sansio::Storage;
use mcp_sansio::http::Fields;
use mcp_sansio::internal::{grow, move_down, newline};

/// The fields of a validated head.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HeadFields<'f> {
    /// The head, with its first line and the empty one.
    head: &'f [u8],
    /// Where the lines of the fields begin.
    lines: usize,
}

impl<'f> HeadFields<'f> {
    /// Takes the fields of a head that starts with a request or status line and ends with an empty
    /// line.
    pub(super) fn after_first_line(head: &'f [u8]) -> Self {
        Self { head, lines: newline(head).map_or(head.len(), |at| at + 1) }
    }

    /// Returns all fields in order of appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&'f str, &'f [u8])> + use<'f> {
        let head = self.head;
        let text = |name| core::str::from_utf8(name).ok();
        self.places().filter_map(move |place| Some((text(place.name(head))?, place.value(head))))
    }

    fn places(&self) -> impl Iterator<Item = FieldSpan> + use<'f> {
        places(self.head, self.lines)
    }
}

impl Fields for HeadFields<'_> {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        named(self.places(), self.head, name).nth(n)
    }
}

impl fmt::Debug for HeadFields<'_> {
    /// Shows names only, since values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// The fields of a head, copied out of the buffer of the reader: for a `Site` of the crate
/// `mcp-sansio-engine`.
#[cfg(feature = "alloc")]
#[derive(Clone, Default)]
pub struct OwnedFields {
    /// As in [`HeadFields`].
    head: Vec<u8>,
    places: Vec<FieldSpan>,
    /// The place of the number in `Content-Length`, if the rest says all about a body of any
    /// length.
    number: Option<Range<usize>>,
}

#[cfg(feature = "alloc")]
impl From<HeadFields<'_>> for OwnedFields {
    fn from(fields: HeadFields<'_>) -> Self {
        let mut owned = Self::default();
        owned.copy(fields);
        owned
    }
}

#[cfg(feature = "alloc")]
impl OwnedFields {
    /// Takes over other fields, in the memory of the ones before.
    pub fn copy(&mut self, fields: HeadFields<'_>) {
        self.head.clear();
        self.head.extend_from_slice(fields.head);
        self.places.clear();
        self.places.reserve(USUAL_FIELDS);
        // Without a body nothing is expected, so this does not say all.
        let (mut number, mut expects) = (None, false);
        for place in fields.places() {
            if place.is_of(fields.head, b"content-length") {
                number = Some(place.value as usize..place.end as usize);
            }
            expects |= place.is_of(fields.head, b"expect");
            self.places.push(place);
        }
        self.number = number.filter(|_| !expects);
    }

    /// Returns the number of bytes that the copied head takes.
    pub fn head_len(&self) -> usize {
        self.head.len()
    }

    /// Returns the length of the body if `bytes` begin with this head again. The number in
    /// `Content-Length` may be another of as many digits, which is set here.
    pub(super) fn repeated(&mut self, bytes: &[u8]) -> Option<u64> {
        let Range { start, end } = self.number.clone()?;
        let bytes = bytes.get(..self.head.len())?;
        let digits = bytes.get(start..end)?;
        let is_same = bytes.get(..start) == self.head.get(..start)
            && bytes.get(end..) == self.head.get(end..);
        let length = number(digits).filter(|_| is_same)?;
        self.head.get_mut(start..end)?.copy_from_slice(digits);
        Some(length)
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        named(self.places.iter(), &self.head, name)
    }
}

#[cfg(feature = "alloc")]
impl Fields for OwnedFields {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        self.named(name).nth(n)
    }

    fn first_two(&self, name: &str) -> [Option<&[u8]>; 2] {
        let mut named = self.named(name);
        [named.next(), named.next()]
    }
}

#[cfg(feature = "alloc")]
impl fmt::Debug for OwnedFields {
    /// Shows names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HeadFields::after_first_line(&self.head).fmt(f)
    }
}

/// The place of a field in a head.
#[derive(Clone, Copy)]
struct FieldSpan {
    name: u32,
    colon: u32,
    value: u32,
    end: u32,
}

impl FieldSpan {
    fn name(self, head: &[u8]) -> &[u8] {
        head.get(self.name as usize..self.colon as usize).unwrap_or_default()
    }

    fn value(self, head: &[u8]) -> &[u8] {
        head.get(self.value as usize..self.end as usize).unwrap_or_default()
    }

    fn is_of(self, head: &[u8], name: &[u8]) -> bool {
        (self.colon - self.name) as usize == name.len() && {
            let own = self.name(head);
            own == name || own.eq_ignore_ascii_case(name)
        }
    }
}

/// Finds the fields of a validated head, whose lines begin at `at`: each has a colon, but the empty
/// one.
fn places(head: &[u8], mut at: usize) -> impl Iterator<Item = FieldSpan> {
    core::iter::from_fn(move || {
        let name = at;
        let line = head.get(name..)?;
        let colon = line.iter().position(|byte| *byte == b':')?;
        let value = line.get(colon + 1..)?;
        let value = value.get(..newline(value)?)?;
        at = name + colon + 1 + value.len() + 1;
        let value = value.trim_ascii_start();
        let start = at - 1 - value.len();
        let end = start + value.trim_ascii_end().len();
        let [name, colon, value, end] = [name, name + colon, start, end].map(|at| at as u32);
        Some(FieldSpan { name, colon, value, end })
    })
}

/// Returns the values of the fields with a name.
fn named<'l>(
    places: impl Iterator<Item: Borrow<FieldSpan>>,
    head: &'l [u8],
    name: &str,
) -> impl Iterator<Item = &'l [u8]> {
    let name = name.as_bytes();
    places.filter_map(move |place| {
        let place = place.borrow();
        place.is_of(head, name).then(|| place.value(head))
    })
}

/// The fields that concern framing and connection, collected in one pass.
#[derive(Default)]
pub(super) struct Framing {
    length: Option<u64>,
    is_chunked: bool,
    pub(super) hosts: u8,
    pub(super) expects_continue: bool,
    closes: bool,
    keeps: bool,
}

impl Framing {
    pub(super) fn of(fields: &[httparse::Header<'_>]) -> Result<Self, MessageError> {
        let mut framing = Self::default();
        for field in fields {
            framing.take(field)?;
        }
        if framing.is_chunked && framing.length.is_some() {
            return Err(MessageError::bad("both Content-Length and Transfer-Encoding"));
        }
        Ok(framing)
    }

    fn take(&mut self, field: &httparse::Header<'_>) -> Result<(), MessageError> {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        let value = field.value.trim_ascii();
        if is("content-length") {
            if self.length.is_some() {
                return Err(MessageError::bad("more than one Content-Length"));
            }
            self.length = Some(number(value).ok_or(MessageError::bad("invalid Content-Length"))?);
        } else if is("transfer-encoding") {
            if self.is_chunked {
                return Err(MessageError::bad("more than one Transfer-Encoding"));
            }
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(MessageError::new(501, "Transfer-Encoding is not chunked"));
            }
            self.is_chunked = true;
        } else if is("host") {
            let is_plain = value.iter().all(|byte| {
                byte.is_ascii_graphic() && !matches!(byte, b'/' | b'@' | b'?' | b'#' | b',')
            });
            if !is_plain {
                return Err(MessageError::bad("invalid Host"));
            }
            self.hosts = self.hosts.saturating_add(1);
        } else if is("expect") {
            if !value.eq_ignore_ascii_case(b"100-continue") {
                return Err(MessageError::new(417, "Expect is not 100-continue"));
            }
            self.expects_continue = true;
        } else if is("connection") {
            for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                self.closes |= option.eq_ignore_ascii_case(b"close");
                self.keeps |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        Ok(())
    }

    /// Returns the body's framing; `None` if no field determines it.
    pub(super) fn body(&self, version: u8) -> Result<Option<Body>, MessageError> {
        match (self.is_chunked, self.length) {
            (true, _) if version == 0 => Err(MessageError::bad("Transfer-Encoding in HTTP/1.0")),
            (true, _) => Ok(Some(Body::CHUNKED)),
            (false, length) => Ok(length.map(Body::Length)),
        }
    }

    pub(super) fn keeps_alive(&self, version: u8) -> bool {
        !self.closes && (version > 0 || self.keeps)
    }
}

/// Maps an error of the parser.
pub(super) fn parse_error(error: httparse::Error) -> MessageError {
    match error {
        httparse::Error::TooManyHeaders => MessageError::new(431, "too many header fields"),
        httparse::Error::Version => {
            MessageError::new(505, "the version is neither HTTP/1.1 nor HTTP/1.0")
        }
        httparse::Error::HeaderName => {
            MessageError::bad("invalid name of a header field, or line folding")
        }
        httparse::Error::HeaderValue => MessageError::bad("invalid value of a header field"),
        _ => MessageError::bad("invalid HTTP"),
    }
}

/// Parses a decimal number of bytes, without sign.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// Maximum number of fields in a head. Parsing takes 32 bytes of stack for each (16 on a 32-bit
/// machine).
pub const MAX_FIELDS: usize = 64;

/// Number of fields for which memory is reserved at first.
#[cfg(feature = "alloc")]
const USUAL_FIELDS: usize = 12;

/// Received bytes that were not consumed yet.
#[derive(Debug)]
pub(super) struct Window<S: Storage + ?Sized> {
    /// End of the bytes that were kept, which are at the front.
    kept: usize,
    /// First byte not consumed.
    start: usize,
    /// End of the bytes searched for a line end.
    scanned: usize,
    /// Start of the current line while a head is read.
    line_start: usize,
    end: usize,
    limit: usize,
    /// Number of empty lines before the current head.
    empty_lines: u8,
    storage: S,
}

impl<S: Storage> Window<S> {
    pub(super) const fn new(storage: S, limit: usize) -> Self {
        Self {
            kept: 0,
            start: 0,
            scanned: 0,
            line_start: 0,
            end: 0,
            limit,
            empty_lines: 0,
            storage,
        }
    }
}

#[cfg(feature = "alloc")]
impl Window<Vec<u8>> {
    pub(super) fn replace_storage(&mut self, mut storage: Vec<u8>) -> Vec<u8> {
        self.move_to_front();
        let held = self.storage.get(..self.end).unwrap_or_default();
        match storage.get_mut(..held.len()) {
            Some(front) => front.copy_from_slice(held),
            None => {
                storage.clear();
                storage.extend_from_slice(held);
            }
        }
        core::mem::replace(&mut self.storage, storage)
    }
}

impl<S: Storage + ?Sized> Window<S> {
    pub(super) fn spare(&mut self) -> &mut [u8] {
        let cap = self.storage.bytes().len();
        if self.start == self.end {
            let kept = self.kept;
            (self.start, self.scanned, self.line_start, self.end) = (kept, kept, kept, kept);
        } else if cap - self.end <= cap / 4 && self.start >= self.end - self.start {
            self.move_to_front();
        }
        if self.end == self.storage.bytes().len()
            && !grow(&mut self.storage, self.end + 1, self.limit)
        {
            self.move_to_front();
        }
        let end = self.end;
        self.storage.bytes_mut().get_mut(end..).unwrap_or_default()
    }

    pub(super) fn reserve(&mut self, bytes: usize) {
        let bytes = bytes.min(self.limit);
        if bytes > self.storage.bytes().len() {
            grow(&mut self.storage, bytes, self.limit);
        }
    }

    fn move_to_front(&mut self) {
        let (start, end) = (self.start, self.end);
        move_down(self.storage.bytes_mut(), start, end, self.kept);
        let by = start - self.kept;
        (self.start, self.end) = (self.kept, end - by);
        (self.scanned, self.line_start) = (self.scanned - by, self.line_start - by);
    }

    /// Keeps consumed bytes behind those that were kept before, until
    /// [`release`](Self::release).
    pub(super) fn keep(&mut self, taken: Taken) {
        move_down(self.storage.bytes_mut(), taken.start, taken.end, self.kept);
        self.kept += taken.end - taken.start;
    }

    /// Keeps nothing any more.
    pub(super) fn release(&mut self) {
        self.kept = 0;
    }

    /// Forgets all bytes.
    pub(super) fn clear(&mut self) {
        (self.kept, self.start, self.end, self.empty_lines) = (0, 0, 0, 0);
        (self.scanned, self.line_start) = (0, 0);
    }

    /// Number of bytes that can still be kept.
    pub(super) fn room(&self) -> usize {
        let limit = if self.storage.can_grow() { self.limit } else { 0 };
        self.storage.bytes().len().max(limit) - self.kept
    }

    pub(super) fn commit(&mut self, n: usize) {
        self.end = self.end.saturating_add(n).min(self.storage.bytes().len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Number of bytes held.
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether no more bytes can be held.
    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.room()
    }

    pub(super) fn take(&mut self, n: usize) -> Taken {
        let start = self.start;
        self.start = (start + n).min(self.end);
        self.scanned = self.scanned.max(self.start);
        self.line_start = self.line_start.max(self.start);
        Taken { start, end: self.start }
    }

    pub(super) fn bytes(&self, taken: Taken) -> &[u8] {
        self.storage.bytes().get(taken.start..taken.end).unwrap_or_default()
    }

    /// Takes a line with its end, which must be CR LF; `None` if more bytes are needed.
    pub(super) fn line(
        &mut self,
        limit: usize,
        too_long: MessageError,
    ) -> Result<Option<Taken>, MessageError> {
        let Some(end) = self.line_end()? else {
            return if self.len() >= limit || self.is_full() { Err(too_long) } else { Ok(None) };
        };
        let len = end - self.start;
        if len > limit { Err(too_long) } else { Ok(Some(self.take(len))) }
    }

    /// Takes all lines up to and including an empty one. `too_long` is the error for a head that
    /// does not fit, `line_too_long` for its first line.
    pub(super) fn head(
        &mut self,
        too_long: MessageError,
        line_too_long: MessageError,
    ) -> Result<Option<Taken>, MessageError> {
        loop {
            let Some(end) = self.line_end()? else {
                return match self.is_full() {
                    true if self.line_start > self.start => Err(too_long),
                    true => Err(line_too_long),
                    false => Ok(None),
                };
            };
            let line_start = core::mem::replace(&mut self.line_start, end);
            self.scanned = end;
            if end - line_start > 2 {
                continue;
            }
            if line_start > self.start {
                self.empty_lines = 0;
                return Ok(Some(self.take(end - self.start)));
            }
            // A few empty lines before a message are ignored (RFC 9112, 2.2).
            if self.empty_lines == MAX_EMPTY_LINES {
                return Err(MessageError::bad("too many empty lines before the message"));
            }
            self.empty_lines += 1;
            self.take(2);
        }
    }

    /// Returns the bytes not consumed, if they have not been searched.
    #[cfg(feature = "alloc")]
    pub(super) fn unsearched(&self) -> Option<&[u8]> {
        (self.scanned == self.start).then(|| self.rest(self.start))
    }

    /// Takes a head of this length, which was found otherwise.
    #[cfg(feature = "alloc")]
    pub(super) fn take_head(&mut self, len: usize) {
        self.empty_lines = 0;
        self.take(len);
    }

    /// Returns the bytes that are kept.
    pub(super) fn kept_bytes(&self) -> &[u8] {
        self.storage.bytes().get(..self.kept).unwrap_or_default()
    }

    /// Returns the bytes not consumed.
    pub(super) fn untaken(&self) -> &[u8] {
        self.rest(self.start)
    }

    /// Returns the index after the next line feed.
    fn line_end(&mut self) -> Result<Option<usize>, MessageError> {
        let at = newline(self.rest(self.scanned));
        let Some(at) = at else {
            self.scanned = self.end;
            return Ok(None);
        };
        let end = self.scanned + at;
        let before = end.checked_sub(1).filter(|before| *before >= self.start);
        match before.and_then(|before| self.storage.bytes().get(before)) {
            Some(b'\r') => Ok(Some(end + 1)),
            _ => Err(MessageError::bad("a line ends with a bare line feed")),
        }
    }

    fn rest(&self, from: usize) -> &[u8] {
        self.storage.bytes().get(from..self.end).unwrap_or_default()
    }
}

/// A range of consumed bytes, valid until more bytes are read.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    start: usize,
    end: usize,
}

/// Maximum number of empty lines before a request or response.
pub const MAX_EMPTY_LINES: u8 = 8;
