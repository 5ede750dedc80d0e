//! The encoder that payloads describe themselves to.

use core::fmt;

use super::Encode;
use super::complete::{Additions, Completion};
use super::path::Tracker;
use crate::error::InvalidPayload;
use crate::json::{Decimal, JsonStr, RawJson};
use crate::lifecycle::Revision;

/// Writes JSON into the window of a frame, for the revision of the peer: what
/// [`Formatter`](fmt::Formatter) is to `Display`.
///
/// A frame may be longer than the buffer. It is then written again for each piece, and only the
/// bytes in the window are copied: those before it have been sent, those after it do not fit yet.
/// So no method fails: what does not fit, and what is [`invalid`](Self::invalid), is seen at the
/// end.
pub struct Encoder<'b> {
    pub(super) out: &'b mut [u8],
    /// The window, while all that is written is the inside of a string: `out` is empty then, so
    /// that no fast path copies anything without escaping it. Otherwise empty.
    #[cfg(not(small))]
    pub(super) escaped: &'b mut [u8],
    pub(super) additions: Option<&'b Additions<'b>>,
    pub(super) tracker: Option<&'b mut Tracker>,
    pub(super) state: State,
}

/// The part of an encoder that is plain data.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// Position in the window of the next byte to be written. Before the window it is negative, in
    /// two's complement.
    pub(super) at: usize,
    /// Position in the frame of the first byte of the window.
    pub(super) from: usize,
    /// Number of objects and arrays that are open.
    pub(super) depth: u32,
    /// Depth up to which names are looked at.
    pub(super) watched: u32,
    /// Position in the frame behind which no more is begun of a value whose end is not needed.
    #[cfg(not(small))]
    pub(super) stop: usize,
    pub(super) completion: Completion,
    /// Whether all that is written is the inside of a string.
    pub(super) is_escaped: bool,
    /// Whether an object or array has just been opened, so that no comma is needed.
    pub(super) is_first: bool,
    revision: Revision,
    invalid: Option<InvalidPayload>,
    #[cfg(feature = "http")]
    status: Option<u16>,
}

/// The revisions that define a member.
#[derive(Clone, Copy)]
pub(crate) struct Gate(pub(crate) u8);

impl Gate {
    pub(crate) const ALL: Self = Self(0x1f);

    pub(crate) const fn since(revision: Revision) -> Self {
        Self(Self::ALL.0 << revision as u8 & Self::ALL.0)
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn until(revision: Revision) -> Self {
        Self(Self::ALL.0 & !(Self::since(revision).0 << 1))
    }

    pub(crate) const fn only(revision: Revision) -> Self {
        Self(1 << revision as u8)
    }
}

impl<'b> Encoder<'b> {
    pub(crate) fn new(out: &'b mut [u8], from: usize, revision: Revision) -> Self {
        Self {
            out,
            #[cfg(not(small))]
            escaped: &mut [],
            additions: None,
            tracker: None,
            state: State {
                at: 0usize.wrapping_sub(from),
                from,
                depth: 0,
                watched: 0,
                #[cfg(not(small))]
                stop: usize::MAX,
                completion: Completion::NOTHING,
                is_escaped: false,
                is_first: true,
                revision,
                invalid: None,
                #[cfg(feature = "http")]
                status: None,
            },
        }
    }

    /// Returns the revision that the frame is written for.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.state.revision
    }

    #[inline]
    pub(crate) fn knows(&self, gate: Gate) -> bool {
        gate.0 & 1 << self.state.revision as u8 != 0
    }

    /// Returns the HTTP status of the response that begins with this frame. Default: 200.
    pub(crate) fn status(&self) -> u16 {
        #[cfg(feature = "http")]
        return self.state.status.unwrap_or(200);
        #[cfg(not(feature = "http"))]
        200
    }

    /// Sets the HTTP status. Must be called before anything is written, because the head of the
    /// response is sent with the first piece of the frame. Only the first call has an effect, so
    /// that callers can override the status that [`write_error`](crate::rpc::write_error) sets.
    #[cfg(feature = "http")]
    pub(crate) fn set_status(&mut self, status: u16) {
        self.state.status.get_or_insert(status);
    }

    /// Marks the value as invalid: nothing is sent. The first rule counts.
    #[cold]
    pub fn invalid(&mut self, rule: InvalidPayload) {
        self.state.invalid.get_or_insert(rule);
    }

    /// Returns the rule that the value breaks, if it is invalid.
    pub(crate) fn is_invalid(&self) -> Option<InvalidPayload> {
        self.state.invalid
    }

    /// Leaves out what begins behind this position of the frame, so that the work for a value that
    /// is too long to be written now has a limit.
    pub(crate) fn stop_behind(&mut self, position: usize) {
        #[cfg(not(small))]
        (self.state.stop = position);
        let _ = position;
    }

    /// Whether more is left out.
    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.position() > self.stop()
    }

    #[inline]
    pub(super) fn stop(&self) -> usize {
        #[cfg(not(small))]
        return self.state.stop;
        #[cfg(small)]
        usize::MAX
    }

    pub(super) fn watch(&mut self, depth: u32) {
        self.state.watched = depth.max(self.tracked());
    }

    /// Begins an object: then come a [`key`](Self::key) and a value, and so on.
    #[cfg_attr(not(small), inline)]
    pub fn begin_object(&mut self) {
        self.open(b'{');
        if self.state.depth <= self.state.watched {
            self.track_object();
        }
    }

    /// Writes the name of a member. Its value follows if this returns `true`; otherwise the member
    /// is left out.
    #[must_use]
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    pub fn key(&mut self, name: &str) -> bool {
        if self.state.depth <= self.state.watched && !self.may_begin(&move |known| known == name) {
            return false;
        }
        self.put_key(name);
        true
    }

    /// Writes a member: [`key`](Self::key) and value.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    pub fn member<T: Encode + ?Sized>(&mut self, name: &str, value: &T) {
        if self.key(name) {
            value.encode(self);
        }
    }

    /// Writes a member whose text, with quotes and colon, is `member`.
    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    pub(crate) fn constant(&mut self, name: &str, member: &'static str) {
        if self.state.depth > self.state.watched || self.may_begin(&move |known| known == name) {
            self.separate();
            self.put(member.as_bytes());
        }
    }

    /// Writes the name of a member as it was received.
    pub(crate) fn key_json(&mut self, name: JsonStr<'_>) -> bool {
        if self.state.depth <= self.state.watched && !self.may_begin(&move |known| name == *known) {
            return false;
        }
        self.separate();
        self.put(name.as_json().as_bytes());
        self.put(b":");
        true
    }

    /// Writes a name that is formatted.
    pub(super) fn key_display(&mut self, name: &dyn fmt::Display) -> bool {
        let mut text = [0; 64];
        let mut short = Encoder::new(&mut text, 0, self.state.revision);
        short.put_display(name);
        let len = short.position();
        if let Some(name) = text.get(..len).and_then(|text| core::str::from_utf8(text).ok()) {
            return self.key(name);
        }
        // Too long to be one that is looked for.
        if self.state.depth <= self.state.watched && !self.may_begin(&|_| false) {
            return false;
        }
        self.separate();
        self.put(b"\"");
        self.put_escaped_display(name);
        self.put(b"\":");
        true
    }

    /// Returns whether the member with this name is to be written.
    #[inline(never)]
    fn may_begin(&mut self, is: &dyn Fn(&str) -> bool) -> bool {
        let outer = self.state.completion;
        self.note(is);
        let is_written = self.track_member();
        if !is_written {
            self.forget_meta(outer);
        }
        is_written
    }

    /// Ends an object.
    #[cfg_attr(not(small), inline)]
    pub fn end_object(&mut self) {
        if self.state.depth <= self.state.completion.depth {
            self.complete();
        }
        self.close(b'}');
    }

    /// Begins an array: then come [`element`](Self::element) and a value, and so on.
    #[cfg_attr(not(small), inline)]
    pub fn begin_array(&mut self) {
        self.open(b'[');
    }

    /// Begins the element number `at`. Returns the number of the element whose value follows, or
    /// `None` if the array ends here because no more fits.
    #[cfg_attr(not(small), inline)]
    pub fn element(&mut self, at: usize) -> Option<usize> {
        let next =
            if self.state.depth <= self.state.watched { self.track_element(at)? } else { at };
        self.separate();
        Some(next)
    }

    /// Ends an array.
    #[cfg_attr(not(small), inline)]
    pub fn end_array(&mut self) {
        self.close(b']');
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn open(&mut self, bracket: u8) {
        self.state.depth += 1;
        self.state.is_first = true;
        self.put(&[bracket]);
    }

    #[cfg_attr(not(small), inline(always))]
    #[cfg_attr(small, inline(never))]
    fn close(&mut self, bracket: u8) {
        self.state.depth = self.state.depth.saturating_sub(1);
        self.state.is_first = false;
        self.put(&[bracket]);
    }

    /// Writes the values of an iterator as an array.
    pub(crate) fn array<T: Encode>(&mut self, values: impl Iterator<Item = T>) {
        self.begin_array();
        let mut begun = None;
        for (at, value) in values.enumerate() {
            match begun.take().or_else(|| self.element(at)) {
                Some(next) if next > at => begun = Some(next),
                Some(_) => value.encode(self),
                None => break,
            }
        }
        self.end_array();
    }

    /// Writes a string.
    #[inline]
    pub fn string(&mut self, text: &str) {
        self.put_string(text);
    }

    /// Writes a string that is formatted while it is written.
    ///
    /// It is formatted once for each piece of a frame, up to the end of the piece: the bytes are
    /// not copied again, but there is a call for each text that it is made of. A text that has
    /// changed meanwhile ends the frame as [`InvalidPayload::Changed`], unless all that was sent of
    /// it has kept its length, and its last bytes their values.
    pub fn display(&mut self, text: &dyn fmt::Display) {
        self.put_display_string(text);
    }

    /// Writes JSON text, with line breaks replaced by spaces, because a frame is one line.
    #[inline]
    pub fn raw(&mut self, json: RawJson<'_>) {
        if self.state.depth < self.state.completion.depth {
            return self.complete_raw(json);
        }
        self.put_raw(json.as_str());
    }

    /// Writes an integer.
    pub fn unsigned(&mut self, value: u64) {
        self.put(Decimal::new(value, false).as_bytes());
    }

    /// Writes an integer.
    pub fn signed(&mut self, value: i64) {
        self.put(Decimal::new(value.unsigned_abs(), value < 0).as_bytes());
    }

    /// Writes a boolean.
    pub fn boolean(&mut self, value: bool) {
        self.put(if value { b"true" } else { b"false" });
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.put(b"null");
    }
}

impl fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").field("revision", &self.state.revision).finish_non_exhaustive()
    }
}
