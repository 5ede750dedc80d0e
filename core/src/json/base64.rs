//! Base64 encoder. The one of the crate `base64` has panic paths and is five times the size.

use crate::bytes::copy;

/// Encodes `bytes` into the beginning of `out`, which must have room for all of the text.
pub(crate) fn encode(bytes: &[u8], out: &mut [u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| DIGITS[(bits & 63) as usize];
    let (mut bytes, mut places) = (bytes, out.chunks_exact_mut(4));
    while let Some((group, rest)) = bytes.split_first_chunk::<3>()
        && let Some(place) = places.next()
    {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        copy(&[digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)], place);
        bytes = rest;
    }
    if let (&[first, ref rest @ ..], Some(place)) = (bytes, places.next()) {
        let bits = u32::from(first) << 16 | u32::from(rest.first().copied().unwrap_or(0)) << 8;
        let third = if rest.is_empty() { b'=' } else { digit(bits >> 6) };
        copy(&[digit(bits >> 18), digit(bits >> 12), third, b'='], place);
    }
}

/// Returns the length of the text of `len` bytes.
#[cfg_attr(small, inline(never))]
pub(crate) const fn encoded_len(len: usize) -> usize {
    if cfg!(not(small)) {
        return len.div_ceil(3) * 4;
    }
    // A Cortex-M0 cannot divide: a sum of powers of two is a third or a little less.
    let mut third = (len >> 2) + (len >> 4);
    third += third >> 4;
    third += third >> 8;
    third += third >> 16;
    while len > 3 * third {
        third += 1;
    }
    4 * third
}

#[cfg(test)]
mod tests {
    use super::encoded_len;

    #[test]
    fn three_bytes_are_four_characters() {
        for len in (0..10_000).chain((1 << 24) - 5..=1 << 24) {
            assert_eq!(encoded_len(len), len.div_ceil(3) * 4, "{len}");
        }
    }
}
