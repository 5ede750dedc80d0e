//! Failures of an authorization.

use core::fmt;

use super::metadata::DocumentError;
use super::redirect::RedirectError;
use crate::http::client::UrlError;
use crate::printable::Printable;

/// A failed authorization. Its `Display` output says which step failed, at which URL, what the
/// server answered, and what to do. It is safe for terminals, has no secret, and is bounded: URL
/// and answer are cut off after 512 bytes each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Failure<'m> {
    /// The step that failed.
    pub reason: Reason,
    /// The URL that was requested or refused, without its query.
    pub url: Option<&'m str>,
    /// The answer of the server: an error code, and possibly a description.
    pub answer: Option<&'m str>,
}

/// Reason why an authorization failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// A request got no answer that could be read.
    Lost(Lost),
    /// A server answered with this HTTP status.
    Status(u16),
    /// No resource metadata was found, so it is unknown where tokens come from.
    NoResourceMetadata,
    /// A document lacks what it must have.
    Document(DocumentError),
    /// The resource metadata is about another server.
    OtherResource,
    /// The resource metadata names no authorization server.
    NoAuthorizationServer,
    /// None of the authorization servers is allowed by the policy, or has a usable URL.
    IssuerNotAllowed,
    /// The configured credentials belong to another authorization server than the resource names.
    OtherIssuer,
    /// The authorization server has no metadata at the well-known places.
    NoServerMetadata,
    /// The metadata names another issuer than the one that was asked.
    IssuerMismatch,
    /// The authorization server does not list PKCE with S256.
    NoPkce,
    /// A URL must not be used.
    Url(UrlError),
    /// The redirect URI is neither `https` nor on this machine.
    RedirectUri,
    /// The client could not be registered; the HTTP status.
    Registration(u16),
    /// The person, or the authorization server, denied access.
    AccessDenied,
    /// The authorization server refused the authorization request.
    Refused,
    /// The browser came back with an answer that must not be used.
    Redirect(RedirectError),
    /// The token endpoint refused; the HTTP status.
    Token(u16),
    /// The identity provider refused; the HTTP status.
    Provider(u16),
    /// A request needs a scope that the authorization server was asked for and did not grant. Text
    /// of the answer says which.
    ScopeNotGranted,
    /// The token has a type that is not known, or not the one that was asked for.
    TokenType,
    /// Too many requests in one authorization.
    TooMany,
    /// The arena has no room.
    ArenaFull,
    /// The key did not sign.
    Signature,
    /// The time of the day is needed, and was not given.
    NoClock,
    /// The client id, or its key, is no longer known.
    NoClient,
}

/// Reason why a request got no answer that could be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Lost {
    /// No connection, or it ended.
    Network,
    /// The answer is longer than is read.
    TooLarge,
    /// No answer in time.
    TimedOut,
    /// The address must not be connected to: an inner network, or a redirect to another origin.
    Forbidden,
}

impl fmt::Display for Failure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.reason, f)?;
        if let Some(url) = self.url {
            write!(f, " ({})", Printable::new(url))?;
        }
        if let Some(answer) = self.answer {
            write!(f, ": {}", Printable::new(answer))?;
        }
        match self.reason.advice() {
            "" => Ok(()),
            advice => write!(f, "; {advice}"),
        }
    }
}

impl core::error::Error for Failure<'_> {}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lost(lost) => return fmt::Display::fmt(lost, f),
            Self::Status(status) => return write!(f, "HTTP status {status}"),
            Self::NoResourceMetadata => "the server has no resource metadata",
            Self::Document(error) => return write!(f, "unusable document: {error}"),
            Self::OtherResource => "the resource metadata is about another server",
            Self::NoAuthorizationServer => "the resource metadata names no authorization server",
            Self::IssuerNotAllowed => "no authorization server of the resource is allowed",
            Self::OtherIssuer => "the credentials belong to another authorization server",
            Self::NoServerMetadata => "the authorization server has no metadata",
            Self::IssuerMismatch => "the metadata names another issuer",
            Self::NoPkce => "the authorization server does not list PKCE with S256",
            Self::Url(error) => return write!(f, "the URL must not be used: {error}"),
            Self::RedirectUri => "the redirect URI is neither https nor on this machine",
            Self::Registration(status) => {
                return write!(f, "the client was not registered (HTTP status {status})");
            }
            Self::AccessDenied => "access was denied",
            Self::Refused => "the authorization server refused the request",
            Self::Redirect(error) => return fmt::Display::fmt(error, f),
            Self::Token(status) => return write!(f, "no token was given (HTTP status {status})"),
            Self::Provider(status) => {
                return write!(f, "the identity provider gave no token (HTTP status {status})");
            }
            Self::ScopeNotGranted => {
                "the authorization server did not grant a scope that the request needs"
            }
            Self::TokenType => "the token has a type that cannot be used",
            Self::TooMany => "the authorization takes too many requests",
            Self::ArenaFull => "the memory for the authorization has no room",
            Self::Signature => "the key did not sign the request",
            Self::NoClock => "the time of the day is not known",
            Self::NoClient => "the client id is no longer known",
        })
    }
}

impl Reason {
    /// Returns what to do.
    const fn advice(self) -> &'static str {
        match self {
            Self::Lost(Lost::Network | Lost::TimedOut) | Self::Status(500..=599) => {
                "try again later"
            }
            Self::NoResourceMetadata => {
                "check the URL, or use it without a login, or set a token by hand"
            }
            Self::OtherResource => "check the URL of the server",
            Self::IssuerNotAllowed => "allow its issuer in the policy",
            Self::OtherIssuer => {
                "register the client at the authorization server, and configure it"
            }
            Self::NoPkce => "allow its issuer without PKCE in the policy, if you trust it",
            Self::Url(UrlError::NotSecure) => {
                "use https; only http to this machine can be allowed in the policy"
            }
            Self::AccessDenied | Self::ScopeNotGranted => "log in again to give the permission",
            Self::Registration(_) => "register the client by hand, and configure its id",
            Self::Redirect(_) => "log in again",
            Self::ArenaFull => "give it more memory",
            _ => "",
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "no connection",
            Self::TooLarge => "the answer is too long",
            Self::TimedOut => "no answer in time",
            Self::Forbidden => "the address must not be connected to",
        })
    }
}
