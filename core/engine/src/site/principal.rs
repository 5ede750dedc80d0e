//! Whose share a request counts in, and what is not authorized or not permitted yet.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

use mcp_sansio::http::{Operations, Principal};

use super::ExchangeKey;
use crate::places::{PeerAddress, PlaceLimit};

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

    /// Returns a limit with the share of a client, which is in percent for a principal and for an
    /// address: all of it if nothing is known of the client.
    pub const fn limit(
        client: Option<&Self>,
        total: usize,
        principal_share: u8,
        address_share: u8,
    ) -> PlaceLimit {
        let percent = match client {
            Some(Self::Principal(_)) => principal_share,
            Some(Self::Address(_)) => address_share,
            None => 100,
        };
        PlaceLimit::percent(total, percent)
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
            (Self::Principal(one), Self::Principal(other)) => identity(one).cmp(&identity(other)),
            (Self::Address(_), Self::Principal(_)) => Ordering::Less,
            (Self::Principal(_), Self::Address(_)) => Ordering::Greater,
        }
    }
}

/// Returns what is the same in all requests of a principal.
pub(super) fn identity(principal: &Principal) -> (&str, &str) {
    (&principal.subject, &principal.issuer)
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
        Operations::of_body(&self.body)
    }
}
