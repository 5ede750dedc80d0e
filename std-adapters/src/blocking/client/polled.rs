//! Transport over file descriptors, with `poll`.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use super::transport::{ConnectionEnd, Transferred, Transport};
use crate::blocking::polled::wait_for;
use crate::gone::is_gone;

/// Input and output with file descriptors: pipes, or a socket and its clone. Both must be
/// unbuffered.
///
/// The output is set to non-blocking mode, because `poll` does not tell how much can be written.
/// The mode belongs to the open file, not to the descriptor: do not share the output with another
/// process.
#[derive(Debug)]
pub struct PolledStreams<R, W> {
    name: String,
    input: Option<R>,
    output: Option<W>,
}

impl<R: Read + AsFd, W: Write + AsFd> PolledStreams<R, W> {
    /// Creates a transport. `name` is used in error messages.
    ///
    /// # Errors
    /// Errors of setting the output to non-blocking mode.
    pub fn new(name: impl Into<String>, input: R, output: W) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&output, true)?;
        Ok(Self { name: name.into(), input: Some(input), output: Some(output) })
    }

    /// Closes the server's input.
    pub(super) fn close_output(&mut self) {
        self.output = None;
    }

    /// Writes without blocking.
    fn write(&mut self, out: &[u8]) -> io::Result<usize> {
        let Some(output) = self.output.as_mut().filter(|_| !out.is_empty()) else {
            return Ok(out.len());
        };
        match output.write(out) {
            Err(error) if would_block(&error) => Ok(0),
            Err(error) if is_gone(&error) => {
                self.output = None;
                Ok(out.len())
            }
            written => written,
        }
    }
}

impl<R: Read + AsFd + Send, W: Write + AsFd + Send> Transport for PolledStreams<R, W> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn open(&mut self) -> io::Result<()> {
        if self.input.is_some() { Ok(()) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        // Writing without `poll` usually succeeds and saves a system call.
        let mut done = Transferred { written: self.write(out)?, ..Transferred::default() };
        if done.written > 0 {
            return Ok(done);
        }
        let input = self.input.as_ref().filter(|_| !into.is_empty());
        let output = self.output.as_ref().filter(|_| !out.is_empty());
        let input = input.map(|input| PollFd::new(input, PollFlags::IN));
        let output = output.map(|output| PollFd::new(output, PollFlags::OUT));
        let [readable, writable] = wait_for(input, output, timeout)?;
        if writable {
            done.written = self.write(out)?;
        }
        if let Some(input) = self.input.as_mut().filter(|_| readable) {
            match input.read(into) {
                Ok(read) => (done.read, done.ended) = (read, read == 0),
                Err(error) if is_gone(&error) => done.ended = true,
                Err(error) if would_block(&error) => {}
                Err(error) => return Err(error),
            }
        }
        done.ended |= self.input.is_none();
        Ok(done)
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        self.output = None;
        self.input = None;
        Ok(ConnectionEnd::new(self.name()))
    }
}

fn would_block(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
