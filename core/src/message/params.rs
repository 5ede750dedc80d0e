//! A message's `params`, with what dispatch needs taken out in the pass that scanned them.

use super::span::Span;
use crate::json::{JsonStr, Key, MemberSink, RawJson, ReadError, Fault, read_members, same_text, skip_member};

/// The `params` of a request or notification.
#[derive(Clone, Copy, Debug, Default)]
pub struct Params<'f> {
    text: &'f str,
    spans: ParamsSpans,
}

impl<'f> Params<'f> {
    pub(super) fn new(text: &'f str, spans: ParamsSpans) -> Self {
        Self { text, spans }
    }

    /// The whole object; `{}` when there was none.
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.given().unwrap_or(RawJson::EMPTY)
    }

    /// What stood there, object or not.
    pub(crate) fn given(&self) -> Option<RawJson<'f>> {
        self.spans.raw.value(self.text)
    }

    /// A member. Those that the protocol's requests have in common are found without a search.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        let span = match key {
            "name" => self.spans.name,
            "uri" => self.spans.uri,
            "cursor" => self.spans.cursor,
            "inputResponses" => self.spans.input_responses,
            "requestState" => self.spans.request_state,
            "arguments" => self.spans.arguments.raw,
            "_meta" => self.spans.meta,
            _ => return self.raw().get(key),
        };
        span.value(self.text)
    }

    /// `name`: of a tool or a prompt. Found without a search.
    #[must_use]
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.spans.name.value(self.text).and_then(RawJson::as_string)
    }

    /// `arguments`; empty when there are none. Found without a search.
    #[must_use]
    pub fn arguments(&self) -> Arguments<'f> {
        Arguments { text: self.text, spans: self.spans.arguments }
    }

    /// `_meta`.
    #[must_use]
    pub fn meta(&self) -> Option<RawJson<'f>> {
        self.spans.meta.value(self.text)
    }

    /// The members of `_meta` that the machine acts upon.
    pub(crate) fn request_meta(&self, member: MetaMember) -> Option<RawJson<'f>> {
        self.spans.meta_members.get(member as usize)?.value(self.text)
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
    spans: ArgumentsSpans,
}

impl<'f> Arguments<'f> {
    /// The object, or what the peer sent in its place.
    #[must_use]
    pub fn raw(&self) -> RawJson<'f> {
        self.spans.raw.value(self.text).unwrap_or(RawJson::EMPTY)
    }

    /// An argument.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson<'f>> {
        let indexed = self.spans.index.get(..usize::from(self.spans.len)).unwrap_or_default();
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

/// Where the members of `params` are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ParamsSpans {
    pub(super) raw: Span,
    pub(super) duplicate: bool,
    name: Span,
    uri: Span,
    cursor: Span,
    input_responses: Span,
    request_state: Span,
    arguments: ArgumentsSpans,
    meta: Span,
    meta_members: [Span; 4],
}

/// A member of a request's `_meta`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaMember {
    ProgressToken,
    ProtocolVersion,
    ClientCapabilities,
    LogLevel,
}

#[derive(Clone, Copy, Debug, Default)]
struct ArgumentsSpans {
    raw: Span,
    index: [(Span, Span); INDEXED],
    len: u8,
}

/// Reads `params`.
pub(super) struct ParamsSink<'p, 't> {
    pub(super) text: &'t [u8],
    pub(super) used: u32,
    pub(super) spans: &'p mut ParamsSpans,
}

impl MemberSink for ParamsSink<'_, '_> {
    fn member(&mut self, key: Key<'_>, value: usize) -> Result<usize, Fault> {
        const NAMES: [&str; 7] = ["arguments", "_meta", "name", "uri", "cursor", "inputResponses", "requestState"];
        let is_object = self.text.get(value) == Some(&b'{');
        let spans = &mut *self.spans;
        match key.resolve(&NAMES) {
            b"arguments" if is_object => {
                spans.duplicate |= !spans.arguments.raw.is_empty();
                let mut sink = ArgumentsSink { text: self.text, used: self.used + 1, spans: &mut spans.arguments };
                let end = read_members(self.text, value, &mut sink)?;
                spans.arguments.raw = Span::new(value, end);
                Ok(end)
            }
            b"_meta" if is_object => {
                spans.duplicate |= !spans.meta.is_empty();
                let mut sink = MetaSink { text: self.text, used: self.used + 1, members: &mut spans.meta_members };
                let end = read_members(self.text, value, &mut sink)?;
                spans.meta = Span::new(value, end);
                Ok(end)
            }
            known => {
                let end = skip_member(self.text, value, self.used)?;
                let span = match known {
                    b"name" => &mut spans.name,
                    b"uri" => &mut spans.uri,
                    b"cursor" => &mut spans.cursor,
                    b"arguments" => &mut spans.arguments.raw,
                    b"_meta" => &mut spans.meta,
                    b"inputResponses" => &mut spans.input_responses,
                    b"requestState" => &mut spans.request_state,
                    _ => return Ok(end),
                };
                spans.duplicate |= !span.is_empty();
                *span = Span::new(value, end);
                Ok(end)
            }
        }
    }
}

struct ArgumentsSink<'p, 't> {
    text: &'t [u8],
    used: u32,
    spans: &'p mut ArgumentsSpans,
}

impl MemberSink for ArgumentsSink<'_, '_> {
    fn member(&mut self, key: Key<'_>, value: usize) -> Result<usize, Fault> {
        let end = skip_member(self.text, value, self.used)?;
        if let Some(entry) = self.spans.index.get_mut(usize::from(self.spans.len)) {
            *entry = (Span::new(key.start, key.start + key.inner.len()), Span::new(value, end));
            self.spans.len += 1;
        }
        Ok(end)
    }
}

struct MetaSink<'p, 't> {
    text: &'t [u8],
    used: u32,
    members: &'p mut [Span; 4],
}

impl MemberSink for MetaSink<'_, '_> {
    fn member(&mut self, key: Key<'_>, value: usize) -> Result<usize, Fault> {
        const NAMES: [&str; 4] = [
            "progressToken",
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientCapabilities",
            "io.modelcontextprotocol/logLevel",
        ];
        let end = skip_member(self.text, value, self.used)?;
        let name = key.resolve(&NAMES);
        if let Some(at) = NAMES.iter().position(|known| known.as_bytes() == name)
            && let Some(span) = self.members.get_mut(at)
        {
            *span = Span::new(value, end);
        }
        Ok(end)
    }
}

/// How many arguments are found without a search: 64 bytes of stack.
const INDEXED: usize = 4;
