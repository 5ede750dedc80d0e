//! The members of a JSON-RPC message, taken out while the message is scanned.

use super::id::Id;
use super::member::{Level, Member};
use super::params::Params;
use super::span::Span;
use crate::json::{Fault, JsonStr, RawJson, byte, next_byte, skip_clean, skip_escapes, skip_member, skip_whitespace};
use crate::violation::Violation;

/// A message's members. What they mean together is for [`kind`](Self::kind) to say.
pub(crate) struct Envelope<'f> {
    text: &'f str,
    /// Of the members of the message itself, without `params`.
    message: [Span; Member::FIRST_OF_PARAMS as usize],
    pub(crate) params: Params<'f>,
    duplicate: bool,
}

/// What a message is.
pub(crate) enum Kind<'f> {
    Request { id: Id<'f>, method: JsonStr<'f> },
    Notification { method: JsonStr<'f> },
    Response { id: Option<Id<'f>>, outcome: Result<RawJson<'f>, RawJson<'f>> },
}

impl<'f> Envelope<'f> {
    /// A message's members before it has been read.
    #[inline]
    pub(crate) const fn new(text: &'f str) -> Self {
        Self { text, message: [Span::NONE; Member::FIRST_OF_PARAMS as usize], params: Params::new(text), duplicate: false }
    }

    /// Reads the object at `start`, around which there are `used` levels of nesting; returns its end.
    ///
    /// One loop for all levels: what is open is known from the level, and from the places that have no end yet.
    pub(crate) fn read(&mut self, start: usize, used: u32) -> Result<usize, Fault> {
        let text = self.text.as_bytes();
        if byte(text, start) != b'{' {
            return Err(Fault::at(start));
        }
        let mut level = Level::Message;
        let (mut at, mut first) = next_byte(text, start + 1);
        if first == b'}' {
            return Ok(at + 1);
        }
        loop {
            if first != b'"' {
                return Err(Fault::at(at));
            }
            let mut key_end = skip_clean(text, at + 1);
            let member = if byte(text, key_end) == b'"' {
                level.member(text.get(at + 1..key_end).unwrap_or_default())
            } else {
                key_end = skip_escapes(text, key_end)? - 1;
                level.member_escaped(self.text.get(at..key_end + 1).map(JsonStr::scanned))
            };
            let (colon, b':') = next_byte(text, key_end + 1) else { return Err(Fault::at(key_end + 1)) };
            let key = Span::new(at + 1, key_end);
            let (value, first_of_value) = next_byte(text, colon + 1);
            if first_of_value == b'{'
                && let Some(inside) = member.inside()
            {
                self.keep(member, Span::begun(value));
                level = inside;
                (at, first) = next_byte(text, value + 1);
                if first != b'}' {
                    continue;
                }
            } else {
                let end = match skip_member(text, value, first_of_value, used + level.depth()) {
                    Ok(end) => end,
                    Err(fault) => {
                        self.keep(member, Span::begun(value));
                        return Err(fault);
                    }
                };
                if level == Level::Arguments {
                    self.params.index(key, Span::new(value, end));
                } else {
                    self.keep(member, Span::new(value, end));
                }
                (at, first) = next_byte(text, end);
            }
            // A value has ended, and so may what it was the last of.
            while first == b'}' {
                at += 1;
                let Some((ended, outer)) = level.outside() else { return Ok(at) };
                if let Some(span) = self.span_mut(ended) {
                    span.finish(at);
                }
                level = outer;
                (at, first) = next_byte(text, at);
            }
            if first != b',' {
                return Err(Fault::at(at));
            }
            (at, first) = next_byte(text, at + 1);
        }
    }

    #[inline]
    fn keep(&mut self, member: Member, place: Span) {
        let Some(span) = self.span_mut(member) else { return };
        let again = !span.is_empty() && member.is_unique();
        *span = place;
        self.duplicate |= again;
    }

    #[inline]
    fn span_mut(&mut self, member: Member) -> Option<&mut Span> {
        let at = member as usize;
        match at.checked_sub(self.message.len()) {
            None => self.message.get_mut(at),
            Some(at) => self.params.members.get_mut(at),
        }
    }

    /// What this is, or why it is nothing.
    pub(crate) fn kind(&self) -> Result<Kind<'f>, Violation> {
        if self.duplicate {
            return Err(Violation::DuplicateKey);
        }
        if !self.version_is_right() {
            return Err(Violation::WrongJsonRpcVersion);
        }
        let id = self.id();
        match (self.value(Member::Method), self.value(Member::Result), self.value(Member::Error)) {
            // A request needs an id that can be answered; without one it is a notification.
            (Some(_), None, None) if id.is_none() && self.has(Member::Id) => Err(Violation::InvalidId),
            (Some(method), None, None) => match (method.as_string(), id) {
                (Some(method), Some(id)) => Ok(Kind::Request { id, method }),
                (Some(method), None) => Ok(Kind::Notification { method }),
                (None, _) => Err(Violation::NotAMessage),
            },
            (None, Some(result), None) if id.is_some() => Ok(Kind::Response { id, outcome: Ok(result) }),
            (None, None, Some(error)) if error.is_object() => Ok(Kind::Response { id, outcome: Err(error) }),
            _ => Err(Violation::NotAMessage),
        }
    }

    fn version_is_right(&self) -> bool {
        let version = self.span(Member::Version).bytes(self.text);
        version == b"\"2.0\""
            || (version.contains(&b'\\') && self.value(Member::Version).and_then(RawJson::as_string).is_some_and(|v| v == "2.0"))
    }

    fn span(&self, member: Member) -> Span {
        self.message.get(member as usize).copied().unwrap_or(Span::NONE)
    }

    fn value(&self, member: Member) -> Option<RawJson<'f>> {
        self.span(member).value(self.text)
    }

    fn has(&self, member: Member) -> bool {
        !self.span(member).is_empty()
    }

    pub(crate) fn id(&self) -> Option<Id<'f>> {
        self.span(Member::Id).of(self.text).and_then(Id::parse)
    }

    /// Whether it was meant as a notification: a method, and no id, not even a wrong one.
    pub(crate) fn is_notification(&self) -> bool {
        !self.has(Member::Id) && self.span(Member::Method).bytes(self.text).first() == Some(&b'"')
    }

    pub(crate) fn is_response(&self) -> bool {
        !self.has(Member::Method) && (self.has(Member::Result) || self.has(Member::Error))
    }

    /// The same for a message that was cut off, maybe within its result.
    pub(super) fn begins_like_a_response(&self) -> bool {
        self.span(Member::Result).is_begun() || self.span(Member::Error).is_begun()
    }

    /// The id of a message that was cut off or broken: only one behind which the message goes on, since a number may be cut, too.
    pub(super) fn id_before_the_end(&self) -> Option<Id<'f>> {
        let text = self.text.as_bytes();
        match text.get(skip_whitespace(text, self.span(Member::Id).end())) {
            Some(b',' | b'}') => self.id(),
            _ => None,
        }
    }
}
