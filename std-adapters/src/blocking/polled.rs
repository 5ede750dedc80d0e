//! Input and transports with file descriptors, which wait with `poll`.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::task::Waker;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::client::{ConnectionEnd, Transferred, Transport};
use super::{Input, waker};
use crate::gone::is_gone;
use crate::waiting::Waiting;

/// Input with a file descriptor: a pipe, a socket, a terminal. It must be unbuffered, and may be in
/// non-blocking mode.
#[derive(Debug)]
pub struct Polled<R> {
    input: R,
    /// Has a byte to read after it was woken.
    woken: Option<UnixStream>,
}

impl<R: Read + AsFd> Polled<R> {
    /// Takes the input.
    pub const fn new(input: R) -> Self {
        Self { input, woken: None }
    }
}

impl<R: Read + AsFd> Read for Polled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Waiting(&mut self.input).read(buffer)
    }
}

impl<R: Read + AsFd> Input for Polled<R> {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        if timeout.is_none() && self.woken.is_none() {
            return Ok(true);
        }
        let input = PollFd::new(&self.input, PollFlags::IN);
        let woken = self.woken.as_ref().map(|woken| PollFd::new(woken, PollFlags::IN));
        let [is_ready, is_woken] = wait_for(Some(input), woken, timeout)?;
        if let Some(mut woken) = self.woken.as_ref().filter(|_| is_woken) {
            // The rest wakes the next wait, which does no harm.
            let _ = woken.read(&mut [0; 64]);
        }
        Ok(is_ready)
    }

    fn waker(&mut self) -> io::Result<Waker> {
        let (to, woken) = UnixStream::pair()?;
        to.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        self.woken = Some(woken);
        // If it is full, there is enough to read.
        Ok(waker(move || drop((&to).write(&[0]))))
    }
}

/// Waits until one of both is ready. Returns which are, neither after a signal.
fn wait_for(
    one: Option<PollFd<'_>>,
    other: Option<PollFd<'_>>,
    timeout: Option<Duration>,
) -> io::Result<[bool; 2]> {
    // Some systems count milliseconds in 32 bits; callers call this again.
    let timeout = timeout.map(|timeout| timeout.min(Duration::from_secs(24 * 60 * 60)));
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    let has_one = one.is_some();
    let (mut both, mut single);
    let files: &mut [PollFd<'_>] = match (one, other) {
        (Some(one), Some(other)) => {
            both = [one, other];
            &mut both
        }
        (Some(file), None) | (None, Some(file)) => {
            single = [file];
            &mut single
        }
        (None, None) => &mut [],
    };
    match poll(files, timeout.as_ref()) {
        Err(rustix::io::Errno::INTR) => return Ok([false; 2]),
        polled => polled?,
    };
    let mut ready = files.iter().map(|file| !file.revents().is_empty());
    let is_one_ready = has_one && ready.next().unwrap_or(false);
    Ok([is_one_ready, ready.next().unwrap_or(false)])
}

// A transport over file descriptors.

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
