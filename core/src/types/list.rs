//! Lists and maps.

use core::{fmt, slice};

use super::common::{Source, Text};
use super::macros::wrong;
use crate::encode::{Encode, Encoder};
use crate::json::{Elements, Members, RawJson, ReadError};
use serde::{Deserialize, Deserializer};

/// A slice of the application, or an array of a message, whose elements are deserialized lazily.
///
/// A received list is written unchanged: unknown members are kept, and members that the peer's
/// revision does not define are not omitted.
pub struct List<'a, T>(Source<&'a [T], RawJson<'a>>);

impl<'a, T> List<'a, T> {
    /// The empty list.
    pub const EMPTY: Self = Self::new(&[]);

    /// Creates a list of the application's elements.
    pub const fn new(items: &'a [T]) -> Self {
        Self(Source::Own(items))
    }

    /// Creates a list from JSON. Returns `None` if it is not an array.
    pub fn from_json(array: RawJson<'a>) -> Option<Self> {
        array.is_array().then_some(Self(Source::Received(array)))
    }

    /// Creates a list from text that is an array.
    pub(crate) const fn scanned(array: RawJson<'a>) -> Self {
        Self(Source::Received(array))
    }

    /// Returns the number of elements. Scans a received list, so it takes linear time.
    pub fn len(&self) -> usize {
        match self.0 {
            Source::Own(items) => items.len(),
            Source::Received(array) => array.elements().count(),
        }
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        match self.0 {
            Source::Own(items) => items.is_empty(),
            Source::Received(array) => array.elements().next().is_none(),
        }
    }

    /// Returns the JSON array of a received list.
    pub const fn as_json(&self) -> Option<RawJson<'a>> {
        self.0.received()
    }

    /// Returns the application's own elements; `None` for a received list
    /// ([`as_json`](Self::as_json)). Unlike [`iter`](Self::iter), it links no deserializer.
    pub const fn as_slice(&self) -> Option<&'a [T]> {
        self.0.own()
    }

    pub(super) const fn source(self) -> Source<&'a [T], RawJson<'a>> {
        self.0
    }

    /// Iterates over the elements. An element of another type is an `Err` item; the elements after
    /// it can still be read.
    pub fn iter(&self) -> ListIter<'a, T>
    where
        T: Copy + Deserialize<'a>,
    {
        ListIter(match self.0 {
            Source::Own(items) => Source::Own(items.iter()),
            Source::Received(array) => Source::Received(array.elements()),
        })
    }

    /// Returns the element at `index`. Takes linear time for a received list.
    pub fn get(&self, index: usize) -> Option<Result<T, ReadError>>
    where
        T: Copy + Deserialize<'a>,
    {
        self.iter().nth(index)
    }
}

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a, T> From<&'a [T]> for List<'a, T> {
    fn from(items: &'a [T]) -> Self {
        Self::new(items)
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for List<'a, T> {
    fn from(items: &'a [T; N]) -> Self {
        Self::new(items)
    }
}

impl<'a, T: Copy + Deserialize<'a>> IntoIterator for List<'a, T> {
    type Item = Result<T, ReadError>;
    type IntoIter = ListIter<'a, T>;

    fn into_iter(self) -> ListIter<'a, T> {
        self.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Encode> Encode for List<'_, T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Source::Own(items) => items.encode(to),
            Source::Received(array) => to.raw(array),
        }
    }
}

impl<'de: 'a, 'a, T> Deserialize<'de> for List<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(RawJson::deserialize(deserializer)?).ok_or_else(|| wrong(&"an array"))
    }
}

/// Iterator over the elements of a [`List`], created by [`List::iter`].
#[derive(Clone, Debug)]
pub struct ListIter<'a, T>(Source<slice::Iter<'a, T>, Elements<'a>>);

impl<'a, T: Copy + Deserialize<'a>> Iterator for ListIter<'a, T> {
    type Item = Result<T, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Source::Own(items) => items.next().map(|item| Ok(*item)),
            Source::Received(elements) => elements.next().map(RawJson::to),
        }
    }
}

/// Key-value pairs of the application, or an object of a message, whose members are deserialized
/// lazily.
///
/// A received map is written unchanged, as a received [`List`] is.
pub struct Map<'a, T>(Source<&'a [(&'a str, T)], RawJson<'a>>);

impl<'a, T> Map<'a, T> {
    /// Creates a map of the application's entries.
    pub const fn new(entries: &'a [(&'a str, T)]) -> Self {
        Self(Source::Own(entries))
    }

    /// Creates a map from JSON. Returns `None` if it is not an object.
    pub fn from_json(object: RawJson<'a>) -> Option<Self> {
        object.is_object().then_some(Self(Source::Received(object)))
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        match self.0 {
            Source::Own(entries) => entries.is_empty(),
            Source::Received(object) => object.members().next().is_none(),
        }
    }

    /// Returns the JSON object of a received map.
    pub const fn as_json(&self) -> Option<RawJson<'a>> {
        self.0.received()
    }

    /// Returns the application's own entries; `None` for a received map
    /// ([`as_json`](Self::as_json)). Unlike [`iter`](Self::iter), it links no deserializer.
    pub const fn as_slice(&self) -> Option<&'a [(&'a str, T)]> {
        self.0.own()
    }

    /// Iterates over keys and values. A value of another type is an `Err`; the entries after it can
    /// still be read.
    pub fn iter(&self) -> MapIter<'a, T>
    where
        T: Copy + Deserialize<'a>,
    {
        MapIter(match self.0 {
            Source::Own(entries) => Source::Own(entries.iter()),
            Source::Received(object) => Source::Received(object.members()),
        })
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<Result<T, ReadError>>
    where
        T: Copy + Deserialize<'a>,
    {
        match self.0 {
            Source::Own(entries) => {
                entries.iter().find(|(name, _)| *name == key).map(|(_, value)| Ok(*value))
            }
            Source::Received(object) => object.get(key).map(RawJson::to),
        }
    }
}

impl<T> Clone for Map<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Map<'_, T> {}

impl<T: fmt::Debug> fmt::Debug for Map<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Source::Own(entries) => {
                f.debug_map().entries(entries.iter().map(|(key, value)| (key, value))).finish()
            }
            Source::Received(object) => fmt::Debug::fmt(&object, f),
        }
    }
}

impl<T: Encode> Encode for Map<'_, T> {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self.0 {
            Source::Own(entries) => {
                to.begin_object();
                for (name, value) in entries {
                    to.member(name, value);
                }
                to.end_object();
            }
            Source::Received(object) => to.raw(object),
        }
    }
}

impl<'de: 'a, 'a, T> Deserialize<'de> for Map<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(RawJson::deserialize(deserializer)?).ok_or_else(|| wrong(&"an object"))
    }
}

/// Iterator over the entries of a [`Map`], created by [`Map::iter`].
#[derive(Clone, Debug)]
pub struct MapIter<'a, T>(Source<slice::Iter<'a, (&'a str, T)>, Members<'a>>);

impl<'a, T: Copy + Deserialize<'a>> Iterator for MapIter<'a, T> {
    type Item = (Text<'a>, Result<T, ReadError>);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Source::Own(entries) => entries.next().map(|(key, value)| (Text::new(key), Ok(*value))),
            Source::Received(members) => {
                members.next().map(|(key, value)| (Text::from_json(key), value.to()))
            }
        }
    }
}
