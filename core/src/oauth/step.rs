//! Steps of a driver.

use core::fmt;

use super::arena::{Entries, Tag};
use super::failure::Failure;
use crate::lifecycle::Revision;

/// The next thing to do, returned by [`Authorization::step`](super::Authorization::step).
#[derive(Debug)]
#[non_exhaustive]
pub enum Step<'m> {
    /// Nothing: send the request, or send it again.
    Ready,
    /// Send this, and answer with [`response`](super::Authorization::response) or
    /// [`failed`](super::Authorization::failed).
    Send(Request<'m>),
    /// Lock the store against other programs, and answer with
    /// [`locked`](super::Authorization::locked). Unlock it after the next [`Keep`](Self::Keep),
    /// [`Forget`](Self::Forget), [`Ready`](Self::Ready) or [`Failed`](Self::Failed), and before a
    /// person is asked.
    Lock,
    /// Answer with the URI to which the browser shall return:
    /// [`redirect_uri`](super::Authorization::redirect_uri).
    Redirect {
        /// The URI that is registered. Using it again, with its port, saves a registration.
        last: Option<&'m str>,
    },
    /// Show this URL to a person, and answer with
    /// [`redirected`](super::Authorization::redirected). It has no secret.
    Show(&'m str),
    /// Ask for an id of this client at the issuer, and answer with
    /// [`client`](super::Authorization::client).
    AskClient {
        /// The issuer of the authorization server.
        issuer: &'m str,
    },
    /// Get a token of the platform for this audience, or, with
    /// [`Grant::Enterprise`](super::Grant::Enterprise), the person's identity token of this
    /// provider, and answer with [`assertion`](super::Authorization::assertion).
    AskAssertion {
        /// The issuer of the authorization server, or of the identity provider.
        audience: &'m str,
        /// Its token endpoint, which some platforms take for the audience.
        token_endpoint: &'m str,
    },
    /// Save the [record](super::Authorization::record) now, then go on.
    Keep,
    /// Remove the record now, then go on: nothing is left in it.
    Forget,
    /// The authorization has failed.
    Failed(Failure<'m>),
}

/// An HTTP request to a resource's metadata, to an authorization server, or to an identity
/// provider. `Debug` does not show secrets.
#[derive(Clone, Copy)]
pub struct Request<'m> {
    pub(super) purpose: Purpose,
    pub(super) url: &'m str,
    pub(super) body: &'m str,
    pub(super) entries: Entries<'m>,
}

/// Purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Reads metadata.
    Metadata,
    /// Registers the client.
    Registration,
    /// Gets a token: it carries secrets, and so does the answer.
    Token,
}

impl<'m> Request<'m> {
    /// Returns what the request is for.
    #[must_use]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Returns the method.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self.purpose {
            Purpose::Metadata => "GET",
            Purpose::Registration | Purpose::Token => "POST",
        }
    }

    /// Returns the URL.
    #[must_use]
    pub const fn url(&self) -> &'m str {
        self.url
    }

    /// Passes name and value of each header field to `put`. The caller adds `Host` and
    /// `Content-Length`.
    pub fn fields(&self, put: &mut dyn FnMut(&str, &dyn fmt::Display)) {
        put("accept", &"application/json");
        match self.purpose {
            Purpose::Metadata => put("mcp-protocol-version", &Revision::LATEST.as_str()),
            Purpose::Registration => put("content-type", &"application/json"),
            Purpose::Token => put("content-type", &"application/x-www-form-urlencoded"),
        }
        if self.purpose == Purpose::Token {
            if let Some(credentials) = self.entries.get(Tag::Credentials) {
                put("authorization", &credentials);
            }
            if let Some(proof) = self.entries.get(Tag::Proof) {
                put("dpop", &proof);
            }
        }
    }

    /// Returns the body; empty for a GET.
    #[must_use]
    pub const fn body(&self) -> &'m [u8] {
        self.body.as_bytes()
    }

    /// Returns how many bytes of a body are read at most; a caller with less memory reads less. A
    /// longer one is [`Lost::TooLarge`](super::Lost::TooLarge).
    #[must_use]
    pub const fn max_response(&self) -> usize {
        MAX_RESPONSE
    }

    /// Returns how many redirects may be followed, all to the origin of the URL; the last answer is
    /// then the response.
    #[must_use]
    pub const fn max_redirects(&self) -> u8 {
        match self.purpose {
            Purpose::Metadata => 3,
            Purpose::Registration | Purpose::Token => 0,
        }
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("purpose", &self.purpose)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The answer to a 401 or 403 of the MCP server, returned by
/// [`Authorization::challenged`](super::Authorization::challenged).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Reaction {
    /// Send the request again, with new [fields](super::Authorization::fields).
    SendAgain,
    /// Take [steps](super::Authorization::step) until [`Step::Ready`], then send it again.
    Authorize,
    /// Report it: the request has failed.
    Report,
}

/// Attempts for one MCP request, to be kept beside it. There are at most two authorizations for a
/// 401, two for a 403, four repetitions with a token of another request, and one with a nonce.
#[derive(Clone, Copy, Default, Debug)]
pub struct Attempts {
    pub(super) unauthorized: u8,
    pub(super) forbidden: u8,
    pub(super) again: u8,
    pub(super) nonce: bool,
}

/// Reason why there are no fields for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotReady {
    /// An authorization runs, and there is no token until it is done: take its
    /// [steps](super::Authorization::step).
    Authorizing,
    /// A proof needs the time of the day.
    NoClock,
    /// The proof could not be signed.
    Signature,
    /// The arena has no room for a proof.
    ArenaFull,
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authorizing => "an authorization runs: take its steps first",
            Self::NoClock => "a proof of possession needs the time of the day",
            Self::Signature => "the key did not sign the proof of possession",
            Self::ArenaFull => "the memory for the authorization has no room: give it more",
        })
    }
}

impl core::error::Error for NotReady {}

/// Maximum length of a response's body, in bytes.
const MAX_RESPONSE: usize = 1 << 20;
