//! The members of a JSON-RPC message, taken out while the message is scanned.

use super::id::Id;
use super::member::{Level, Member};
use super::params::{Params, ParamsSpans};
use super::span::Span;
use crate::json::{Fault, JsonStr, Key, RawJson, byte, read_key, skip_member, skip_whitespace};
use crate::violation::Violation;

/// A message's members. What they mean together is for [`kind`](Self::kind) to say.
pub(crate) struct Envelope<'f> {
    text: &'f str,
    spans: EnvelopeSpans,
}

/// What a message is.
pub(crate) enum Kind<'f> {
    Request { id: Id<'f>, method: JsonStr<'f> },
    Notification { method: JsonStr<'f> },
    Response { id: Option<Id<'f>>, outcome: Result<RawJson<'f>, RawJson<'f>> },
}

#[derive(Default)]
struct EnvelopeSpans {
    /// Of the members of the message itself, without `params`.
    message: [Span; Member::FIRST_OF_PARAMS as usize],
    params: ParamsSpans,
    duplicate: bool,
}

impl<'f> Envelope<'f> {
    /// A message's members before it has been read.
    pub(crate) fn new(text: &'f str) -> Self {
        Self { text, spans: EnvelopeSpans::default() }
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
        let mut at = skip_whitespace(text, start + 1);
        if byte(text, at) == b'}' {
            return Ok(at + 1);
        }
        loop {
            let (key, value) = read_key(text, at)?;
            let member = level.member(self.text, key);
            self.begin(member, value);
            if byte(text, value) == b'{'
                && let Some(inside) = member.inside()
            {
                level = inside;
                at = skip_whitespace(text, value + 1);
                if byte(text, at) != b'}' {
                    continue;
                }
            } else {
                let end = skip_member(text, value, used + level.depth())?;
                self.end(member, end);
                if level == Level::Arguments {
                    self.spans.params.index(key, Span::new(value, end));
                }
                at = skip_whitespace(text, end);
            }
            // A value has ended, and so may what it was the last of.
            loop {
                match byte(text, at) {
                    b',' => break,
                    b'}' => {}
                    _ => return Err(Fault::at(at)),
                }
                at += 1;
                let Some((ended, outer)) = level.outside() else { return Ok(at) };
                self.end(ended, at);
                level = outer;
                at = skip_whitespace(text, at);
            }
            at = skip_whitespace(text, at + 1);
        }
    }

    #[inline]
    fn begin(&mut self, member: Member, value: usize) {
        let Some(span) = self.spans.span(member) else { return };
        let again = !span.is_empty() && member.is_unique();
        *span = Span::begun(value);
        self.spans.duplicate |= again;
    }

    #[inline]
    fn end(&mut self, member: Member, end: usize) {
        if let Some(span) = self.spans.span(member) {
            span.finish(end);
        }
    }

    /// What this is, or why it is nothing.
    pub(crate) fn kind(&self) -> Result<Kind<'f>, Violation> {
        if self.spans.duplicate {
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
        version == b"\"2.0\"" || (version.contains(&b'\\') && self.value(Member::Version).and_then(RawJson::as_string).is_some_and(|v| v == "2.0"))
    }

    fn span(&self, member: Member) -> Span {
        self.spans.message.get(member as usize).copied().unwrap_or_default()
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

    pub(crate) fn params(&self) -> Params<'f> {
        Params::new(self.text, self.spans.params)
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

    /// The id of a message that was cut off. A number at the very end may go on behind it.
    pub(super) fn id_before_the_end(&self) -> Option<Id<'f>> {
        if self.span(Member::Id).ends_at(self.text.len()) { None } else { self.id() }
    }
}

impl EnvelopeSpans {
    #[inline]
    fn span(&mut self, member: Member) -> Option<&mut Span> {
        let at = member as usize;
        match at.checked_sub(self.message.len()) {
            None => self.message.get_mut(at),
            Some(at) => self.params.members.get_mut(at),
        }
    }
}
