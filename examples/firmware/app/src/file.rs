//! A file in flash, many times longer than any buffer.

/// Length in bytes: a quarter of the flash of the chip.
pub(crate) const LEN: usize = 65_536;

/// Pseudo-random bytes, so that tests detect a missing one: the upper bits of a linear congruential
/// generator.
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
