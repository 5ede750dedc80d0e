//! The encoder that payloads describe themselves to.

use core::fmt;

use super::Encode;
use super::path::Tracker;
use crate::json::{Decimal, JsonStr, RawJson};
use crate::protocol::Revision;
use crate::protocol::error::InvalidPayload;

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

    /// Whether nothing looks at the objects and arrays that are opened now, so that they may be
    /// written as text.
    pub(crate) fn is_inside_plain(&self) -> bool {
        cfg!(not(small)) && self.state.depth >= self.state.watched
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
    #[cfg_attr(not(small), inline(always))]
    pub fn key(&mut self, name: &str) -> bool {
        if self.is_watched(name) && !self.may_begin(&move |known| known == name) {
            return false;
        }
        self.put_key(name);
        true
    }

    /// Writes a member: [`key`](Self::key) and value.
    #[cfg_attr(not(small), inline(always))]
    pub fn member<T: Encode + ?Sized>(&mut self, name: &str, value: &T) {
        if self.key(name) {
            value.encode(self);
        }
    }

    /// Writes a member whose text, with quotes and colon, is `member`.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn constant(&mut self, name: &str, member: &'static str) {
        if !self.is_watched(name) || self.may_begin(&move |known| known == name) {
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
        self.put(name.as_json().as_str().as_bytes());
        self.put(b":");
        true
    }

    /// Writes a name that is formatted.
    pub(super) fn key_display(&mut self, name: &dyn fmt::Display) -> bool {
        let mut text = [0; 64];
        let mut short = Encoder::new(&mut text, 0, self.state.revision);
        short.put_display(name);
        if let Some(rule) = short.is_invalid() {
            self.invalid(rule);
        }
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

    /// Whether the member with this name may be left out, or is perhaps one that is added.
    #[inline(always)]
    fn is_watched(&self, name: &str) -> bool {
        self.state.depth <= self.state.watched
            && (cfg!(small) || may_be_added(name) || self.tracked() > 0)
    }

    /// Returns whether the member with this name is to be written.
    #[cfg_attr(not(small), inline(never))]
    fn may_begin(&mut self, is: &dyn Fn(&str) -> bool) -> bool {
        let outer = self.state.completion;
        self.see_key(is);
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
    fn open(&mut self, bracket: u8) {
        self.state.depth += 1;
        self.state.is_first = true;
        self.put(&[bracket]);
    }

    #[cfg_attr(not(small), inline(always))]
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

    /// Writes a string that is formatted while it is written.
    ///
    /// It is formatted once for each piece of a frame, up to the end of the piece: the bytes are
    /// not copied again, but there is a call for each text that it is made of. A text that has
    /// changed meanwhile ends the frame as [`InvalidPayload::Changed`], unless all that was sent of
    /// it has kept its length, and its last bytes their values.
    pub fn display(&mut self, text: &dyn fmt::Display) {
        self.words(|sink| fmt::write(sink, format_args!("{text}")));
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

crate::text::opaque_debug!(Encoder<'_> |it| { revision: it.state.revision });

// Members that the library adds to `params` and results, and to their `_meta`.

/// Lists the members that are added to an object while it is written.
pub(crate) struct Additions<'e> {
    /// Members of the object itself. Fewer than 8.
    pub(crate) members: &'e [Addition<'e>],
    /// Members of its `_meta`. At most 8.
    pub(crate) meta: &'e [Addition<'e>],
    /// All of them as text, for an object that has none of them; empty if that was not rendered.
    #[cfg(not(small))]
    pub(crate) rendered: &'e [u8],
}

impl Additions<'_> {
    pub(crate) const NONE: Self = Self {
        members: &[],
        meta: &[],
        #[cfg(not(small))]
        rendered: &[],
    };
}

/// A member that is added, unless the object has one with this name.
#[derive(Clone, Copy)]
pub(crate) struct Addition<'e> {
    pub(crate) name: &'static str,
    pub(crate) value: &'e dyn Encode,
    /// Whether the object must not have it.
    pub(crate) is_reserved: bool,
}

/// Whether an addition may have this name: a constant for the name of a field.
#[inline(always)]
const fn may_be_added(name: &str) -> bool {
    matches!(name.as_bytes(), [b'_' | b'i' | b'p' | b'r' | b't', ..])
}

/// The state of the object that is completed.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(super) struct Completion {
    /// Depth of the object's members; 0 if no object is completed.
    pub(super) depth: u32,
    /// Whether it is the `_meta` of the object.
    is_meta: bool,
    /// A bit for each addition that the object has already: those of its members, and of `_meta`.
    seen: [u8; 2],
}

/// The member of an object of JSON text that a piece ends in.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawMember {
    /// Position of the comma or space before its name in the text, and of the end of its value.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Length of the text.
    pub(super) len: usize,
    /// Depth of the object, and the number of the member in it.
    pub(super) depth: u32,
    pub(super) index: usize,
    /// Before its name was looked at.
    pub(super) completion: Completion,
}

impl RawMember {
    pub(super) const NONE: Self =
        Self { start: 0, end: 0, len: 0, depth: 0, index: 0, completion: Completion::NOTHING };
}

/// The bit of `_meta` among those of the members.
const META: u8 = 1 << 7;

impl Completion {
    pub(super) const NOTHING: Self = Self { depth: 0, is_meta: false, seen: [0; 2] };
}

impl Encoder<'_> {
    /// Writes a value that must be an object.
    #[cfg_attr(not(small), inline)]
    pub(crate) fn any_object<T: Encode + ?Sized>(&mut self, value: &T) {
        let depth = self.state.depth + 1;
        self.state.completion = Completion { depth, ..Completion::NOTHING };
        value.encode(self);
        // The end of the object resets the depth.
        if self.state.completion.depth != 0 {
            self.invalid(InvalidPayload::NotAnObject);
        }
    }

    /// Writes a value that must be an object, and the additions that it lacks.
    pub(crate) fn completed<T: Encode + ?Sized>(&mut self, value: &T, additions: &Additions<'_>) {
        self.any_object_with(value, Some(additions));
    }

    /// Writes a member's value that must be an object, and the additions that it lacks.
    pub(crate) fn nested_object<T: Encode + ?Sized>(
        &mut self,
        value: &T,
        additions: Option<&Additions<'_>>,
    ) {
        let outer = self.state.completion;
        self.any_object_with(value, additions);
        self.state.completion = outer;
        if additions.is_some() {
            self.watch(outer.depth);
        }
    }

    #[cfg_attr(not(small), inline(always))]
    fn any_object_with<T: Encode + ?Sized>(
        &mut self,
        value: &T,
        additions: Option<&Additions<'_>>,
    ) {
        let mut inner = Encoder {
            out: self.out,
            #[cfg(not(small))]
            escaped: self.escaped,
            additions,
            tracker: self.tracker.as_deref_mut(),
            state: self.state,
        };
        if additions.is_some() {
            inner.watch(self.state.depth + 1);
        }
        inner.any_object(value);
        self.state = inner.state;
    }

    /// Looks at a name of the object that is completed.
    pub(super) fn see_key(&mut self, is: &dyn Fn(&str) -> bool) {
        let Some(additions) = self.additions else { return };
        let completion = &mut self.state.completion;
        if completion.depth > self.state.depth {
            // The `_meta` before this name is no object.
            return self.invalid(InvalidPayload::NotAnObject);
        }
        if completion.depth < self.state.depth {
            return;
        }
        let [members, meta] = &mut completion.seen;
        if !completion.is_meta && !additions.meta.is_empty() && is("_meta") {
            *members |= META;
            completion.depth += 1;
            completion.is_meta = true;
            return self.watch(self.state.depth + 1);
        }
        let (seen, known) = match completion.is_meta {
            false => (members, additions.members),
            true => (meta, additions.meta),
        };
        for (at, addition) in known.iter().enumerate().filter(|(_, addition)| is(addition.name)) {
            *seen |= 1 << at;
            if addition.is_reserved {
                return self.invalid(InvalidPayload::ReservedMember);
            }
        }
    }

    /// Stays in the object, because the value of its `_meta` is left out.
    fn forget_meta(&mut self, outer: Completion) {
        let Completion { depth, is_meta, .. } = outer;
        self.state.completion = Completion { depth, is_meta, ..self.state.completion };
    }

    /// Adds what the object that ends here lacks.
    #[cfg_attr(not(small), inline(never))]
    pub(super) fn complete(&mut self) {
        let Completion { depth, is_meta, seen } = self.state.completion;
        let [members, meta] = seen;
        if depth > self.state.depth {
            return self.invalid(InvalidPayload::NotAnObject);
        }
        self.state.completion.depth = 0;
        let Some(additions) = self.additions else { return };
        // Added members are not compared with the additions themselves.
        self.watch(0);
        #[cfg(not(small))]
        if !is_meta && seen == [0; 2] && !additions.rendered.is_empty() && self.tracker.is_none() {
            self.separate();
            return self.put(additions.rendered);
        }
        if is_meta {
            self.add(additions.meta, meta);
        } else {
            self.add(additions.members, members);
            if !additions.meta.is_empty() && members & META == 0 && self.key("_meta") {
                self.begin_object();
                self.add(additions.meta, 0);
                self.end_object();
            }
        }
        let outer = if is_meta { depth - 1 } else { 0 };
        self.state.completion = Completion { depth: outer, is_meta: false, seen };
        self.watch(outer);
    }

    fn add(&mut self, additions: &[Addition<'_>], seen: u8) {
        for (at, Addition { name, value, .. }) in additions.iter().enumerate() {
            debug_assert!(may_be_added(name));
            if seen & (1 << at) == 0 {
                self.member(name, *value);
            }
        }
    }

    /// Writes JSON text that must be an object, because it is completed.
    #[cold]
    #[cfg_attr(not(small), inline(never))]
    fn complete_raw(&mut self, json: RawJson<'_>) {
        if !json.is_object() {
            return self.invalid(InvalidPayload::NotAnObject);
        }
        if self.additions.is_none() {
            self.state.completion.depth = 0;
            return self.raw(json);
        }
        self.begin_object();
        self.complete_members(json);
        self.end_object();
    }

    /// Goes on with the member that the last piece has ended in, and stops behind the window, since
    /// reading the others for each piece is quadratic.
    fn complete_members(&mut self, json: RawJson<'_>) {
        let mut members = json.members();
        let mut end = None;
        if let Some(place) = self.resumed_member(json.as_str().len()) {
            self.state.completion = place.completion;
            members.go_to(place.start);
            end = Some(place.end);
        }
        loop {
            let (start, completion) = (members.position(), self.state.completion);
            let Some(key) = members.next_key() else { return };
            let value = match end.take() {
                Some(end) => members.value_until(end),
                None => members.next_value(),
            };
            let Some(value) = value else { return };
            if self.key_json(key) {
                let (end, len) = (members.position(), json.as_str().len());
                self.keep_member(RawMember { start, end, len, depth: 0, index: 0, completion });
                self.raw(value);
            }
            if self.is_full() {
                return;
            }
        }
    }
}
