//! The handler trait, the context that handlers get, and errors.

use core::fmt;

use ::embedded_io::{ErrorKind, Write};
use mcp_sansio::{
    Change, Instant, SendError, Server, ServerConfig, ServerEvent, ServerState, Tx, TxBuffer,
};

/// Handles the events of a [`Connection`](super::Connection). Implemented by closures that take the
/// event and the [`Context`].
pub trait Handler<P: Write, const TX: usize, const N: usize, const S: usize> {
    /// Handles an event.
    ///
    /// # Errors
    /// An error ends [`poll`](super::Connection::poll). Usually that of a call of the context.
    fn on_event(
        &mut self,
        event: ServerEvent<'_>,
        ctx: &mut Context<'_, P, TX, N, S>,
    ) -> Result<(), Error<P::Error>>;

    /// Called once in each [`poll`](super::Connection::poll), between two lines. Does a step of
    /// long work and returns whether anything was done.
    ///
    /// # Errors
    /// An error ends [`poll`](super::Connection::poll).
    fn on_poll(&mut self, ctx: &mut Context<'_, P, TX, N, S>) -> Result<bool, Error<P::Error>> {
        let _ = ctx;
        Ok(false)
    }

    /// Called when reading failed. The line with the gap is rejected. The default ignores all
    /// errors but those that end the connection.
    ///
    /// # Errors
    /// An error ends [`poll`](super::Connection::poll). Return the error if the port cannot
    /// recover.
    fn on_read_error(
        &mut self,
        error: P::Error,
        ctx: &mut Context<'_, P, TX, N, S>,
    ) -> Result<(), Error<P::Error>> {
        let _ = ctx;
        if is_closed(&error) { Err(Error::Io(error)) } else { Ok(()) }
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

/// The server and its port.
#[derive(Debug)]
pub struct Context<'c, P, const TX: usize, const N: usize, const S: usize> {
    pub(super) memory: ServerState<N, S>,
    pub(super) config: &'c ServerConfig<'c>,
    pub(super) tx: TxBuffer<[u8; TX]>,
    pub(super) port: P,
    pub(super) clock: fn() -> Instant,
}

impl<'c, P: Write, const TX: usize, const N: usize, const S: usize> Context<'c, P, TX, N, S> {
    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    /// Returns the server, for its state.
    pub fn server(&mut self) -> Server<'_> {
        self.memory.server(self.config)
    }

    /// Returns the port. Bytes that are written to it directly may come in the middle of a message.
    pub const fn port(&mut self) -> &mut P {
        &mut self.port
    }

    /// Makes any call of the server. Repeats it after writing pending bytes out, as long as the
    /// buffer is full.
    ///
    /// # Errors
    /// Errors of the port, and [`Error::NotSent`]. The connection can continue after the latter.
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, Error<P::Error>> {
        loop {
            match call(&mut self.memory.server(self.config), &mut self.tx) {
                Err(SendError::Full) => self.drain()?,
                result => return result.map_err(Error::NotSent),
            }
        }
    }

    /// Notifies all subscribers of a change, see [`Server::publish`].
    ///
    /// # Errors
    /// See [`send`](Self::send).
    pub fn publish(&mut self, mut change: Change<'_>) -> Result<(), Error<P::Error>> {
        while self.send(|server, tx| server.publish(&mut change, tx))?.is_more() {}
        Ok(())
    }

    /// Writes all pending bytes out. This happens at the end of each
    /// [`poll`](super::Connection::poll) anyway; call it in the middle of long work so that the
    /// client gets them sooner.
    ///
    /// # Errors
    /// Errors of the port.
    pub fn drain(&mut self) -> Result<(), Error<P::Error>> {
        drain(&mut self.port, &mut self.tx)
    }
}

/// Writes all pending bytes out.
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

/// An error of a connection on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error<E> {
    /// Reading or writing failed.
    Io(E),
    /// The port accepts no more bytes.
    WriteZero,
    /// The input ended while a call was waiting.
    ConnectionClosed,
    /// The core rejected the message and nothing was sent. The connection can continue.
    NotSent(SendError),
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::WriteZero => f.write_str("the port accepts no more bytes"),
            Self::ConnectionClosed => f.write_str("the peer has closed the connection"),
            Self::NotSent(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Error<E> {}

/// Returns whether an error is permanent: further reads would fail too.
pub(super) fn is_closed(error: &impl ::embedded_io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}
