//! Settings of a client's authorization.

use core::fmt;

use super::failure::Reason;
use super::signer::Signer;
use super::url::UrlRules;

/// The server's URL, and the client's way to get tokens for it. It borrows from the caller, and is
/// `const` where its parts are; `&SETUP` then is `'static`. A `static` must be `Sync`, which keys
/// need not be: a secure element behind a `RefCell` is a [`Signer`]. Where several threads share
/// settings, each makes a `Setup` of them for its calls.
///
/// ```
/// # use mcp_sansio::oauth::{Policy, Setup};
/// const SETUP: Setup<'_> = Setup::new("https://mcp.example.com/mcp", "Panel")
///     .scope("files:read")
///     .policy(Policy::new());
/// let setup: &'static Setup<'static> = &SETUP;
/// ```
#[derive(Clone, Copy)]
pub struct Setup<'s> {
    pub(super) endpoint: &'s str,
    pub(super) client_name: &'s str,
    pub(super) grant: Grant<'s>,
    pub(super) clients: &'s [RegisteredClient<'s>],
    pub(super) metadata_document: Option<&'s str>,
    pub(super) registers: bool,
    pub(super) scope: Option<&'s str>,
    pub(super) document_key: Option<&'s dyn Signer>,
    pub(super) dpop: Option<&'s dyn Signer>,
    pub(super) policy: Policy<'s>,
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
pub struct RegisteredClient<'s> {
    pub(super) id: &'s str,
    pub(super) issuer: Option<&'s str>,
    pub(super) secret: Option<&'s str>,
    pub(super) method: Option<TokenEndpointAuth>,
    pub(super) key: Option<&'s dyn Signer>,
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
pub struct Policy<'s> {
    pub(super) urls: UrlRules,
    pub(super) issuers: Option<&'s [&'s str]>,
    pub(super) without_pkce: &'s [&'s str],
    pub(super) legacy: bool,
}

impl<'s> Setup<'s> {
    /// Creates the setup for a server. `endpoint` is its URL, as requests are sent to it;
    /// `client_name` is shown to people, and registered.
    #[must_use]
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

    /// Sets how tokens are got.
    #[must_use]
    pub const fn grant(self, grant: Grant<'s>) -> Self {
        Self { grant, ..self }
    }

    /// Sets clients that were registered beforehand. The first one for an issuer is used there.
    #[must_use]
    pub const fn clients(self, clients: &'s [RegisteredClient<'s>]) -> Self {
        Self { clients, ..self }
    }

    /// Sets the URL of a client id metadata document, which is the client's id at servers that
    /// support it (2025-11-25 and later).
    #[must_use]
    pub const fn metadata_document(self, url: &'s str) -> Self {
        Self { metadata_document: Some(url), ..self }
    }

    /// Sets the key that the metadata document names, for `private_key_jwt`.
    #[must_use]
    pub const fn document_key(self, key: &'s dyn Signer) -> Self {
        Self { document_key: Some(key), ..self }
    }

    /// Sets the key to which tokens are bound where the server supports it (DPoP, RFC 9449; draft
    /// extension `io.modelcontextprotocol/auth/dpop`). It must be the same as long as the tokens
    /// are kept, and is kept as safely.
    #[must_use]
    pub const fn dpop(self, key: &'s dyn Signer) -> Self {
        Self { dpop: Some(key), ..self }
    }

    /// Sets whether the client registers itself where it has no id (RFC 7591). It does by default.
    #[must_use]
    pub const fn registers(self, registers: bool) -> Self {
        Self { registers, ..self }
    }

    /// Narrows what is asked for to these scopes, separated by spaces. Where a server names none of
    /// them, these are asked for.
    #[must_use]
    pub const fn scope(self, scope: &'s str) -> Self {
        Self { scope: Some(scope), ..self }
    }

    /// Sets what is accepted from servers.
    #[must_use]
    pub const fn policy(self, policy: Policy<'s>) -> Self {
        Self { policy, ..self }
    }

    /// Returns the URL of the MCP server.
    #[must_use]
    pub const fn endpoint(&self) -> &'s str {
        self.endpoint
    }
}

impl<'s> IdentityProvider<'s> {
    /// Creates a provider. `client` is the client as it is registered there, which may have another
    /// id than at the authorization server of the MCP server.
    #[must_use]
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
    #[must_use]
    pub const fn new(id: &'s str) -> Self {
        Self { id, issuer: None, secret: None, method: None, key: None }
    }

    /// Sets the authorization server's issuer at which it is registered. Otherwise it is that of
    /// the first authorization server that is met, and no other gets the credentials.
    #[must_use]
    pub const fn issuer(self, issuer: &'s str) -> Self {
        Self { issuer: Some(issuer), ..self }
    }

    /// Sets the secret.
    #[must_use]
    pub const fn secret(self, secret: &'s str) -> Self {
        Self { secret: Some(secret), ..self }
    }

    /// Sets the key of `private_key_jwt`.
    #[must_use]
    pub const fn key(self, key: &'s dyn Signer) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Sets how it authenticates. Otherwise the server's metadata decides.
    #[must_use]
    pub const fn method(self, method: TokenEndpointAuth) -> Self {
        Self { method: Some(method), ..self }
    }
}

impl<'s> Policy<'s> {
    /// Creates the default policy.
    #[must_use]
    pub const fn new() -> Self {
        Self { urls: UrlRules::new(), issuers: None, without_pkce: &[], legacy: true }
    }

    /// Sets which URLs may be used.
    #[must_use]
    pub const fn urls(self, urls: UrlRules) -> Self {
        Self { urls, ..self }
    }

    /// Sets the only issuers that are accepted, byte for byte.
    #[must_use]
    pub const fn issuers(self, issuers: &'s [&'s str]) -> Self {
        Self { issuers: Some(issuers), ..self }
    }

    /// Sets issuers that are accepted although their metadata does not list PKCE with S256
    /// (2025-11-25 and later refuse them). It is used there as well.
    #[must_use]
    pub const fn without_pkce(self, issuers: &'s [&'s str]) -> Self {
        Self { without_pkce: issuers, ..self }
    }

    /// Sets whether a server without resource metadata is taken for its own authorization server,
    /// as 2025-03-26 has it. It is by default.
    #[must_use]
    pub const fn legacy(self, legacy: bool) -> Self {
        Self { legacy, ..self }
    }

    pub(super) fn allows(&self, issuer: &str) -> Result<(), Reason> {
        let is_allowed = self.issuers.is_none_or(|issuers| issuers.contains(&issuer));
        if is_allowed { Ok(()) } else { Err(Reason::IssuerNotAllowed) }
    }
}

impl Default for Policy<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl TokenEndpointAuth {
    /// Returns the name in metadata.
    #[must_use]
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

impl fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("endpoint", &self.endpoint)
            .field("grant", &self.grant)
            .field("clients", &self.clients)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RegisteredClient<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegisteredClient")
            .field("id", &self.id)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}
