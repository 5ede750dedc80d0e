//! Input with a file descriptor.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Input;

/// Input with a file descriptor: a pipe, a socket, a terminal. It must be unbuffered.
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

impl<R: Read> Read for Polled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.input.read(buffer)
    }
}

impl<R: Read + AsFd> Input for Polled<R> {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        if timeout.is_none() && self.woken.is_none() {
            return Ok(true);
        }
        let timeout = timeout.map(timespec);
        let input = PollFd::new(&self.input, PollFlags::IN);
        let polled = match &self.woken {
            Some(woken) => {
                let mut files = [input, PollFd::new(woken, PollFlags::IN)];
                poll(&mut files, timeout.as_ref()).map(|_| {
                    let [input, woken] = &files;
                    (!input.revents().is_empty(), !woken.revents().is_empty())
                })
            }
            None => poll(&mut [input], timeout.as_ref()).map(|ready| (ready > 0, false)),
        };
        match polled {
            Ok((is_ready, is_woken)) => {
                if let Some(mut woken) = self.woken.as_ref().filter(|_| is_woken) {
                    // The rest wakes the next wait, which does no harm.
                    let _ = woken.read(&mut [0; 64]);
                }
                Ok(is_ready)
            }
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn waker(&mut self) -> io::Result<Waker> {
        let (to, woken) = UnixStream::pair()?;
        to.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        self.woken = Some(woken);
        Ok(Arc::new(Socket(to)).into())
    }
}

struct Socket(UnixStream);

impl Wake for Socket {
    fn wake(self: Arc<Self>) {
        // If it is full, there is enough to read.
        let _ = (&self.0).write(&[0]);
    }
}

/// Converts a timeout for `poll`. Limited to a day since some systems count milliseconds in 32
/// bits; callers call `poll` again.
pub(super) fn timespec(timeout: Duration) -> Timespec {
    let timeout = timeout.min(Duration::from_secs(24 * 60 * 60));
    Timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    }
}
