//! Tokens that are signed: JWT access tokens (RFC 9068).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use mcp_sansio::RawJson;
use mcp_sansio::http::site::Principal;

use super::cache::TokenCache;
use super::claims::{Expected, Verified, check_times, text};
use super::dpop::Dpop;
use super::gate::{Gate, Moment};
use super::jwks::{Jwks, KeySet};
use super::jws::{Header, Jws};
use super::key::Algorithm;
use super::refusal::Refusal;
use super::source::{Source, SourceError};
use crate::asynchronous::client::http::Connect;
use crate::asynchronous::http::{AuthorizationError, Authorizer, Credentials};

/// Checks tokens that are JWTs (RFC 9068, 4; RFC 8725).
///
/// A token is accepted if
/// - it has at most 16 KiB, and no object in its header or claims has two members of the same name;
/// - its `typ` is `at+jwt`, `application/at+jwt` or `JWT`, and it has no `crit`;
/// - it is signed with an [allowed algorithm](Self::algorithms), under the key of the issuer that
///   `kid` names, or its only one without `kid`; members of the header that bring a key along are
///   ignored;
/// - `iss` is the issuer and `aud` is the audience, or an array with it, character by character;
/// - `exp` is in the future and `nbf` is not, give or take 60 seconds;
/// - it has a `sub`.
///
/// Its [`Principal`] has issuer, subject, `scope`, and all claims.
///
/// # Revocation
///
/// A token that was accepted is known until it expires, or the keys of the issuer change: its
/// revocation is not noticed, as always without introspection. Let tokens be short-lived.
///
/// # Memory
///
/// A known token takes 512 bytes, its length, and that of its claims, scope and names; all of them
/// take no more than [`cache_bytes`](Self::cache_bytes). Tokens are kept as they are, since a hash
/// would cost more than all else of the check of a known one. They are zeroed when they are
/// forgotten: the memory of this process must be as safe as the tokens.
pub struct Jwt {
    expected: Expected,
    pub(super) source: Source,
    keys: Jwks,
    algorithms: Cow<'static, [Algorithm]>,
    cache: TokenCache,
    gate: Gate,
}

impl Jwt {
    /// Accepts tokens of this issuer, which were issued for this audience: the URL of the protected
    /// resource as clients know it. Both are compared character by character.
    ///
    /// The keys are found by the metadata of the issuer. Its URL starts with `https://`, or is an
    /// `http://` URL of this machine. The feature `tls` is needed for the former.
    #[must_use]
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        let (issuer, audience) = (issuer.into(), audience.into());
        Self {
            source: Source::new(issuer.clone()),
            expected: Expected { issuer, audience },
            keys: Jwks::discovered(),
            algorithms: Cow::Borrowed(&Algorithm::ALL),
            cache: TokenCache::new(SIGNATURE_END),
            gate: Gate::default(),
        }
    }

    /// Sets where the keys come from.
    #[must_use]
    pub fn keys(mut self, keys: Jwks) -> Self {
        if let Some(url) = keys.url() {
            self.source.allow(url);
        }
        Self { keys, ..self }
    }

    /// Sets the allowed algorithms. Default: all of [`Algorithm`].
    #[must_use]
    pub fn algorithms(self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        Self { algorithms: algorithms.into_iter().collect(), ..self }
    }

    /// Makes the connections to the authorization server with `connector`. Default: `Tls` with the
    /// feature `tls`, else TCP.
    #[must_use]
    pub fn connector(mut self, connector: impl Connect) -> Self {
        self.source.set_connector(connector);
        self
    }

    /// Names the scope in each challenge that a client should request, e.g. `files:read`. It is not
    /// checked here.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<Cow<'static, str>>) -> Self {
        self.gate.scope = Some(scope.into());
        self
    }

    /// Accepts tokens that are bound to a key, with their proofs. Without this, they are refused.
    #[must_use]
    pub fn dpop(mut self, dpop: Dpop) -> Self {
        self.gate.dpop = Some(dpop);
        self
    }

    /// Limits the memory of known tokens. Default: 4 MiB.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache.set_max_bytes(bytes);
        self
    }

    /// Fetches the keys, so that a program finds out when it starts whether it can.
    ///
    /// # Errors
    /// The reason why there are none.
    pub async fn fetch_keys(&self) -> Result<(), SourceError> {
        self.keys.fetch(&self.source).await
    }

    /// Returns what is known of a token that was found valid before.
    fn known(&self, token: &[u8], now: Moment) -> Option<Arc<Verified>> {
        let generation = self.keys.fresh_generation(now.instant)?;
        self.cache.get(token, generation, now.unix)
    }

    pub(super) async fn verify(
        &self,
        token: &str,
        credentials: &Credentials,
        now: Moment,
    ) -> Result<Arc<Verified>, Refusal> {
        if let Some(verified) = self.known(token.as_bytes(), now) {
            return Ok(verified);
        }
        let Moment { unix, instant: now } = now;
        // All of it is checked before keys are asked for: a token that is not meant for this server
        // causes no request.
        let jws = Jws::parse(token)?;
        let header = jws.header()?;
        if !self.algorithms.contains(&header.algorithm) {
            return Err(Refusal::Algorithm);
        }
        if !TYPES.iter().any(|typ| header.typ.eq_ignore_ascii_case(typ)) {
            return Err(Refusal::Type);
        }
        let claims = RawJson::parse(&jws.claims).map_err(|_| Refusal::Malformed)?;
        self.expected.check_issuer(claims)?;
        self.expected.check_audience(claims)?;
        let until = check_times(claims, unix)?.ok_or(Refusal::Malformed)?;
        let subject = text(claims, "sub")?;
        let verified = self.expected.verified(claims, subject, until, credentials)?;

        let keys = self.keys.current(&self.source, now).await?;
        let keys = match check_signature(&keys, &header, &jws) {
            Ok(()) => keys,
            // A key may have been replaced.
            Err(refusal) if refusal == Refusal::Key || header.kid.is_none() => {
                let newer = self.keys.after_unknown(&self.source, now).await?;
                if newer.generation == keys.generation {
                    return Err(refusal);
                }
                check_signature(&newer, &header, &jws)?;
                newer
            }
            Err(refusal) => return Err(refusal),
        };
        let verified = Arc::new(verified);
        self.cache.insert(token.as_bytes(), keys.generation, until, &verified);
        Ok(verified)
    }
}

fn check_signature(keys: &KeySet, header: &Header<'_>, jws: &Jws<'_>) -> Result<(), Refusal> {
    let key = keys.find(header).ok_or(Refusal::Key)?;
    if key.verifies(header.algorithm, jws.signed.as_bytes(), &jws.signature) {
        Ok(())
    } else {
        Err(Refusal::Signature)
    }
}

impl Authorizer for Jwt {
    fn known(&self, credentials: &Credentials) -> Option<Arc<Principal>> {
        self.gate.known(credentials, |token, now| self.known(token, now))
    }

    async fn check(&self, credentials: &Credentials) -> Result<Arc<Principal>, AuthorizationError> {
        let (scheme, token) = self.gate.token(credentials)?;
        let now = Moment::of(credentials);
        let verified = self.verify(token, credentials, now).await;
        let verified = verified.map_err(|refusal| self.gate.refused(scheme, refusal))?;
        self.gate.admit(scheme, token, &verified, credentials, now)
    }
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt")
            .field("expected", &self.expected)
            .field("keys", &self.keys)
            .field("algorithms", &self.algorithms)
            .finish_non_exhaustive()
    }
}

/// Types of tokens: that of RFC 9068, and what many servers say instead. An ID token of OpenID
/// Connect is a `JWT`, too, but its audience is a client.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "JWT"];
/// Number of bytes at the end of a token by which it is found: a part of its signature.
const SIGNATURE_END: usize = 16;
