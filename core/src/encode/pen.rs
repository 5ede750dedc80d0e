//! Writer of payloads, with serde or with the object-safe [`Tell`], which has the same output and
//! needs no code for each type.

use serde::Serialize;

use super::marker::knows;
use super::ser::{Extras, Seen, serialize_into, write_members, write_raw_completed};
use super::tell::{Made, Tell, Teller, first};
use super::write::{WriteError, Writer};
use crate::error::InvalidPayload;
use crate::json::RawJson;

/// Writer that a [`Payload`](super::Payload) is encoded to.
pub struct Pen<'w, 'b, 's> {
    writer: &'w mut Writer<'b>,
    slot: Slot,
    extras: Option<Extras<'s>>,
    result: Result<(), WriteError>,
    /// Whether a value was told since this was last reset.
    told: bool,
}

/// Where the next value goes. Comma and key are written when it comes, so that a member can turn
/// out to be absent.
#[derive(Clone, Copy)]
enum Slot {
    Alone,
    Element,
    Member(&'static str),
    Key,
    Value,
}

impl<'w, 'b, 's> Pen<'w, 'b, 's> {
    pub(crate) fn new(writer: &'w mut Writer<'b>, extras: Option<Extras<'s>>) -> Self {
        Self { writer, slot: Slot::Alone, extras, result: Ok(()), told: false }
    }

    /// Writes a value with serde, which instantiates code for each type.
    #[inline]
    pub(crate) fn serialize<T: Serialize + ?Sized>(self, value: &T) -> Result<(), WriteError> {
        serialize_into(self.writer, value, self.extras)
    }

    /// Writes a value through `dyn Tell`.
    pub(crate) fn tell(mut self, value: &dyn Tell) -> Result<(), WriteError> {
        value.tell(&mut self);
        // An empty encoding is an error.
        if self.told {
            self.result
        } else {
            self.result.and(Err(WriteError::Value(InvalidPayload::Serialize)))
        }
    }

    /// An object whose members `write` writes.
    pub(crate) fn members(
        self,
        write: impl Fn(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        write_members(self.writer, self.extras.unwrap_or(Extras::Nothing), write)
    }

    /// Writes what precedes a value, unless there is an error already.
    fn begin(&mut self) -> bool {
        self.told = true;
        if self.result.is_ok() {
            self.result = match self.slot {
                _ if self.extras.is_some() => Err(WriteError::Value(InvalidPayload::NotAnObject)),
                Slot::Alone => Ok(()),
                Slot::Element | Slot::Key => self.writer.separate(),
                Slot::Value => self.writer.put(b":"),
                Slot::Member(name) => self.writer.member(name),
            };
        }
        self.result.is_ok()
    }

    fn write_made(&mut self, text: &dyn Made) -> Result<(), WriteError> {
        self.writer.put(b"\"")?;
        text.write(self.writer)?;
        self.writer.put(b"\"")
    }

    fn write_object(
        &mut self,
        names: &'static str,
        members: &[&dyn Tell],
        extras: Option<Extras<'s>>,
    ) -> Result<(), WriteError> {
        self.writer.open(b'{')?;
        let mut seen = Seen::default();
        let mut rest = names;
        for member in members {
            let (name, known);
            (name, known, rest) = first(rest);
            if !knows(known, self.writer.revision()) {
                continue;
            }
            let noted = extras.map(|extras| extras.note(name)).unwrap_or_default();
            (self.slot, self.extras, self.told) = (Slot::Member(name), noted.1, false);
            member.tell(self);
            self.result?;
            if self.told {
                seen = seen.and(noted.0);
            }
        }
        self.extras = None;
        if let Some(extras) = extras {
            extras.complete(seen, self.writer)?;
        }
        self.writer.close(b"}")
    }
}

impl Teller for Pen<'_, '_, '_> {
    fn text(&mut self, text: &str) {
        if self.begin() {
            self.result = self.writer.string(text);
        }
    }

    fn json(&mut self, json: RawJson<'_>) {
        let extras = self.extras.take();
        if self.begin() {
            self.result = match extras {
                None => self.writer.raw(json.as_str()),
                Some(extras) => write_raw_completed(self.writer, json, extras),
            };
        }
    }

    fn made(&mut self, text: &dyn Made) {
        if self.begin() {
            self.result = self.write_made(text);
        }
    }

    fn object(&mut self, names: &'static str, members: &[&dyn Tell]) {
        let extras = self.extras.take();
        if self.begin() {
            self.result = self.write_object(names, members, extras);
            self.told = true;
        }
    }

    fn open(&mut self, bracket: u8) {
        if self.begin() {
            self.result = self.writer.open(bracket);
            self.slot = if bracket == b'[' { Slot::Element } else { Slot::Key };
        }
    }

    fn item(&mut self, item: &dyn Tell) {
        let slot = self.slot;
        item.tell(self);
        self.slot = match slot {
            Slot::Key => Slot::Value,
            Slot::Value => Slot::Key,
            slot => slot,
        };
    }

    fn close(&mut self) {
        if self.result.is_ok() {
            self.result =
                self.writer.close(if let Slot::Element = self.slot { b"]" } else { b"}" });
        }
        self.told = true;
    }

    fn or_else(&mut self, known: &'static str, value: &dyn Tell, older: &dyn Tell) {
        if knows(known, self.writer.revision()) { value.tell(self) } else { older.tell(self) }
    }

    fn refuse(&mut self) {
        self.result = Err(WriteError::Value(InvalidPayload::Serialize));
    }
}
