//! Where the members of `params` are, as found in one pass over the message.

use super::index::Index;
use super::member::Member;
use super::span::Span;
use crate::json::{RawJson, byte, skip_string, skip_value};

/// The `params` of a request or notification.
// Kept small, since an event is moved a few times before its handler gets it: members that may be
// large have a start and an end, the others only a start.
#[derive(Clone, Copy, Debug)]
pub struct Params<'f> {
    pub(super) text: &'f str,
    pub(super) whole: Span,
    pub(super) arguments: Span,
    /// Start of each of the other recorded members; zero for a missing one.
    pub(super) starts: [u32; Member::STARTS],
    pub(super) index: Index,
}

/// The `arguments` of a request, the first of which are found without a search.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'f> {
    text: &'f str,
    whole: Span,
    index: Index,
}

impl<'f> Params<'f> {
    #[inline]
    /// Returns the value of `params` as received, even if it is not an object.
    pub(crate) fn given(&self) -> Option<RawJson<'f>> {
        self.whole.value(self.text)
    }

    /// Inlined, so that a constant key is compared while compiling.
    #[inline(always)]
    pub(super) fn find(&self, key: &str) -> Option<RawJson<'f>> {
        let member = match key {
            "name" => Member::Name,
            "uri" => Member::Uri,
            "cursor" => Member::Cursor,
            "inputResponses" => Member::InputResponses,
            "requestState" => Member::RequestState,
            "arguments" => return self.arguments.value(self.text),
            "_meta" => Member::Meta,
            _ => return self.given()?.get(key),
        };
        self.member(member)
    }

    #[inline]
    pub(super) fn given_name(&self) -> Option<RawJson<'f>> {
        self.member(Member::Name)
    }

    /// Returns one of the members of which only the start is recorded.
    #[inline]
    fn member(&self, member: Member) -> Option<RawJson<'f>> {
        let at = (member as usize).wrapping_sub(Member::FIRST_START as usize);
        self.value_at(self.starts.get(at).copied().unwrap_or(0) as usize)
    }

    #[inline]
    pub(super) fn given_arguments(&self) -> Arguments<'f> {
        Arguments { text: self.text, whole: self.arguments, index: self.index }
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
}

impl<'f> Arguments<'f> {
    #[inline]
    pub(super) fn given(&self) -> Option<RawJson<'f>> {
        self.whole.value(self.text)
    }

    pub(super) fn find(&self, key: &str) -> Option<RawJson<'f>> {
        match self.index.find(self.text, key) {
            Some(value) => value.value(self.text),
            None if self.index.is_full() => self.given()?.get(key),
            None => None,
        }
    }
}

/// Places of the members in a copy of [`Params`].
#[derive(Clone, Debug)]
pub(crate) struct ParamPositions {
    whole: Span,
    arguments: Span,
    starts: [u32; Member::STARTS],
    index: Index,
}

impl ParamPositions {
    /// Returns the parameters. The text has one byte before them.
    pub(crate) const fn params<'a>(&self, text: &'a str) -> Params<'a> {
        Params {
            text,
            whole: self.whole,
            arguments: self.arguments,
            starts: self.starts,
            index: self.index,
        }
    }
}

impl Params<'_> {
    /// Returns the positions in a text that has one byte before the parameters, since position 0
    /// means "missing".
    pub(crate) fn positions(&self) -> ParamPositions {
        let by = self.whole.start().saturating_sub(1);
        ParamPositions {
            whole: self.whole.moved_down(by),
            arguments: self.arguments.moved_down(by),
            starts: self.starts.map(|start| start.saturating_sub(by as u32)),
            index: self.index.moved_down(by),
        }
    }
}
