//! URLs of authorization against the crate `url`, which reads them as browsers do.
//!
//! Ours are strict, so that both mean the same, and what one of them refuses is refused. These are
//! the differences:
//!
//! - Ours stay as written: case and dot segments are not touched. No well-known place or comparison
//!   depends on where dot segments lead.
//! - Ours have no userinfo, no fragment, no query without a path, and no character that browsers
//!   encode, drop or take for another.
//! - Names beginning with `xn--` are names like others, whatever they encode.

use std::net::IpAddr;
use std::sync::LazyLock;

use mcp_sansio_oauth::{Host, Url, WellKnownPath};
use url::Host as TheirHost;

use super::random::{Random, rounds};

/// Names, IPv4 addresses as browsers read them, and IPv6 addresses.
static HOSTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    "a A.example a.b a_b.example localhost a. a..b -a !a$&'()*+;=~ .. .
    127.0.0.1 127.1 0177.0.0.01 0x7f.1 0x 0xg 0X7F000001 2130706433 0xfffffffff 99999999999
    1.2.3.4. 1.2.3.4.5 1.2.3.256 256 a.1 a.0x1 a.0xffffffffff 1.2.3.08 08 1..2 a.0b1 1.0x.
    4294967296 4294967295 0x100000000 00000000000000000001 0x000000000000001 1e1 1.2.3.4a
    [::1] [::] [1:2:3:4:5:6:7:8] [1::7:8] [::ffff:10.0.0.1] [::1.2.3] [1::2::3] [::g] [12345::]
    [::01.2.3.4] [1:2:3:4:5:6:7::] [::1%25a] [] [1.2.3.4]"
        .split_whitespace()
        .collect()
});
const PORTS: &[&str] = &[
    "", "", "", ":", ":80", ":443", ":0080", ":0", ":65535", ":65536", ":-1", ":+1", ":a", ":1:2",
];
const PIECES: &[&str] = &[
    "/", "/", "a", "b", ".", "..", "%2e", "%2E%2e", "%2f", "%", "%zz", "?", "&", "=", "'", ";",
    ",", "@", ":", "~", "!", "$", "(", ")", "*", "+", "[", "]", "//", "0",
];
const ODD: &[&str] = &[
    " ", "\t", "\r\n", "\\", "\"", "<", ">", "`", "{", "|", "}", "^", "#", "\0", "\u{7f}", "é",
    "user@", "a:b@", "%41", "／", "ａ", "\u{ad}", "。",
];

fn random_url(random: &mut Random) -> String {
    let (scheme, between) = match random.below(8) {
        0 => (random.pick(&["ftp", "ws", "", "a"]), "://"),
        1 => ("https", random.pick(&[":/", ":", "//", ":///", ":\\\\", "&://"])),
        _ => (random.pick(&["https", "http", "HTTPS", "hTTp"]), "://"),
    };
    let mut text = format!("{scheme}{between}{}{}", random.pick(&HOSTS), random.pick(PORTS));
    if random.one_in(2) {
        text += "/";
        (0..random.below(8)).for_each(|_| text += random.pick(PIECES));
    }
    for _ in 0..random.below(8).saturating_sub(5) {
        let mut at = random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let odd = if random.one_in(2) { ODD } else { PIECES };
        text.insert_str(at, random.pick(odd));
    }
    text
}

/// Compares both readings. Returns whether ours accepts the text.
fn agrees(text: &str) -> bool {
    let Ok(ours) = Url::parse(text) else { return false };
    let theirs = match url::Url::parse(text) {
        Ok(theirs) => theirs,
        Err(error) => panic!("{text:?} is taken, and url says {error}"),
    };
    assert_eq!(theirs.scheme(), if ours.is_secure() { "https" } else { "http" }, "{text:?}");
    assert_eq!(theirs.port_or_known_default(), Some(ours.origin().port), "{text:?}");
    assert_eq!((theirs.username(), theirs.password(), theirs.fragment()), ("", None, None));
    match (ours.host(), theirs.host()) {
        (Host::Name(name), Some(TheirHost::Domain(domain))) => {
            assert_eq!(name.to_ascii_lowercase(), domain, "{text:?}");
        }
        (Host::Address(IpAddr::V4(ours)), Some(TheirHost::Ipv4(theirs))) => {
            assert_eq!(ours, theirs, "{text:?}");
        }
        (Host::Address(IpAddr::V6(ours)), Some(TheirHost::Ipv6(theirs))) => {
            assert_eq!(ours, theirs, "{text:?}");
        }
        hosts => panic!("{text:?}: {hosts:?}"),
    }
    let query = ours.query().map(|query| query.replace('\'', "%27"));
    assert_eq!(theirs.query(), query.as_deref(), "{text:?}");
    let is_dots =
        |segment: &str| matches!(&*segment.to_ascii_lowercase().replace("%2e", "."), "." | "..");
    if !ours.path().split('/').any(is_dots) {
        let path = if ours.path().is_empty() { "/" } else { ours.path() };
        assert_eq!(theirs.path(), path, "{text:?}");
    }
    for place in [WellKnownPath::Inserted, WellKnownPath::Appended, WellKnownPath::Root] {
        let text = ours.well_known("oauth-authorization-server", place).to_string();
        let there = url::Url::parse(&text).expect("it is a URL");
        assert_eq!(there.origin(), theirs.origin(), "{text:?}");
    }
    true
}

#[test]
fn auth_109_auth_111_urls_mean_what_the_crate_url_reads() {
    let mut random = Random::new(4);
    let mut taken = 0;
    for _ in 0..rounds() * 5 {
        taken += u64::from(agrees(&random_url(&mut random)));
    }
    assert!(taken > rounds(), "only {taken} were taken");
    for host in HOSTS.iter() {
        agrees(&format!("https://{host}/"));
    }
}

#[test]
fn auth_111_plain_urls_are_taken_as_the_crate_url_takes_them() {
    for host in HOSTS.iter() {
        for port in PORTS {
            for rest in ["", "/", "/a?b='&c", "/%zz"] {
                let text = format!("https://{host}{port}{rest}");
                assert_eq!(agrees(&text), url::Url::parse(&text).is_ok(), "{text}");
            }
        }
    }
}
