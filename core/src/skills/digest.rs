//! Digests of files as text.

/// Returns a digest as it is written: `sha256:` and 64 hexadecimal digits.
pub(crate) const fn text_of(digest: &[u8; 32]) -> [u8; LEN] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; LEN];
    let mut at = 0;
    while at < PREFIX.len() {
        text[at] = PREFIX[at];
        at += 1;
    }
    at = 0;
    while at < 32 {
        text[PREFIX.len() + 2 * at] = HEX[(digest[at] >> 4) as usize];
        text[PREFIX.len() + 2 * at + 1] = HEX[(digest[at] & 15) as usize];
        at += 1;
    }
    text
}

/// Length of a digest as text.
pub(crate) const LEN: usize = PREFIX.len() + 64;
const PREFIX: &[u8] = b"sha256:";
