//! Kinds of IP addresses: of the Internet, or of a network that a peer must not reach through this
//! program.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::bytes::split;

/// Kind of an IP address.
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
    /// # use mcp_sansio::oauth::AddressKind;
    /// let kind = |address: &str| AddressKind::of(address.parse().unwrap());
    /// assert_eq!(kind("127.0.0.1"), AddressKind::Loopback);
    /// assert_eq!(kind("169.254.169.254"), AddressKind::Inner);
    /// assert_eq!(kind("::ffff:10.0.0.1"), AddressKind::Inner);
    /// assert_eq!(kind("1.1.1.1"), AddressKind::Public);
    /// ```
    #[must_use]
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
pub(super) fn ipv4(host: &str) -> Option<Option<Ipv4Addr>> {
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

/// Returns the digits of a number, `None` for what is none, and their radix. The function of the
/// standard library can panic where the radix is no constant.
fn digits(part: &str) -> (impl Iterator<Item = Option<u32>>, u32) {
    let (digits, radix) = match part.as_bytes() {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
        digits => (digits, 10),
    };
    let value = |byte: &u8| match byte {
        b'0'..=b'9' => Some(u32::from(byte - b'0')),
        b'a'..=b'f' | b'A'..=b'F' => Some(u32::from((byte | 0x20) - b'a') + 10),
        _ => None,
    };
    (digits.iter().map(value), radix)
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn auth_109_addresses_are_read_in_each_spelling() {
        for (host, address) in [
            ("127.0.0.1", [127, 0, 0, 1]),
            ("127.1", [127, 0, 0, 1]),
            ("127.0.1", [127, 0, 0, 1]),
            ("2130706433", [127, 0, 0, 1]),
            ("0x7f000001", [127, 0, 0, 1]),
            ("0X7f.1", [127, 0, 0, 1]),
            ("0177.0.0.01", [127, 0, 0, 1]),
            ("017700000001", [127, 0, 0, 1]),
            ("127.0.0.1.", [127, 0, 0, 1]),
            ("0xa9.0376.43518", [169, 254, 169, 254]),
            ("0", [0, 0, 0, 0]),
            ("0x", [0, 0, 0, 0]),
        ] {
            assert_eq!(ipv4(host), Some(Some(Ipv4Addr::from(address))), "{host}");
        }
        for host in [
            "256.0.0.1",
            "1.2.3.4.5",
            "1.2.3.256",
            "4294967296",
            "0x100000000",
            "09",
            "a.1",
            "1..2",
            "1.2.3.08",
        ] {
            assert_eq!(ipv4(host), Some(None), "{host}");
        }
        for host in ["localhost", "a.0b", "0xg", "1.example", "x", "", "."] {
            assert_eq!(ipv4(host), None, "{host}");
        }
    }
}
