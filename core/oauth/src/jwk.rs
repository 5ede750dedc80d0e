//! Public keys (JSON Web Keys, RFC 7517), and the signatures that are made with them.

use super::arena::Object;
use super::jws::{Header, Memory, object};
use mcp_sansio::internal::Sha256;
use mcp_sansio::{JsonStr, RawJson};

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

/// A public key of an algorithm's family. `B` has the numbers of RSA, most significant byte first
/// and without zeros in front: they are borrowed where a key is read, and a program that keeps keys
/// may own them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PublicKey<B> {
    /// RSA.
    Rsa {
        /// The modulus, of 2048 bits or more.
        n: B,
        /// The exponent.
        e: B,
    },
    /// ECDSA on P-256: the uncompressed point.
    P256([u8; 65]),
    /// EdDSA on Ed25519.
    Ed25519([u8; 32]),
}

impl<B> PublicKey<B> {
    /// Returns the same key with other memory for its numbers.
    pub fn map<'k, C>(&'k self, mut bytes: impl FnMut(&'k B) -> C) -> PublicKey<C> {
        match self {
            Self::Rsa { n, e } => PublicKey::Rsa { n: bytes(n), e: bytes(e) },
            Self::P256(point) => PublicKey::P256(*point),
            Self::Ed25519(key) => PublicKey::Ed25519(*key),
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
}

impl<'m> PublicKey<&'m [u8]> {
    /// Reads a JSON Web Key; `None` for keys of other families, and for secrets.
    pub(super) fn from_jwk(jwk: RawJson<'_>, memory: &mut Memory<'m>) -> Option<Self> {
        let mut bytes = |name| memory.base64url(member(jwk, name)?);
        match (member(jwk, "kty")?, member(jwk, "crv")) {
            ("RSA", _) => {
                let [n, e] = [bytes("n")?, bytes("e")?].map(without_zeros);
                (n.len() >= MIN_RSA).then_some(Self::Rsa { n, e })
            }
            ("EC", Some("P-256")) => {
                let mut point = [4; 65];
                let (coordinates, _) = point.get_mut(1..)?.as_chunks_mut::<32>();
                for (place, name) in coordinates.iter_mut().zip(["x", "y"]) {
                    *place = bytes(name)?.try_into().ok()?;
                }
                Some(Self::P256(point))
            }
            ("OKP", Some("Ed25519")) => Some(Self::Ed25519(bytes("x")?.try_into().ok()?)),
            _ => None,
        }
    }
}

/// Returns a member that is a string without escapes.
fn member<'j>(jwk: RawJson<'j>, name: &str) -> Option<&'j str> {
    jwk.get(name)?.as_string()?.as_plain()
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    number.get(zeros..).unwrap_or_default()
}

/// Returns the hash of a key that [`PublicKey::from_jwk`] has read (RFC 7638).
pub(super) fn thumbprint(jwk: RawJson<'_>, key: &PublicKey<&[u8]>) -> [u8; 32] {
    let names: &[&str] = match key {
        PublicKey::Rsa { .. } => &["e", "kty", "n"],
        PublicKey::P256(_) => &["crv", "kty", "x", "y"],
        PublicKey::Ed25519(_) => &["crv", "kty", "x"],
    };
    let mut hash = Sha256::EMPTY;
    let mut members = Object::begin(&mut hash);
    for name in names {
        members.text_if(name, member(jwk, name));
    }
    members.end();
    hash.finish()
}

/// A signature that is to be verified with the program's cryptography, which also checks the length
/// of the key and of the signature.
#[derive(Clone, Copy, Debug)]
pub struct Signature<'s> {
    /// The key, which is one of the algorithm.
    pub key: PublicKey<&'s [u8]>,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What was signed.
    pub message: &'s [u8],
    /// The signature (RFC 7518, 3; RFC 8037, 3.1).
    pub signature: &'s [u8],
}

/// A key of a key set, with which signatures are verified. `T` and `B` have its text and numbers,
/// borrowed or owned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jwk<T, B> {
    /// The id.
    pub kid: Option<T>,
    /// The only algorithm of the key, if the set says so.
    pub algorithm: Option<Algorithm>,
    /// The key itself.
    pub key: PublicKey<B>,
}

impl<T: PartialEq<str>, B> Jwk<T, B> {
    /// Returns the key of a token. Without a key id there must be no choice.
    pub(super) fn find<'k>(keys: &'k [Self], header: &Header<'_>) -> Option<&'k PublicKey<B>> {
        let mut fitting = keys.iter().filter(|jwk| {
            let names = jwk.algorithm.is_none_or(|algorithm| algorithm == header.algorithm);
            names && jwk.key.fits(header.algorithm)
        });
        let found = match header.kid {
            Some(kid) => fitting.find(|jwk| jwk.kid.as_ref().is_some_and(|own| *own == *kid)),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        };
        found.map(|jwk| &jwk.key)
    }
}

impl<'j, 'm> Jwk<JsonStr<'j>, &'m [u8]> {
    /// Reads a JSON Web Key Set (RFC 7517, 5), at most 100 keys of it, and hands each to `take`.
    /// Left out is what is not a public key for signatures of [`Algorithm`]. `memory` is twice as
    /// long as the set.
    ///
    /// # Errors
    /// [`KeySetError`].
    pub fn read_set(
        set: &'j [u8],
        memory: &'m mut [u8],
        mut take: impl FnMut(Self),
    ) -> Result<(), KeySetError> {
        let text = core::str::from_utf8(set).ok();
        let set = text.and_then(|text| object(text, memory)).and_then(|set| set.get("keys"));
        let keys = set.filter(|keys| keys.is_array()).ok_or(KeySetError::NotASet)?.elements();
        let (mut memory, mut is_empty) = (Memory::new(memory), true);
        for jwk in keys.take(MAX_KEYS).filter_map(|jwk| Self::read(jwk, &mut memory)) {
            is_empty = false;
            take(jwk);
        }
        if is_empty { Err(KeySetError::NoKey) } else { Ok(()) }
    }

    fn read(jwk: RawJson<'j>, memory: &mut Memory<'m>) -> Option<Self> {
        let is_signing = jwk.get("use").is_none_or(|value| is(value, "sig"));
        let verifies = jwk
            .get("key_ops")
            .is_none_or(|all| all.elements().any(|operation| is(operation, "verify")));
        let algorithm = match jwk.get("alg") {
            None => None,
            Some(name) => Some(Algorithm::named(name.as_string()?.as_plain()?)?),
        };
        let kid = match jwk.get("kid") {
            None => None,
            Some(kid) => Some(kid.as_string()?),
        };
        let key = PublicKey::from_jwk(jwk, memory).filter(|_| is_signing && verifies)?;
        Some(Self { kid, algorithm, key })
    }
}

fn is(value: RawJson<'_>, text: &str) -> bool {
    value.as_string().is_some_and(|value| value == *text)
}

/// Reason why a key set cannot be used.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySetError {
    /// It is no JSON Web Key Set, an object in it has two members of the same name, or the memory
    /// is less than twice its length.
    NotASet,
    /// None of its keys is for one of [`Algorithm`].
    NoKey,
}

mcp_sansio::error_type!(KeySetError {
    NotASet => "no key set",
    NoKey => "no key of the set is for RS256, PS256, ES256 or EdDSA",
});

/// Shortest modulus, in bytes.
const MIN_RSA: usize = 256;
/// Keys that are read from a set.
const MAX_KEYS: usize = 100;
