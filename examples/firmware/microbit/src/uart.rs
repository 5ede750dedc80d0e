//! The serial port: an interrupt fills a ring buffer while the main loop writes.

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

use embedded_io::{ErrorKind, ErrorType, Read, ReadReady, Write};

use crate::registers::registers;
use crate::ring::Ring;

registers! { 0x4000_2000:
    START_RX = 0x000, START_TX = 0x008, RX_READY = 0x108, TX_READY = 0x11C,
    INTERRUPT_ON = 0x304, INTERRUPT_OFF = 0x308,
    ERRORS = 0x480, ENABLE = 0x500, PIN_TX = 0x50C, PIN_RX = 0x514, RXD = 0x518, TXD = 0x51C,
    BAUD_RATE = 0x524,
}

/// The port, enabled. There is only one.
pub(crate) struct Uart(());

/// The receiver lost bytes or received noise. The bits are those of the register ERRORSRC: overrun,
/// parity, framing, break.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LineError(u32);

impl Uart {
    /// Enables the port: 115,200 baud, on the pins of the micro:bit's USB interface.
    pub(crate) fn open() -> Self {
        PIN_TX.write(24);
        PIN_RX.write(25);
        BAUD_RATE.write(0x01D7_E000);
        ENABLE.write(4);
        START_TX.write(1);
        START_RX.write(1);
        INTERRUPT_ON.write(RX_BIT);
        Self(())
    }

    /// Returns whether the main loop has nothing to read. Called with interrupts off before sleep.
    pub(crate) fn is_silent() -> bool {
        RING.is_empty() && FAULT.load(Ordering::Relaxed) == 0
    }

    /// Handles an interrupt: moves received bytes into the ring buffer. Bytes that do not fit stay
    /// in the receiver. With flow control the sender waits then; without, bytes are lost, which is
    /// reported as an error.
    pub(crate) fn interrupt() {
        while RX_READY.read() != 0 {
            // After a gap, no byte may follow until the main loop has got the error.
            if RING.is_full() || FAULT.load(Ordering::Relaxed) != 0 {
                return INTERRUPT_OFF.write(RX_BIT);
            }
            RX_READY.write(0);
            RING.put(RXD.read().to_le_bytes()[0]);
        }
        let errors = ERRORS.read();
        if errors != 0 {
            ERRORS.write(errors);
            FAULT.store(errors, Ordering::Relaxed);
        }
    }

    /// Sends without the main loop.
    pub(crate) fn write_now(bytes: &[u8]) {
        for byte in bytes {
            TX_READY.write(0);
            TXD.write(u32::from(*byte));
            while TX_READY.read() == 0 {}
        }
    }
}

impl ErrorType for Uart {
    type Error = LineError;
}

impl ReadReady for Uart {
    fn read_ready(&mut self) -> Result<bool, LineError> {
        Ok(!Self::is_silent())
    }
}

impl Read for Uart {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, LineError> {
        loop {
            // Before the bytes, of which no more come once it is set: they precede the gap.
            let fault = FAULT.load(Ordering::Relaxed);
            let mut read = 0;
            // Iterates over the room, so that no byte is taken without room for it.
            for place in into.iter_mut() {
                let Some(byte) = RING.take() else { break };
                *place = byte;
                read += 1;
            }
            let errors = if read == 0 && RING.is_empty() { fault } else { 0 };
            if errors != 0 {
                FAULT.store(0, Ordering::Relaxed);
            }
            INTERRUPT_ON.write(RX_BIT);
            match errors {
                0 if read > 0 || into.is_empty() => return Ok(read),
                0 => {}
                errors => return Err(LineError(errors)),
            }
        }
    }
}

impl Write for Uart {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, LineError> {
        Self::write_now(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), LineError> {
        Ok(())
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 & 1 != 0 {
            "bytes came faster than they were read"
        } else {
            "noise on the line"
        })
    }
}

impl core::error::Error for LineError {}

impl embedded_io::Error for LineError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidData
    }
}

static RING: Ring = Ring::new();
/// Errors of the receiver that `read` has not returned yet.
static FAULT: AtomicU32 = AtomicU32::new(0);
const RX_BIT: u32 = 1 << 2;
