//! What is known of a server behind a URL, and what follows from it for heads.

use core::fmt;

use super::exchange::{Exchange, Purpose};
use super::message::OutgoingMessage;
use crate::http::param_headers::{FieldValue, InvalidFieldValue, header_params};
use crate::http::{ResponseHead, SingleValue};
use crate::json::{JsonStr, RawJson};
use crate::lifecycle::Revision;
use crate::message::{Item, Kind, Messages};
use crate::rx::Frame;

/// What the responses have said: the id of the session, if there is one, and the revision that was
/// agreed upon.
///
/// Memory: [`MAX_SESSION_ID`] bytes and some. `Debug` does not show the id: it is a secret
/// (2025-11-25, basic/transports).
pub struct HttpSession {
    id: [u8; MAX_SESSION_ID],
    id_len: u16,
    /// Of the session, once it is initialized.
    revision: Option<Revision>,
    /// The last request posted was a modern one.
    is_modern: bool,
}

/// What a response is, as its head says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ResponseKind {
    /// The body is one message (of 2025-03-26: or a batch).
    Message,
    /// The body is a stream of [events](crate::http::sse::EventReader).
    EventStream,
    /// It was taken, and there is nothing more to come; a body is to be read and forgotten.
    Accepted,
    /// The session has been ended by the server: begin another, with `initialize` and without its
    /// id (2025-03-26 to 2025-11-25, basic/transports).
    SessionEnded,
    /// There is no stream for what belongs to no request: the server does not offer one.
    NoStream,
    /// 401 or 403: the fields `WWW-Authenticate` say what is wanted
    /// ([`challenges`](super::challenges)).
    Unauthorized(u16),
    /// Refused with this status. The body may have a message that says why: see
    /// [`HttpSession::json_rpc_error`].
    ErrorStatus(u16),
    /// It cannot be used, for this reason.
    Invalid(&'static str),
}

impl HttpSession {
    /// Nothing is known yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { id: [0; MAX_SESSION_ID], id_len: 0, revision: None, is_modern: false }
    }

    /// The id of the session. A secret.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        let id = self.id.get(..usize::from(self.id_len)).filter(|id| !id.is_empty())?;
        core::str::from_utf8(id).ok()
    }

    /// The revision of the session, once it is initialized.
    #[must_use]
    pub const fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Begins the exchange of a message.
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
        // Ids of ours are numbers.
        let _ = exchange.id.push_str(post.id().unwrap_or_default());
        exchange.is_modern = post.protocol_version().is_some() || self.is_modern;
        exchange.offer = post.offered_revision();
        exchange.in_session = self.id_len > 0 && !exchange.is_modern;
        exchange
    }

    /// Begins the stream on which a server says what belongs to no request, a GET: only when
    /// `initialize` has been answered, and of servers that [offer](ResponseKind::NoStream) it. Some
    /// speak 2024-11-05 over Streamable HTTP, too.
    #[must_use]
    pub fn begin_get(&self) -> Option<Exchange> {
        self.revision?;
        Some(Exchange { in_session: self.id_len > 0, ..Exchange::new(Purpose::Listen) })
    }

    /// Begins the end of the session, a DELETE; `None` where there is none to end.
    #[must_use]
    pub fn begin_delete(&self) -> Option<Exchange> {
        self.id()?;
        Some(Exchange { in_session: true, ..Exchange::new(Purpose::Delete) })
    }

    /// Tells the fields of the head of a POST, each with a name and a value. `Host`, the length,
    /// and `Authorization` are the caller's.
    ///
    /// `schema` is the input schema of the [tool](OutgoingMessage::tool_name) that is called, where it is known: it
    /// says which arguments are repeated (2026-07-28, basic/transports/streamable-http).
    ///
    /// # Errors
    /// An argument that is to be repeated is of a kind that no field can carry: the call does not
    /// fit the tool. Some fields have been told then.
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

    /// Tells the fields of the head of a GET: that of a stream, or, with the id of its last event,
    /// of what takes it up again.
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

    /// Tells the fields of the head of a DELETE.
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

    /// What a response is.
    pub fn classify_response(
        &mut self,
        exchange: &mut Exchange,
        head: &ResponseHead<'_>,
    ) -> ResponseKind {
        let kind = head
            .fields
            .get("content-type")
            .map(|kind| kind.split(';').next().unwrap_or_default().trim());
        let is = |wanted: &str| kind.is_some_and(|kind| kind.eq_ignore_ascii_case(wanted));
        exchange.is_stream = false;
        match (head.status, exchange.purpose) {
            (401 | 403, _) => ResponseKind::Unauthorized(head.status),
            (404, _) if exchange.in_session => ResponseKind::SessionEnded,
            (200..=299, Purpose::Delete) => ResponseKind::Accepted,
            (200, Purpose::Listen | Purpose::Older) if is("text/event-stream") => {
                exchange.is_stream = true;
                ResponseKind::EventStream
            }
            (_, Purpose::Listen) => ResponseKind::NoStream,
            (200..=299, Purpose::Older) => {
                ResponseKind::Invalid("the server offers no stream of events")
            }
            (200..=299, purpose) => {
                if purpose == Purpose::Initialize
                    && let Err(reason) = self.take_id(head)
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
                    // Taken, but never answered here.
                    ResponseKind::Accepted
                } else {
                    ResponseKind::Invalid(
                        "the answer is neither application/json nor text/event-stream",
                    )
                }
            }
            (status, _) => ResponseKind::ErrorStatus(status),
        }
    }

    /// The session begins with the response that has its id (2025-03-26 to 2025-11-25,
    /// basic/transports).
    fn take_id(&mut self, head: &ResponseHead<'_>) -> Result<(), &'static str> {
        let id = match head.fields.single("mcp-session-id") {
            SingleValue::Absent => return Ok(()),
            SingleValue::Value(id)
                if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic()) =>
            {
                id.as_bytes()
            }
            _ => return Err("the id of the session is none: visible ASCII characters, once"),
        };
        let Some(place) = self.id.get_mut(..id.len()) else {
            return Err("the id of the session is longer than what is kept");
        };
        place.copy_from_slice(id);
        self.id_len = id.len() as u16;
        Ok(())
    }

    /// What became of a response that was [refused](ResponseKind::ErrorStatus) or not
    /// [authorized](ResponseKind::Unauthorized): the message in its body, if it is an error of the
    /// protocol's. One that names another request, or none, is as good: there was only one to name.
    #[must_use]
    pub fn json_rpc_error<'b>(&self, body: &'b [u8]) -> Option<RawJson<'b>> {
        let messages = Messages::new(Frame::Complete(body));
        let mut envelope = messages.envelope();
        match messages.peek(&mut envelope)? {
            (Item::Message(Kind::Response { outcome: Err(error), .. }), _) => Some(error),
            _ => None,
        }
    }

    /// Whether a server that has refused to be initialized may be one of 2024-11-05: a GET to the
    /// same URL will tell. `error` is what the body had of it.
    #[must_use]
    pub fn may_support_http_sse(
        &self,
        exchange: &Exchange,
        status: u16,
        error: Option<RawJson<'_>>,
    ) -> bool {
        let is_modern_error = error
            .and_then(|error| error.get("code")?.as_i64())
            .is_some_and(|code| MODERN_ERRORS.contains(&code));
        let tells = match exchange.offer {
            // 2025-03-26 and 2025-06-18 take any 4xx for a sign, 2025-11-25 takes these.
            Some(offer) if offer < Revision::V2025_11_25 => {
                (400..=499).contains(&status) && !matches!(status, 401 | 403)
            }
            _ => matches!(status, 400 | 404 | 405),
        };
        exchange.is_initialize() && tells && !is_modern_error
    }

    /// Looks at a message of an exchange's before the client does: whether it is the answer, and
    /// what was agreed upon.
    pub fn observe(&mut self, exchange: &mut Exchange, data: Frame<'_>) {
        exchange.in_vain = 0;
        let mut messages = Messages::new(data);
        while !messages.is_done() {
            let mut envelope = messages.envelope();
            let Some((item, next)) = messages.peek(&mut envelope) else { return };
            let id = match item {
                Item::Message(Kind::Response { id, outcome }) => {
                    if exchange.is_initialize()
                        && let Ok(result) = outcome
                    {
                        let version: Option<JsonStr<'_>> =
                            result.get("protocolVersion").and_then(RawJson::as_string);
                        self.revision = version.and_then(Revision::from_json);
                    }
                    id
                }
                // Too long, and an answer all the same.
                Item::Fault { id, .. } => id,
                _ => None,
            };
            exchange.has_response |=
                id.is_some_and(|id| Some(id.as_str()) == exchange.request_id());
            messages.advance(next);
        }
    }
}

impl Default for HttpSession {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for HttpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSession")
            .field("has_id", &(self.id_len > 0))
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}

/// Errors that only a modern server gives.
const MODERN_ERRORS: core::ops::RangeInclusive<i64> = -32022..=-32020;
/// The longest id of a session that is kept, in bytes.
pub const MAX_SESSION_ID: usize = 512;
