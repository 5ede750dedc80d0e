//! The two pipes to a server, or a connection in their place.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{ChildStdin, ChildStdout};

use memchr::memchr;
use rustix::event::{PollFd, PollFlags};
use rustix::io::ioctl_fionbio;

use crate::process::{Candidate, port};
use crate::sys;

pub struct Server {
    input: File,
    output: File,
    /// Bytes to send, of which the first `sent` are gone.
    outgoing: Vec<u8>,
    sent: usize,
    /// Bytes received: lines begin at `line`, no newline before `searched`, valid up to `filled`.
    received: Vec<u8>,
    line: usize,
    searched: usize,
    filled: usize,
}

impl Server {
    pub fn new(candidate: &Candidate, input: ChildStdin, output: ChildStdout) -> io::Result<Self> {
        let (input, output) = if candidate.listens {
            let stream = connect(port(output)?)?;
            (stream.try_clone()?, stream)
        } else {
            (OwnedFd::from(input).into(), OwnedFd::from(output).into())
        };
        ioctl_fionbio(&input, true)?;
        ioctl_fionbio(&output, true)?;
        Ok(Self {
            input,
            output,
            outgoing: Vec::new(),
            sent: 0,
            received: vec![0; 1 << 20],
            line: 0,
            searched: 0,
            filled: 0,
        })
    }

    /// Returns the buffer that `send` sends; `None` while earlier bytes are pending.
    pub fn outgoing(&mut self) -> Option<&mut Vec<u8>> {
        (self.sent == self.outgoing.len()).then(|| {
            self.sent = 0;
            self.outgoing.clear();
            &mut self.outgoing
        })
    }

    /// Sends as many bytes as the pipe takes, in one write.
    pub fn send(&mut self) -> io::Result<()> {
        match self.input.write(&self.outgoing[self.sent..]) {
            Ok(n) => self.sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Waits until bytes have been received, and sends pending bytes meanwhile.
    pub fn receive(&mut self) -> io::Result<()> {
        loop {
            let is_sending = self.sent < self.outgoing.len();
            let mut fds = [
                PollFd::new(&self.output, PollFlags::IN),
                PollFd::new(&self.input, PollFlags::OUT),
            ];
            sys::wait(&mut fds[..1 + usize::from(is_sending)])?;
            let [to_read, to_write] = fds.map(|fd| !fd.revents().is_empty());
            if to_write {
                self.send()?;
            }
            if to_read {
                return self.read();
            }
        }
    }

    fn read(&mut self) -> io::Result<()> {
        // After all lines have been taken, only an incomplete line can be left.
        self.received.copy_within(self.line..self.filled, 0);
        self.filled -= self.line;
        self.searched -= self.line;
        self.line = 0;
        match self.output.read(&mut self.received[self.filled..])? {
            0 => Err(io::Error::other("the server closed its output, or sent an endless line")),
            n => {
                self.filled += n;
                Ok(())
            }
        }
    }

    /// Returns the next complete line that has been received.
    pub fn line(&mut self) -> Option<&[u8]> {
        let Some(length) = memchr(b'\n', &self.received[self.searched..self.filled]) else {
            self.searched = self.filled;
            return None;
        };
        let (begin, end) = (self.line, self.searched + length);
        self.line = end + 1;
        self.searched = self.line;
        Some(&self.received[begin..end])
    }
}

/// Connects to a server on this machine. A file is enough to read and write.
fn connect(port: u16) -> io::Result<File> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    Ok(OwnedFd::from(stream).into())
}

/// Returns an error that shows the beginning of the line that caused it.
pub fn unexpected(what: impl Display, line: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(&line[..line.len().min(300)]);
    io::Error::other(format!("{what}: {shown}"))
}
