//! Tokens that are signed: JWT access tokens (RFC 9068).

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use mcp_sansio_oauth::{Algorithm, PublicKey, Refusal, Signature, UnixTime};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::cache::TokenCache;
use super::jwks::{Jwks, SourceError};
use super::{Checker, Moment, Verified, Verifier, memory_for};
use crate::asynchronous::http::Credentials;

/// Checks tokens that are JWTs (RFC 9068, 4; RFC 8725).
///
/// A token is accepted if
/// - it has at most 16 KiB, and no object in its header or claims has two members of the same name;
/// - its `typ` is `at+jwt`, `application/at+jwt` or `JWT`, and it has no `crit`;
/// - it is signed with an [allowed algorithm](Signed::algorithms), under the key of the issuer that
///   `kid` names, or its only one without `kid`; members of the header that bring a key along are
///   ignored;
/// - `iss` is the issuer and `aud` is the audience, or an array with it, character by character;
/// - `exp` is in the future and `nbf` is not, give or take 60 seconds;
/// - it has a `sub`.
///
/// Its [`Principal`](mcp_sansio::http::Principal) has issuer, subject, `scope`, and all claims.
///
/// # Revocation
///
/// A token that was accepted is known until it expires, or the keys of the issuer change: its
/// revocation is not noticed, as always without introspection. Let tokens be short-lived.
///
/// # Memory
///
/// A known token takes 512 bytes, its length, and that of its claims, scope and names; all of them
/// take no more than [`cache_bytes`](Checker::cache_bytes). Tokens are kept as they are, since a
/// hash would cost more than all else of the check of a known one. They are zeroed when they are
/// forgotten: the memory of this process must be as safe as the tokens.
pub type Jwt = Checker<Signed>;

/// Verifies signatures: `jwt.verifier.algorithms = vec![Algorithm::Es256].into()`.
#[derive(Debug)]
pub struct Signed {
    keys: Jwks,
    /// The allowed algorithms. Default: all of [`Algorithm`].
    pub algorithms: Cow<'static, [Algorithm]>,
}

impl Jwt {
    /// Accepts tokens of this issuer, which were issued for this audience: the URL of the protected
    /// resource as clients know it. Both are compared character by character.
    ///
    /// The keys are found by the metadata of the issuer. Its URL starts with `https://`, or is an
    /// `http://` URL of this machine. The feature `tls` is needed for the former.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        let algorithms = Cow::Borrowed(&Algorithm::ALL[..]);
        let signed = Signed { keys: Jwks::discovered(), algorithms };
        Self::with(signed, issuer.into(), audience.into(), TokenCache::new(SIGNATURE_END))
    }

    /// Sets where the keys come from.
    pub fn keys(mut self, keys: Jwks) -> Self {
        if let Some(url) = keys.url() {
            self.source.allow(url);
        }
        self.verifier.keys = keys;
        self
    }

    /// Fetches the keys, so that a program finds out when it starts whether it can.
    ///
    /// # Errors
    /// The reason why there are none.
    pub async fn fetch_keys(&self) -> Result<(), SourceError> {
        self.verifier.keys.fetch(&self.source).await
    }
}

impl Verifier for Signed {
    fn generation(&self, now: Instant) -> Option<u64> {
        Some(self.keys.fresh(now)?.generation)
    }

    async fn verify(
        checker: &Jwt,
        token: &str,
        credentials: &Credentials,
        now: Moment,
    ) -> Result<Arc<Verified>, Refusal> {
        let Self { keys, algorithms } = &checker.verifier;
        // All of it is checked before keys are asked for: a token that is not meant for this server
        // causes no request.
        let mut memory = memory_for(token.as_bytes());
        let rules = checker.rules().algorithms(algorithms);
        let signed = rules.check_jwt(token, now.time(), &mut memory)?;

        let current = keys.current(&checker.source, now.instant).await?;
        let (used, valid) = match signed.verify(&current.keys, is_valid) {
            Ok(valid) => (current, valid),
            // A key may have been replaced.
            Err(refusal) if refusal == Refusal::Key || !signed.names_key() => {
                let newer = keys.after_unknown(&checker.source, now.instant).await?;
                if newer.generation == current.generation {
                    return Err(refusal);
                }
                let valid = signed.verify(&newer.keys, is_valid)?;
                (newer, valid)
            }
            Err(refusal) => return Err(refusal),
        };
        let verified = checker.verified(&valid, credentials);
        let until = valid.until.map_or(u64::MAX, UnixTime::as_secs);
        Ok(checker.remember(token, used.generation, until, verified))
    }
}

/// Verifies a signature.
pub(super) fn is_valid(signature: &Signature<'_>) -> bool {
    let Signature { key, algorithm, message, signature } = *signature;
    let result = match (key, algorithm) {
        (PublicKey::Rsa { n, e }, Algorithm::Rs256 | Algorithm::Ps256) => {
            let parameters = match algorithm {
                Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                _ => &RSA_PKCS1_2048_8192_SHA256,
            };
            RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
        }
        (PublicKey::P256(point), Algorithm::Es256) => {
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
        }
        (PublicKey::Ed25519(key), Algorithm::EdDsa) => {
            UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
        }
        _ => return false,
    };
    result.is_ok()
}

/// Number of bytes at the end of a token by which it is found: a part of its signature.
const SIGNATURE_END: usize = 16;
