//! `Host` and `Origin` checks: protection against cross-origin requests and DNS rebinding.

use super::Refusal;
use crate::http::origin::{self, host_and_port};
use crate::http::{RequestHead, SingleValue};
use crate::text::split;

/// The accepted values of `Host` and `Origin`.
///
/// A web page can make its visitors' browsers send requests to servers on their machine or network
/// and, by pointing its own name to their address (DNS rebinding), read the responses. These fields
/// identify such requests. Requests without an `Origin` do not come from a browser's page and are
/// accepted.
///
/// ```
/// use mcp_sansio::http::RequestHead;
/// use mcp_sansio::http::server::HostPolicy;
///
/// let local = HostPolicy::LOOPBACK;
/// assert!(local.check(&RequestHead::new("POST", "/mcp", &[("Host", "localhost:8080")])).is_ok());
/// assert!(
///     local.check(&RequestHead::new("POST", "/mcp", &[("Host", "evil.example.com")])).is_err()
/// );
///
/// let public = HostPolicy::hosts(&["mcp.example.com"]).origins(&["https://chat.example.com"]);
/// let from_chat = [("Host", "mcp.example.com"), ("Origin", "https://chat.example.com")];
/// assert!(public.check(&RequestHead::new("POST", "/mcp", &from_chat)).is_ok());
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct HostPolicy<'c> {
    hosts: Hosts<'c>,
    origins: &'c [&'c str],
    has_addresses: bool,
}

#[derive(Clone, Copy, Debug)]
enum Hosts<'c> {
    Loopback,
    These(&'c [&'c str]),
    Any,
}

impl<'c> HostPolicy<'c> {
    /// Accepts `localhost`, 127.0.0.0/8 and `[::1]` with any port, as host and as origin: for
    /// servers on a loopback address.
    pub const LOOPBACK: Self = Self::new(Hosts::Loopback);

    /// Accepts any host, and browsers only from the given [`origins`](Self::origins): for servers
    /// without a fixed name, or behind a proxy that checks the host.
    pub const ANY_HOST: Self = Self::new(Hosts::Any);

    /// Accepts these hosts, as host and as origin: `mcp.example.com` with any port, or
    /// `mcp.example.com:8080` with that port only.
    pub const fn hosts(hosts: &'c [&'c str]) -> Self {
        Self::new(Hosts::These(hosts))
    }

    const fn new(hosts: Hosts<'c>) -> Self {
        Self { hosts, origins: &[], has_addresses: false }
    }

    /// Accepts IP addresses as hosts, too, with any port: for a device that does not know its own.
    /// A name that points to the device, which is how pages get around this check, is none. Origins
    /// of pages must be named.
    pub const fn addresses(self) -> Self {
        Self { has_addresses: true, ..self }
    }

    /// Accepts pages from these origins too: `https://chat.example.com`, with the port unless it is
    /// the scheme's default; `null` for opaque origins.
    pub const fn origins(self, origins: &'c [&'c str]) -> Self {
        Self { origins, ..self }
    }

    /// Checks `Host` and `Origin`. An absolute-form target is checked by its authority, and its
    /// `Host` is ignored, unless that is no host (RFC 9112, 3.2.2).
    ///
    /// # Errors
    /// 403; 400 if `Host` is no host beside an absolute-form target.
    pub fn check(&self, head: &RequestHead<'_>) -> Result<(), Refusal<'static>> {
        self.checked_origin(head).map(|_| ())
    }

    /// As [`check`](Self::check). Returns the origin, if there is one.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn checked_origin<'h>(
        &self,
        head: &RequestHead<'h>,
    ) -> Result<Option<&'h str>, Refusal<'static>> {
        let host = match (head.fields.single("host"), head.authority()) {
            (SingleValue::Value(host), Some(_)) if !is_well_formed(host) => {
                return Err(Refusal::invalid(400, "Host is malformed"));
            }
            // HTTP/2 has no `Host` but `:authority`; HTTP/1.1 requires `Host`.
            (SingleValue::Value(_) | SingleValue::Absent, Some(authority)) => {
                self.is_host(authority) || self.is_address(authority)
            }
            (SingleValue::Value(host), None) => self.is_host(host) || self.is_address(host),
            (SingleValue::Absent, None) => matches!(self.hosts, Hosts::Any),
            (SingleValue::NotUtf8 | SingleValue::Repeated, _) => false,
        };
        if !host {
            return Err(Refusal::invalid(403, "Host not allowed"));
        }
        match head.fields.single("origin") {
            SingleValue::Absent => Ok(None),
            SingleValue::Value(origin) if self.is_origin(origin) => Ok(Some(origin)),
            _ => Err(Refusal::invalid(403, "Origin not allowed")),
        }
    }

    fn is_host(&self, host: &str) -> bool {
        match self.hosts {
            Hosts::Any => true,
            Hosts::Loopback => is_loopback(without_port(host)),
            Hosts::These(hosts) => hosts.iter().any(|known| {
                known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(without_port(host))
            }),
        }
    }

    fn is_address(&self, host: &str) -> bool {
        let host = without_port(host);
        self.has_addresses && (origin::v4(host).is_some() || v6(host).is_some())
    }

    fn is_origin(&self, origin: &str) -> bool {
        let is_host = !matches!(self.hosts, Hosts::Any)
            && authority(origin).is_some_and(|host| self.is_host(host));
        is_host || self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin))
    }
}

/// Returns the authority of an origin; `None` if it contains userinfo.
fn authority(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let authority = split(rest, '/').next()?;
    (!authority.contains(['@'])).then_some(authority)
}

/// Whether a value is a host with an optional port.
fn is_well_formed(host: &str) -> bool {
    host.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'?' | b'#'))
        && host_and_port(host, 0).is_some()
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once([':']) {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit())
                && (!name.contains([':']) || name.ends_with(']')) =>
        {
            name
        }
        _ => host,
    }
}

/// Returns the address of a host that is one of IPv6.
fn v6(host: &str) -> Option<core::net::Ipv6Addr> {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).and_then(origin::v6)
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        // The usual address is not parsed.
        || !cfg!(small) && host == "127.0.0.1"
        || origin::v4(host).is_some_and(|address| address.is_loopback())
        || v6(host).is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(policy: HostPolicy<'_>, target: &str, fields: &[(&str, &str)]) -> Option<u16> {
        let checked = policy.check(&RequestHead::new("POST", target, &fields));
        checked.err().map(|refused| refused.status())
    }

    fn passes(policy: HostPolicy<'_>, host: &str, origin: Option<&str>) -> bool {
        let fields = [("Host", host), ("ORIGIN", origin.unwrap_or_default())];
        let count = if origin.is_some() { 2 } else { 1 };
        status(policy, "/mcp", &fields[..count]).is_none()
    }

    #[test]
    fn http_45_only_loopback_names_are_accepted_on_loopback() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1",
            "127.0.0.1:65535",
            "127.9.9.9",
            "[::1]",
            "[::1]:8080",
        ] {
            assert!(passes(HostPolicy::LOOPBACK, host, None), "{host}");
        }
        for host in [
            "",
            "evil.example.com",
            "localhost.evil.com",
            "127.evil.com",
            "127.0.0.1.evil.com",
            "127.1",
            "[::2]",
            "::1",
            "localhost:x",
            "localhost@evil.com",
            "10.0.0.1",
            "0.0.0.0",
            "localhost:80:80",
        ] {
            assert!(!passes(HostPolicy::LOOPBACK, host, None), "{host}");
        }
        assert_eq!(status(HostPolicy::LOOPBACK, "/mcp", &[]), Some(403));
        assert_eq!(status(HostPolicy::LOOPBACK, "http://localhost:1/mcp", &[]), None);
        let two = [("host", "localhost"), ("Host", "localhost")];
        assert_eq!(status(HostPolicy::LOOPBACK, "/mcp", &two), Some(403));
    }

    #[test]
    fn http_45_any_address_is_a_host_and_no_origin_of_a_device() {
        let device = HostPolicy::hosts(&["kettle.local"]).addresses();
        for host in ["kettle.local", "192.168.1.7", "10.0.0.1:8080", "[fe80::1]", "[::1]:80"] {
            assert!(passes(device, host, None), "{host}");
        }
        for host in ["evil.example.com", "192.168.1.7.evil.com", "3232235783", "0xc0a80107", ""] {
            assert!(!passes(device, host, None), "{host}");
        }
        assert!(passes(device, "192.168.1.7", Some("http://kettle.local")));
        assert!(!passes(device, "192.168.1.7", Some("http://192.168.1.7")));
        assert!(!passes(HostPolicy::hosts(&["kettle.local"]), "192.168.1.7", None));
    }

    #[test]
    fn s7_the_authority_of_a_target_is_checked_and_is_the_host() {
        let local = [("Host", "localhost:80")];
        let foreign = [("Host", "evil.example.com")];
        for (target, fields, expected) in [
            ("http://localhost:80/mcp", &local[..], None),
            ("http://LOCALHOST:80/mcp", &local, None),
            ("http://evil.example.com/mcp", &foreign, Some(403)),
            ("http://evil.example.com/mcp", &[], Some(403)),
            ("http://user@localhost/mcp", &[], Some(403)),
            ("http:///mcp", &[], Some(403)),
        ] {
            let checked = status(HostPolicy::LOOPBACK, target, fields);
            assert_eq!(checked, expected, "{target} {fields:?}");
        }
        assert_eq!(status(HostPolicy::ANY_HOST, "http://a/mcp", &[("Host", "a")]), None);
    }

    #[test]
    fn r3_l3_a_host_that_differs_from_the_authority_of_the_target_is_ignored() {
        for (target, host, expected) in [
            ("http://localhost/mcp", "localhost:80", None),
            ("http://localhost:80/mcp", "evil.example.com", None),
            ("http://localhost/mcp", "[::2]:1", None),
            ("http://evil.example.com/mcp", "localhost", Some(403)),
            ("http://localhost@evil.example.com/mcp", "localhost", Some(403)),
        ] {
            let checked = status(HostPolicy::LOOPBACK, target, &[("Host", host)]);
            assert_eq!(checked, expected, "{target} {host}");
        }
        assert_eq!(status(HostPolicy::ANY_HOST, "http://a/mcp", &[("Host", "b")]), None);
        for malformed in
            ["", "local host", "localhost:x", "a@localhost", "localhost/", "a,b", "[::1", "é", "#"]
        {
            let checked =
                status(HostPolicy::LOOPBACK, "http://localhost/mcp", &[("Host", malformed)]);
            assert_eq!(checked, Some(400), "{malformed}");
        }
        let two = [("Host", "localhost"), ("Host", "localhost")];
        assert_eq!(status(HostPolicy::LOOPBACK, "http://localhost/mcp", &two), Some(403));
    }

    #[test]
    fn http_03_http_04_a_page_of_another_origin_is_rejected() {
        let refused = [
            "null",
            "http://evil.example.com",
            "http://localhost.evil.com",
            "http://localhost@evil.com",
            "file://",
            "localhost",
            "",
        ];
        for origin in refused {
            for policy in
                [HostPolicy::LOOPBACK, HostPolicy::ANY_HOST, HostPolicy::hosts(&["localhost"])]
            {
                assert!(!passes(policy, "localhost", Some(origin)), "{origin}");
            }
        }
        assert!(passes(HostPolicy::LOOPBACK, "localhost:3000", Some("http://localhost:6274")));
        assert!(passes(HostPolicy::LOOPBACK, "localhost", Some("https://[::1]")));
        assert!(!passes(HostPolicy::ANY_HOST, "x", Some("http://x")));
        assert!(passes(HostPolicy::ANY_HOST.origins(&["null"]), "x", Some("null")));
    }

    #[test]
    fn hosts_match_with_or_without_a_port() {
        let policy = HostPolicy::hosts(&["mcp.example.com", "other.example.com:8080"]);
        for host in ["mcp.example.com", "MCP.example.com:443", "other.example.com:8080"] {
            assert!(passes(policy, host, None), "{host}");
        }
        for host in ["other.example.com", "other.example.com:80", "x.mcp.example.com", "localhost"]
        {
            assert!(!passes(policy, host, None), "{host}");
        }
    }
}
