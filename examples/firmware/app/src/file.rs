//! A file in flash that is many times longer than any buffer.

/// As long as a quarter of the chip's flash.
pub(crate) const LEN: usize = 65_536;

/// Bytes without any order, so that one that is missing shows: a linear congruential generator's,
/// of which the upper bits are taken.
pub(crate) static BYTES: [u8; LEN] = {
    let mut bytes = [0; LEN];
    let mut state: u32 = 1;
    let mut at = 0;
    while at < LEN {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes[at] = (state >> 24) as u8;
        at += 1;
    }
    bytes
};
