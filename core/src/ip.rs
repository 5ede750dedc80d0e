//! IP addresses from text. The parser of the standard library has a panic path.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::bytes::{split, split_once};

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
pub(crate) fn v6(text: &str) -> Option<Ipv6Addr> {
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

    use std::string::String;

    use super::*;

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
