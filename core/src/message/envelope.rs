//! The members of a JSON-RPC message, taken out while the message is scanned.

use super::id::Id;
use super::params::{Params, ParamsSink};
use crate::json::{JsonStr, MemberSink, RawJson, SyntaxError, read_members, same_text, skip_value};
use crate::violation::Violation;

/// A message's members. What they mean together is for [`kind`](Self::kind) to say.
pub(crate) struct Envelope<'f> {
    text: &'f str,
    /// Levels of nesting around the message.
    used: u32,
    version: &'f str,
    id: Option<&'f str>,
    method: Option<&'f str>,
    pub(crate) params: Params<'f>,
    result: Option<&'f str>,
    error: Option<&'f str>,
    duplicate: bool,
}

/// What a message is.
pub(crate) enum Kind<'f> {
    Request { id: Id<'f>, method: JsonStr<'f> },
    Notification { method: JsonStr<'f> },
    Response { id: Option<Id<'f>>, outcome: Result<RawJson<'f>, RawJson<'f>> },
}

impl<'f> Envelope<'f> {
    pub(crate) fn new(text: &'f str, used: u32) -> Self {
        Self {
            text,
            used: used + 1,
            version: "",
            id: None,
            method: None,
            params: Params::default(),
            result: None,
            error: None,
            duplicate: false,
        }
    }

    /// Reads the object at `at`; returns its end.
    pub(crate) fn read(&mut self, at: usize) -> Result<usize, SyntaxError> {
        read_members(self.text, at, self)
    }

    /// Why this is no message.
    pub(crate) fn fault(&self) -> Option<Violation> {
        let version_is_right = self.version == "\"2.0\"" || (self.version.contains('\\') && JsonStr::scanned(self.version) == "2.0");
        if self.duplicate || self.params.duplicate {
            return Some(Violation::DuplicateKey);
        }
        if !version_is_right {
            return Some(Violation::WrongJsonRpcVersion);
        }
        match (self.method, self.result, self.error) {
            (Some(method), None, None) if method.starts_with('"') => {
                // A request needs an id that can be answered; without one it is a notification.
                self.id.is_some_and(|id| Id::parse(id).is_none()).then_some(Violation::InvalidId)
            }
            (None, Some(_), None) if self.id().is_some() => None,
            (None, None, Some(error)) if error.starts_with('{') => None,
            _ => Some(Violation::NotAMessage),
        }
    }

    pub(crate) fn id(&self) -> Option<Id<'f>> {
        self.id.and_then(Id::parse)
    }

    pub(crate) fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }

    /// What this is; only asked when [`fault`](Self::fault) found none.
    pub(crate) fn kind(&self) -> Option<Kind<'f>> {
        match (self.method.map(JsonStr::scanned), self.id(), self.result, self.error) {
            (Some(method), Some(id), ..) => Some(Kind::Request { id, method }),
            (Some(method), None, ..) => Some(Kind::Notification { method }),
            (None, id, Some(result), _) => Some(Kind::Response { id, outcome: Ok(RawJson::scanned(result)) }),
            (None, id, _, Some(error)) => Some(Kind::Response { id, outcome: Err(RawJson::scanned(error)) }),
            _ => None,
        }
    }
}

impl<'f> MemberSink<'f> for Envelope<'f> {
    fn member(&mut self, key: &'f str, value: usize) -> Result<usize, SyntaxError> {
        let member = Member::of(key);
        if member == Member::Params && self.text.as_bytes().get(value) == Some(&b'{') {
            self.duplicate |= self.params.raw.is_some();
            let mut sink = ParamsSink { text: self.text, used: self.used + 1, params: &mut self.params };
            let end = read_members(self.text, value, &mut sink)?;
            self.params.raw = self.text.get(value..end).map(RawJson::scanned);
            return Ok(end);
        }
        let end = skip_value(self.text.as_bytes(), value, self.used)?;
        let text = self.text.get(value..end).unwrap_or_default();
        let seen = match member {
            Member::JsonRpc => {
                self.duplicate |= !self.version.is_empty();
                self.version = text;
                None
            }
            Member::Id => self.id.replace(text),
            Member::Method => self.method.replace(text),
            Member::Result => self.result.replace(text),
            Member::Error => self.error.replace(text),
            Member::Params => self.params.raw.replace(RawJson::scanned(text)).map(RawJson::as_str),
            Member::Other => None,
        };
        self.duplicate |= seen.is_some();
        Ok(end)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    JsonRpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl Member {
    fn of(key: &str) -> Self {
        match key {
            "jsonrpc" => Self::JsonRpc,
            "id" => Self::Id,
            "method" => Self::Method,
            "params" => Self::Params,
            "result" => Self::Result,
            "error" => Self::Error,
            _ if key.contains('\\') => Self::of_escaped(key),
            _ => Self::Other,
        }
    }

    #[cold]
    fn of_escaped(key: &str) -> Self {
        const NAMES: [(&str, Member); 6] = [
            ("jsonrpc", Member::JsonRpc),
            ("id", Member::Id),
            ("method", Member::Method),
            ("params", Member::Params),
            ("result", Member::Result),
            ("error", Member::Error),
        ];
        NAMES.into_iter().find(|(name, _)| same_text(key, name)).map_or(Self::Other, |(_, member)| member)
    }
}
