//! A message's `params`, with what dispatch needs taken out in the pass that scanned them.

use super::member::Member;
use super::span::Span;
use crate::json::{JsonStr, RawJson, ReadError, same_text};

/// The `params` of a request or notification.
#[derive(Clone, Copy, Debug)]
pub struct Params<'f> {
    text: &'f str,
    /// Where the members are that are kept, `params` itself included.
    pub(super) members: [Span; Member::OF_PARAMS],
    /// Keys and values of the first arguments.
    index: [(Span, Span); INDEXED],
    indexed: u8,
}

impl<'f> Params<'f> {
    /// None, of a message in `text`.
    #[inline]
    pub(super) const fn new(text: &'f str) -> Self {
        Self { text, members: [Span::NONE; Member::OF_PARAMS], index: [(Span::NONE, Span::NONE); INDEXED], indexed: 0 }
    }

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
        Arguments { text: self.text, raw: self.span(Member::Arguments), index: self.index, indexed: self.indexed }
    }

    /// `_meta`.
    #[must_use]
    pub fn meta(&self) -> Option<RawJson<'f>> {
        self.member(Member::Meta)
    }

    /// One of the members that are kept, of `params` or of `_meta` in it.
    #[inline]
    pub(crate) fn member(&self, member: Member) -> Option<RawJson<'f>> {
        self.span(member).value(self.text)
    }

    /// Whether it is there.
    #[inline]
    pub(crate) fn has(&self, member: Member) -> bool {
        !self.span(member).is_empty()
    }

    #[inline]
    fn span(&self, member: Member) -> Span {
        let at = (member as usize).wrapping_sub(Member::FIRST_OF_PARAMS as usize);
        self.members.get(at).copied().unwrap_or(Span::NONE)
    }

    /// Takes in an argument.
    #[inline]
    pub(super) fn index(&mut self, key: Span, value: Span) {
        if let Some(entry) = self.index.get_mut(usize::from(self.indexed)) {
            *entry = (key, value);
            self.indexed += 1;
        }
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
    index: [(Span, Span); INDEXED],
    indexed: u8,
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
        let indexed = self.index.get(..usize::from(self.indexed)).unwrap_or_default();
        match indexed.iter().find(|(k, _)| k.of(self.text).is_some_and(|k| same_text(k, key))) {
            Some((_, value)) => value.value(self.text),
            // All members are indexed unless the index is full. An empty key has no span.
            None if indexed.len() < INDEXED && !key.is_empty() => None,
            None => self.raw().get(key),
        }
    }

    /// The arguments as a type of yours, borrowing where it can.
    ///
    /// # Errors
    /// What did not fit the type. From 2025-11-25 on that is worth a result with `isError`, so that the model can correct itself.
    pub fn to<T: serde::Deserialize<'f>>(&self) -> Result<T, ReadError> {
        self.raw().to()
    }
}

/// How many arguments are found without a search: 64 bytes of stack.
const INDEXED: usize = 4;
