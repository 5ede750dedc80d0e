//! Base64 encoder. The one of the crate `base64` has panic paths and is five times the size.

use crate::bytes::copy;

/// Encodes `bytes` into the beginning of `out`, which must have room for all of the text.
pub(crate) fn encode(bytes: &[u8], out: &mut [u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| DIGITS[(bits & 63) as usize];
    let mut groups = bytes.chunks_exact(3);
    let mut places = out.chunks_exact_mut(4);
    for (group, place) in groups.by_ref().zip(places.by_ref()) {
        let bits = group.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let digits = [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)];
        copy(&digits, place);
    }
    if let (&[first, ref rest @ ..], Some(place)) = (groups.remainder(), places.next()) {
        let bits = u32::from(first) << 16 | u32::from(rest.first().copied().unwrap_or(0)) << 8;
        let third = if rest.is_empty() { b'=' } else { digit(bits >> 6) };
        copy(&[digit(bits >> 18), digit(bits >> 12), third, b'='], place);
    }
}
