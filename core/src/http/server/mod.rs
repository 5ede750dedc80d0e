//! Server side of Streamable HTTP and HTTP+SSE: rules over request heads and bodies, whichever HTTP
//! library parsed them.
//!
//! [`Endpoint::route`] decides where a request goes; an ordinary [`Server`](crate::Server) reads
//! its messages and writes into a [buffer of the exchange](crate::TxBuffer::for_http_response). The
//! first frame decides status and content type:
//! [`TxBuffer::http_response`](crate::TxBuffer::http_response).
//!
//! ```
//! use mcp_sansio::http::RequestHead;
//! use mcp_sansio::http::server::{Endpoint, OutgoingResponse, Route};
//! use mcp_sansio::types::{Implementation, TextResult, Tool};
//! use mcp_sansio::{
//!     Catalog, ExchangeId, Frame, Instant, Messages, RawJson, ServerConfig, ServerEvent,
//!     ServerFeatures, ServerState, Target, TxBuffer, entries,
//! };
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("parrot", "1.0.0"), ServerFeatures::TOOLS);
//! static CATALOG: Catalog = Catalog::new().tools(entries![Tool::new("say", SCHEMA)]);
//! const SCHEMA: RawJson = RawJson::from_static(r#"{"type":"object"}"#);
//!
//! # fn main() -> Result<(), mcp_sansio::SendError> {
//! // As parsed by any HTTP library, or by `mcp-sansio-http1`.
//! let fields = [
//!     ("Host", "localhost:8080"),
//!     ("Content-Type", "application/json"),
//!     ("Accept", "application/json, text/event-stream"),
//!     ("MCP-Protocol-Version", "2026-07-28"),
//!     ("Mcp-Method", "tools/call"),
//!     ("Mcp-Name", "say"),
//! ];
//! let head = RequestHead::new("POST", "/mcp", &fields);
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","_meta":{
//!     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//!     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
//!
//! let mut messages = Messages::over_http(Frame::Complete(body), &head, ExchangeId::new(1));
//! let route = Endpoint::new(CONFIG.revisions).route(&head, &messages);
//! let Route::Stateless = route else { panic!() };
//! let mut state: ServerState<1, 1> = ServerState::new(); // ends with the request
//! let mut server = state.server(&CONFIG);
//! let mut tx = TxBuffer::for_http_response([0; 512], 0);
//! while let Some(event) = server.next_event(Instant::from_millis(0), &mut messages, &mut tx)? {
//!     let ServerEvent::Request(request) = event else { continue };
//!     if let Target::Tool(_) = CATALOG.respond(&mut server, &request, &mut tx)? {
//!         let _ = server.respond(request.handle, &TextResult::new("hello"), &mut tx)?;
//!     }
//! }
//! // Status and fields; the body is in `tx`.
//! let response = tx.http_response().unwrap_or(OutgoingResponse::ACCEPTED);
//! assert_eq!(
//!     (response.status, response.fields().next()),
//!     (200, Some(("content-type", "application/json")))
//! );
//! assert!(tx.pending().starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":"));
//! # Ok(())
//! # }
//! ```
//!
//! # What the transport has to do
//!
//! | what happens | what to do |
//! | --- | --- |
//! | a client of 2026-07-28 closes its connection | drop the server of that request and its handler |
//! | a client of a session closes its connection | go on reading what the exchange writes, and [`record`](ReplayBuffer::record) it |
//! | the server of a session sends a message | select the buffer by [`exchange`](crate::Server::exchange), [`exchange_of_call`](crate::Server::exchange_of_call) and [`due_exchange`](crate::Server::due_exchange): [`ExchangeId::SESSION`](crate::ExchangeId::SESSION) is the standalone GET stream |
//! | an exchange has no open request ([`open_requests_of`](crate::Server::open_requests_of)) and its buffer is empty | end the response; if there is no [`http_response`](crate::TxBuffer::http_response), send [`OutgoingResponse::ACCEPTED`], or 400 after a [`Violation`](crate::Violation) |
//! | a GET arrives | [`Route::Stream`]: send what the [`ReplayBuffer`] holds, then what it records |
//! | a body is [truncated](crate::TxBuffer::is_truncated) | close the connection without ending the body |
//! | a session is unused for long | drop it; later requests with its id get 404 |
//!
//! `Site` of the crate `mcp-sansio-engine` does all of this for any HTTP library, and `HttpServer`
//! of `mcp-sansio-adapters` on asynchronous streams.

mod host_policy;
pub(crate) mod replay;

pub use crate::buffers::framing::{EventId, InvalidEventId};
pub use host_policy::HostPolicy;
pub use replay::{Overwritten, RecordedPart, ReplayBuffer, ReplayCursor, StreamRecorder};

use core::fmt;
use core::time::Duration;

use super::{Fields, RequestHead, SingleValue};
use crate::buffers::Storage;
use crate::buffers::framing::{Delimiters, EventHead, Exchange, Framing, Mode};
use crate::buffers::tx::{Tx, TxBuffer, WriterId};
#[cfg(feature = "alloc")]
use crate::message::BodyPosition;
use crate::message::{Classified, Envelope, Id, Item, Member, Messages};
use crate::protocol::error::{ErrorCode, SendResult};
use crate::protocol::{Method, Revision, Revisions};
use crate::rpc::{RpcError, write_error};

// The endpoint: checks requests and says where they go.

/// The address, revisions and access rules of one MCP endpoint.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Endpoint<'c> {
    revisions: Revisions,
    host_policy: HostPolicy<'c>,
    has_sessions: bool,
}

/// Where a request goes: the result of [`Endpoint::route`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Route<'f> {
    /// A POST without a session: for a new [`Server`](crate::Server) (`ServerState<1, S>`) that
    /// ends with the exchange. These are modern requests, and invalid ones that can be refused
    /// without a session.
    Stateless,
    /// The same for a legacy client without a session: call
    /// [`start_legacy`](crate::Server::start_legacy) with this revision first.
    StatelessRevision(Revision),
    /// An `initialize` request: create a session with a new server. The response, unless it is an
    /// error, carries the [id](SessionId) of the session.
    NewSession,
    /// A POST to the session with this id; respond with [`Refusal::session_not_found`] if it does
    /// not exist.
    Session(&'f str),
    /// A GET: opens the session's standalone stream, or resumes a stream.
    Stream {
        /// The id of the session.
        session: &'f str,
        /// The last event that the client has received. `None` opens the standalone stream; so does
        /// an id that this server did not assign.
        last_event_id: Option<EventId>,
    },
    /// A DELETE: the client ends the session with this id. Respond with 204, or 404 if it does not
    /// exist.
    DeleteSession(&'f str),
    /// An OPTIONS request: respond with 204 and [`Endpoint::allowed_methods`].
    Options,
    /// Refused before it reaches a server.
    Refused(Refusal<'f>),
}

/// The HTTP methods that an endpoint serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HttpMethod {
    /// Carries a body, which [`Endpoint::route`] needs.
    Post,
    /// Opens or resumes an event stream.
    Get,
    /// Ends a session.
    Delete,
    /// Lists the allowed methods.
    Options,
}

impl<'c> Endpoint<'c> {
    /// Creates an endpoint that serves these revisions (those of the
    /// [`ServerConfig`](crate::ServerConfig)) to clients on the same machine, legacy ones in
    /// sessions.
    pub const fn new(revisions: Revisions) -> Self {
        Self { revisions, host_policy: HostPolicy::LOOPBACK, has_sessions: true }
    }

    /// Sets the accepted hosts and origins. Default: [`HostPolicy::LOOPBACK`].
    pub const fn host_policy(self, host_policy: HostPolicy<'c>) -> Self {
        Self { host_policy, ..self }
    }

    /// Serves legacy clients without sessions. No state is kept between their requests, so requests
    /// and notifications to them are sent only as part of a response.
    pub const fn without_sessions(self) -> Self {
        Self { has_sessions: false, ..self }
    }

    /// Returns the value of `Allow`, for status 405 and for OPTIONS.
    pub fn allowed_methods(&self) -> &'static str {
        if self.serves_sessions() { "POST, GET, DELETE, OPTIONS" } else { "POST, OPTIONS" }
    }

    /// Checks the head of a request before its body is read.
    ///
    /// # Errors
    /// 403 for a host or origin that is not accepted, 405 for a method that is not served (send
    /// [`allowed_methods`](Self::allowed_methods)), 406 if the client does not accept the
    /// response's media types, 415 for a POST whose `Content-Type` is not JSON, or missing.
    pub fn check_head(&self, head: &RequestHead<'_>) -> Result<HttpMethod, Refusal<'static>> {
        self.host_policy.check(head)?;
        self.check_method(head)
    }

    /// Checks all of a head but its host and origin, for a server that has
    /// [checked these](HostPolicy::checked_origin).
    ///
    /// # Errors
    /// As [`check_head`](Self::check_head), but for the first 403.
    pub fn check_method(&self, head: &RequestHead<'_>) -> Result<HttpMethod, Refusal<'static>> {
        let not_allowed = Err(Refusal::invalid(405, "Method not allowed"));
        let method = match head.method {
            "POST" => HttpMethod::Post,
            "GET" if self.serves_sessions() => HttpMethod::Get,
            "DELETE" if self.serves_sessions() => HttpMethod::Delete,
            "OPTIONS" => HttpMethod::Options,
            _ => return not_allowed,
        };
        // A request with neither a session nor a legacy version is of 2026-07-28, which has only
        // POST.
        if matches!(method, HttpMethod::Get | HttpMethod::Delete)
            && head.fields.nth(SESSION_FIELD, 0).is_none()
        {
            let version = head.fields.get(VERSION_FIELD).and_then(Revision::parse);
            return match version {
                Some(legacy) if !legacy.is_modern() => {
                    Err(Refusal::invalid(400, "Mcp-Session-Id is missing"))
                }
                _ => not_allowed,
            };
        }
        let takes_all = match method {
            HttpMethod::Post => {
                accepts_as_usual(head.fields) || accepts(head.fields, &[JSON, EVENT_STREAM])
            }
            HttpMethod::Get => accepts(head.fields, &[EVENT_STREAM]),
            _ => true,
        };
        if !takes_all {
            return Err(Refusal::invalid(
                406,
                "Accept must list application/json and text/event-stream, or for GET the latter",
            ));
        }
        if method == HttpMethod::Post {
            check_content_type(head)?;
        }
        Ok(method)
    }

    /// Routes a request. Of a request without a body pass the messages of
    /// [`Frame::Complete(&[])`](crate::Frame::Complete).
    pub fn route<'f>(&self, head: &RequestHead<'f>, messages: &Messages<'f>) -> Route<'f> {
        match self.check_head(head) {
            Err(refused) => Route::Refused(refused),
            Ok(method) => self.route_checked(method, head, messages, &mut messages.envelope()),
        }
    }

    /// Routes a POST whose head was [checked](Self::check_head).
    pub fn route_post<'f>(&self, head: &RequestHead<'f>, messages: &Messages<'f>) -> Route<'f> {
        self.route_body(head, messages, &mut messages.envelope())
    }

    /// Routes a request whose head was checked. `envelope` is for the first message of a POST.
    fn route_checked<'f>(
        &self,
        method: HttpMethod,
        head: &RequestHead<'f>,
        messages: &Messages<'f>,
        envelope: &mut Envelope<'f>,
    ) -> Route<'f> {
        match method {
            HttpMethod::Options => Route::Options,
            HttpMethod::Post => self.route_body(head, messages, envelope),
            method => match (self.version(head).and_then(|_| session_id(head)), method) {
                (Err(refused), _) => Route::Refused(refused),
                (Ok(session), HttpMethod::Delete) => Route::DeleteSession(session),
                (Ok(session), _) => Route::Stream {
                    session,
                    last_event_id: head.fields.get("last-event-id").and_then(|id| id.parse().ok()),
                },
            },
        }
    }

    fn route_body<'f>(
        &self,
        head: &RequestHead<'f>,
        messages: &Messages<'f>,
        envelope: &mut Envelope<'f>,
    ) -> Route<'f> {
        let (id, is_initialize) = match messages.peek(envelope) {
            Some((Item::Message(Classified::Response { .. }), _)) if !self.is_in_session(head) => {
                return Route::Refused(Refusal::invalid(
                    400,
                    "A response must be sent within a session",
                ));
            }
            // A message with a protocol version is modern, whatever else it contains.
            Some((Item::Message(_), _)) if envelope.has(Member::ProtocolVersion) => {
                return Route::Stateless;
            }
            Some((Item::Message(Classified::Request { id, method }), _)) => {
                (Some(id), method == Method::Initialize)
            }
            Some((Item::Message(_) | Item::Batch, _)) => (None, false),
            // The server reports the error.
            Some((Item::Invalid { .. }, _)) | None => return Route::Stateless,
        };
        if self.revisions.newest_legacy().is_none() {
            return Route::Stateless;
        }
        if is_initialize {
            return if self.has_sessions { Route::NewSession } else { Route::Stateless };
        }
        match self.version(head) {
            Ok(Some(version)) if version.is_modern() => Route::Stateless,
            Err(_) if !self.is_in_session(head) => Route::Stateless,
            Err(refused) => Route::Refused(refused.with_id(id)),
            Ok(version) if !self.has_sessions => {
                Route::StatelessRevision(version.unwrap_or(Revision::V2025_03_26))
            }
            Ok(_) => match session_id(head) {
                Ok(session) => Route::Session(session),
                Err(refused) => Route::Refused(refused.with_id(id)),
            },
        }
    }

    /// Returns the revision in `MCP-Protocol-Version`, if the field is present.
    fn version(&self, head: &RequestHead<'_>) -> Result<Option<Revision>, Refusal<'static>> {
        let version = match head.fields.single(VERSION_FIELD) {
            SingleValue::Absent => return Ok(None),
            SingleValue::Value(version) => Revision::parse(version),
            _ => None,
        };
        let version = version.filter(|version| self.revisions.contains(*version));
        version
            .map(Some)
            .ok_or(Refusal::invalid(400, "Unsupported version in MCP-Protocol-Version"))
    }

    fn is_in_session(&self, head: &RequestHead<'_>) -> bool {
        self.serves_sessions() && head.fields.nth(SESSION_FIELD, 0).is_some()
    }

    fn serves_sessions(&self) -> bool {
        let legacy = self.revisions.newest_legacy();
        self.has_sessions && legacy.is_some_and(|revision| revision > Revision::V2024_11_05)
    }
}

#[cfg(feature = "alloc")]
impl BodyPosition {
    /// Routes a request whose head was checked. Returns what was found in the first message, too.
    #[inline]
    pub fn route<'f>(
        endpoint: &Endpoint<'_>,
        method: HttpMethod,
        head: &RequestHead<'f>,
        messages: &Messages<'f>,
    ) -> (Route<'f>, Self) {
        let mut envelope = messages.envelope();
        let route = endpoint.route_checked(method, head, messages, &mut envelope);
        (route, Self::start(envelope.found()))
    }
}

/// Checks that a body is declared as JSON: a page of another origin cannot send that without a
/// preflight, but can send a body without a type.
///
/// # Errors
/// 415.
pub fn check_content_type(head: &RequestHead<'_>) -> Result<(), Refusal<'static>> {
    match head.fields.single("content-type") {
        SingleValue::Value(kind) if is_json(kind) => Ok(()),
        _ => Err(Refusal::invalid(415, "Content-Type must be application/json")),
    }
}

/// Returns the session id of a legacy request.
fn session_id<'f>(head: &RequestHead<'f>) -> Result<&'f str, Refusal<'static>> {
    match head.fields.single(SESSION_FIELD) {
        SingleValue::Value(session) => Ok(session),
        SingleValue::Absent => Err(Refusal::invalid(
            400,
            "Mcp-Session-Id is missing: open a session with initialize, or send version 2026-07-28 in MCP-Protocol-Version and params._meta",
        )),
        _ => Err(Refusal::invalid(400, "Mcp-Session-Id must not be repeated")),
    }
}

/// Whether `Accept` is what the official SDKs send, which is found faster than read.
fn accepts_as_usual(fields: &dyn Fields) -> bool {
    !cfg!(small)
        && matches!(
            fields.first_two("accept"),
            [Some(b"application/json, text/event-stream"), None]
        )
}

/// Whether the `Accept` fields cover these media types.
fn accepts(fields: &dyn Fields, wanted: &[&str]) -> bool {
    let entries = || fields.all("accept").flat_map(|list| list.split(|byte| *byte == b','));
    wanted.iter().all(|wanted| {
        entries().any(|entry| {
            let mut parts = entry.split(|byte| *byte == b';');
            // A weight of zero means "not acceptable" (RFC 9110, 12.4.2).
            parts.next().is_some_and(|range| covers(range, wanted)) && !parts.any(is_zero)
        })
    })
}

/// Whether a media range contains a type.
fn covers(range: &[u8], wanted: &str) -> bool {
    let range = range.trim_ascii();
    range == b"*/*"
        || range.eq_ignore_ascii_case(wanted.as_bytes())
        || range.strip_suffix(b"*").is_some_and(|kind| {
            kind.ends_with(b"/")
                && wanted
                    .as_bytes()
                    .get(..kind.len())
                    .is_some_and(|wanted| kind.eq_ignore_ascii_case(wanted))
        })
}

/// Whether a `Content-Type` is `application/json`, with any parameters.
fn is_json(content_type: &str) -> bool {
    let kind = content_type.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    // The usual spelling is not searched for parameters.
    !cfg!(small) && content_type == JSON || kind.trim_ascii().eq_ignore_ascii_case(JSON.as_bytes())
}

fn is_zero(parameter: &[u8]) -> bool {
    match parameter.trim_ascii() {
        [b'q' | b'Q', b'=', weight @ ..] => {
            weight.starts_with(b"0") && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
        }
        _ => false,
    }
}

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

const SESSION_FIELD: &str = "mcp-session-id";
const VERSION_FIELD: &str = "mcp-protocol-version";

// Heads of responses, and requests that are refused before they reach a server.

/// A refused request: an HTTP status, and a JSON-RPC error as the body.
#[derive(Clone, Debug)]
#[must_use]
pub struct Refusal<'f> {
    status: u16,
    code: ErrorCode,
    message: &'static str,
    id: Option<Id<'f>>,
}

impl<'f> Refusal<'f> {
    /// Creates a refusal. The error of a JSON-RPC request should carry its id;
    /// [`Endpoint::route`] sets it.
    pub const fn new(status: u16, code: ErrorCode, message: &'static str) -> Self {
        Self { status, code, message, id: None }
    }

    /// Status 404: unknown or ended session. The client opens a new one.
    pub const fn session_not_found() -> Self {
        Self::new(
            404,
            ErrorCode::Application(-32001),
            "Session not found: open one with initialize",
        )
    }

    /// Status 413: the body exceeds the limit.
    pub const fn content_too_large() -> Self {
        Self::invalid(413, "The message exceeds the server's limit")
    }

    /// Status 503: the maximum number of sessions or exchanges is reached.
    pub const fn service_unavailable() -> Self {
        Self::new(503, ErrorCode::InternalError, "The server is busy: try again later")
    }

    const fn invalid(status: u16, message: &'static str) -> Self {
        Self::new(status, ErrorCode::InvalidRequest, message)
    }

    fn with_id(self, id: Option<Id<'f>>) -> Self {
        Self { id, ..self }
    }

    /// The HTTP status.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The message of the JSON-RPC error.
    pub const fn message(&self) -> &'static str {
        self.message
    }

    /// Writes the body; [`http_response`](crate::TxBuffer::http_response) returns the status
    /// afterwards.
    ///
    /// # Errors
    /// [`SendError::Full`](crate::SendError::Full): drain and call again.
    /// [`SendError::NotAllowed`](crate::SendError::NotAllowed) if the exchange already has a
    /// response.
    pub fn write(&self, tx: &mut Tx<'_>) -> SendResult {
        // Both revisions omit a missing id, unlike older ones; only the legacy one keeps -32001.
        let revision = if matches!(self.code, ErrorCode::Application(_)) {
            Revision::LATEST_LEGACY
        } else {
            Revision::LATEST
        };
        tx.frame(WriterId::AUTOMATIC_RESPONSE, revision, &mut |writer| {
            writer.set_status(self.status);
            write_error(writer, self.id.map(Id::as_str), &RpcError::new(self.code, self.message))
        })
    }
}

/// The head of a response, as the first frame has decided: see
/// [`TxBuffer::http_response`](crate::TxBuffer::http_response).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutgoingResponse {
    /// The HTTP status.
    pub status: u16,
    /// The kind of the body.
    pub body: BodyKind,
}

/// The kind of a response body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyKind {
    /// No body.
    Empty,
    /// One JSON-RPC message.
    Json,
    /// Server-sent events.
    EventStream,
}

impl OutgoingResponse {
    /// Creates a response without a body.
    pub const fn empty(status: u16) -> Self {
        Self { status, body: BodyKind::Empty }
    }

    /// Status 200 with an event stream.
    pub const EVENT_STREAM: Self = Self { status: 200, body: BodyKind::EventStream };
    /// Status 202 without a body: the response to notifications and responses.
    pub const ACCEPTED: Self = Self::empty(202);

    /// Returns the header fields of the content, with names in lower case; the fields that frame
    /// the body are not included.
    pub fn fields(self) -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
        let fields: &[_] = match self.body {
            BodyKind::Empty => &[],
            BodyKind::Json => &[("content-type", "application/json")],
            // Proxies must neither buffer nor cache the events.
            BodyKind::EventStream => &[
                ("content-type", "text/event-stream"),
                ("cache-control", "no-cache, no-transform"),
                ("x-accel-buffering", "no"),
            ],
        };
        fields.iter().copied()
    }
}

/// The value of `Mcp-Session-Id`: 32 hexadecimal digits. The client sends it with every request of
/// the session.
///
/// A secret, but not a proof of identity: with authenticated users, accept a session only from the
/// user who opened it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 32]);

impl SessionId {
    /// Creates an id from 16 unpredictable bytes: from the operating system's or a hardware source
    /// of randomness, not from a counter, a clock or an ordinary generator.
    pub fn from_random(random: [u8; 16]) -> Self {
        let mut text = [0; 32];
        for (digits, byte) in text.chunks_exact_mut(2).zip(random) {
            for (digit, value) in digits.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = if value < 10 { b'0' + value } else { b'a' - 10 + value };
            }
        }
        Self(text)
    }

    /// Returns the value of `Mcp-Session-Id`.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Whether `text` is this id, compared in constant time.
    pub fn is(&self, text: &str) -> bool {
        let pairs = self.0.iter().zip(text.as_bytes());
        let differing = pairs.fold(0, |differing, (one, other)| differing | (one ^ other));
        text.len() == self.0.len() && differing == 0
    }
}

impl fmt::Debug for SessionId {
    /// Shows four digits only, since logs must not contain the id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({}...)", self.as_str().get(..4).unwrap_or_default())
    }
}

// The output buffer of one HTTP exchange: its first frame decides between a JSON body and an event
// stream.

impl<S: Storage> TxBuffer<S> {
    /// Creates a buffer for the response to one HTTP request, in storage that may grow up to
    /// `limit` bytes.
    ///
    /// The first frame decides the kind of the response: a JSON-RPC response becomes the body, with
    /// the status that belongs to it; a notification or a request starts an event stream.
    /// [`http_response`](Self::http_response) returns the decision. If it returns `None` and no
    /// request of the exchange is open, send [`OutgoingResponse::ACCEPTED`].
    pub const fn for_http_response(storage: S, limit: usize) -> Self {
        Self::with_limit(storage, limit).with_framing(Framing::Exchange(Exchange::NEW))
    }

    /// Assigns ids to events, so that the client can resume the stream. `stream` must be unique in
    /// the session. From 2025-11-25 on, start the stream of a POST [with an empty
    /// event](Self::with_priming_event).
    pub const fn with_event_ids(self, stream: u32) -> Self {
        self.with_exchange(Exchange { stream: Some(stream), ..Exchange::NEW })
    }

    /// Assigns ids to events and starts with an empty event, whose id lets the client resume before
    /// the first message, after waiting for `retry` (2025-11-25). Clients of older revisions would
    /// take the empty event for a message.
    pub const fn with_priming_event(self, stream: u32, retry: Duration) -> Self {
        self.with_exchange(Exchange {
            stream: Some(stream),
            priming_retry: Some(retry),
            ..Exchange::NEW
        })
    }

    /// Makes the response an event stream regardless of the first frame: the only stream of
    /// HTTP+SSE (2024-11-05).
    pub const fn event_stream_only(self) -> Self {
        self.with_exchange(Exchange { mode: Mode::Events, ..Exchange::NEW })
    }

    const fn with_exchange(self, exchange: Exchange) -> Self {
        self.with_framing(Framing::Exchange(exchange))
    }
}

impl<S: Storage + ?Sized> TxBuffer<S> {
    /// Returns the head that the first frame has decided; `None` before the first frame, and for a
    /// buffer that is not of an exchange.
    pub fn http_response(&self) -> Option<OutgoingResponse> {
        let Framing::Exchange(exchange) = self.framing() else { return None };
        let status = match exchange.mode {
            Mode::Undecided | Mode::Batch => return None,
            Mode::Events => return Some(OutgoingResponse::EVENT_STREAM),
            Mode::Json { status, .. } => status,
            Mode::Truncated => 200,
        };
        Some(OutgoingResponse { status, body: BodyKind::Json })
    }

    /// Forgets the response and its pending bytes, for that to another request: one without event
    /// ids.
    pub fn next_http_response(&mut self) {
        self.clear();
        self.set_framing(Framing::Exchange(Exchange::NEW));
    }

    /// Whether a JSON body was [aborted](crate::Server::fail) half-way. Close the connection
    /// without ending the body, so that the client notices.
    pub fn is_truncated(&self) -> bool {
        matches!(self.framing(), Framing::Exchange(Exchange { mode: Mode::Truncated, .. }))
    }
}

impl<S: Storage> TxBuffer<S> {
    /// Writes the [priming event](Self::with_priming_event) before there is a message, so that the
    /// connection can be closed and the client reconnects for what follows. Returns `false` for
    /// exchanges without one, and after the first frame.
    ///
    /// # Errors
    /// [`SendError::TooLarge`](crate::SendError::TooLarge) if the event does not fit.
    pub fn send_priming_event(&mut self) -> SendResult<bool> {
        let Framing::Exchange(exchange) = *self.framing() else { return Ok(false) };
        let (Mode::Undecided, Some(_)) = (exchange.mode, exchange.priming_retry) else {
            return Ok(false);
        };
        let head = EventHead {
            stream: exchange.stream,
            number: exchange.next,
            priming_retry: exchange.priming_retry,
        };
        let tx: &mut Tx<'_> = self;
        tx.whole_frame_with(Delimiters::Body, &mut |writer| head.write_priming_event(writer))?;
        tx.set_framing(Framing::Exchange(Exchange {
            mode: Mode::Events,
            next: exchange.next + 1,
            priming_retry: None,
            ..exchange
        }));
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn media_ranges_match_types() {
        let accepts = |list: &str, wanted| accepts(&[("Accept", list)], &[wanted]);
        for list in [
            "application/json, text/event-stream",
            "*/*",
            "text/*;q=0.5 ,\tAPPLICATION/JSON; q=1",
            "text/html, */*;q=0.8",
        ] {
            assert!(accepts(list, JSON) && accepts(list, EVENT_STREAM), "{list}");
        }
        for list in [
            "",
            "application/json-rpc",
            "text/html",
            "application/json;q=0",
            "application/json ; Q=0.00",
            "*",
            "json",
        ] {
            assert!(!accepts(list, JSON), "{list}");
        }
        let two = [("Accept", "text/html"), ("accept", "application/json")];
        assert!(super::accepts(&two, &[JSON, "text/html"]));
        assert!(!super::accepts(&[] as &[(&str, &str); 0], &[JSON]));
    }

    #[test]
    fn json_content_type_may_have_parameters() {
        assert!(is_json("application/json") && is_json(" Application/JSON ; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/json-rpc") && !is_json(""));
    }

    #[test]
    fn an_id_shows_its_random_bytes_and_equals_itself() {
        let id =
            SessionId::from_random([0, 1, 0x9a, 0xff, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(id.as_str(), "00019aff0405060708090a0b0c0d0e0f");
        assert!(id.is(id.as_str()));
        assert_eq!(std::format!("{id:?}"), "SessionId(0001...)");
        for other in [
            "",
            "0",
            "00019aff0405060708090a0b0c0d0e0",
            "00019aff0405060708090a0b0c0d0e0e",
            "00019aff0405060708090a0b0c0d0e0f0",
            "11019aff0405060708090a0b0c0d0e0f",
        ] {
            assert!(!id.is(other), "{other}");
        }
    }
}
