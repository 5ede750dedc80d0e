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

/// Waits until one of both is ready. Returns which are, neither after a signal.
pub(super) fn wait_for(
    one: Option<PollFd<'_>>,
    other: Option<PollFd<'_>>,
    timeout: Option<Duration>,
) -> io::Result<[bool; 2]> {
    // Some systems count milliseconds in 32 bits; callers call this again.
    let timeout = timeout.map(|timeout| timeout.min(Duration::from_secs(24 * 60 * 60)));
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
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
