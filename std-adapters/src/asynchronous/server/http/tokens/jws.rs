//! Compact JWS (RFC 7515, 7.1) and the objects inside.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_sansio::RawJson;

use super::key::Algorithm;
use super::refusal::Refusal;

/// A token in its parts. Nothing is verified yet.
pub(super) struct Jws<'t> {
    header: String,
    /// The claims, a JSON object without doubled members at any level.
    pub(super) claims: String,
    /// The signed text.
    pub(super) signed: &'t str,
    pub(super) signature: Vec<u8>,
}

/// The members of a header that are used. All others are ignored, above all `jku`, `x5u`, `jwk` and
/// `x5c`: a token must not choose the key with which it is checked (RFC 8725, 3.10).
pub(super) struct Header<'h> {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<&'h str>,
    pub(super) typ: &'h str,
}

impl<'t> Jws<'t> {
    pub(super) fn parse(token: &'t str) -> Result<Self, Refusal> {
        if token.len() > MAX_TOKEN {
            return Err(Refusal::TooLong);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(Refusal::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Refusal::Malformed)?;
        let decode = |part| URL_SAFE_NO_PAD.decode(part).map_err(|_| Refusal::Malformed);
        let object = |part| {
            let text = String::from_utf8(decode(part)?).map_err(|_| Refusal::Malformed)?;
            object(&text)?;
            Ok(text)
        };
        Ok(Self {
            header: object(header)?,
            claims: object(claims)?,
            signed,
            signature: decode(signature)?,
        })
    }

    /// Returns a member of the header.
    pub(super) fn member(&self, name: &str) -> Option<RawJson<'_>> {
        RawJson::parse(&self.header).ok()?.get(name)
    }

    pub(super) fn header(&self) -> Result<Header<'_>, Refusal> {
        let header = RawJson::parse(&self.header).map_err(|_| Refusal::Malformed)?;
        // An extension that must be understood is not (RFC 7515, 4.1.11).
        if header.get("crit").is_some() {
            return Err(Refusal::Critical);
        }
        let text = |name| match header.get(name) {
            None => Ok(None),
            Some(value) => {
                let text = value.as_string().and_then(|text| text.as_plain());
                text.filter(|text| text.len() <= MAX_NAME).ok_or(Refusal::Malformed).map(Some)
            }
        };
        let algorithm = text("alg")?.ok_or(Refusal::Malformed)?;
        Ok(Header {
            algorithm: Algorithm::named(algorithm).ok_or(Refusal::Algorithm)?,
            kid: text("kid")?,
            typ: text("typ")?.unwrap_or_default(),
        })
    }
}

/// Parses an object whose members, and theirs, have different names: of doubled ones,
/// implementations differ in which they use (RFC 8725, 3.12).
pub(super) fn object(text: &str) -> Result<RawJson<'_>, Refusal> {
    let json = RawJson::parse(text).map_err(|_| Refusal::Malformed)?;
    // Each level is gone through once more; there are at most 64.
    let mut open = vec![json];
    while let Some(value) = open.pop() {
        let mut names = BTreeSet::new();
        for (name, member) in value.members() {
            if !names.insert(name.to_string()) {
                return Err(Refusal::Malformed);
            }
            open.push(member);
        }
        open.extend(value.elements());
    }
    if json.is_object() { Ok(json) } else { Err(Refusal::Malformed) }
}

/// Longest token that is looked at, in bytes.
pub(super) const MAX_TOKEN: usize = 16 << 10;
/// Longest key id, in bytes.
const MAX_NAME: usize = 256;
