//! A server and its output. Calls write pending bytes out whenever the buffer is full.

use std::cell::Cell;
use std::fmt;
use std::future::Future as _;
use std::io::{self, Write};
use std::pin::pin;
use std::task::{self, Poll, Waker};
use std::thread;

use mcp_sansio::internal::typed::{checked, read_found};
use mcp_sansio::typed::{AsyncToolHandler, CallOf, SyncTools, ToolHandler, Tools as _};
use mcp_sansio::types::InputRequest;
use mcp_sansio::{
    Catalog, Change, ClientRequest, Delivery, Encode, Instant, InvalidPayload, Link, LogMessage,
    OrToolError as _, OwnedJson, Progress, Request, RequestHandle, RpcError, SendError, Server,
    ServerEvent, Spare, Target, ToolContext, ToolError, Turn, TurnLink, Tx,
};
use mcp_sansio_engine::internal::AskedInput;

use super::{RequestContext, waker, write_all};
use crate::rounds::{Asking, Round, send_input_required, state_seal};

/// The server and its output, as a handler gets them. [`send`](Self::send) makes any call of the
/// [`Server`]; the most frequent ones have a method. All of them block while the output blocks.
///
/// # Errors
/// All methods fail with [`Error::Io`] if the output does, and with [`Error::NotSent`] if the core
/// rejects the message; the session can continue after the latter.
pub struct Context<'s> {
    pub(super) turn: &'s mut Turn<'s, Server<'s>>,
    pub(super) output: &'s mut dyn Write,
    pub(super) clock: &'s dyn Fn() -> Instant,
    pub(super) asking: &'s mut Asking,
}

impl<'s> Context<'s> {
    pub(super) fn new(
        turn: &'s mut Turn<'s, Server<'s>>,
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

// The trait that an application implements, and the errors of a session.

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
#[non_exhaustive]
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

mcp_sansio::wraps!(Error { Io(io::Error), NotSent(SendError) });

// Calls of tools that are types.

impl RequestContext<'_, '_> {
    /// Calls a tool, if the request is a valid call of one, and sends the result. Responds to
    /// invalid arguments, and does nothing for other requests: see [`target`](Self::target).
    ///
    /// ```no_run
    /// use mcp_sansio::typed::{ToolHandler, Tools};
    /// use mcp_sansio::types::Implementation;
    /// use mcp_sansio::{Catalog, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult};
    /// use mcp_sansio_adapters::blocking::{App, Error};
    ///
    /// static CONFIG: ServerConfig =
    ///     ServerConfig::new(Implementation::new("counter", "0.1.0"), ServerFeatures::TOOLS);
    /// static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
    ///
    /// #[derive(Tools)]
    /// enum Call {
    ///     /// Counts on.
    ///     Count { by: u32 },
    /// }
    ///
    /// struct Counter(u32);
    ///
    /// impl ToolHandler for Counter {
    ///     type Tools = Call;
    ///     type Output<'a> = NoOutput;
    ///
    ///     fn call<'a>(&mut self, Call::Count { by }: Call, _: ToolContext<'a>) -> ToolResult<'a> {
    ///         self.0 = self.0.checked_add(by).ok_or("There are no larger numbers")?;
    ///         Ok(self.0.to_string().into())
    ///     }
    /// }
    ///
    /// fn main() -> Result<(), Error> {
    ///     let mut counter = Counter(0);
    ///     App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| ctx.call_tool(&mut counter))
    /// }
    /// ```
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_tool<H: ToolHandler>(&mut self, handler: &mut H) -> Result<(), Error> {
        self.run_tool(&SyncTools::new(handler), Waker::noop())
    }

    /// Calls a tool that takes time: see [`Context::call_async_tool`].
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_async_tool<H: AsyncToolHandler>(&mut self, handler: &H) -> Result<(), Error> {
        self.run_tool(handler, &wakes_thread())
    }

    fn run_tool<H: AsyncToolHandler>(&mut self, handler: &H, waker: &Waker) -> Result<(), Error> {
        let (request, keys) = (self.request, self.keys);
        let handle = request.handle;
        let mut round = match self.connection.asking.take_round(handle) {
            Some(round) => round,
            None => match Round::of(request, || state_seal(keys, None)) {
                Ok(round) => round,
                Err(why) => return self.respond_error(&RpcError::invalid_params(why)),
            },
        };
        while self.attempt(handler, &round, waker)? {
            if request.revision.is_modern() {
                let finished = round.finish(request, || state_seal(keys, None));
                let Some((missing, state)) = finished else {
                    return self.respond_error(&CANNOT_ASK);
                };
                let sent = self.connection.send(|server, tx| {
                    send_input_required(server, handle, &missing, state.as_deref(), tx)
                });
                return match sent {
                    Err(Error::NotSent(_)) => self.respond_error(&CANNOT_ASK),
                    sent => sent,
                };
            }
            let missing = round.take_missing();
            if missing.is_empty() {
                return self.respond_error(&CANNOT_ASK);
            }
            round = match self.connection.ask(request, round, missing)? {
                Some(next) => next,
                None => return Ok(()),
            };
        }
        self.connection.limit_pending()
    }

    /// Calls a tool once and sends the result. Returns whether it requires input first.
    fn attempt<H: AsyncToolHandler>(
        &mut self,
        handler: &H,
        round: &Round,
        waker: &Waker,
    ) -> Result<bool, Error> {
        let Self { request, target, observed, .. } = *self;
        let Context { turn, output, clock, .. } = &mut *self.connection;
        let pump = |bytes: &[u8], _: &mut Spare<'_>| write_all(&mut **output, bytes);
        let link = TurnLink::new(turn, pump, *clock);
        let found = match &target {
            Target::Tool(tool) => read_found::<CallOf<H::Tools>>(tool, request),
            _ => None,
        };
        let result = match found.or_else(|| CallOf::<H::Tools>::from_request(request)) {
            None => return Ok(false),
            Some(Err(faults)) => Err(ToolError::from(faults)),
            Some(Ok(call)) => {
                let context = ToolContext::<dyn Link>::new(request, &link).inputs(round);
                let mut future = pin!(handler.call(call, context));
                let result = loop {
                    match future.as_mut().poll(&mut task::Context::from_waker(waker)) {
                        Poll::Ready(result) => break result,
                        Poll::Pending => thread::park(),
                    }
                };
                if result.as_ref().is_err_and(ToolError::is_input_required) {
                    return Ok(true);
                }
                checked::<H::Tools, _>(request, result)
            }
        };
        if let (Some(observed), Err(error)) = (observed, &result) {
            observed.failed(error);
        }
        link.respond(request.handle, &result)?;
        Ok(false)
    }
}

impl<'s> Context<'s> {
    /// Calls a tool, if the request is a valid call of one, and sends the result. Responds to
    /// invalid arguments, and does nothing for other requests, which a catalog has responded to or
    /// found the [`Target`](mcp_sansio::Target) of.
    ///
    /// If the tool requests input, other messages are handled until the client has responded. Then
    /// [`Handler::on_event`](super::Handler::on_event) is called with the request once more, for
    /// the next round; a client of 2026-07-28 sends it again itself.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_tool<H: ToolHandler>(
        &mut self,
        request: &Request<'_>,
        handler: &mut H,
    ) -> Result<(), Error> {
        self.about(request).call_tool(handler)
    }

    /// As [`call_tool`](Self::call_tool), for tools that take time. The thread sleeps while the
    /// tool waits for anything but input, and other messages wait meanwhile, also those that cancel
    /// the call.
    ///
    /// # Errors
    /// See [`Context`].
    pub fn call_async_tool<H: AsyncToolHandler>(
        &mut self,
        request: &Request<'_>,
        handler: &H,
    ) -> Result<(), Error> {
        self.about(request).call_async_tool(handler)
    }

    /// Returns the context of a request for which no catalog is known.
    fn about<'r>(&'r mut self, request: &'r Request<'r>) -> RequestContext<'r, 's> {
        RequestContext {
            request,
            target: Target::Other,
            unread: Cell::new(None),
            keys: None,
            observed: None,
            connection: self,
        }
    }

    /// Sends the input requests. Returns the next round at once if none of them can be sent.
    fn ask(
        &mut self,
        request: &Request<'_>,
        round: Round,
        missing: Vec<(String, OwnedJson)>,
    ) -> Result<Option<Round>, Error> {
        let now = self.now();
        let mut inputs = Vec::new();
        for (key, input_request) in missing {
            let sent = match input_request.to::<InputRequest<'_>>() {
                Ok(input_request) => self.send(|server, tx| {
                    let call = ClientRequest::from(&input_request).parent(request.handle);
                    server.request(now, call, tx)
                }),
                Err(_) => Err(SendError::Invalid(InvalidPayload::Serialize).into()),
            };
            let input = match sent {
                Ok(call) => AskedInput::Open(call),
                Err(Error::NotSent(error)) => {
                    let why = format!("Input request cannot be sent: {error}");
                    AskedInput::Done(Err(why).or_input_response())
                }
                Err(error) => return Err(error),
            };
            inputs.push((key, input));
        }
        Ok(self.asking.begin(request, round, inputs))
    }
}

/// The error for a tool that ends as if it required input, or cannot.
const CANNOT_ASK: RpcError<'static> = RpcError::internal("The response cannot be sent");

/// Returns a waker of this thread, which is that of a connection.
fn wakes_thread() -> Waker {
    let thread = thread::current();
    waker(move || thread.unpark())
}
