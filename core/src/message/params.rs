//! The `params` of a message. Members that dispatch needs are found while scanning.

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, string::String};

use super::index::Index;
use super::member::Member;
use super::span::Span;
use crate::json::{JsonStr, RawJson, ReadError, byte, skip_string, skip_value};

/// The `params` of a request or notification.
///
/// Kept small, since an event is moved a few times before its handler gets it: members that may be
/// large have a start and an end, the others only a start.
#[derive(Clone, Copy, Debug)]
pub struct Params<'f> {
    pub(super) text: &'f str,
    pub(super) whole: Span,
    pub(super) arguments: Span,
    /// Start of each of the other recorded members; zero for a missing one.
    pub(super) starts: [u32; Member::STARTS],
    pub(super) index: Index,
}

impl<'f> Params<'f> {
    /// Returns the whole object; `{}` if it is missing.
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.given().unwrap_or(RawJson::EMPTY)
    }

    /// Returns the value of `params` as received, even if it is not an object.
    pub(crate) fn given(&self) -> Option<RawJson<'f>> {
        self.member(Member::Params)
    }

    /// Returns a member. The members that the protocol's requests have in common are found without
    /// a search.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        self.member(match key {
            "name" => Member::Name,
            "uri" => Member::Uri,
            "cursor" => Member::Cursor,
            "inputResponses" => Member::InputResponses,
            "requestState" => Member::RequestState,
            "arguments" => Member::Arguments,
            "_meta" => Member::Meta,
            _ => return self.raw().get(key),
        })
    }

    /// Returns `name`, of a tool or a prompt. Found without a search.
    #[must_use]
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.member(Member::Name).and_then(RawJson::as_string)
    }

    /// Returns `arguments`; empty if they are missing. Found without a search.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'f> {
        Arguments { text: self.text, raw: self.arguments, index: self.index }
    }

    /// Returns `_meta`.
    #[must_use]
    pub fn meta(&self) -> Option<RawJson<'f>> {
        self.member(Member::Meta)
    }

    /// Returns a recorded member.
    #[inline]
    pub(crate) fn member(&self, member: Member) -> Option<RawJson<'f>> {
        match member {
            Member::Params => self.whole.value(self.text),
            Member::Arguments => self.arguments.value(self.text),
            _ => self.value_at(self.start(member)),
        }
    }

    /// Returns the first byte of a member, which shows its JSON type, or zero for a missing member.
    #[inline]
    pub(crate) fn first_byte(&self, member: Member) -> u8 {
        let start = self.start(member);
        if start == 0 { 0 } else { byte(self.text.as_bytes(), start) }
    }

    #[inline]
    fn start(&self, member: Member) -> usize {
        match member {
            Member::Params => self.whole.start(),
            Member::Arguments => self.arguments.start(),
            _ => {
                let at = (member as usize).wrapping_sub(Member::FIRST_START as usize);
                self.starts.get(at).copied().unwrap_or(0) as usize
            }
        }
    }

    /// Returns the value that starts at `start`. It has been scanned, so it is valid.
    #[inline(never)]
    fn value_at(&self, start: usize) -> Option<RawJson<'f>> {
        if start == 0 {
            return None;
        }
        let bytes = self.text.as_bytes();
        let end = if byte(bytes, start) == b'"' {
            skip_string(bytes, start)
        } else {
            skip_value(bytes, start, 0)
        };
        let end = end.ok()?;
        self.text.get(start..end).map(RawJson::scanned)
    }

    /// Deserializes `params` as `T`.
    ///
    /// # Errors
    /// [`ReadError`] if they do not fit the type.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw().to()
    }
}

/// The `arguments` of a request: an object whose first members are found without a search.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'f> {
    text: &'f str,
    raw: Span,
    index: Index,
}

impl<'f> Arguments<'f> {
    /// Returns the object, or whatever value the peer sent instead.
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.raw.value(self.text).unwrap_or(RawJson::EMPTY)
    }

    /// Returns an argument.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        match self.index.find(self.text, key) {
            Some(value) => value.value(self.text),
            None if self.index.is_full() => self.raw().get(key),
            None => None,
        }
    }

    /// Deserializes the arguments as `T`, which may borrow from the frame.
    ///
    /// # Errors
    /// [`ReadError`] if they do not fit the type. From 2025-11-25 on, respond with a result that
    /// has `isError`, so that the model can correct itself.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw().to()
    }
}

/// A copy of [`Params`] that outlives the frame: their text, and the positions in it.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub(crate) struct OwnedParams {
    /// A leading space, since position 0 means "missing"; then the params.
    text: Box<str>,
    whole: Span,
    arguments: Span,
    starts: [u32; Member::STARTS],
    index: Index,
}

#[cfg(feature = "alloc")]
impl OwnedParams {
    pub(crate) fn as_params(&self) -> Params<'_> {
        Params {
            text: &self.text,
            whole: self.whole,
            arguments: self.arguments,
            starts: self.starts,
            index: self.index,
        }
    }
}

#[cfg(feature = "alloc")]
impl From<&Params<'_>> for OwnedParams {
    fn from(params: &Params<'_>) -> Self {
        // Copies `params` only: in a batch they are a small part of the frame.
        let whole = params.whole.of(params.text).unwrap_or_default();
        let mut text = String::with_capacity(whole.len() + 1);
        text.push(' ');
        text.push_str(whole);
        let by = params.whole.start().saturating_sub(1);
        Self {
            text: text.into(),
            whole: params.whole.moved_down(by),
            arguments: params.arguments.moved_down(by),
            starts: params.starts.map(|start| start.saturating_sub(by as u32)),
            index: params.index.moved_down(by),
        }
    }
}
