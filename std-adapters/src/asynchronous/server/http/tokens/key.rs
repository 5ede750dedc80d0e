//! Public keys, and signatures under them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_sansio::RawJson;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};

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
