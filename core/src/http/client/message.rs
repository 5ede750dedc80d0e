//! Properties of a message that its POST request depends on.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;

use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Revision;
use crate::message::{Item, Kind, Member, Messages};
use crate::rx::Frame;

/// A JSON-RPC message to be sent by POST.
#[derive(Clone, Copy, Debug)]
pub struct OutgoingMessage<'m> {
    id: Option<&'m str>,
    method: Option<JsonStr<'m>>,
    params: RawJson<'m>,
    version: Option<JsonStr<'m>>,
}

/// A message that a client has written, for
/// [`TxBuffer::take_post`](crate::TxBuffer::take_post): the body of a POST request.
#[cfg(feature = "alloc")]
#[derive(Clone, Debug)]
pub struct Post {
    body: Vec<u8>,
    revision: Revision,
}

#[cfg(feature = "alloc")]
impl Post {
    pub(super) fn new(body: Vec<u8>, revision: Revision) -> Self {
        Self { body, revision }
    }

    /// Returns the message as JSON.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns what the head of the request depends on.
    #[must_use]
    pub fn message(&self) -> OutgoingMessage<'_> {
        OutgoingMessage::written(&self.body, self.revision).unwrap_or(OutgoingMessage::EMPTY)
    }
}

impl<'m> OutgoingMessage<'m> {
    #[cfg(feature = "alloc")]
    const EMPTY: Self = Self { id: None, method: None, params: RawJson::EMPTY, version: None };

    /// Takes a message apart that the client has just written. It is not parsed: the members stand
    /// in the order `jsonrpc`, `id`, `method`, `params`, without white space.
    pub(super) fn written(body: &'m [u8], revision: Revision) -> Option<Self> {
        let text = core::str::from_utf8(body).ok()?.strip_prefix("{\"jsonrpc\":\"2.0\",")?;
        let (id, rest) = match text.strip_prefix("\"id\":") {
            Some(text) => {
                let (id, rest) = text.split_at_checked(scalar(text))?;
                (Some(id), rest.strip_prefix(',')?)
            }
            None => (None, text),
        };
        let Some(text) = rest.strip_prefix("\"method\":") else {
            // A response.
            return Some(Self { id: None, method: None, params: RawJson::EMPTY, version: None });
        };
        let (method, rest) = text.split_at_checked(scalar(text))?;
        let params = rest.strip_prefix(",\"params\":").and_then(|rest| rest.strip_suffix('}'));
        let version = revision.is_modern().then_some(MODERN);
        Some(Self {
            id,
            method: Some(JsonStr::scanned(method)),
            params: params.map_or(RawJson::EMPTY, RawJson::scanned),
            version,
        })
    }

    /// Parses a message that another program has written, with or without its line end; `None` if
    /// it is not a JSON-RPC message. Messages of a [`Client`](crate::Client) come with
    /// [`TxBuffer::post`](crate::TxBuffer::post).
    #[must_use]
    pub fn parse(message: &'m [u8]) -> Option<Self> {
        let messages = Messages::new(Frame::Complete(message));
        let mut envelope = messages.envelope();
        let (Item::Message(kind), _) = messages.peek(&mut envelope)? else { return None };
        let id = if let Kind::Request { id, .. } = kind { Some(id.as_str()) } else { None };
        let method = envelope.value(Member::Method).and_then(RawJson::as_string);
        let version = envelope.value(Member::ProtocolVersion).and_then(RawJson::as_string);
        Some(Self { id, method, params: envelope.params().raw(), version })
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
        self.name().filter(|_| self.has_method("tools/call"))
    }

    fn name(&self) -> Option<JsonStr<'m>> {
        self.params.get("name").and_then(RawJson::as_string)
    }

    /// Returns the parameters.
    #[must_use]
    pub const fn params(&self) -> RawJson<'m> {
        self.params
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
            self.name()
        } else if is_any(&["resources/read"]) {
            self.params.get("uri").and_then(RawJson::as_string)
        } else if is_any(&["tasks/get", "tasks/update", "tasks/cancel"]) {
            self.params.get("taskId").and_then(RawJson::as_string)
        } else {
            None
        }
    }
}

/// Returns the length of the number or string at the start of the text.
fn scalar(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    let is_string = text.starts_with('"');
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' if is_string => _ = bytes.next(),
            b'"' if is_string => return at + 1,
            b',' | b'}' if !is_string => return at,
            _ => {}
        }
    }
    text.len()
}

/// The only modern revision, as JSON.
const MODERN: JsonStr<'static> = JsonStr::scanned("\"2026-07-28\"");
