//! Proofs of possession (RFC 9449): the sender of a bound token has its key.

use std::sync::Mutex;

use mcp_sansio_engine::internal::{SeenProof, SeenProofs};
use mcp_sansio_oauth::dpop::{InvalidProof, MAX_AGE, MAX_AHEAD, ProvenRequest};
use mcp_sansio_oauth::{UnixTime, decode_base64url, put_base64url};
use ring::digest::{SHA256, digest};
use ring::hmac;

use super::jwt::is_valid;
use super::{memory_for, written};
use crate::asynchronous::http::Credentials;
use crate::lock::lock;

/// Checks the proofs that come with bound tokens (RFC 9449, 4.3): for
/// the field `dpop` of [`Jwt`](super::Jwt) and [`Introspection`](super::Introspection).
///
/// A proof is accepted if it is signed with the key to which the token is bound, names this token,
/// the method, and the URL of the request without query, was made within the last five minutes or,
/// as clocks differ, the next 30 seconds, and was not seen before. Behind a proxy the URL is known
/// from
/// [`HttpOptions::protected_resource`](crate::asynchronous::http::HttpOptions::protected_resource),
/// which must be set.
///
/// Its fields are settings: `Dpop { required: true, ..Dpop::new() }`.
///
/// Seen proofs are remembered for as long as they are good, [`max_proofs`](Self::max_proofs) of
/// them. Only [nonces](Self::nonces) help against proofs that a client made for later, and, where
/// there are several processes, against a proof that is sent to each of them.
#[must_use]
pub struct Dpop {
    /// Whether bearer tokens are refused. Default: no.
    pub required: bool,
    /// Demands a nonce of this server in each proof (RFC 9449, 9). It is good for five minutes. In
    /// the second half of that time each response has a new one (8.2); later a client gets 401 with
    /// it, and repeats its request. The nonce is a time and its HMAC, so that nothing is kept:
    /// processes that share the secret, 32 random bytes, accept each other's. Default: none.
    pub nonces: Option<[u8; 32]>,
    /// Maximum number of remembered proofs. A proof takes about 400 bytes. At the limit, the oldest
    /// of the key that has the most is forgotten: then it could be used again, but nobody else's.
    /// Default: 10,000.
    pub max_proofs: usize,
    #[doc(hidden)]
    pub seen: Mutex<SeenProofs>,
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
    pub fn new() -> Self {
        let seen = Mutex::default();
        Self { required: false, nonces: None, max_proofs: MAX_PROOFS, seen }
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.seen.lock().unwrap().remembered()
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
        let mut memory = memory_for(proof.as_bytes());
        let (method, url) = (credentials.head().method, &*credentials.url());
        let request = ProvenRequest { method, url, access_token: token, jkt };
        let invalid = |invalid: InvalidProof| Invalid(invalid.description());
        let checked = request.check(proof, UnixTime::from_secs(now), &mut memory, is_valid);
        let checked = checked.map_err(invalid)?;
        let mut next_nonce = None;
        if let Some(secret) = &self.nonces {
            let key = &hmac::Key::new(hmac::HMAC_SHA256, secret);
            let claimed = checked.nonce().map_err(invalid)?;
            match claimed.and_then(|nonce| age_of(key, &nonce.to_string(), now)) {
                Some(age) if age <= MAX_AGE / 2 => {}
                Some(age) if age <= MAX_AGE => next_nonce = Some(nonce(key, now)),
                _ => return Err(BadProof::Nonce(nonce(key, now))),
            }
        }
        let (end, key) = (checked.end.as_secs(), sha256(jkt.as_bytes()));
        let mut seen = lock(&self.seen);
        if !seen.insert(SeenProof { end, key, id: checked.id }, now, self.max_proofs) {
            return Err(Invalid("the proof was used before"));
        }
        if let Some(nonce) = next_nonce {
            credentials.set_next_nonce(nonce);
        }
        Ok(())
    }
}

mcp_sansio::default_is_new!(Dpop);

mcp_sansio::opaque_debug!(Dpop { required });

pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

/// Returns the nonce of a time.
fn nonce(key: &hmac::Key, now: u64) -> String {
    let time = now.to_be_bytes();
    let nonce = [&time[..], hmac::sign(key, &time).as_ref()].concat();
    written(2 * nonce.len(), |out| put_base64url(&nonce, out))
}

/// Returns the age of a nonce in seconds, if it is one of this server: 0 if it comes from a process
/// whose clock is ahead.
fn age_of(key: &hmac::Key, nonce: &str, now: u64) -> Option<u64> {
    let mut memory = [0; 40];
    let (time, tag) = decode_base64url(nonce, &mut memory)?.split_first_chunk::<8>()?;
    // In constant time.
    hmac::verify(key, time, tag).ok()?;
    let time = u64::from_be_bytes(*time);
    (time <= now.saturating_add(MAX_AHEAD)).then(|| now.saturating_sub(time))
}

/// Default of [`Dpop::max_proofs`].
const MAX_PROOFS: usize = 10_000;
