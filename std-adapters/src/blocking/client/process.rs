//! A server as a child process.

use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::stderr::{Stderr, StderrTail};
use super::transport::{ConnectionEnd, Shutdown, Transferred, Transport};

/// A server that is started as a child process and spoken with over its standard input and output.
///
/// It is ended as the specification wants (2025-11-25, basic/lifecycle): its input is closed; if it
/// does not end, SIGTERM; if it still does not, SIGKILL. Dropping it does the same.
#[derive(Debug)]
pub struct Process {
    command: Command,
    stderr: Stderr,
    /// How long it may take to end when its input has ended, and after SIGTERM.
    exit_timeouts: [Duration; 2],
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    pipes: Pipes,
    stderr_tail: StderrTail,
}

// One thread and `poll` where there is `poll`, two threads where there is not.
#[cfg(unix)]
type Pipes = super::PolledStreams<std::process::ChildStdout, std::process::ChildStdin>;
#[cfg(not(unix))]
type Pipes = super::ThreadedStreams;

impl Process {
    /// The server that this command starts. Arguments, environment and working directory are the
    /// command's; its standard streams are set here.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self { command, stderr: Stderr::Keep, exit_timeouts: [EXIT_TIMEOUT; 2], running: None }
    }

    /// What becomes of its standard error. Default: [`Stderr::Keep`].
    #[must_use]
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Limits the time in which it ends by itself when its input has ended, and again after
    /// SIGTERM. Default: two seconds each; `Duration::MAX` waits without a limit.
    #[must_use]
    pub fn exit_timeouts(mut self, after_input: Duration, after_sigterm: Duration) -> Self {
        self.exit_timeouts = [after_input, after_sigterm];
        self
    }

    /// The process id, while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }
}

impl Transport for Process {
    fn name(&self) -> String {
        let stderr_tail =
            std::iter::once(self.command.get_program()).chain(self.command.get_args());
        stderr_tail.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    fn open(&mut self) -> io::Result<()> {
        if self.running.is_some() {
            return Ok(());
        }
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.stderr.stdio());
        let mut child = self.command.spawn()?;
        let stderr_tail = self.stderr.read(child.stderr.take());
        let (Some(output), Some(input)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        #[cfg(unix)]
        let pipes = Pipes::new(self.name(), output, input)?;
        #[cfg(not(unix))]
        let pipes = Pipes::new(self.name(), output, input);
        self.running = Some(Running { child, pipes, stderr_tail });
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
        let [after_input, after_sigterm] = self.exit_timeouts;
        running.pipes.close_output();
        let mut status = running.wait(after_input)?;
        if status.is_none() && running.terminate() {
            ended.how = Shutdown::Terminated;
            status = running.wait(after_sigterm)?;
        }
        if status.is_none() {
            ended.how = Shutdown::Killed;
            running.child.kill()?;
            status = Some(running.child.wait()?);
        }
        (ended.status, ended.stderr) = (status, running.stderr_tail.last());
        Ok(ended)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

impl Running {
    /// Waits for the end of the process. What it still writes is read and thrown away, since it
    /// could not end while it cannot write.
    fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let until = Instant::now().checked_add(limit);
        let mut scratch = [0; 4096];
        let (mut pause, mut reads) = (Duration::from_millis(1), true);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            // Without an end where the clock has none.
            let left = until
                .map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            // An end of the output comes just before the end of the process. But a child of the
            // child may keep the output open.
            if reads {
                let transferred = self.pipes.transfer(&[], &mut scratch, Some(pause.min(left)));
                reads = transferred.is_ok_and(|transferred| !transferred.ended);
            } else {
                thread::sleep(pause.min(left));
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Asks it to end; `false` where there is no way to.
    #[cfg(unix)]
    fn terminate(&self) -> bool {
        use rustix::process::{Pid, Signal, kill_process};
        // It has not been waited for, so the id is its own.
        kill_process(Pid::from_child(&self.child), Signal::TERM).is_ok()
    }

    #[cfg(not(unix))]
    fn terminate(&self) -> bool {
        false
    }
}

const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(16);
