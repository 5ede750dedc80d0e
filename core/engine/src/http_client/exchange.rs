//! One exchange after the other: what a response means, and what its job does next.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{Display, Write as _};
use core::mem;
use core::ops::RangeInclusive;
use core::time::Duration;

use mcp_sansio::http::ResponseHead;
use mcp_sansio::http::client::{Exchange, HttpSession, NextStep, OutgoingMessage, ResponseKind};
use mcp_sansio::http::sse::{Event, EventKind, EventReader};
use mcp_sansio::internal::copy;
use mcp_sansio::{Frame, Instant, RawJson};

use super::job::{Ask, Errand, Job, Kind, Phase};
use super::job::{Received, hold};
use super::tools::{AfterPage, Listing};
use super::{Closing, Diagnostic, HttpClient, HttpExchangeId, HttpRequest, Reading};
use crate::HttpError;

impl HttpClient {
    /// Returns what an exchange waits for.
    pub fn reading(&self, id: HttpExchangeId) -> Reading {
        match self.jobs.get(&id).map(|job| &job.phase) {
            Some(Phase::Sending) => Reading::Head,
            Some(Phase::Message | Phase::Events | Phase::Error { .. }) => Reading::Body,
            Some(Phase::Rest { .. } | Phase::SessionEnded) => Reading::Rest,
            Some(Phase::Refused { .. }) => Reading::Refused,
            Some(Phase::Waiting(_) | Phase::Renewal) | None => Reading::Over,
        }
    }

    /// Whether the body of this exchange has messages for which there is no
    /// [room](Self::has_room).
    pub fn waits_for_room(&self, id: HttpExchangeId) -> bool {
        !self.inbox.has_room()
            && self.jobs.get(&id).is_some_and(|job| {
                matches!(job.phase, Phase::Message | Phase::Events) && job.errand.is_none()
            })
    }

    /// Returns the request of an exchange, also again after [`authorized`](Self::authorized);
    /// `None` if the exchange is over.
    pub fn request(&mut self, now: Instant, id: HttpExchangeId) -> Option<HttpRequest<'_>> {
        let mut job = self.take(id)?;
        if !matches!(job.phase, Phase::Sending) {
            self.put(id, job);
            return None;
        }
        let mut fields = Vec::new();
        let mut put = |name: &str, value: &dyn Display| {
            let mut text = String::new();
            let _ = write!(text, "{value}");
            fields.push((name.to_owned(), text));
        };
        match (job.ask, &job.kind) {
            (Ask::Message, Kind::Delete(_)) => self.session.delete_fields(&mut put),
            (Ask::Message, _) => {
                let is_late = self.is_renewing || job.session != self.sessions;
                if is_late && job.errand.is_none() && job.is_answer() {
                    // A request of the new session may have the same id.
                    self.fail(job, HttpError::Invalid(LATE.to_owned()), now);
                    return None;
                }
                if self.is_renewing && job.errand.is_none() {
                    // It has waited for credentials since the session was there.
                    job.session = self.sessions;
                    self.renew(job, now);
                    return None;
                }
                let post = job.post()?;
                let message = post.message();
                if job.errand.is_none() && message.has_method("initialize") {
                    self.opening = [Some(post.clone()), None];
                } else if job.errand.is_none() && message.has_method("notifications/initialized") {
                    let [_, initialized] = &mut self.opening;
                    *initialized = Some(post.clone());
                    self.revision = self.session.revision();
                }
                let exchange = self.session.begin_post(&message);
                let tool = message.tool_name().filter(|_| job.errand.is_none());
                let schema = tool.and_then(|tool| self.tools.schema(&tool.to_string()));
                let put = self.session.post_fields(&message, schema, &mut put);
                if put.is_err() {
                    self.failed(job, HttpError::Invalid(ARGUMENT.to_owned()), now);
                    return None;
                }
                let lists_tools = message.has_method("tools/list");
                (job.exchange, job.lists_tools) = (exchange, lists_tools);
                job.session = self.sessions;
                job.events = EventReader::with_limit(Vec::new(), self.limits.max_message);
                job.body.clear();
            }
            (Ask::Stream, Kind::HttpSse(_)) => HttpSession::new().get_fields(None, &mut put),
            (Ask::Stream | Ask::Resumed, _) => {
                job.events.restart();
                self.session.get_fields(job.events.last_event_id(), &mut put);
            }
        }
        job.without_event = 0;
        self.limit_accepting(&mut job, now);
        let has_body = job.method() == "POST";
        self.put(id, job);
        let body = self.jobs.get(&id).filter(|_| has_body).and_then(|job| job.post());
        Some(HttpRequest { fields, body: body.map(|post| post.body()) })
    }

    fn limit_accepting(&self, job: &mut Job, now: Instant) {
        let limit = self.limits.accept_timeout;
        if job.ask == Ask::Message && job.is_limited() && limit != Duration::MAX {
            job.limit = Some(now.saturating_add(limit));
        }
    }

    /// Takes the head of a response.
    pub fn response(&mut self, now: Instant, id: HttpExchangeId, head: &ResponseHead<'_>) {
        let Some(mut job) = self.take(id) else { return };
        if !matches!(job.phase, Phase::Sending) {
            return self.put(id, job);
        }
        if job.ask != Ask::Message && UNAVAILABLE.contains(&head.status) {
            return self.failed(job, HttpError::ConnectionLost, now);
        }
        let kind = self.session.classify_response(&mut job.exchange, head);
        let is_own = job.errand.is_none() && matches!(job.kind, Kind::Message(_));
        let accepts = self.endpoint.is_some() && is_own && (200..=299).contains(&head.status);
        self.limit_accepting(&mut job, now);
        job.phase = match kind {
            // A server of 2024-11-05 responds on its stream.
            _ if accepts && job.ask == Ask::Message => {
                self.opened(&mut job);
                Phase::Rest { is_complete: true }
            }
            ResponseKind::Unauthorized(status) => {
                let challenges = (0..).map_while(|n| head.fields.nth("www-authenticate", n));
                let challenges = challenges.map(|value| String::from_utf8_lossy(value));
                Phase::Refused { status, challenge: challenges.collect::<Vec<_>>().join(", ") }
            }
            ResponseKind::EventStream => {
                job.has_streamed = true;
                Phase::Events
            }
            ResponseKind::SessionEnded if matches!(job.kind, Kind::Listen) && job.has_streamed => {
                Phase::SessionEnded
            }
            _ if job.ask != Ask::Message => Phase::Rest { is_complete: false },
            ResponseKind::Message => Phase::Message,
            ResponseKind::Accepted => {
                self.accepted(&mut job, is_own, now);
                Phase::Rest { is_complete: true }
            }
            _ if !is_own => Phase::Rest { is_complete: false },
            ResponseKind::SessionEnded => Phase::SessionEnded,
            ResponseKind::ErrorStatus(status) => {
                let location = head.fields.get("location").filter(|_| matches!(status, 307 | 308));
                Phase::Error { status, location: location.unwrap_or_default().to_owned() }
            }
            ResponseKind::Invalid(reason) => {
                return self.failed(job, HttpError::Invalid(reason.to_owned()), now);
            }
            _ => return self.failed(job, HttpError::Status(head.status), now),
        };
        let is_read = matches!(job.phase, Phase::Message | Phase::Events | Phase::Error { .. });
        if !is_read {
            job.limit = job.kind.limit();
        }
        self.put(id, job);
    }

    fn accepted(&mut self, job: &mut Job, is_own: bool, now: Instant) {
        self.opened(job);
        let Some(message) = job.message().filter(|_| is_own) else { return };
        if message.has_method("notifications/initialized") {
            self.listen(now);
        }
        if message.id().is_some() {
            let reason = "request accepted (HTTP 202) without a response";
            self.unusable(&job.exchange, reason);
        }
    }

    /// Allows the next message.
    fn opened(&mut self, job: &mut Job) {
        if job.errand.is_none() && mem::take(&mut job.opens) {
            self.is_opening = false;
        }
    }

    /// Takes a piece of the body of a response.
    pub fn body(&mut self, now: Instant, id: HttpExchangeId, piece: &[u8]) {
        let Some(mut job) = self.take(id) else { return };
        let limit = match job.phase {
            Phase::Events => return self.events(id, job, piece, now),
            Phase::Message => self.limits.max_message,
            Phase::Error { .. } => MAX_ERROR,
            _ => return self.put(id, job),
        };
        let room = limit.saturating_sub(job.body.len());
        job.body.extend_from_slice(piece.get(..room).unwrap_or(piece));
        if piece.len() <= room {
            self.put(id, job);
        } else if let Phase::Error { status, location } =
            mem::replace(&mut job.phase, Phase::Rest { is_complete: false })
        {
            self.rejected(job, status, &location, now);
        } else {
            let body = mem::take(&mut job.body);
            let (prefix, tail) = body.split_at_checked(body.len() / 2).unwrap_or_default();
            self.message(&mut job, Frame::Oversized { prefix, tail });
            // Neither its start nor its end contains an id.
            if !job.exchange.has_response() {
                self.unusable(&job.exchange, TOO_LONG);
            }
            self.complete(job, true, now);
        }
    }

    /// Takes a piece of an event stream.
    fn events(&mut self, id: HttpExchangeId, mut job: Box<Job>, mut piece: &[u8], now: Instant) {
        let mut events = mem::replace(&mut job.events, EventReader::with_limit(Vec::new(), 0));
        loop {
            while let Some(event) = events.next_event() {
                job.without_event = 0;
                if let Kind::HttpSse(waiting) = &mut job.kind
                    && let Some((initialize, error)) = waiting.take()
                {
                    if !self.begin_http_sse(initialize, error, &event, now) {
                        return self.over(job, now);
                    }
                } else if event.kind == EventKind::Message {
                    self.message(&mut job, event.data);
                }
            }
            if job.exchange.has_response() {
                self.opened(&mut job);
                (job.phase, job.limit) = (Phase::Rest { is_complete: true }, None);
                break;
            }
            if piece.is_empty() {
                break;
            }
            let spare = events.spare();
            let fed = piece.len().min(spare.len());
            let (first, rest) = piece.split_at_checked(fed).unwrap_or_default();
            copy(first, spare);
            events.commit(fed);
            piece = rest;
            job.without_event += fed;
            let is_opening = matches!(job.kind, Kind::HttpSse(Some(_)));
            let is_too_long = job.without_event / MAX_EVENT > self.limits.max_message;
            if is_too_long || is_opening && job.without_event > MAX_BEFORE_ENDPOINT {
                job.events = events;
                let error = HttpError::Invalid(NO_EVENT.to_owned());
                return self.interrupted(job, Some(error), now);
            }
        }
        job.events = events;
        self.put(id, job);
    }

    /// Sends `initialize` to the endpoint that the first event of a server of 2024-11-05 names.
    /// Returns whether it does so.
    fn begin_http_sse(
        &mut self,
        initialize: Box<Job>,
        error: HttpError,
        event: &Event<'_>,
        now: Instant,
    ) -> bool {
        let endpoint = match (event.kind, event.data) {
            (EventKind::Endpoint, Frame::Complete(uri)) if uri.len() <= MAX_ENDPOINT => {
                core::str::from_utf8(uri).ok()
            }
            _ => None,
        };
        let error = match endpoint.map(|uri| (uri, self.resolve(&self.target, uri))) {
            Some((_, Ok(endpoint))) => {
                self.endpoint = Some(endpoint);
                self.ask(initialize, Ask::Message);
                return true;
            }
            Some((uri, Err(error))) => {
                HttpError::Invalid(format!("invalid endpoint event `{uri}`: {error}"))
            }
            None => error,
        };
        self.fail(initialize, error, now);
        false
    }

    /// Handles the end of an exchange: of the body of its response or of the rest that is not
    /// needed, or the error of connecting, sending or reading.
    pub fn end(&mut self, now: Instant, id: HttpExchangeId, result: Result<(), HttpError>) {
        let Some(mut job) = self.take(id) else { return };
        match (mem::replace(&mut job.phase, Phase::Rest { is_complete: false }), result) {
            (Phase::Rest { is_complete }, _) => self.complete(job, is_complete, now),
            (Phase::SessionEnded, _) if job.tried.another_session => {
                self.fail(job, HttpError::Status(404), now);
            }
            (Phase::SessionEnded, _) => {
                job.tried.another_session = true;
                self.renew(job, now);
            }
            (Phase::Events, result) => self.interrupted(job, result.err(), now),
            (phase @ (Phase::Waiting(_) | Phase::Renewal), _) => {
                job.phase = phase;
                self.put(id, job);
            }
            // The status says enough although the body is cut off.
            (Phase::Error { status, location }, _) => self.rejected(job, status, &location, now),
            (_, Err(error)) => self.failed(job, error, now),
            (Phase::Sending, Ok(())) => self.failed(job, HttpError::ConnectionLost, now),
            (Phase::Refused { status, challenge }, Ok(())) => {
                self.failed(job, HttpError::Unauthorized { status, challenge }, now);
            }
            (Phase::Message, Ok(())) => {
                let body = mem::take(&mut job.body);
                self.message(&mut job, Frame::Complete(&body));
                let is_complete = job.exchange.has_response();
                self.complete(job, is_complete, now);
            }
        }
    }

    /// Records that there are other credentials: the request is sent again in the same exchange.
    pub fn authorized(&mut self, id: HttpExchangeId) {
        if let Some(job) = self.jobs.get_mut(&id)
            && matches!(job.phase, Phase::Refused { .. })
        {
            job.phase = Phase::Sending;
        }
    }

    // Each of these begins the next step of a job.

    /// Handles the end of an event stream.
    fn interrupted(&mut self, mut job: Box<Job>, error: Option<HttpError>, now: Instant) {
        if let Kind::HttpSse(waiting) = &mut job.kind {
            use HttpError::{ConnectionLost, Invalid};
            match (waiting.take(), error) {
                // The server offers no such stream: the first error counts.
                (Some((initialize, first)), None | Some(ConnectionLost | Invalid(_))) => {
                    self.fail(initialize, first, now);
                }
                (Some((initialize, _)), Some(error)) => self.fail(initialize, error, now),
                // Its end ends the connection.
                (None, error) => {
                    self.failed = error.filter(|error| !matches!(error, ConnectionLost));
                    self.has_ended = true;
                }
            }
            return self.over(job, now);
        }
        match job.exchange.end_of_body(job.events.last_event_id(), job.events.retry()) {
            NextStep::Done => self.complete(job, true, now),
            NextStep::Lost => self.complete(job, false, now),
            NextStep::Resume(wait) => self.wait(job, now.saturating_add(wait)),
        }
    }

    /// Goes on with a job at this time.
    fn wait(&mut self, mut job: Box<Job>, until: Instant) {
        job.phase = Phase::Waiting(until);
        self.last_id += 1;
        self.put(HttpExchangeId(self.last_id), job);
    }

    /// Sends a response to a request of the server again after a pause: the server waits for it,
    /// and it has no effect twice. Otherwise ends the job.
    fn try_again(&mut self, mut job: Box<Job>, error: HttpError, now: Instant) {
        let is_needed = self.closing == Closing::Open && job.session == self.sessions;
        let is_answer = job.errand.is_none() && job.is_answer();
        if !is_needed || !is_answer || job.tried.answers >= MAX_ANSWERS {
            return self.fail(job, error, now);
        }
        let pause = ANSWER_PAUSE * (1 << job.tried.answers);
        job.tried.answers += 1;
        job.limit = None;
        self.wait(job, now.saturating_add(pause));
    }

    /// Handles that there is no response, or no valid one.
    pub(super) fn failed(&mut self, job: Box<Job>, error: HttpError, now: Instant) {
        let is_lost = matches!(error, HttpError::NotConnected(_) | HttpError::ConnectionLost);
        if job.ask != Ask::Message && is_lost || matches!(job.kind, Kind::HttpSse(_)) {
            self.interrupted(job, Some(error), now);
        } else if is_lost {
            self.try_again(job, error, now);
        } else {
            self.fail(job, error, now);
        }
    }

    /// Ends a job: its message has no response.
    fn fail(&mut self, mut job: Box<Job>, error: HttpError, now: Instant) {
        let error = match job.errand.take_if(|errand| matches!(errand, Errand::Tools(_))) {
            Some(Errand::Tools(listing)) => listing.error,
            _ => error,
        };
        if let Some(id) = job.call() {
            let id = id.to_owned();
            // There is one for each call, so that it needs no room.
            self.inbox.push(Received::Failed { id, error });
        } else if job.message().is_some() {
            self.report(Diagnostic::Refused(error));
        }
        self.over(job, now);
    }

    /// Handles the end of a response, which has arrived, or will not.
    fn complete(&mut self, mut job: Box<Job>, is_complete: bool, now: Instant) {
        match (job.errand.take(), &job.kind) {
            (Some(Errand::Initialize(_)), _) => {
                let (true, [_, Some(post)]) = (is_complete, &self.opening) else {
                    return self.not_renewed(job, now);
                };
                job.errand = Some(Errand::Initialized(post.clone()));
                self.ask(job, Ask::Message);
            }
            (Some(Errand::Initialized(_)), _) => {
                if is_complete && self.session.revision() == self.revision {
                    self.renewed(job, now);
                } else {
                    self.not_renewed(job, now);
                }
            }
            (Some(Errand::Tools(mut listing)), _) => {
                let page = mem::take(&mut job.body);
                self.tools.take(&page, &mut self.steps);
                match if is_complete { listing.take(&page) } else { AfterPage::Failed } {
                    AfterPage::Next => {
                        job.errand = Some(Errand::Tools(listing));
                        self.ask(job, Ask::Message);
                    }
                    AfterPage::Complete => _ = self.ask(job, Ask::Message),
                    AfterPage::Failed => self.fail(job, listing.error, now),
                }
            }
            (None, Kind::HttpSse(_)) => self.interrupted(job, None, now),
            (None, Kind::Message(_)) if !is_complete => {
                self.fail(job, HttpError::ConnectionLost, now);
            }
            (None, _) => self.over(job, now),
        }
    }

    /// Handles an error status.
    fn rejected(&mut self, mut job: Box<Job>, status: u16, location: &str, now: Instant) {
        if !location.is_empty() && job.tried.redirects < MAX_REDIRECTS {
            job.tried.redirects += 1;
            // Another path of the same origin is taken from now on.
            match self.resolve(&job.target, location) {
                Ok(target) => {
                    self.endpoint.as_mut().unwrap_or(&mut self.target).clone_from(&target);
                    self.report(Diagnostic::Redirected(target));
                    self.ask(job, Ask::Message);
                }
                Err(error) => {
                    let reason = format!("redirected to `{location}`: {error}");
                    self.fail(job, HttpError::Invalid(reason), now);
                }
            }
            return;
        }
        let body = mem::take(&mut job.body);
        let error = self.session.json_rpc_error(&body);
        let failure =
            error.map_or(HttpError::Status(status), |error| HttpError::JsonRpc(error.into()));
        if self.endpoint.is_none()
            && self.session.may_support_http_sse(&job.exchange, status, error)
        {
            // The stream of such a server starts with the endpoint for messages.
            let kind = Kind::HttpSse(Some((job, failure)));
            self.start(kind, Exchange::http_sse(), Ask::Stream);
            return;
        }
        let code = error.and_then(|error| error.get("code").and_then(RawJson::as_i64));
        let Some(message) = job.message() else { return };
        if code == Some(HEADER_MISMATCH) && message.tool_name().is_some() && !job.tried.another_list
        {
            // The list says which arguments are mirrored in header fields.
            let listing = Listing::new(&message, failure);
            job.tried.another_list = true;
            job.errand = Some(Errand::Tools(Box::new(listing)));
            self.ask(job, Ask::Message);
            return;
        }
        // The server rejects the version of the message, but lists it as supported: retried once.
        let supported = error.and_then(|error| error.get("data")?.get("supported"));
        let is_mutual = supported.zip(message.protocol_version()).is_some_and(|(all, ours)| {
            all.elements().any(|version| version.as_string().is_some_and(|version| version == ours))
        });
        if code == Some(UNSUPPORTED_VERSION) && is_mutual && !job.tried.same_version {
            job.tried.same_version = true;
            self.ask(job, Ask::Message);
            return;
        }
        if UNAVAILABLE.contains(&status) {
            return self.try_again(job, failure, now);
        }
        self.fail(job, failure, now);
    }

    // Another session, after the server has ended one (2025-03-26 to 2025-11-25, basic/transports).

    /// Opens another session, unless that was done since the message was sent.
    fn renew(&mut self, mut job: Box<Job>, now: Instant) {
        if self.sessions != job.session {
            self.go_on(job, now);
        } else if self.is_renewing {
            job.phase = Phase::Renewal;
            job.limit = None;
            if self.logins > 0 {
                let Job { held, kind, .. } = &mut *job;
                hold(held, kind.call(), true, now, &mut self.inbox);
            }
            self.last_id += 1;
            self.put(HttpExchangeId(self.last_id), job);
        } else if let [Some(initialize), Some(_)] = &self.opening {
            job.errand = Some(Errand::Initialize(initialize.clone()));
            (self.is_renewing, self.is_opening) = (true, true);
            self.ended = Some(mem::take(&mut self.session));
            self.ask(job, Ask::Message);
        } else {
            self.fail(job, ended(), now);
        }
    }

    fn renewed(&mut self, mut job: Box<Job>, now: Instant) {
        self.sessions += 1;
        self.inbox.push(Received::SessionRenewed);
        self.ended = None;
        self.listen(now);
        self.report(Diagnostic::SessionRenewed);
        job.errand = None;
        self.go_on(job, now);
        self.end_of_renewal(now);
    }

    /// Goes on in the next session, which has a stream of its own.
    fn go_on(&mut self, job: Box<Job>, now: Instant) {
        if matches!(job.kind, Kind::Listen) {
            self.over(job, now);
        } else {
            self.ask(job, Ask::Message);
        }
    }

    fn not_renewed(&mut self, job: Box<Job>, now: Instant) {
        self.fail(job, ended(), now);
        self.end_of_renewal(now);
    }

    /// Lets the messages go on that wait for a session; if there is none, the next one tries.
    pub(super) fn end_of_renewal(&mut self, now: Instant) {
        (self.is_renewing, self.is_opening) = (false, false);
        // Its id gets 404 again. Without an id the server would not say that a session is needed.
        if let Some(ended) = self.ended.take()
            && self.closing == Closing::Open
        {
            self.session = ended;
        }
        let waiting = self.jobs.iter().filter(|(_, job)| matches!(job.phase, Phase::Renewal));
        for id in waiting.map(|(id, _)| *id).collect::<Vec<_>>() {
            if let Some(mut job) = self.take(id) {
                hold(&mut job.held, job.kind.call(), false, now, &mut self.inbox);
                self.renew(job, now);
            }
        }
    }

    // Messages.

    /// Handles a message.
    fn message(&mut self, job: &mut Job, data: Frame<'_>) {
        let is_filtered = job.exchange.is_modern() && job.lists_tools;
        let had_response = job.exchange.has_response();
        self.session.observe(&mut job.exchange, data);
        let has_response = job.exchange.has_response();
        let is_response = has_response && !had_response;
        match data {
            Frame::Complete(message) if job.errand.is_some() => message.clone_into(&mut job.body),
            Frame::Complete(message)
                if job.session != self.sessions && !is_response && may_be_request(message) =>
            {
                // A request of the new session may have the same id.
            }
            Frame::Complete(message) => {
                let is_list = is_filtered && has_response;
                let list = if is_list { self.tools.take(message, &mut self.steps) } else { None };
                let message = list.unwrap_or_else(|| message.to_vec());
                self.inbox.push(Received::Message(message));
            }
            Frame::Oversized { .. } if is_response => self.unusable(&job.exchange, TOO_LONG),
            Frame::Oversized { .. } => self.report(Diagnostic::TooLong),
        }
    }

    /// Reports that the response is invalid.
    fn unusable(&mut self, exchange: &Exchange, reason: &str) {
        if let Some(id) = exchange.request_id() {
            let (id, error) = (id.to_owned(), HttpError::Invalid(reason.to_owned()));
            self.inbox.push(Received::Failed { id, error });
        }
    }
}

fn may_be_request(message: &[u8]) -> bool {
    OutgoingMessage::parse(message).is_none_or(|message| message.id().is_some())
}

fn ended() -> HttpError {
    HttpError::Invalid(
        "session ended by the server, and a new one differs in revision or capabilities".to_owned(),
    )
}

/// Maximum length of an error response, in bytes.
const MAX_ERROR: usize = 64 << 10;
const MAX_REDIRECTS: u8 = 4;
/// Number of times that a response to a request of the server is sent again, and the pause before
/// the first. Each is twice as long as the one before.
const MAX_ANSWERS: u8 = 5;
const ANSWER_PAUSE: Duration = Duration::from_millis(250);
/// Statuses of a server, or of a proxy before it, that may be able to do it later.
const UNAVAILABLE: RangeInclusive<u16> = 502..=504;
/// Maximum length of a stream without an event, as a multiple of the longest message. Comments and
/// oversized data count.
const MAX_EVENT: usize = 16;
/// Maximum length of the URI of an endpoint, in bytes.
const MAX_ENDPOINT: usize = 8 << 10;
/// Maximum number of bytes before the endpoint event.
const MAX_BEFORE_ENDPOINT: usize = 64 << 10;
/// Error code of 2026-07-28, basic/transports/streamable-http.
const HEADER_MISMATCH: i64 = -32020;
/// Error code of 2026-07-28, basic/versioning.
const UNSUPPORTED_VERSION: i64 = -32022;
const NO_EVENT: &str = "no event within 16 times HttpLimits::max_message";
const LATE: &str = "the session of the request has ended";
const TOO_LONG: &str = "response is longer than HttpLimits::max_message";
const ARGUMENT: &str = "argument with x-mcp-header is neither a string nor a boolean nor an integer within ±(2^53 - 1)";
