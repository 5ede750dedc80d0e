//! A JSON object that is written member by member.

use core::fmt::{self, Write};

/// Writes an object. The sink handles a text that does not fit.
pub(super) struct Object<'o> {
    out: &'o mut dyn Write,
    is_empty: bool,
}

impl<'o> Object<'o> {
    pub(super) fn begin(out: &'o mut dyn Write) -> Self {
        put(out, "{");
        Self { out, is_empty: true }
    }

    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        put_string(value, self.name(name));
        self
    }

    pub(super) fn text_if(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    pub(super) fn number(&mut self, name: &str, value: u64) -> &mut Self {
        let _ = write!(self.name(name), "{value}");
        self
    }

    pub(super) fn texts(&mut self, name: &str, values: &[&str]) -> &mut Self {
        let out = self.name(name);
        put(out, "[");
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                put(out, ",");
            }
            put_string(value, out);
        }
        put(out, "]");
        self
    }

    /// Writes a member whose value `write` writes.
    pub(super) fn member(&mut self, name: &str, write: impl FnOnce(&mut dyn Write)) -> &mut Self {
        write(self.name(name));
        self
    }

    pub(super) fn end(&mut self) {
        put(self.out, "}");
    }

    fn name(&mut self, name: &str) -> &mut dyn Write {
        if !core::mem::take(&mut self.is_empty) {
            put(self.out, ",");
        }
        put_string(name, self.out);
        put(self.out, ":");
        self.out
    }
}

fn put(out: &mut dyn Write, text: &str) {
    let _: fmt::Result = out.write_str(text);
}

fn put_string(text: &str, out: &mut dyn Write) {
    put(out, "\"");
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| matches!(c, '"' | '\\' | '\0'..='\u{1f}')) {
        let (plain, behind) = rest.split_at_checked(at).unwrap_or_default();
        put(out, plain);
        let escaped = behind.bytes().next().unwrap_or_default();
        let _: fmt::Result = match escaped {
            b'"' => out.write_str("\\\""),
            b'\\' => out.write_str("\\\\"),
            _ => write!(out, "\\u{escaped:04x}"),
        };
        rest = behind.get(1..).unwrap_or_default();
    }
    put(out, rest);
    put(out, "\"");
}
