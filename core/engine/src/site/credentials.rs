//! The credentials in the head of a request.

use alloc::string::String;

use mcp_sansio::http::{RequestHead, SingleValue};

/// The scheme of a field `Authorization`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// A bearer token (RFC 6750).
    Bearer,
    /// A token that is bound to a key, with a proof that the client has it (RFC 9449).
    Dpop,
}

/// Returns the scheme and the token of a request, if there is exactly one `Authorization` field
/// with one. The token may be no text.
pub fn authorization<'h>(head: &RequestHead<'h>) -> Option<(Scheme, &'h [u8])> {
    let [Some(value), None] = head.fields.first_two("authorization") else {
        return None;
    };
    let (scheme, mut token) = value.split_at_checked(value.iter().position(|b| *b == b' ')?)?;
    let scheme = match scheme {
        _ if scheme.eq_ignore_ascii_case(b"bearer") => Scheme::Bearer,
        _ if scheme.eq_ignore_ascii_case(b"dpop") => Scheme::Dpop,
        _ => return None,
    };
    while let [b' ', rest @ ..] | [rest @ .., b' ' | b'\t'] = token {
        token = rest;
    }
    (!token.is_empty()).then_some((scheme, token))
}

/// Returns the bearer token of a request (RFC 6750, 2.1). That of another scheme is not returned: a
/// token that is bound to a key must not be accepted without its proof (RFC 9449, 7.2).
pub fn bearer_token<'h>(head: &RequestHead<'h>) -> Option<&'h str> {
    let (scheme, token) = authorization(head)?;
    core::str::from_utf8(token).ok().filter(|_| scheme == Scheme::Bearer)
}

/// Returns the proof of a bound token, if there is exactly one `DPoP` field (RFC 9449, 4.3).
pub fn proof<'h>(head: &RequestHead<'h>) -> Option<&'h str> {
    match head.fields.single("dpop") {
        SingleValue::Value(proof) => Some(proof),
        _ => None,
    }
}

/// Returns the URL of a request without its query, as in the claim `htu` of a proof: the `origin`
/// of the [resource](super::ProtectedResource::origin), or `http` and the host, and the path.
pub fn url(head: &RequestHead<'_>, origin: Option<&str>) -> String {
    match origin {
        Some(origin) => [origin, head.path()].concat(),
        None => {
            let host = head.authority().or(head.fields.get("host")).unwrap_or_default();
            ["http://", host, head.path()].concat()
        }
    }
}
