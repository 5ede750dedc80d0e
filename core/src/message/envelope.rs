//! The kind of a JSON-RPC message, by its members.

use super::id::Id;
use super::member::Member;
use crate::json::{JsonStr, RawJson, skip_whitespace};
use crate::lifecycle::Method;
use crate::violation::Violation;

#[cfg(not(small))]
pub(crate) use super::one_pass::Envelope;
#[cfg(small)]
pub(crate) use super::walk::Envelope;

/// A classified message.
pub(crate) enum Kind<'f> {
    Request { id: Id<'f>, method: Method<'f> },
    Notification { method: JsonStr<'f> },
    Response { id: Option<Id<'f>>, outcome: Result<RawJson<'f>, RawJson<'f>> },
}

impl<'f> Envelope<'f> {
    /// Classifies the message.
    #[cfg_attr(not(small), inline(always))]
    pub(crate) fn kind(&self) -> Result<Kind<'f>, Violation> {
        if self.has_duplicate() {
            return Err(Violation::DuplicateKey);
        }
        if !self.has_valid_version() {
            return Err(Violation::WrongJsonRpcVersion);
        }
        let id = self.id();
        if let (Some(id), Some(method), false) =
            (id, self.common_method(), self.has(Member::Result) || self.has(Member::Error))
        {
            return Ok(Kind::Request { id, method });
        }
        match (self.value(Member::Method), self.value(Member::Result), self.value(Member::Error)) {
            // A request needs a valid id; a message without any is a notification.
            (Some(_), None, None) if id.is_none() && self.has(Member::Id) => {
                Err(Violation::InvalidId)
            }
            (Some(method), None, None) => match (method.as_string(), id) {
                (Some(method), Some(id)) => {
                    Ok(Kind::Request { id, method: Method::from_json(method) })
                }
                (Some(method), None) => Ok(Kind::Notification { method }),
                (None, _) => Err(Violation::NotAMessage),
            },
            (None, Some(result), None) if id.is_some() => {
                Ok(Kind::Response { id, outcome: Ok(result) })
            }
            (None, None, Some(error)) if error.is_object() => {
                Ok(Kind::Response { id, outcome: Err(error) })
            }
            _ => Err(Violation::NotAMessage),
        }
    }

    pub(crate) fn id(&self) -> Option<Id<'f>> {
        self.value(Member::Id).and_then(|id| Id::parse(id.as_str()))
    }

    /// Returns whether it was meant as a notification: it has a method and no id, not even an
    /// invalid one.
    pub(crate) fn is_notification(&self) -> bool {
        !self.has(Member::Id) && self.first_byte(Member::Method) == b'"'
    }

    /// Returns whether it has a `method` member of any type.
    pub(crate) fn has_method(&self) -> bool {
        self.has(Member::Method)
    }

    pub(crate) fn is_response(&self) -> bool {
        !self.has(Member::Method) && (self.has(Member::Result) || self.has(Member::Error))
    }

    /// Returns whether a truncated message looks like a response. It may end within its result.
    pub(super) fn starts_as_response(&self) -> bool {
        self.has_begun(Member::Result) || self.has_begun(Member::Error)
    }

    /// Returns the id of a truncated or invalid message, but only if the message continues behind
    /// it, since a number may be truncated, too.
    pub(super) fn complete_id(&self) -> Option<Id<'f>> {
        let text = self.text().as_bytes();
        match text.get(skip_whitespace(text, self.end_of(Member::Id))) {
            Some(b',' | b'}') => self.id(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{format, string::String};

    use super::*;
    const RECORDED: [Member; 7] = [
        Member::Version,
        Member::Id,
        Member::Method,
        Member::Result,
        Member::ProgressToken,
        Member::Params,
        Member::ProtocolVersion,
    ];
    const PARAMS: [&str; 5] = ["arguments", "name", "uri", "cursor", "_meta"];

    /// Describes the message that was read, without whitespace.
    fn found(text: &str) -> String {
        let mut envelope = Envelope::new(text);
        let read = envelope.read(0, 0) == Ok(text.len());
        let kind = match envelope.kind() {
            Ok(Kind::Request { id, method }) => format!("request {} {method:?}", id.as_str()),
            Ok(Kind::Notification { method }) => format!("notification {method:?}"),
            Ok(Kind::Response { id, outcome }) => {
                format!("response {:?} {outcome:?}", id.map(Id::as_str))
            }
            Err(violation) => format!("{violation:?}"),
        };
        let recorded = RECORDED.map(|member| envelope.value(member));
        let params = envelope.params();
        let arguments = params.arguments();
        let params = PARAMS.map(|key| params.get(key));
        let arguments = ["a", "b"].map(|key| arguments.get(key));
        let all = if read { format!("{kind} {recorded:?} {params:?} {arguments:?}") } else { kind };
        format!("{read} {all}").replace(' ', "")
    }

    #[test]
    fn whitespace_between_tokens_makes_no_difference() {
        let heads = [
            "\"jsonrpc\":~\"2.0\"~",
            "\"jsonrpc\":~\"2.1\"~",
            "\"jsonrpc\":~\"2.0~",
            "\"json\\u0072pc\":~\"2.0\"~",
            "\"jsonrpc\":~2.0~",
            "\"jsonrpc\":~\"2.0\"~,~\"jsonrpc\":~\"2.0\"~",
            "\"jsonrpc\":~\"2.0\"~,~\"jsonrpc\":~\"1.0\"~",
        ];
        let ids = [
            "\"id\":~7~",
            "\"id\":~120~",
            "\"id\":~0~",
            "\"id\":~01~",
            "\"id\":~-1~",
            "\"id\":~1.5~",
            "\"id\":~1e2~",
            "\"id\":~\"7\"~",
            "\"id\":~null~",
            "\"id\":~",
            "\"id\":~7~,~\"id\":~8~",
            "\"i\":~7~",
            "\"idx\":~7~",
            "\"id\"~:~7~",
        ];
        let methods = [
            "\"method\":~\"tools/call\"~",
            "\"method\":~\"tools/calls\"~",
            "\"method\":~\"tools/call~",
            "\"method\":~\"prompts/get\"~",
            "\"method\":~\"resources/read\"~",
            "\"method\":~\"tools\\/call\"~",
            "\"method\":~7~",
            "\"result\":~{~}~",
            "\"method\":~\"tools/call\"~,~\"result\":~{~}~",
            "\"method\":~\"tools/call\"~,~\"method\":~\"ping\"~",
        ];
        let params = [
            "\"params\":~{~\"name\":~\"x\"~,~\"arguments\":~{~\"a\":~1~,~\"b\":~\"text\\n\"~}~}~",
            "\"params\":~{~\"arguments\":~{~\"\\u0061\":~[1]~}~,~\"name\":~\"a\\\"b\"~}~",
            "\"params\":~{~}~",
            "\"params\":~[1]~",
            "\"params\":~{~\"_meta\":~{~\"progressToken\":~3~}~,~\"name\":~7~}~",
            "\"params\":~{~\"name\":~\"x~",
            "\"params\":~{~\"name\":~\"x\"~,~\"name\":~\"y\"~}~",
            "\"params\":~{~\"arguments\":~{~}~,~\"arguments\":~{~\"a\":~1~}~}~",
            "\"params\":~{~\"a\":~1~}~,~\"params\":~{~\"a\":~1~}~",
            "\"params\":~{~\"cursor\":~\"c\"~,~}~",
        ];
        let check = |members: [&str; 4]| {
            let text = format!("{{~{}~}}", members.join(",~"));
            assert_eq!(found(&text.replace('~', "")), found(&text.replace('~', " ")), "{text}");
        };
        for head in heads {
            for id in ids {
                for method in methods {
                    for params in params {
                        check([head, id, method, params]);
                        check([method, params, head, id]);
                    }
                }
            }
        }
        assert!(
            found(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#)
                .starts_with("truerequest7ToolsCall")
        );
    }
}
