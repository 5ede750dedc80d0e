//! A server as a child process.

use std::process::{Child, Command};
use std::time::Duration;
use std::{io, thread};

use super::transport::{ConnectionEnd, Transferred, Transport};
use crate::client::child::{EXIT_TIMEOUT, end, spawn};
use crate::client::{Stderr, StderrLines};

/// A server that is started as a child process and connected over its standard input and output.
///
/// It is shut down as the specification requires (2025-11-25, basic/lifecycle): its input is
/// closed; if it does not exit, it gets SIGTERM, and then SIGKILL; on Windows it is terminated at
/// once, since nothing there asks it to exit. Dropping this does the same.
/// Fields can be changed before it is connected.
#[derive(Debug)]
#[must_use]
pub struct Process {
    command: Command,
    /// Where its standard error goes. Default: [`Stderr::Keep`].
    pub stderr: Stderr,
    /// How long to wait for its exit after the end of its input, and again after SIGTERM. Default:
    /// two seconds each; `Duration::MAX` waits without a limit.
    pub exit_timeouts: [Duration; 2],
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    pipes: Pipes,
    stderr_lines: StderrLines,
}

// One thread and `poll` where there is `poll`, two threads where there is not.
#[cfg(unix)]
type Pipes = super::PolledStreams<std::process::ChildStdout, std::process::ChildStdin>;
#[cfg(not(unix))]
type Pipes = super::ThreadedStreams;

impl Process {
    /// Creates a server from a command. The standard streams of the command are overridden; its
    /// arguments, environment and working directory are not.
    pub fn new(command: Command) -> Self {
        Self { command, stderr: Stderr::Keep, exit_timeouts: [EXIT_TIMEOUT; 2], running: None }
    }

    /// Returns the last lines of its standard error, while it runs and is connected.
    pub fn stderr_lines(&self) -> Option<StderrLines> {
        self.running.as_ref().map(|running| running.stderr_lines.clone())
    }

    /// Returns the process id while it runs.
    pub fn id(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }
}

impl Transport for Process {
    fn name(&self) -> String {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    fn open(&mut self) -> io::Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        let (child, output, input, stderr_lines) = spawn(&mut self.command, &self.stderr)?;
        #[cfg(unix)]
        let pipes = Pipes::new(self.name(), output, input)?;
        #[cfg(not(unix))]
        let pipes = Pipes::new(self.name(), output, input);
        self.running = Some(Running { child, pipes, stderr_lines });
        Ok(())
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        match &mut self.running {
            Some(running) => running.pipes.transfer(out, into, timeout),
            None => Ok(Transferred { written: out.len(), read: 0, ended: true }),
        }
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        let mut ended = ConnectionEnd::new(self.name());
        let Some(mut running) = self.running.take() else { return Ok(ended) };
        running.pipes.close_output();
        let (mut scratch, mut reads) = ([0; 4096], true);
        let (how, status) = end(&mut running.child, self.exit_timeouts, |pause| {
            // The process could not exit while a write blocks. Its output usually ends just before
            // it does, unless a child of the process keeps it open.
            if reads {
                let transferred = running.pipes.transfer(&[], &mut scratch, Some(pause));
                reads = transferred.is_ok_and(|transferred| !transferred.ended);
            } else {
                thread::sleep(pause);
            }
        })?;
        (ended.how, ended.status, ended.stderr) = (how, Some(status), running.stderr_lines.wait());
        Ok(ended)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.close();
    }
}
