//! The members of a JSON-RPC message, taken out while the message is scanned.

use super::id::Id;
use super::params::{Params, ParamsSink, ParamsSpans};
use super::span::Span;
use crate::json::{JsonStr, Key, MemberSink, RawJson, Fault, read_members, skip_member};
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
    version: Span,
    id: Span,
    method: Span,
    result: Span,
    error: Span,
    params: ParamsSpans,
    duplicate: bool,
}

impl<'f> Envelope<'f> {
    /// A message's members before it has been read.
    pub(crate) fn new(text: &'f str) -> Self {
        Self { text, spans: EnvelopeSpans::default() }
    }

    /// Reads the object at `at`, around which there are `used` levels of nesting; returns its end.
    pub(crate) fn read(&mut self, at: usize, used: u32) -> Result<usize, Fault> {
        let text = self.text.as_bytes();
        read_members(text, at, &mut EnvelopeSink { text, used: used + 1, spans: &mut self.spans })
    }

    /// What this is, or why it is nothing.
    pub(crate) fn kind(&self) -> Result<Kind<'f>, Violation> {
        let spans = &self.spans;
        let version = spans.version.of(self.text).unwrap_or_default();
        let version_is_right = version == "\"2.0\"" || (version.contains('\\') && JsonStr::scanned(version) == "2.0");
        if spans.duplicate || spans.params.duplicate {
            return Err(Violation::DuplicateKey);
        }
        if !version_is_right {
            return Err(Violation::WrongJsonRpcVersion);
        }
        let id = self.id();
        let (result, error) = (spans.result.value(self.text), spans.error.value(self.text));
        match (spans.method.value(self.text), result, error) {
            // A request needs an id that can be answered; without one it is a notification.
            (Some(_), None, None) if id.is_none() && !spans.id.is_empty() => Err(Violation::InvalidId),
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

    pub(crate) fn id(&self) -> Option<Id<'f>> {
        self.spans.id.of(self.text).and_then(Id::parse)
    }

    pub(crate) fn params(&self) -> Params<'f> {
        Params::new(self.text, self.spans.params)
    }

    /// Whether it was meant as a notification: a method, and no id, not even a wrong one.
    pub(crate) fn is_notification(&self) -> bool {
        self.spans.id.is_empty() && self.spans.method.of(self.text).is_some_and(|method| method.starts_with('"'))
    }

    pub(crate) fn is_response(&self) -> bool {
        self.spans.method.is_empty() && !(self.spans.result.is_empty() && self.spans.error.is_empty())
    }
}

struct EnvelopeSink<'p, 't> {
    text: &'t [u8],
    used: u32,
    spans: &'p mut EnvelopeSpans,
}

impl MemberSink for EnvelopeSink<'_, '_> {
    fn member(&mut self, key: Key<'_>, value: usize) -> Result<usize, Fault> {
        const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];
        let spans = &mut *self.spans;
        let (span, end) = match key.resolve(&NAMES) {
            b"params" if self.text.get(value) == Some(&b'{') => {
                spans.duplicate |= !spans.params.raw.is_empty();
                let mut sink = ParamsSink { text: self.text, used: self.used + 1, spans: &mut spans.params };
                let end = read_members(self.text, value, &mut sink)?;
                spans.params.raw = Span::new(value, end);
                return Ok(end);
            }
            known => {
                let end = skip_member(self.text, value, self.used)?;
                let span = match known {
                    b"jsonrpc" => &mut spans.version,
                    b"id" => &mut spans.id,
                    b"method" => &mut spans.method,
                    b"params" => &mut spans.params.raw,
                    b"result" => &mut spans.result,
                    b"error" => &mut spans.error,
                    _ => return Ok(end),
                };
                (span, end)
            }
        };
        spans.duplicate |= !span.is_empty();
        *span = Span::new(value, end);
        Ok(end)
    }
}
