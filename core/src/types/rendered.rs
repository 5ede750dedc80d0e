//! Constant payloads as text, written while compiling.
//!
//! The text is JSON in one line, in parts: a byte below 0x20 begins a part that only some revisions
//! define, one bit each, and the text begins with a part that all define. No such byte is a tab or
//! a line break, since the revisions of a part are consecutive.

use super::common::Source;
use super::ui::ToolVisibility;
use super::{IconTheme, Role, TaskSupport, Text};
use crate::encode::Gate;
use crate::json::{RawJson, skip_clean};
use crate::text::hex_digit;

/// Writes constant payloads. Traits have no `const` functions, so each type has its `render`.
pub(crate) struct Renderer<'o> {
    out: &'o mut [u8],
    len: usize,
    /// The revisions that define the value that is written.
    gate: u8,
    /// The revisions of the open part.
    part: u8,
    /// The revisions for which the open object has a member.
    begun: u8,
}

impl<'o> Renderer<'o> {
    /// Writes into `out`; what does not fit is only counted.
    pub(crate) const fn new(out: &'o mut [u8]) -> Self {
        Self { out, len: 0, gate: Gate::ALL.0, part: Gate::ALL.0, begun: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Begins an object, and returns what its end needs.
    pub(crate) const fn begin_object(&mut self) -> u8 {
        self.put(b"{");
        core::mem::replace(&mut self.begun, 0)
    }

    pub(crate) const fn end_object(&mut self, outer: u8) {
        self.put(b"}");
        self.begun = outer;
    }

    /// Begins a member, and returns what its end needs.
    pub(crate) const fn begin_member(&mut self, name: &str, gate: Gate) -> u8 {
        let outer = self.gate;
        self.gate = outer & gate.0 & self.begun;
        self.put(b",");
        self.gate = outer & gate.0;
        self.begun |= self.gate;
        self.put(b"\"");
        self.put(name.as_bytes());
        self.put(b"\":");
        outer
    }

    pub(crate) const fn end_member(&mut self, outer: u8) {
        self.gate = outer;
    }

    pub(crate) const fn begin_array(&mut self) {
        self.put(b"[");
    }

    pub(crate) const fn element(&mut self, at: usize) {
        if at > 0 {
            self.put(b",");
        }
    }

    pub(crate) const fn end_array(&mut self) {
        self.put(b"]");
    }

    pub(crate) const fn raw(&mut self, json: RawJson<'_>) {
        self.put(json.as_str().as_bytes());
    }

    pub(crate) const fn string(&mut self, text: &str) {
        self.put(b"\"");
        self.escaped(text.as_bytes());
        self.put(b"\"");
    }

    /// Writes a part of a string.
    pub(crate) const fn escaped(&mut self, text: &[u8]) {
        let mut rest = text;
        while let (clean, Some((special, behind))) = split(rest) {
            self.put(clean);
            match *special {
                b'"' | b'\\' => self.put(&[b'\\', *special]),
                0x08 => self.put(b"\\b"),
                0x0c => self.put(b"\\f"),
                b'\n' => self.put(b"\\n"),
                b'\r' => self.put(b"\\r"),
                b'\t' => self.put(b"\\t"),
                _ => {
                    self.put(b"\\u00");
                    self.put(&[hex_digit(*special >> 4), hex_digit(*special)]);
                }
            }
            rest = behind;
        }
        self.put(rest);
    }

    pub(crate) const fn unsigned(&mut self, value: u64) {
        self.digits(value, 1);
    }

    /// Writes at least this many digits.
    pub(crate) const fn digits(&mut self, value: u64, at_least: u8) {
        let mut unit = 10u64.pow(at_least.saturating_sub(1) as u32);
        while value / unit >= 10 {
            unit *= 10;
        }
        while unit > 0 {
            self.put(&[b'0' + (value / unit % 10) as u8]);
            unit /= 10;
        }
    }

    pub(crate) const fn put(&mut self, text: &[u8]) {
        if self.gate == 0 || text.is_empty() {
            return;
        }
        if self.gate != self.part {
            assert!(!matches!(self.gate, b'\t' | b'\n' | b'\r'), "the revisions of a part");
            self.part = self.gate;
            self.byte(self.gate);
        }
        let mut at = 0;
        while at < text.len() {
            self.byte(if matches!(text[at], b'\n' | b'\r') { b' ' } else { text[at] });
            at += 1;
        }
    }

    const fn byte(&mut self, byte: u8) {
        if self.len < self.out.len() {
            self.out[self.len] = byte;
        }
        self.len += 1;
    }
}

/// Splits at the first byte that needs an escape.
const fn split(text: &[u8]) -> (&[u8], Option<(&u8, &[u8])>) {
    let (clean, rest) = text.split_at(skip_clean(text, 0));
    (clean, rest.split_first())
}

/// A value with a `const` function that writes it.
pub(crate) struct Const<'v, T>(pub(crate) &'v T);

impl Const<'_, Text<'_>> {
    pub(crate) const fn render(self, to: &mut Renderer<'_>) {
        match self.0.source() {
            Source::Own(text) => to.string(text),
            Source::Received(text) => to.raw(text.as_json()),
        }
    }
}

impl Const<'_, RawJson<'_>> {
    pub(crate) const fn render(self, to: &mut Renderer<'_>) {
        to.raw(*self.0);
    }
}

impl Const<'_, bool> {
    pub(crate) const fn render(self, to: &mut Renderer<'_>) {
        to.put(if *self.0 { b"true" } else { b"false" });
    }
}

impl Const<'_, u64> {
    pub(crate) const fn render(self, to: &mut Renderer<'_>) {
        to.unsigned(*self.0);
    }
}

macro_rules! names {
    ($($name:ident)*) => {$(
        impl Const<'_, $name> {
            pub(crate) const fn render(self, to: &mut Renderer<'_>) {
                to.string(self.0.as_str());
            }
        }
    )*};
}

names! { IconTheme TaskSupport Role ToolVisibility }
