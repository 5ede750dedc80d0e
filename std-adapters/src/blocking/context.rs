//! A server and its output. Calls write pending bytes out whenever the buffer is full.

use std::fmt;
use std::io::Write;

use mcp_sansio::{
    Catalog, Change, Delivery, Encode, GrowingServerState, Instant, LogMessage, Messages, Progress,
    Request, RequestHandle, RpcError, SendError, Server, ServerConfig, ServerEvent, Target, Tx,
    TxBuffer,
};

use super::{Error, MAX_PENDING};

/// The server and its output, as a handler gets them. [`send`](Self::send) makes any call of the
/// [`Server`]; the most frequent ones have a method. All of them block while the output blocks.
///
/// # Errors
/// All methods fail with [`Error::Io`] if the output does, and with [`Error::NotSent`] if the core
/// rejects the message; the session can continue after the latter.
pub struct Context<'s> {
    memory: &'s mut GrowingServerState,
    config: &'s ServerConfig<'s>,
    tx: &'s mut TxBuffer<Vec<u8>>,
    output: &'s mut dyn Write,
    clock: std::time::Instant,
    /// Time of the last [`tick`](Self::tick): the clock is read once for all lines of one read.
    now: Instant,
}

impl<'s> Context<'s> {
    pub(super) fn new(
        memory: &'s mut GrowingServerState,
        config: &'s ServerConfig<'s>,
        tx: &'s mut TxBuffer<Vec<u8>>,
        output: &'s mut dyn Write,
        clock: std::time::Instant,
    ) -> Self {
        Self { memory, config, tx, output, clock, now: Instant::from_millis(0) }
    }

    /// Returns the time since the session started.
    pub fn now(&self) -> Instant {
        Instant::from_millis(u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns the server, for its state.
    pub fn server(&mut self) -> Server<'_> {
        self.memory.server(self.config)
    }

    /// Sends the response to list requests and unknown names, and returns the entry of the catalog
    /// that any other request is for, see [`Catalog::respond`].
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond_from<'k>(
        &mut self,
        catalog: &Catalog<'k>,
        request: &Request<'_>,
    ) -> Result<Target<'k>, Error> {
        self.send(|server, tx| catalog.respond(server, request, tx))
    }

    /// Sends the result of a request, see [`Server::respond`]. Does nothing if the request is not
    /// open any more.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond<T: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        result: &T,
    ) -> Result<(), Error> {
        self.send(|server, tx| server.respond(request, result, tx))
    }

    /// Sends an error as the response to a request, see [`Server::respond_error`].
    ///
    /// # Errors
    /// See [`Context`].
    pub fn respond_error(
        &mut self,
        request: RequestHandle,
        error: &RpcError<'_>,
    ) -> Result<(), Error> {
        self.send(|server, tx| server.respond_error(request, error, tx))
    }

    /// Sends a progress notification and writes it out at once, see [`Server::progress`].
    ///
    /// # Errors
    /// See [`Context`].
    pub fn progress(
        &mut self,
        request: RequestHandle,
        progress: &Progress<'_>,
    ) -> Result<Delivery, Error> {
        let now = self.now();
        let delivery = self.send(|server, tx| server.progress(now, request, progress, tx))?;
        self.drain()?;
        Ok(delivery)
    }

    /// Sends a log message that belongs to a request, see [`Server::log`].
    ///
    /// # Errors
    /// See [`Context`].
    pub fn log<T: Encode + ?Sized>(
        &mut self,
        request: RequestHandle,
        message: &LogMessage<'_, T>,
    ) -> Result<Delivery, Error> {
        self.send(|server, tx| server.log(request, message, tx))
    }

    /// Notifies all subscribers of a change, see [`Server::publish`].
    ///
    /// # Errors
    /// See [`Context`].
    pub fn publish(&mut self, mut change: Change<'_>) -> Result<(), Error> {
        while self.send(|server, tx| server.publish(&mut change, tx))?.is_more() {}
        Ok(())
    }

    /// Makes any call of the server. Repeats it after writing pending bytes out, as long as the
    /// buffer is full.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, Error> {
        loop {
            match call(&mut self.memory.server(self.config), self.tx) {
                Err(SendError::Full) => self.drain()?,
                Err(error) => return Err(Error::NotSent(error)),
                Ok(value) => {
                    // One system call for many responses, but no more than fits into the cache.
                    if self.tx.pending().len() >= WRITE_THRESHOLD {
                        self.drain()?;
                    }
                    return Ok(value);
                }
            }
        }
    }

    /// Writes all pending bytes out. This happens before each wait anyway; call it in the middle of
    /// long work so that the client gets them sooner.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn drain(&mut self) -> Result<(), Error> {
        if self.tx.pending().is_empty() {
            return Ok(());
        }
        self.output.write_all(self.tx.pending())?;
        self.tx.advance(self.tx.pending().len());
        Ok(self.output.flush()?)
    }

    /// Ends a line that a handler has left unfinished by its panic, so that others can write.
    pub(super) fn end_broken_line(&mut self) -> Result<(), Error> {
        if self.tx.is_mid_frame() {
            self.drain()?;
            self.output.write_all(b"\n")?;
            *self.tx = TxBuffer::with_limit(Vec::new(), MAX_PENDING);
        }
        Ok(())
    }

    /// Reads the clock.
    pub(super) fn tick(&mut self) {
        self.now = self.now();
    }

    pub(super) fn next_event<'f>(
        &mut self,
        messages: &mut Messages<'f>,
    ) -> Result<Option<ServerEvent<'f>>, Error> {
        let now = self.now;
        self.send(|server, tx| server.next_event(now, messages, tx))
    }

    pub(super) fn handle_timeout(&mut self) -> Result<Option<ServerEvent<'static>>, Error> {
        let now = self.now;
        self.send(|server, tx| server.handle_timeout(now, tx))
    }

    pub(super) fn poll_timeout(&mut self) -> Option<Instant> {
        self.server().poll_timeout()
    }

    pub(super) fn close(&mut self) {
        self.server().close();
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Number of pending bytes at which they are written although there is more to read.
const WRITE_THRESHOLD: usize = 64 << 10;
