//! Keys that sign.

use core::fmt;

/// A private key, in memory or in a secure element, that signs assertions
/// ([`jws::put_assertion`](super::jws::put_assertion)) and proofs
/// ([`dpop::put_proof`](super::dpop::put_proof)).
pub trait Signer {
    /// Returns the name of the signature algorithm (RFC 7518, 3.1), for example `ES256`.
    fn alg(&self) -> &str;

    /// Signs the concatenation of the parts, writes the signature to the beginning of `out`, which
    /// has [`MAX_SIGNATURE`] bytes, and returns its length.
    ///
    /// # Errors
    /// [`SignError`] if the key cannot be used.
    fn sign(&self, message: &[&[u8]], out: &mut [u8]) -> Result<usize, SignError>;

    /// Passes the members of the public key to `put`: those that RFC 7638, 3.2 requires of the type
    /// of key, and no other, in the order of their names. For ES256 these are `crv`, `kty`, `x` and
    /// `y`, for EdDSA all but `y`.
    fn jwk(&self, put: &mut dyn FnMut(&str, &str));

    /// Returns the id by which the authorization server knows the key.
    fn key_id(&self) -> Option<&str> {
        None
    }
}

/// Maximum length of a signature in bytes: that of RSA with 4096 bits.
pub const MAX_SIGNATURE: usize = 512;

/// Reason why nothing was signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SignError {
    /// The key cannot be used now, for example because its secure element does not answer.
    Unavailable,
    /// The memory has no room for the text.
    Full,
}

impl fmt::Display for SignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "the signing key cannot be used",
            Self::Full => "the memory has no room for the signed text",
        })
    }
}

impl core::error::Error for SignError {}

/// Reason why bytes are no private key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KeyError {
    /// The encoding is neither that of a key in PKCS#8, nor PEM of one (`BEGIN PRIVATE KEY`).
    Encoding,
    /// It is a key of another algorithm.
    OtherAlgorithm,
    /// The number is no private key of the curve, or not that of the public key beside it.
    Value,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Encoding => "not a private key in PKCS#8, or PEM of it (BEGIN PRIVATE KEY)",
            Self::OtherAlgorithm => {
                "a private key of another algorithm: ES256 takes one of P-256, EdDSA one of Ed25519"
            }
            Self::Value => {
                "the number is no private key of the curve, or not that of its public key"
            }
        })
    }
}

impl core::error::Error for KeyError {}
