//! The thermometer in the chip, and the accelerometer (MMA8653FC) on the I2C bus.

use crate::registers::Register;
use crate::registers::registers;

mod thermometer {
    use super::registers;
    registers! { 0x4000_C000: START = 0x000, READY = 0x100, VALUE = 0x508 }

    /// Returns the temperature in hundredths of a degree Celsius.
    pub(crate) fn read() -> Option<i32> {
        READY.write(0);
        START.write(1);
        super::wait_for(READY)?;
        Some(VALUE.read() as i32 * 25)
    }
}

mod wires {
    use super::{registers, wait_for};
    registers! { 0x4000_3000:
        START_RX = 0x000, START_TX = 0x008, STOP = 0x014, STOPPED = 0x104, RX_READY = 0x108,
        TX_SENT = 0x11C, SHORTCUTS = 0x200,
        ENABLE = 0x500, PIN_SCL = 0x508, PIN_SDA = 0x50C, RXD = 0x518, TXD = 0x51C,
        FREQUENCY = 0x524, ADDRESS = 0x588,
    }

    registers! { 0x5000_0000: SCL_IS = 0x700, SDA_IS = 0x778 }

    pub(super) fn open(address: u8) {
        SCL_IS.write(OPEN_DRAIN);
        SDA_IS.write(OPEN_DRAIN);
        PIN_SCL.write(0);
        PIN_SDA.write(30);
        FREQUENCY.write(0x0198_0000);
        ENABLE.write(5);
        ADDRESS.write(u32::from(address));
    }

    pub(super) fn read(register: u8) -> Option<u8> {
        send(register)?;
        RX_READY.write(0);
        STOPPED.write(0);
        // Stops after the first byte.
        SHORTCUTS.write(2);
        START_RX.write(1);
        wait_for(RX_READY)?;
        let byte = RXD.read().to_le_bytes()[0];
        wait_for(STOPPED)?;
        Some(byte)
    }

    pub(super) fn write(register: u8, value: u8) -> Option<()> {
        send(register)?;
        TX_SENT.write(0);
        TXD.write(u32::from(value));
        wait_for(TX_SENT)?;
        STOPPED.write(0);
        STOP.write(1);
        wait_for(STOPPED)
    }

    /// Pull-up, open drain, input connected.
    const OPEN_DRAIN: u32 = 6 << 8 | 3 << 2;

    fn send(register: u8) -> Option<()> {
        // That of a read, also of one that failed.
        SHORTCUTS.write(0);
        TX_SENT.write(0);
        START_TX.write(1);
        TXD.write(u32::from(register));
        wait_for(TX_SENT)
    }
}

pub(crate) use thermometer::read as temperature;

/// The accelerometer. `false` if it was not found.
pub(crate) struct Accelerometer(bool);

impl Accelerometer {
    pub(crate) fn open() -> Self {
        wires::open(0x1D);
        let started =
            wires::read(WHO_AM_I) == Some(0x5A) && wires::write(CONTROL, ACTIVE_8_BIT).is_some();
        // The first value was measured before the accelerometer was configured.
        Self(started && wires::read(X).is_some())
    }

    /// Returns the acceleration along axis 0, 1 or 2, in thousandths of g.
    pub(crate) fn read(&self, axis: u8) -> Option<i32> {
        let value = wires::read(X + axis).filter(|_| self.0)?;
        // 64 steps are one g.
        Some(i32::from(value.cast_signed()) * 125 / 8)
    }
}

/// Waits for an event. Gives up after a hundred times the usual duration.
fn wait_for(event: Register) -> Option<()> {
    (0..20_000).find(|_| event.read() != 0).map(|_| ())
}

const WHO_AM_I: u8 = 0x0D;
const CONTROL: u8 = 0x2A;
const ACTIVE_8_BIT: u8 = 3;
const X: u8 = 1;
