//! Which of several sites has a session.

use mcp_sansio::Revision;
use mcp_sansio::http::RequestHead;

use super::step::{PARAMETER, id_prefix};

/// Returns the number in the id of the session that a request names, on `sse_path` that of
/// HTTP+SSE. Where several sites serve an endpoint, its remainder says which of them has the
/// session: see [`with_number`]. `None` for a request without a session.
pub fn number_of_session(head: &RequestHead<'_>, sse_path: Option<&str>) -> Option<u32> {
    if sse_path == Some(head.path()) {
        let id = head.query()?.split('&').find_map(|pair| pair.strip_prefix(PARAMETER));
        return id.map(id_prefix);
    }
    let version = head.fields.get("mcp-protocol-version").and_then(Revision::parse);
    if version.is_some_and(Revision::is_modern) {
        return None;
    }
    head.fields.get("mcp-session-id").map(id_prefix)
}

/// Gives random bytes, of which a site makes the id of a session, a number whose remainder is
/// `site`, one of `sites`. All but the lowest bits of the number remain random.
pub fn with_number(random: [u8; 16], site: u32, sites: u32) -> [u8; 16] {
    let [a, b, c, d, ..] = random;
    let number = u32::from_be_bytes([a, b, c, d]);
    let lowest = number - number.checked_rem(sites).unwrap_or(0);
    // The last ones may lack a number of this remainder.
    let number = lowest.checked_add(site).unwrap_or(site);
    let mut bytes = random;
    if let Some(first) = bytes.first_chunk_mut() {
        *first = number.to_be_bytes();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_any_random_bytes_names_the_site() {
        for first in [0, 1, 7, u32::MAX - 1, u32::MAX] {
            for (site, sites) in [(0, 1), (1, 2), (2, 3), (63, 64)] {
                let mut random = [0xa5; 16];
                random[..4].copy_from_slice(&first.to_be_bytes());
                let bytes = with_number(random, site, sites);
                let [a, b, c, d, rest @ ..] = bytes;
                assert_eq!(u32::from_be_bytes([a, b, c, d]) % sites, site);
                assert_eq!(rest, [0xa5; 12]);
            }
        }
    }
}
