//! From the head of a request to its whole body: checks, authorization, room for the body.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::bodies::Room;
use super::exchange::{Exchange, OwnedHead, Stage};
use super::principal::{Denied, Holder, Principal};
use super::slab::Key;
use super::{ExchangeKey, Site, Task, set_timer};
use crate::http::server::{BodyKind, OutgoingResponse, Rejection, check_content_type};
use crate::http::{RequestHead, SingleValue};
use crate::rpc::ErrorCode;
use crate::time::Instant;

impl<O> Site<'_, O> {
    /// Begins an exchange with the head of its request. Never fails: a request that is not accepted
    /// has a response at once.
    ///
    /// Feed the body while the site [wants](Self::wants_body) it, then call
    /// [`end_of_body`](Self::end_of_body); also without a body.
    pub fn open(&mut self, now: Instant, head: OwnedHead) -> ExchangeKey {
        self.open_with(now, head, None)
    }

    /// As [`open`](Self::open), for a request that is [authorized](Self::authorized) if it is
    /// accepted.
    pub fn open_authorized(
        &mut self,
        now: Instant,
        head: OwnedHead,
        principal: Arc<Principal>,
    ) -> ExchangeKey {
        self.open_with(now, head, Some(principal))
    }

    fn open_with(
        &mut self,
        now: Instant,
        head: OwnedHead,
        principal: Option<Arc<Principal>>,
    ) -> ExchangeKey {
        let holder = Holder::of(principal.as_ref(), head.peer_address());
        let mut exchange = Exchange::new(head, now);
        exchange.expires = principal.as_ref().and_then(|principal| principal.expires);
        exchange.principal = principal;
        let key = self.exchanges.insert(exchange);
        if !self.enter(key, holder) {
            self.reject(key, &Rejection::service_unavailable());
        } else if let Err(rejected) = self.admit(key, now) {
            self.reject(key, &rejected);
        }
        ExchangeKey(key)
    }

    /// Gives an exchange a place of a client, in exchange for its own. Returns whether there is
    /// one.
    fn enter(&mut self, key: Key, holder: Option<Holder>) -> bool {
        let Some(exchange) = self.exchanges.get_mut(key) else { return false };
        if core::mem::take(&mut exchange.has_place) {
            self.places.give_back(1, exchange.holder.as_ref());
        }
        let limit = self.options.limit(self.options.max_exchanges, holder.as_ref());
        exchange.has_place = self.places.take(1, holder.as_ref(), limit).is_ok();
        exchange.holder = holder;
        exchange.has_place
    }

    /// Gives an exchange a place among the event streams. Returns whether there is one.
    pub(super) fn enter_streams(&mut self, key: Key) -> bool {
        let Some(exchange) = self.exchanges.get_mut(key) else { return false };
        let limit = self.options.limit(self.options.max_streams, exchange.holder.as_ref());
        exchange.is_stream = self.stream_places.take(1, exchange.holder.as_ref(), limit).is_ok();
        exchange.is_stream
    }

    /// Gives the place of an event stream back.
    pub(super) fn leave_streams(&mut self, key: Key) {
        if let Some(exchange) = self.exchanges.get_mut(key)
            && core::mem::take(&mut exchange.is_stream)
        {
            self.stream_places.give_back(1, exchange.holder.as_ref());
        }
    }

    /// Gives the places of an exchange back.
    pub(super) fn give_places_back(&mut self, exchange: &Exchange) {
        let holder = exchange.holder.as_ref();
        if exchange.has_place {
            self.places.give_back(1, holder);
        }
        if exchange.is_stream {
            self.stream_places.give_back(1, holder);
        }
    }

    /// Checks what needs neither credentials nor a body.
    fn admit(&mut self, key: Key, now: Instant) -> Result<(), Rejection<'static>> {
        if self.serve_document(key) {
            return Ok(());
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return Ok(()) };
        let head = exchange.head.as_head();
        self.options.host_policy.check(&head)?;
        let fields = &mut exchange.fields;
        let origin = match head.fields.single("origin") {
            // The origin was checked.
            SingleValue::Value(origin) => Some(origin),
            _ => None,
        };
        if let Some(origin) = origin {
            fields.push(("access-control-allow-origin", origin.to_owned()));
            let exposed = "mcp-session-id, www-authenticate, dpop-nonce";
            fields.push(("access-control-expose-headers", exposed.to_owned()));
            fields.push(("vary", "origin".to_owned()));
        }
        let is_served = [self.options.path, self.options.sse_path]
            .into_iter()
            .flatten()
            .any(|path| path == head.path());
        if self.options.path.is_some() && !is_served {
            return Err(Rejection::new(404, ErrorCode::InvalidRequest, "Not found"));
        }
        if head.method == "OPTIONS" {
            // A preflight: browsers send it without credentials.
            let allow = self.endpoint.allowed_methods();
            fields.push(("allow", allow.to_owned()));
            if origin.is_some() {
                allow_cross_origin(&head, allow, fields);
            }
            self.reply(key, OutgoingResponse::empty(204), Vec::new());
        } else if self.options.authorizes && exchange.principal.is_none() {
            self.queue(Task::Exchange(key));
        } else {
            self.read_body(key, now)?;
        }
        Ok(())
    }

    /// Serves a document to anyone, pages of any origin included. Returns whether it is one.
    fn serve_document(&mut self, key: Key) -> bool {
        let Some(exchange) = self.exchanges.get_mut(key) else { return false };
        let head = exchange.head.as_head();
        let found = self.documents.iter().find(|(path, _)| path == head.path());
        let Some((_, json)) = found else { return false };
        let fields = &mut exchange.fields;
        let (head, body) = match head.method {
            "GET" | "HEAD" => {
                (OutgoingResponse { status: 200, body: BodyKind::Json }, json.clone())
            }
            "OPTIONS" => {
                allow_cross_origin(&head, "GET, HEAD, OPTIONS", fields);
                (OutgoingResponse::empty(204), Vec::new())
            }
            _ => return false,
        };
        fields.push(("access-control-allow-origin", "*".to_owned()));
        self.reply(key, head, body);
        true
    }

    /// Returns whether a request waits to be [authorized](Self::authorized).
    #[must_use]
    pub fn awaits_authorization(&self, exchange: ExchangeKey) -> bool {
        let exchange = self.exchanges.get(exchange.0);
        exchange
            .is_some_and(|found| matches!(found.stage, Stage::Unauthorized | Stage::Authorizing))
    }

    /// Adds a field to the response of a request that waits to be [authorized](Self::authorized),
    /// with its name in lower case: for example `dpop-nonce` (RFC 9449, 8.2). The value must not
    /// contain line breaks. Nothing happens if the exchange does not wait for it.
    pub fn add_field(
        &mut self,
        exchange: ExchangeKey,
        name: &'static str,
        value: impl Into<String>,
    ) {
        if self.awaits_authorization(exchange)
            && let Some(exchange) = self.exchanges.get_mut(exchange.0)
        {
            exchange.fields.push((name, value.into()));
        }
    }

    /// Reports the result of [`SiteStep::Authorize`](super::SiteStep::Authorize), also before that
    /// step. Nothing happens if the exchange does not wait for it.
    pub fn authorized(
        &mut self,
        now: Instant,
        exchange: ExchangeKey,
        result: Result<Arc<Principal>, Denied>,
    ) {
        if !self.awaits_authorization(exchange) {
            return;
        }
        let key = exchange.0;
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        match result {
            Ok(principal) => {
                exchange.expires = principal.expires;
                let holder = Holder::Principal(Arc::clone(&principal));
                exchange.principal = Some(principal);
                let is_whole = exchange.is_whole;
                if !self.enter(key, Some(holder)) {
                    return self.reject(key, &Rejection::service_unavailable());
                }
                match self.read_body(key, now) {
                    Err(rejected) => self.reject(key, &rejected),
                    Ok(()) if is_whole => self.end_of_body(now, ExchangeKey(key)),
                    Ok(()) => {}
                }
            }
            Err(denied) => self.deny(key, denied),
        }
    }

    pub(super) fn deny(&mut self, key: Key, denied: Denied) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.fields.extend(denied.fields);
        let (code, message) = match denied.status {
            403 => (ErrorCode::InvalidRequest, "Insufficient scope"),
            500.. => (ErrorCode::InternalError, "The token cannot be checked"),
            _ => (ErrorCode::InvalidRequest, "Authentication required"),
        };
        self.reject(key, &Rejection::new(denied.status, code, message));
    }

    /// Checks the rest of the head, and begins to read the body.
    fn read_body(&mut self, key: Key, now: Instant) -> Result<(), Rejection<'static>> {
        let Some(exchange) = self.exchanges.get_mut(key) else { return Ok(()) };
        let head = exchange.head.as_head();
        let mut method = None;
        if self.options.sse_path != Some(head.path()) {
            method = Some(self.endpoint.check_method(&head)?);
        } else if head.method == "POST" {
            check_content_type(&head)?;
        } else if head.method != "GET" {
            return Err(Rejection::new(405, ErrorCode::InvalidRequest, "Method not allowed"));
        }
        exchange.stage = Stage::Body(method);
        exchange.silent_until = now.saturating_add(self.options.read_timeout);
        let due = self.closing.map_or(exchange.silent_until, |at| at.min(exchange.silent_until));
        set_timer(&mut self.timers, Task::Exchange(key), &mut exchange.due, Some(due));
        self.ready(key);
        Ok(())
    }

    /// Returns whether more of the body can be fed. If not, and there is no response, the request
    /// waits for authorization or for room.
    #[must_use]
    pub fn wants_body(&self, exchange: ExchangeKey) -> bool {
        self.exchanges
            .get(exchange.0)
            .is_some_and(|exchange| matches!(exchange.stage, Stage::Body(_)) && !exchange.waits)
    }

    /// Feeds a piece of the body. Returns how many bytes were taken: all of them, also if they are
    /// not wanted any more, or none if there is no room. Then feed it again after
    /// [`SiteStep::Ready`](super::SiteStep::Ready).
    pub fn feed_body(&mut self, exchange: ExchangeKey, piece: &[u8]) -> usize {
        let key = exchange.0;
        let Some(exchange) = self.exchanges.get_mut(key) else { return piece.len() };
        match exchange.stage {
            Stage::Body(_) => {}
            Stage::Unauthorized | Stage::Authorizing => return 0,
            _ => return piece.len(),
        }
        let len = exchange.body.len().saturating_add(piece.len());
        if len > self.bodies.max_body() {
            self.reject(key, &Rejection::content_too_large());
            return piece.len();
        }
        let holder = exchange.holder.as_ref();
        let share = self.options.limit(self.options.body_budget, holder).share;
        let (counted, next) = match self.bodies.take(key, exchange.counted, len, (holder, share)) {
            Room::Taken(counted, next) => (counted, next),
            Room::Wait => {
                exchange.waits = true;
                return 0;
            }
            Room::Refused => {
                self.reject(key, &Rejection::service_unavailable());
                return piece.len();
            }
        };
        (exchange.waits, exchange.counted) = (false, counted);
        exchange.body.extend_from_slice(piece);
        self.wake_body(next);
        piece.len()
    }

    /// Frees a body that is handled, or of no use any more.
    pub(super) fn free_body(&mut self, key: Key) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.body = Vec::new();
        let counted = core::mem::take(&mut exchange.counted);
        let next = self.bodies.release(key, counted, exchange.holder.as_ref());
        self.wake_body(next);
    }

    pub(super) fn wake_body(&mut self, next: Option<Key>) {
        let Some(next) = next else { return };
        if let Some(exchange) = self.exchanges.get_mut(next) {
            exchange.waits = false;
        }
        self.ready(next);
    }

    /// Rejects a request whose body is not complete in time, or finds no room, also because the
    /// site is shut down.
    pub(super) fn time_out(&mut self, key: Key) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        let is_slow = matches!(exchange.stage, Stage::Body(_)) && !exchange.waits;
        let rejection = if is_slow && self.closing.is_none() {
            Rejection::new(408, ErrorCode::InvalidRequest, "The request is not complete in time")
        } else {
            Rejection::service_unavailable()
        };
        self.reject(key, &rejection);
    }
}

/// Answers the question of a browser which methods and header fields it may send.
fn allow_cross_origin(
    head: &RequestHead<'_>,
    methods: &str,
    fields: &mut Vec<(&'static str, String)>,
) {
    fields.push(("access-control-allow-methods", methods.to_owned()));
    if let SingleValue::Value(wanted) = head.fields.single("access-control-request-headers") {
        fields.push(("access-control-allow-headers", wanted.to_owned()));
    }
    fields.push(("access-control-max-age", "86400".to_owned()));
}
