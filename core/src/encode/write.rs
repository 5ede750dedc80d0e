//! Writer of JSON text into a buffer that holds a window of a frame.
//!
//! A frame may be longer than the buffer. It is then formatted again for each piece, and only the
//! bytes in the window are copied: those before it have been sent, those after it do not fit yet.

use crate::error::InvalidPayload;
use crate::json::{Decimal, encode_base64 as encode, is_clean, is_clean_key, skip_clean};
use crate::lifecycle::Revision;

/// Writer of a frame, or of the part of it in the window.
pub(crate) struct Writer<'b> {
    out: &'b mut [u8],
    /// Position in `out` of the next byte to be written. Before the window it is negative, in two's
    /// complement.
    at: usize,
    /// Position in the frame of the first byte of `out`.
    from: usize,
    /// Whether to continue after the end of the window, to measure the length of the frame.
    counting: bool,
    /// Whether an object or array has just been opened, so that no comma is needed.
    is_first: bool,
    revision: Revision,
    #[cfg(feature = "http")]
    status: Option<u16>,
}

/// Errors of writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteError {
    /// The window is full.
    Overflow,
    /// The value breaks this rule.
    Value(InvalidPayload),
}

impl<'b> Writer<'b> {
    pub(crate) fn new(out: &'b mut [u8], from: usize, revision: Revision, counting: bool) -> Self {
        Self {
            out,
            at: 0usize.wrapping_sub(from),
            from,
            counting,
            is_first: true,
            revision,
            #[cfg(feature = "http")]
            status: None,
        }
    }

    /// Returns the HTTP status of the response that begins with this frame. Default: 200.
    pub(crate) fn status(&self) -> u16 {
        #[cfg(feature = "http")]
        return self.status.unwrap_or(200);
        #[cfg(not(feature = "http"))]
        200
    }

    /// Sets the HTTP status. Must be called before anything is written, because the head of the
    /// response is sent with the first piece of the frame. Only the first call has an effect, so
    /// that callers can override the status that [`write_error`](crate::rpc::write_error) sets.
    #[cfg(feature = "http")]
    pub(crate) fn set_status(&mut self, status: u16) {
        self.status.get_or_insert(status);
    }

    /// Returns the number of bytes of the frame written so far, including those outside of the
    /// window.
    pub(crate) fn position(&self) -> usize {
        self.at.wrapping_add(self.from)
    }

    /// Returns the revision that the frame is encoded for: members that it does not define are
    /// omitted.
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// Writes text that needs no escaping.
    #[cfg_attr(not(small), inline)]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        if let Some(room) = self.room(bytes.len()) {
            room.copy_from_slice(bytes);
            return Ok(());
        }
        self.put_partly(bytes)
    }

    /// Writes three texts that need no escaping, with one bounds check. `open` and `close` have a
    /// constant length, so they are copied without a call.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline)]
    pub(crate) fn put_between<const A: usize, const B: usize>(
        &mut self,
        open: &[u8; A],
        bytes: &[u8],
        close: &[u8; B],
    ) -> Result<(), WriteError> {
        if cfg!(small) {
            self.put(open)?;
            self.put(bytes)?;
            return self.put(close);
        }
        if let Some(room) = self.room(bytes.len() + (A + B))
            && let Some((before, rest)) = room.split_first_chunk_mut::<A>()
            && let Some((between, behind)) = rest.split_last_chunk_mut::<B>()
            && between.len() == bytes.len()
        {
            *before = *open;
            copy_short(bytes, between);
            *behind = *close;
            return Ok(());
        }
        self.put_partly(open)?;
        self.put_partly(bytes)?;
        self.put_partly(close)
    }

    /// Returns the next `len` bytes of the window, if all of them are inside.
    #[inline]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let room = self.out.get_mut(self.at..)?.get_mut(..len)?;
        self.at += len;
        Some(room)
    }

    /// Writes the opening bracket of an object or array.
    #[cfg_attr(not(small), inline)]
    pub(crate) fn open(&mut self, bracket: u8) -> Result<(), WriteError> {
        self.is_first = true;
        self.put(&[bracket])
    }

    /// Writes the closing brackets of an object or array.
    #[inline]
    pub(crate) fn close<const N: usize>(&mut self, brackets: &[u8; N]) -> Result<(), WriteError> {
        self.is_first = false;
        self.put(brackets)
    }

    /// Writes the comma before an element or a key, except before the first.
    #[cfg_attr(not(small), inline)]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn separate(&mut self) -> Result<(), WriteError> {
        if core::mem::take(&mut self.is_first) { Ok(()) } else { self.put(b",") }
    }

    /// Writes a key, with the comma before it if needed and the colon after it. Names of fields
    /// rarely need an escape: inlined, this is one copy of constant length.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn member(&mut self, name: &str) -> Result<(), WriteError> {
        let is_first = core::mem::take(&mut self.is_first);
        match (is_first, is_clean_key(name.as_bytes())) {
            (true, true) => self.put_between(b"\"", name.as_bytes(), b"\":"),
            (false, true) => self.put_between(b",\"", name.as_bytes(), b"\":"),
            (is_first, false) => self.escaped_member(is_first, name),
        }
    }

    #[cold]
    #[inline(never)]
    fn escaped_member(&mut self, is_first: bool, name: &str) -> Result<(), WriteError> {
        self.put(if is_first { b"" } else { b"," })?;
        self.string(name)?;
        self.put(b":")
    }

    /// [`put`](Self::put) for text that is not, or only partly, inside the window.
    #[cold]
    #[inline(never)]
    fn put_partly(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let position = self.position();
        let sent = self.from.saturating_sub(position).min(bytes.len());
        let rest = bytes.get(sent..).unwrap_or_default();
        let offset = (position + sent).saturating_sub(self.from).min(self.out.len());
        self.at = self.at.wrapping_add(bytes.len());
        let room = self.out.get_mut(offset..).unwrap_or_default();
        let fits = room.len().min(rest.len());
        if let (Some(room), Some(rest)) = (room.get_mut(..fits), rest.get(..fits)) {
            room.copy_from_slice(rest);
        }
        if fits < rest.len() && !self.counting { Err(WriteError::Overflow) } else { Ok(()) }
    }

    /// Writes a string, quoted and escaped.
    #[cfg_attr(small, inline(never))]
    pub(crate) fn string(&mut self, text: &str) -> Result<(), WriteError> {
        if is_clean(text.as_bytes()) {
            return self.put_between(b"\"", text.as_bytes(), b"\"");
        }
        self.put(b"\"")?;
        self.escaped(text)?;
        self.put(b"\"")
    }

    /// Writes a string that is usually a literal: inlined like the key of a
    /// [`member`](Self::member).
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn name(&mut self, name: &str) -> Result<(), WriteError> {
        if is_clean_key(name.as_bytes()) {
            self.put_between(b"\"", name.as_bytes(), b"\"")
        } else {
            self.string(name)
        }
    }

    /// Writes the inside of a string, escaped.
    pub(crate) fn escaped(&mut self, text: &str) -> Result<(), WriteError> {
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            let clean = skip_clean(bytes, at);
            self.put(bytes.get(at..clean).unwrap_or_default())?;
            let Some(&special) = bytes.get(clean) else { return Ok(()) };
            self.escape(special)?;
            at = clean + 1;
        }
    }

    #[cold]
    fn escape(&mut self, byte: u8) -> Result<(), WriteError> {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => {
                let digit =
                    |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
                return self.put(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
        };
        self.put(&[b'\\', short])
    }

    /// Writes JSON text, with line breaks between its tokens replaced by spaces, because a frame is
    /// one line.
    #[inline]
    pub(crate) fn raw(&mut self, json: &str) -> Result<(), WriteError> {
        if cfg!(not(small)) && json.as_bytes().first() == Some(&b'"') {
            return self.put(json.as_bytes());
        }
        self.raw_in_one_line(json)
    }

    #[inline(never)]
    fn raw_in_one_line(&mut self, json: &str) -> Result<(), WriteError> {
        let start = self.position();
        let result = self.put(json.as_bytes());
        // A JSON string contains no line breaks.
        if json.as_bytes().first() == Some(&b'"') {
            return result;
        }
        // Only bytes in the buffer need the replacement: none of them if only the length is
        // counted, a part of them if the frame is sent in pieces.
        let from = start.saturating_sub(self.from);
        let to = self.position().saturating_sub(self.from).min(self.out.len());
        let written = self.out.get_mut(from..to).unwrap_or_default();
        // Rare: a value received in a line contains no line breaks.
        if has_line_break(written) {
            for byte in written {
                if matches!(*byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        result
    }

    /// Writes bytes as base64, without quotes. Bytes that have been sent are not encoded again.
    pub(crate) fn base64(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let encoded = bytes.len().div_ceil(3) * 4;
        if let Some(room) = self.room(encoded) {
            encode(bytes, room);
            return Ok(());
        }
        let end = self.at.wrapping_add(encoded);
        let sent = self.from.saturating_sub(self.position()).min(encoded) / 4;
        self.at = self.at.wrapping_add(sent * 4);
        for chunk in bytes.get(sent * 3..).unwrap_or_default().chunks(48) {
            if self.position() >= self.from + self.out.len() && self.counting {
                break;
            }
            let mut text = [0; 64];
            encode(chunk, &mut text);
            self.put(text.get(..chunk.len().div_ceil(3) * 4).unwrap_or_default())?;
        }
        self.at = end;
        Ok(())
    }

    pub(crate) fn unsigned(&mut self, value: u64) -> Result<(), WriteError> {
        self.put(Decimal::new(value, false).as_bytes())
    }

    pub(crate) fn signed(&mut self, value: i64) -> Result<(), WriteError> {
        self.put(Decimal::new(value.unsigned_abs(), value < 0).as_bytes())
    }

    /// Writes a value whose formatted text needs no escaping.
    pub(crate) fn plain(&mut self, value: &dyn core::fmt::Display) -> Result<(), WriteError> {
        self.format(value, |writer, text| writer.put(text.as_bytes()))
    }

    /// Writes a formatted value as the inside of a string, escaped.
    pub(crate) fn display(&mut self, value: &dyn core::fmt::Display) -> Result<(), WriteError> {
        self.format(value, |writer, text| writer.escaped(text))
    }

    fn format(
        &mut self,
        value: &dyn core::fmt::Display,
        put: fn(&mut Self, &str) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        struct Sink<'w, 'b>(
            &'w mut Writer<'b>,
            fn(&mut Writer<'b>, &str) -> Result<(), WriteError>,
            Result<(), WriteError>,
        );
        impl core::fmt::Write for Sink<'_, '_> {
            fn write_str(&mut self, text: &str) -> core::fmt::Result {
                self.2 = (self.1)(self.0, text);
                self.2.map_err(|_| core::fmt::Error)
            }
        }
        let mut sink = Sink(self, put, Ok(()));
        match core::fmt::write(&mut sink, format_args!("{value}")) {
            Ok(()) => Ok(()),
            Err(_) => Err(sink.2.err().unwrap_or(WriteError::Value(InvalidPayload::Serialize))),
        }
    }
}

/// `copy_from_slice` for slices of the same length. Up to 16 bytes, such as most ids and names of
/// fields, are copied without a call.
#[inline]
fn copy_short(from: &[u8], to: &mut [u8]) {
    let done = cfg!(not(small))
        && match from.len() {
            4..=8 => copy_overlapping::<4>(from, to),
            9..=16 => copy_overlapping::<8>(from, to),
            2..=3 => copy_overlapping::<2>(from, to),
            1 => copy_overlapping::<1>(from, to),
            _ => false,
        };
    if !done {
        to.copy_from_slice(from);
    }
}

/// Copies the first and the last `N` bytes, which must cover the slice.
#[inline]
fn copy_overlapping<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else {
        return false;
    };
    if let Some(to) = to.first_chunk_mut::<N>() {
        *to = *first;
    }
    if let Some(to) = to.last_chunk_mut::<N>() {
        *to = *last;
    }
    true
}

/// Whether there is a line break. Folds over blocks of fixed size are vectorized; a search that can
/// stop at any byte is not.
fn has_line_break(bytes: &[u8]) -> bool {
    let is_line_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    if cfg!(small) {
        return bytes.iter().any(is_line_break);
    }
    let (blocks, rest) = bytes.as_chunks::<64>();
    let hits = |block: &[u8; 64]| {
        block.iter().fold(0, |hit, byte| hit | u8::from(*byte == b'\n') | u8::from(*byte == b'\r'))
    };
    blocks.iter().any(|block| hits(block) != 0) || rest.iter().any(is_line_break)
}
