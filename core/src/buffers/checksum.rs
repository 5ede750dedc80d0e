//! Lines with a checksum, for links that lose, double or change bytes without saying so.

use crate::text::hex_digit;

/// Computes the checksum of lines that are sent: `{...}` leaves as `{...}` and
/// `\t1a2b3c4d\n`, a tab and the CRC-32 (ISO-HDLC, zlib's) of the bytes before it in hexadecimal
/// digits.
/// Both ends must agree on it: to others such a line is invalid JSON.
///
/// ```
/// use mcp_sansio::{CheckedByte, LineChecker, LineChecksum};
///
/// let mut checksum = LineChecksum::new();
/// let mut sent = b"{}".to_vec();
/// sent.iter().for_each(|byte| checksum.add(*byte));
/// sent.extend(checksum.end());
/// assert_eq!(sent, b"{}\ta3a6bf43\n");
///
/// let mut checker = LineChecker::new();
/// let received: Vec<_> = sent.iter().filter_map(|byte| checker.take(*byte)).collect();
/// assert_eq!(received, [b'{', b'}', b'\n'].map(CheckedByte::Byte));
/// let lost = [&sent[1..]].concat();
/// let received = lost.iter().filter_map(|byte| checker.take(*byte)).last();
/// assert_eq!(received, Some(CheckedByte::Gap));
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct LineChecksum {
    crc: u32,
}

impl LineChecksum {
    /// Begins a line.
    pub const fn new() -> Self {
        Self { crc: 0 }
    }

    /// Adds a byte that is sent, which is no line feed.
    pub const fn add(&mut self, byte: u8) {
        let mut crc = !self.crc ^ byte as u32;
        let mut bit = 0;
        // Without a table: it would take a kilobyte of flash.
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        self.crc = !crc;
    }

    /// Returns what ends the line, the line feed included, and begins the next one.
    pub fn end(&mut self) -> [u8; 10] {
        let mut end = *b"\t00000000\n";
        let digits = end.iter_mut().skip(1).take(8).zip((0..8).rev());
        for (digit, place) in digits {
            *digit = hex_digit((self.crc >> (4 * place)) as u8);
        }
        self.crc = 0;
        end
    }
}

/// Checks lines that are received, and takes their checksums away. Nine bytes are held back, until
/// they are known not to be a checksum.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct LineChecker {
    checksum: LineChecksum,
    held: [u8; 9],
    len: usize,
}

/// The outcome of a byte that a [`LineChecker`] takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckedByte {
    /// The next byte: of a line, or the line feed of one whose checksum was right.
    Byte(u8),
    /// The line ends here, and its checksum is wrong or missing:
    /// [`lost`](crate::RxBuffer::lost) is to be called, then a line feed follows.
    Gap,
}

impl LineChecker {
    /// Begins a line.
    pub const fn new() -> Self {
        Self { checksum: LineChecksum::new(), held: [0; 9], len: 0 }
    }

    /// Takes a byte that was received.
    pub fn take(&mut self, byte: u8) -> Option<CheckedByte> {
        if byte == b'\n' {
            let expected = self.checksum.end();
            let is_right = self.len == self.held.len() && expected.starts_with(&self.held);
            // An empty line has no message, so it needs no checksum.
            let is_empty = self.len == 0;
            self.len = 0;
            let is_whole = is_right || is_empty;
            return Some(if is_whole { CheckedByte::Byte(byte) } else { CheckedByte::Gap });
        }
        if let Some(free) = self.held.get_mut(self.len) {
            *free = byte;
            self.len += 1;
            return None;
        }
        let [first, ..] = self.held;
        self.held.rotate_left(1);
        if let Some(last) = self.held.last_mut() {
            *last = byte;
        }
        self.checksum.add(first);
        Some(CheckedByte::Byte(first))
    }
}

const POLYNOMIAL: u32 = 0xEDB8_8320;

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn sent(lines: &[&[u8]]) -> Vec<u8> {
        let mut checksum = LineChecksum::new();
        let mut sent = Vec::new();
        for line in lines {
            sent.extend(*line);
            line.iter().for_each(|byte| checksum.add(*byte));
            sent.extend(checksum.end());
        }
        sent
    }

    /// Returns the lines that come through, and the number of gaps.
    fn received(bytes: &[u8]) -> (Vec<Vec<u8>>, usize) {
        let (mut checker, mut lines, mut line, mut gaps) =
            (LineChecker::new(), Vec::new(), Vec::new(), 0);
        for byte in bytes.iter().filter_map(|byte| checker.take(*byte)) {
            match byte {
                CheckedByte::Byte(b'\n') => lines.push(core::mem::take(&mut line)),
                CheckedByte::Byte(byte) => line.push(byte),
                CheckedByte::Gap => {
                    gaps += 1;
                    line.clear();
                }
            }
        }
        (lines, gaps)
    }

    #[test]
    fn the_checksum_is_the_crc_32_of_the_check_value() {
        assert_eq!(sent(&[b"123456789"]), b"123456789\tcbf43926\n");
        assert_eq!(sent(&[b""]), b"\t00000000\n");
    }

    #[test]
    fn no_line_with_a_fault_comes_through_and_the_others_do() {
        let lines: [&[u8]; 3] = [br#"{"id":1}"#, br#"{"text":"a\tb"}"#, br#"{"id":3}"#];
        let whole = sent(&lines);
        assert_eq!(received(&whole), (lines.iter().map(|line| line.to_vec()).collect(), 0));
        let of_second = sent(&lines[..1]).len()..sent(&lines[..2]).len() - 1;
        for at in of_second {
            let (mut lost, mut doubled, mut swapped) =
                (whole.clone(), whole.clone(), whole.clone());
            lost.remove(at);
            doubled.insert(at, whole[at]);
            swapped.swap(at, at - 1);
            let mut faulty = std::vec![lost, doubled];
            // The line feed before the line is one byte that both lines need.
            if whole[at] != whole[at - 1] && whole[at - 1] != b'\n' {
                faulty.push(swapped);
            }
            faulty.extend((0..8).map(|bit| {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                changed
            }));
            for faulty in faulty {
                let (came, gaps) = received(&faulty);
                assert!(came.iter().all(|line| line.is_empty() || lines.contains(&&line[..])));
                assert!(!came.contains(&lines[1].to_vec()) && gaps > 0, "{at}");
                assert_eq!(came.last().map(|line| &line[..]), Some(lines[2]), "{at}");
            }
        }
    }
}
