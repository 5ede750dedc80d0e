//! Properties of a message that its POST request depends on.

use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Revision;
use crate::message::{Item, Kind, Member, Messages, Params};
use crate::rx::Frame;

/// A JSON-RPC message to be sent by POST.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingMessage<'m> {
    id: Option<&'m str>,
    method: Option<JsonStr<'m>>,
    params: Params<'m>,
    version: Option<JsonStr<'m>>,
}

impl<'m> OutgoingMessage<'m> {
    /// Parses a message as the client has written it, with or without its line end; `None` if it is
    /// not a JSON-RPC message.
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

    /// Returns the id as JSON, if the message is a request.
    #[must_use]
    pub const fn id(&self) -> Option<&'m str> {
        self.id
    }

    /// Returns the method; `None` for a response.
    #[must_use]
    pub const fn method(&self) -> Option<JsonStr<'m>> {
        self.method
    }

    /// Whether the message has this method.
    #[must_use]
    pub fn has_method(&self, method: &str) -> bool {
        self.method.is_some_and(|own| own == *method)
    }

    /// Returns the protocol version in `_meta`, which 2026-07-28 requires.
    #[must_use]
    pub const fn protocol_version(&self) -> Option<JsonStr<'m>> {
        self.version
    }

    /// Returns the name of the called tool, whose input schema determines the `Mcp-Param-*` fields.
    #[must_use]
    pub fn tool_name(&self) -> Option<JsonStr<'m>> {
        self.params.name().filter(|_| self.has_method("tools/call"))
    }

    /// Returns the parameters.
    #[must_use]
    pub const fn params(&self) -> &Params<'m> {
        &self.params
    }

    /// Returns the id, as JSON, of the request that this message cancels. In 2026-07-28 a request
    /// is cancelled only by ending its exchange (basic/transports/streamable-http).
    #[must_use]
    pub fn cancelled_request(&self) -> Option<&'m str> {
        self.params
            .get("requestId")
            .filter(|_| self.has_method("notifications/cancelled"))
            .map(RawJson::as_str)
    }

    /// Whether the message is part of the handshake: no other message may be sent until its
    /// response.
    #[must_use]
    pub fn is_handshake(&self) -> bool {
        self.has_method("initialize")
            || self.has_method("notifications/initialized")
            || self.has_method("server/discover")
    }

    /// Returns the revision that an `initialize` request offers.
    pub(super) fn offered_revision(&self) -> Option<Revision> {
        let offered =
            self.params.get("protocolVersion").filter(|_| self.has_method("initialize"))?;
        Revision::from_json(offered.as_string()?)
    }

    /// Returns the value of `Mcp-Name` (2026-07-28, basic/transports/streamable-http).
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
