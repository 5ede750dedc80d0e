//! What a message of ours says about how it is to be posted.

use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Revision;
use crate::message::{Item, Kind, Member, Messages, Params};
use crate::rx::Frame;

/// A message that is to be posted.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingMessage<'m> {
    id: Option<&'m str>,
    method: Option<JsonStr<'m>>,
    params: Params<'m>,
    version: Option<JsonStr<'m>>,
}

impl<'m> OutgoingMessage<'m> {
    /// Looks at a message as the client has written it, with the line end behind it or without.
    /// `None` when it is none.
    #[must_use]
    pub fn parse(message: &'m [u8]) -> Option<Self> {
        let messages = Messages::new(Frame::Complete(message));
        let mut envelope = messages.envelope();
        let (Item::Message(kind), _) = messages.peek(&mut envelope)? else { return None };
        let id = if let Kind::Request { id, .. } = kind { Some(id.as_str()) } else { None };
        let method = envelope.value(Member::Method).and_then(RawJson::as_string);
        let version = envelope.value(Member::ProtocolVersion).and_then(RawJson::as_string);
        Some(Self { id, method, params: envelope.params(), version })
    }

    /// Its id as it is written, if it is a request.
    #[must_use]
    pub const fn id(&self) -> Option<&'m str> {
        self.id
    }

    /// Its method; none in an answer.
    #[must_use]
    pub const fn method(&self) -> Option<JsonStr<'m>> {
        self.method
    }

    /// Whether it has this method.
    #[must_use]
    pub fn has_method(&self, method: &str) -> bool {
        self.method.is_some_and(|own| own == *method)
    }

    /// The revision that it says it is of, as 2026-07-28 requires.
    #[must_use]
    pub const fn protocol_version(&self) -> Option<JsonStr<'m>> {
        self.version
    }

    /// The tool that it calls: whose input schema says which arguments the head repeats.
    #[must_use]
    pub fn tool_name(&self) -> Option<JsonStr<'m>> {
        self.params.name().filter(|_| self.has_method("tools/call"))
    }

    /// Its parameters.
    #[must_use]
    pub const fn params(&self) -> &Params<'m> {
        &self.params
    }

    /// The id of the request that it cancels, as it is written. 2026-07-28 cancels by ending the
    /// exchange, and only so (basic/transports/streamable-http).
    #[must_use]
    pub fn cancelled_request(&self) -> Option<&'m str> {
        self.params
            .get("requestId")
            .filter(|_| self.has_method("notifications/cancelled"))
            .map(RawJson::as_str)
    }

    /// Whether nothing else may be on its way until it is answered: it opens a session.
    #[must_use]
    pub fn is_handshake(&self) -> bool {
        self.has_method("initialize")
            || self.has_method("notifications/initialized")
            || self.has_method("server/discover")
    }

    /// The revision that an `initialize` offers.
    pub(super) fn offered_revision(&self) -> Option<Revision> {
        let offered =
            self.params.get("protocolVersion").filter(|_| self.has_method("initialize"))?;
        Revision::from_json(offered.as_string()?)
    }

    /// What `Mcp-Name` repeats (2026-07-28, basic/transports/streamable-http).
    pub(super) fn mcp_name(&self) -> Option<JsonStr<'m>> {
        let is_any = |methods: &[&str]| methods.iter().any(|method| self.has_method(method));
        if is_any(&["tools/call", "prompts/get"]) {
            self.params.name()
        } else if is_any(&["resources/read"]) {
            self.params.get("uri").and_then(RawJson::as_string)
        } else if is_any(&["tasks/get", "tasks/update", "tasks/cancel"]) {
            self.params.get("taskId").and_then(RawJson::as_string)
        } else {
            None
        }
    }
}
