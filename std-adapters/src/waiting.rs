//! Files of others in non-blocking mode.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;

/// A file whose reads and writes wait, also in non-blocking mode. That is a mode of the open file:
/// another process that has it may set it at any time, and needs it.
pub(crate) struct Waiting<F>(pub(crate) F);

impl<F: AsFd> Waiting<F> {
    fn wait<T>(
        &mut self,
        until: PollFlags,
        mut call: impl FnMut(&mut F) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match call(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                called => return called,
            }
            retry_on_intr(|| poll(&mut [PollFd::new(&self.0, until)], None))?;
        }
    }
}

impl<F: Read + AsFd> Read for Waiting<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFlags::IN, |file| file.read(buffer))
    }
}

impl<F: Write + AsFd> Write for Waiting<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait(PollFlags::OUT, |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wait(PollFlags::OUT, F::flush)
    }
}
