//! A server process.

use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::sys::{self, CpuClock, SyscallCounter};

/// Maximum time from the end of a server's input to its exit.
const FAREWELL: Duration = Duration::from_secs(3);

/// A server: its name in the report and its command line.
pub struct Candidate {
    pub name: &'static str,
    pub program: PathBuf,
    pub argument: Option<&'static str>,
    /// Whether it prints its port and serves connections, instead of standard input and output.
    pub listens: bool,
}

/// CPUs of the driver and the server.
pub struct Cpus {
    pub driver: usize,
    pub server: usize,
}

pub struct Process {
    child: Child,
    listens: bool,
    clock: CpuClock,
    /// `None` where this user may not trace.
    syscalls: Option<SyscallCounter>,
}

impl Process {
    /// Starts the server on one CPU, leaves the driver on another (or the same), and stops the
    /// server when the driver is done. After a failure, too: a server left behind would disturb the
    /// next measurement.
    pub fn with<R>(
        candidate: &Candidate,
        cpus: &Cpus,
        drive: impl FnOnce(&Self, ChildStdin, ChildStdout) -> io::Result<R>,
    ) -> io::Result<R> {
        // A child inherits the pin before its first instruction, and so do all its threads.
        sys::pin_to(cpus.server)?;
        let child = Command::new(&candidate.program)
            .args(candidate.argument)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        sys::pin_to(cpus.driver)?;
        let mut child = child?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let (clock, syscalls) = (CpuClock::of(child.id())?, SyscallCounter::of(child.id()).ok());
        let process = Self { child, listens: candidate.listens, clock, syscalls };
        let driven = drive(&process, input, output);
        process.stop()?;
        driven
    }

    /// Returns the CPU time of the process so far.
    pub fn cpu(&self) -> io::Result<Duration> {
        self.clock.now()
    }

    /// Starts to count the system calls of the process, which costs CPU time.
    pub fn count_syscalls(&self) -> io::Result<()> {
        self.syscalls.as_ref().map_or(Ok(()), SyscallCounter::start)
    }

    /// Stops that; `None` where this user may not trace.
    pub fn syscalls(&self) -> io::Result<Option<u64>> {
        self.syscalls.as_ref().map(SyscallCounter::stop).transpose()
    }

    /// Peak resident set in KiB.
    pub fn peak_memory(&self) -> io::Result<u64> {
        self.memory("VmHWM:")
    }

    /// Resident set in KiB.
    pub fn resident_memory(&self) -> io::Result<u64> {
        self.memory("VmRSS:")
    }

    fn memory(&self, field: &str) -> io::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let value = status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_suffix("kB")?.trim().parse().ok());
        value.ok_or_else(|| io::Error::other(format!("no {field} in /proc")))
    }

    /// Waits for the exit of a process whose input has been closed. Kills one that listens, which
    /// would not exit.
    fn stop(mut self) -> io::Result<()> {
        if self.listens {
            self.child.kill()?;
        }
        let deadline = Instant::now() + FAREWELL;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > deadline {
                self.child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

/// Reads the port that a server prints first.
pub fn port(output: ChildStdout) -> io::Result<u16> {
    let mut port = String::new();
    BufReader::new(output).read_line(&mut port)?;
    port.trim().parse().map_err(|_| io::Error::other(format!("a port was expected, not {port:?}")))
}
