//! One request and its response, as a connection sees it, and the way to its whole body.

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use mcp_sansio::http::Principal;
use mcp_sansio::http::server::{
    BodyKind, HttpMethod, OutgoingResponse, Refusal, check_content_type,
};
use mcp_sansio::http::{Fields, RequestHead, SingleValue};
use mcp_sansio::internal::BodyPosition;
use mcp_sansio::{ErrorCode, ExchangeId, Instant};

use super::bus::Relay;
use super::instance::Reader;
use super::principal::{Denied, Holder};
use super::schedule::{SlabKey, Work};
use super::{ExchangeKey, Site, SiteCounts};
use crate::places::{NoPlace, PeerAddress, PlaceLimit};

/// The head of an HTTP request, shared by its exchange and its handler.
#[derive(Clone)]
#[must_use]
pub struct OwnedHead {
    shared: Arc<Head<dyn Fields + Send + Sync>>,
    peer: Option<PeerAddress>,
}

struct Head<F: ?Sized> {
    /// The method, and the target behind it.
    text: String,
    method: usize,
    /// The number of the site that has found the method, the target and the fields in order, or 0.
    accepted_by: AtomicUsize,
    fields: F,
}

impl<F> Head<F> {
    fn new(method: &str, target: &str, fields: F) -> Self {
        let text = [method, target].concat();
        Self { text, method: method.len(), accepted_by: AtomicUsize::new(0), fields }
    }
}

impl OwnedHead {
    /// Copies the method and the target.
    pub fn new(method: &str, target: &str, fields: impl Fields + Send + 'static) -> Self {
        Self { shared: Arc::new(Head::new(method, target, fields)), peer: None }
    }

    /// Sets the address from which the request comes: that of the connection, or the one that a
    /// trusted proxy reports. Default: unknown, which has no
    /// [share](super::SiteOptions::address_share).
    pub fn peer(self, address: impl Into<PeerAddress>) -> Self {
        Self { peer: Some(address.into()), ..self }
    }

    /// Returns the address from which the request comes.
    pub fn peer_address(&self) -> Option<PeerAddress> {
        self.peer
    }

    /// Returns the head.
    pub fn as_head(&self) -> RequestHead<'_> {
        let Head { text, method, fields, .. } = &*self.shared;
        let (method, target) = text.split_at_checked(*method).unwrap_or_default();
        RequestHead::new(method, target, fields)
    }

    fn is_accepted_by(&self, site: usize) -> bool {
        self.shared.accepted_by.load(Ordering::Relaxed) == site
    }
}

/// The memory of the heads of a connection, whose requests come one after the other. A head that
/// comes again is not read again.
pub struct HeadMemory<F> {
    shared: Arc<Head<F>>,
    peer: Option<PeerAddress>,
}

impl<F: Fields + Send + Default + 'static> HeadMemory<F> {
    /// Creates the memory of a connection from this [address](OwnedHead::peer).
    pub fn new(peer: Option<PeerAddress>) -> Self {
        Self { shared: Arc::new(Head::new("", "", F::default())), peer }
    }

    /// Returns the last head if the next one is the same: `again` compares its fields. It may
    /// change them only where no site looks, which is in `Content-Length`. `None` as long as
    /// somebody has the last head.
    pub fn again<R>(&mut self, again: impl FnOnce(&mut F) -> Option<R>) -> Option<(OwnedHead, R)> {
        let result = again(&mut Arc::get_mut(&mut self.shared)?.fields)?;
        Some((self.head(), result))
    }

    /// Copies another head. `copy` takes over its fields, in the memory of the ones before.
    pub fn copy(&mut self, method: &str, target: &str, copy: impl FnOnce(&mut F)) -> OwnedHead {
        match Arc::get_mut(&mut self.shared) {
            Some(head) => {
                head.text.clear();
                head.text.push_str(method);
                head.text.push_str(target);
                (head.method, head.accepted_by) = (method.len(), AtomicUsize::new(0));
                copy(&mut head.fields);
            }
            None => {
                let mut fields = F::default();
                copy(&mut fields);
                self.shared = Arc::new(Head::new(method, target, fields));
            }
        }
        self.head()
    }

    fn head(&self) -> OwnedHead {
        let shared: Arc<Head<F>> = Arc::clone(&self.shared);
        OwnedHead { shared, peer: self.peer }
    }
}

mcp_sansio::opaque_debug!([F] HeadMemory<F> {});

mcp_sansio::opaque_debug!(OwnedHead |it| {
    method: it.as_head().method, target: it.as_head().target
});

pub(super) struct Exchange {
    pub(super) stage: Stage,
    pub(super) head: OwnedHead,
    pub(super) body: Vec<u8>,
    /// Number of bytes of the body that count in the budget.
    pub(super) counted: usize,
    /// The next message of the body.
    pub(super) position: BodyPosition,
    /// Whether a message of the body has been handled, or has a response that is written in part.
    pub(super) is_begun: bool,
    /// Taken by the instance that the request creates.
    pub(super) principal: Option<Arc<Principal>>,
    /// Whose share it counts in.
    pub(super) holder: Option<Holder>,
    /// Whether it has a place among the exchanges, and among the event streams.
    pub(super) has_place: bool,
    pub(super) is_stream: bool,
    /// Fields of the response beside those of its content.
    pub(super) fields: Vec<(&'static str, String)>,
    /// Whether the body has ended before the request was authorized.
    pub(super) is_whole: bool,
    /// Whether its connection asks until there is no output, and its body is not counted.
    pub(super) is_asked: bool,
    /// Whether a message violated the protocol.
    pub(super) has_fault: bool,
    /// Whether the body waits for room.
    pub(super) waits: bool,
    /// The head of the response and the length of its body, once they were given out.
    pub(super) sent: Option<(OutgoingResponse, Option<usize>)>,
    /// An event without a message, which is sent first.
    pub(super) control: Vec<u8>,
    /// When the body must be complete, later when the stream gets a comment.
    pub(super) silent_until: Instant,
    /// When the token expires.
    pub(super) expires: Option<Instant>,
    /// Whether its next request waits until another request of its session has ended.
    pub(super) awaits_entry: bool,
    /// When that request is refused.
    pub(super) full_until: Option<Instant>,
    /// Set while there is output that the connection does not take.
    pub(super) untaken: Option<Untaken>,
    /// Whether its messages are handled without a connection: it is lost, or another node of the
    /// fleet has received them.
    pub(super) is_unconnected: bool,
}

/// Output that the connection does not take, or only slowly.
pub(super) struct Untaken {
    /// When the exchange is cut.
    pub(super) until: Instant,
    /// Number of bytes that were taken nevertheless.
    pub(super) taken: usize,
}

pub(super) enum Stage {
    /// To be reported for authorization.
    Unauthorized,
    /// Waits for the result of the authorization.
    Authorizing,
    /// The body is being read. `None` on the path of HTTP+SSE.
    Body(Option<HttpMethod>),
    /// The body is complete, and is to be permitted. As [`Body`](Self::Body).
    Unpermitted(Option<HttpMethod>),
    /// Waits for the permission, and has no body meanwhile.
    Permitting(Option<HttpMethod>),
    /// The messages of the body are being handled by an instance. `None`: their responses belong to
    /// another exchange (HTTP+SSE).
    Messages(SlabKey, Option<ExchangeId>),
    /// Another node of the fleet is to take its response to a call of this session.
    Passed(SlabKey),
    /// Events that another node has recorded are sent.
    Relay(SlabKey, Relay),
    /// There is no place for its `subscriptions/listen`: its server is to be ended.
    Refused(SlabKey),
    /// All messages have been handled; the stream may go on.
    Stream(SlabKey, ExchangeId),
    /// Recorded events are sent.
    Replay(SlabKey, Reader),
    /// A response of the site itself, and the part of its body that is not sent.
    Reply(OutgoingResponse, Vec<u8>),
    /// Nothing more is sent.
    Ended,
}

impl Stage {
    /// Returns the server whose stream is sent.
    pub(super) const fn stream(&self) -> Option<SlabKey> {
        if let Self::Stream(owner, _) = self { Some(*owner) } else { None }
    }

    /// Whether the time is limited until the site has all that it needs of the client.
    pub(super) const fn is_awaited(&self) -> bool {
        matches!(
            self,
            Self::Body(_)
                | Self::Unpermitted(_)
                | Self::Permitting(_)
                | Self::Messages(_, None)
                | Self::Passed(_)
        )
    }
}

impl Exchange {
    pub(super) fn new(head: OwnedHead, now: Instant) -> Self {
        Self {
            stage: Stage::Unauthorized,
            head,
            body: Vec::new(),
            counted: 0,
            position: BodyPosition::default(),
            is_begun: false,
            principal: None,
            holder: None,
            has_place: false,
            is_stream: false,
            fields: Vec::new(),
            is_whole: false,
            is_asked: false,
            has_fault: false,
            waits: false,
            sent: None,
            control: Vec::new(),
            silent_until: now,
            expires: None,
            awaits_entry: false,
            full_until: None,
            untaken: None,
            is_unconnected: false,
        }
    }
}

/// The head of a response: [`Site::response`](super::Site::response).
#[derive(Clone, Copy, Debug)]
pub struct SiteResponse<'s> {
    pub(super) head: OutgoingResponse,
    pub(super) length: Option<usize>,
    pub(super) fields: &'s [(&'static str, String)],
}

impl<'s> SiteResponse<'s> {
    /// The HTTP status.
    pub const fn status(&self) -> u16 {
        self.head.status
    }

    /// The kind of the body.
    pub const fn kind(&self) -> BodyKind {
        self.head.body
    }

    /// The length of the body in bytes, if all of it can be read already. Others are chunked.
    pub const fn length(&self) -> Option<usize> {
        self.length
    }

    /// Returns the header fields, with names in lower case; those that frame the body are not
    /// included.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &'s str)> + Clone {
        let own = self.fields.iter().map(|(name, value)| (*name, value.as_str()));
        self.head.fields().map(|(name, value)| (name, value as &'s str)).chain(own)
    }
}

/// The next part of a response's body: [`Site::body`](super::Site::body).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum SiteBody<'s> {
    /// Bytes to send; never empty. Report how many were sent with
    /// [`Site::wrote`](super::Site::wrote).
    Piece(&'s [u8]),
    /// More may follow: wait for [`SiteStep::Ready`](super::SiteStep::Ready).
    Pending,
    /// The body is complete.
    End,
    /// The body cannot be completed: close the connection without ending the body, so that the
    /// client notices.
    Cut,
}

// From the head of a request to its whole body: checks, authorization, room for the body.

impl<O> Site<'_, O> {
    /// Begins an exchange with the head of its request. Never fails: a request that is not accepted
    /// has a response at once. With a principal it is [authorized](Self::authorized) already.
    ///
    /// Feed the body while the site [wants](Self::wants_body) it, then call
    /// [`end_of_body`](Self::end_of_body); also without a body.
    pub fn open(
        &mut self,
        now: Instant,
        head: OwnedHead,
        principal: Option<Arc<Principal>>,
    ) -> ExchangeKey {
        let key = self.admit(now, head, principal);
        if self.wants_body(key) {
            self.await_body(key.0);
            self.schedule.ready(key.0);
        }
        key
    }

    /// As [`open`](Self::open), [`feed_body`](Self::feed_body) and
    /// [`end_of_body`](Self::end_of_body), for a request that was received with its whole body: it
    /// needs no timer. Returns the number of bytes that were taken, as `feed_body` does. If that is
    /// not all of them, the body is to be fed and ended later.
    ///
    /// Call [`response`](Self::response) once there is nothing more to do ([`SiteStep::Wait`]),
    /// also before the exchange is reported as ready, and [`body`](Self::body) until it has no
    /// piece: time limits of a call begin when there is no output.
    ///
    /// [`SiteStep::Wait`]: super::SiteStep::Wait
    pub fn open_whole(
        &mut self,
        now: Instant,
        head: OwnedHead,
        principal: Option<Arc<Principal>>,
        body: &[u8],
    ) -> (ExchangeKey, usize) {
        let key = self.admit(now, head, principal);
        (key, self.feed_whole(now, key, body))
    }

    /// The second half of [`open_whole`](Self::open_whole), for an exchange that was
    /// [authorized](Self::authorized) after it. Returns the number of bytes that were taken.
    pub fn feed_whole(&mut self, now: Instant, exchange: ExchangeKey, body: &[u8]) -> usize {
        let taken = self.feed_body(exchange, body);
        if taken == body.len() {
            if let Some(exchange) = self.exchanges.get_mut(exchange.0) {
                exchange.is_asked = exchange.counted == 0;
            }
            self.end_of_body(now, exchange);
        } else if !self.awaits_authorization(exchange) {
            self.await_body(exchange.0);
        }
        taken
    }

    fn admit(
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
            self.refuse(key, &Refusal::service_unavailable());
        } else if let Err(refused) = self.check_head(key, now) {
            self.refuse(key, &refused);
        }
        ExchangeKey(key)
    }

    /// Gives an exchange a place of a client, in exchange for its own. Returns whether there is
    /// one.
    fn enter(&mut self, key: SlabKey, holder: Option<Holder>) -> bool {
        let Some(exchange) = self.exchanges.get_mut(key) else { return false };
        if core::mem::take(&mut exchange.has_place) {
            self.counts.exchanges.give_back(1, exchange.holder.as_ref());
        }
        let limit = self.options.limit(self.options.max_exchanges, holder.as_ref());
        exchange.has_place = self.counts.exchanges.take(1, holder.as_ref(), limit).is_ok();
        exchange.holder = holder;
        exchange.has_place
    }

    /// Gives an exchange a place among the event streams. Returns whether there is one.
    pub(super) fn enter_streams(&mut self, key: SlabKey) -> bool {
        let Some(exchange) = self.exchanges.get_mut(key) else { return false };
        let limit = self.options.limit(self.options.max_streams, exchange.holder.as_ref());
        let holder = exchange.holder.as_ref();
        exchange.is_stream = self.counts.streams.take(1, holder, limit).is_ok();
        exchange.is_stream
    }

    /// Gives the place of an event stream back.
    pub(super) fn leave_streams(&mut self, key: SlabKey) {
        if let Some(exchange) = self.exchanges.get_mut(key)
            && core::mem::take(&mut exchange.is_stream)
        {
            self.counts.streams.give_back(1, exchange.holder.as_ref());
        }
    }

    /// Checks what needs neither credentials nor a body.
    fn check_head(&mut self, key: SlabKey, now: Instant) -> Result<(), Refusal<'static>> {
        let Some(exchange) = self.exchanges.get(key) else { return Ok(()) };
        if !exchange.head.is_accepted_by(self.number) && self.check_access(key)? {
            return Ok(());
        }
        let Some(exchange) = self.exchanges.get(key) else { return Ok(()) };
        if self.options.authorizes && exchange.principal.is_none() {
            self.schedule.turn(Work::Exchange(key));
            return Ok(());
        }
        self.read_body(key, now)
    }

    /// Checks host, origin and path, and serves what anyone may have. Returns whether that is all.
    fn check_access(&mut self, key: SlabKey) -> Result<bool, Refusal<'static>> {
        if self.serve_document(key) || self.serve_health(key) {
            return Ok(true);
        }
        let Some(exchange) = self.exchanges.get_mut(key) else { return Ok(true) };
        let head = exchange.head.as_head();
        let origin = self.options.host_policy.checked_origin(&head)?;
        let fields = &mut exchange.fields;
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
            return Err(Refusal::new(
                404,
                ErrorCode::InvalidRequest,
                "Not found: the endpoint has another path, /mcp by default",
            ));
        }
        if head.method == "OPTIONS" {
            // A preflight: browsers send it without credentials.
            let allow = self.endpoint.allowed_methods();
            fields.push(("allow", allow.to_owned()));
            if origin.is_some() {
                allow_cross_origin(&head, allow, fields);
            }
            self.reply(key, OutgoingResponse::empty(204), Vec::new());
            return Ok(true);
        }
        Ok(false)
    }

    /// Says whether the site can be used, to anyone. Returns whether it was asked.
    fn serve_health(&mut self, key: SlabKey) -> bool {
        let Some(exchange) = self.exchanges.get(key) else { return false };
        let head = exchange.head.as_head();
        if self.options.health != Some(head.path()) || !matches!(head.method, "GET" | "HEAD") {
            return false;
        }
        let (status, text) = match (self.closing, self.is_connected) {
            (Some(_), _) => (503, r#"{"status":"shutting down"}"#),
            (None, true) => (200, r#"{"status":"ok"}"#),
            (None, false) => (200, r#"{"status":"degraded","bus":"disconnected"}"#),
        };
        self.reply(key, OutgoingResponse { status, body: BodyKind::Json }, text.into());
        true
    }

    /// Serves a document to anyone, pages of any origin included. Returns whether it is one.
    fn serve_document(&mut self, key: SlabKey) -> bool {
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

    /// Returns the address from which a request comes, if it is known.
    pub fn peer_address(&self, exchange: ExchangeKey) -> Option<PeerAddress> {
        self.exchanges.get(exchange.0)?.head.peer_address()
    }

    /// Returns whether a request waits to be [authorized](Self::authorized).
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
                    return self.refuse(key, &Refusal::service_unavailable());
                }
                match self.read_body(key, now) {
                    Err(refused) => self.refuse(key, &refused),
                    Ok(()) if is_whole => self.end_of_body(now, ExchangeKey(key)),
                    Ok(()) => {
                        self.await_body(key);
                        self.schedule.ready(key);
                    }
                }
            }
            Err(denied) => self.deny(key, denied),
        }
    }

    pub(super) fn deny(&mut self, key: SlabKey, denied: Denied) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        exchange.fields.extend(denied.fields);
        let (code, message) = match denied.status {
            403 => (ErrorCode::InvalidRequest, "Insufficient scope"),
            500.. => (ErrorCode::InternalError, "The token cannot be checked"),
            _ => (ErrorCode::InvalidRequest, "Authentication required"),
        };
        self.refuse(key, &Refusal::new(denied.status, code, message));
    }

    /// Checks the rest of the head, and begins to read the body.
    fn read_body(&mut self, key: SlabKey, now: Instant) -> Result<(), Refusal<'static>> {
        let Some(exchange) = self.exchanges.get_mut(key) else { return Ok(()) };
        let head = exchange.head.as_head();
        let mut method = None;
        if exchange.head.is_accepted_by(self.number) {
            method = Some(HttpMethod::Post);
        } else if self.options.sse_path.is_none_or(|path| path != head.path()) {
            method = Some(self.endpoint.check_method(&head)?);
            // Without an origin, whose fields the response needs.
            if method == Some(HttpMethod::Post) && exchange.fields.is_empty() {
                exchange.head.shared.accepted_by.store(self.number, Ordering::Relaxed);
            }
        } else if head.method == "POST" {
            check_content_type(&head)?;
        } else if head.method != "GET" {
            return Err(Refusal::new(405, ErrorCode::InvalidRequest, "Method not allowed"));
        }
        exchange.stage = Stage::Body(method);
        exchange.silent_until = now.saturating_add(self.options.read_timeout);
        Ok(())
    }

    /// Limits the time of the body.
    fn await_body(&mut self, key: SlabKey) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        let due = self.closing.map_or(exchange.silent_until, |at| at.min(exchange.silent_until));
        self.schedule.set_timer(Work::Exchange(key), Some(due));
    }

    /// Returns whether more of the body can be fed. If not, and there is no response, the request
    /// waits for authorization or for room.
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
        if len > self.bodies.max_body {
            self.refuse(key, &Refusal::content_too_large());
            return piece.len();
        }
        let holder = exchange.holder.as_ref();
        let share = self.options.limit(self.options.body_budget, holder).share;
        let room = self.bodies.take(&mut self.counts, key, exchange.counted, len, (holder, share));
        let (counted, next) = match room {
            Ok(taken) => taken,
            Err(NoPlace::Total) => {
                exchange.waits = true;
                return 0;
            }
            Err(NoPlace::Share) => {
                self.refuse(key, &Refusal::service_unavailable());
                return piece.len();
            }
        };
        (exchange.waits, exchange.counted) = (false, counted);
        if exchange.body.capacity() < len {
            let spare = if len > UNCOUNTED {
                self.spare_long_body.take_for(len)
            } else {
                self.spare_body.take()
            };
            if spare.capacity() > exchange.body.capacity() {
                let begun = core::mem::replace(&mut exchange.body, spare);
                exchange.body.clear();
                exchange.body.extend_from_slice(&begun);
            }
        }
        exchange.body.extend_from_slice(piece);
        self.wake_body(next);
        piece.len()
    }

    /// Frees a body that is handled, or of no use any more.
    pub(super) fn free_body(&mut self, key: SlabKey) {
        let Some(exchange) = self.exchanges.get_mut(key) else { return };
        let body = core::mem::take(&mut exchange.body);
        if body.capacity() > UNCOUNTED {
            self.spare_long_body.keep(body, KEPT_OUTPUT);
        } else {
            self.spare_body.keep(body, UNCOUNTED);
        }
        let counted = core::mem::take(&mut exchange.counted);
        let holder = exchange.holder.as_ref();
        let next = self.bodies.release(&mut self.counts, key, counted, holder);
        self.wake_body(next);
    }

    pub(super) fn wake_body(&mut self, next: Option<SlabKey>) {
        let Some(next) = next else { return };
        if let Some(exchange) = self.exchanges.get_mut(next) {
            exchange.waits = false;
        }
        self.schedule.ready(next);
    }

    /// Refuses a request whose body is not complete in time, or finds no room, also because the
    /// site is shut down.
    pub(super) fn time_out(&mut self, key: SlabKey) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        let is_slow = matches!(exchange.stage, Stage::Body(_)) && !exchange.waits;
        let refusal = if is_slow && self.closing.is_none() {
            Refusal::new(408, ErrorCode::InvalidRequest, "The request is not complete in time")
        } else {
            Refusal::service_unavailable()
        };
        self.refuse(key, &refusal);
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

// The budget of bytes that all request bodies share.

/// Bodies wait in the order in which they found no room. Room for one body of the greatest length
/// is reserved for the first of them, so that partly read bodies do not wait for each other. Short
/// bodies are not counted, so that the response to a call can always be read.
///
/// A body beyond the share of its client does not wait: it would be in the way of others.
pub(super) struct Bodies {
    limit: usize,
    max_body: usize,
    waiting: VecDeque<SlabKey>,
    /// The body that may use the reserve.
    preferred: Option<SlabKey>,
}

impl Bodies {
    pub(super) fn new(limit: usize, max_body: usize) -> Self {
        let max_body = max_body.min(limit);
        Self { limit, max_body, waiting: VecDeque::new(), preferred: None }
    }

    /// Takes room for a body of `len` bytes, of which `counted` have room. `share` is that of its
    /// client; one body of the greatest length always fits in. Returns the number of bytes with
    /// which the body counts, and another that may try next.
    ///
    /// # Errors
    /// The body has to wait, or its client has its share.
    pub(super) fn take(
        &mut self,
        counts: &mut SiteCounts,
        key: SlabKey,
        counted: usize,
        len: usize,
        (holder, share): (Option<&Holder>, usize),
    ) -> Result<(usize, Option<SlabKey>), NoPlace> {
        if len <= UNCOUNTED.max(counted) {
            return Ok((counted, None));
        }
        let wanted = len - counted;
        // A client that may have all of it waits for others, so it has no share.
        let share = if share < self.limit { share.max(self.max_body) } else { usize::MAX };
        let is_first = self.waiting.front().is_none_or(|first| *first == key);
        let total = if is_first { self.limit - self.max_body } else { 0 };
        let mut taken = counts.body_bytes.take(wanted, holder, PlaceLimit { total, share });
        if taken == Err(NoPlace::Total) {
            let one = PlaceLimit { total: 1, share: 1 };
            if is_first
                && self.preferred.is_none()
                && counts.body_reserve.take(1, None, one).is_ok()
            {
                self.preferred = Some(key);
            }
            if self.preferred == Some(key) {
                let limit = PlaceLimit { total: self.limit, share };
                taken = counts.body_bytes.take(wanted, holder, limit);
            }
        }
        if taken == Err(NoPlace::Total) && !self.waiting.contains(&key) {
            // No other body can use the reserve meanwhile.
            let is_preferred = self.preferred == Some(key);
            self.waiting.insert(if is_preferred { 0 } else { self.waiting.len() }, key);
        }
        taken.map(|()| (len, self.leave(key)))
    }

    /// Gives up the room of a body that is handled or gone. Returns a body that may try next.
    pub(super) fn release(
        &mut self,
        counts: &mut SiteCounts,
        key: SlabKey,
        counted: usize,
        holder: Option<&Holder>,
    ) -> Option<SlabKey> {
        if counted > 0 {
            counts.body_bytes.give_back(counted, holder);
        }
        if self.preferred == Some(key) {
            self.preferred = None;
            counts.body_reserve.give_back(1, None);
        }
        let next = self.leave(key);
        next.or_else(|| self.waiting.front().copied().filter(|_| counted > 0))
    }

    /// Returns the body that has waited longest.
    pub(super) fn first(&self) -> Option<SlabKey> {
        self.waiting.front().copied()
    }

    /// Takes a body out of the queue. Returns the first of the rest if it was there.
    fn leave(&mut self, key: SlabKey) -> Option<SlabKey> {
        let at = self.waiting.iter().position(|other| *other == key)?;
        self.waiting.remove(at);
        self.waiting.front().copied()
    }
}

/// Memory of a body or an output that is over, for the next one.
#[derive(Default)]
pub(super) struct Spare(Vec<u8>);

impl Spare {
    pub(super) fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.0)
    }

    /// Takes the memory for so many bytes of a body, but not four times as much: it would not count
    /// in the budget.
    fn take_for(&mut self, len: usize) -> Vec<u8> {
        if self.0.capacity() / 4 <= len { self.take() } else { Vec::new() }
    }

    /// Keeps memory of at most so many bytes, unless there is more.
    pub(super) fn keep(&mut self, memory: Vec<u8>, most: usize) {
        if (self.0.capacity()..=most).contains(&memory.capacity()) {
            self.0 = memory;
        }
    }
}

/// Maximum length of a body that is not counted, in bytes.
const UNCOUNTED: usize = 4 << 10;
/// Maximum number of bytes of a body or an output whose memory serves the next one.
pub(super) const KEPT_OUTPUT: usize = 128 << 10;
