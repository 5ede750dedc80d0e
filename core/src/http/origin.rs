//! URLs of servers, and of the POST endpoint of HTTP+SSE.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::protocol::error::require;
use crate::text::{split, split_once};

/// The scheme, host and port of an `http` or `https` URL.
///
/// ```
/// use mcp_sansio::http::client::Origin;
/// let (origin, target) = Origin::parse("http://localhost:8000/mcp?x=y#z").unwrap();
/// assert_eq!(
///     (origin.host, origin.port, origin.is_secure, target),
///     ("localhost", 8000, false, "/mcp?x=y")
/// );
/// assert_eq!(origin.authority, "localhost:8000"); // what `Host` says
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin<'u> {
    /// Whether the scheme is `https`.
    pub is_secure: bool,
    /// Host and port as written in the URL: the value of `Host`.
    pub authority: &'u str,
    /// The name or address; an IPv6 address without brackets.
    pub host: &'u str,
    /// The port; by default 80 or 443.
    pub port: u16,
}

/// URL errors.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlError {
    /// The scheme is neither `http` nor `https`.
    Scheme,
    /// Invalid host or port; userinfo is not supported.
    Authority,
    /// Invalid characters: spaces, control characters, or non-ASCII characters that are not
    /// percent-encoded.
    Characters,
    /// The reference leads to another origin.
    OtherOrigin,
    /// The URL has a fragment, where none may be.
    Fragment,
    /// The URL is not `https`, nor `http` to this machine where that is allowed.
    NotSecure,
    /// The URL leads to an address of this machine or of an inner network.
    InnerAddress,
}

impl<'u> Origin<'u> {
    /// Parses a URL into its origin and the request target (path and query). Drops a fragment.
    ///
    /// # Errors
    /// [`UrlError`] if it is not the URL of a server.
    pub fn parse(url: &'u str) -> Result<(Self, &'u str), UrlError> {
        let url = split_once(url, '#').map_or(url, |(url, _)| url);
        require(url.bytes().all(|byte| byte.is_ascii_graphic()), UrlError::Characters)?;
        let (scheme, rest) = split_once(url, ':').ok_or(UrlError::Scheme)?;
        let rest = rest.strip_prefix("//").ok_or(UrlError::Scheme)?;
        let is_secure = if scheme.eq_ignore_ascii_case("https") {
            true
        } else if scheme.eq_ignore_ascii_case("http") {
            false
        } else {
            return Err(UrlError::Scheme);
        };
        Self::with_target(is_secure, rest)
    }

    /// Splits what stands behind the two slashes.
    fn with_target(is_secure: bool, rest: &'u str) -> Result<(Self, &'u str), UrlError> {
        let (authority, target) =
            rest.split_at_checked(rest.find(['/', '?']).unwrap_or(rest.len())).unwrap_or_default();
        let target = if target.is_empty() { "/" } else { target };
        let (host, port) = host_and_port(authority, if is_secure { 443 } else { 80 })
            .ok_or(UrlError::Authority)?;
        // A query without a path is not a valid request target.
        require(!target.starts_with('?'), UrlError::Characters)?;
        Ok((Self { is_secure, authority, host, port }, target))
    }

    /// Resolves a reference received from `base`, a request target of this origin, to a request
    /// target (RFC 3986, 5.2, without dot segments).
    ///
    /// # Errors
    /// [`UrlError`] if the reference is invalid or leads to another origin, where a server must not
    /// send a client's messages (2024-11-05, basic/transports, has no rule for it).
    pub fn resolve<'r>(
        &self,
        base: &'r str,
        reference: &'r str,
    ) -> Result<ResolvedTarget<'r>, UrlError> {
        let reference = reference.trim_matches([' ', '\t']);
        let reference = split_once(reference, '#').map_or(reference, |(reference, _)| reference);
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
        require(reference.bytes().all(is_allowed), UrlError::Characters)?;
        let scheme = reference
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
            .count();
        let absolute = if reference.as_bytes().get(scheme) == Some(&b':') {
            Some(Origin::parse(reference)?)
        } else {
            let rest = reference.strip_prefix("//");
            rest.map(|rest| Origin::with_target(self.is_secure, rest)).transpose()?
        };
        if let Some((other, target)) = absolute {
            require(self.is_same(&other), UrlError::OtherOrigin)?;
            return Ok(ResolvedTarget { prefix: "", target });
        }
        if reference.starts_with('/') {
            return Ok(ResolvedTarget { prefix: "", target: reference });
        }
        let path = split_once(base, '?').map_or(base, |(path, _)| path);
        let prefix = if reference.is_empty() {
            base
        } else if reference.starts_with('?') {
            path
        } else {
            path.rfind(['/']).and_then(|at| path.get(..=at)).unwrap_or("/")
        };
        Ok(ResolvedTarget { prefix, target: reference })
    }

    /// Whether both have the same scheme, host and port (RFC 6454, 5).
    pub fn is_same(&self, other: &Origin<'_>) -> bool {
        self.is_secure == other.is_secure
            && self.port == other.port
            && self.host.eq_ignore_ascii_case(other.host)
    }
}

/// A request target (path and query) in two parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResolvedTarget<'r> {
    prefix: &'r str,
    target: &'r str,
}

impl fmt::Display for ResolvedTarget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix)?;
        f.write_str(self.target)
    }
}

/// Splits visible ASCII characters into host and port.
pub(super) fn host_and_port(authority: &str, default_port: u16) -> Option<(&str, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = split_once(rest, ']')?;
            let is_address =
                host.bytes().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'));
            (Some(host).filter(|_| is_address)?, behind)
        }
        None => authority.split_at_checked(authority.find([':']).unwrap_or(authority.len()))?,
    };
    let is_host = !host.is_empty() && !host.bytes().any(|byte| b"@[]<>\"\\^`{|}%,".contains(&byte));
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => default_port,
        Some("") => default_port,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    is_host.then_some((host, port))
}

crate::text::error_type!(UrlError {
    Scheme => "the URL starts with neither http:// nor https://",
    Authority => "invalid host or port in the URL",
    Characters => "the URL contains characters that must be percent-encoded",
    OtherOrigin => "the URL has another host, port or scheme than the server's",
    Fragment => "the URL has a fragment (#), which is not allowed here",
    NotSecure => "the URL must start with https://",
    InnerAddress => "the URL leads to this machine or an inner network: allow that if it is meant",
});

// IP addresses from text. The parser of the standard library has a panic path.

/// Reads four decimal numbers.
pub(crate) fn v4(text: &str) -> Option<Ipv4Addr> {
    let (mut address, mut len) = (0, 0);
    for part in split(text, '.') {
        let has_zero = part.len() > 1 && part.starts_with('0');
        if has_zero || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        address = address << 8 | u32::from(part.parse::<u8>().ok()?);
        len += 1;
    }
    (len == 4).then_some(Ipv4Addr::from_bits(address))
}

/// Reads an address as RFC 4291, 2.2 has it, without brackets.
pub fn v6(text: &str) -> Option<Ipv6Addr> {
    let (mut address, mut len, mut gap) = (0u128, 0u32, None);
    let mut rest = text;
    if let Some(behind) = rest.strip_prefix("::") {
        (gap, rest) = (Some(0), behind);
    }
    while gap.is_none() || !rest.is_empty() {
        let (group, behind) = split_once(rest, ':').unwrap_or((rest, ""));
        let is_last = group.len() == rest.len();
        let (value, groups) = match v4(group) {
            Some(address) if is_last => (address.to_bits(), 2),
            _ => (hexadecimal(group)?, 1),
        };
        len += groups;
        if len > 8 {
            return None;
        }
        address = address << (16 * groups) | u128::from(value);
        if is_last {
            break;
        }
        rest = behind;
        if let Some(behind) = rest.strip_prefix(':') {
            if gap.replace(len).is_some() {
                return None;
            }
            rest = behind;
        } else if rest.is_empty() {
            return None;
        }
    }
    let behind_gap = len - gap.unwrap_or(len);
    let missing = 8 - len;
    if (missing == 0) != gap.is_none() {
        return None;
    }
    let low = address & (1u128 << (16 * behind_gap)).wrapping_sub(1);
    // The groups before the gap move up. All zero if it takes all.
    let high = (address ^ low).checked_shl(16 * missing).unwrap_or(0);
    Some(Ipv6Addr::from_bits(high | low))
}

fn hexadecimal(group: &str) -> Option<u32> {
    let is_group =
        matches!(group.len(), 1..=4) && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_group { u32::from_str_radix(group, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::{String, ToString as _};

    use super::*;

    #[test]
    fn urls_are_split() {
        for (url, host, port, authority, target) in [
            ("http://a", "a", 80, "a", "/"),
            ("HTTPS://a.b:8443/x", "a.b", 8443, "a.b:8443", "/x"),
            ("https://a:/", "a", 443, "a:", "/"),
            ("http://[::1]:80/mcp", "::1", 80, "[::1]:80", "/mcp"),
            ("http://127.0.0.1/?q#f", "127.0.0.1", 80, "127.0.0.1", "/?q"),
        ] {
            let (origin, read) = Origin::parse(url).unwrap();
            assert_eq!(
                (origin.host, origin.port, origin.authority, read),
                (host, port, authority, target),
                "{url}"
            );
            assert_eq!(origin.is_secure, url.to_ascii_lowercase().starts_with("https"));
        }
        for (url, error) in [
            ("ftp://a/", UrlError::Scheme),
            ("a/b", UrlError::Scheme),
            ("http:///x", UrlError::Authority),
            ("http://user:pass@a/", UrlError::Authority),
            ("http://user@a/", UrlError::Authority),
            ("http://a,b/", UrlError::Authority),
            ("http://a%20b/", UrlError::Authority),
            ("http://[::1]x/", UrlError::Authority),
            ("http://[::x]/", UrlError::Authority),
            ("http://a:+80/", UrlError::Authority),
            ("http://a:99999/", UrlError::Authority),
            ("http://a:b/", UrlError::Authority),
            ("http://[::1/", UrlError::Authority),
            ("http://a b/", UrlError::Characters),
            ("http://a/\r\nX: y", UrlError::Characters),
            ("http://\u{e9}/", UrlError::Characters),
        ] {
            assert_eq!(Origin::parse(url), Err(error), "{url}");
        }
    }

    #[test]
    fn old_07_references_are_resolved_within_the_origin() {
        let (origin, base) = Origin::parse("http://localhost:8000/v1/sse?x=y").unwrap();
        let resolve = |reference: &str| -> Result<String, UrlError> {
            origin.resolve(base, reference).map(|it| it.to_string())
        };
        for (reference, target) in [
            ("/messages?id=1", "/messages?id=1"),
            ("messages/?id=1", "/v1/messages/?id=1"),
            ("?id=1", "/v1/sse?id=1"),
            ("", "/v1/sse?x=y"),
            ("http://LOCALHOST:8000/m#f", "/m"),
            ("http://localhost:8000", "/"),
            ("//localhost:8000/m", "/m"),
            (" /m ", "/m"),
        ] {
            assert_eq!(resolve(reference).as_deref(), Ok(target), "{reference}");
        }
        for reference in [
            "http://localhost/m",
            "https://localhost:8000/m",
            "http://evil.example:8000/m",
            "//evil.example/m",
            "//localhost/m",
            "//localhost:8001/m",
            "http://localhost.evil.example:8000/",
        ] {
            assert_eq!(resolve(reference), Err(UrlError::OtherOrigin), "{reference}");
        }
        for reference in [
            "javascript:alert(1)",
            "http://localhost:8000@evil/",
            "/a b",
            "\\\\evil\\m",
            "/x\ry",
            "http://",
            "x:m",
            ":m",
            "//a@b/m",
            "//host?query",
        ] {
            assert!(resolve(reference).is_err(), "{reference}");
        }
    }

    #[test]
    fn a_reference_without_a_port_has_the_default_port() {
        for (url, other) in [("http://a/sse", "//a:81/m"), ("https://a/sse", "//a:80/m")] {
            let (origin, base) = Origin::parse(url).unwrap();
            for (reference, target) in [("//a/m", "/m"), ("//a", "/")] {
                let resolved = origin.resolve(base, reference).map(|it| it.to_string());
                assert_eq!(resolved.as_deref(), Ok(target), "{url}");
            }
            assert_eq!(origin.resolve(base, other), Err(UrlError::OtherOrigin), "{url}");
        }
    }

    #[test]
    fn errors_name_the_problem() {
        for (error, word) in [
            (UrlError::Scheme, "http://"),
            (UrlError::Authority, "port"),
            (UrlError::Characters, "percent-encoded"),
            (UrlError::OtherOrigin, "another host"),
        ] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    #[test]
    fn addresses_are_those_of_the_standard_library() {
        let mut seed = 1u64;
        let mut below = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % n
        };
        let mut read = [0, 0];
        for _ in 0..50_000 {
            let pieces: &[&str] = &[
                ":", ":", ":", "::", "0", "1", "f", "A", "00ff", "12345", "1.2.3.4", ".", "255",
                "g",
            ];
            let text: String = (0..below(18)).map(|_| pieces[below(pieces.len())]).collect();
            let groups: String =
                (0..7 + below(3)).map(|_| ["0:", "::", "9f:"][below(60) % 3]).collect();
            let dotted: String =
                (0..4 + below(2)).map(|_| ["0.", "25.", "256.", "01."][below(8) / 2]).collect();
            for text in
                [&text[..], groups.trim_end_matches(':'), &groups, dotted.trim_end_matches('.')]
            {
                assert_eq!(v4(text), text.parse().ok(), "{text}");
                assert_eq!(v6(text), text.parse().ok(), "{text}");
                read[0] += usize::from(v4(text).is_some());
                read[1] += usize::from(v6(text).is_some());
            }
        }
        assert!(read.iter().all(|read| *read > 250), "{read:?}");
    }
}
