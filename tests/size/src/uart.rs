//! The serial port, waiting for each byte: just enough to talk.

use crate::machine;

/// The port, switched on.
pub struct Uart(());

impl Uart {
    /// Switches the port on.
    #[must_use]
    pub fn open() -> Self {
        machine::open_port();
        Self(())
    }

    /// Waits for a byte, then takes what else there is. How many were read: none only for an empty
    /// `into`.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        while !into.is_empty() && !machine::has_byte() {}
        self.read_ready(into)
    }

    /// Takes what there is, without waiting.
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

    /// Sends everything.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            machine::send_byte(*byte);
        }
    }
}
