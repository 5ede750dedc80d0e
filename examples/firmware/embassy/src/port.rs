//! A serial port: its interrupt fills a ring buffer and wakes the reader and the writer.

use core::fmt;
use core::future::poll_fn;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Poll;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::pipe::Pipe;
use embassy_sync::waitqueue::AtomicWaker;
use embedded_io_async::{ErrorKind, ErrorType, Read, Write};

/// The registers of a serial port.
pub trait Chip: Send + Sync + 'static {
    /// Takes a received byte, if there is one.
    fn take(&self) -> Option<u8>;
    /// Returns whether bytes were lost since the last call.
    fn has_lost(&self) -> bool;
    /// Sends a byte. Returns `false` if the transmitter has no room.
    fn put(&self, byte: u8) -> bool;
    /// Enables or disables the interrupt for received bytes.
    fn interrupt_on_byte(&self, on: bool);
    /// Enables or disables the interrupt for room in the transmitter.
    fn interrupt_on_room(&self, on: bool);
}

/// A serial port for a `static`.
pub struct Port<C> {
    chip: C,
    ring: Pipe<CriticalSectionRawMutex, RING>,
    has_lost: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

/// The half that receives.
pub struct Receiver<C: 'static>(&'static Port<C>);

/// The half that sends.
pub struct Sender<C: 'static>(&'static Port<C>);

/// The receiver lost bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineError;

impl<C: Chip> Port<C> {
    /// Creates a port from registers that are set up already.
    pub const fn new(chip: C) -> Self {
        Self {
            chip,
            ring: Pipe::new(),
            has_lost: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
        }
    }

    /// Returns both halves.
    pub fn split(&'static self) -> (Receiver<C>, Sender<C>) {
        self.chip.interrupt_on_byte(true);
        (Receiver(self), Sender(self))
    }

    /// Handles an interrupt: moves received bytes into the ring buffer. Bytes that do not fit stay
    /// in the receiver. With flow control the sender waits then; without, bytes are lost, which is
    /// reported as an error.
    pub fn interrupt(&self) {
        self.chip.interrupt_on_room(false);
        self.writer.wake();
        // After a gap, no byte may follow until the reader has got the error.
        while self.ring.free_capacity() > 0
            && !self.has_lost.load(Ordering::Relaxed)
            && let Some(byte) = self.chip.take()
        {
            // There is room, and only this function writes.
            let _ = self.ring.try_write(&[byte]);
        }
        if self.chip.has_lost() {
            self.has_lost.store(true, Ordering::Relaxed);
        }
        if self.ring.free_capacity() == 0 || self.has_lost.load(Ordering::Relaxed) {
            self.chip.interrupt_on_byte(false);
        }
        self.reader.wake();
    }

    /// Sends without interrupts, e.g. on a panic.
    pub fn write_now(&self, bytes: &[u8]) {
        for byte in bytes {
            while !self.chip.put(*byte) {}
        }
    }
}

impl<C> ErrorType for Receiver<C> {
    type Error = LineError;
}

impl<C: Chip> Read for Receiver<C> {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, LineError> {
        let port = self.0;
        poll_fn(|cx| {
            port.reader.register(cx.waker());
            // Before the bytes, of which no more come once it is set: they precede the gap.
            let has_lost = port.has_lost.load(Ordering::Relaxed);
            let read = port.ring.try_read(into).unwrap_or(0);
            let result = if read > 0 {
                Poll::Ready(Ok(read))
            } else if has_lost {
                port.has_lost.store(false, Ordering::Relaxed);
                Poll::Ready(Err(LineError))
            } else {
                Poll::Pending
            };
            port.chip.interrupt_on_byte(true);
            result
        })
        .await
    }
}

impl<C> ErrorType for Sender<C> {
    type Error = LineError;
}

impl<C: Chip> Write for Sender<C> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, LineError> {
        let port = self.0;
        poll_fn(|cx| {
            port.writer.register(cx.waker());
            let written = bytes.iter().take_while(|byte| port.chip.put(**byte)).count();
            if written > 0 || bytes.is_empty() {
                return Poll::Ready(Ok(written));
            }
            port.chip.interrupt_on_room(true);
            Poll::Pending
        })
        .await
    }

    async fn flush(&mut self) -> Result<(), LineError> {
        Ok(())
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes came faster than they were read")
    }
}

impl core::error::Error for LineError {}

impl embedded_io_async::Error for LineError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidData
    }
}

/// Size of the ring buffer, in bytes.
const RING: usize = 256;
