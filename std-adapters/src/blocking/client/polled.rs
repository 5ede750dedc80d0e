//! Two descriptors, waited for at once.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::transport::{ConnectionEnd, Transferred, Transport};

/// Input and output with file descriptors: pipes, or a socket and its clone. Neither may be
/// buffered on this side.
///
/// The output is set to not block: `poll` says that there is room, but not for how much. That is a
/// property of the open file, not of the descriptor: do not pass what another process writes to as
/// well.
#[derive(Debug)]
pub struct PolledStreams<R, W> {
    name: String,
    input: Option<R>,
    output: Option<W>,
}

impl<R: Read + AsFd, W: Write + AsFd> PolledStreams<R, W> {
    /// `name` is what errors call it.
    ///
    /// # Errors
    /// When the output cannot be set to not block.
    pub fn new(name: impl Into<String>, input: R, output: W) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&output, true)?;
        Ok(Self { name: name.into(), input: Some(input), output: Some(output) })
    }

    /// Ends what the server reads.
    pub(super) fn close_output(&mut self) {
        self.output = None;
    }

    /// Writes what there is room for.
    fn write(&mut self, out: &[u8]) -> io::Result<usize> {
        let Some(output) = self.output.as_mut().filter(|_| !out.is_empty()) else {
            return Ok(out.len());
        };
        match output.write(out) {
            Err(error) if is_nothing(&error) => Ok(0),
            Err(error) if is_gone(&error) => {
                self.output = None;
                Ok(out.len())
            }
            written => written,
        }
    }

    /// Whether there is something to read, and room to write.
    fn wait(
        &self,
        reads: bool,
        writes: bool,
        timeout: Option<Duration>,
    ) -> io::Result<(bool, bool)> {
        let input =
            self.input.as_ref().filter(|_| reads).map(|input| PollFd::new(input, PollFlags::IN));
        let output = self
            .output
            .as_ref()
            .filter(|_| writes)
            .map(|output| PollFd::new(output, PollFlags::OUT));
        let has_input = input.is_some();
        let (mut both, mut one);
        let descriptors: &mut [PollFd<'_>] = match (input, output) {
            (Some(input), Some(output)) => {
                both = [input, output];
                &mut both
            }
            (Some(descriptor), None) | (None, Some(descriptor)) => {
                one = [descriptor];
                &mut one
            }
            (None, None) => &mut [],
        };
        let limit = timeout.map(crate::blocking::input::timespec);
        match poll(descriptors, limit.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok((false, false)),
            polled => polled?,
        };
        let mut ready = descriptors.iter().map(|descriptor| !descriptor.revents().is_empty());
        let readable = has_input && ready.next().unwrap_or(false);
        Ok((readable, ready.next().unwrap_or(false)))
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
        // Mostly there is room, and no need to ask. What a server does not read any more is as good
        // as written.
        let mut done = Transferred { written: self.write(out)?, ..Transferred::default() };
        if done.written > 0 {
            return Ok(done);
        }
        let (readable, writable) = self.wait(!into.is_empty(), !out.is_empty(), timeout)?;
        if writable {
            done.written = self.write(out)?;
        }
        if let Some(input) = self.input.as_mut().filter(|_| readable) {
            match input.read(into) {
                Ok(read) => (done.read, done.ended) = (read, read == 0),
                Err(error) if is_gone(&error) => done.ended = true,
                Err(error) if is_nothing(&error) => {}
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

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
    )
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
