//! EdDSA: Ed25519 (RFC 8037; RFC 8032).

use super::arena::base64url;
use super::pkcs8;
use super::setup::{KeyError, SignError, Signer};
use ed25519_dalek::SigningKey;
use ed25519_dalek::ed25519::signature::MultipartSigner as _;
use mcp_sansio::internal::copy;

/// A private key for EdDSA with Ed25519 in memory, erased when it is dropped. Signatures need no
/// randomness. Its `Debug` output does not show the key.
#[derive(Clone)]
#[must_use]
pub struct Ed25519<'i> {
    key: SigningKey,
    id: Option<&'i str>,
}

impl<'i> Ed25519<'i> {
    /// Creates a key of its 32 bytes (RFC 8032, 5.1.5; `d` in RFC 8037): fresh random bytes make a
    /// new key.
    pub fn from_bytes(seed: &[u8; 32]) -> Self {
        Self { key: SigningKey::from_bytes(seed), id: None }
    }

    /// Reads a key in PKCS#8 (RFC 8410), as `openssl genpkey -algorithm ed25519 -outform DER`
    /// writes it.
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

impl Signer for Ed25519<'_> {
    fn alg(&self) -> &str {
        "EdDSA"
    }

    fn sign(&self, message: &[&[u8]], out: &mut [u8]) -> Result<usize, SignError> {
        let signature =
            self.key.try_multipart_sign(message).map_err(|_| SignError::Unavailable)?.to_bytes();
        copy(&signature, out.get_mut(..signature.len()).ok_or(SignError::Full)?);
        Ok(signature.len())
    }

    fn jwk(&self, put: &mut dyn FnMut(&str, &str)) {
        put("crv", "Ed25519");
        put("kty", "OKP");
        put("x", base64url(self.key.verifying_key().as_bytes(), &mut [0; 43]));
    }

    fn key_id(&self) -> Option<&str> {
        self.id
    }
}

mcp_sansio::opaque_debug!(Ed25519<'_> { id });

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{format, vec::Vec};

    use super::*;
    use crate::{Writer, decode_base64url, dpop};

    /// RFC 8410, 10.3.
    const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";

    fn hex(digits: &str) -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    }

    /// RFC 8037, A.1.
    fn key() -> Ed25519<'static> {
        let mut seed = [0; 32];
        decode_base64url("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", &mut seed).unwrap();
        Ed25519::from_bytes(&seed)
    }

    fn members(key: &Ed25519<'_>) -> Vec<std::string::String> {
        let mut members = Vec::new();
        key.jwk(&mut |name, value| members.push(format!("{name}={value}")));
        members
    }

    #[test]
    fn public_key_and_thumbprint_are_those_of_rfc_8037() {
        assert_eq!(
            members(&key()),
            ["crv=Ed25519", "kty=OKP", "x=11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]
        );
        let mut memory = [0; 43];
        let mut out = Writer::new(&mut memory);
        dpop::put_thumbprint(&key(), &mut out);
        assert_eq!(out.finish(), Ok("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"));
        assert!(!format!("{:?}", key()).contains("nWGx"));
    }

    #[test]
    fn signatures_are_those_of_rfc_8032() {
        for (seed, public, message, signature) in [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
                "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
                "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            ),
        ] {
            let key = Ed25519::from_bytes(&hex(seed).try_into().unwrap());
            assert_eq!(key.key.verifying_key().as_bytes()[..], hex(public));
            let mut out = [0; 64];
            let message = hex(message);
            let (first, second) = message.split_at(message.len() / 2);
            assert_eq!(key.sign(&[first, second], &mut out), Ok(64));
            assert_eq!(out[..], hex(signature));
            assert_eq!(key.sign(&[&message], &mut out[1..]), Err(SignError::Full));
        }
    }

    #[test]
    fn keys_are_read_from_pkcs8() {
        let key = Ed25519::from_pkcs8_pem(PEM).unwrap();
        // The public key of the same section.
        let mut x = [0; 32];
        let x = decode_base64url("Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE", &mut x).unwrap();
        assert_eq!(key.key.verifying_key().as_bytes(), x);
        let with_public_key = |x: &[u8]| {
            let mut der = hex("3051020101300506032b657004220420");
            der.extend(key.key.as_bytes());
            der.extend(hex("812100"));
            der.extend(x);
            Ed25519::from_pkcs8_der(&der).map(|key| key.key)
        };
        assert!(with_public_key(x).unwrap() == key.key);
        assert_eq!(with_public_key(&[1; 32]).unwrap_err(), KeyError::Value);
        for bad in ["", "x", &PEM[1..], &PEM.replace("M", ""), &PEM.replace("PRIVATE", "PUBLIC")] {
            assert_eq!(Ed25519::from_pkcs8_pem(bad).unwrap_err(), KeyError::Encoding, "{bad}");
        }
    }
}
