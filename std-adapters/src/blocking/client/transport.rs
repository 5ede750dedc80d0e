//! The trait of transports, and how a connection ends.

use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use mcp_sansio::Printable;

use crate::client::child::Shutdown;

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
    /// The exit status of a process.
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
        if !self.stderr.is_empty() {
            f.write_str("; the last lines of its standard error:")?;
        }
        self.stderr.iter().try_for_each(|line| write!(f, "\n  {}", Printable::new(line)))
    }
}
