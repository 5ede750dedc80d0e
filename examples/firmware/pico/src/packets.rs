//! Bytes as packets of USB: what a stream adds to the port of embassy-usb.

use embassy_usb::class::cdc_acm::{BufferedReceiver, CdcAcmError, Sender};
use embassy_usb::driver::Driver;
use embedded_io_async::{ErrorType, Read, Write};

/// The half that receives.
pub(crate) struct Reader<'d, D: Driver<'d>>(pub(crate) BufferedReceiver<'d, D>);

impl<'d, D: Driver<'d>> ErrorType for Reader<'d, D> {
    type Error = CdcAcmError;
}

impl<'d, D: Driver<'d>> Read for Reader<'d, D> {
    /// Skips empty packets, which a computer sends after a full one: no bytes would mean that the
    /// input has ended.
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, CdcAcmError> {
        loop {
            let read = self.0.read(into).await?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
        }
    }
}

/// The half that sends.
pub(crate) struct Writer<'d, D: Driver<'d>> {
    sender: Sender<'d, D>,
    /// Whether the last packet was full.
    is_full: bool,
    /// Whether the last byte ended a line.
    is_line: bool,
}

impl<'d, D: Driver<'d>> Writer<'d, D> {
    pub(crate) fn new(sender: Sender<'d, D>) -> Self {
        Self { sender, is_full: false, is_line: true }
    }

    /// Ends a line that was cut when a program closed the port. The chip may still have a packet of
    /// it, which the next program gets.
    pub(crate) async fn end_line(&mut self) -> Result<(), CdcAcmError> {
        if self.is_line { Ok(()) } else { self.write_all(b"\n").await }
    }
}

impl<'d, D: Driver<'d>> ErrorType for Writer<'d, D> {
    type Error = CdcAcmError;
}

impl<'d, D: Driver<'d>> Write for Writer<'d, D> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, CdcAcmError> {
        let written = self.sender.write(bytes).await?;
        self.is_full = written == usize::from(self.sender.max_packet_size());
        self.is_line = bytes[..written].ends_with(b"\n");
        Ok(written)
    }

    /// Sends an empty packet after a full one: the computer keeps full packets until a shorter one
    /// says that no more belongs to them.
    async fn flush(&mut self) -> Result<(), CdcAcmError> {
        if self.is_full {
            self.sender.write(&[]).await?;
            self.is_full = false;
        }
        Ok(())
    }
}
