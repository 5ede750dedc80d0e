//! Lines with checksums.

use mcp_sansio::{CheckedByte, LineChecker, LineChecksum};

/// Longer lines are no messages of any server.
const LONGEST_LINE: usize = 16 << 20;

/// Adds a checksum to each line.
pub(crate) fn outgoing(bytes: &[u8], checksum: &mut LineChecksum) -> Vec<u8> {
    let mut sent = Vec::with_capacity(bytes.len() + 10);
    for byte in bytes {
        if *byte == b'\n' {
            sent.extend(checksum.end());
        } else {
            checksum.add(*byte);
            sent.push(*byte);
        }
    }
    sent
}

/// Takes the checksums away.
#[derive(Default)]
pub(crate) struct Incoming {
    checker: LineChecker,
    line: Vec<u8>,
    is_too_long: bool,
}

impl Incoming {
    /// Returns the lines that are whole now, and how many came with faults. Those could be valid,
    /// and mean something else.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> (Vec<u8>, usize) {
        let (mut whole, mut faults) = (Vec::new(), 0);
        for byte in bytes.iter().filter_map(|byte| self.checker.take(*byte)) {
            match byte {
                CheckedByte::Byte(b'\n') if !self.is_too_long => {
                    whole.append(&mut self.line);
                    whole.push(b'\n');
                }
                CheckedByte::Byte(b'\n') | CheckedByte::Gap => {
                    faults += 1;
                    self.line.clear();
                    self.is_too_long = false;
                }
                CheckedByte::Byte(_) if self.line.len() == LONGEST_LINE => self.is_too_long = true,
                CheckedByte::Byte(byte) => self.line.push(byte),
            }
        }
        (whole, faults)
    }
}
