//! ES256: ECDSA with P-256 and SHA-256 (RFC 7518, 3.4).

use super::arena::base64url;
use super::pkcs8;
use super::setup::{KeyError, SignError, Signer};
use mcp_sansio::internal::{Sha256, copy};
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::elliptic_curve::point::AffineCoordinates as _;

/// A private key for ES256 in memory, erased when it is dropped. Signatures need no randomness
/// (RFC 6979). Its `Debug` output does not show the key.
#[derive(Clone)]
#[must_use]
pub struct Es256<'i> {
    key: SigningKey,
    id: Option<&'i str>,
}

impl<'i> Es256<'i> {
    /// Creates a key of the 32 bytes of its number, most significant first: fresh random bytes
    /// make a new key.
    ///
    /// # Errors
    /// [`KeyError::Value`] for zero, and for the few numbers that are too large.
    pub fn from_bytes(number: &[u8; 32]) -> Result<Self, KeyError> {
        let key = SigningKey::from_slice(number).map_err(|_| KeyError::Value)?;
        Ok(Self { key, id: None })
    }

    /// Reads a key in PKCS#8, as `openssl genpkey -outform DER` writes it.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn from_pkcs8_der(der: &[u8]) -> Result<Self, KeyError> {
        Ok(Self { key: pkcs8::from_der(der)?, id: None })
    }

    /// Reads a key in PKCS#8 as PEM: `-----BEGIN PRIVATE KEY-----`.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn from_pkcs8_pem(pem: &str) -> Result<Self, KeyError> {
        Ok(Self { key: pkcs8::from_pem(pem)?, id: None })
    }

    /// Sets the id by which the authorization server knows the key.
    pub fn key_id(self, id: &'i str) -> Self {
        Self { id: Some(id), ..self }
    }
}

impl Signer for Es256<'_> {
    fn alg(&self) -> &str {
        "ES256"
    }

    fn sign(&self, message: &[&[u8]], out: &mut [u8]) -> Result<usize, SignError> {
        let mut hash = Sha256::EMPTY;
        message.iter().for_each(|part| hash.update(part));
        let signature: Signature =
            self.key.sign_prehash(&hash.finish()).map_err(|_| SignError::Unavailable)?;
        let bytes = signature.to_bytes();
        copy(&bytes, out.get_mut(..bytes.len()).ok_or(SignError::Full)?);
        Ok(bytes.len())
    }

    fn jwk(&self, put: &mut dyn FnMut(&str, &str)) {
        let point = self.key.verifying_key().as_affine();
        put("crv", "P-256");
        put("kty", "EC");
        for (name, coordinate) in [("x", point.x()), ("y", point.y())] {
            put(name, base64url(&coordinate, &mut [0; 43]));
        }
    }

    fn key_id(&self) -> Option<&str> {
        self.id
    }
}

mcp_sansio::opaque_debug!(Es256<'_> { id });

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{format, vec::Vec};

    use super::*;
    use crate::decode_base64url;

    /// RFC 7515, A.3.
    const D: &str = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI";

    const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRGGXCPQLZk3QXvTf\n\
        bvGnTdAkZrw1H2CAGvgqyzoHYSqhRANCAAS1F3kw6eWx4uKrPXxhghpL5mKOtcue\n\
        Sf9Kl+/OBbtd8z8VJa1HCIf6j2nsam6NNKiyMTjlNf2fql7givZUHr1C\n\
        -----END PRIVATE KEY-----\n";

    fn key() -> Es256<'static> {
        let mut number = [0; 32];
        assert!(decode_base64url(D, &mut number).is_some());
        Es256::from_bytes(&number).unwrap()
    }

    #[test]
    fn the_public_key_is_that_of_rfc_7515() {
        let mut members = Vec::new();
        key().jwk(&mut |name, value| members.push(format!("{name}={value}")));
        assert_eq!(
            members,
            [
                "crv=P-256",
                "kty=EC",
                "x=f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y=x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            ]
        );
        assert!(!format!("{:?}", key()).contains("jpsQ"));
    }

    #[test]
    fn a_signature_is_that_of_rfc_6979() {
        // A.2.5, P-256 with SHA-256.
        let (mut number, mut expected, mut out) = ([0; 32], [0; 64], [0; 64]);
        decode_base64url("ya-p2EW6dRZrXCFXZ7HWk05Qw9s26JsSe4piKxIPZyE", &mut number).unwrap();
        decode_base64url(
            "79SLKqy2qP0RQN2c1F6B1p0sh3tWqvmRw00OqE6vNxb\
             3yxyULWV8QdQ2x6G24p9l8-kA27mv9AZNxKsvhDrNqA",
            &mut expected,
        )
        .unwrap();
        let key = Es256::from_bytes(&number).unwrap();
        assert_eq!(key.sign(&[b"sam", b"", b"ple"], &mut out), Ok(64));
        assert_eq!(out, expected);
    }

    #[test]
    fn keys_are_read_from_pkcs8() {
        // openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256
        let key = Es256::from_pkcs8_pem(PEM).unwrap();
        let windows = PEM.replace('\n', "\r\n");
        assert!(Es256::from_pkcs8_pem(&windows).unwrap().key == key.key);
        for bad in ["", "x", &PEM[1..], &PEM.replace("M", ""), &PEM.replace("PRIVATE", "PUBLIC")] {
            assert_eq!(Es256::from_pkcs8_pem(bad).unwrap_err(), KeyError::Encoding, "{bad}");
        }
        assert_eq!(Es256::from_bytes(&[0; 32]).unwrap_err(), KeyError::Value);
        assert_eq!(Es256::from_bytes(&[0xff; 32]).unwrap_err(), KeyError::Value);
    }
}
