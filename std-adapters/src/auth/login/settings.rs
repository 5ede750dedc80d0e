//! Settings of a login.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use mcp_sansio::http::client::Origin;
use mcp_sansio_oauth::{
    AuthorizationState, Grant, IdentityProvider, Policy, RegisteredClient, Setup, Signer,
    TokenEndpointAuth, UrlRules,
};

use super::MEMORY;
use super::browser::Browser;
use crate::store::{Store, StoreError};

/// Settings of a client that gets its tokens by OAuth:
/// `HttpTransport::new(url)?.oauth(OAuth::new("Panel").store(store))`. Fields can be changed after
/// [`new`](Self::new): `OAuth { scope: Some("files:read".into()), ..OAuth::new("Panel") }`.
///
/// It logs in when the server asks for it, and renews its tokens without the person. The requests
/// that wait for a login that fails get the reason.
#[derive(Clone)]
#[must_use]
pub struct OAuth {
    /// The name of the client, which is shown to people.
    pub client_name: String,
    /// How it gets tokens.
    pub grant: OAuthGrant,
    /// Clients that were registered beforehand. The first one for an issuer is used there. Without
    /// one the client registers itself, where it may.
    pub clients: Vec<OAuthClient>,
    /// The URL of a client id metadata document, which is the client's id at servers that support
    /// it (2025-11-25 and later).
    pub metadata_document: Option<String>,
    /// The key that the metadata document names, with which the client authenticates
    /// (`private_key_jwt`), for example an `Es256` (feature `es256` of `mcp-sansio`) or an
    /// `Ed25519` (feature `eddsa`).
    pub document_key: Option<Key>,
    /// The key to which tokens are bound where the server supports it (DPoP, RFC 9449; draft
    /// extension `io.modelcontextprotocol/auth/dpop`). It must be the same as long as the store has
    /// the tokens, and is kept as safely.
    pub dpop: Option<Key>,
    /// Whether the client registers itself where it has no id (RFC 7591). Default: true.
    pub registers: bool,
    /// Narrows what is asked for to these scopes, separated by spaces.
    pub scope: Option<String>,
    /// Which URLs may be used, and where connections may lead. Default: `https` to the Internet.
    pub rules: UrlRules,
    /// The only issuers that are accepted, byte for byte. Default: any.
    pub issuers: Option<Vec<String>>,
    /// Issuers that are accepted although their metadata does not list PKCE with S256 (2025-11-25
    /// and later refuse them). It is used there as well.
    pub without_pkce: Vec<String>,
    /// Whether a server without resource metadata is taken for its own authorization server, as
    /// 2025-03-26 has it. Default: true.
    pub legacy: bool,
    #[doc(hidden)]
    pub parts: Parts,
}

/// Settings of [`OAuth`] that have methods, since their types are not public.
#[derive(Clone, Default)]
pub struct Parts {
    pub(super) store: Option<Arc<dyn Store>>,
    pub(super) browser: Option<Arc<AnyBrowser>>,
    pub(super) assertion: Option<Arc<Assert>>,
}

/// Way in which a client gets its tokens: an owned [`Grant`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum OAuthGrant {
    /// A person permits it, in the [browser](OAuth::browser).
    #[default]
    AuthorizationCode,
    /// With the credentials of one of its [clients](OAuth::clients), without a person (extension
    /// `io.modelcontextprotocol/oauth-client-credentials`, which the client declares in
    /// [`ClientConfig::extensions`](mcp_sansio::ClientConfig::extensions)).
    ClientCredentials,
    /// With the [assertion](OAuth::assertion) of an identity provider, at which the client is
    /// registered, too (extension `io.modelcontextprotocol/enterprise-managed-authorization`, which
    /// the client declares in [`ClientConfig::extensions`](mcp_sansio::ClientConfig::extensions)).
    Enterprise {
        /// The issuer of the identity provider.
        issuer: String,
        /// The token endpoint of the identity provider.
        token_endpoint: String,
        /// The client as it is registered there. Its own `issuer` is not read.
        client: OAuthClient,
    },
    /// With an [assertion](OAuth::assertion) of the platform (draft extension
    /// `io.modelcontextprotocol/auth/wif`).
    WorkloadIdentity,
}

/// A client that has been registered at an authorization server beforehand:
/// `OAuthClient { secret: Some(secret), issuer: Some(issuer), ..OAuthClient::new("id") }`.
#[derive(Clone)]
#[must_use]
pub struct OAuthClient {
    /// Its id.
    pub id: String,
    /// Its secret, which only the authorization server of `issuer` gets.
    pub secret: Option<String>,
    /// The issuer of the authorization server at which it is registered. A client with a secret
    /// needs it, or its logins fail: the MCP server names the authorization server, and could name
    /// one that collects secrets. Without it, the client is used at the first authorization server
    /// that is met, and at no other.
    pub issuer: Option<String>,
    /// The key with which it signs assertions (`private_key_jwt`), in place of a secret.
    pub key: Option<Key>,
    /// How it authenticates. Otherwise the server's metadata decides.
    pub method: Option<TokenEndpointAuth>,
}

type Key = Arc<dyn Signer + Send + Sync>;

/// A [`Browser`] of any type.
pub(super) struct AnyBrowser {
    pub(super) redirect_uri: Box<RedirectUri>,
    pub(super) show: Box<dyn Fn(String) -> Answering + Send + Sync>,
}

type RedirectUri = dyn Fn(Option<&str>) -> io::Result<String> + Send + Sync;

type Assert = dyn Fn(String, String) -> Answering + Send + Sync;
type Answering = Pin<Box<dyn Future<Output = io::Result<String>> + Send>>;

impl OAuth {
    /// Creates the settings of a client of this name, which is shown to people. Without
    /// [`store`](Self::store) nothing is kept; without [`browser`](Self::browser) what needs a
    /// person fails.
    pub fn new(client_name: impl Into<String>) -> Self {
        Self {
            client_name: client_name.into(),
            grant: OAuthGrant::default(),
            clients: Vec::new(),
            metadata_document: None,
            document_key: None,
            dpop: None,
            registers: true,
            scope: None,
            rules: UrlRules::new(),
            issuers: None,
            without_pkce: Vec::new(),
            legacy: true,
            parts: Parts::default(),
        }
    }

    /// Keeps tokens and registrations in this store, which several programs may share. They are
    /// secrets: a [`DirectoryStore`](crate::store::DirectoryStore) is for its owner alone.
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.parts.store = Some(Arc::new(store));
        self
    }

    /// Sets what shows pages to the person, for example a
    /// [`SystemBrowser`](super::SystemBrowser).
    pub fn browser(mut self, browser: impl Browser) -> Self {
        let browser = Arc::new(browser);
        let shown = Arc::clone(&browser);
        let browser = AnyBrowser {
            redirect_uri: Box::new(move |last| browser.redirect_uri(last)),
            show: Box::new(move |url| {
                let browser = Arc::clone(&shown);
                Box::pin(async move { browser.show(url).await })
            }),
        };
        self.parts.browser = Some(Arc::new(browser));
        self
    }

    /// Sets what returns an assertion: the person's identity token, or a token of the platform. It
    /// gets the audience and a token endpoint, which some platforms take for the audience.
    pub fn assertion<F>(
        mut self,
        assertion: impl Fn(String, String) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = io::Result<String>> + Send + 'static,
    {
        let assertion: Arc<Assert> =
            Arc::new(move |audience, token_endpoint| Box::pin(assertion(audience, token_endpoint)));
        self.parts.assertion = Some(assertion);
        self
    }

    /// Returns whether the store has tokens for the server at this URL. A registration alone, as of
    /// a person who did not permit the access, is no login.
    ///
    /// # Errors
    /// Those of the store.
    pub fn is_logged_in(&self, url: &str) -> Result<bool, StoreError> {
        let Some(store) = &self.parts.store else { return Ok(false) };
        let Some(record) = store.get(&key(url))? else { return Ok(false) };
        let mut memory = AuthorizationState::new(vec![0; MEMORY]);
        Ok(self.with_setup(&endpoint(url), |setup| {
            let mut machine = memory.open(setup);
            machine.load(&record).is_ok() && machine.generation() > 0
        }))
    }

    /// Removes tokens and registration for the server at this URL from the store. Returns whether
    /// there was a login. Its tokens are not revoked.
    ///
    /// # Errors
    /// Those of the store.
    pub fn log_out(&self, url: &str) -> Result<bool, StoreError> {
        let Some(store) = &self.parts.store else { return Ok(false) };
        let was_logged_in = self.is_logged_in(url)?;
        store.remove(&key(url))?;
        Ok(was_logged_in)
    }

    /// Calls with the setup for the server at this URL.
    pub(super) fn with_setup<R>(&self, url: &str, call: impl FnOnce(&Setup<'_>) -> R) -> R {
        let clients: Vec<_> = self.clients.iter().map(OAuthClient::registered).collect();
        let without_pkce: Vec<&str> = self.without_pkce.iter().map(String::as_str).collect();
        let issuers: Option<Vec<&str>> =
            self.issuers.as_ref().map(|issuers| issuers.iter().map(String::as_str).collect());
        let grant = match &self.grant {
            OAuthGrant::AuthorizationCode => Grant::AuthorizationCode,
            OAuthGrant::ClientCredentials => Grant::ClientCredentials,
            OAuthGrant::WorkloadIdentity => Grant::WorkloadIdentity,
            OAuthGrant::Enterprise { issuer, token_endpoint, client } => Grant::Enterprise(
                IdentityProvider::new(issuer, token_endpoint, client.registered()),
            ),
        };
        call(&Setup {
            grant,
            clients: &clients,
            metadata_document: self.metadata_document.as_deref(),
            registers: self.registers,
            scope: self.scope.as_deref(),
            document_key: self.document_key.as_deref().map(|key| key as &dyn Signer),
            dpop: self.dpop.as_deref().map(|key| key as &dyn Signer),
            policy: Policy {
                urls: self.rules,
                issuers: issuers.as_deref(),
                without_pkce: &without_pkce,
                legacy: self.legacy,
            },
            ..Setup::new(url, &self.client_name)
        })
    }
}

impl OAuthClient {
    /// Creates a client with this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), secret: None, issuer: None, key: None, method: None }
    }

    fn registered(&self) -> RegisteredClient<'_> {
        RegisteredClient {
            id: &self.id,
            issuer: self.issuer.as_deref(),
            secret: self.secret.as_deref(),
            method: self.method,
            key: self.key.as_deref().map(|key| key as &dyn Signer),
        }
    }
}

mcp_sansio::opaque_debug!(OAuth { client_name });

// Omits the secret.
mcp_sansio::opaque_debug!(OAuthClient { id });

/// The key of the login for a server.
pub(super) fn key(url: &str) -> String {
    format!("oauth/{}", endpoint(url))
}

/// Returns one spelling for all of a server's URL that an
/// [`HttpTransport`](crate::asynchronous::client::http::HttpTransport) does not tell apart.
pub(super) fn endpoint(url: &str) -> String {
    match Origin::parse(url) {
        Ok((origin, target)) => {
            let scheme = if origin.is_secure { "https" } else { "http" };
            format!("{scheme}://{}{target}", origin.authority.to_ascii_lowercase())
        }
        Err(_) => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asynchronous::client::http::HttpTransport;

    #[test]
    fn a_login_is_found_by_the_url_that_was_typed() {
        for (typed, same) in [
            ("https://a.example", "https://a.example/"),
            ("https://A.Example/mcp", "https://a.example/mcp"),
            ("http://[::1]:80/mcp", "http://[::1]:80/mcp"),
        ] {
            let kept = HttpTransport::new(typed).unwrap().url();
            assert_eq!([key(&kept), key(typed)], [key(same), key(same)]);
        }
        let keys =
            ["https://a/mcp", "http://a/mcp", "https://a/MCP", "https://a/mcp/", "https://b/mcp"];
        let keys: std::collections::HashSet<_> = keys.map(key).into();
        assert_eq!(keys.len(), 5);
    }

    #[test]
    fn secrets_are_not_in_debug_output() {
        let client = OAuthClient { secret: Some("hidden".into()), ..OAuthClient::new("id") };
        let oauth = OAuth { clients: vec![client.clone()], ..OAuth::new("name") };
        assert!(!format!("{client:?}{oauth:?}").contains("hidden"));
    }
}
