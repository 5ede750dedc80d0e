//! The operations that a handler has on the server of its request.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::exchange::OwnedHead;
use super::instance::{Instance, Kind};
use super::principal::{Holder, Principal};
use super::slab::Key;
use super::{ServerKey, SiteRequest};
use crate::handle::{Call, ExchangeId, RequestHandle};
use crate::http::server::OutgoingResponse;
use crate::lifecycle::Revision;
use crate::server::{Server, ServerConfig};
use crate::time::Instant;
use crate::tx::TxBuffer;

/// A server of a [`Site`](super::Site) with the output of its exchanges.
///
/// Comes with an event, and later from [`Site::turn`](super::Site::turn). Each message goes to the
/// exchange that it belongs to. A call that is [`Full`](crate::SendError::Full) is repeated in a
/// later turn: [`await_room`](Self::await_room). Results of any length are handed in with
/// [`answer`](Self::answer).
pub struct SiteTurn<'p, O> {
    pub(super) config: &'p ServerConfig<'p>,
    pub(super) instance: &'p mut Instance<O>,
    pub(super) key: Key,
    pub(super) now: Instant,
    pub(super) head: Option<OwnedHead>,
    /// That of the request, unless the instance has it.
    pub(super) principal: Option<Arc<Principal>>,
}

impl<O> SiteTurn<'_, O> {
    /// Returns the time of the step.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Returns the key of the server.
    #[must_use]
    pub const fn server_key(&self) -> ServerKey {
        ServerKey(self.key)
    }

    /// Returns the key of a request of this server, to answer it later.
    #[must_use]
    pub const fn request_key(&self, request: RequestHandle) -> SiteRequest {
        SiteRequest { server: ServerKey(self.key), request }
    }

    /// Returns who made the request; in a turn without an event, who opened the session. The scopes
    /// of a session's requests may differ.
    #[must_use]
    pub const fn principal(&self) -> Option<&Arc<Principal>> {
        match &self.principal {
            Some(principal) => Some(principal),
            None => self.instance.principal.as_ref(),
        }
    }

    /// Returns the head of the HTTP request that has the message of the event. `None` for timeouts,
    /// and in a turn without an event.
    #[must_use]
    pub const fn head(&self) -> Option<&OwnedHead> {
        self.head.as_ref()
    }

    /// Returns whose share the request of the event counts in.
    #[must_use]
    pub fn holder(&self) -> Option<Holder> {
        let peer = self.head.as_ref().map_or(self.instance.peer, OwnedHead::peer_address);
        Holder::of(self.principal(), peer)
    }

    /// Returns whether the server is that of a session, or of a stream of HTTP+SSE.
    #[must_use]
    pub const fn is_session(&self) -> bool {
        !matches!(self.instance.kind, Kind::Alone)
    }

    /// Asks for [`SiteStep::Room`](super::SiteStep::Room) once the client has taken at least half
    /// of what waits for it in the output of a request.
    pub fn await_room(&mut self, request: RequestHandle) {
        let (_, stream) = self.instance.parts(self.config, |server| server.exchange(request));
        stream.is_awaited = true;
    }

    /// As [`await_room`](Self::await_room), for the output of a call.
    pub fn await_room_of_call(&mut self, call: Call) {
        let (_, stream) = self.instance.parts(self.config, |server| server.exchange_of_call(call));
        stream.is_awaited = true;
    }

    /// Returns the server, and the output that belongs to a request: its response, progress, log
    /// messages and calls.
    pub fn parts(&mut self, request: RequestHandle) -> (Server<'_>, &mut TxBuffer<Vec<u8>>) {
        let (server, stream) = self.instance.parts(self.config, |server| server.exchange(request));
        (server, &mut stream.tx)
    }

    /// Returns the server, and the output for the cancellation of a call.
    pub fn parts_of_call(&mut self, call: Call) -> (Server<'_>, &mut TxBuffer<Vec<u8>>) {
        let (server, stream) =
            self.instance.parts(self.config, |server| server.exchange_of_call(call));
        (server, &mut stream.tx)
    }

    /// Returns the server, and the output for messages that belong to no request: the GET stream of
    /// a session.
    pub fn unrelated_parts(&mut self) -> (Server<'_>, &mut TxBuffer<Vec<u8>>) {
        let (server, stream) = self.instance.parts(self.config, |_| ExchangeId::SESSION);
        (server, &mut stream.tx)
    }

    /// Hands in the outcome of a request, which is sent as its client takes it. If it is not valid,
    /// the request gets an internal error (-32603). Nothing happens if the request has ended.
    pub fn answer(&mut self, request: RequestHandle, outcome: O) {
        self.instance.answer(self.config, request, outcome);
    }

    /// Closes the connection of a request while the request goes on; its client resumes the stream
    /// after [`SiteOptions::retry`](super::SiteOptions::retry). Returns `false` where that is not
    /// possible: it needs a session of 2025-11-25.
    pub fn release(&mut self, request: RequestHandle) -> bool {
        let is_session = matches!(self.instance.kind, Kind::Session(_));
        let (server, stream) = self.instance.parts(self.config, |server| server.exchange(request));
        let can_resume = is_session && server.legacy_revision() == Some(Revision::V2025_11_25);
        stream.is_released = can_resume
            && (stream.tx.http_response() == Some(OutgoingResponse::EVENT_STREAM)
                || stream.tx.send_priming_event().unwrap_or(false));
        stream.is_released
    }
}

impl<O> fmt::Debug for SiteTurn<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteTurn").field("server", &self.key).finish_non_exhaustive()
    }
}
