//! The trait that an application implements, and the errors of a session.

use std::task::Waker;
use std::{fmt, io};

use mcp_sansio::{Instant, RequestHandle, SendError, ServerEvent};

use super::Context;

/// Handles the events of a server. Implemented by closures that take the event and the [`Context`].
///
/// An application with work that takes time keeps that work as jobs and does a step of them in
/// [`on_timer`](Self::on_timer); ping and cancellation are handled between two steps.
pub trait Handler {
    /// Called once, before the first event. A handler that other threads have work for keeps the
    /// waker that the function returns: when it is woken, the server calls
    /// [`next_timer`](Self::next_timer) again. A server in [memory](super::Memory) does that
    /// whenever its client waits.
    ///
    /// # Errors
    /// An error ends the session. `waker` returns that of [`Input::waker`](super::Input::waker).
    fn on_start(&mut self, waker: &mut dyn FnMut() -> io::Result<Waker>) -> Result<(), Error> {
        let _ = waker;
        Ok(())
    }

    /// Handles an event.
    ///
    /// # Errors
    /// An error ends the session. Usually that of a call of the [`Context`].
    fn on_event(&mut self, event: ServerEvent<'_>, ctx: &mut Context<'_>) -> Result<(), Error>;

    /// Called after [`on_event`](Self::on_event) or [`on_timer`](Self::on_timer) has panicked. The
    /// panic hook has reported the panic, on standard error unless the program has set another
    /// hook. With `panic = "abort"` the process has ended instead.
    ///
    /// `request` is the request of the event. It has got an internal error (-32603) as its
    /// response, unless it had a response before. It is `None` after `on_timer` and after other
    /// events: then this function responds to the request of the job that failed. `on_timer` is
    /// not called again for [`PANIC_DELAY`](super::PANIC_DELAY). A panic in this function ends the
    /// session.
    ///
    /// # Errors
    /// An error ends the session.
    fn on_panic(
        &mut self,
        request: Option<RequestHandle>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        let _ = (request, ctx);
        Ok(())
    }

    /// Returns when [`on_timer`](Self::on_timer) is to be called.
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// Called once the time of [`next_timer`](Self::next_timer) has come.
    ///
    /// # Errors
    /// An error ends the session.
    fn on_timer(&mut self, ctx: &mut Context<'_>) -> Result<(), Error> {
        let _ = ctx;
        Ok(())
    }
}

impl<F> Handler for F
where
    F: FnMut(ServerEvent<'_>, &mut Context<'_>) -> Result<(), Error>,
{
    fn on_event(&mut self, event: ServerEvent<'_>, ctx: &mut Context<'_>) -> Result<(), Error> {
        self(event, ctx)
    }
}

/// An error of a server on blocking input and output.
pub enum Error {
    /// Reading or writing failed.
    Io(io::Error),
    /// The core rejected the message and nothing was sent: the protocol does not allow it now, a
    /// table is full, or the value cannot be serialized. The session can continue; a handler that
    /// returns this error ends it.
    NotSent(SendError),
    /// The arguments of a call are invalid. An [`App`](super::App) whose function returns this
    /// refuses the call, and the session continues.
    InvalidArguments,
}

impl Error {
    /// Returns whether the client has closed its end.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::NotSent(error) => error.fmt(f),
            Self::InvalidArguments => f.write_str("The arguments are invalid"),
        }
    }
}

mcp_sansio::error_type!(Error, |error| match error {
    Error::Io(error) => Some(error),
    Error::NotSent(error) => Some(error),
    Error::InvalidArguments => None,
});

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SendError> for Error {
    fn from(error: SendError) -> Self {
        Self::NotSent(error)
    }
}
