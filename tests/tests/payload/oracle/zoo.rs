//! Types of every shape in serde's data model.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::random::{Random, float, text};

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Plain {
    pub(crate) number: i64,
    pub(crate) float: f64,
    pub(crate) text: String,
    pub(crate) option: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) absent: Option<Box<Plain>>,
    pub(crate) tuple: (bool, char, [u16; 2]),
    pub(crate) unit: (),
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Strict {
    pub(crate) a: u8,
    #[serde(rename = "quoted \"name\"\\\n")]
    pub(crate) b: u8,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Unit;

#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Newtype(pub(crate) u32);

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Tuple(pub(crate) i8, pub(crate) String);

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) enum External {
    Unit,
    Newtype(f32),
    Tuple(i32, String),
    Struct {
        a: Option<Box<External>>,
        b: Vec<External>,
    },
    Empty {},
    NewUnit(()),
    NewOption(Option<u8>),
    #[serde(rename = "\"")]
    Quote(u8),
    #[serde(rename = "\\\u{7f}\n")]
    Renamed,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum Internal {
    UnitOne,
    NewPlain(Plain),
    StructOne { a: u8, list: Vec<Internal> },
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(tag = "t", content = "c")]
pub(crate) enum Adjacent {
    Unit,
    Newtype(String),
    Tuple(u8, i8),
    Struct { a: bool, inner: Box<Adjacent> },
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(untagged)]
pub(crate) enum Untagged {
    Unit,
    Bool(bool),
    Int(i64),
    Big(u64),
    Float(f64),
    Pair(u8, String),
    Struct { a: u8, b: Box<Untagged> },
    Text(String),
    List(Vec<Untagged>),
    Map(BTreeMap<String, Untagged>),
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Name {
    FirstOne,
    SecondOne,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Flat {
    pub(crate) id: u32,
    #[serde(flatten)]
    pub(crate) strict: Inner,
    #[serde(flatten)]
    pub(crate) rest: BTreeMap<String, serde_json::Value>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Inner {
    pub(crate) x: String,
    pub(crate) y: Option<i32>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Maps {
    pub(crate) text: BTreeMap<String, u8>,
    pub(crate) i8: BTreeMap<i8, u8>,
    pub(crate) u16: BTreeMap<u16, u8>,
    pub(crate) i64: BTreeMap<i64, u8>,
    pub(crate) u64: BTreeMap<u64, u8>,
    pub(crate) i128: BTreeMap<i128, u8>,
    pub(crate) newtype: BTreeMap<Newtype, u8>,
    pub(crate) name: BTreeMap<Name, u8>,
    pub(crate) character: BTreeMap<char, u8>,
    pub(crate) set: BTreeSet<u8>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Wide {
    pub(crate) i128: i128,
    pub(crate) u128: u128,
    pub(crate) i64: i64,
    pub(crate) u64: u64,
    pub(crate) i8: i8,
    pub(crate) u32: u32,
    pub(crate) f32: f32,
    pub(crate) f64: f64,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Std {
    pub(crate) cow: Cow<'static, str>,
    pub(crate) boxed: Box<[u8]>,
    pub(crate) duration: std::time::Duration,
    pub(crate) range: std::ops::Range<u8>,
    pub(crate) result: Result<u8, String>,
    pub(crate) address: std::net::IpAddr,
    pub(crate) path: std::path::PathBuf,
    pub(crate) nonzero: std::num::NonZeroU8,
    pub(crate) nested: Option<Option<u8>>,
    pub(crate) wrapping: std::num::Wrapping<i16>,
    pub(crate) bound: std::ops::Bound<u8>,
}

/// Bytes as serde's data model has them, not as a sequence of numbers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Bytes, E> {
                Ok(Bytes(text.as_bytes().to_vec()))
            }
        }
        deserializer.deserialize_byte_buf(Visitor)
    }
}

pub(crate) fn plain(random: &mut Random, depth: usize) -> Plain {
    Plain {
        number: random.next() as i64 >> random.below(64),
        float: float(random),
        text: text(random),
        option: random.one_in(2).then(|| random.next() as u8),
        absent: (depth > 0 && random.one_in(2)).then(|| Box::new(plain(random, depth - 1))),
        tuple: (
            random.one_in(2),
            text(random).chars().next().unwrap_or('\u{0}'),
            [random.next() as u16, 0],
        ),
        unit: (),
    }
}

pub(crate) fn external(random: &mut Random, depth: usize) -> External {
    match random.below(if depth == 0 { 8 } else { 10 }) {
        0 => External::Unit,
        1 => External::Newtype(f32::from_bits(random.next() as u32 & 0xbfff_ffff)),
        2 => External::Tuple(random.next() as i32, text(random)),
        3 => External::Empty {},
        4 => External::NewUnit(()),
        5 => External::NewOption(random.one_in(2).then_some(7)),
        6 => External::Quote(random.next() as u8),
        7 => External::Renamed,
        _ => External::Struct {
            a: random.one_in(2).then(|| Box::new(external(random, depth - 1))),
            b: (0..random.below(3)).map(|_| external(random, depth - 1)).collect(),
        },
    }
}

pub(crate) fn internal(random: &mut Random, depth: usize) -> Internal {
    match random.below(if depth == 0 { 2 } else { 3 }) {
        0 => Internal::UnitOne,
        1 => Internal::NewPlain(plain(random, 1)),
        _ => Internal::StructOne {
            a: random.next() as u8,
            list: (0..random.below(3)).map(|_| internal(random, depth - 1)).collect(),
        },
    }
}

pub(crate) fn adjacent(random: &mut Random, depth: usize) -> Adjacent {
    match random.below(if depth == 0 { 3 } else { 4 }) {
        0 => Adjacent::Unit,
        1 => Adjacent::Newtype(text(random)),
        2 => Adjacent::Tuple(random.next() as u8, random.next() as i8),
        _ => Adjacent::Struct { a: random.one_in(2), inner: Box::new(adjacent(random, depth - 1)) },
    }
}

pub(crate) fn untagged(random: &mut Random, depth: usize) -> Untagged {
    match random.below(if depth == 0 { 7 } else { 10 }) {
        0 => Untagged::Unit,
        1 => Untagged::Bool(random.one_in(2)),
        2 => Untagged::Int(random.next() as i64),
        3 => Untagged::Big(random.next() | 1 << 63),
        4 => Untagged::Float(0.5 + f64::from(random.next() as i16)),
        5 => Untagged::Pair(random.next() as u8, text(random)),
        6 => Untagged::Text(text(random)),
        7 => Untagged::Struct { a: random.next() as u8, b: Box::new(untagged(random, depth - 1)) },
        // Neither of length two, which could be a pair, nor with keys of a struct.
        8 => Untagged::List(
            (0..random.pick(&[0, 1, 3])).map(|_| untagged(random, depth - 1)).collect(),
        ),
        _ => Untagged::Map(
            (0..random.below(3))
                .map(|i| (format!("{}{i}", text(random)), untagged(random, depth - 1)))
                .collect(),
        ),
    }
}

pub(crate) fn flat(random: &mut Random) -> Flat {
    Flat {
        id: random.next() as u32,
        strict: Inner { x: text(random), y: random.one_in(2).then(|| random.next() as i32) },
        rest: (0..random.below(4))
            .map(|i| (format!("{}{i}", text(random)), serde_json::Value::from(text(random))))
            .collect(),
    }
}

pub(crate) fn maps(random: &mut Random) -> Maps {
    let some = |random: &mut Random| random.below(4);
    Maps {
        text: (0..some(random)).map(|_| (text(random), 1)).collect(),
        i8: (0..some(random)).map(|_| (random.next() as i8, 2)).collect(),
        u16: (0..some(random)).map(|_| (random.next() as u16, 3)).collect(),
        i64: (0..some(random)).map(|_| (random.pick(&[i64::MIN, i64::MAX, 0, -1]), 4)).collect(),
        u64: (0..some(random)).map(|_| (random.pick(&[u64::MAX, 0, 1]), 5)).collect(),
        i128: (0..some(random)).map(|_| (random.pick(&[i128::MIN, i128::MAX, 0, 1]), 5)).collect(),
        newtype: (0..some(random)).map(|_| (Newtype(random.next() as u32), 6)).collect(),
        name: (0..some(random))
            .map(|_| (random.pick(&[Name::FirstOne, Name::SecondOne]), 7))
            .collect(),
        character: (0..some(random))
            .map(|_| (text(random).chars().next().unwrap_or('"'), 8))
            .collect(),
        set: (0..some(random)).map(|_| random.next() as u8).collect(),
    }
}
