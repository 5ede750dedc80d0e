//! Proofs of possession (DPoP, RFC 9449; draft extension `io.modelcontextprotocol/auth/dpop`): a
//! client writes them, a server checks them.

use core::fmt::Write as _;

use super::access_token::{Refusal, later, text, time};
use super::arena::{Object, Writer, base64url, put_base64url};
use super::jwk::{PublicKey, Signature, thumbprint};
use super::jws::{Jws, Memory, put_jwk, put_signed};
use super::setup::{SignError, Signer};
use super::token::UnixTime;
use super::url::Url;
use mcp_sansio::internal::{Sha256, sha256, split_once};
use mcp_sansio::{JsonStr, RawJson};

/// The parts of a proof.
#[derive(Clone, Copy)]
pub struct Proof<'p> {
    /// The method of the HTTP request.
    pub method: &'p str,
    /// Its URL. Query and fragment are left out.
    pub url: &'p str,
    /// The time of the day.
    pub now: UnixTime,
    /// Fresh bytes, of which the id of the proof is made: each request has one of its own.
    pub random: [u8; 16],
    /// The access token, at a resource.
    pub access_token: Option<&'p str>,
    /// The last nonce of the server.
    pub nonce: Option<&'p str>,
}

/// Writes the value of the header field `DPoP` (RFC 9449, 4.2).
///
/// # Errors
/// [`SignError`] if the key does not sign. What does not fit is known from [`Writer::finish`].
pub fn put_proof(
    proof: &Proof<'_>,
    key: &dyn Signer,
    out: &mut Writer<'_>,
) -> Result<(), SignError> {
    let url = proof.url.split(['?', '#']).next().unwrap_or_default();
    let header = |header: &mut Object<'_>| {
        header.member("jwk", |out| put_jwk(key, out));
    };
    put_signed(key, "dpop+jwt", header, out, |claims| {
        claims
            .text("jti", base64url(&proof.random, &mut [0; 22]))
            .text("htm", proof.method)
            .text("htu", url)
            .number("iat", proof.now.as_secs())
            .text_if("nonce", proof.nonce);
        if let Some(token) = proof.access_token {
            claims.text("ath", base64url(&sha256(token.as_bytes()), &mut [0; 43]));
        }
    })
}

/// Writes the thumbprint of a public key (RFC 7638), 43 characters: `jkt` of a bound token.
pub fn put_thumbprint(key: &dyn Signer, out: &mut Writer<'_>) {
    let mut hash = Sha256::EMPTY;
    put_jwk(key, &mut hash);
    put_base64url(&hash.finish(), out);
}

mcp_sansio::opaque_debug!(Proof<'_> { method, url });

// The side of the server.

/// A request with a token that is bound to a key, whose proof is checked. `Debug` does not show the
/// token.
#[derive(Clone, Copy)]
pub struct ProvenRequest<'r> {
    /// The method of the HTTP request.
    pub method: &'r str,
    /// Its URL, without query.
    pub url: &'r str,
    /// The access token.
    pub access_token: &'r str,
    /// Thumbprint of the key to which the token is bound.
    pub jkt: &'r str,
}

/// A proof that is good if it was not used before.
#[derive(Clone, Copy, Debug)]
pub struct CheckedProof<'m> {
    claims: RawJson<'m>,
    /// A hash of the key and of `jti`. A server remembers it until `end`, and refuses a second
    /// proof with it.
    pub id: [u8; 32],
    /// The second after which the proof is refused as too old.
    pub end: UnixTime,
}

impl ProvenRequest<'_> {
    /// Checks a proof (RFC 9449, 4.3): it is signed with the key to which the token is bound, names
    /// this token, the method and the URL, and was made within the last five minutes or, as clocks
    /// differ, the next 30 seconds. `memory` is twice as long as the proof.
    ///
    /// # Errors
    /// [`InvalidProof`].
    pub fn check<'m>(
        &self,
        proof: &'m str,
        now: UnixTime,
        memory: &'m mut [u8],
        is_valid: impl FnOnce(&Signature<'_>) -> bool,
    ) -> Result<CheckedProof<'m>, InvalidProof> {
        let memory = &mut Memory::new(memory);
        let jws = Jws::parse(proof, memory).map_err(malformed)?;
        let header = jws.header(memory).map_err(|refusal| InvalidProof(refusal.description()))?;
        if !header.typ.eq_ignore_ascii_case("dpop+jwt") {
            return Err(InvalidProof("the type is not dpop+jwt"));
        }
        let no_key = InvalidProof("the proof has no public key for its algorithm");
        let jwk = jws.header.get("jwk").ok_or(no_key)?;
        if SECRETS.iter().any(|name| jwk.get(name).is_some()) {
            return Err(InvalidProof("the key of the proof is not public"));
        }
        let key = PublicKey::from_jwk(jwk, memory).filter(|key| key.fits(header.algorithm));
        let key = key.ok_or(no_key)?;
        if !is_valid(&jws.signature(header.algorithm, key)) {
            return Err(InvalidProof("the signature of the proof is invalid"));
        }
        let claim = |name| text(jws.claims, name).map_err(malformed);
        if claim("htm")?.is_none_or(|htm| htm != *self.method) {
            return Err(InvalidProof("the proof is for another method"));
        }
        let htu = claim("htu")?.and_then(|htu| memory.text(htu));
        if !htu.is_some_and(|htu| is_same(htu, self.url)) {
            return Err(InvalidProof("the proof is for another URL"));
        }
        let mut hash = [0; 43];
        let ath = base64url(&sha256(self.access_token.as_bytes()), &mut hash);
        if claim("ath")?.is_none_or(|claimed| claimed != *ath) {
            return Err(InvalidProof("the proof is for another token"));
        }
        if base64url(&thumbprint(jwk, &key), &mut hash) != self.jkt {
            return Err(InvalidProof("the token is bound to another key"));
        }
        let made = time(jws.claims, "iat").map_err(malformed)?;
        let made =
            made.filter(|made| *made <= later(now, MAX_AHEAD) && now <= later(*made, MAX_AGE));
        let made = made.ok_or(InvalidProof("the proof is too old, or from the future"))?;
        let jti = claim("jti")?.filter(|jti| !jti.inner().is_empty());
        let jti = jti.ok_or(InvalidProof("the proof has no jti"))?;
        let mut id = Sha256::EMPTY;
        // It takes any text.
        let _ = write!(id, "{} {jti}", self.jkt);
        Ok(CheckedProof { claims: jws.claims, id: id.finish(), end: later(made, MAX_AGE) })
    }
}

impl<'m> CheckedProof<'m> {
    /// Returns the nonce of a server (RFC 9449, 9).
    ///
    /// # Errors
    /// [`InvalidProof`] if it is no text.
    pub fn nonce(&self) -> Result<Option<JsonStr<'m>>, InvalidProof> {
        text(self.claims, "nonce").map_err(malformed)
    }
}

mcp_sansio::opaque_debug!(ProvenRequest<'_> { method, url, jkt });

/// Reason why a proof is invalid. Its `Display` output is the text for developers in a challenge.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InvalidProof(&'static str);

impl InvalidProof {
    /// Returns the text for developers.
    pub const fn description(self) -> &'static str {
        self.0
    }
}

mcp_sansio::error_type!(InvalidProof => |it| it.0);

fn malformed(_: Refusal) -> InvalidProof {
    InvalidProof("the proof is malformed")
}

/// Whether `htu` names the URL of the request, which has no query.
fn is_same(htu: &str, url: &str) -> bool {
    let htu = split_once(htu, '#').map_or(htu, |(htu, _)| htu);
    let (Ok(htu), Ok(url)) = (Url::parse(htu), Url::parse(url)) else { return false };
    let [path, expected] = [htu, url].map(|it| if it.path().is_empty() { "/" } else { it.path() });
    htu.is_same_origin(url) && path == expected
}

/// A proof is good for this many seconds.
pub const MAX_AGE: u64 = 5 * 60;
/// A proof may be made this many seconds after now: clocks differ.
pub const MAX_AHEAD: u64 = 30;
/// Members of private and of symmetric keys (RFC 7518, 6).
const SECRETS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    /// A key with these members, whose signature is the message's digest.
    struct Fake(&'static [(&'static str, &'static str)]);

    /// RFC 9449, 4.1.
    const EC: Fake = Fake(&[
        ("crv", "P-256"),
        ("kty", "EC"),
        ("x", "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs"),
        ("y", "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"),
    ]);

    /// RFC 7638, 3.1.
    const RSA: Fake = Fake(&[
        ("e", "AQAB"),
        ("kty", "RSA"),
        (
            "n",
            "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tS\
             oc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65\
             YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyr\
             dkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzK\
             nqDKgw",
        ),
    ]);

    impl Signer for Fake {
        fn alg(&self) -> &str {
            "ES256"
        }

        fn sign(&self, message: &[&[u8]], out: &mut [u8]) -> Result<usize, SignError> {
            let mut hash = Sha256::EMPTY;
            message.iter().for_each(|part| hash.update(part));
            mcp_sansio::internal::copy(&hash.finish(), out);
            Ok(32)
        }

        fn jwk(&self, put: &mut dyn FnMut(&str, &str)) {
            self.0.iter().for_each(|(name, value)| put(name, value));
        }
    }

    /// Returns header and claims of a proof, and checks its signature.
    fn parts(proof: &Proof<'_>) -> [std::string::String; 2] {
        let mut memory = [0; 1024];
        let mut out = Writer::new(&mut memory);
        put_proof(proof, &EC, &mut out).unwrap();
        let text = out.finish().unwrap();
        let (signed, signature) = text.rsplit_once('.').unwrap();
        let mut decoded = [0; 32];
        let decoded = crate::decode_base64url(signature, &mut decoded).unwrap();
        assert_eq!(decoded, sha256(signed.as_bytes()));
        let (header, claims) = signed.split_once('.').unwrap();
        [header, claims].map(|part| {
            let mut decoded = [0; 512];
            let decoded = crate::decode_base64url(part, &mut decoded).unwrap();
            core::str::from_utf8(decoded).unwrap().into()
        })
    }

    #[test]
    fn auth_136_a_proof_is_that_of_rfc_9449() {
        let now = UnixTime::from_secs(1_562_262_618);
        let token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
        let mut proof = Proof {
            method: "GET",
            url: "https://resource.example.org/protectedresource?a=b",
            now,
            random: [7; 16],
            access_token: Some(token),
            nonce: None,
        };
        let [header, claims] = parts(&proof);
        assert_eq!(
            header,
            "{\"typ\":\"dpop+jwt\",\"alg\":\"ES256\",\"jwk\":{\"crv\":\"P-256\",\"kty\":\"EC\",\
             \"x\":\"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs\",\
             \"y\":\"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA\"}}"
        );
        // Section 7.1.
        assert_eq!(
            claims,
            "{\"jti\":\"BwcHBwcHBwcHBwcHBwcHBw\",\"htm\":\"GET\",\
             \"htu\":\"https://resource.example.org/protectedresource\",\"iat\":1562262618,\
             \"ath\":\"fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo\"}"
        );
        (proof.access_token, proof.nonce) = (None, Some("n"));
        let [_, claims] = parts(&proof);
        assert!(claims.ends_with("\"iat\":1562262618,\"nonce\":\"n\"}"), "{claims}");
        assert!(!std::format!("{proof:?}").contains("Kz"));
    }

    #[test]
    fn auth_136_auth_140_a_server_accepts_the_proof_of_a_client() {
        let made = UnixTime::from_secs(1_800_000_000);
        let proof = Proof {
            method: "POST",
            url: "https://mcp.example.com/mcp?a=b",
            now: made,
            random: [7; 16],
            access_token: Some("token"),
            nonce: Some("n"),
        };
        let (mut text, mut jkt) = ([0; 1024], [0; 43]);
        let (mut out, mut thumbprint) = (Writer::new(&mut text), Writer::new(&mut jkt));
        put_proof(&proof, &EC, &mut out).unwrap();
        put_thumbprint(&EC, &mut thumbprint);
        let (text, jkt) = (out.finish().unwrap(), thumbprint.finish().unwrap());
        let request = ProvenRequest {
            method: "POST",
            url: "https://MCP.example.com:443/mcp",
            access_token: "token",
            jkt,
        };
        let check = |request: ProvenRequest<'_>, at: u64, is_valid: bool| {
            let mut memory = std::vec![0; 2 * text.len()];
            let checked =
                request.check(text, UnixTime::from_secs(at), &mut memory, |signature| {
                    is_valid && signature.signature == sha256(signature.message)
                })?;
            assert_eq!(checked.nonce().unwrap().unwrap(), "n");
            assert_eq!(checked.end, later(made, MAX_AGE));
            Ok::<_, InvalidProof>(checked.id)
        };
        let at = made.as_secs();
        let mut id = Sha256::EMPTY;
        write!(id, "{jkt} BwcHBwcHBwcHBwcHBwcHBw").unwrap();
        assert_eq!(check(request, at, true), Ok(id.finish()));
        assert!(
            check(request, at - MAX_AHEAD, true).is_ok()
                && check(request, at + MAX_AGE, true).is_ok()
        );
        let refused = |request, at, is_valid| check(request, at, is_valid).unwrap_err().0;
        assert_eq!(refused(request, at, false), "the signature of the proof is invalid");
        for at in [at - MAX_AHEAD - 1, at + MAX_AGE + 1] {
            assert_eq!(refused(request, at, true), "the proof is too old, or from the future");
        }
        for (request, why) in [
            (ProvenRequest { method: "GET", ..request }, "the proof is for another method"),
            (
                ProvenRequest { url: "https://mcp.example.com/", ..request },
                "the proof is for another URL",
            ),
            (ProvenRequest { access_token: "other", ..request }, "the proof is for another token"),
            (ProvenRequest { jkt: "other", ..request }, "the token is bound to another key"),
        ] {
            assert_eq!(refused(request, at, true), why);
        }
    }

    #[test]
    fn auth_139_the_thumbprint_is_that_of_rfc_9449_and_rfc_7638() {
        for (key, expected) in [
            (EC, "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"),
            (RSA, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"),
        ] {
            let mut memory = [0; 43];
            let mut out = Writer::new(&mut memory);
            put_thumbprint(&key, &mut out);
            assert_eq!(out.finish(), Ok(expected));
        }
    }
}
