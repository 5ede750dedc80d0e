//! A port whose lines have checksums.

use core::fmt;

use ::embedded_io_async::{Error, ErrorKind, ErrorType, Read, Write};
use mcp_sansio::{CheckedByte, LineChecker, LineChecksum};

use super::wire::Chunk;

/// A reader of lines with a checksum, which it takes away: see [`LineChecksum`]. A line with a
/// fault ends with [`CheckedError::Checksum`], so that the [`Connection`](super::Connection)
/// rejects it.
#[derive(Debug)]
pub struct CheckedReader<R> {
    port: R,
    checker: LineChecker,
    bytes: [u8; 32],
    from: usize,
    to: usize,
    /// Whether the line feed behind a fault is to be delivered.
    ends_line: bool,
    /// Whether a fault is to be reported.
    has_gap: bool,
}

impl<R: Read> CheckedReader<R> {
    /// Reads from this port.
    pub const fn new(port: R) -> Self {
        let checker = LineChecker::new();
        Self { port, checker, bytes: [0; 32], from: 0, to: 0, ends_line: false, has_gap: false }
    }
}

impl<R: ErrorType> ErrorType for CheckedReader<R> {
    type Error = CheckedError<R::Error>;
}

impl<R: Read> Read for CheckedReader<R> {
    async fn read(&mut self, into: &mut [u8]) -> Result<usize, Self::Error> {
        let mut len = 0;
        loop {
            if core::mem::take(&mut self.has_gap) {
                return Err(CheckedError::Checksum);
            }
            while let Some(place) = into.get_mut(len) {
                if core::mem::take(&mut self.ends_line) {
                    *place = b'\n';
                    len += 1;
                    continue;
                }
                let received = self.bytes.get(self.from..self.to).and_then(<[u8]>::first);
                let Some(byte) = received else { break };
                self.from += 1;
                match self.checker.take(*byte) {
                    None => {}
                    Some(CheckedByte::Byte(byte)) => {
                        *place = byte;
                        len += 1;
                    }
                    Some(CheckedByte::Gap) => {
                        (self.has_gap, self.ends_line) = (true, true);
                        break;
                    }
                }
            }
            if len > 0 || into.is_empty() {
                return Ok(len);
            }
            if self.has_gap {
                continue;
            }
            let read = self.port.read(&mut self.bytes).await.map_err(CheckedError::Port)?;
            (self.from, self.to) = (0, read);
            if read == 0 {
                // A line that the end has cut off counts only with its checksum.
                self.has_gap = self.checker.take(b'\n') == Some(CheckedByte::Gap);
                if !self.has_gap {
                    return Ok(0);
                }
            }
        }
    }
}

/// A writer of lines, which it ends with a checksum: see [`LineChecksum`].
#[derive(Debug)]
pub struct CheckedWriter<W> {
    port: W,
    checksum: LineChecksum,
    /// The end of the line, as far as the port has not taken it.
    end: Chunk<10>,
}

impl<W: Write> CheckedWriter<W> {
    /// Writes to this port.
    pub const fn new(port: W) -> Self {
        Self { port, checksum: LineChecksum::new(), end: Chunk::new() }
    }
}

impl<W: ErrorType> ErrorType for CheckedWriter<W> {
    type Error = W::Error;
}

impl<W: Write> Write for CheckedWriter<W> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Self::Error> {
        let part = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if part.is_empty() && !bytes.is_empty() {
            if self.end.is_empty() {
                self.end.put(&self.checksum.end());
            }
            while !self.end.is_empty() {
                match self.port.write(self.end.rest()).await? {
                    0 => return Ok(0),
                    written => self.end.advance(written),
                }
            }
            return Ok(1);
        }
        let written = self.port.write(part).await?;
        part.iter().take(written).for_each(|byte| self.checksum.add(*byte));
        Ok(written)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.port.flush().await
    }
}

/// An error of a [`CheckedReader`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CheckedError<E> {
    /// The checksum of a line is wrong or missing.
    Checksum,
    /// An error of the port.
    Port(E),
}

impl<E: fmt::Display> fmt::Display for CheckedError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => f.write_str("the checksum of a line is wrong or missing"),
            Self::Port(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for CheckedError<E> {}

impl<E: Error> Error for CheckedError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Checksum => ErrorKind::InvalidData,
            Self::Port(error) => error.kind(),
        }
    }
}
