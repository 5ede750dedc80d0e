//! Settings of a client's authorization, the keys that sign, and the ways it fails.

use core::fmt;

use super::metadata::{DocumentError, RedirectError};
use super::url::UrlRules;
use mcp_sansio::Printable;
use mcp_sansio::http::client::UrlError;

/// The server's URL, and the client's way to get tokens for it. It borrows from the caller, and is
/// `const` where its parts are; `&SETUP` then is `'static`. A `static` must be `Sync`, which keys
/// need not be: a secure element behind a `RefCell` is a [`Signer`]. Where several threads share
/// settings, each makes a `Setup` of them for its calls.
///
/// ```
/// # use mcp_sansio_oauth::{Policy, Setup};
/// const SETUP: Setup<'_> = Setup {
///     scope: Some("files:read"),
///     policy: Policy { legacy: false, ..Policy::new() },
///     ..Setup::new("https://mcp.example.com/mcp", "Panel")
/// };
/// let setup: &'static Setup<'static> = &SETUP;
/// ```
#[derive(Clone, Copy)]
#[must_use]
pub struct Setup<'s> {
    /// The URL of the server, as requests are sent to it.
    pub endpoint: &'s str,
    /// The name of the client, which is shown to people, and registered.
    pub client_name: &'s str,
    /// The way to get tokens. Default: a person permits it.
    pub grant: Grant<'s>,
    /// Clients that were registered beforehand. The first one for an issuer is used there.
    pub clients: &'s [RegisteredClient<'s>],
    /// The URL of a client id metadata document, which is the client's id at servers that support
    /// it (2025-11-25 and later).
    pub metadata_document: Option<&'s str>,
    /// Whether the client registers itself where it has no id (RFC 7591). Default: true.
    pub registers: bool,
    /// Narrows what is asked for to these scopes, separated by spaces. Where a server names none of
    /// them, these are asked for.
    pub scope: Option<&'s str>,
    /// The key that the metadata document names, for `private_key_jwt`.
    pub document_key: Option<&'s dyn Signer>,
    /// The key to which tokens are bound where the server supports it (DPoP, RFC 9449; draft
    /// extension `io.modelcontextprotocol/auth/dpop`). It must be the same as long as the tokens
    /// are kept, and is kept as safely.
    pub dpop: Option<&'s dyn Signer>,
    /// The rules for servers.
    pub policy: Policy<'s>,
}

/// Way in which a client gets its tokens.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Grant<'s> {
    /// A person permits it, in a browser (2025-03-26 and later, basic/authorization).
    #[default]
    AuthorizationCode,
    /// With its own credentials ([`RegisteredClient`]), without a person (extension
    /// `io.modelcontextprotocol/oauth-client-credentials`).
    ClientCredentials,
    /// The organization of a person permits it, who has logged in at its identity provider
    /// (extension `io.modelcontextprotocol/enterprise-managed-authorization`).
    Enterprise(IdentityProvider<'s>),
    /// With a token of the platform on which the client runs (draft extension
    /// `io.modelcontextprotocol/auth/wif`).
    WorkloadIdentity,
}

/// An identity provider of an organization, and the client as it is known there.
#[derive(Clone, Copy, Debug)]
pub struct IdentityProvider<'s> {
    pub(super) issuer: &'s str,
    pub(super) token_endpoint: &'s str,
    pub(super) client: RegisteredClient<'s>,
}

/// A client that has been registered beforehand. Its `Debug` output does not show the secret.
#[derive(Clone, Copy)]
#[must_use]
pub struct RegisteredClient<'s> {
    /// Its id.
    pub id: &'s str,
    /// The issuer of the authorization server at which it is registered. A client with a secret
    /// needs it ([`Reason::SecretWithoutIssuer`]): the MCP server names the authorization server,
    /// and could name one that collects secrets. Without it, the client is used at the first
    /// authorization server that is met, and at no other.
    pub issuer: Option<&'s str>,
    /// Its secret, which only the authorization server of `issuer` gets.
    pub secret: Option<&'s str>,
    /// The method of its authentication. Otherwise the server's metadata decides.
    pub method: Option<TokenEndpointAuth>,
    /// The key of `private_key_jwt`.
    pub key: Option<&'s dyn Signer>,
}

/// Way in which a client authenticates at a token endpoint (RFC 6749, 2.3; RFC 7523, 2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TokenEndpointAuth {
    /// `none`: with its id alone.
    None,
    /// `client_secret_basic`: id and secret in the header field `Authorization`.
    Basic,
    /// `client_secret_post`: id and secret in the body.
    Post,
    /// `private_key_jwt`: a signed assertion in the body.
    PrivateKeyJwt,
}

/// Limits on what servers may name. By default: `https` to the Internet, any issuer, PKCE, and the
/// rules of 2025-03-26 where a server has no resource metadata.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Policy<'s> {
    /// The rules for URLs.
    pub urls: UrlRules,
    /// The only issuers that are accepted, byte for byte. Default: any.
    pub issuers: Option<&'s [&'s str]>,
    /// Issuers that are accepted although their metadata does not list PKCE with S256 (2025-11-25
    /// and later refuse them). It is used there as well.
    pub without_pkce: &'s [&'s str],
    /// Whether a server without resource metadata is taken for its own authorization server, as
    /// 2025-03-26 has it. Default: true.
    pub legacy: bool,
}

impl<'s> Setup<'s> {
    /// Creates the setup for a server. `endpoint` is its URL, as requests are sent to it;
    /// `client_name` is shown to people, and registered.
    pub const fn new(endpoint: &'s str, client_name: &'s str) -> Self {
        Self {
            endpoint,
            client_name,
            grant: Grant::AuthorizationCode,
            clients: &[],
            metadata_document: None,
            registers: true,
            scope: None,
            document_key: None,
            dpop: None,
            policy: Policy::new(),
        }
    }

    /// Refuses a secret for which no issuer is known: the MCP server would choose who gets it.
    pub(super) fn check(&self) -> Result<(), Reason> {
        let is_open =
            |client: &RegisteredClient<'_>| client.secret.is_some() && client.issuer.is_none();
        if self.clients.iter().any(is_open) { Err(Reason::SecretWithoutIssuer) } else { Ok(()) }
    }
}

impl<'s> IdentityProvider<'s> {
    /// Creates a provider. `client` is the client as it is registered there, which may have another
    /// id than at the authorization server of the MCP server. Its own `issuer` is not read.
    pub const fn new(
        issuer: &'s str,
        token_endpoint: &'s str,
        client: RegisteredClient<'s>,
    ) -> Self {
        Self { issuer, token_endpoint, client }
    }
}

impl<'s> RegisteredClient<'s> {
    /// Creates a client with this id.
    pub const fn new(id: &'s str) -> Self {
        Self { id, issuer: None, secret: None, method: None, key: None }
    }
}

impl Policy<'_> {
    /// Creates the default policy.
    pub const fn new() -> Self {
        Self { urls: UrlRules::new(), issuers: None, without_pkce: &[], legacy: true }
    }

    pub(super) fn allows(&self, issuer: &str) -> Result<(), Reason> {
        let is_allowed = self.issuers.is_none_or(|issuers| issuers.contains(&issuer));
        if is_allowed { Ok(()) } else { Err(Reason::IssuerNotAllowed) }
    }
}

mcp_sansio::default_is_new!(Policy<'_>);

impl TokenEndpointAuth {
    /// Returns the name in metadata.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// All, in the order of preference where a client has both key and secret.
    pub(super) const ALL: [Self; 4] = [Self::PrivateKeyJwt, Self::Basic, Self::Post, Self::None];
}

mcp_sansio::opaque_debug!(Setup<'_> { endpoint, grant, clients });

mcp_sansio::opaque_debug!(RegisteredClient<'_> { id, issuer });

/// A failed authorization. Its `Display` output says which step failed, at which URL, what the
/// server answered, and what to do. It is safe for terminals, has no secret, and is bounded: URL
/// and answer are cut off after 512 bytes each.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    /// A configured client has a secret, and no [`issuer`](RegisteredClient::issuer) that may have
    /// it. No request was sent.
    SecretWithoutIssuer,
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

mcp_sansio::error_type!(Failure<'_>);

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
            Self::SecretWithoutIssuer => "a client has a secret, but no issuer that may have it",
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
            Self::SecretWithoutIssuer => {
                "set the client's `issuer` to that of the authorization server that gave the secret"
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

/// A private key, in memory or in a secure element, that signs assertions
/// ([`jws::put_assertion`](super::jws::put_assertion)) and proofs
/// ([`dpop::put_proof`](super::dpop::put_proof)).
pub trait Signer {
    /// Returns the name of the signature algorithm (RFC 7518, 3.1), for example `ES256`.
    fn alg(&self) -> &str;

    /// Signs the concatenation of the parts, writes the signature to the beginning of `out`, which
    /// has [`MAX_SIGNATURE`] bytes, and returns its length.
    ///
    /// # Errors
    /// [`SignError`] if the key cannot be used.
    fn sign(&self, message: &[&[u8]], out: &mut [u8]) -> Result<usize, SignError>;

    /// Passes the members of the public key to `put`: those that RFC 7638, 3.2 requires of the type
    /// of key, and no other, in the order of their names. For ES256 these are `crv`, `kty`, `x` and
    /// `y`, for EdDSA all but `y`.
    fn jwk(&self, put: &mut dyn FnMut(&str, &str));

    /// Returns the id by which the authorization server knows the key.
    fn key_id(&self) -> Option<&str> {
        None
    }
}

/// Maximum length of a signature in bytes: that of RSA with 4096 bits.
pub const MAX_SIGNATURE: usize = 512;

/// Reason why nothing was signed.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignError {
    /// The key cannot be used now, for example because its secure element does not answer.
    Unavailable,
    /// The memory has no room for the text.
    Full,
}

mcp_sansio::error_type!(SignError {
    Unavailable => "the signing key cannot be used",
    Full => "the memory has no room for the signed text",
});

/// Reason why bytes are no private key.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The encoding is neither that of a key in PKCS#8, nor PEM of one (`BEGIN PRIVATE KEY`).
    Encoding,
    /// It is a key of another algorithm.
    OtherAlgorithm,
    /// The number is no private key of the curve, or not that of the public key beside it.
    Value,
}

mcp_sansio::error_type!(KeyError {
    Encoding => "not a private key in PKCS#8, or PEM of it (BEGIN PRIVATE KEY)",
    OtherAlgorithm => "a private key of another algorithm: ES256 takes one of P-256, EdDSA one of Ed25519",
    Value => "the number is no private key of the curve, or not that of its public key",
});
