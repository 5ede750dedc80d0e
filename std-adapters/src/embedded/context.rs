//! What an application does with events, and what it speaks through.

use core::fmt;

use ::embedded_io::{ErrorKind, Write};
use mcp_sansio::{Change, Instant, SendError, Server, ServerEvent, Tx, TxBuffer};

/// What an application does with the events of a [`Connection`](super::Connection). A closure that takes an
/// event and the context will do for one that answers at once.
pub trait Handler<P: Write, const TX: usize, const N: usize, const S: usize> {
    /// Something happened.
    ///
    /// # Errors
    /// End the turn: what the calls of the context return, as a rule.
    fn on_event(
        &mut self,
        event: ServerEvent<'_>,
        ctx: &mut Context<'_, P, TX, N, S>,
    ) -> Result<(), Error<P::Error>>;

    /// Called once in each turn, between two frames: do a step of what is being worked on. Returns
    /// whether anything was done.
    ///
    /// # Errors
    /// End the turn.
    fn on_poll(&mut self, ctx: &mut Context<'_, P, TX, N, S>) -> Result<bool, Error<P::Error>> {
        let _ = ctx;
        Ok(false)
    }

    /// Reading failed; what was lost by it is skipped. The default rides out everything but the end
    /// of a connection.
    ///
    /// # Errors
    /// End the turn: the error itself, where there is no going on.
    fn on_read_error(
        &mut self,
        error: P::Error,
        ctx: &mut Context<'_, P, TX, N, S>,
    ) -> Result<(), Error<P::Error>> {
        let _ = ctx;
        if is_the_end(&error) { Err(Error::Io(error)) } else { Ok(()) }
    }
}

impl<F, P: Write, const TX: usize, const N: usize, const S: usize> Handler<P, TX, N, S> for F
where
    F: FnMut(ServerEvent<'_>, &mut Context<'_, P, TX, N, S>) -> Result<(), Error<P::Error>>,
{
    fn on_event(
        &mut self,
        event: ServerEvent<'_>,
        ctx: &mut Context<'_, P, TX, N, S>,
    ) -> Result<(), Error<P::Error>> {
        self(event, ctx)
    }
}

/// A server with the port that it writes to.
#[derive(Debug)]
pub struct Context<'c, P, const TX: usize, const N: usize, const S: usize> {
    pub(super) server: Server<'c, N, S>,
    pub(super) tx: TxBuffer<[u8; TX]>,
    pub(super) port: P,
    pub(super) clock: fn() -> Instant,
}

impl<'c, P: Write, const TX: usize, const N: usize, const S: usize> Context<'c, P, TX, N, S> {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    /// The server, to ask it something.
    pub const fn server(&mut self) -> &mut Server<'c, N, S> {
        &mut self.server
    }

    /// The port. What is written to it directly stands between two messages, or in the middle of
    /// one.
    pub const fn port(&mut self) -> &mut P {
        &mut self.port
    }

    /// Any call of the server that sends: repeated after each drain, until it is through.
    ///
    /// # Errors
    /// The port's, or what the core refuses; after the latter the connection can go on.
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Server<'c, N, S>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, Error<P::Error>> {
        loop {
            match call(&mut self.server, &mut self.tx) {
                Err(error) if error.is_full() => self.drain()?,
                result => return result.map_err(Error::NotSent),
            }
        }
    }

    /// [`Server::publish`], to all subscribers.
    ///
    /// # Errors
    /// See [`send`](Self::send).
    pub fn publish(&mut self, mut change: Change<'_>) -> Result<(), Error<P::Error>> {
        while self.send(|server, tx| server.publish(&mut change, tx))? {}
        Ok(())
    }

    /// Writes everything out. Done at the end of each turn; in the middle of long work it tells the
    /// client sooner.
    ///
    /// # Errors
    /// The port's.
    pub fn drain(&mut self) -> Result<(), Error<P::Error>> {
        drain(&mut self.port, &mut self.tx)
    }
}

/// Writes everything out.
pub(super) fn drain<P: Write>(port: &mut P, tx: &mut Tx<'_>) -> Result<(), Error<P::Error>> {
    if tx.pending().is_empty() {
        return Ok(());
    }
    while !tx.pending().is_empty() {
        match port.write(tx.pending()).map_err(Error::Io)? {
            0 => return Err(Error::WriteZero),
            written => tx.advance(written),
        }
    }
    port.flush().map_err(Error::Io)
}

/// Why a turn failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error<E> {
    /// Reading or writing failed.
    Io(E),
    /// The port takes no more bytes.
    WriteZero,
    /// The input has ended while an answer was waited for.
    ConnectionClosed,
    /// The core refused it and nothing was sent. The connection can go on.
    NotSent(SendError),
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::WriteZero => f.write_str("the port takes no more bytes"),
            Self::ConnectionClosed => f.write_str("the peer has closed the connection"),
            Self::NotSent(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Error<E> {}

/// Whether nothing more will come, however often it is tried.
pub(super) fn is_the_end(error: &impl ::embedded_io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}
