//! Signed JSON (RFC 7515, compact serialization): assertions of clients, proofs of possession for
//! [`dpop`](super::dpop), and what servers read of both and of access tokens.

use super::access_token::{Refusal, text};
use super::arena::{Base64, Object, Writer, base64url, decode_base64url, put_base64url};
use super::jwk::{Algorithm, PublicKey, Signature};
use super::setup::{MAX_SIGNATURE, SignError, Signer};
use super::token::UnixTime;
use mcp_sansio::{JsonStr, RawJson};

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
    let header = |header: &mut Object<'_>| {
        header.text_if("kid", key.key_id());
    };
    put_signed(key, "JWT", header, out, |claims| {
        claims
            .text("iss", client_id)
            .text("sub", client_id)
            .text("aud", audience)
            .text("jti", base64url(random, &mut [0; 22]))
            .number("iat", now.as_secs())
            .number("exp", now.as_secs().saturating_add(ASSERTION_LIFE));
    })
}

/// Writes a signed object. `name_key` adds the member of its header that names the key.
pub(super) fn put_signed(
    key: &dyn Signer,
    typ: &str,
    name_key: impl FnOnce(&mut Object<'_>),
    out: &mut Writer<'_>,
    claims: impl FnOnce(&mut Object<'_>),
) -> Result<(), SignError> {
    let start = out.as_str().len();
    let mut base64 = Base64::url(out);
    let mut header = Object::begin(&mut base64);
    header.text("typ", typ).text("alg", key.alg());
    name_key(&mut header);
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

/// Lifetime of an assertion, in seconds; servers take 5 minutes at most.
const ASSERTION_LIFE: u64 = 240;

// What servers read.

/// A token in its parts. Nothing is verified yet.
#[derive(Clone, Copy)]
pub(super) struct Jws<'m> {
    /// The header and the claims: JSON objects without doubled members at any level.
    pub(super) header: RawJson<'m>,
    pub(super) claims: RawJson<'m>,
    signed: &'m str,
    signature: &'m [u8],
}

/// The members of a header that are used. All others are ignored, above all `jku`, `x5u`, `jwk` and
/// `x5c`: a token must not choose the key with which it is checked (RFC 8725, 3.10).
#[derive(Clone, Copy)]
pub(super) struct Header<'m> {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<&'m str>,
    pub(super) typ: &'m str,
}

impl<'m> Jws<'m> {
    pub(super) fn parse(token: &'m str, memory: &mut Memory<'m>) -> Result<Self, Refusal> {
        if token.len() > MAX_TOKEN.min(memory.0.len() / 2) {
            return Err(Refusal::TooLong);
        }
        Self::decode(token, memory).ok_or(Refusal::Malformed)
    }

    fn decode(token: &'m str, memory: &mut Memory<'m>) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let mut read = |part| {
            let text = core::str::from_utf8(memory.base64url(part)?).ok()?;
            object(text, memory.0)
        };
        let (header, claims) = (read(header)?, read(claims)?);
        Some(Self { header, claims, signed, signature: memory.base64url(signature)? })
    }

    pub(super) fn header(&self, memory: &mut Memory<'m>) -> Result<Header<'m>, Refusal> {
        // An extension that must be understood is not (RFC 7515, 4.1.11).
        if self.header.get("crit").is_some() {
            return Err(Refusal::Critical);
        }
        let mut text = |name| {
            let decode = |text| memory.text(text).filter(|text| text.len() <= MAX_NAME);
            let decoded = text(self.header, name)?.map(decode);
            decoded.map(|text| text.ok_or(Refusal::Malformed)).transpose()
        };
        let algorithm = text("alg")?.ok_or(Refusal::Malformed)?;
        Ok(Header {
            algorithm: Algorithm::named(algorithm).ok_or(Refusal::Algorithm)?,
            kid: text("kid")?,
            typ: text("typ")?.unwrap_or_default(),
        })
    }

    /// Returns the signature as one of this key.
    pub(super) const fn signature<'s>(
        &self,
        algorithm: Algorithm,
        key: PublicKey<&'s [u8]>,
    ) -> Signature<'s>
    where
        'm: 's,
    {
        Signature { key, algorithm, message: self.signed.as_bytes(), signature: self.signature }
    }
}

/// Memory that a caller lends for decoded text. A token is decoded in three quarters of its length,
/// strings in it in no more, and names are compared in 8/5 of the length of their text, of which
/// nothing stays.
pub(super) struct Memory<'m>(&'m mut [u8]);

impl<'m> Memory<'m> {
    pub(super) const fn new(memory: &'m mut [u8]) -> Self {
        Self(memory)
    }

    /// Decodes base64url; `None` if it is none, or if it finds no room.
    pub(super) fn base64url(&mut self, text: &str) -> Option<&'m [u8]> {
        let len = text.len() - text.len().div_ceil(4);
        decode_base64url(text, self.0.split_off_mut(..len)?)
    }

    /// Decodes a string; `None` if it finds no room.
    pub(super) fn text(&mut self, text: JsonStr<'_>) -> Option<&'m str> {
        text.copy_to(self.0.split_off_mut(..text.inner().len())?)
    }
}

/// Parses an object whose members, and theirs, have different names: of doubled ones,
/// implementations differ in which they use (RFC 8725, 3.12). `None` if it is none, or if `memory`
/// has less than 8/5 of its length.
pub(super) fn object<'j>(text: &'j str, memory: &mut [u8]) -> Option<RawJson<'j>> {
    let json = RawJson::parse(text).ok().filter(|json| json.is_object())?;
    // Of each member, the places of its object and of its name. A member takes five bytes or more.
    let (members, _) = memory.as_chunks_mut::<8>();
    let (mut count, mut at) = (0, 0);
    let (mut open, mut depth) = ([0; MAX_DEPTH], 0usize);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'{' | b'[' => {
                *open.get_mut(depth)? = u32::try_from(at).ok()?;
                depth += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let name = string_at(text, at)?;
                let behind = text.get(at + name.len()..)?;
                if behind.trim_ascii_start().starts_with(':') {
                    let object = u64::from(*open.get(depth.checked_sub(1)?)?);
                    let place = object << 32 | u64::from(u32::try_from(at).ok()?);
                    *members.get_mut(count)? = place.to_be_bytes();
                    count += 1;
                }
                at += name.len() - 1;
            }
            _ => {}
        }
        at += 1;
    }
    let members = members.get_mut(..count)?;
    let order = |a: &[u8; 8], b: &[u8; 8]| {
        let [a, b] = [a, b].map(|place| u64::from_be_bytes(*place));
        let names = [a, b].map(|place| name_at(text, place as u32 as usize));
        let [a_name, b_name] = names;
        (a >> 32).cmp(&(b >> 32)).then_with(|| a_name.cmp(b_name))
    };
    members.sort_unstable_by(order);
    let next = members.get(1..).unwrap_or_default();
    let is_doubled = members.iter().zip(next).any(|(a, b)| order(a, b).is_eq());
    (!is_doubled).then_some(json)
}

/// Returns the characters of the name at a place.
fn name_at(text: &str, at: usize) -> impl Iterator<Item = char> + '_ {
    let name = string_at(text, at).and_then(|name| RawJson::parse(name).ok()?.as_string());
    name.into_iter().flat_map(JsonStr::chars)
}

/// Returns the string that begins at a place of valid JSON, with its quotation marks.
fn string_at(json: &str, at: usize) -> Option<&str> {
    let rest = json.get(at..)?;
    let mut is_escaped = true;
    let end = rest.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    rest.get(..=end?)
}

/// Longest token that is looked at, in bytes.
pub const MAX_TOKEN: usize = 16 << 10;
/// Longest key id, in bytes.
const MAX_NAME: usize = 256;
/// Levels of JSON, of which there are no more.
const MAX_DEPTH: usize = 64;
