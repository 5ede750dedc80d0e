//! The principal of a request, from its token, and the operations that need a permission.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::ExchangeKey;
use crate::buffers::rx::Frame;
use crate::http::{RequestHead, SingleValue};
use crate::json::JsonStr;
use crate::message::{Classified, Item, Messages, Params};
use crate::places::PeerAddress;
use crate::protocol::Method;
use crate::time::Instant;

/// An authenticated user or client. Sessions belong to the principal that opened them, and are
/// found by it only.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Principal {
    /// The authorization server that issued the token.
    pub issuer: String,
    /// The user or client, unique at its issuer.
    pub subject: String,
    /// The granted scopes, separated by spaces.
    pub scopes: String,
    /// When the token expires. Responses that are still open then are cut off: the client of a
    /// session resumes them with a new token.
    pub expires: Option<Instant>,
    /// All claims of the token as a JSON object; may be empty.
    pub claims: String,
}

impl Principal {
    /// Creates a principal without scopes, whose token does not expire.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into(), ..Self::default() }
    }

    /// Returns whether a scope was granted.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.split(' ').any(|granted| granted == scope)
    }

    /// Returns whether two requests come from the same principal.
    pub(super) fn is_same(one: Option<&Self>, other: Option<&Self>) -> bool {
        match (one, other) {
            (Some(one), Some(other)) => {
                core::ptr::eq(one, other)
                    || (&one.issuer, &one.subject) == (&other.issuer, &other.subject)
            }
            (None, None) => true,
            _ => false,
        }
    }
}

/// A client whose share of a server is limited.
#[derive(Clone, Debug)]
pub enum Holder {
    /// All clients of an address, of requests without a principal.
    Address(PeerAddress),
    /// A principal, wherever its requests come from.
    Principal(Arc<Principal>),
}

impl Holder {
    /// Returns who makes a request. `None` if nothing is known of its client.
    pub fn of(principal: Option<&Arc<Principal>>, peer: Option<PeerAddress>) -> Option<Self> {
        match principal {
            Some(principal) => Some(Self::Principal(Arc::clone(principal))),
            None => peer.map(Self::Address),
        }
    }
}

impl PartialEq for Holder {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Holder {}

impl PartialOrd for Holder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Holder {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Address(one), Self::Address(other)) => one.cmp(other),
            (Self::Principal(one), Self::Principal(other)) if Arc::ptr_eq(one, other) => {
                Ordering::Equal
            }
            (Self::Principal(one), Self::Principal(other)) => {
                (&one.subject, &one.issuer).cmp(&(&other.subject, &other.issuer))
            }
            (Self::Address(_), Self::Principal(_)) => Ordering::Less,
            (Self::Principal(_), Self::Address(_)) => Ordering::Greater,
        }
    }
}

/// The response to a request that is not authorized.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Denied {
    pub(super) status: u16,
    pub(super) fields: Vec<(&'static str, String)>,
}

impl Denied {
    /// Creates a response without fields. `status` is 401 without a valid token, 403 for a missing
    /// scope, 400 for malformed credentials, 500 or 503 if that cannot be found out.
    pub const fn new(status: u16) -> Self {
        Self { status, fields: Vec::new() }
    }

    /// Adds a challenge, the value of `WWW-Authenticate` (RFC 9110, 11.6.1): for example `Bearer
    /// error="invalid_token"`. It must not contain line breaks.
    pub fn challenge(self, challenge: impl Into<String>) -> Self {
        self.field("www-authenticate", challenge)
    }

    /// Adds a header field, with its name in lower case: for example `dpop-nonce`. The value must
    /// not contain line breaks.
    pub fn field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Returns the HTTP status.
    pub const fn status(&self) -> u16 {
        self.status
    }
}

/// Returns the bearer token of a request, if it has exactly one `Authorization` field with one
/// (RFC 6750, 2.1).
pub fn bearer_token<'h>(head: &RequestHead<'h>) -> Option<&'h str> {
    let SingleValue::Value(value) = head.fields.single("authorization") else { return None };
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

// The requests of a body, before they are handled.

/// A POST with its whole body, which has to be permitted: [`SiteStep::Permit`]. It borrows nothing
/// of the site, so that the check can be made where the site is not locked.
///
/// [`SiteStep::Permit`]: super::SiteStep::Permit
#[derive(Debug)]
#[must_use = "the request waits until it is handed back"]
pub struct Unpermitted {
    pub(super) exchange: ExchangeKey,
    pub(super) principal: Option<Arc<Principal>>,
    pub(super) body: Vec<u8>,
}

impl Unpermitted {
    /// Returns the exchange of the request.
    pub const fn exchange(&self) -> ExchangeKey {
        self.exchange
    }

    /// Returns the principal of the request.
    pub const fn principal(&self) -> Option<&Arc<Principal>> {
        self.principal.as_ref()
    }

    /// Returns the requests in the body: one, those of a batch, or none.
    pub fn operations(&self) -> Operations<'_> {
        Operations { messages: Messages::new(Frame::Complete(&self.body)) }
    }
}

/// A request that has to be permitted. It is read as the server reads it later, so that both see
/// the same.
#[derive(Clone, Copy, Debug)]
pub struct Operation<'f> {
    method: Method<'f>,
    params: Params<'f>,
}

impl<'f> Operation<'f> {
    /// Returns the method.
    pub const fn method(&self) -> Method<'f> {
        self.method
    }

    /// Returns `params.name`, of a tool or a prompt.
    pub fn name(&self) -> Option<JsonStr<'f>> {
        self.params.name()
    }

    /// Returns the parameters. They are not checked yet.
    pub const fn params(&self) -> Params<'f> {
        self.params
    }
}

/// The requests of a body: one, or those of a batch (2025-03-26). Notifications, responses and
/// invalid messages are left out.
#[derive(Debug)]
pub struct Operations<'f> {
    messages: Messages<'f>,
}

impl<'f> Iterator for Operations<'f> {
    type Item = Operation<'f>;

    fn next(&mut self) -> Option<Operation<'f>> {
        loop {
            let mut envelope = self.messages.envelope();
            let (item, next) = self.messages.peek(&mut envelope)?;
            self.messages.advance(next);
            if let Item::Message(Classified::Request { method, .. }) = item {
                return Some(Operation { method, params: envelope.params() });
            }
        }
    }
}
