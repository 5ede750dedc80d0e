//! Signed JSON (RFC 7515, compact serialization): assertions of clients, and, for
//! [`dpop`](super::dpop), proofs of possession.

use super::arena::{Base64, Object, Writer, put_base64url};
use super::setup::{MAX_SIGNATURE, SignError, Signer};
use super::token::UnixTime;

/// Writes the assertion with which a client authenticates at a token endpoint (`private_key_jwt`;
/// RFC 7523, 3). It is good for four minutes. `audience` is the issuer of the authorization server;
/// `random` are fresh bytes, from which its id is made.
///
/// # Errors
/// [`SignError`] if the key does not sign. What does not fit is known from [`Writer::finish`].
pub fn put_assertion(
    client_id: &str,
    audience: &str,
    now: UnixTime,
    random: &[u8; 16],
    key: &dyn Signer,
    out: &mut Writer<'_>,
) -> Result<(), SignError> {
    put_signed(key, "JWT", HeaderKey::Id, out, |claims| {
        claims
            .text("iss", client_id)
            .text("sub", client_id)
            .text("aud", audience)
            .text("jti", id_of(random, &mut [0; 22]))
            .number("iat", now.as_secs())
            .number("exp", now.as_secs().saturating_add(ASSERTION_LIFE));
    })
}

/// Way in which a header names the key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderKey {
    /// `kid`, if the key has an id.
    Id,
    /// `jwk`: the public key itself.
    Public,
}

/// Writes a signed object.
pub(super) fn put_signed(
    key: &dyn Signer,
    typ: &str,
    header_key: HeaderKey,
    out: &mut Writer<'_>,
    claims: impl FnOnce(&mut Object<'_>),
) -> Result<(), SignError> {
    let start = out.as_str().len();
    let mut base64 = Base64::url(out);
    let mut header = Object::begin(&mut base64);
    header.text("typ", typ).text("alg", key.alg());
    match header_key {
        HeaderKey::Id => {
            header.text_if("kid", key.key_id());
        }
        HeaderKey::Public => {
            header.member("jwk", |out| put_jwk(key, out));
        }
    }
    header.end();
    base64.finish();
    out.put(".");
    let mut base64 = Base64::url(out);
    let mut object = Object::begin(&mut base64);
    claims(&mut object);
    object.end();
    base64.finish();
    let mut signature = [0; MAX_SIGNATURE];
    let signed = out.as_str().get(start..).unwrap_or_default();
    let len = key.sign(&[signed.as_bytes()], &mut signature)?;
    out.put(".");
    put_base64url(signature.get(..len).ok_or(SignError::Unavailable)?, out);
    Ok(())
}

/// Writes a public key as JSON, with the members that RFC 7638 requires.
pub(super) fn put_jwk(key: &dyn Signer, out: &mut dyn core::fmt::Write) {
    let mut jwk = Object::begin(out);
    key.jwk(&mut |name, value| {
        jwk.text(name, value);
    });
    jwk.end();
}

/// Returns the id that is made of random bytes.
pub(super) fn id_of<'m>(random: &[u8; 16], memory: &'m mut [u8; 22]) -> &'m str {
    let mut out = Writer::new(memory);
    put_base64url(random, &mut out);
    out.finish().unwrap_or_default()
}

/// Lifetime of an assertion, in seconds; servers take 5 minutes at most.
const ASSERTION_LIFE: u64 = 240;
