//! From a whole request to the server that handles it, or to a response without one.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use super::exchange::{Exchange, Stage};
use super::instance::{Instance, Kind, Session, response_buffer};
use super::operation::Unpermitted;
use super::output::control;
use super::principal::{Denied, Principal};
use super::slab::Key;
use super::stream::Stream;
use super::{ExchangeKey, Site, Task, set_timer};
use crate::handle::ExchangeId;
use crate::http::server::{EventId, OutgoingResponse, Rejection, Route, SessionId};
use crate::http::sse::ControlEvent;
use crate::lifecycle::Revision;
use crate::message::Messages;
use crate::rx::Frame;
use crate::time::Instant;
use crate::tx::TxBuffer;

/// A [`Route`] that borrows nothing.
enum Decision {
    Alone(Option<Revision>),
    NewSession,
    Post(Key),
    Get(Key, Option<EventId>),
    Delete(Key),
    /// POST to a stream of HTTP+SSE.
    Message(Key),
    /// GET of HTTP+SSE.
    NewStream,
    Reply(OutgoingResponse, Vec<u8>),
}

impl<O> Site<'_, O> {
    /// Ends the body: the request is handled. Call it when the site takes a body
    /// ([`wants_body`](Self::wants_body)), or without a body at any time; otherwise nothing
    /// happens. If the request waits for authorization, it is handled after that.
    pub fn end_of_body(&mut self, now: Instant, exchange: ExchangeKey) {
        let key = exchange.0;
        if let Some(Exchange {
            stage: Stage::Unauthorized | Stage::Authorizing, is_whole, ..
        }) = self.exchanges.get_mut(key)
        {
            *is_whole = true;
        }
        if self.options.checks_operations && self.await_permission(key) {
            return;
        }
        self.handle(now, key);
    }

    /// Lets a whole body wait to be permitted. Returns whether it does.
    fn await_permission(&mut self, key: Key) -> bool {
        let Some(exchange) = self.exchanges.get_mut(key) else { return false };
        let Stage::Body(method) = exchange.stage else { return false };
        if exchange.waits || exchange.head.as_head().method != "POST" {
            return false;
        }
        exchange.stage = Stage::Unpermitted(method);
        self.queue(Task::Exchange(key));
        true
    }

    /// Hands back [`SiteStep::Permit`](super::SiteStep::Permit) with its result. Nothing happens if
    /// the exchange has ended meanwhile.
    pub fn permitted(
        &mut self,
        now: Instant,
        unpermitted: Unpermitted,
        result: Result<(), Denied>,
    ) {
        let key = unpermitted.exchange.0;
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let Stage::Permitting(method) = exchange.stage else { return };
        match result {
            Ok(()) => {
                exchange.stage = Stage::Body(method);
                exchange.body = unpermitted.body;
                self.handle(now, key);
            }
            Err(denied) => self.deny(key, denied),
        }
    }

    /// Handles a request with its whole body.
    fn handle(&mut self, now: Instant, key: Key) {
        let Some(decision) = self.decide(key) else { return };
        let has_room = match decision {
            Decision::NewSession => self.make_room(key),
            Decision::NewStream => self.enter_streams(key) && self.make_room(key),
            Decision::Alone(_) => self.closing.is_none(),
            _ => true,
        };
        if !has_room {
            return self.reject(key, &Rejection::service_unavailable());
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.silent_until = now.saturating_add(self.options.keep_alive);
        let peer = exchange.head.peer_address();
        let principal = match decision {
            Decision::Alone(_) | Decision::NewSession | Decision::NewStream => {
                exchange.principal.take()
            }
            _ => None,
        };
        match decision {
            Decision::Reply(head, body) => self.reply(key, head, body),
            Decision::Alone(revision) => {
                let own = Stream::new(response_buffer(&self.options), 0, Some(key));
                let mut instance = Instance::new(&self.options, Kind::Alone, own, principal);
                if let Some(revision) = revision {
                    instance.state.server(self.config).start_legacy(revision);
                }
                let owner = self.instances.insert(instance);
                self.take_messages(key, owner, Some(ExchangeId::new(1)));
            }
            Decision::NewSession => {
                let mut instance = Instance::new_session(&self.options, now, principal);
                instance.peer = peer;
                let owner = self.instances.insert(instance);
                self.post(key, owner);
            }
            Decision::Post(owner) => self.post(key, owner),
            Decision::Get(owner, after) => self.get(key, owner, after, now),
            Decision::Delete(owner) => {
                self.end_instance(owner);
                self.reply(key, OutgoingResponse::empty(204), Vec::new());
            }
            Decision::Message(owner) => {
                exchange.silent_until = now.saturating_add(self.options.read_timeout);
                let due = Some(exchange.silent_until);
                set_timer(&mut self.timers, Task::Exchange(key), &mut exchange.due, due);
                self.take_messages(key, owner, None);
            }
            Decision::NewStream => {
                let path = exchange.head.as_head().path().to_owned();
                let id = self.new_id();
                let tx = response_buffer(&self.options).event_stream_only();
                let own = Stream::new(tx, 0, Some(key));
                let mut instance = Instance::new(&self.options, Kind::Sse(id), own, principal);
                instance.peer = peer;
                let owner = self.instances.insert(instance);
                self.by_id.insert(first_digits(id.as_str()), owner);
                if let Some(exchange) = self.exchanges.get_mut(key) {
                    let uri = format!("{path}?{PARAMETER}{}", id.as_str());
                    exchange.control = control(ControlEvent::Endpoint(&uri));
                    exchange.stage = Stage::Stream(owner, ExchangeId::SESSION);
                }
                self.queue(Task::Exchange(key));
                self.queue(Task::Instance(owner));
                self.ready(key);
            }
        }
    }

    fn post(&mut self, key: Key, owner: Key) {
        let Some(instance) = self.instances.get_mut(owner) else { return };
        let id = instance.open_stream(self.config, &self.options, key);
        self.take_messages(key, owner, Some(id));
    }

    fn take_messages(&mut self, key: Key, owner: Key, id: Option<ExchangeId>) {
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.stage = Stage::Messages(owner, id);
        }
        self.queue(Task::Exchange(key));
        self.queue(Task::Instance(owner));
    }

    fn get(&mut self, key: Key, owner: Key, after: Option<EventId>, now: Instant) {
        let Some((reader, before)) =
            self.instances.get_mut(owner).and_then(|instance| instance.read(key, after))
        else {
            return;
        };
        if let Some(before) = before {
            if let Some(Exchange { stage: Stage::Replay(_, reader), .. }) =
                self.exchanges.get_mut(before)
            {
                reader.is_ending = true;
            }
            self.leave_streams(before);
            self.ready(before);
        }
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.stage = Stage::Replay(owner, reader);
        }
        if !self.enter_streams(key) {
            self.leave(key, now);
            return self.reject(key, &Rejection::service_unavailable());
        }
        self.queue(Task::Instance(owner));
        self.keep_alive(key, now);
        self.ready(key);
    }

    /// Decides where a request goes.
    fn decide(&mut self, key: Key) -> Option<Decision> {
        let exchange = self.exchanges.get(key)?;
        let Stage::Body(method) = exchange.stage else { return None };
        if exchange.waits {
            return None;
        }
        let (head, principal) = (exchange.head.as_head(), exchange.principal.as_deref());
        let Some(method) = method else {
            let query = head.query().unwrap_or_default();
            let id = query.split('&').find_map(|pair| pair.strip_prefix(PARAMETER));
            let found = id.and_then(|id| self.find(id, principal, true));
            return Some(match (head.method, found) {
                ("POST", Some(owner)) => Decision::Message(owner),
                ("POST", None) => rejected(&Rejection::session_not_found()),
                _ => Decision::NewStream,
            });
        };
        let body = Frame::Complete(&exchange.body);
        let messages = Messages::over_http(body, &head, ExchangeId::new(1));
        let found = |id| self.find(id, principal, false);
        let decision = match self.endpoint.route_checked(method, &head, &messages) {
            Route::Stateless => Decision::Alone(None),
            Route::StatelessRevision(revision) => Decision::Alone(Some(revision)),
            Route::NewSession => Decision::NewSession,
            Route::Session(id) => match found(id) {
                Some(owner) if self.closing.is_none() || !messages.is_request_next() => {
                    Decision::Post(owner)
                }
                Some(_) => rejected(&Rejection::service_unavailable()),
                None => rejected(&Rejection::session_not_found()),
            },
            Route::Stream { session, last_event_id } => match found(session) {
                Some(owner) => Decision::Get(owner, last_event_id),
                None => rejected(&Rejection::session_not_found()),
            },
            Route::DeleteSession(id) => match found(id) {
                Some(owner) => Decision::Delete(owner),
                None => rejected(&Rejection::session_not_found()),
            },
            Route::Rejected(rejection) => rejected(&rejection),
            // Answered before the body was read.
            Route::Options => Decision::Reply(OutgoingResponse::empty(204), Vec::new()),
        };
        Some(decision)
    }

    /// Finds a session, or a stream of HTTP+SSE, of a principal.
    fn find(&self, id: &str, principal: Option<&Principal>, is_sse: bool) -> Option<Key> {
        let key = *self.by_id.get(&first_digits(id))?;
        let instance = self.instances.get(key)?;
        let own = match &instance.kind {
            Kind::Sse(own) if is_sse => *own,
            Kind::Session(session) if !is_sse => session.id?,
            _ => return None,
        };
        let is_own = Principal::is_same(instance.principal.as_deref(), principal);
        (own.is(id) && is_own).then_some(key)
    }

    /// Makes room for a new session, or a stream of HTTP+SSE, of the principal of a request, or of
    /// its address. Returns whether there is room.
    fn make_room(&mut self, key: Key) -> bool {
        if self.closing.is_some() {
            return false;
        }
        let Some(exchange) = self.exchanges.get(key) else { return false };
        let (principal, peer) = (exchange.principal.as_deref(), exchange.head.peer_address());
        let most = match principal {
            Some(_) => self.options.max_sessions_per_principal,
            None => self.options.limit(self.options.max_sessions, exchange.holder.as_ref()).share,
        };
        let (mut all, mut own, mut oldest, mut oldest_own) = (0, 0, None, None);
        for (key, instance) in self.instances.iter_mut() {
            if matches!(instance.kind, Kind::Alone) {
                continue;
            }
            let is_own = Principal::is_same(instance.principal.as_deref(), principal)
                && (principal.is_some() || instance.peer == peer);
            all += 1;
            own += usize::from(is_own);
            let Kind::Session(Session { id: Some(_), number, .. }) = &instance.kind else {
                continue;
            };
            let is_older = |than: Option<(u64, Key)>| than.is_none_or(|(than, _)| *number < than);
            if !instance.is_initialized {
                oldest = Some((*number, key)).filter(|_| is_older(oldest)).or(oldest);
                let new = Some((*number, key)).filter(|_| is_own && is_older(oldest_own));
                oldest_own = new.or(oldest_own);
            }
        }
        let replaced = if own >= most {
            oldest_own
        } else if all >= self.options.max_sessions {
            oldest
        } else {
            return true;
        };
        let Some((_, replaced)) = replaced else { return false };
        self.end_instance(replaced);
        true
    }

    /// After all messages of a body have been handled: frees the body, and opens the session that
    /// they have begun.
    pub(super) fn settle(&mut self, key: Key) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let Stage::Stream(owner, _) = exchange.stage else { return };
        if exchange.body.is_empty() {
            return;
        }
        self.free_body(key);
        let Some(Instance { kind: Kind::Session(session), state, .. }) =
            self.instances.get_mut(owner)
        else {
            return;
        };
        if session.id.is_some() || state.server(self.config).legacy_revision().is_none() {
            return;
        }
        let id = self.new_id();
        self.opened += 1;
        if let Some(Instance { kind: Kind::Session(session), .. }) = self.instances.get_mut(owner) {
            (session.id, session.number) = (Some(id), self.opened);
        }
        self.by_id.insert(first_digits(id.as_str()), owner);
        if let Some(exchange) = self.exchanges.get_mut(key) {
            exchange.fields.push(("mcp-session-id", id.as_str().to_owned()));
        }
        self.ready(key);
    }

    pub(super) fn reject(&mut self, key: Key, rejection: &Rejection<'_>) {
        let (head, body) = rendered(rejection);
        self.reply(key, head, body);
    }

    pub(super) fn reply(&mut self, key: Key, head: OutgoingResponse, body: Vec<u8>) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        match head.status {
            405 => {
                let is_sse = self.options.sse_path == Some(exchange.head.as_head().path());
                let allow =
                    if is_sse { "GET, POST, OPTIONS" } else { self.endpoint.allowed_methods() };
                exchange.fields.push(("allow", allow.to_owned()));
            }
            503 => exchange.fields.push(("retry-after", RETRY_AFTER.to_owned())),
            _ => {}
        }
        exchange.stage = Stage::Reply(head, body);
        self.free_body(key);
        self.ready(key);
    }

    /// Returns a new id.
    fn new_id(&mut self) -> SessionId {
        loop {
            let id = SessionId::from_random((self.random)());
            if !self.by_id.contains_key(&first_digits(id.as_str())) {
                return id;
            }
        }
    }
}

fn rejected(rejection: &Rejection<'_>) -> Decision {
    let (head, body) = rendered(rejection);
    Decision::Reply(head, body)
}

fn rendered(rejection: &Rejection<'_>) -> (OutgoingResponse, Vec<u8>) {
    let mut tx = TxBuffer::for_http_response(Vec::new(), 4096);
    match rejection.write(&mut tx) {
        Ok(()) => (
            tx.http_response().unwrap_or(OutgoingResponse::empty(rejection.status())),
            tx.pending().to_vec(),
        ),
        Err(_) => (OutgoingResponse::empty(rejection.status()), Vec::new()),
    }
}

/// Returns the number that the first eight digits of an id are.
pub(super) fn first_digits(id: &str) -> u32 {
    id.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// The parameter of the URI for messages of HTTP+SSE.
const PARAMETER: &str = "session=";
/// `Retry-After` of requests that were rejected for lack of room, in seconds.
const RETRY_AFTER: &str = "5";
