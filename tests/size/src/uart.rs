//! The serial port of the nRF51822: just enough to talk under QEMU and on a micro:bit.

use core::ptr;

const BASE: usize = 0x4000_2000;
const START_RX: usize = 0x000;
const START_TX: usize = 0x008;
const RX_READY: usize = 0x108;
const TX_READY: usize = 0x11C;
const ENABLE: usize = 0x500;
const PIN_TX: usize = 0x50C;
const PIN_RX: usize = 0x514;
const RXD: usize = 0x518;
const TXD: usize = 0x51C;
const BAUD_RATE: usize = 0x524;

/// The port, switched on.
pub struct Uart(());

impl Uart {
    /// Switches the port on: 115200 baud on the pins that the micro:bit's USB interface listens to.
    #[must_use]
    pub fn open() -> Self {
        write(PIN_TX, 24);
        write(PIN_RX, 25);
        write(BAUD_RATE, 0x01D7_E000);
        write(ENABLE, 4);
        write(START_TX, 1);
        write(START_RX, 1);
        Self(())
    }

    /// Waits for a byte, then takes what else there is. How many were read: none only for an empty `into`.
    pub fn read(&mut self, into: &mut [u8]) -> usize {
        while !into.is_empty() && self::read(RX_READY) == 0 {}
        self.read_ready(into)
    }

    /// Takes what there is, without waiting.
    pub fn read_ready(&mut self, into: &mut [u8]) -> usize {
        let mut read = 0;
        for byte in into {
            if self::read(RX_READY) == 0 {
                break;
            }
            write(RX_READY, 0);
            *byte = self::read(RXD).to_le_bytes()[0];
            read += 1;
        }
        read
    }

    /// Sends everything.
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            write(TX_READY, 0);
            write(TXD, u32::from(*byte));
            while self::read(TX_READY) == 0 {}
        }
    }
}

fn read(register: usize) -> u32 {
    // SAFETY: a register of the peripheral, aligned.
    unsafe { ptr::read_volatile((BASE + register) as *const u32) }
}

fn write(register: usize, value: u32) {
    // SAFETY: a register of the peripheral, aligned.
    unsafe { ptr::write_volatile((BASE + register) as *mut u32, value) }
}
