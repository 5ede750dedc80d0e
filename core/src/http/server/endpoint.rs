//! Where a request goes: a function of its head and its body.

use super::exchange::EventId;
use super::host_policy::HostPolicy;
use super::response::Rejection;
use crate::http::{Fields, RequestHead, SingleValue};
use crate::lifecycle::{Method, Revision, Revisions};
use crate::message::{Item, Kind, Member, Messages};
use crate::rpc::ErrorCode;

/// The rules of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'c> {
    revisions: Revisions,
    host_policy: HostPolicy<'c>,
    has_sessions: bool,
}

/// What a request comes to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Route<'f> {
    /// A POST that stands alone: for a [`Server`](crate::Server) of its own, `Server<1, S>`, which
    /// ends with it. Modern ones are, and what is wrong in a way that needs no session to say
    /// so.
    Stateless,
    /// The same for a legacy client without a session:
    /// [`start_legacy`](crate::Server::start_legacy) first.
    StatelessRevision(Revision),
    /// An `initialize`: for a server in a new session, whose [id](super::SessionId) goes out with
    /// the answer if that is no error.
    NewSession,
    /// A POST to the session of this id; where there is none: [`Rejection::session_not_found`].
    Session(&'f str),
    /// A GET: events that belong to no request, or those of a stream after the one that the client
    /// has seen last.
    Stream {
        /// The session.
        session: &'f str,
        /// The last event that the client has seen. [`None`] for the session's own stream from now
        /// on, and where the id is none of ours.
        last_event_id: Option<EventId>,
    },
    /// A DELETE: the client has no more use for this session. 204, or 404 where there is none.
    DeleteSession(&'f str),
    /// An OPTIONS: 204 with [`Endpoint::allowed_methods`].
    Options,
    /// Nobody gets to see it.
    Rejected(Rejection<'f>),
}

/// What a request wants to do, by its head alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HttpMethod {
    /// Has a body, which [`Endpoint::route`] wants to see.
    Post,
    /// Opens a stream.
    Get,
    /// Ends a session.
    Delete,
    /// Asks what can be done.
    Options,
}

impl<'c> Endpoint<'c> {
    /// An endpoint that serves these revisions (those of the [`ServerConfig`](crate::ServerConfig))
    /// to clients on the same machine, legacy ones in sessions.
    #[must_use]
    pub const fn new(revisions: Revisions) -> Self {
        Self { revisions, host_policy: HostPolicy::LOOPBACK, has_sessions: true }
    }

    /// Which hosts and origins are accepted. Default: [`HostPolicy::LOOPBACK`].
    #[must_use]
    pub const fn host_policy(self, host_policy: HostPolicy<'c>) -> Self {
        Self { host_policy, ..self }
    }

    /// Serves legacy clients without sessions: nothing is kept of them, so they cannot be asked or
    /// told anything but in answer to a request.
    #[must_use]
    pub const fn without_sessions(self) -> Self {
        Self { has_sessions: false, ..self }
    }

    /// The value of `Allow`, for 405 and for OPTIONS.
    #[must_use]
    pub fn allowed_methods(&self) -> &'static str {
        if self.serves_sessions() { "POST, GET, DELETE, OPTIONS" } else { "POST, OPTIONS" }
    }

    /// What the head alone shows, so that a body need not be read in vain.
    ///
    /// # Errors
    /// 403 for a foreign host or origin, 405 for a method that is not served (with
    /// [`allow`](Self::allowed_methods)), 406 when the client does not take what it would be answered
    /// with, 415 when the body is no JSON.
    pub fn check_head(&self, head: &RequestHead<'_>) -> Result<HttpMethod, Rejection<'static>> {
        self.host_policy.check(head)?;
        let not_allowed =
            Err(Rejection::new(405, ErrorCode::InvalidRequest, "This method is not served here"));
        let verb = match head.method {
            "POST" => HttpMethod::Post,
            "GET" if self.serves_sessions() => HttpMethod::Get,
            "DELETE" if self.serves_sessions() => HttpMethod::Delete,
            "OPTIONS" => HttpMethod::Options,
            _ => return not_allowed,
        };
        // Whoever has neither a session nor a legacy version speaks 2026-07-28, which has no other
        // method.
        if matches!(verb, HttpMethod::Get | HttpMethod::Delete)
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
        let takes = |kind| accepts(head.fields, kind);
        let takes_all = match verb {
            HttpMethod::Post => takes("application/json") && takes("text/event-stream"),
            HttpMethod::Get => takes("text/event-stream"),
            _ => true,
        };
        if !takes_all {
            return Err(Rejection::new(
                406,
                ErrorCode::InvalidRequest,
                "Accept must list application/json and text/event-stream, or for GET the latter",
            ));
        }
        let is_json = match head.fields.single("content-type") {
            SingleValue::Absent => true,
            SingleValue::Value(kind) => is_json(kind),
            _ => false,
        };
        if verb == HttpMethod::Post && !is_json {
            return Err(Rejection::new(
                415,
                ErrorCode::InvalidRequest,
                "Content-Type must be application/json",
            ));
        }
        Ok(verb)
    }

    /// Where a request goes. What has no body has no messages:
    /// [`Frame::Complete(&[])`](crate::Frame::Complete).
    #[must_use]
    pub fn route<'f>(&self, head: &RequestHead<'f>, messages: &Messages<'f>) -> Route<'f> {
        match self.check_head(head) {
            Err(refused) => Route::Rejected(refused),
            Ok(HttpMethod::Options) => Route::Options,
            Ok(HttpMethod::Post) => self.route_post(head, messages),
            Ok(verb) => match (self.session(head), verb) {
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
                return Route::Rejected(Rejection::bad("A response belongs into a session"));
            }
            // Who says its version in the message is modern, whatever else it sends.
            Some((Item::Message(_), _)) if envelope.has(Member::ProtocolVersion) => {
                return Route::Stateless;
            }
            Some((Item::Message(Kind::Request { id, method }), _)) => {
                (Some(id), method == Method::Initialize)
            }
            Some((Item::Message(_) | Item::Batch, _)) => (None, false),
            // A server says best what is wrong with it.
            Some((Item::Fault { .. }, _)) | None => return Route::Stateless,
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
            Ok(_) => match self.session(head) {
                Ok(session) => Route::Session(session),
                Err(refused) => Route::Rejected(refused.with_id(id)),
            },
        }
    }

    /// The revision that the version field names, if it is there.
    fn version(&self, head: &RequestHead<'_>) -> Result<Option<Revision>, Rejection<'static>> {
        let version = match head.fields.single(VERSION) {
            SingleValue::Absent => return Ok(None),
            SingleValue::Value(version) => Revision::parse(version),
            _ => None,
        };
        let version = version.filter(|version| self.revisions.contains(*version));
        version
            .map(Some)
            .ok_or(Rejection::bad("MCP-Protocol-Version names no version that is spoken here"))
    }

    /// The session that a legacy request belongs to.
    fn session<'f>(&self, head: &RequestHead<'f>) -> Result<&'f str, Rejection<'static>> {
        self.version(head)?;
        match head.fields.single(SESSION) {
            SingleValue::Value(session) => Ok(session),
            SingleValue::Absent => Err(Rejection::bad(
                "Mcp-Session-Id is missing: open a session with initialize, or send version 2026-07-28 in MCP-Protocol-Version and params._meta",
            )),
            _ => Err(Rejection::bad("Mcp-Session-Id must be there once")),
        }
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

/// Whether the `Accept` fields cover this type, which is given as `application/json`.
fn accepts(fields: &dyn Fields, wanted: &str) -> bool {
    let kind = wanted.split_once('/').map_or(wanted, |(kind, _)| kind);
    let covers = |range: &str| {
        let range = range.trim_matches(BLANK);
        range == "*/*"
            || range.eq_ignore_ascii_case(wanted)
            || range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(kind))
    };
    let lists = fields.all("accept").filter_map(|list| core::str::from_utf8(list).ok());
    lists.flat_map(|list| list.split(',')).any(|entry| {
        let mut parts = entry.split(';');
        // With a weight of zero it is named only to say no.
        parts.next().is_some_and(covers) && !parts.any(is_zero)
    })
}

/// Whether the body is JSON, as far as its `Content-Type` says anything.
fn is_json(content_type: &str) -> bool {
    content_type
        .split(';')
        .next()
        .is_some_and(|kind| kind.trim_matches(BLANK).eq_ignore_ascii_case("application/json"))
}

fn is_zero(parameter: &str) -> bool {
    let parameter = parameter.trim_matches(BLANK);
    let weight = parameter.split_once('=').filter(|(name, _)| name.eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, weight)| {
        weight.starts_with('0') && weight.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    })
}

const BLANK: [char; 2] = [' ', '\t'];

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_what_they_say() {
        let accepts = |list: &str, wanted| accepts(&[("Accept", list)], wanted);
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
            "application/json"
        ));
        assert!(!super::accepts(&[] as &[(&str, &str); 0], "application/json"));
    }

    #[test]
    fn json_may_have_parameters() {
        assert!(is_json("application/json") && is_json(" Application/JSON ; charset=utf-8"));
        assert!(!is_json("text/plain") && !is_json("application/json-rpc") && !is_json(""));
    }
}
