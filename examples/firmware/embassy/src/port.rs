//! A serial port: its interrupt fills a ring, and wakes who reads and who writes.

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
    /// The byte that was received, if there is one.
    fn take(&self) -> Option<u8>;
    /// Whether bytes were lost since this was asked last.
    fn has_lost(&self) -> bool;
    /// Sends a byte, if the transmitter has room for one.
    fn put(&self, byte: u8) -> bool;
    /// Whether to interrupt when a byte was received.
    fn interrupt_on_byte(&self, on: bool);
    /// Whether to interrupt when the transmitter has room.
    fn interrupt_on_room(&self, on: bool);
}

/// A serial port, to be put into a `static`.
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
    /// With these registers, which are switched on already.
    pub const fn new(chip: C) -> Self {
        Self {
            chip,
            ring: Pipe::new(),
            has_lost: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
        }
    }

    /// Both halves.
    pub fn split(&'static self) -> (Receiver<C>, Sender<C>) {
        self.chip.interrupt_on_byte(true);
        (Receiver(self), Sender(self))
    }

    /// What the receiver has goes into the ring. What does not fit stays where it is: with flow
    /// control the sender waits, without bytes are lost, and that is an error.
    pub fn interrupt(&self) {
        self.chip.interrupt_on_room(false);
        self.writer.wake();
        while self.ring.free_capacity() > 0
            && let Some(byte) = self.chip.take()
        {
            // There is room, and nobody else writes to it.
            let _ = self.ring.try_write(&[byte]);
        }
        if self.chip.has_lost() {
            self.has_lost.store(true, Ordering::Relaxed);
        }
        // No byte after a gap may come before the reader has learned of it.
        if self.ring.free_capacity() == 0 || self.has_lost.load(Ordering::Relaxed) {
            self.chip.interrupt_on_byte(false);
        }
        self.reader.wake();
    }

    /// Sends without waiting for an interrupt: the last words of a program.
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
            let read = port.ring.try_read(into).unwrap_or(0);
            let result = if read > 0 {
                Poll::Ready(Ok(read))
            } else if port.has_lost.swap(false, Ordering::Relaxed) {
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

/// Bytes that wait between the interrupt and the reader.
const RING: usize = 256;
