//! Input that can be waited for with a timeout.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Input that can be waited for.
pub trait Input: Read {
    /// Waits until there are bytes to read or the input has ended, for at most `timeout`. Returns
    /// `false` after the timeout.
    ///
    /// # Errors
    /// Errors of the input.
    fn wait(&mut self, timeout: Duration) -> io::Result<bool>;
}

/// Input with a file descriptor: a pipe, a socket, a terminal. It must be unbuffered.
#[cfg(unix)]
#[derive(Debug)]
pub struct Polled<R>(pub R);

#[cfg(unix)]
impl<R: Read> Read for Polled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

#[cfg(unix)]
impl<R: Read + std::os::fd::AsFd> Input for Polled<R> {
    fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        use rustix::event::{PollFd, PollFlags, poll};
        match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timespec(timeout))) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Converts a timeout for `poll`. Limited to a day since some systems count milliseconds in 32
/// bits; callers call `poll` again.
#[cfg(unix)]
pub(super) fn timespec(timeout: Duration) -> rustix::event::Timespec {
    let timeout = timeout.min(Duration::from_secs(24 * 60 * 60));
    rustix::event::Timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    }
}

/// Any other input, read by a thread, so that the caller can stop waiting. The thread reads at most
/// six chunks of 64 KiB ahead. It ends with the input, or at its next read after this is dropped.
#[derive(Debug)]
pub struct Threaded {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// The chunk that is being read; an empty one at the end of the input.
    chunk: Option<io::Cursor<Vec<u8>>>,
}

impl Threaded {
    /// Starts the thread.
    pub fn new(mut input: impl Read + Send + 'static) -> Self {
        let (sender, chunks) = sync_channel(4);
        thread::spawn(move || {
            loop {
                let mut chunk = vec![0; 64 << 10];
                let read = input.read(&mut chunk).map(|len| {
                    chunk.truncate(len);
                    chunk
                });
                let last = !matches!(&read, Ok(chunk) if !chunk.is_empty());
                if sender.send(read).is_err() || last {
                    return;
                }
            }
        });
        Self { chunks, chunk: None }
    }

    fn has_rest(&self) -> bool {
        self.chunk.as_ref().is_some_and(|chunk| (chunk.position() as usize) < chunk.get_ref().len())
    }
}

impl Read for Threaded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.has_rest() {
            // A thread that has ended has sent an error or an empty chunk before.
            self.chunk =
                Some(io::Cursor::new(self.chunks.recv().unwrap_or_else(|_| Ok(Vec::new()))?));
        }
        self.chunk.as_mut().map_or(Ok(0), |chunk| chunk.read(buffer))
    }
}

impl Input for Threaded {
    fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        if self.has_rest() {
            return Ok(true);
        }
        match self.chunks.recv_timeout(timeout) {
            Ok(chunk) => self.chunk = Some(io::Cursor::new(chunk?)),
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => {}
        }
        Ok(true)
    }
}
