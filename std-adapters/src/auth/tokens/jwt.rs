//! Tokens that are signed: JWT access tokens (RFC 9068).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_sansio::http::Principal;
use mcp_sansio::{JsonStr, RawJson};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};

use super::cache::TokenCache;
use super::jwks::{Jwks, KeySet, SourceError};
use super::{Checker, Moment, Refusal, Verifier};
use crate::asynchronous::http::Credentials;

/// Checks tokens that are JWTs (RFC 9068, 4; RFC 8725).
///
/// A token is accepted if
/// - it has at most 16 KiB, and no object in its header or claims has two members of the same name;
/// - its `typ` is `at+jwt`, `application/at+jwt` or `JWT`, and it has no `crit`;
/// - it is signed with an [allowed algorithm](Jwt::algorithms), under the key of the issuer that
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
/// take no more than [`cache_bytes`](Jwt::cache_bytes). Tokens are kept as they are, since a hash
/// would cost more than all else of the check of a known one. They are zeroed when they are
/// forgotten: the memory of this process must be as safe as the tokens.
pub type Jwt = Checker<Signed>;

/// Verifies signatures.
#[derive(Debug)]
pub struct Signed {
    keys: Jwks,
    algorithms: Cow<'static, [Algorithm]>,
}

impl Jwt {
    /// Accepts tokens of this issuer, which were issued for this audience: the URL of the protected
    /// resource as clients know it. Both are compared character by character.
    ///
    /// The keys are found by the metadata of the issuer. Its URL starts with `https://`, or is an
    /// `http://` URL of this machine. The feature `tls` is needed for the former.
    #[must_use]
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        let algorithms = Cow::Borrowed(&Algorithm::ALL[..]);
        let signed = Signed { keys: Jwks::discovered(), algorithms };
        Self::with(signed, issuer.into(), audience.into(), TokenCache::new(SIGNATURE_END))
    }

    /// Sets where the keys come from.
    #[must_use]
    pub fn keys(mut self, keys: Jwks) -> Self {
        if let Some(url) = keys.url() {
            self.source.allow(url);
        }
        self.verifier.keys = keys;
        self
    }

    /// Sets the allowed algorithms. Default: all of [`Algorithm`].
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.verifier.algorithms = algorithms.into_iter().collect();
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
        let jws = Jws::parse(token)?;
        let header = jws.header()?;
        if !algorithms.contains(&header.algorithm) {
            return Err(Refusal::Algorithm);
        }
        if !TYPES.iter().any(|typ| header.typ.eq_ignore_ascii_case(typ)) {
            return Err(Refusal::Type);
        }
        let claims = RawJson::parse(&jws.claims).map_err(|_| Refusal::Malformed)?;
        checker.check_issuer(claims)?;
        checker.check_audience(claims)?;
        let until = check_times(claims, now.unix)?.ok_or(Refusal::Malformed)?;
        let subject = text(claims, "sub")?;
        let verified = checker.verified(claims, subject, until, credentials)?;

        let current = keys.current(&checker.source, now.instant).await?;
        let used = match check_signature(&current, &header, &jws) {
            Ok(()) => current,
            // A key may have been replaced.
            Err(refusal) if refusal == Refusal::Key || header.kid.is_none() => {
                let newer = keys.after_unknown(&checker.source, now.instant).await?;
                if newer.generation == current.generation {
                    return Err(refusal);
                }
                check_signature(&newer, &header, &jws)?;
                newer
            }
            Err(refusal) => return Err(refusal),
        };
        let verified = Arc::new(verified);
        checker.cache.insert(token.as_bytes(), used.generation, until, &verified);
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

/// Types of tokens: that of RFC 9068, and what many servers say instead. An ID token of OpenID
/// Connect is a `JWT`, too, but its audience is a client.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "JWT"];
/// Number of bytes at the end of a token by which it is found: a part of its signature.
const SIGNATURE_END: usize = 16;

// Compact JWS (RFC 7515, 7.1) and the objects inside.

/// A token in its parts. Nothing is verified yet.
pub(super) struct Jws<'t> {
    header: String,
    /// The claims, a JSON object without doubled members at any level.
    pub(super) claims: String,
    /// The signed text.
    pub(super) signed: &'t str,
    pub(super) signature: Vec<u8>,
}

/// The members of a header that are used. All others are ignored, above all `jku`, `x5u`, `jwk` and
/// `x5c`: a token must not choose the key with which it is checked (RFC 8725, 3.10).
pub(super) struct Header<'h> {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<&'h str>,
    pub(super) typ: &'h str,
}

impl<'t> Jws<'t> {
    pub(super) fn parse(token: &'t str) -> Result<Self, Refusal> {
        if token.len() > MAX_TOKEN {
            return Err(Refusal::TooLong);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(Refusal::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Refusal::Malformed)?;
        let decode = |part| URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Malformed);
        let object = |part| {
            let text = String::from_utf8(decode(part)?).map_err(|_| Refusal::Malformed)?;
            object(&text)?;
            Ok(text)
        };
        Ok(Self {
            header: object(header)?,
            claims: object(claims)?,
            signed,
            signature: decode(signature)?,
        })
    }

    /// Returns a member of the header.
    pub(super) fn member(&self, name: &str) -> Option<RawJson<'_>> {
        RawJson::parse(&self.header).ok()?.get(name)
    }

    pub(super) fn header(&self) -> Result<Header<'_>, Refusal> {
        let header = RawJson::parse(&self.header).map_err(|_| Refusal::Malformed)?;
        // An extension that must be understood is not (RFC 7515, 4.1.11).
        if header.get("crit").is_some() {
            return Err(Refusal::Critical);
        }
        let text = |name| match header.get(name) {
            None => Ok(None),
            Some(value) => {
                let text = value.as_string().and_then(|text| text.as_plain());
                text.filter(|text| text.len() <= MAX_NAME).ok_or(Refusal::Malformed).map(Some)
            }
        };
        let algorithm = text("alg")?.ok_or(Refusal::Malformed)?;
        Ok(Header {
            algorithm: Algorithm::named(algorithm).ok_or(Refusal::Algorithm)?,
            kid: text("kid")?,
            typ: text("typ")?.unwrap_or_default(),
        })
    }
}

/// Parses an object whose members, and theirs, have different names: of doubled ones,
/// implementations differ in which they use (RFC 8725, 3.12).
pub(super) fn object(text: &str) -> Result<RawJson<'_>, Refusal> {
    let json = RawJson::parse(text).map_err(|_| Refusal::Malformed)?;
    // Each level is gone through once more; there are at most 64.
    let mut open = vec![json];
    while let Some(value) = open.pop() {
        let mut names = BTreeSet::new();
        for (name, member) in value.members() {
            if !names.insert(name.to_string()) {
                return Err(Refusal::Malformed);
            }
            open.push(member);
        }
        open.extend(value.elements());
    }
    if json.is_object() { Ok(json) } else { Err(Refusal::Malformed) }
}

/// Longest token that is looked at, in bytes.
pub(super) const MAX_TOKEN: usize = 16 << 10;
/// Longest key id, in bytes.
const MAX_NAME: usize = 256;

// Claims of a token: those of a JWT (RFC 9068, 2.2) and of introspection (RFC 7662, 2.2).

/// A token that was found valid.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    pub(super) principal: Arc<Principal>,
    /// Thumbprint of the key to which the token is bound (RFC 9449, 6.1).
    pub(super) jkt: Option<String>,
}

impl<V> Checker<V> {
    /// Compares the issuer without any normalization.
    pub(super) fn check_issuer(&self, claims: RawJson<'_>) -> Result<(), Refusal> {
        let issuer = claims.get("iss").and_then(string);
        if issuer.is_some_and(|issuer| issuer == *self.source.issuer) {
            Ok(())
        } else {
            Err(Refusal::Issuer)
        }
    }

    /// Compares the audience, a string or an array of strings, without any normalization.
    pub(super) fn check_audience(&self, claims: RawJson<'_>) -> Result<(), Refusal> {
        let is_ours = |one: RawJson<'_>| string(one).is_some_and(|aud| aud == *self.audience);
        let has_us = claims.get("aud").is_some_and(|aud| {
            if aud.is_array() {
                aud.elements().all(|one| string(one).is_some()) && aud.elements().any(is_ours)
            } else {
                is_ours(aud)
            }
        });
        if has_us { Ok(()) } else { Err(Refusal::Audience) }
    }

    /// Returns what is known of a token that passed all checks. `until` is [`u64::MAX`] if the
    /// token does not expire.
    pub(super) fn verified(
        &self,
        claims: RawJson<'_>,
        subject: Option<String>,
        until: u64,
        credentials: &Credentials,
    ) -> Result<Verified, Refusal> {
        let subject = subject.filter(|subject| !subject.is_empty()).ok_or(Refusal::Subject)?;
        let mut principal = Principal::new(&*self.source.issuer, subject);
        principal.scopes = text(claims, "scope")?.unwrap_or_default();
        claims.as_str().clone_into(&mut principal.claims);
        principal.expires = (until < u64::MAX).then(|| credentials.time_of(until));
        // A binding of another kind, for example to a certificate, cannot be checked here.
        let jkt = match claims.get("cnf") {
            None => None,
            Some(cnf) => {
                let jkt = cnf.get("jkt").and_then(string);
                let is_alone = cnf.members().count() == 1;
                Some(jkt.filter(|_| is_alone).ok_or(Refusal::Bound)?.to_string())
            }
        };
        Ok(Verified { principal: Arc::new(principal), jkt })
    }
}

/// Checks the times of a token. Returns when it is no longer accepted, if it says so.
pub(super) fn check_times(claims: RawJson<'_>, now: u64) -> Result<Option<u64>, Refusal> {
    let until = time(claims, "exp")?.map(|expires| expires + SKEW);
    if until.is_some_and(|until| until <= now) {
        return Err(Refusal::Expired);
    }
    if time(claims, "nbf")?.is_some_and(|begins| begins > now.saturating_add(SKEW)) {
        return Err(Refusal::NotYet);
    }
    Ok(until)
}

/// Reads a time in seconds since 1970, which may have a fraction (RFC 7519, 2).
pub(super) fn time(claims: RawJson<'_>, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| (0.0..=LAST_SECOND).contains(seconds));
    // The fraction is dropped.
    seconds.map(|seconds| Some(seconds as u64)).ok_or(Refusal::Malformed)
}

/// Reads a string.
pub(super) fn text(claims: RawJson<'_>, name: &str) -> Result<Option<String>, Refusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    string(value).map(|text| Some(text.to_string())).ok_or(Refusal::Malformed)
}

/// Returns a string that is text: others that differ would be the same user.
fn string(value: RawJson<'_>) -> Option<JsonStr<'_>> {
    value.as_string().filter(|text| text.is_well_formed())
}

/// The clocks of two machines may differ by this many seconds.
const SKEW: u64 = 60;
/// The end of the year 9999.
const LAST_SECOND: f64 = 253_402_300_799.0;

// Public keys, and signatures under them.

/// A signature algorithm (RFC 7518, 3.1; RFC 8037). Only these exist here: neither `none` nor
/// HMAC, for which a public key would be the secret (RFC 8725, 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256, keys of 2048 to 8192 bits.
    Rs256,
    /// RSASSA-PSS with SHA-256, keys of 2048 to 8192 bits.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// EdDSA on Ed25519, also by its name `Ed25519` (RFC 9864, 2.2).
    EdDsa,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 4] = [Self::Rs256, Self::Ps256, Self::Es256, Self::EdDsa];

    /// Returns the name, for example `ES256`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Returns the algorithm of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = if name == "Ed25519" { "EdDSA" } else { name };
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// A public key of an algorithm's family.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum PublicKey {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// The uncompressed point.
    P256([u8; 65]),
    Ed25519([u8; 32]),
}

impl PublicKey {
    /// Reads a JSON Web Key (RFC 7517); `None` for keys of other families, and for secrets.
    pub(super) fn from_jwk(jwk: RawJson<'_>) -> Option<Self> {
        let text = |name| jwk.get(name)?.as_string()?.as_plain();
        let bytes = |name| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        match (text("kty")?, text("crv")) {
            ("RSA", _) => {
                let [n, e] = [bytes("n")?, bytes("e")?].map(without_zeros);
                (n.len() >= MIN_RSA).then_some(Self::Rsa { n, e })
            }
            ("EC", Some("P-256")) => {
                let mut point = [4; 65];
                for (place, name) in point.get_mut(1..)?.chunks_exact_mut(32).zip(["x", "y"]) {
                    place.copy_from_slice(&<[u8; 32]>::try_from(bytes(name)?).ok()?);
                }
                Some(Self::P256(point))
            }
            ("OKP", Some("Ed25519")) => Some(Self::Ed25519(bytes("x")?.try_into().ok()?)),
            _ => None,
        }
    }

    /// Whether signatures of the algorithm are made with keys like this one.
    pub(super) const fn fits(&self, algorithm: Algorithm) -> bool {
        matches!(
            (self, algorithm),
            (Self::Rsa { .. }, Algorithm::Rs256 | Algorithm::Ps256)
                | (Self::P256(_), Algorithm::Es256)
                | (Self::Ed25519(_), Algorithm::EdDsa)
        )
    }

    /// Whether the signature is that of the message.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let result = match (self, algorithm) {
            (Self::Rsa { n, e }, Algorithm::Rs256 | Algorithm::Ps256) => {
                let parameters = match algorithm {
                    Algorithm::Ps256 => &RSA_PSS_2048_8192_SHA256,
                    _ => &RSA_PKCS1_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Self::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Self::Ed25519(key), Algorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature)
            }
            _ => return false,
        };
        result.is_ok()
    }
}

fn without_zeros(mut number: Vec<u8>) -> Vec<u8> {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.drain(..zeros);
    number
}

/// Shortest modulus, in bytes: ring demands as much.
const MIN_RSA: usize = 256;
