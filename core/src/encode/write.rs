//! Bytes into the window: text, strings, JSON, base64.

use core::{fmt, mem};

use super::path::Parts;
use super::{Encode, Encoder};
use crate::json::{base64_len, encode_base64, is_clean, is_clean_key, skip_clean};
use crate::protocol::error::InvalidPayload;
use crate::text::{copy, hex_digit};

impl<'b> Encoder<'b> {
    /// Returns the number of bytes of the frame written so far, including those outside of the
    /// window.
    pub(crate) fn position(&self) -> usize {
        self.state.at.wrapping_add(self.state.from)
    }

    /// Writes text that needs no escaping.
    #[cfg_attr(not(small), inline)]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        #[cfg(small)]
        if self.state.is_escaped {
            return self.put_inside(bytes);
        }
        match self.room(bytes.len()) {
            Some(room) => copy(bytes, room),
            None => self.put_partly(bytes),
        }
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
    ) {
        if cfg!(not(small))
            && let Some(room) = self.room(bytes.len() + (A + B))
            && let Some((before, rest)) = room.split_first_chunk_mut::<A>()
            && let Some((between, behind)) = rest.split_last_chunk_mut::<B>()
            && between.len() == bytes.len()
        {
            *before = *open;
            copy_short(bytes, between);
            *behind = *close;
            return;
        }
        self.put(open);
        self.put(bytes);
        self.put(close);
    }

    /// Returns the next `len` bytes of the window, if all of them are inside.
    #[inline]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        let room = self.out.get_mut(self.state.at..)?.get_mut(..len)?;
        self.state.at += len;
        Some(room)
    }

    /// [`put`](Self::put) for text that is not, or only partly, inside the window.
    #[cold]
    #[cfg_attr(not(small), inline(never))]
    fn put_partly(&mut self, bytes: &[u8]) {
        #[cfg(not(small))]
        if self.state.is_escaped {
            return self.put_inside(bytes);
        }
        let position = self.position();
        let sent = self.state.from.saturating_sub(position).min(bytes.len());
        let rest = bytes.get(sent..).unwrap_or_default();
        let offset = (position + sent).saturating_sub(self.state.from).min(self.out.len());
        self.state.at = self.state.at.wrapping_add(bytes.len());
        if self.is_stopped() {
            self.watch(0);
        }
        if self.is_only_measured() {
            return;
        }
        self.track_sent(bytes.get(..sent).unwrap_or_default());
        let room = self.out.get_mut(offset..).unwrap_or_default();
        let fits = room.len().min(rest.len());
        if let (Some(room), Some(rest)) = (room.get_mut(..fits), rest.get(..fits)) {
            copy(rest, room);
        }
    }

    /// Whether only the length counts: what does not fit, and is not written in pieces, is written
    /// again.
    fn is_only_measured(&self) -> bool {
        cfg!(not(small)) && self.tracker.is_none() && self.state.at > self.out.len()
    }

    /// Writes the comma before an element or a key, except before the first.
    #[cfg_attr(not(small), inline)]
    pub(super) fn separate(&mut self) {
        if !mem::take(&mut self.state.is_first) {
            self.put(b",");
        }
    }

    /// Writes a key, with the comma before it if needed and the colon after it. Names of fields
    /// rarely need an escape: inlined, this is one copy of constant length.
    #[cfg_attr(not(small), inline(always))]
    pub(super) fn put_key(&mut self, name: &str) {
        let is_first = mem::take(&mut self.state.is_first);
        match (is_first, cfg!(not(small)) && is_clean_key(name.as_bytes())) {
            (true, true) => self.put_between(b"\"", name.as_bytes(), b"\":"),
            (false, true) => self.put_between(b",\"", name.as_bytes(), b"\":"),
            (is_first, false) => self.put_escaped_key(is_first, name),
        }
    }

    #[cold]
    #[cfg_attr(not(small), inline(never))]
    fn put_escaped_key(&mut self, is_first: bool, name: &str) {
        self.put(if is_first { b"\"" } else { b",\"" });
        self.put_escaped(name.as_bytes());
        self.put(b"\":");
    }

    /// Writes a string that is the JSON text of a value. The text is not kept anywhere: a frame in
    /// pieces goes on inside of it. A value that does so itself is invalid.
    pub(crate) fn put_json_string(&mut self, value: &dyn Encode) {
        if self.state.is_escaped {
            return self.invalid(InvalidPayload::Serialize);
        }
        self.put(b"\"");
        self.set_escaped(true);
        value.encode(self);
        self.set_escaped(false);
        self.put(b"\"");
    }

    /// Writes a part of a JSON text that is the inside of a string.
    #[cfg_attr(not(small), inline(never))]
    fn put_inside(&mut self, bytes: &[u8]) {
        self.set_escaped(false);
        self.put_escaped(bytes);
        self.set_escaped(true);
    }

    fn set_escaped(&mut self, is_escaped: bool) {
        self.state.is_escaped = is_escaped;
        #[cfg(not(small))]
        mem::swap(&mut self.out, &mut self.escaped);
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) {
        if self.is_long(text.len()) {
            self.put(b"\"");
            self.in_parts(text.as_bytes(), Self::put_escaped);
            return self.put(b"\"");
        }
        if self.skips(text.len()) {
            return;
        }
        if cfg!(not(small)) && is_clean(text.as_bytes()) {
            return self.put_between(b"\"", text.as_bytes(), b"\"");
        }
        self.put(b"\"");
        self.put_escaped(text.as_bytes());
        self.put(b"\"");
    }

    /// Writes the inside of a string, escaped.
    pub(crate) fn put_escaped(&mut self, bytes: &[u8]) {
        let mut at = 0;
        loop {
            let clean = skip_clean(bytes, at);
            self.put(bytes.get(at..clean).unwrap_or_default());
            let Some(&special) = bytes.get(clean) else { return };
            self.put_escape(special);
            at = clean + 1;
        }
    }

    #[cold]
    fn put_escape(&mut self, byte: u8) {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            _ => {
                let (high, low) = (hex_digit(byte >> 4), hex_digit(byte));
                return self.put(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        };
        self.put(&[b'\\', short]);
    }

    /// Writes JSON text, with line breaks between its tokens replaced by spaces.
    #[inline]
    pub(crate) fn put_raw(&mut self, json: &str) {
        if self.is_long(json.len()) {
            return self.in_parts(json.as_bytes(), Self::put_in_one_line);
        }
        // A JSON string contains no line breaks.
        if json.as_bytes().first() == Some(&b'"') {
            return self.put(json.as_bytes());
        }
        self.put_in_one_line(json.as_bytes());
    }

    #[cfg_attr(not(small), inline(never))]
    fn put_in_one_line(&mut self, json: &[u8]) {
        let start = self.position();
        self.put(json);
        if self.is_only_measured() {
            return;
        }
        // Only bytes in the buffer need the replacement: none of them if only the length is
        // counted, a part of them if the frame is sent in pieces.
        let from = start.saturating_sub(self.state.from);
        let to = self.position().saturating_sub(self.state.from).min(self.out.len());
        let written = self.out.get_mut(from..to).unwrap_or_default();
        // Rare: a value received in a line contains no line breaks.
        if has_line_break(written) {
            for byte in written {
                if matches!(*byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
    }

    /// Writes bytes as base64, without quotes.
    pub(crate) fn put_base64(&mut self, bytes: &[u8]) {
        #[cfg(not(small))]
        if self.state.is_escaped {
            // Nothing of it needs an escape inside of a string.
            self.set_escaped(false);
            self.put_base64(bytes);
            return self.set_escaped(true);
        }
        let encoded = base64_len(bytes.len());
        if let Some(room) = self.room(encoded) {
            return encode_base64(bytes, room);
        }
        if self.is_long(bytes.len()) {
            return self.in_parts(bytes, Self::put_base64_part);
        }
        if self.tracker.is_some() {
            return self.put_base64_part(bytes);
        }
        // Only the length counts: what does not fit is written in pieces.
        self.state.at = self.state.at.wrapping_add(encoded);
    }

    fn put_base64_part(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(48) {
            let mut text = [0; 64];
            encode_base64(chunk, &mut text);
            self.put(text.get(..base64_len(chunk.len())).unwrap_or_default());
        }
    }

    /// Writes a value whose formatted text needs no escaping.
    pub(crate) fn put_display(&mut self, value: &dyn fmt::Display) {
        self.format(|sink| fmt::write(sink, format_args!("{value}")), None, Self::put);
    }

    /// Writes a formatted value as the name of a member, without the quotes.
    pub(super) fn put_escaped_display(&mut self, value: &dyn fmt::Display) {
        self.format(|sink| fmt::write(sink, format_args!("{value}")), None, Self::put_escaped);
    }

    /// Writes a string of what `write` writes, without `core::fmt`, which takes flash. For each
    /// piece it is written from its beginning, but what has been sent is skipped, and what does not
    /// fit ends it.
    pub(crate) fn words(&mut self, write: impl FnOnce(&mut Sink<'_, 'b>) -> fmt::Result) {
        self.put(b"\"");
        let parts = self.tracker.is_some().then(|| self.begin_parts());
        self.format(write, parts, Self::put_escaped);
        self.put(b"\"");
    }

    fn format(
        &mut self,
        write: impl FnOnce(&mut Sink<'_, 'b>) -> fmt::Result,
        parts: Option<Parts>,
        put: fn(&mut Self, &[u8]),
    ) {
        let mut sink = Sink { to: self, parts, put, is_full: false };
        if write(&mut sink).is_err() && !sink.is_full {
            self.invalid(InvalidPayload::Serialize);
        }
    }
}

/// Writes what a value formats.
pub(crate) struct Sink<'w, 'b> {
    to: &'w mut Encoder<'b>,
    parts: Option<Parts>,
    put: fn(&mut Encoder<'b>, &[u8]),
    is_full: bool,
}

impl fmt::Write for Sink<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let Some(parts) = &mut self.parts else {
            (self.put)(self.to, text.as_bytes());
            self.is_full = self.to.is_stopped();
            return if self.is_full { Err(fmt::Error) } else { Ok(()) };
        };
        self.is_full = !self.to.put_parts(parts, text.as_bytes(), self.put);
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
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
        copy(from, to);
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
