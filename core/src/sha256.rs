//! SHA-256 (FIPS 180-4), also while compiling.

/// Returns the SHA-256 of the bytes.
pub const fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut digest = Sha256::EMPTY;
    digest.update(bytes);
    digest.finish()
}

const fn compress(state: &mut [u32; 8], block: &[u8; 64]) {
    // The last 16 words of the message schedule.
    let mut w = [0u32; 16];
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    let mut round = 0;
    while round < 64 {
        let at = round % 16;
        w[at] = if round < 16 {
            let at = at * 4;
            u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
        } else {
            let (w2, w15) = (w[(round + 14) % 16], w[(round + 1) % 16]);
            let s0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
            let s1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
            w[at].wrapping_add(s0).wrapping_add(w[(round + 9) % 16]).wrapping_add(s1)
        };
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let t1 = h.wrapping_add(s1).wrapping_add(choice).wrapping_add(K[round]).wrapping_add(w[at]);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
        (d, c, b, a) = (c, b, a, t1.wrapping_add(s0).wrapping_add(majority));
        round += 1;
    }
    let add = [a, b, c, d, e, f, g, h];
    let mut at = 0;
    while at < 8 {
        state[at] = state[at].wrapping_add(add[at]);
        at += 1;
    }
}

const INITIAL: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

const K: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// A digest of bytes that come in pieces.
pub struct Sha256 {
    state: [u32; 8],
    block: [u8; 64],
    len: u64,
}

impl Sha256 {
    /// The digest of no bytes, to begin with.
    pub const EMPTY: Self = Self { state: INITIAL, block: [0; 64], len: 0 };

    /// Adds a piece.
    pub const fn update(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, others)) = rest.split_first() {
            // Whole blocks are not copied.
            if self.len.is_multiple_of(64)
                && let Some((block, others)) = rest.split_first_chunk()
            {
                compress(&mut self.state, block);
                self.len = self.len.wrapping_add(64);
                rest = others;
            } else {
                self.push(*byte);
                rest = others;
            }
        }
    }

    /// Returns the digest of all pieces.
    pub const fn finish(mut self) -> [u8; 32] {
        let bits = self.len.wrapping_mul(8).to_be_bytes();
        self.push(0x80);
        while self.len % 64 != 56 {
            self.push(0);
        }
        self.update(&bits);
        let mut digest = [0; 32];
        let mut at = 0;
        while at < 32 {
            digest[at] = self.state[at / 4].to_be_bytes()[at % 4];
            at += 1;
        }
        digest
    }

    const fn push(&mut self, byte: u8) {
        let at = (self.len % 64) as usize;
        self.block[at] = byte;
        self.len = self.len.wrapping_add(1);
        if at == 63 {
            compress(&mut self.state, &self.block);
        }
    }
}

/// So that text is hashed as it is written.
impl core::fmt::Write for Sha256 {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.update(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_the_digest_of_the_whole() {
        let bytes: [u8; 200] = core::array::from_fn(|at| at as u8);
        for len in 0..bytes.len() {
            let whole = &bytes[..len];
            for at in [0, len / 3, len] {
                let mut pieces = Sha256::EMPTY;
                pieces.update(&whole[..at]);
                pieces.update(&whole[at..]);
                assert_eq!(pieces.finish(), sha256(whole), "{len}, {at}");
            }
        }
    }
}
