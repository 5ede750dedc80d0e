//! Writes what a value [tells](crate::types::tell): the same as the serializer, in one function for all types.

use serde::Serialize;

use super::marker::knows;
use super::raw::RawJson;
use super::ser::{Extras, Seen, serialize_into, write_raw_completed};
use super::write::{WriteError, Writer};
use crate::types::tell::{Entries, Items, Made, Tell, Teller, first};

/// Where a [`Payload`](super::Payload) is written.
pub struct Pen<'w, 'b, 's> {
    writer: &'w mut Writer<'b>,
    slot: Slot,
    extras: Option<Extras<'s>>,
    result: Result<(), WriteError>,
    /// Whether anything was told since that was last asked.
    told: bool,
}

/// Where the next value goes. Comma and key are written when it comes, so that a member can turn out to be absent.
#[derive(Clone, Copy)]
enum Slot {
    Alone,
    Element,
    Member(&'static str),
    Key,
}

impl<'w, 'b, 's> Pen<'w, 'b, 's> {
    pub(crate) fn new(writer: &'w mut Writer<'b>, extras: Option<Extras<'s>>) -> Self {
        Self { writer, slot: Slot::Alone, extras, result: Ok(()), told: false }
    }

    /// The way of serde, with code for each type.
    #[inline]
    pub(crate) fn serialize<T: Serialize + ?Sized>(self, value: &T) -> Result<(), WriteError> {
        serialize_into(self.writer, value, self.extras)
    }

    /// The other way.
    pub(crate) fn tell(mut self, value: &dyn Tell) -> Result<(), WriteError> {
        value.tell(&mut self);
        // What says nothing cannot be sent.
        if self.told { self.result } else { self.result.and(Err(WriteError::Value)) }
    }

    /// Writes what precedes a value.
    fn begin(&mut self) -> Result<(), WriteError> {
        self.told = true;
        match self.slot {
            _ if self.extras.is_some() => Err(WriteError::Value),
            Slot::Alone => Ok(()),
            Slot::Element | Slot::Key => self.writer.separate(),
            Slot::Member(name) => self.writer.member(name),
        }
    }

    fn write(&mut self, write: &mut dyn FnMut(&mut Self) -> Result<(), WriteError>) {
        if self.result.is_ok() {
            self.result = write(self);
        }
    }

    /// One value that goes there.
    fn put(&mut self, slot: Slot, value: &dyn Tell) -> Result<(), WriteError> {
        self.slot = slot;
        self.told = false;
        value.tell(self);
        self.result
    }

    fn write_object(&mut self, names: &'static str, members: &[&dyn Tell]) -> Result<(), WriteError> {
        let extras = self.extras.take();
        self.begin()?;
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
            self.extras = noted.1;
            self.put(Slot::Member(name), *member)?;
            if self.told {
                seen = seen.and(noted.0);
            }
        }
        self.extras = None;
        self.told = true;
        if let Some(extras) = extras {
            extras.complete(seen, self.writer)?;
        }
        self.writer.close(b"}")
    }
}

impl Teller for Pen<'_, '_, '_> {
    fn text(&mut self, text: &str) {
        self.write(&mut |pen| {
            pen.begin()?;
            pen.writer.string(text)
        });
    }

    fn json(&mut self, json: RawJson<'_>) {
        self.write(&mut |pen| match pen.extras.take() {
            None => {
                pen.begin()?;
                pen.writer.raw(json.as_str())
            }
            Some(extras) => {
                pen.begin()?;
                write_raw_completed(pen.writer, json, extras)
            }
        });
    }

    fn made(&mut self, text: &dyn Made) {
        self.write(&mut |pen| {
            pen.begin()?;
            pen.writer.put(b"\"")?;
            text.write(pen.writer)?;
            pen.writer.put(b"\"")
        });
    }

    fn object(&mut self, names: &'static str, members: &[&dyn Tell]) {
        self.write(&mut |pen| pen.write_object(names, members));
    }

    fn list(&mut self, items: Items<'_>) {
        self.write(&mut |pen| {
            pen.begin()?;
            pen.writer.open(b'[')?;
            items(&mut |item| {
                let _ = pen.result.and_then(|()| pen.put(Slot::Element, item));
            });
            pen.told = true;
            pen.result.and_then(|()| pen.writer.close(b"]"))
        });
    }

    fn map(&mut self, entries: Entries<'_>) {
        self.write(&mut |pen| {
            pen.extras = pen.extras.take().filter(|extras| !matches!(extras, Extras::Nothing));
            pen.begin()?;
            pen.writer.open(b'{')?;
            entries(&mut |key, value| {
                let _ = pen.result.and_then(|()| {
                    pen.put(Slot::Key, key)?;
                    pen.writer.put(b":")?;
                    pen.put(Slot::Alone, value)
                });
            });
            pen.told = true;
            pen.result.and_then(|()| pen.writer.close(b"}"))
        });
    }

    fn or_else(&mut self, known: &'static str, value: &dyn Tell, older: &dyn Tell) {
        if knows(known, self.writer.revision()) { value.tell(self) } else { older.tell(self) }
    }

    fn refuse(&mut self) {
        self.result = Err(WriteError::Value);
    }
}
