//! A message's `params`, with what dispatch needs taken out in the pass that scanned them.

use super::index::Index;
use super::member::Member;
use super::span::Span;
use crate::json::{JsonStr, RawJson, ReadError, byte, skip_string, skip_value};

/// The `params` of a request or notification.
///
/// As small as it can be, since an event is moved a few times before its handler has it: of what
/// may be large it knows the end, of the rest the beginning.
#[derive(Clone, Copy, Debug)]
pub struct Params<'f> {
    pub(super) text: &'f str,
    pub(super) whole: Span,
    pub(super) arguments: Span,
    /// Where the other members begin that are kept; zero where there is none.
    pub(super) starts: [u32; Member::STARTS],
    pub(super) index: Index,
}

impl<'f> Params<'f> {
    /// The whole object; `{}` when there was none.
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.given().unwrap_or(RawJson::EMPTY)
    }

    /// What stood there, object or not.
    pub(crate) fn given(&self) -> Option<RawJson<'f>> {
        self.member(Member::Params)
    }

    /// A member. Those that the protocol's requests have in common are found without a search.
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

    /// `name`: of a tool or a prompt. Found without a search.
    #[must_use]
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.member(Member::Name).and_then(RawJson::as_string)
    }

    /// `arguments`; empty when there are none. Found without a search.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'f> {
        Arguments { text: self.text, raw: self.arguments, index: self.index }
    }

    /// `_meta`.
    #[must_use]
    pub fn meta(&self) -> Option<RawJson<'f>> {
        self.member(Member::Meta)
    }

    /// One of the members that are kept.
    #[inline]
    pub(crate) fn member(&self, member: Member) -> Option<RawJson<'f>> {
        match member {
            Member::Params => self.whole.value(self.text),
            Member::Arguments => self.arguments.value(self.text),
            _ => self.value_at(self.start(member)),
        }
    }

    /// The first byte of a member, which tells what kind of value it is; zero where there is none.
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

    /// The value that begins there. It has been scanned, so it ends well.
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

    /// The whole as a type of yours.
    ///
    /// # Errors
    /// What did not fit the type.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw().to()
    }
}

/// The `arguments` of a call: an object, of which the first few members need no search.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'f> {
    text: &'f str,
    raw: Span,
    index: Index,
}

impl<'f> Arguments<'f> {
    /// The object, or what the peer sent in its place.
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.raw.value(self.text).unwrap_or(RawJson::EMPTY)
    }

    /// An argument.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        match self.index.find(self.text, key) {
            Some(value) => value.value(self.text),
            None if self.index.is_full() => self.raw().get(key),
            None => None,
        }
    }

    /// The arguments as a type of yours, borrowing where it can.
    ///
    /// # Errors
    /// What did not fit the type. From 2025-11-25 on that is worth a result with `isError`, so that
    /// the model can correct itself.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw().to()
    }
}
