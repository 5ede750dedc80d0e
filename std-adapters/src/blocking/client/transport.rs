//! What carries the bytes.

use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use mcp_sansio::Printable;

/// A connection to a server: a child process ([`Process`](super::Process)), a socket, a serial
/// port.
///
/// Both directions are one method, because neither may wait for the other: a server that writes
/// much before it reads on must find a client that reads while it writes, or both wait for ever.
pub trait Transport: Send {
    /// What errors call it: the command line of a process, for example.
    fn name(&self) -> String;

    /// Connects, or connects again after it was [closed](Self::close).
    ///
    /// # Errors
    /// When that fails. [`io::ErrorKind::Unsupported`] from what cannot be opened twice.
    fn open(&mut self) -> io::Result<()>;

    /// Writes as much of `out` as the server takes now and reads into `into` what has come. Waits
    /// until one of them is possible, but no longer than `timeout`, and reads nothing when
    /// `into` is empty. What the server does not read any more counts as written: it may still
    /// answer the rest.
    ///
    /// # Errors
    /// Those that are not the end of the connection.
    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred>;

    /// Ends the connection in the order that the protocol wants and says how it ended. Once is
    /// enough.
    ///
    /// # Errors
    /// When it cannot be ended.
    fn close(&mut self) -> io::Result<ConnectionEnd>;
}

/// For a client that leaves the connection open when it is dropped, for another one.
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
}

/// What an [exchange](Transport::transfer) did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transferred {
    /// Bytes taken from `out`.
    pub written: usize,
    /// Bytes put into `into`.
    pub read: usize,
    /// Nothing more will come.
    pub ended: bool,
}

/// How a connection ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ConnectionEnd {
    /// What it was connected to.
    pub server: String,
    /// What was needed to end it.
    pub how: Shutdown,
    /// The exit status of a process.
    pub status: Option<ExitStatus>,
    /// The last lines that a process wrote to standard error, where they were kept
    /// ([`Stderr`](super::Stderr)).
    pub stderr: Vec<String>,
}

/// What was needed to end a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Shutdown {
    /// Nothing, or the end of its input.
    #[default]
    Graceful,
    /// SIGTERM. Only on Unix.
    Terminated,
    /// SIGKILL, or what the operating system has instead.
    Killed,
}

impl ConnectionEnd {
    /// How the connection to `server` ended, of which nothing else is known.
    #[must_use]
    pub fn new(server: String) -> Self {
        Self { server, ..Self::default() }
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
                write!(f, "the server `{}` had to be ended ({status})", self.server)?
            }
        }
        if !self.stderr.is_empty() {
            f.write_str("; its last stderr_tail on standard error:")?;
        }
        self.stderr.iter().try_for_each(|line| write!(f, "\n  {}", Printable::new(line)))
    }
}
