//! Proofs of possession (RFC 9449): the sender of a bound token has its key.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_sansio::RawJson;
use mcp_sansio_oauth::Url;
use ring::digest::{SHA256, digest};
use ring::hmac;

use super::jwt::{Header, Jws, PublicKey, text, time};
use crate::asynchronous::http::Credentials;
use crate::lock::lock;

/// Checks the proofs that come with bound tokens (RFC 9449, 4.3): for
/// [`Jwt::dpop`](super::Jwt::dpop) and [`Introspection::dpop`](super::Introspection::dpop).
///
/// A proof is accepted if it is signed with the key to which the token is bound, names this token,
/// the method, and the URL of the request without query, was made within the last five minutes or,
/// as clocks differ, the next 30 seconds, and was not seen before. Behind a proxy the URL is known
/// from
/// [`HttpOptions::protected_resource`](crate::asynchronous::http::HttpOptions::protected_resource),
/// which must be set.
///
/// Seen proofs are remembered for as long as they are good, [`max_proofs`](Self::max_proofs) of
/// them. Only [nonces](Self::nonces) help against proofs that a client made for later, and, where
/// there are several processes, against a proof that is sent to each of them.
pub struct Dpop {
    is_required: bool,
    nonces: Option<hmac::Key>,
    max_proofs: usize,
    seen: Mutex<Seen>,
}

/// Reason why a proof is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BadProof {
    Invalid(&'static str),
    /// It has to contain this nonce.
    Nonce(String),
}

impl Dpop {
    /// Accepts bound tokens with their proofs, and unbound ones as bearer tokens.
    #[must_use]
    pub fn new() -> Self {
        let seen = Mutex::default();
        Self { is_required: false, nonces: None, max_proofs: MAX_PROOFS, seen }
    }

    /// Sets whether bearer tokens are refused. Default: no.
    #[must_use]
    pub fn required(self, required: bool) -> Self {
        Self { is_required: required, ..self }
    }

    /// Demands a nonce of this server in each proof (RFC 9449, 9). It is good for five minutes. In
    /// the second half of that time each response has a new one (8.2); later a client gets 401 with
    /// it, and repeats its request. The nonce is a time and its HMAC, so that nothing is kept:
    /// processes that share the secret, 32 random bytes, accept each other's.
    #[must_use]
    pub fn nonces(self, secret: [u8; 32]) -> Self {
        Self { nonces: Some(hmac::Key::new(hmac::HMAC_SHA256, &secret)), ..self }
    }

    /// Limits the number of remembered proofs. A proof takes about 400 bytes. At the limit, the
    /// oldest of the key that has the most is forgotten: then it could be used again, but nobody
    /// else's. Default: 10,000.
    #[must_use]
    pub fn max_proofs(self, max_proofs: usize) -> Self {
        Self { max_proofs, ..self }
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.seen.lock().unwrap().ids.len()
    }

    pub(super) const fn is_required(&self) -> bool {
        self.is_required
    }

    /// Checks the proof of a request with a token that is bound to the key with this thumbprint.
    pub(super) fn check(
        &self,
        credentials: &Credentials,
        token: &str,
        jkt: &str,
        now: u64,
    ) -> Result<(), BadProof> {
        use BadProof::Invalid;
        let proof = credentials.proof().ok_or(Invalid("there must be one proof"))?;
        let malformed = |_| Invalid("the proof is malformed");
        let jws = Jws::parse(proof).map_err(malformed)?;
        let header = jws.header().map_err(|refusal| Invalid(refusal.description()))?;
        if !header.typ.eq_ignore_ascii_case("dpop+jwt") {
            return Err(Invalid("the type is not dpop+jwt"));
        }
        let thumbprint = check_signature(&jws, &header)?;
        let claims = RawJson::parse(&jws.claims).map_err(|_| Invalid("the proof is malformed"))?;
        let claim = |name| text(claims, name).map_err(malformed);
        if claim("htm")?.as_deref() != Some(credentials.method()) {
            return Err(Invalid("the proof is for another method"));
        }
        if !claim("htu")?.is_some_and(|htu| is_same(&htu, &credentials.url())) {
            return Err(Invalid("the proof is for another URL"));
        }
        if claim("ath")?.as_deref() != Some(&*hash(token.as_bytes())) {
            return Err(Invalid("the proof is for another token"));
        }
        if thumbprint != jkt {
            return Err(Invalid("the token is bound to another key"));
        }
        let made = time(claims, "iat").map_err(malformed)?;
        let made = made.filter(|made| *made <= now.saturating_add(AHEAD) && now <= *made + WINDOW);
        let made = made.ok_or(Invalid("the proof is too old, or from the future"))?;
        let jti = claim("jti")?.filter(|jti| !jti.is_empty());
        let jti = jti.ok_or(Invalid("the proof has no jti"))?;
        let mut next_nonce = None;
        if let Some(key) = &self.nonces {
            match claim("nonce")?.and_then(|nonce| age_of(key, &nonce, now)) {
                Some(age) if age <= WINDOW / 2 => {}
                Some(age) if age <= WINDOW => next_nonce = Some(nonce(key, now)),
                _ => return Err(BadProof::Nonce(nonce(key, now))),
            }
        }
        let [key, id] =
            [jkt.to_owned(), format!("{jkt} {jti}")].map(|text| sha256(text.as_bytes()));
        let mut seen = lock(&self.seen);
        if !seen.insert(Proof { end: made + WINDOW, key, id }, now, self.max_proofs) {
            return Err(Invalid("the proof was used before"));
        }
        if let Some(nonce) = next_nonce {
            credentials.set_next_nonce(nonce);
        }
        Ok(())
    }
}

impl Default for Dpop {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Dpop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dpop").field("is_required", &self.is_required).finish_non_exhaustive()
    }
}

/// Checks the signature with the key in the header. Returns the thumbprint of the key (RFC 7638).
fn check_signature(jws: &Jws<'_>, header: &Header<'_>) -> Result<String, BadProof> {
    use BadProof::Invalid;
    let no_key = Invalid("the proof has no public key for its algorithm");
    let jwk = jws.member("jwk").ok_or(no_key.clone())?;
    if SECRETS.iter().any(|name| jwk.get(name).is_some()) {
        return Err(Invalid("the key of the proof is not public"));
    }
    let key = PublicKey::from_jwk(jwk).filter(|key| key.fits(header.algorithm)).ok_or(no_key)?;
    if !key.verifies(header.algorithm, jws.signed.as_bytes(), &jws.signature) {
        return Err(Invalid("the signature of the proof is invalid"));
    }
    let names: &[&str] = match key {
        PublicKey::Rsa { .. } => &["e", "kty", "n"],
        PublicKey::P256(_) => &["crv", "kty", "x", "y"],
        PublicKey::Ed25519(_) => &["crv", "kty", "x"],
    };
    // The key was read, so these members are strings without escapes.
    let members = names.iter().filter_map(|name| Some(format!("\"{name}\":{}", jwk.get(name)?)));
    Ok(hash(format!("{{{}}}", members.collect::<Vec<_>>().join(",")).as_bytes()))
}

/// Whether `htu` names the URL of the request, which has no query.
fn is_same(htu: &str, url: &str) -> bool {
    let htu = htu.split_once('#').map_or(htu, |(htu, _)| htu);
    let (Ok(htu), Ok(url)) = (Url::parse(htu), Url::parse(url)) else { return false };
    let path = |url: &str| if url.is_empty() { "/" } else { url }.to_owned();
    htu.is_same_origin(url) && path(htu.path()) == path(url.path())
}

fn hash(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, bytes))
}

pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// Returns the nonce of a time.
fn nonce(key: &hmac::Key, now: u64) -> String {
    let time = now.to_be_bytes();
    URL_SAFE_NO_PAD.encode([&time[..], hmac::sign(key, &time).as_ref()].concat())
}

/// Returns the age of a nonce in seconds, if it is one of this server.
fn age_of(key: &hmac::Key, nonce: &str, now: u64) -> Option<u64> {
    let nonce = URL_SAFE_NO_PAD.decode(nonce).ok()?;
    let (time, tag) = nonce.split_first_chunk::<8>()?;
    // In constant time.
    hmac::verify(key, time, tag).ok()?;
    now.checked_sub(u64::from_be_bytes(*time))
}

/// A proof that was accepted.
#[derive(Clone, Copy)]
struct Proof {
    /// The second after which it is refused as too old.
    end: u64,
    key: [u8; 32],
    id: [u8; 32],
}

/// Proofs that were accepted and are still good.
#[derive(Default)]
struct Seen {
    ids: HashSet<[u8; 32]>,
    /// End, key, id.
    by_end: BTreeSet<(u64, [u8; 32], [u8; 32])>,
    /// Key, end, id.
    by_key: BTreeSet<([u8; 32], u64, [u8; 32])>,
    /// The number of remembered proofs by key.
    counts: BTreeMap<[u8; 32], usize>,
    keys_by_count: BTreeSet<(usize, [u8; 32])>,
}

impl Seen {
    /// Returns `false` if the proof is among them.
    fn insert(&mut self, proof: Proof, now: u64, limit: usize) -> bool {
        while let Some((end, key, id)) = self.by_end.first().copied()
            && end < now
        {
            self.forget(&Proof { end, key, id });
        }
        if !self.ids.insert(proof.id) {
            return false;
        }
        self.by_end.insert((proof.end, proof.key, proof.id));
        self.by_key.insert((proof.key, proof.end, proof.id));
        self.count(proof.key, |count| count + 1);
        while self.ids.len() > limit
            && let Some((_, key)) = self.keys_by_count.last()
            && let Some((key, end, id)) = self.by_key.range((*key, 0, [0; 32])..).next().copied()
        {
            self.forget(&Proof { end, key, id });
        }
        true
    }

    fn forget(&mut self, proof: &Proof) {
        self.ids.remove(&proof.id);
        self.by_end.remove(&(proof.end, proof.key, proof.id));
        self.by_key.remove(&(proof.key, proof.end, proof.id));
        self.count(proof.key, |count| count - 1);
    }

    fn count(&mut self, key: [u8; 32], change: impl FnOnce(usize) -> usize) {
        let before = self.counts.remove(&key).unwrap_or(0);
        self.keys_by_count.remove(&(before, key));
        let count = change(before);
        if count > 0 {
            self.counts.insert(key, count);
            self.keys_by_count.insert((count, key));
        }
    }
}

/// A proof may be this many seconds old; a nonce is good for as long.
const WINDOW: u64 = 5 * 60;
/// A proof may be made this many seconds after now: clocks differ.
const AHEAD: u64 = 30;
/// Default of [`Dpop::max_proofs`].
const MAX_PROOFS: usize = 10_000;
/// Members of private and of symmetric keys (RFC 7518, 6).
const SECRETS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
