//! Settings of a login.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::{fmt, io};

use mcp_sansio::http::client::Origin;
use mcp_sansio_oauth::{
    AuthorizationState, Grant, IdentityProvider, Policy, RegisteredClient, Setup, Signer,
    TokenEndpointAuth, UrlRules,
};

use super::MEMORY;
use super::browser::Browser;
use crate::store::{Store, StoreError};

/// Settings of a client that gets its tokens by OAuth:
/// `HttpTransport::new(url)?.oauth(OAuth::new("Panel").store(store))`.
///
/// It logs in when the server asks for it, and renews its tokens without the person. The requests
/// that wait for a login that fails get the reason.
#[derive(Clone)]
pub struct OAuth {
    client_name: String,
    grant: OwnedGrant,
    clients: Vec<OAuthClient>,
    metadata_document: Option<String>,
    document_key: Option<Key>,
    dpop: Option<Key>,
    registers: bool,
    scope: Option<String>,
    rules: UrlRules,
    issuers: Option<Vec<String>>,
    without_pkce: Vec<String>,
    legacy: bool,
    pub(super) store: Option<Arc<dyn Store>>,
    pub(super) browser: Option<Arc<AnyBrowser>>,
    pub(super) assertion: Option<Arc<Assert>>,
}

#[derive(Clone)]
enum OwnedGrant {
    Code,
    Credentials,
    Enterprise { issuer: String, token_endpoint: String, client: OAuthClient },
    Workload,
}

/// A client that has been registered at an authorization server beforehand.
#[derive(Clone)]
pub struct OAuthClient {
    id: String,
    secret: Option<String>,
    issuer: Option<String>,
    key: Option<Key>,
    method: Option<TokenEndpointAuth>,
}

type Key = Arc<dyn Signer + Send + Sync>;

/// A [`Browser`] of any type.
pub(super) struct AnyBrowser {
    pub(super) redirect_uri: Box<RedirectUri>,
    pub(super) show: Box<dyn Fn(String) -> Answering + Send + Sync>,
}

type RedirectUri = dyn Fn(Option<&str>) -> io::Result<String> + Send + Sync;

pub(super) type Assert = dyn Fn(String, String) -> Answering + Send + Sync;
type Answering = Pin<Box<dyn Future<Output = io::Result<String>> + Send>>;

impl OAuth {
    /// Creates the settings of a client of this name, which is shown to people. Without
    /// [`store`](Self::store) nothing is kept; without [`browser`](Self::browser) what needs a
    /// person fails.
    #[must_use]
    pub fn new(client_name: impl Into<String>) -> Self {
        Self {
            client_name: client_name.into(),
            grant: OwnedGrant::Code,
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
            store: None,
            browser: None,
            assertion: None,
        }
    }

    /// Keeps tokens and registrations in this store, which several programs may share. They are
    /// secrets: a [`DirectoryStore`](crate::store::DirectoryStore) is for its owner alone.
    #[must_use]
    pub fn store(self, store: impl Store + 'static) -> Self {
        Self { store: Some(Arc::new(store)), ..self }
    }

    /// Sets what shows pages to the person, for example a
    /// [`SystemBrowser`](super::SystemBrowser).
    #[must_use]
    pub fn browser(self, browser: impl Browser) -> Self {
        let browser = Arc::new(browser);
        let shown = Arc::clone(&browser);
        let browser = AnyBrowser {
            redirect_uri: Box::new(move |last| browser.redirect_uri(last)),
            show: Box::new(move |url| {
                let browser = Arc::clone(&shown);
                Box::pin(async move { browser.show(url).await })
            }),
        };
        Self { browser: Some(Arc::new(browser)), ..self }
    }

    /// Adds a client that was registered beforehand. The first one for an issuer is used there.
    /// Without one the client registers itself, where it may.
    #[must_use]
    pub fn client(mut self, client: OAuthClient) -> Self {
        self.clients.push(client);
        self
    }

    /// Sets the URL of a client id metadata document, which is the client's id at servers that
    /// support it (2025-11-25 and later).
    #[must_use]
    pub fn metadata_document(self, url: impl Into<String>) -> Self {
        Self { metadata_document: Some(url.into()), ..self }
    }

    /// Sets the key that the metadata document names, with which the client authenticates
    /// (`private_key_jwt`), for example an `Es256` (feature `es256` of `mcp-sansio`) or an
    /// `Ed25519` (feature `eddsa`).
    #[must_use]
    pub fn document_key(self, key: impl Signer + Send + Sync + 'static) -> Self {
        Self { document_key: Some(Arc::new(key)), ..self }
    }

    /// Sets the key to which tokens are bound where the server supports it (DPoP, RFC 9449; draft
    /// extension `io.modelcontextprotocol/auth/dpop`). It must be the same as long as the store has
    /// the tokens, and is kept as safely.
    #[must_use]
    pub fn dpop(self, key: impl Signer + Send + Sync + 'static) -> Self {
        Self { dpop: Some(Arc::new(key)), ..self }
    }

    /// Sets whether the client registers itself where it has no id (RFC 7591). It does by default.
    #[must_use]
    pub fn registers(self, registers: bool) -> Self {
        Self { registers, ..self }
    }

    /// Narrows what is asked for to these scopes, separated by spaces.
    #[must_use]
    pub fn scope(self, scope: impl Into<String>) -> Self {
        Self { scope: Some(scope.into()), ..self }
    }

    /// Sets which URLs may be used, and where connections may lead. Default: `https` to the
    /// Internet.
    #[must_use]
    pub fn rules(self, rules: UrlRules) -> Self {
        Self { rules, ..self }
    }

    /// Sets the only issuers that are accepted, byte for byte. Default: any.
    #[must_use]
    pub fn issuers(self, issuers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { issuers: Some(issuers.into_iter().map(Into::into).collect()), ..self }
    }

    /// Sets issuers that are accepted although their metadata does not list PKCE with S256
    /// (2025-11-25 and later refuse them). It is used there as well.
    #[must_use]
    pub fn without_pkce(self, issuers: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { without_pkce: issuers.into_iter().map(Into::into).collect(), ..self }
    }

    /// Sets whether a server without resource metadata is taken for its own authorization server,
    /// as 2025-03-26 has it. It is by default.
    #[must_use]
    pub fn legacy(self, legacy: bool) -> Self {
        Self { legacy, ..self }
    }

    /// Gets tokens with the credentials of a [client](Self::client), without a person (extension
    /// `io.modelcontextprotocol/oauth-client-credentials`).
    #[must_use]
    pub fn client_credentials(self) -> Self {
        Self { grant: OwnedGrant::Credentials, ..self }
    }

    /// Gets tokens with the [assertion](Self::assertion) of an identity provider, at which the
    /// client is registered, too (extension
    /// `io.modelcontextprotocol/enterprise-managed-authorization`).
    #[must_use]
    pub fn enterprise(
        self,
        issuer: impl Into<String>,
        token_endpoint: impl Into<String>,
        client: OAuthClient,
    ) -> Self {
        let (issuer, token_endpoint) = (issuer.into(), token_endpoint.into());
        Self { grant: OwnedGrant::Enterprise { issuer, token_endpoint, client }, ..self }
    }

    /// Gets tokens with an [assertion](Self::assertion) of the platform (draft extension
    /// `io.modelcontextprotocol/auth/wif`).
    #[must_use]
    pub fn workload_identity(self) -> Self {
        Self { grant: OwnedGrant::Workload, ..self }
    }

    /// Sets what returns an assertion: the person's identity token, or a token of the platform. It
    /// gets the audience and a token endpoint, which some platforms take for the audience.
    #[must_use]
    pub fn assertion<F>(
        self,
        assertion: impl Fn(String, String) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = io::Result<String>> + Send + 'static,
    {
        let assertion: Arc<Assert> =
            Arc::new(move |audience, token_endpoint| Box::pin(assertion(audience, token_endpoint)));
        Self { assertion: Some(assertion), ..self }
    }

    /// Returns whether the store has tokens for the server at this URL. A registration alone, as of
    /// a person who did not permit the access, is no login.
    ///
    /// # Errors
    /// Those of the store.
    pub fn is_logged_in(&self, url: &str) -> Result<bool, StoreError> {
        let Some(store) = &self.store else { return Ok(false) };
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
        let Some(store) = &self.store else { return Ok(false) };
        let was_logged_in = self.is_logged_in(url)?;
        store.remove(&key(url))?;
        Ok(was_logged_in)
    }

    pub(super) const fn url_rules(&self) -> UrlRules {
        self.rules
    }

    /// Calls with the setup for the server at this URL.
    pub(super) fn with_setup<R>(&self, url: &str, call: impl FnOnce(&Setup<'_>) -> R) -> R {
        let clients: Vec<_> = self.clients.iter().map(OAuthClient::registered).collect();
        let without_pkce: Vec<&str> = self.without_pkce.iter().map(String::as_str).collect();
        let issuers: Option<Vec<&str>> =
            self.issuers.as_ref().map(|issuers| issuers.iter().map(String::as_str).collect());
        let policy = Policy::new().urls(self.rules).without_pkce(&without_pkce).legacy(self.legacy);
        let policy = issuers.as_deref().map_or(policy, |issuers| policy.issuers(issuers));
        let grant = match &self.grant {
            OwnedGrant::Code => Grant::AuthorizationCode,
            OwnedGrant::Credentials => Grant::ClientCredentials,
            OwnedGrant::Workload => Grant::WorkloadIdentity,
            OwnedGrant::Enterprise { issuer, token_endpoint, client } => Grant::Enterprise(
                IdentityProvider::new(issuer, token_endpoint, client.registered()),
            ),
        };
        let mut setup = Setup::new(url, &self.client_name)
            .grant(grant)
            .clients(&clients)
            .registers(self.registers)
            .policy(policy);
        if let Some(document) = &self.metadata_document {
            setup = setup.metadata_document(document);
        }
        if let Some(key) = &self.document_key {
            setup = setup.document_key(&**key);
        }
        if let Some(key) = &self.dpop {
            setup = setup.dpop(&**key);
        }
        if let Some(scope) = &self.scope {
            setup = setup.scope(scope);
        }
        call(&setup)
    }
}

impl OAuthClient {
    /// Creates a client with this id.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), secret: None, issuer: None, key: None, method: None }
    }

    /// Sets the secret.
    #[must_use]
    pub fn secret(self, secret: impl Into<String>) -> Self {
        Self { secret: Some(secret.into()), ..self }
    }

    /// Sets the issuer at which it is registered. Otherwise it is the first one that is met, and no
    /// other gets the credentials.
    #[must_use]
    pub fn issuer(self, issuer: impl Into<String>) -> Self {
        Self { issuer: Some(issuer.into()), ..self }
    }

    /// Sets the key with which it signs assertions (`private_key_jwt`), in place of a secret.
    #[must_use]
    pub fn key(self, key: impl Signer + Send + Sync + 'static) -> Self {
        Self { key: Some(Arc::new(key)), ..self }
    }

    /// Sets how it authenticates. Otherwise the server's metadata decides.
    #[must_use]
    pub fn method(self, method: TokenEndpointAuth) -> Self {
        Self { method: Some(method), ..self }
    }

    fn registered(&self) -> RegisteredClient<'_> {
        let mut client = RegisteredClient::new(&self.id);
        if let Some(secret) = &self.secret {
            client = client.secret(secret);
        }
        if let Some(issuer) = &self.issuer {
            client = client.issuer(issuer);
        }
        if let Some(key) = &self.key {
            client = client.key(&**key);
        }
        match self.method {
            Some(method) => client.method(method),
            None => client,
        }
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth").field("client_name", &self.client_name).finish_non_exhaustive()
    }
}

/// Omits the secret.
impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient").field("id", &self.id).finish_non_exhaustive()
    }
}

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
        let client = OAuthClient::new("id").secret("hidden");
        let oauth = OAuth::new("name").client(client.clone());
        assert!(!format!("{client:?}{oauth:?}").contains("hidden"));
    }
}
