//! Members that the library adds to `params` and results, and to their `_meta`.

use super::{Encode, Encoder};
use crate::error::InvalidPayload;
use crate::json::RawJson;

/// Lists the members that are added to an object while it is written.
pub(crate) struct Additions<'e> {
    /// Members of the object itself. Fewer than 8.
    pub(crate) members: &'e [Addition<'e>],
    /// Members of its `_meta`. At most 8.
    pub(crate) meta: &'e [Addition<'e>],
}

/// A member that is added, unless the object has one with this name.
#[derive(Clone, Copy)]
pub(crate) struct Addition<'e> {
    pub(crate) name: &'static str,
    pub(crate) value: &'e dyn Encode,
    /// Whether the object must not have it.
    pub(crate) is_reserved: bool,
}

/// The state of the object that is completed.
#[derive(Clone, Copy, Debug)]
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
        let mut inner = Encoder {
            out: self.out,
            #[cfg(not(small))]
            escaped: self.escaped,
            additions: Some(additions),
            tracker: self.tracker.as_deref_mut(),
            state: self.state,
        };
        inner.watch(self.state.depth + 1);
        inner.any_object(value);
        self.state = inner.state;
    }

    /// Writes a member's value that must be an object, and the additions that it lacks.
    pub(crate) fn nested_object<T: Encode + ?Sized>(
        &mut self,
        value: &T,
        additions: Option<&Additions<'_>>,
    ) {
        let outer = self.state.completion;
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
        self.state.completion = outer;
        if additions.is_some() {
            self.watch(outer.depth);
        }
    }

    /// Looks at a name of the object that is completed.
    pub(super) fn note(&mut self, is: &dyn Fn(&str) -> bool) {
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
    pub(super) fn forget_meta(&mut self, outer: Completion) {
        let Completion { depth, is_meta, .. } = outer;
        self.state.completion = Completion { depth, is_meta, ..self.state.completion };
    }

    /// Adds what the object that ends here lacks.
    #[inline(never)]
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
            if seen & (1 << at) == 0 {
                self.member(name, *value);
            }
        }
    }

    /// Writes JSON text that must be an object, because it is completed.
    #[cold]
    #[inline(never)]
    pub(super) fn complete_raw(&mut self, json: RawJson<'_>) {
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
