//! Proofs of possession (DPoP, RFC 9449; draft extension `io.modelcontextprotocol/auth/dpop`) of a
//! client.

use super::arena::{Writer, put_base64url};
use super::jws::{HeaderKey, id_of, put_jwk, put_signed};
use super::setup::{SignError, Signer};
use super::token::UnixTime;
use mcp_sansio::internal::{Sha256, sha256};

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
    put_signed(key, "dpop+jwt", HeaderKey::Public, out, |claims| {
        claims
            .text("jti", id_of(&proof.random, &mut [0; 22]))
            .text("htm", proof.method)
            .text("htu", url)
            .number("iat", proof.now.as_secs())
            .text_if("nonce", proof.nonce);
        if let Some(token) = proof.access_token {
            let mut hash = [0; 43];
            let mut hash = Writer::new(&mut hash);
            put_base64url(&sha256(token.as_bytes()), &mut hash);
            claims.text("ath", hash.as_str());
        }
    })
}

/// Writes the thumbprint of a public key (RFC 7638), 43 characters: `jkt` of a bound token.
pub fn put_thumbprint(key: &dyn Signer, out: &mut Writer<'_>) {
    let mut hash = Sha256::EMPTY;
    put_jwk(key, &mut hash);
    put_base64url(&hash.finish(), out);
}

impl core::fmt::Debug for Proof<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Proof")
            .field("method", &self.method)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

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
