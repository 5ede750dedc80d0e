//! Checks of access tokens: [`Authorizer`](crate::asynchronous::http::Authorizer)s for
//! [`HttpOptions::authorize`](crate::asynchronous::http::HttpOptions::authorize).

pub(crate) mod cache;
pub(crate) mod dpop;
pub(crate) mod introspection;
pub(crate) mod jwks;
pub(crate) mod jwt;
#[cfg(test)]
pub(crate) mod tests;

pub use dpop::Dpop;
pub use introspection::{Introspected, Introspection};
pub use jwks::{Jwks, SourceError};
pub use jwt::{Jwt, Signed};
pub use mcp_sansio_oauth::Algorithm;

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use mcp_sansio::http::Principal;
use mcp_sansio_oauth::jws::MAX_TOKEN;
use mcp_sansio_oauth::{AccessToken, Refusal, TokenRules, UnixTime, Writer};

use crate::asynchronous::client::http::{Connect, boxed};
use crate::asynchronous::http::{AuthorizationError, Authorizer, Credentials, Scheme};
use cache::{MAX_BYTES, TokenCache};
use dpop::BadProof;
use jwks::Source;

/// A check of access tokens, with the settings of both kinds, [`Jwt`] and [`Introspection`]:
/// `Jwt { scope: Some("files:read".into()), ..Jwt::new(issuer, audience) }`.
#[must_use]
pub struct Checker<V> {
    /// The scope that each challenge names, which a client should request. It is not checked here.
    /// Default: none.
    pub scope: Option<Cow<'static, str>>,
    /// Accepts tokens that are bound to a key, with their proofs. Default: they are refused.
    pub dpop: Option<Dpop>,
    /// Maximum number of bytes of known tokens. Default: 4 MiB.
    pub cache_bytes: usize,
    #[doc(hidden)]
    pub source: Source,
    /// The settings of its kind alone, [`Signed`] or [`Introspected`].
    pub verifier: V,
    #[doc(hidden)]
    pub cache: TokenCache,
}

/// A token that was found valid.
#[derive(Clone, Debug)]
struct Verified {
    principal: Arc<Principal>,
    /// Thumbprint of the key to which the token is bound (RFC 9449, 6.1).
    jkt: Option<String>,
}

/// What differs between kinds of tokens.
trait Verifier: Sized + Send + Sync + 'static {
    /// Returns the generation of the keys with which known tokens were verified; `None` if none is
    /// known, since the keys may have changed.
    fn generation(&self, now: Instant) -> Option<u64>;

    /// Verifies a token that is not known, and makes it known.
    fn verify(
        checker: &Checker<Self>,
        token: &str,
        credentials: &Credentials,
        now: Moment,
    ) -> impl Future<Output = Result<Arc<Verified>, Refusal>> + Send;
}

impl<V> Checker<V> {
    fn with(verifier: V, issuer: String, audience: String, cache: TokenCache) -> Self {
        Self {
            scope: None,
            dpop: None,
            cache_bytes: MAX_BYTES,
            source: Source::new(issuer, audience),
            verifier,
            cache,
        }
    }

    /// Makes the connections to the authorization server with `connector`. Default: `Tls` with the
    /// feature `tls`, else TCP.
    pub fn connector(mut self, connector: impl Connect) -> Self {
        self.source.connector = boxed(connector);
        self
    }

    fn rules(&self) -> TokenRules<'_> {
        TokenRules::new(&self.source.issuer, &self.source.audience)
    }

    /// Returns what is kept of a token that passed all checks.
    fn verified(&self, token: &AccessToken<'_>, credentials: &Credentials) -> Verified {
        let mut principal = Principal::new(&*self.source.issuer, token.subject.to_string());
        principal.scopes = token.scope.map(|scope| scope.to_string()).unwrap_or_default();
        token.claims.as_str().clone_into(&mut principal.claims);
        principal.expires = token.until.map(|until| credentials.time_of(until.as_secs()));
        let jkt = token.jkt.map(|jkt| jkt.to_string());
        Verified { principal: Arc::new(principal), jkt }
    }

    /// Keeps what a token says for its next uses.
    fn remember(&self, token: &str, generation: u64, until: u64, all: Verified) -> Arc<Verified> {
        let verified = Arc::new(all);
        self.cache.insert(token.as_bytes(), generation, until, &verified, self.cache_bytes);
        verified
    }

    /// Returns scheme and token of a request.
    fn token<'c>(
        &self,
        credentials: &'c Credentials,
    ) -> Result<(Scheme, &'c str), AuthorizationError> {
        credentials.authorization().ok_or_else(|| {
            let fields = credentials.head().fields.first_two("authorization");
            let error = || match fields {
                // Another token would not help (RFC 6750, 3.1).
                [_, Some(_)] => AuthorizationError::invalid_request()
                    .description("there is more than one Authorization field"),
                _ => self.with_scope(AuthorizationError::missing_token()),
            };
            match &self.dpop {
                None => error(),
                Some(dpop) if dpop.required => error().dpop(ALGORITHMS),
                Some(_) => error().or(error().dpop(ALGORITHMS)),
            }
        })
    }

    /// Returns what is known of a token that was found valid before.
    fn known_token(&self, token: &[u8], now: Moment) -> Option<Arc<Verified>>
    where
        V: Verifier,
    {
        self.cache.get(token, self.verifier.generation(now.instant)?, now.unix)
    }

    async fn verify(
        &self,
        token: &str,
        credentials: &Credentials,
        now: Moment,
    ) -> Result<Arc<Verified>, Refusal>
    where
        V: Verifier,
    {
        if token.len() > MAX_TOKEN {
            return Err(Refusal::TooLong);
        }
        match self.known_token(token.as_bytes(), now) {
            Some(verified) => Ok(verified),
            None => V::verify(self, token, credentials, now).await,
        }
    }

    /// Returns the response to a request whose token is refused.
    fn refused(&self, scheme: Scheme, refusal: Refusal) -> AuthorizationError {
        if refusal == Refusal::Unavailable {
            return AuthorizationError::unavailable();
        }
        let error = AuthorizationError::invalid_token().description(refusal.description());
        let error = self.with_scope(error);
        let needs_proof = matches!(refusal, Refusal::Bound | Refusal::Bearer);
        if self.dpop.is_some() && (scheme == Scheme::Dpop || needs_proof) {
            error.dpop(ALGORITHMS)
        } else {
            error
        }
    }

    /// Returns the principal of a request, if its token may be used in this way.
    fn admit(
        &self,
        scheme: Scheme,
        token: &str,
        verified: &Verified,
        credentials: &Credentials,
        now: Moment,
    ) -> Result<Arc<Principal>, AuthorizationError> {
        let refused = |refusal| self.refused(scheme, refusal);
        match (scheme, &self.dpop, &verified.jkt) {
            (Scheme::Bearer, ..) => self.admit_bearer(verified).map_err(refused)?,
            (Scheme::Dpop, None, _) => return Err(refused(Refusal::Scheme)),
            (Scheme::Dpop, Some(_), None) => return Err(refused(Refusal::Unbound)),
            (Scheme::Dpop, Some(dpop), Some(jkt)) => {
                dpop.check(credentials, token, jkt, now.unix).map_err(|bad| match bad {
                    BadProof::Invalid(why) => {
                        AuthorizationError::invalid_dpop_proof(ALGORITHMS).description(why)
                    }
                    BadProof::Nonce(nonce) => AuthorizationError::use_dpop_nonce(ALGORITHMS, nonce),
                })?;
            }
        }
        Ok(Arc::clone(&verified.principal))
    }

    /// Checks that a token needs no proof.
    fn admit_bearer(&self, verified: &Verified) -> Result<(), Refusal> {
        match &self.dpop {
            _ if verified.jkt.is_some() => Err(Refusal::Bound),
            Some(dpop) if dpop.required => Err(Refusal::Bearer),
            _ => Ok(()),
        }
    }

    fn with_scope(&self, error: AuthorizationError) -> AuthorizationError {
        match &self.scope {
            Some(scope) => error.scope(scope.clone()),
            None => error,
        }
    }
}

impl<V: Verifier> Authorizer for Checker<V> {
    fn known(&self, credentials: &Credentials) -> Option<Arc<Principal>> {
        let (Scheme::Bearer, token) = credentials.token_bytes()? else { return None };
        let verified = self.known_token(token, Moment::of(credentials))?;
        self.admit_bearer(&verified).is_ok().then(|| Arc::clone(&verified.principal))
    }

    async fn check(&self, credentials: &Credentials) -> Result<Arc<Principal>, AuthorizationError> {
        let (scheme, token) = self.token(credentials)?;
        let now = Moment::of(credentials);
        let verified = self.verify(token, credentials, now).await;
        let verified = verified.map_err(|refusal| self.refused(scheme, refusal))?;
        self.admit(scheme, token, &verified, credentials, now)
    }
}

mcp_sansio::opaque_debug!([V: std::fmt::Debug] Checker<V> |it| {
    issuer: it.source.issuer, audience: it.source.audience, verifier
});

/// Returns the memory that the check of a text needs.
fn memory_for(text: &[u8]) -> Vec<u8> {
    vec![0; 2 * text.len()]
}

/// Returns a text of at most this length.
fn written(length: usize, write: impl FnOnce(&mut Writer<'_>)) -> String {
    let mut memory = vec![0; length];
    let mut out = Writer::new(&mut memory);
    write(&mut out);
    out.as_str().to_owned()
}

/// The algorithms of proofs: all of [`Algorithm`](Algorithm), by all their names.
const ALGORITHMS: &str = "RS256 PS256 ES256 EdDSA Ed25519";

/// The time of a request.
#[derive(Clone, Copy, Debug)]
struct Moment {
    /// Seconds since 1970.
    unix: u64,
    instant: Instant,
}

impl Moment {
    fn of(credentials: &Credentials) -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self { unix, instant: credentials.at() }
    }

    const fn time(self) -> UnixTime {
        UnixTime::from_secs(self.unix)
    }
}
