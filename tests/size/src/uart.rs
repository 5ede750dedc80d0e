//! Minimal driver of the serial port, which waits for each byte.

use crate::machine;

/// The opened port.
pub struct Uart(());

impl Uart {
    /// Opens the port.
    #[must_use]
    pub fn open() -> Self {
        machine::open_port();
        Self(())
    }

    /// Waits for a byte, then reads all further available ones. Returns the number of bytes read, 0
    /// only for an empty `into`.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        while !into.is_empty() && !machine::has_byte() {}
        self.read_ready(into)
    }

    /// Reads the available bytes without waiting.
    pub fn read_ready(&mut self, into: &mut [u8]) -> usize {
        let mut read = 0;
        for byte in into {
            if !machine::has_byte() {
                break;
            }
            *byte = machine::take_byte();
            read += 1;
        }
        read
    }

    /// Sends all bytes; returns their number.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        for byte in bytes {
            machine::send_byte(*byte);
        }
        bytes.len()
    }
}
