//! Encoding of [`Tell`] types with any serde serializer.

use core::fmt;

use serde::ser::{Error as _, SerializeMap as _, SerializeSeq as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use super::ABSENT;
use super::older::{Known, OrElse};
use super::tell::{Made, Tell, Teller, first};
use crate::json::RawJson;

/// Serializes a value that implements [`Tell`].
pub(crate) struct Told<'x>(pub(crate) &'x dyn Tell);

impl Serialize for Told<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut listener = Listener::Ready(serializer);
        self.0.tell(&mut listener);
        match listener {
            Listener::Done(result) => result,
            Listener::Ready(serializer) => serializer.serialize_unit_struct(ABSENT),
            _ => Err(S::Error::custom("nothing was told")),
        }
    }
}

enum Listener<S: Serializer> {
    Ready(S),
    List(S::SerializeSeq),
    /// The map, and whether the next item is a key.
    Map(S::SerializeMap, bool),
    Done(Result<S::Ok, S::Error>),
    Busy,
}

impl<S: Serializer> Listener<S> {
    fn write(&mut self, write: impl FnOnce(S) -> Result<S::Ok, S::Error>) {
        if let Self::Ready(serializer) = core::mem::replace(self, Self::Busy) {
            *self = Self::Done(write(serializer));
        }
    }
}

impl<S: Serializer> Teller for Listener<S> {
    fn text(&mut self, text: &str) {
        self.write(|to| to.serialize_str(text));
    }

    fn json(&mut self, json: RawJson<'_>) {
        self.write(|to| json.serialize(to));
    }

    fn made(&mut self, text: &dyn Made) {
        struct Shown<'x>(&'x dyn Made);
        impl fmt::Display for Shown<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.show(f)
            }
        }
        self.write(|to| to.collect_str(&Shown(text)));
    }

    fn object(&mut self, names: &'static str, members: &[&dyn Tell]) {
        self.write(|to| {
            // The length is no exact count; it only says that the object may have members.
            let mut object = to.serialize_struct("Object", 1)?;
            let mut rest = names;
            for member in members {
                let (name, known);
                (name, known, rest) = first(rest);
                match marker(known) {
                    _ if !is_there(*member) => {}
                    "" => object.serialize_field(name, &Told(*member))?,
                    marker => object.serialize_field(name, &Known(marker, &Told(*member)))?,
                }
            }
            object.end()
        });
    }

    fn open(&mut self, bracket: u8) {
        if let Self::Ready(serializer) = core::mem::replace(self, Self::Busy) {
            *self = if bracket == b'[' {
                serializer
                    .serialize_seq(None)
                    .map_or_else(|error| Self::Done(Err(error)), Self::List)
            } else {
                serializer
                    .serialize_map(None)
                    .map_or_else(|error| Self::Done(Err(error)), |map| Self::Map(map, true))
            };
        }
    }

    fn item(&mut self, item: &dyn Tell) {
        let result = match self {
            Self::List(list) => list.serialize_element(&Told(item)),
            Self::Map(map, is_key) => {
                *is_key = !*is_key;
                if *is_key {
                    map.serialize_value(&Told(item))
                } else {
                    map.serialize_key(&Told(item))
                }
            }
            _ => Ok(()),
        };
        if let Err(error) = result {
            *self = Self::Done(Err(error));
        }
    }

    fn close(&mut self) {
        *self = match core::mem::replace(self, Self::Busy) {
            Self::List(list) => Self::Done(list.end()),
            Self::Map(map, _) => Self::Done(map.end()),
            other => other,
        };
    }

    fn or_else(&mut self, known: &'static str, value: &dyn Tell, older: &dyn Tell) {
        self.write(|to| OrElse(known, &Told(value), &Told(older)).serialize(to));
    }

    fn refuse(&mut self) {
        self.write(|_| Err(S::Error::custom("the value may not be written")));
    }
}

/// Returns the newtype name by which our serializer recognizes a range of revisions.
fn marker(known: &str) -> &'static str {
    MARKERS
        .iter()
        .find(|marker| !known.is_empty() && marker.ends_with(known))
        .copied()
        .unwrap_or_default()
}

const MARKERS: [&str; 7] =
    ["$mcp:AC", "$mcp:AD", "$mcp:BE", "$mcp:CE", "$mcp:DD", "$mcp:DE", "$mcp:EE"];

/// Returns whether the value is present, i.e. encodes anything.
fn is_there(value: &dyn Tell) -> bool {
    struct Ear(bool);
    impl Teller for Ear {
        fn text(&mut self, _: &str) {
            self.0 = true;
        }
        fn json(&mut self, _: RawJson<'_>) {
            self.0 = true;
        }
        fn made(&mut self, _: &dyn Made) {
            self.0 = true;
        }
        fn object(&mut self, _: &'static str, _: &[&dyn Tell]) {
            self.0 = true;
        }
        fn open(&mut self, _: u8) {
            self.0 = true;
        }
        fn item(&mut self, _: &dyn Tell) {}
        fn close(&mut self) {}
        fn or_else(&mut self, _: &'static str, _: &dyn Tell, _: &dyn Tell) {
            self.0 = true;
        }
        fn refuse(&mut self) {
            self.0 = true;
        }
    }
    let mut ear = Ear(false);
    value.tell(&mut ear);
    ear.0
}
