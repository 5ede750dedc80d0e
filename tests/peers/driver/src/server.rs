//! One server process and the two pipes to it.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use memchr::memchr;

use crate::sys::{self, CpuClock};

/// A server that is silent for so long has lost a request.
const SILENCE: Duration = Duration::from_secs(20);

/// How long a server may take to leave after its input has ended.
const FAREWELL: Duration = Duration::from_secs(3);

/// A server as the report names it and how it is started.
pub struct Candidate {
    pub name: &'static str,
    pub program: PathBuf,
    pub argument: Option<&'static str>,
    /// It prints its port and serves connections, instead of standard input and output.
    pub over_tcp: bool,
}

pub struct Server {
    child: Child,
    over_tcp: bool,
    input: File,
    output: File,
    clock: CpuClock,
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
    /// Starts the server on one CPU and leaves the driver on another (or the same).
    pub fn start(candidate: &Candidate, server_cpu: usize, driver_cpu: usize) -> io::Result<Self> {
        // A child inherits the pin before its first instruction, and so do all its threads.
        sys::pin_to(server_cpu)?;
        let child = Command::new(&candidate.program)
            .args(candidate.argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        sys::pin_to(driver_cpu)?;
        let mut child = child?;

        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let (input, output) = if candidate.over_tcp {
            let mut port = String::new();
            BufReader::new(output).read_line(&mut port)?;
            let stream = connect(port.trim())?;
            (stream.try_clone()?, stream)
        } else {
            (OwnedFd::from(input).into(), OwnedFd::from(output).into())
        };
        sys::set_nonblocking(input.as_fd())?;
        sys::set_nonblocking(output.as_fd())?;
        Ok(Self {
            clock: CpuClock::of(child.id())?,
            child,
            over_tcp: candidate.over_tcp,
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

    /// Where to append what `send` is to send; `None` while earlier bytes are still waiting.
    pub fn outgoing(&mut self) -> Option<&mut Vec<u8>> {
        (self.sent == self.outgoing.len()).then(|| {
            self.sent = 0;
            self.outgoing.clear();
            &mut self.outgoing
        })
    }

    /// Sends as much as the pipe takes, in one write.
    pub fn send(&mut self) -> io::Result<()> {
        match self.input.write(&self.outgoing[self.sent..]) {
            Ok(n) => self.sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Waits until bytes have been received, sending meanwhile what is still waiting.
    pub fn receive(&mut self) -> io::Result<()> {
        loop {
            let more = (self.sent < self.outgoing.len()).then(|| self.input.as_fd());
            let ready = sys::wait(self.output.as_fd(), more, SILENCE)?;
            if ready.to_write {
                self.send()?;
            }
            if ready.to_read {
                return self.read();
            }
        }
    }

    fn read(&mut self) -> io::Result<()> {
        // Only the unfinished line is left when all lines have been taken: nothing, or a part of one.
        self.received.copy_within(self.line..self.filled, 0);
        self.filled -= self.line;
        self.searched -= self.line;
        self.line = 0;
        match self.output.read(&mut self.received[self.filled..])? {
            0 => Err(io::Error::other(
                "the server closed its output, or sent an endless line",
            )),
            n => {
                self.filled += n;
                Ok(())
            }
        }
    }

    /// The next complete line of what has been received.
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

    /// CPU time of the process so far.
    pub fn cpu(&self) -> io::Result<Duration> {
        self.clock.now()
    }

    /// Peak resident set in KiB.
    pub fn peak_memory(&self) -> io::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let peak = status.lines().find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .strip_suffix("kB")?
                .trim()
                .parse()
                .ok()
        });
        peak.ok_or_else(|| io::Error::other("no VmHWM in /proc"))
    }

    /// Ends the server the way MCP clients do: close its input, wait, then kill.
    pub fn stop(self) -> io::Result<()> {
        let Self {
            mut child,
            input,
            output,
            over_tcp,
            ..
        } = self;
        drop((input, output));
        // One with a listener goes on.
        if over_tcp {
            child.kill()?;
        }
        let deadline = Instant::now() + FAREWELL;
        while child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// A connection to a server on this machine, as a file: reading and writing need no more.
fn connect(port: &str) -> io::Result<File> {
    let stream = TcpStream::connect(format!("127.0.0.1:{port}"))?;
    stream.set_nodelay(true)?;
    Ok(OwnedFd::from(stream).into())
}

/// An error that shows the beginning of the line that caused it.
pub fn unexpected(what: impl Display, line: &[u8]) -> io::Error {
    let shown = String::from_utf8_lossy(&line[..line.len().min(300)]);
    io::Error::other(format!("{what}: {shown}"))
}
