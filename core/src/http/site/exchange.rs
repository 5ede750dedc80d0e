//! One request and its response, as a connection sees it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::instance::Reader;
use super::principal::{Holder, Principal};
use super::slab::Key;
use crate::PeerAddress;
use crate::handle::ExchangeId;
use crate::http::server::{BodyKind, HttpMethod, OutgoingResponse};
use crate::http::{Fields, RequestHead};
use crate::message::Cursor;
use crate::time::Instant;

/// The head of an HTTP request, shared by its exchange and its handler.
#[derive(Clone)]
pub struct OwnedHead {
    shared: Arc<Head<dyn Fields + Send + Sync>>,
    peer: Option<PeerAddress>,
}

struct Head<F: ?Sized> {
    /// The method, and the target behind it.
    text: Box<str>,
    method: usize,
    fields: F,
}

impl OwnedHead {
    /// Copies the method and the target.
    #[must_use]
    pub fn new(method: &str, target: &str, fields: impl Fields + Send + 'static) -> Self {
        let text = [method, target].concat().into();
        Self { shared: Arc::new(Head { text, method: method.len(), fields }), peer: None }
    }

    /// Sets the address from which the request comes: that of the connection, or the one that a
    /// trusted proxy reports. Default: unknown, which has no
    /// [share](super::SiteOptions::address_share).
    #[must_use]
    pub fn peer(self, address: impl Into<PeerAddress>) -> Self {
        Self { peer: Some(address.into()), ..self }
    }

    /// Returns the address from which the request comes.
    #[must_use]
    pub fn peer_address(&self) -> Option<PeerAddress> {
        self.peer
    }

    /// Returns the head.
    #[must_use]
    pub fn as_head(&self) -> RequestHead<'_> {
        let Head { text, method, fields } = &*self.shared;
        let (method, target) = text.split_at_checked(*method).unwrap_or_default();
        RequestHead::new(method, target, fields)
    }
}

impl fmt::Debug for OwnedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.as_head();
        f.debug_tuple("OwnedHead").field(&head.method).field(&head.target).finish()
    }
}

pub(super) struct Exchange {
    pub(super) stage: Stage,
    pub(super) head: OwnedHead,
    pub(super) body: Vec<u8>,
    /// Number of bytes of the body that count in the budget.
    pub(super) counted: usize,
    /// The next message of the body.
    pub(super) cursor: Cursor,
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
    /// Whether a message violated the protocol.
    pub(super) has_fault: bool,
    /// Whether the body waits for room.
    pub(super) waits: bool,
    pub(super) is_queued: bool,
    pub(super) is_ready: bool,
    /// The head of the response and the length of its body, once they were given out.
    pub(super) sent: Option<(OutgoingResponse, Option<usize>)>,
    /// An event without a message, which is sent first.
    pub(super) control: Vec<u8>,
    /// When the body must be complete, later when the stream gets a comment.
    pub(super) silent_until: Instant,
    /// When the token expires.
    pub(super) expires: Option<Instant>,
    pub(super) due: Option<Instant>,
    /// Whether its next request waits until another request of its session has ended.
    pub(super) awaits_entry: bool,
    /// When that request is refused.
    pub(super) full_until: Option<Instant>,
    /// Set while there is output that the connection does not take.
    pub(super) untaken: Option<Untaken>,
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
    Messages(Key, Option<ExchangeId>),
    /// There is no place for its `subscriptions/listen`: its server is to be ended.
    Refused(Key),
    /// All messages have been handled; the stream may go on.
    Stream(Key, ExchangeId),
    /// Recorded events are sent.
    Replay(Key, Reader),
    /// A response of the site itself, and the part of its body that is not sent.
    Reply(OutgoingResponse, Vec<u8>),
    /// Nothing more is sent.
    Ended,
}

impl Stage {
    /// Whether the time is limited until the site has all that it needs of the client.
    pub(super) const fn is_awaited(&self) -> bool {
        matches!(
            self,
            Self::Body(_) | Self::Unpermitted(_) | Self::Permitting(_) | Self::Messages(_, None)
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
            cursor: Cursor::Start,
            principal: None,
            holder: None,
            has_place: false,
            is_stream: false,
            fields: Vec::new(),
            is_whole: false,
            has_fault: false,
            waits: false,
            is_queued: false,
            is_ready: false,
            sent: None,
            control: Vec::new(),
            silent_until: now,
            expires: None,
            due: None,
            awaits_entry: false,
            full_until: None,
            untaken: None,
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
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.head.status
    }

    /// The kind of the body.
    #[must_use]
    pub const fn kind(&self) -> BodyKind {
        self.head.body
    }

    /// The length of the body in bytes, if all of it can be read already. Others are chunked.
    #[must_use]
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
