//! Client side of Streamable HTTP (2025-03-26 and later, basic/transports) and HTTP+SSE
//! (2024-11-05), without I/O.
//!
//! The [`Client`](crate::Client) handles the messages, this module their transport. Each message
//! that the client writes is the body of an HTTP request; the messages of the response, one or a
//! stream of them, are passed to the same client.
//!
//! ```
//! use mcp_sansio::http::ResponseHead;
//! use mcp_sansio::http::client::{HttpSession, ResponseKind};
//! use mcp_sansio::types::{CallToolParams, Implementation};
//! use mcp_sansio::*;
//!
//! static CONFIG: ClientConfig =
//!     ClientConfig::new(Implementation::new("panel", "1.0.0"), ClientFeatures::NONE);
//! let now = Instant::from_millis(0);
//! let mut state: ClientState = ClientState::new();
//! let mut client = state.client(&CONFIG);
//! client.set_era(Some(Era::Modern));
//! let mut session = HttpSession::new();
//! client.connect(now, &mut TxBuffer::new([0; 16])).unwrap();
//!
//! // The message is the body of a request, whose head repeats parts of it.
//! let mut body = TxBuffer::for_http_requests([0; 512], 0);
//! client
//!     .request(now, "tools/call", &CallToolParams::new("greet"), CallOptions::new(), &mut body)
//!     .unwrap();
//! let post = body.post().unwrap();
//! let mut exchange = session.begin_post(&post);
//! // An HTTP library takes them, or the crate `mcp-sansio-http1`.
//! let mut head = String::from("POST /mcp HTTP/1.1\r\nhost: localhost:8000\r\n");
//! session
//!     .post_fields(&post, None, &mut |name, value| {
//!         head.push_str(&format!("{name}: {value}\r\n"));
//!     })
//!     .unwrap();
//! assert!(head.contains("mcp-method: tools/call\r\nmcp-name: greet\r\n"));
//!
//! body.advance(usize::MAX);
//!
//! // The response.
//! let fields = [("content-type", "application/json")];
//! let head = ResponseHead::new(200, &fields);
//! assert_eq!(session.classify_response(&mut exchange, &head), ResponseKind::Message);
//! let frame = Frame::Complete(
//!     br#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#,
//! );
//! session.observe(&mut exchange, frame);
//! assert!(exchange.has_response());
//! let event = client.next_event(now, &mut Messages::new(frame), &mut body).unwrap();
//! let Some(ClientEvent::CallFinished { outcome: CallOutcome::Result(_), .. }) = event else {
//!     panic!()
//! };
//! ```
//!
//! # Steps
//!
//! | what happens | what to do |
//! | --- | --- |
//! | the client has written a message | [look at it](crate::TxBuffer::post), [begin an exchange](HttpSession::begin_post), write the [header fields](HttpSession::post_fields), send head and message. Do not send the [cancellation](OutgoingMessage::cancelled_request) of a modern request: close its exchange instead |
//! | the head of the response arrives | [`HttpSession::classify_response`] returns the kind of its body, or the error |
//! | a message of the body, or an [event](super::sse::EventReader), arrives | [`HttpSession::observe`], then [`Client::next_event`](crate::Client::next_event) with an output buffer for new messages, since the client's own responses are sent by POST too |
//! | the body ends | [`Exchange::end_of_body`]: done, [resume](HttpSession::get_fields), or lost |
//! | an exchange is lost or refused | [`Client::fail`](crate::Client::fail) ends the call |
//! | the session has ended (404) | start over with [`HttpSession::new`] and `initialize` |
//! | the URL may be of a server of HTTP+SSE | GET; the first event is the [`Endpoint`](super::sse::EventKind::Endpoint), to be [resolved](Origin::resolve) |

mod challenge;
mod exchange;

pub use super::origin::{Origin, ResolvedTarget, UrlError};
pub use challenge::{Challenge, challenges};
#[cfg(feature = "alloc")]
pub use exchange::Post;
pub use exchange::{Exchange, HttpFailure, MIN_RETRY, NextStep, OutgoingMessage};

use core::fmt;

use super::param_headers::{FieldValue, InvalidFieldValue, header_params};
use super::{ResponseHead, SingleValue};
use crate::buffers::Storage;
use crate::buffers::framing::Framing;
use crate::buffers::rx::Frame;
use crate::buffers::tx::TxBuffer;
use crate::json::RawJson;
use crate::message::{Classified, Item, Messages};
use crate::protocol::Revision;
use crate::protocol::error::ErrorCode;
use crate::text::split;
use exchange::Purpose;

/// The state of one server URL: the session id, if the server assigned one, and the negotiated
/// revision.
///
/// Memory: [`MAX_SESSION_ID`] bytes and some. `Debug` omits the id, which is a secret (2025-11-25,
/// basic/transports).
pub struct HttpSession {
    id: heapless::String<MAX_SESSION_ID, u16>,
    /// The negotiated revision, after `initialize`.
    revision: Option<Revision>,
    /// Whether the last request was of the modern era.
    is_modern: bool,
}

/// The kind of a response, according to its head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ResponseKind {
    /// The body is one message, or a batch (2025-03-26).
    Message,
    /// The body is an [event stream](crate::http::sse::EventReader).
    EventStream,
    /// The message was accepted, and no message follows; ignore a body.
    Accepted,
    /// The server has ended the session: send `initialize` without a session id to open a new one
    /// (2025-03-26 to 2025-11-25, basic/transports).
    SessionEnded,
    /// The server offers no standalone GET stream.
    NoStream,
    /// Status 401 or 403: `WWW-Authenticate` contains the [`challenges`].
    Unauthorized(u16),
    /// An error status. The body may contain an error message: see [`HttpSession::json_rpc_error`].
    ErrorStatus(u16),
    /// The response is invalid, for this reason.
    Invalid(&'static str),
}

impl HttpSession {
    /// Creates the state of a server that is not known yet.
    pub const fn new() -> Self {
        Self { id: heapless::String::new(), revision: None, is_modern: false }
    }

    /// Returns the session id, which is a secret.
    pub fn id(&self) -> Option<&str> {
        Some(&*self.id).filter(|id| !id.is_empty())
    }

    /// Returns the negotiated revision, after `initialize`.
    pub const fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Begins the POST of a message.
    pub fn begin_post(&mut self, post: &OutgoingMessage<'_>) -> Exchange {
        let initializes = post.has_method("initialize");
        if initializes {
            *self = Self::new();
        }
        if post.id().is_some() && !post.has_method("server/discover") {
            self.is_modern = post.protocol_version().is_some();
        }
        let mut exchange =
            Exchange::new(if initializes { Purpose::Initialize } else { Purpose::Message });
        // The client's ids are numbers, so they fit.
        let _ = exchange.id.push_str(post.id().unwrap_or_default());
        exchange.is_modern = post.protocol_version().is_some() || self.is_modern;
        exchange.offer = post.offered_revision();
        exchange.in_session = !self.id.is_empty() && !exchange.is_modern;
        exchange
    }

    /// Begins the standalone GET stream, on which the server sends messages that belong to no
    /// request; `None` before the response to `initialize`. Servers may [not
    /// offer](ResponseKind::NoStream) it. Even the stream of a server of 2024-11-05 is possible.
    pub fn begin_get(&self) -> Option<Exchange> {
        self.revision?;
        let in_session = !self.id.is_empty();
        // Until the server refuses it.
        Some(Exchange { in_session, is_stream: true, ..Exchange::new(Purpose::StandaloneGet) })
    }

    /// Begins the DELETE that ends the session; `None` if there is no session id.
    pub fn begin_delete(&self) -> Option<Exchange> {
        self.id()?;
        Some(Exchange { in_session: true, ..Exchange::new(Purpose::Delete) })
    }

    /// Passes name and value of each header field of a POST to `put`. The caller adds `Host`,
    /// `Authorization` and the length.
    ///
    /// `schema` is the input schema of the called [tool](OutgoingMessage::tool_name), if known: it
    /// determines the arguments that are repeated in fields (2026-07-28,
    /// basic/transports/streamable-http).
    ///
    /// # Errors
    /// [`InvalidFieldValue`] if an argument to be repeated has a type that fields cannot carry, so
    /// that the call does not match the schema. Some fields have been passed to `put` by then.
    pub fn post_fields(
        &self,
        post: &OutgoingMessage<'_>,
        schema: Option<RawJson<'_>>,
        put: &mut dyn FnMut(&str, &dyn fmt::Display),
    ) -> Result<(), InvalidFieldValue> {
        put("accept", &"application/json, text/event-stream");
        put("content-type", &"application/json");
        if post.protocol_version().is_none() && !self.is_modern {
            if !post.has_method("initialize") {
                self.session_fields(put);
            }
            return Ok(());
        }
        match post.protocol_version() {
            Some(version) => put("mcp-protocol-version", &version),
            None => put("mcp-protocol-version", &Revision::LATEST.as_str()),
        }
        if let Some(method) = post.method() {
            put("mcp-method", &FieldValue::text(method));
        }
        if let Some(name) = post.mcp_name() {
            put("mcp-name", &FieldValue::text(name));
        }
        let Some(schema) = schema.filter(|_| post.tool_name().is_some()) else { return Ok(()) };
        let arguments = post.params().get("arguments").unwrap_or(RawJson::EMPTY);
        for param in header_params(schema, arguments) {
            let (Some(name), Some(value)) = (param.name(), param.value) else { continue };
            if let Some(value) = FieldValue::argument(value)? {
                put(name.as_str(), &value);
            }
        }
        Ok(())
    }

    /// Passes the header fields of a GET to `put`: of a new stream, or, with the id of its last
    /// event, of one that is resumed.
    pub fn get_fields(
        &self,
        last_event_id: Option<&str>,
        put: &mut dyn FnMut(&str, &dyn fmt::Display),
    ) {
        put("accept", &"text/event-stream");
        self.session_fields(put);
        if let Some(id) = last_event_id {
            put("last-event-id", &id);
        }
    }

    /// Passes the header fields of a DELETE to `put`.
    pub fn delete_fields(&self, put: &mut dyn FnMut(&str, &dyn fmt::Display)) {
        self.session_fields(put);
    }

    fn session_fields(&self, put: &mut dyn FnMut(&str, &dyn fmt::Display)) {
        if let Some(revision) = self.revision.filter(|revision| *revision >= Revision::V2025_06_18)
        {
            put("mcp-protocol-version", &revision.as_str());
        }
        if let Some(id) = self.id() {
            put("mcp-session-id", &id);
        }
    }

    /// Classifies a response by its head.
    pub fn classify_response(
        &mut self,
        exchange: &mut Exchange,
        head: &ResponseHead<'_>,
    ) -> ResponseKind {
        let kind = head
            .fields
            .get("content-type")
            .map(|kind| split(kind, ';').next().unwrap_or_default().trim());
        let is = |wanted: &str| kind.is_some_and(|kind| kind.eq_ignore_ascii_case(wanted));
        exchange.is_stream = false;
        match (head.status, exchange.purpose) {
            (401 | 403, _) => ResponseKind::Unauthorized(head.status),
            (404, _) if exchange.in_session => ResponseKind::SessionEnded,
            (200..=299, Purpose::Delete) => ResponseKind::Accepted,
            (200, Purpose::StandaloneGet | Purpose::HttpSse) if is("text/event-stream") => {
                exchange.is_stream = true;
                ResponseKind::EventStream
            }
            (_, Purpose::StandaloneGet) => ResponseKind::NoStream,
            (200..=299, Purpose::HttpSse) => {
                ResponseKind::Invalid("the server offers no event stream")
            }
            (200..=299, purpose) => {
                if purpose == Purpose::Initialize
                    && let Err(reason) = self.keep_session_id(head)
                {
                    return ResponseKind::Invalid(reason);
                }
                if is("text/event-stream") {
                    exchange.is_stream = true;
                    ResponseKind::EventStream
                } else if exchange.id.is_empty() {
                    ResponseKind::Accepted
                } else if is("application/json") {
                    ResponseKind::Message
                } else if head.status == 202 {
                    // Accepted, but the response will not come on this exchange.
                    ResponseKind::Accepted
                } else {
                    ResponseKind::Invalid(
                        "the response is neither application/json nor text/event-stream",
                    )
                }
            }
            (status, _) => ResponseKind::ErrorStatus(status),
        }
    }

    /// Keeps the session id of the response to `initialize` (2025-03-26 to 2025-11-25,
    /// basic/transports).
    fn keep_session_id(&mut self, head: &ResponseHead<'_>) -> Result<(), &'static str> {
        let is_visible = |id: &str| id.bytes().all(|byte| byte.is_ascii_graphic());
        match head.fields.single("mcp-session-id") {
            SingleValue::Absent => Ok(()),
            SingleValue::Value(id) if !id.is_empty() && is_visible(id) => {
                self.id = id.try_into().map_err(|_| "Mcp-Session-Id exceeds 512 bytes")?;
                Ok(())
            }
            _ => Err("invalid Mcp-Session-Id: it must be visible ASCII, and must not be repeated"),
        }
    }

    /// Returns the JSON-RPC error in the body of a response that has an [error
    /// status](ResponseKind::ErrorStatus) or is [unauthorized](ResponseKind::Unauthorized). Its id
    /// is not checked, since the exchange has only one request.
    pub fn json_rpc_error<'b>(&self, body: &'b [u8]) -> Option<RawJson<'b>> {
        let messages = Messages::new(Frame::Complete(body));
        let mut envelope = messages.envelope();
        match messages.peek(&mut envelope)? {
            (Item::Message(Classified::Response { outcome: Err(error), .. }), _) => Some(error),
            _ => None,
        }
    }

    /// Whether the failed `initialize` indicates a server of HTTP+SSE (2024-11-05), which a GET to
    /// the same URL will show. `error` is the JSON-RPC error in the body.
    pub fn may_support_http_sse(
        &self,
        exchange: &Exchange,
        status: u16,
        error: Option<RawJson<'_>>,
    ) -> bool {
        let is_modern_error =
            error.and_then(|error| error.get("code")?.as_i64()).is_some_and(ErrorCode::is_modern);
        let tells = match exchange.offer {
            // 2025-03-26 and 2025-06-18 name any 4xx as the sign, 2025-11-25 these three.
            Some(offer) if offer < Revision::V2025_11_25 => {
                (400..=499).contains(&status) && !matches!(status, 401 | 403)
            }
            _ => matches!(status, 400 | 404 | 405),
        };
        exchange.is_initialize() && tells && !is_modern_error
    }

    /// Inspects a message of the exchange before the client reads it, for the response and the
    /// negotiated revision.
    pub fn observe(&mut self, exchange: &mut Exchange, data: Frame<'_>) {
        exchange.failed_resumes = 0;
        let mut messages = Messages::new(data);
        while !messages.is_done() {
            let mut envelope = messages.envelope();
            let Some((item, next)) = messages.peek(&mut envelope) else { return };
            let id = match item {
                Item::Message(Classified::Response { id, outcome }) => {
                    if exchange.is_initialize()
                        && let Ok(result) = outcome
                    {
                        let version = result.get("protocolVersion").and_then(RawJson::as_string);
                        self.revision = version.and_then(Revision::from_json);
                    }
                    id
                }
                // A request of the server may have the same id.
                Item::Invalid { violation, id, forbids_response } => {
                    id.filter(|_| envelope.may_be_response(violation, forbids_response))
                }
                _ => None,
            };
            exchange.has_response |=
                id.is_some_and(|id| Some(id.as_str()) == exchange.request_id());
            messages.advance(next);
        }
    }
}

crate::text::default_is_new!(HttpSession);

crate::text::opaque_debug!(HttpSession |it| { has_id: !it.id.is_empty(), revision });

/// Maximum length of a session id, in bytes.
pub const MAX_SESSION_ID: usize = 512;

// The output buffer of a client over HTTP: the body of one POST request.

impl<S: Storage> TxBuffer<S> {
    /// Creates a buffer for the messages of a client over HTTP, in storage that may grow up to
    /// `limit` bytes. Each message is the body of a POST request, so the buffer holds one at a
    /// time: until it has been taken, others get [`SendError::Full`](crate::SendError::Full). A
    /// message should fit, because the length of the body must be known.
    pub const fn for_http_requests(storage: S, limit: usize) -> Self {
        Self::with_limit(storage, limit).with_framing(Framing::Post(None))
    }
}

impl<S: Storage + ?Sized> TxBuffer<S> {
    /// Returns the message in a buffer [for HTTP requests](Self::for_http_requests), for the head
    /// of its request. Its body is [`pending`](Self::pending). `None` if there is none, if it is
    /// not complete, and when a part of it has been taken.
    pub fn post(&self) -> Option<OutgoingMessage<'_>> {
        match self.framing() {
            Framing::Post(Some(revision)) => OutgoingMessage::written(self.pending(), *revision),
            _ => None,
        }
    }

    /// Takes the message out of a buffer [for HTTP requests](Self::for_http_requests), which is
    /// free for the next one then. `None` as [`post`](Self::post).
    #[cfg(feature = "alloc")]
    pub fn take_post(&mut self) -> Option<Post> {
        let Framing::Post(Some(revision)) = *self.framing() else { return None };
        self.post()?;
        let post = Post::new(self.pending().to_vec(), revision);
        self.clear();
        Some(post)
    }
}
