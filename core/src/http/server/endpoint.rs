//! The endpoint: checks requests and says where they go.

use super::host_policy::HostPolicy;
use super::response::Rejection;
use crate::framing::EventId;
use crate::http::{Fields, RequestHead, SingleValue};
use crate::lifecycle::{Method, Revision, Revisions};
use crate::message::{Item, Kind, Member, Messages};
use crate::rpc::ErrorCode;

/// The address, revisions and access rules of one MCP endpoint.
#[derive(Clone, Copy, Debug)]
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
    /// ends with the exchange. These are modern requests, and invalid ones that can be rejected
    /// without a session.
    Stateless,
    /// The same for a legacy client without a session: call
    /// [`start_legacy`](crate::Server::start_legacy) with this revision first.
    StatelessRevision(Revision),
    /// An `initialize` request: create a session with a new server. The response, unless it is an
    /// error, carries the [id](super::SessionId) of the session.
    NewSession,
    /// A POST to the session with this id; respond with [`Rejection::session_not_found`] if it does
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
    /// Rejected before it reaches a server.
    Rejected(Rejection<'f>),
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
    #[must_use]
    pub const fn new(revisions: Revisions) -> Self {
        Self { revisions, host_policy: HostPolicy::LOOPBACK, has_sessions: true }
    }

    /// Sets the accepted hosts and origins. Default: [`HostPolicy::LOOPBACK`].
    #[must_use]
    pub const fn host_policy(self, host_policy: HostPolicy<'c>) -> Self {
        Self { host_policy, ..self }
    }

    /// Serves legacy clients without sessions. No state is kept between their requests, so requests
    /// and notifications to them are sent only as part of a response.
    #[must_use]
    pub const fn without_sessions(self) -> Self {
        Self { has_sessions: false, ..self }
    }

    /// Returns the value of `Allow`, for status 405 and for OPTIONS.
    #[must_use]
    pub fn allowed_methods(&self) -> &'static str {
        if self.serves_sessions() { "POST, GET, DELETE, OPTIONS" } else { "POST, OPTIONS" }
    }

    /// Checks the head of a request before its body is read.
    ///
    /// # Errors
    /// 403 for a host or origin that is not accepted, 405 for a method that is not served (send
    /// [`allowed_methods`](Self::allowed_methods)), 406 if the client does not accept the
    /// response's media types, 415 for a POST whose `Content-Type` is not JSON, or missing.
    pub fn check_head(&self, head: &RequestHead<'_>) -> Result<HttpMethod, Rejection<'static>> {
        self.host_policy.check(head)?;
        self.check_method(head)
    }

    /// Checks all of a head but its host and origin.
    pub(in crate::http) fn check_method(
        &self,
        head: &RequestHead<'_>,
    ) -> Result<HttpMethod, Rejection<'static>> {
        let not_allowed = Err(Rejection::new(405, ErrorCode::InvalidRequest, "Method not allowed"));
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
            && head.fields.nth(SESSION, 0).is_none()
        {
            let is_legacy = head
                .fields
                .get(VERSION)
                .and_then(Revision::parse)
                .is_some_and(|revision| !revision.is_modern());
            return if is_legacy {
                Err(Rejection::bad("Mcp-Session-Id is missing"))
            } else {
                not_allowed
            };
        }
        let takes_all = match method {
            HttpMethod::Post => accepts(head.fields, &[JSON, EVENT_STREAM]),
            HttpMethod::Get => accepts(head.fields, &[EVENT_STREAM]),
            _ => true,
        };
        if !takes_all {
            return Err(Rejection::new(
                406,
                ErrorCode::InvalidRequest,
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
    #[must_use]
    pub fn route<'f>(&self, head: &RequestHead<'f>, messages: &Messages<'f>) -> Route<'f> {
        match self.check_head(head) {
            Err(refused) => Route::Rejected(refused),
            Ok(method) => self.route_checked(method, head, messages),
        }
    }

    /// Routes a request whose head was checked.
    pub(in crate::http) fn route_checked<'f>(
        &self,
        method: HttpMethod,
        head: &RequestHead<'f>,
        messages: &Messages<'f>,
    ) -> Route<'f> {
        match method {
            HttpMethod::Options => Route::Options,
            HttpMethod::Post => self.route_post(head, messages),
            method => match (self.version(head).and_then(|_| session(head)), method) {
                (Err(refused), _) => Route::Rejected(refused),
                (Ok(session), HttpMethod::Delete) => Route::DeleteSession(session),
                (Ok(session), _) => Route::Stream {
                    session,
                    last_event_id: head.fields.get("last-event-id").and_then(|id| id.parse().ok()),
                },
            },
        }
    }

    fn route_post<'f>(&self, head: &RequestHead<'f>, messages: &Messages<'f>) -> Route<'f> {
        let mut envelope = messages.envelope();
        let (id, is_initialize) = match messages.peek(&mut envelope) {
            Some((Item::Message(Kind::Response { .. }), _)) if !self.is_in_session(head) => {
                return Route::Rejected(Rejection::bad("A response must be sent within a session"));
            }
            // A message with a protocol version is modern, whatever else it contains.
            Some((Item::Message(_), _)) if envelope.has(Member::ProtocolVersion) => {
                return Route::Stateless;
            }
            Some((Item::Message(Kind::Request { id, method }), _)) => {
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
            Err(refused) => Route::Rejected(refused.with_id(id)),
            Ok(version) if !self.has_sessions => {
                Route::StatelessRevision(version.unwrap_or(Revision::V2025_03_26))
            }
            Ok(_) => match session(head) {
                Ok(session) => Route::Session(session),
                Err(refused) => Route::Rejected(refused.with_id(id)),
            },
        }
    }

    /// Returns the revision in `MCP-Protocol-Version`, if the field is present.
    fn version(&self, head: &RequestHead<'_>) -> Result<Option<Revision>, Rejection<'static>> {
        let version = match head.fields.single(VERSION) {
            SingleValue::Absent => return Ok(None),
            SingleValue::Value(version) => Revision::parse(version),
            _ => None,
        };
        let version = version.filter(|version| self.revisions.contains(*version));
        version.map(Some).ok_or(Rejection::bad("Unsupported version in MCP-Protocol-Version"))
    }

    fn is_in_session(&self, head: &RequestHead<'_>) -> bool {
        self.serves_sessions() && head.fields.nth(SESSION, 0).is_some()
    }

    fn serves_sessions(&self) -> bool {
        self.has_sessions
            && self
                .revisions
                .newest_legacy()
                .is_some_and(|revision| revision > Revision::V2024_11_05)
    }
}

/// Checks that a body is declared as JSON: a page of another origin cannot send that without a
/// preflight, but can send a body without a type.
pub(in crate::http) fn check_content_type(
    head: &RequestHead<'_>,
) -> Result<(), Rejection<'static>> {
    match head.fields.single("content-type") {
        SingleValue::Value(kind) if is_json(kind) => Ok(()),
        _ => Err(Rejection::new(
            415,
            ErrorCode::InvalidRequest,
            "Content-Type must be application/json",
        )),
    }
}

/// Returns the session id of a legacy request.
fn session<'f>(head: &RequestHead<'f>) -> Result<&'f str, Rejection<'static>> {
    match head.fields.single(SESSION) {
        SingleValue::Value(session) => Ok(session),
        SingleValue::Absent => Err(Rejection::bad(
            "Mcp-Session-Id is missing: open a session with initialize, or send version 2026-07-28 in MCP-Protocol-Version and params._meta",
        )),
        _ => Err(Rejection::bad("Mcp-Session-Id must not be repeated")),
    }
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
    kind.trim_ascii().eq_ignore_ascii_case(JSON.as_bytes())
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

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

#[cfg(test)]
mod tests {
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
            assert!(
                accepts(list, "application/json") && accepts(list, "text/event-stream"),
                "{list}"
            );
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
            assert!(!accepts(list, "application/json"), "{list}");
        }
        assert!(super::accepts(
            &[("Accept", "text/html"), ("accept", "application/json")],
            &[JSON, "text/html"]
        ));
        assert!(!super::accepts(&[] as &[(&str, &str); 0], &[JSON]));
    }

    #[test]
    fn json_content_type_may_have_parameters() {
        assert!(is_json("application/json") && is_json(" Application/JSON ; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/json-rpc") && !is_json(""));
    }
}
