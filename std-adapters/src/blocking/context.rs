//! A server and its output. Calls write pending bytes out whenever the buffer is full.

use std::io::Write;

use mcp_sansio::{
    Catalog, Change, Delivery, Encode, Instant, LogMessage, Progress, Request, RequestHandle,
    RpcError, SendError, Server, Target, Turn, Tx,
};

use super::{Error, write_all};
use crate::rounds::Asking;

/// The server and its output, as a handler gets them. [`send`](Self::send) makes any call of the
/// [`Server`]; the most frequent ones have a method. All of them block while the output blocks.
///
/// # Errors
/// All methods fail with [`Error::Io`] if the output does, and with [`Error::NotSent`] if the core
/// rejects the message; the session can continue after the latter.
pub struct Context<'s> {
    pub(super) turn: Turn<'s, Server<'s>>,
    pub(super) output: &'s mut dyn Write,
    pub(super) clock: &'s dyn Fn() -> Instant,
    pub(super) asking: &'s mut Asking,
}

impl<'s> Context<'s> {
    pub(super) fn new(
        turn: Turn<'s, Server<'s>>,
        output: &'s mut dyn Write,
        clock: &'s dyn Fn() -> Instant,
        asking: &'s mut Asking,
    ) -> Self {
        Self { turn, output, clock, asking }
    }

    /// Returns the time since the session started.
    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    /// Returns the server, for its state.
    pub fn server(&mut self) -> &mut Server<'s> {
        self.turn.parts().0
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
        call: impl FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, Error> {
        let Self { turn, output, .. } = self;
        let value = turn.send(|bytes, _| write_all(*output, bytes), call)?;
        self.limit_pending()?;
        Ok(value)
    }

    /// Writes pending bytes out if there are many: one system call for many responses, but no more
    /// than fits into the cache.
    pub(super) fn limit_pending(&mut self) -> Result<(), Error> {
        if self.turn.parts().1.pending_len() >= WRITE_THRESHOLD { self.drain() } else { Ok(()) }
    }

    /// Writes all pending bytes out. This happens before each wait anyway; call it in the middle of
    /// long work so that the client gets them sooner.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn drain(&mut self) -> Result<(), Error> {
        let pending = self.turn.io().0;
        if !pending.is_empty() {
            let written = write_all(self.output, pending)?;
            self.turn.wrote(written);
        }
        Ok(())
    }

    /// Ends a line that a handler has left unfinished by its panic, so that others can write.
    pub(super) fn abort_line(&mut self) -> Result<(), Error> {
        self.send(|server, tx| server.abort_frame(tx))
    }
}

mcp_sansio::opaque_debug!(Context<'_> { turn });

/// Number of pending bytes at which they are written although there is more to read.
const WRITE_THRESHOLD: usize = 64 << 10;
