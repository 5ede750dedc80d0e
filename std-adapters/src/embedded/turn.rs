//! The operations that a handler has while it borrows an event.

use core::convert::Infallible;
use core::{
    cell::{Cell, RefCell},
    task::Waker,
};

use ::embedded_io::{ErrorType, Read, ReadReady, Write};
use mcp_sansio::typed::{AsyncToolHandler, ToolHandler};
use mcp_sansio::{
    Catalog, Change, Instant, Machine, Outcome, Request, RequestHandle, SendError, Server, Target,
    Turn as CoreTurn, Tx,
};

use super::error::Error;
use super::line::Line;

/// All of a [`Port`](super::Port) but the message that an event borrows: the machine, its output,
/// and the driver. `M` is [`Server<'_>`](mcp_sansio::Server) or [`Client<'_>`](mcp_sansio::Client).
///
/// Dropping it leaves the request open. Its response is sent by a later turn
/// ([`Port::turn`](super::Port::turn)), or handed in as an [`Outcome`].
#[derive(Debug)]
pub struct Turn<'p, D: ErrorType, M, O = Infallible> {
    pub(super) turn: CoreTurn<'p, M, O>,
    pub(super) line: &'p mut Line<D>,
}

impl<'p, D, M, O> Turn<'p, D, M, O>
where
    D: Read + ReadReady + Write,
    M: Machine,
    O: Outcome<M>,
{
    /// Returns the time of the step.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.turn.now()
    }

    /// Returns the machine, for its state.
    pub const fn machine(&mut self) -> &mut M {
        self.turn.parts().0
    }

    /// Makes any call of the machine. Repeats it after writing pending bytes, as long as the buffer
    /// is full. What comes meanwhile is read into the free part of the receive buffer.
    ///
    /// # Errors
    /// Errors of writing, and [`Error::NotSent`]. The connection can continue after the latter.
    pub fn send<A>(
        &mut self,
        call: impl FnMut(&mut M, &mut Tx<'_>) -> Result<A, SendError>,
    ) -> Result<A, Error<D::Error>> {
        let line = &mut *self.line;
        self.turn.send(|bytes, spare| line.exchange(bytes, spare), call)
    }

    /// Hands in the outcome of a request, which is sent by the next steps, however long it is.
    ///
    /// # Errors
    /// Returns the outcome if there is no place for it: see
    /// [`Connection::answer`](mcp_sansio::Connection::answer).
    pub fn answer(&mut self, request: RequestHandle, outcome: O) -> Result<(), O> {
        self.turn.answer(request, outcome)
    }

    /// Writes all pending bytes. The next steps do that anyway; call it in the middle of long work
    /// so that the peer gets them sooner.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn drain(&mut self) -> Result<(), Error<D::Error>> {
        let line = &mut *self.line;
        self.turn.drain(|bytes, spare| line.exchange(bytes, spare))?;
        line.flush()
    }
}

impl<'m, D, O> Turn<'_, D, Server<'m>, O>
where
    D: Read + ReadReady + Write,
    O: Outcome<Server<'m>>,
{
    /// Notifies all subscribers of a change: see [`Server::publish`].
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn publish(&mut self, mut change: Change<'_>) -> Result<(), Error<D::Error>> {
        while self.send(|server, tx| server.publish(&mut change, tx))?.is_more() {}
        Ok(())
    }

    /// Calls a tool if the request is a valid call of one, and sends the result; for any other
    /// request it does what [`Catalog::respond`] does. The time of the tool is that of the step.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn call_tool<'c, H: ToolHandler>(
        &mut self,
        catalog: &Catalog<'c>,
        request: &Request<'_>,
        handler: &mut H,
    ) -> Result<Target<'c>, Error<D::Error>> {
        let (now, line) = (self.now(), &mut *self.line);
        let pump = |bytes: &[u8], spare: &mut _| line.exchange(bytes, spare);
        self.turn.call_tool(catalog, request, handler, pump, || now)
    }

    /// As [`call_tool`](Self::call_tool), for tools that take time. Other messages wait meanwhile,
    /// also those that cancel the call; what comes is read only while something is sent.
    ///
    /// The tool is polled without a waker. Whenever it is not ready, `idle` is called, which may
    /// sleep until the next interrupt and returns the time.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn call_async_tool<'c, H: AsyncToolHandler>(
        &mut self,
        catalog: &Catalog<'c>,
        request: &Request<'_>,
        handler: &H,
        mut idle: impl FnMut() -> Instant,
    ) -> Result<Target<'c>, Error<D::Error>> {
        let (line, now) = (RefCell::new(&mut *self.line), Cell::new(self.turn.now()));
        let pump = |bytes: &[u8], spare: &mut _| line.borrow_mut().exchange(bytes, spare);
        let wait = || {
            // An error is found by the next write.
            let _ = line.borrow_mut().flush();
            now.set(idle());
        };
        self.turn.call_async_tool(
            catalog,
            request,
            handler,
            pump,
            || now.get(),
            (Waker::noop(), wait),
        )
    }
}
