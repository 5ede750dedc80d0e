//! Reading from a driver and writing to it, while an event may borrow the connection.

use ::embedded_io::{Error as _, ErrorKind, ErrorType, Read, ReadReady, Write};
use mcp_sansio::Spare;

use super::error::Error;

/// The driver, and what the connection does not know yet, since a step had lent it.
#[derive(Debug)]
pub(super) struct Line<D: ErrorType> {
    pub(super) driver: D,
    /// Number of bytes that were written.
    pub(super) written: usize,
    is_flushed: bool,
    /// Result of the last read.
    pub(super) input: Option<Input<D::Error>>,
}

/// Result of a read.
#[derive(Debug)]
pub(super) enum Input<E> {
    Bytes,
    End,
    Error(E),
}

impl<D: ErrorType> Line<D> {
    pub(super) const fn new(driver: D) -> Self {
        Self { driver, written: 0, is_flushed: true, input: None }
    }

    /// Forgets what the connection does not know.
    pub(super) fn forget(&mut self) {
        (self.written, self.input) = (0, None);
    }
}

impl<D: Read + ReadReady + Write> Line<D> {
    pub(super) fn is_ready(&mut self) -> bool {
        !matches!(self.driver.read_ready(), Ok(false))
    }

    /// Reads what has come, up to an end or an error. Returns whether there was anything.
    pub(super) fn read(&mut self, into: &mut Spare<'_>) -> bool {
        if into.spare().is_empty() || !matches!(self.input, None | Some(Input::Bytes)) {
            return false;
        }
        let read = match self.driver.read_ready() {
            Ok(false) => return false,
            Ok(true) => self.driver.read(into.spare()),
            Err(error) => Err(error),
        };
        match read {
            Ok(0) => self.input = Some(Input::End),
            Ok(read) => {
                into.commit(read);
                self.input = Some(Input::Bytes);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => self.input = Some(Input::Error(error)),
        }
        true
    }

    /// Writes some of the bytes and returns their number. Reads what has come before, so that two
    /// peers that both write long messages do not wait for each other.
    pub(super) fn exchange(
        &mut self,
        bytes: &[u8],
        into: &mut Spare<'_>,
    ) -> Result<usize, Error<D::Error>> {
        self.read(into);
        match self.driver.write(bytes).map_err(Error::Io)? {
            0 => Err(Error::WriteZero),
            written => {
                self.is_flushed = false;
                Ok(written)
            }
        }
    }

    /// Waits until the driver has sent everything.
    pub(super) fn flush(&mut self) -> Result<(), Error<D::Error>> {
        if !self.is_flushed {
            self.driver.flush().map_err(Error::Io)?;
            self.is_flushed = true;
        }
        Ok(())
    }
}
