//! One HTTP request with its message, its response or failure, and the requests that resume it.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::buffers::rx::Frame;
use crate::json::{JsonStr, RawJson, hash_str};
use crate::message::{Classified, Item, MAX_ID, Member, Messages};
use crate::protocol::Revision;
use crate::text::Printable;

/// The state of an HTTP exchange: the JSON-RPC request that awaits a response, and whether the
/// response stream can be resumed.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(in crate::http) purpose: Purpose,
    /// The id of the JSON-RPC request, as JSON; empty for other messages.
    pub(in crate::http) id: heapless::String<MAX_ID, u8>,
    pub(in crate::http) is_modern: bool,
    pub(in crate::http) in_session: bool,
    /// The revision that an `initialize` request offers.
    pub(in crate::http) offer: Option<Revision>,
    pub(in crate::http) is_stream: bool,
    pub(in crate::http) has_response: bool,
    /// The number of successive attempts to resume without a message or a new event id.
    pub(in crate::http) failed_resumes: u8,
    /// The hash of the last event id of the previous attempt.
    pub(in crate::http) last_event: Option<u64>,
}

/// The purpose of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::http) enum Purpose {
    Message,
    Initialize,
    /// The standalone GET stream.
    StandaloneGet,
    /// The event stream of HTTP+SSE (2024-11-05).
    HttpSse,
    Delete,
}

/// The next step after the end of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep {
    /// Nothing: the exchange is complete.
    Done,
    /// Resume with a GET that has the id of the last event, after this time (2025-11-25,
    /// basic/transports).
    Resume(Duration),
    /// The response is lost: [`HttpFailure::ConnectionLost`](super::HttpFailure::ConnectionLost).
    Lost,
}

impl Exchange {
    pub(in crate::http) fn new(purpose: Purpose) -> Self {
        Self {
            purpose,
            id: heapless::String::new(),
            is_modern: false,
            in_session: false,
            offer: None,
            is_stream: false,
            has_response: false,
            failed_resumes: 0,
            last_event: None,
        }
    }

    /// Creates the exchange of a GET that opens the event stream of HTTP+SSE (2024-11-05).
    pub fn http_sse() -> Self {
        Self::new(Purpose::HttpSse)
    }

    /// Returns the id of the JSON-RPC request, as JSON; `None` for other messages.
    pub fn request_id(&self) -> Option<&str> {
        if self.id.is_empty() { None } else { Some(&self.id) }
    }

    /// Whether the response to the JSON-RPC request has been received.
    pub const fn has_response(&self) -> bool {
        self.has_response
    }

    /// Whether the request is of 2026-07-28: ending the exchange cancels it, and it cannot be
    /// resumed.
    pub const fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Whether the request is `initialize`.
    pub fn is_initialize(&self) -> bool {
        self.purpose == Purpose::Initialize
    }

    /// Handles the end of the body or of the connection. The result depends on whether the response
    /// has been received, and on the stream: the [id of its last
    /// event](crate::http::sse::EventReader::last_event_id) and the [reconnection
    /// time](crate::http::sse::EventReader::retry) that the server asked for. Call it also if the
    /// GET of the standalone stream, or an attempt to resume any, got no response. After 8
    /// successive attempts without a message or a new event id the response is lost. The time to
    /// wait is at least [`MIN_RETRY`].
    pub fn end_of_body(
        &mut self,
        last_event_id: Option<&str>,
        retry: Option<Duration>,
    ) -> NextStep {
        // Attempts to resume the standalone stream are not limited. A new event id shows that the
        // server keeps the stream, even if it has sent no message yet.
        let last_event = last_event_id.map(hash_str);
        if last_event.is_some() && last_event != self.last_event {
            (self.last_event, self.failed_resumes) = (last_event, 0);
        }
        let is_over =
            self.failed_resumes >= MAX_FAILED_RESUMES && self.purpose != Purpose::StandaloneGet;
        let resumes = self.is_stream && !self.is_modern && !is_over;
        let wait = retry.map_or(RETRY.saturating_mul(1 << self.failed_resumes.min(5)), |retry| {
            retry.max(MIN_RETRY)
        });
        let after = match self.purpose {
            Purpose::Delete => NextStep::Done,
            Purpose::HttpSse => NextStep::Lost,
            Purpose::StandaloneGet if resumes => NextStep::Resume(wait),
            Purpose::StandaloneGet => NextStep::Done,
            Purpose::Message | Purpose::Initialize => {
                if self.has_response || self.id.is_empty() {
                    NextStep::Done
                } else if resumes && last_event_id.is_some() {
                    NextStep::Resume(wait)
                } else {
                    NextStep::Lost
                }
            }
        };
        if matches!(after, NextStep::Resume(_)) {
            self.failed_resumes = self.failed_resumes.saturating_add(1);
        }
        after
    }
}

/// Maximum number of successive attempts to resume a stream.
const MAX_FAILED_RESUMES: u8 = 8;
/// Minimum time before a stream is resumed, even if the server asks for less.
pub const MIN_RETRY: Duration = Duration::from_millis(100);
/// Time before a stream is resumed if the server does not specify one; doubled on each unsuccessful
/// attempt.
const RETRY: Duration = Duration::from_secs(1);

// Properties of a message that its POST request depends on.

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
    /// Creates the post of a message that is written as a client does: its members in the order
    /// `jsonrpc`, `id`, `method`, `params`, without white space.
    pub const fn new(body: Vec<u8>, revision: Revision) -> Self {
        Self { body, revision }
    }

    /// Returns the message as JSON.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns what the head of the request depends on.
    pub fn message(&self) -> OutgoingMessage<'_> {
        OutgoingMessage::written(&self.body, self.revision).unwrap_or(OutgoingMessage::EMPTY)
    }
}

impl<'m> OutgoingMessage<'m> {
    /// A response.
    const EMPTY: Self = Self { id: None, method: None, params: RawJson::EMPTY, version: None };

    /// Takes a message apart that the client has just written. It is not parsed: the members stand
    /// in the order `jsonrpc`, `id`, `method`, `params`, without white space.
    pub(in crate::http) fn written(body: &'m [u8], revision: Revision) -> Option<Self> {
        let text = core::str::from_utf8(body).ok()?.strip_prefix("{\"jsonrpc\":\"2.0\",")?;
        let (id, rest) = match text.strip_prefix("\"id\":") {
            Some(text) => {
                let (id, rest) = text.split_at_checked(scalar(text))?;
                (Some(id), rest.strip_prefix(',')?)
            }
            None => (None, text),
        };
        let Some(text) = rest.strip_prefix("\"method\":") else {
            return Some(Self::EMPTY);
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
    pub fn parse(message: &'m [u8]) -> Option<Self> {
        let messages = Messages::new(Frame::Complete(message));
        let mut envelope = messages.envelope();
        let (Item::Message(kind), _) = messages.peek(&mut envelope)? else { return None };
        let id = if let Classified::Request { id, .. } = kind { Some(id.as_str()) } else { None };
        let method = envelope.value(Member::Method).and_then(RawJson::as_string);
        let version = envelope.value(Member::ProtocolVersion).and_then(RawJson::as_string);
        Some(Self { id, method, params: envelope.params().as_json(), version })
    }

    /// Returns the id as JSON, if the message is a request.
    pub const fn id(&self) -> Option<&'m str> {
        self.id
    }

    /// Returns the method; `None` for a response.
    pub const fn method(&self) -> Option<JsonStr<'m>> {
        self.method
    }

    /// Whether the message has this method.
    pub fn has_method(&self, method: &str) -> bool {
        self.method.is_some_and(|own| own == *method)
    }

    /// Returns the protocol version in `_meta`, which 2026-07-28 requires.
    pub const fn protocol_version(&self) -> Option<JsonStr<'m>> {
        self.version
    }

    /// Returns the name of the called tool, whose input schema determines the `Mcp-Param-*` fields.
    pub fn tool_name(&self) -> Option<JsonStr<'m>> {
        self.name().filter(|_| self.has_method("tools/call"))
    }

    fn name(&self) -> Option<JsonStr<'m>> {
        self.params.get("name").and_then(RawJson::as_string)
    }

    /// Returns the parameters.
    pub const fn params(&self) -> RawJson<'m> {
        self.params
    }

    /// Returns the id, as JSON, of the request that this message cancels. In 2026-07-28 a request
    /// is cancelled only by ending its exchange (basic/transports/streamable-http).
    pub fn cancelled_request(&self) -> Option<&'m str> {
        self.params
            .get("requestId")
            .filter(|_| self.has_method("notifications/cancelled"))
            .map(RawJson::as_str)
    }

    /// Whether the message is part of the handshake: no other message may be sent until its
    /// response.
    pub fn is_handshake(&self) -> bool {
        self.has_method("initialize")
            || self.has_method("notifications/initialized")
            || self.has_method("server/discover")
    }

    /// Returns the revision that an `initialize` request offers.
    pub(in crate::http) fn offered_revision(&self) -> Option<Revision> {
        let offered =
            self.params.get("protocolVersion").filter(|_| self.has_method("initialize"))?;
        Revision::from_json(offered.as_string()?)
    }

    /// Returns the value of `Mcp-Name` (2026-07-28, basic/transports/streamable-http).
    pub(in crate::http) fn mcp_name(&self) -> Option<JsonStr<'m>> {
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

/// The reason why a request got no JSON-RPC response over HTTP, for
/// [`Client::fail`](crate::Client::fail). `Display` says what happened and what to do.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum HttpFailure<'e> {
    /// An HTTP error status.
    Status(u16),
    /// Status 401 or 403.
    Unauthorized {
        /// 401: authentication required; 403: insufficient permissions.
        status: u16,
        /// The value of `WWW-Authenticate`; empty if the server sent none.
        /// [`challenges`](super::challenges) parses the field.
        challenge: &'e str,
    },
    /// The client could not get the permission that the server asks for, for this reason.
    NotAuthorized(&'e str),
    /// An HTTP error status whose body is this JSON-RPC error. It is the response of the server:
    /// the call ends with it.
    JsonRpc(RawJson<'e>),
    /// There is no connection, for this reason. Nothing was sent.
    NotConnected(&'e str),
    /// The connection ended before the response.
    ConnectionLost,
    /// The response is invalid, or the request cannot be sent.
    Invalid(&'e str),
}

impl fmt::Display for HttpFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => {
                write!(f, "HTTP status {status}")?;
                f.write_str(match status {
                    404 => ": check the path of the URL",
                    429 => ": too many requests, wait before the next one",
                    502..=504 => ": the server is busy or cannot be reached, try again later",
                    500..=599 => ": the server or a proxy failed, see its log",
                    _ => "",
                })
            }
            Self::Unauthorized { status, challenge } => {
                let (what, advice) = match status {
                    401 => ("authentication required", "log in, or set another token"),
                    _ => ("forbidden", "the token does not permit it"),
                };
                write!(f, "{what} (HTTP status {status}")?;
                if !challenge.is_empty() {
                    write!(f, ", {}", Printable::new(format_args!("{challenge:.MAX_CHALLENGE$}")))?;
                }
                write!(f, "): {advice}")
            }
            Self::NotAuthorized(reason) => write!(f, "not authorized: {}", Printable::new(reason)),
            Self::JsonRpc(error) => Printable::new(error).fmt(f),
            Self::NotConnected(reason) => {
                write!(f, "no connection: {}; nothing was sent", Printable::new(reason))
            }
            Self::ConnectionLost => f.write_str(
                "the connection ended before the response: repeat the call unless that does harm",
            ),
            Self::Invalid(reason) => Printable::new(reason).fmt(f),
        }
    }
}

crate::text::error_type!(HttpFailure<'_>);

/// Maximum length of a challenge in an error text, in characters.
const MAX_CHALLENGE: usize = 300;
