//! The trait of transports, and how a connection ends.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use std::{fmt, thread};

use mcp_sansio::Printable;

use crate::blocking::{Input as _, Threaded};
use crate::client::child::{EXIT_TIMEOUT, Shutdown, Stderr, StderrLines, end, spawn};
use crate::gone::is_gone;

/// A byte stream to a server: a child process ([`Process`](super::Process)), a socket, a serial
/// port.
///
/// One method both reads and writes, because neither may wait for the other: if a server writes
/// much before it reads on, and the client only writes meanwhile, both wait for ever.
pub trait Transport: Send {
    /// Returns the name for error messages, e.g. the command line of a process.
    fn name(&self) -> String;

    /// Connects, or connects again after [`close`](Self::close).
    ///
    /// # Errors
    /// Errors of connecting. [`io::ErrorKind::Unsupported`] if it cannot connect again.
    fn open(&mut self) -> io::Result<()>;

    /// Writes as much of `out` as possible without blocking and reads available bytes into `into`.
    /// Waits until either is possible, for at most `timeout`, and reads nothing if `into` is empty.
    /// If the server has closed its input, all of `out` counts as written: responses to earlier
    /// requests may still come.
    ///
    /// # Errors
    /// Errors other than the end of the connection.
    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred>;

    /// Shuts the connection down in the order that the protocol requires, and returns how it ended.
    ///
    /// # Errors
    /// Errors of shutting down.
    fn close(&mut self) -> io::Result<ConnectionEnd>;

    /// Returns the transport that exchanges messages in place of bytes, if it is one.
    #[cfg(all(feature = "http", feature = "smol"))]
    #[doc(hidden)]
    fn http(&mut self) -> Option<&mut super::BlockingHttpTransport> {
        None
    }
}

/// For a client that leaves the connection open for another one when it is dropped.
impl<T: Transport + ?Sized> Transport for &mut T {
    fn name(&self) -> String {
        (**self).name()
    }

    fn open(&mut self) -> io::Result<()> {
        (**self).open()
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        (**self).transfer(out, into, timeout)
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        (**self).close()
    }

    #[cfg(all(feature = "http", feature = "smol"))]
    fn http(&mut self) -> Option<&mut super::BlockingHttpTransport> {
        (**self).http()
    }
}

/// Result of [`Transport::transfer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transferred {
    /// Number of bytes of `out` that were written.
    pub written: usize,
    /// Number of bytes that were read into `into`.
    pub read: usize,
    /// Whether the input has ended.
    pub ended: bool,
}

/// The end of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ConnectionEnd {
    /// Name of the server ([`Transport::name`]).
    pub server: String,
    /// The means by which the server was ended.
    pub how: Shutdown,
    /// The exit status of a process, unless this program ignores SIGCHLD: then nobody knows it.
    pub status: Option<ExitStatus>,
    /// The last lines that a process wrote to standard error, if they were kept
    /// ([`Stderr`](super::Stderr)).
    pub stderr: Vec<String>,
}

impl ConnectionEnd {
    /// Creates the end of a connection of which only the server's name is known.
    pub fn new(server: String) -> Self {
        Self { server, ..Self::default() }
    }

    /// Writes the last lines of standard error, if there are any.
    pub(super) fn write_stderr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.stderr.is_empty() {
            f.write_str("; the last lines of its standard error:")?;
        }
        self.stderr.iter().try_for_each(|line| write!(f, "\n  {}", Printable::new(line)))
    }
}

impl fmt::Display for ConnectionEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status, self.how) {
            (None, _) => write!(f, "{} has closed the connection", self.server)?,
            (Some(status), Shutdown::Graceful) => {
                write!(f, "the server `{}` has ended ({status})", self.server)?
            }
            (Some(status), _) => {
                write!(f, "the server `{}` had to be terminated ({status})", self.server)?
            }
        }
        self.write_stderr(f)
    }
}

// A server as a child process.

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
type Pipes = ThreadedStreams;

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
        (ended.how, ended.status, ended.stderr) = (how, status, running.stderr_lines.wait());
        Ok(ended)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

// Transport over any reader and writer, with two threads.

/// Any input and output. One thread reads ([`Threaded`]) and one writes, so that neither blocks the
/// other or the caller. The threads end with their streams, or at their next read or write after
/// this was closed.
#[derive(Debug)]
pub struct ThreadedStreams {
    name: String,
    /// `None` once it has ended.
    input: Option<Threaded>,
    /// To the writer; `None` once the output has ended.
    full: Option<Sender<Vec<u8>>>,
    /// Buffers that the writer has written.
    written: Receiver<Vec<u8>>,
    /// The writer's buffer, unless it is being written.
    idle: Option<Vec<u8>>,
}

impl ThreadedStreams {
    /// Starts the threads. `name` is used in error messages.
    pub fn new(
        name: impl Into<String>,
        input: impl Read + Send + 'static,
        mut output: impl Write + Send + 'static,
    ) -> Self {
        let input = Threaded::new(input);
        let waker = input.ends_wait();
        let (full, to_write) = channel::<Vec<u8>>();
        let (sender, written) = channel();
        thread::spawn(move || {
            while let Ok(mut chunk) = to_write.recv() {
                let done = output.write_all(&chunk).and_then(|()| output.flush());
                chunk.clear();
                if done.is_err() || sender.send(chunk).is_err() {
                    break;
                }
                waker.wake_by_ref();
            }
            drop(sender);
            waker.wake();
        });
        let (name, input, full) = (name.into(), Some(input), Some(full));
        Self { name, input, full, written, idle: Some(Vec::new()) }
    }

    #[cfg(not(unix))]
    pub(super) fn close_output(&mut self) {
        self.full = None;
    }

    /// Takes the writer's buffer back, and waits for it for so long.
    fn wrote(&mut self, timeout: Duration) {
        match self.written.recv_timeout(timeout) {
            Ok(chunk) => self.idle = Some(chunk),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.full = None,
        }
    }

    /// Does what is possible without waiting. Reads first: a writer that ends the wait of that has
    /// written.
    fn attempt(&mut self, out: &[u8], into: &mut [u8]) -> io::Result<Transferred> {
        let mut done = Transferred::default();
        if let Some(input) = self.input.as_mut().filter(|_| !into.is_empty()) {
            let read = match input.wait(Some(Duration::ZERO)) {
                Ok(true) => input.read(into).map(Some),
                waited => waited.map(|_| None),
            };
            match read {
                Ok(None) => {}
                Ok(Some(read)) if read > 0 => done.read = read,
                Err(error) if !is_gone(&error) => return Err(error),
                Ok(Some(_)) | Err(_) => self.input = None,
            }
        }
        done.ended = self.input.is_none();
        self.wrote(Duration::ZERO);
        match &self.full {
            None => done.written = out.len(),
            Some(full) if !out.is_empty() => {
                if let Some(mut chunk) = self.idle.take() {
                    done.written = out.len().min(CHUNK);
                    chunk.extend_from_slice(out.get(..done.written).unwrap_or_default());
                    // A writer that has ended is noticed the next time.
                    let _ = full.send(chunk);
                }
            }
            Some(_) => {}
        }
        Ok(done)
    }
}

impl Transport for ThreadedStreams {
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
        let done = self.attempt(out, into)?;
        if done != Transferred::default() {
            return Ok(done);
        }
        match &mut self.input {
            // The writer ends the wait, too.
            Some(input) if !into.is_empty() => match input.wait(timeout) {
                Ok(_) => {}
                Err(error) if is_gone(&error) => self.input = None,
                Err(error) => return Err(error),
            },
            _ => self.wrote(timeout.unwrap_or(Duration::MAX)),
        }
        self.attempt(out, into)
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        self.full = None;
        self.input = None;
        Ok(ConnectionEnd::new(self.name()))
    }
}

/// Maximum length of a write, in bytes.
const CHUNK: usize = 64 << 10;
