//! URLs of authorization: strict, as most of them come from a peer.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use mcp_sansio::http::client::{Origin, UrlError};
use mcp_sansio::internal::{split, split_once, v6};

/// An absolute `http` or `https` URL without userinfo, fragment, or any character that RFC 3986
/// does not have. The text stays as it was written: URLs are compared byte for byte.
///
/// ```
/// # use mcp_sansio_oauth::Url;
/// let url = Url::parse("https://auth.example.com/tenant?x=y").unwrap();
/// assert_eq!((url.path(), url.query()), ("/tenant", Some("x=y")));
/// assert!(Url::parse("https://auth.example.com@evil.example/").is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Url<'u> {
    text: &'u str,
    origin: Origin<'u>,
    host: Host<'u>,
    /// Length of scheme and authority.
    origin_len: usize,
}

/// The host of a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Host<'u> {
    /// A name, as written.
    Name(&'u str),
    /// An address, in any spelling: `127.1`, `0x7f000001` and `0177.0.0.1` are `127.0.0.1`.
    Address(IpAddr),
}

/// Which URLs may be used, beside `https` to the Internet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use]
pub struct UrlRules {
    loopback_http: bool,
    inner_addresses: bool,
}

impl UrlRules {
    /// Allows `https` to the Internet alone.
    pub const fn new() -> Self {
        Self { loopback_http: false, inner_addresses: false }
    }

    /// Allows `http` and `https` to this machine: for tests, and for authorization servers on it.
    pub const fn loopback_http(self, loopback_http: bool) -> Self {
        Self { loopback_http, ..self }
    }

    /// Allows `https` to this machine and to inner networks ([`AddressKind::Inner`]).
    pub const fn inner_addresses(self, inner_addresses: bool) -> Self {
        Self { inner_addresses, ..self }
    }

    /// Whether an address may be connected to, for URLs whose host is a name.
    pub const fn allow(self, address: AddressKind) -> bool {
        match address {
            AddressKind::Public => true,
            AddressKind::Loopback => self.inner_addresses || self.loopback_http,
            AddressKind::Inner => self.inner_addresses,
        }
    }
}

impl<'u> Url<'u> {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`UrlError`] if it is anything else than described at [`Url`].
    pub fn parse(text: &'u str) -> Result<Self, UrlError> {
        if text.contains(['#']) {
            return Err(UrlError::Fragment);
        }
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
        if !text.bytes().all(is_allowed) {
            return Err(UrlError::Characters);
        }
        let (origin, _) = Origin::parse(text)?;
        let scheme_len = if origin.is_secure { "https://".len() } else { "http://".len() };
        let origin_len = scheme_len + origin.authority.len();
        let host = if origin.authority.starts_with('[') {
            Host::Address(IpAddr::V6(v6(origin.host).ok_or(UrlError::Authority)?))
        } else {
            match ipv4(origin.host) {
                None => Host::Name(origin.host),
                Some(address) => Host::Address(IpAddr::V4(address.ok_or(UrlError::Authority)?)),
            }
        };
        Ok(Self { text, origin, host, origin_len })
    }

    /// Returns the URL as it was written.
    pub const fn as_str(self) -> &'u str {
        self.text
    }

    /// Returns scheme, host and port.
    pub const fn origin(self) -> Origin<'u> {
        self.origin
    }

    /// Returns scheme, host and port as they were written: `https://auth.example.com`.
    pub fn origin_text(self) -> &'u str {
        self.text.get(..self.origin_len).unwrap_or_default()
    }

    /// Whether scheme, host and port are the same; the host without case.
    pub fn is_same_origin(self, other: Url<'_>) -> bool {
        self.origin.is_same(&other.origin)
    }

    /// Returns the path; empty if there is none.
    pub fn path(self) -> &'u str {
        split_once(self.target(), '?').map_or(self.target(), |(path, _)| path)
    }

    /// Returns the query, without its `?`.
    pub fn query(self) -> Option<&'u str> {
        split_once(self.target(), '?').map(|(_, query)| query)
    }

    fn target(self) -> &'u str {
        self.text.get(self.origin_len..).unwrap_or_default()
    }

    /// Whether the scheme is `https`.
    pub const fn is_secure(self) -> bool {
        self.origin.is_secure
    }

    /// Returns the host.
    pub const fn host(self) -> Host<'u> {
        self.host
    }

    /// Returns where the host leads as far as the URL shows it; `None` for a name that must be
    /// resolved. `localhost` and names below it are this machine (RFC 6761, 6.3).
    pub fn address_kind(self) -> Option<AddressKind> {
        match self.host {
            Host::Address(address) => Some(AddressKind::of(address)),
            Host::Name(name) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                let last = split(name, '.').next_back().unwrap_or_default();
                last.eq_ignore_ascii_case("localhost").then_some(AddressKind::Loopback)
            }
        }
    }

    /// Whether the host is this machine.
    pub fn is_loopback(self) -> bool {
        self.address_kind() == Some(AddressKind::Loopback)
    }

    /// Checks scheme and host (2026-07-28, basic/authorization/security-considerations). A name
    /// that passes can still resolve to an inner address: the code that connects checks
    /// that with [`UrlRules::allow`].
    ///
    /// # Errors
    /// [`UrlError::NotSecure`], [`UrlError::InnerAddress`].
    pub fn check(self, rules: UrlRules) -> Result<(), UrlError> {
        let kind = self.address_kind().unwrap_or(AddressKind::Public);
        let is_loopback_http = rules.loopback_http && kind == AddressKind::Loopback;
        if !self.is_secure() && !is_loopback_http {
            return Err(UrlError::NotSecure);
        }
        if rules.allow(kind) { Ok(()) } else { Err(UrlError::InnerAddress) }
    }

    /// Returns the URL of a well-known document about what the URL identifies.
    ///
    /// ```
    /// # use mcp_sansio_oauth::{WellKnownPath, Url};
    /// let issuer = Url::parse("https://example.com/tenant1").unwrap();
    /// assert_eq!(
    ///     issuer.well_known("openid-configuration", WellKnownPath::Appended).to_string(),
    ///     "https://example.com/tenant1/.well-known/openid-configuration"
    /// );
    /// ```
    pub const fn well_known(self, suffix: &'u str, place: WellKnownPath) -> WellKnown<'u> {
        WellKnown { url: self, suffix, place }
    }

    /// Returns the URL of an authorization server's metadata, this being its issuer. There are two
    /// or three places, which are tried in order from 0 (2025-11-25 and later, basic/authorization,
    /// server metadata discovery); `None` behind the last.
    pub fn server_metadata(self, place: u8) -> Option<WellKnown<'u>> {
        const OPENID: &str = "openid-configuration";
        let has_path = !matches!(self.path(), "" | "/");
        match place {
            0 => Some(self.well_known(AUTHORIZATION_SERVER, WellKnownPath::Inserted)),
            1 => Some(self.well_known(OPENID, WellKnownPath::Inserted)),
            2 if has_path => Some(self.well_known(OPENID, WellKnownPath::Appended)),
            _ => None,
        }
    }
}

/// WellKnownPath of the well-known part in a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WellKnownPath {
    /// Between host and path (RFC 8414, 3.1; RFC 9728, 3.1).
    Inserted,
    /// Behind the path (OpenID Connect Discovery 1.0, 4.1).
    Appended,
    /// Behind the host, without the path.
    Root,
}

/// The URL of a well-known document, as its `Display` output. Made by [`Url::well_known`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WellKnown<'u> {
    url: Url<'u>,
    suffix: &'u str,
    place: WellKnownPath,
}

impl fmt::Display for WellKnown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self.url.path() {
            // Only behind the host it loses its slash (RFC 9728, 3.1).
            path if self.suffix == PROTECTED_RESOURCE && path != "/" => path,
            path => without_slash(path),
        };
        f.write_str(self.url.origin_text())?;
        if self.place == WellKnownPath::Appended {
            f.write_str(path)?;
        }
        f.write_str("/.well-known/")?;
        f.write_str(self.suffix)?;
        if self.place == WellKnownPath::Inserted {
            f.write_str(path)?;
            if let Some(query) = self.url.query() {
                f.write_str("?")?;
                f.write_str(query)?;
            }
        }
        Ok(())
    }
}

/// Whether metadata of `resource` is about the server at `endpoint` (RFC 9728, 3.3): the origin is
/// the same, and the path is that of the endpoint, or leads to it in whole segments.
///
/// ```
/// # use mcp_sansio_oauth::resource_matches;
/// assert!(resource_matches("https://example.com", "https://example.com/mcp"));
/// assert!(!resource_matches("https://example.com/mc", "https://example.com/mcp"));
/// ```
pub fn resource_matches(resource: &str, endpoint: &str) -> bool {
    let (Ok(resource), Ok(endpoint)) = (Url::parse(resource), Url::parse(endpoint)) else {
        return false;
    };
    if !resource.is_same_origin(endpoint) {
        return false;
    }
    let path = without_slash(resource.path());
    let Some(rest) = endpoint.path().strip_prefix(path) else { return false };
    match resource.query() {
        None => rest.is_empty() || rest.starts_with('/'),
        query => matches!(rest, "" | "/") && query == endpoint.query(),
    }
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').unwrap_or(path)
}

/// Kind of an IP address: of the Internet, or of a network that a peer must not reach through this
/// program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressKind {
    /// This machine: `127.0.0.0/8` and `::1`.
    Loopback,
    /// An inner network, or no network: private (RFC 1918), link-local, unique local (RFC 4193),
    /// shared by a carrier (RFC 6598), unspecified, multicast, or reserved.
    Inner,
    /// The Internet.
    Public,
}

impl AddressKind {
    /// Returns the kind of an address. An IPv6 address that stands for an IPv4 address (mapped,
    /// compatible, translated, NAT64, 6to4) has the kind of that, but is never
    /// [`Loopback`](Self::Loopback) (2025-11-25, security best practices).
    ///
    /// ```
    /// # use mcp_sansio_oauth::AddressKind;
    /// let kind = |address: &str| AddressKind::of(address.parse().unwrap());
    /// assert_eq!(kind("127.0.0.1"), AddressKind::Loopback);
    /// assert_eq!(kind("169.254.169.254"), AddressKind::Inner);
    /// assert_eq!(kind("::ffff:10.0.0.1"), AddressKind::Inner);
    /// assert_eq!(kind("1.1.1.1"), AddressKind::Public);
    /// ```
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    const fn of_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            [127, ..] => Self::Loopback,
            // This network, private, shared, link-local, private.
            [0 | 10, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            // Protocol assignments, documentation, 6to4 relays, benchmarks.
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18..=19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            // Multicast, reserved, broadcast.
            | [224..=255, ..] => Self::Inner,
            _ => Self::Public,
        }
    }

    const fn of_v6(address: Ipv6Addr) -> Self {
        match address.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // Compatible (the unspecified address is among them), mapped, translated, NAT64.
            [0, 0, 0, 0, 0, 0, high, low]
            | [0, 0, 0, 0, 0, 0xffff, high, low]
            | [0, 0, 0, 0, 0xffff, 0, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            // 6to4.
            | [0x2002, high, low, ..] => Self::embedded(high, low),
            // Only this is given out for use on the Internet; of it: protocol assignments (Teredo
            // is among them) and documentation.
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Self::Inner,
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Inner,
        }
    }

    const fn embedded(high: u16, low: u16) -> Self {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        match Self::of_v4(Ipv4Addr::new(a, b, c, d)) {
            Self::Public => Self::Public,
            Self::Loopback | Self::Inner => Self::Inner,
        }
    }
}

/// Reads an IPv4 address in any spelling that resolvers take: one to four parts, decimal, octal
/// (`0177`) or hexadecimal (`0x7f`), the last one filling what is left. `None` if it is a name,
/// `Some(None)` if it ends in a number and is no address.
fn ipv4(host: &str) -> Option<Option<Ipv4Addr>> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let last = split(host, '.').next_back().unwrap_or_default();
    let (mut digits, radix) = digits(last);
    // 8 and 9 do not make a name of an octal number, but no address either.
    let is_number = digits.all(|digit| digit.is_some_and(|digit| digit < radix.max(10)));
    (!last.is_empty() && is_number).then(|| parts(host))
}

fn parts(host: &str) -> Option<Ipv4Addr> {
    let (mut address, mut left, mut parts) = (0u32, 4u32, split(host, '.').peekable());
    while let Some(part) = parts.next() {
        let value = number(part)?;
        let is_last = parts.peek().is_none();
        let bits = 8 * if is_last { left } else { 1 };
        if left == 0 || u64::from(value) >> bits != 0 {
            return None;
        }
        left -= if is_last { left } else { 1 };
        address |= value << (8 * left);
    }
    Some(Ipv4Addr::from_bits(address))
}

fn number(part: &str) -> Option<u32> {
    let (mut digits, radix) = digits(part);
    let value = digits.try_fold(0u32, |value, digit| {
        let digit = digit.filter(|digit| *digit < radix)?;
        value.checked_mul(radix)?.checked_add(digit)
    });
    value.filter(|_| !part.is_empty())
}

/// Returns the digits of a number, `None` for what is none, and their radix. Each is read as a
/// hexadecimal one: the function of the standard library can panic where the radix is no constant.
fn digits(part: &str) -> (impl Iterator<Item = Option<u32>>, u32) {
    let (digits, radix) = match part.as_bytes() {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
        digits => (digits, 10),
    };
    (digits.iter().map(|byte| char::from(*byte).to_digit(16)), radix)
}

/// Suffix of an authorization server's metadata (RFC 8414, 3).
pub(super) const AUTHORIZATION_SERVER: &str = "oauth-authorization-server";
pub(super) const PROTECTED_RESOURCE: &str = "oauth-protected-resource";

#[cfg(test)]
mod url_tests {
    extern crate std;

    use std::string::ToString as _;

    use super::*;

    #[test]
    fn auth_111_only_plain_http_urls_are_taken() {
        for (text, origin, path, query) in [
            ("https://a.example", "https://a.example", "", None),
            ("https://a.example/", "https://a.example", "/", None),
            ("HTTPS://A.example:8443/x?y=z&w", "HTTPS://A.example:8443", "/x", Some("y=z&w")),
            ("http://[::1]:80/m?", "http://[::1]:80", "/m", Some("")),
            ("https://a//b%2f..;c=d,e/@:", "https://a", "//b%2f..;c=d,e/@:", None),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.origin_text(), url.path(), url.query()), (origin, path, query));
            assert_eq!(url.as_str(), text);
        }
        for (text, error) in [
            ("https://a/#f", UrlError::Fragment),
            ("https://a#", UrlError::Fragment),
            ("https://user@a/", UrlError::Authority),
            ("https://user:pass@a/", UrlError::Authority),
            ("https://a:b@c", UrlError::Authority),
            ("https:///a", UrlError::Authority),
            ("https://1.2.3.4.5/", UrlError::Authority),
            ("https://256.1/", UrlError::Authority),
            ("https://[::1::]/", UrlError::Authority),
            ("https://[1.2.3.4]/", UrlError::Authority),
            ("https://[::1]a/", UrlError::Authority),
            ("https://a%2eb/", UrlError::Authority),
            ("javascript:alert(1)", UrlError::Scheme),
            ("file:///etc/passwd", UrlError::Scheme),
            ("data:text/html,x", UrlError::Scheme),
            ("//a/", UrlError::Scheme),
            ("/a", UrlError::Scheme),
            ("", UrlError::Scheme),
            ("https://a/b c", UrlError::Characters),
            (" https://a/", UrlError::Characters),
            ("https://a/\r\nX: y", UrlError::Characters),
            ("https://a\\@b/", UrlError::Characters),
            ("https://a/\"><script>", UrlError::Characters),
            ("https://a/`id`", UrlError::Characters),
            ("https://\u{e9}/", UrlError::Characters),
        ] {
            assert_eq!(Url::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn auth_108_auth_111_urls_are_https_or_lead_to_this_machine() {
        let closed = UrlRules::new();
        let (loopback, inner) = (closed.loopback_http(true), closed.inner_addresses(true));
        let (not_secure, is_inner) = (Err(UrlError::NotSecure), Err(UrlError::InnerAddress));
        for (text, expected) in [
            // Without more, with http to this machine, with https to inner networks.
            ("https://as.example", [Ok(()), Ok(()), Ok(())]),
            ("http://as.example", [not_secure; 3]),
            ("http://localhost.example", [not_secure; 3]),
            ("http://10.0.0.1", [not_secure; 3]),
            ("http://127.0.0.1:80", [not_secure, Ok(()), not_secure]),
            ("http://127.1", [not_secure, Ok(()), not_secure]),
            ("http://[::1]", [not_secure, Ok(()), not_secure]),
            ("http://LOCALHOST", [not_secure, Ok(()), not_secure]),
            ("http://a.localhost.", [not_secure, Ok(()), not_secure]),
            ("http://[::ffff:127.0.0.1]", [not_secure; 3]),
            ("http://0.0.0.0", [not_secure; 3]),
            ("https://localhost", [is_inner, Ok(()), Ok(())]),
            ("https://127.0.0.1", [is_inner, Ok(()), Ok(())]),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!([closed, loopback, inner].map(|rules| url.check(rules)), expected, "{text}");
        }
    }

    #[test]
    fn auth_109_inner_addresses_are_refused_in_each_spelling() {
        // The oracle of the crate `url` has more spellings.
        for host in [
            "10.0.0.1",
            "0x0a000001",
            "012.1",
            "2852039166",
            "169.254.43518",
            "0",
            "[fd00::1]",
            "[::ffff:a00:1]",
            "[2002:a00:1::]",
        ] {
            let text = std::format!("https://{host}:8443/latest?a=b");
            let url = Url::parse(&text).unwrap();
            assert_eq!(url.address_kind(), Some(AddressKind::Inner), "{host}");
            assert_eq!(url.check(UrlRules::new().loopback_http(true)), Err(UrlError::InnerAddress));
            assert_eq!(url.check(UrlRules::new().inner_addresses(true)), Ok(()));
        }
        for host in ["8.8.8.8", "[2606:4700::1]", "0x08.8.8.8"] {
            let text = std::format!("https://{host}");
            let url = Url::parse(&text).unwrap();
            assert_eq!(url.address_kind(), Some(AddressKind::Public), "{host}");
        }
        assert_eq!(Url::parse("https://10.example").unwrap().address_kind(), None);
    }

    #[test]
    fn auth_19_auth_25_auth_26_auth_31_documents_have_their_well_known_places() {
        for (of, inserted, appended, root) in [
            ("https://a", "https://a/W", "https://a/W", "https://a/W"),
            ("https://a/", "https://a/W", "https://a/W", "https://a/W"),
            ("https://a:1/mcp", "https://a:1/W/mcp", "https://a:1/mcp/W", "https://a:1/W"),
            ("https://A/x/y/", "https://A/W/x/y", "https://A/x/y/W", "https://A/W"),
            ("https://a/x?y=z", "https://a/W/x?y=z", "https://a/x/W", "https://a/W"),
        ] {
            let url = Url::parse(of).unwrap();
            let all = [WellKnownPath::Inserted, WellKnownPath::Appended, WellKnownPath::Root]
                .map(|place| url.well_known(AUTHORIZATION_SERVER, place).to_string());
            let expected = [inserted, appended, root]
                .map(|text| text.replace('W', ".well-known/oauth-authorization-server"));
            assert_eq!(all, expected, "{of}");
        }
        for (of, inserted) in
            [("a/", "a/W"), ("a/?y=z", "a/W?y=z"), ("a/x/", "a/W/x/"), ("a/x/?y=z", "a/W/x/?y=z")]
        {
            let of = std::format!("https://{of}");
            let url = Url::parse(&of).unwrap();
            let inserted = inserted.replace('W', ".well-known/oauth-protected-resource");
            let url = url.well_known(PROTECTED_RESOURCE, WellKnownPath::Inserted).to_string();
            assert_eq!(url, std::format!("https://{inserted}"), "{of}");
        }
    }

    #[test]
    fn auth_21_a_resource_leads_to_its_endpoint_in_whole_segments() {
        for (resource, endpoint) in [
            ("https://a", "https://a/mcp"),
            ("https://a/", "https://a/mcp"),
            ("https://a/mcp", "https://a/mcp"),
            ("https://a/mcp/", "https://a/mcp"),
            ("https://a/mcp", "https://a/mcp/"),
            ("https://a/x", "https://a/x/mcp?y"),
            ("https://A:443/mcp", "https://a/mcp"),
            ("https://a/mcp?tenant=1", "https://a/mcp?tenant=1"),
        ] {
            assert!(resource_matches(resource, endpoint), "{resource} {endpoint}");
        }
        for (resource, endpoint) in [
            ("https://a/mcp", "https://a/mcp-evil"),
            ("https://a/mcp-evil", "https://a/mcp"),
            ("https://a/mcp/x", "https://a/mcp"),
            ("https://a/MCP", "https://a/mcp"),
            ("https://a/m%63p", "https://a/mcp"),
            ("https://b/mcp", "https://a/mcp"),
            ("https://a.b/mcp", "https://a/mcp"),
            ("https://a@b/mcp", "https://b/mcp"),
            ("http://a/mcp", "https://a/mcp"),
            ("https://a:8443/mcp", "https://a/mcp"),
            ("https://a/mcp?tenant=2", "https://a/mcp?tenant=1"),
            ("https://a/?tenant=1", "https://a/mcp?tenant=1"),
            ("https://a/mcp#x", "https://a/mcp"),
            ("https://a//", "https://a/mcp"),
            ("a/mcp", "https://a/mcp"),
            ("", "https://a/mcp"),
        ] {
            assert!(!resource_matches(resource, endpoint), "{resource} {endpoint}");
        }
    }
}

#[cfg(test)]
mod address_tests {
    use super::*;

    fn kind(address: &str) -> AddressKind {
        AddressKind::of(address.parse().unwrap())
    }

    #[test]
    fn auth_109_inner_addresses_are_told_apart() {
        for address in ["127.0.0.1", "127.255.255.255", "::1"] {
            assert_eq!(kind(address), AddressKind::Loopback, "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.88.99.1",
            "::",
            "::2",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::1.1.1.1",
            "2002:a00:1::",
            "2002:7f00:1::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
        ] {
            assert_eq!(kind(address), AddressKind::Inner, "{address}");
        }
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "169.253.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.169.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860::8888",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
            "3ffe::1",
        ] {
            assert_eq!(kind(address), AddressKind::Public, "{address}");
        }
    }
}
