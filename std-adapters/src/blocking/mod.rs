//! A server on blocking input and output: a process's stdio, a serial port, any
//! [`Read`](std::io::Read) and [`Write`]. The other side is [`client`].
//!
//! ```no_run
//! use mcp_sansio::types::Implementation;
//! use mcp_sansio::{RpcError, ServerFeatures, ServerConfig, ServerEvent};
//! use mcp_sansio_adapters::blocking::{self, Context};
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("nothing", "0.1.0"), ServerFeatures::TOOLS);
//!
//! fn main() -> Result<(), blocking::Error> {
//!     blocking::serve(&CONFIG, |event: ServerEvent<'_>, session: &mut Context<'_, '_>| match event {
//!         ServerEvent::Request(request) => {
//!             session.respond_error(request.handle, &RpcError::internal("not yet"))
//!         }
//!         _ => Ok(()),
//!     })
//! }
//! ```
//!
//! # Connection
//!
//! There is none to set up: the first line may be a modern request, `server/discover`, or
//! `initialize`. Both eras may share the stream.
//!
//! # Framing
//!
//! One JSON-RPC message a line, in UTF-8; `\r\n` ends a line too, and blank lines are skipped. A
//! line longer than [`MAX_LINE`] is refused, noise is answered with a parse error, and the next
//! line is read as if nothing had been. Nothing else is ever written to the output. Reading stands
//! still while the output blocks, so a client must read while it writes, as all SDKs do.
//!
//! # Time and memory
//!
//! Each turn reads at most 64 KiB, handles the lines in it, and then looks at the deadlines, so a
//! client that never pauses does not keep them. A client that reads nothing keeps the session in a
//! write for as long as the output blocks. Over a pipe only that client's own process waits; give a
//! socket a write timeout ([`set_write_timeout`](std::net::TcpStream::set_write_timeout)), which
//! ends the session with [`Error::Io`]. Memory is at most [`MAX_LINE`] (16 MiB) for what comes in,
//! [`MAX_PENDING`] (1 MiB) for what goes out, and six chunks of 64 KiB with [`Threaded`]; `N`
//! requests can be in flight, and `S` URIs subscribed to.
//!
//! # Panics
//!
//! A handler that panics ends the request that it was called with, which is answered with an
//! internal error. The session goes on: [`Handler::on_panic`].
//!
//! # Cancellation
//!
//! By `notifications/cancelled` with the id of the request, in both eras. Deadlines are kept while
//! no input comes.
//!
//! # End
//!
//! The end of the input ends the session: what has been answered is written out, what is still
//! being worked on is dropped, as the specification wants of a server on stdio. A client that stops
//! reading is an end too, and no error.

pub mod client;
mod context;
mod error;
mod input;
mod panics;

pub use context::Context;
pub use error::Error;
#[cfg(unix)]
pub use input::Polled;
pub use input::{Input, Threaded};

use std::io::{self, Write};

use std::time::Duration;

use mcp_sansio::{
    Instant, Messages, RequestHandle, RpcError, RxBuffer, Server, ServerConfig, ServerEvent,
    TxBuffer,
};

use panics::catch;

/// What an application does with the events of a session.
///
/// A closure will do for one that answers at once. One with work that takes time keeps it as jobs:
/// `next_timer` says when the next of them wants to go on, and ping and cancellation are attended to in
/// between.
pub trait Handler<const N: usize = IN_FLIGHT, const S: usize = SUBSCRIPTIONS> {
    /// Something happened.
    ///
    /// # Errors
    /// End the session: what [`Context`]'s calls return, as a rule.
    fn on_event(
        &mut self,
        event: ServerEvent<'_>,
        ctx: &mut Context<'_, '_, N, S>,
    ) -> Result<(), Error>;

    /// [`on_event`](Self::on_event) or [`on_timer`](Self::on_timer) panicked. The panic hook has reported it,
    /// on standard error unless the program has set another; with `panic = "abort"` the process has
    /// ended instead.
    ///
    /// `request` is the request that the event brought: it has been answered with an internal error
    /// (-32603), unless it was answered before. After `on_timer`, and after other events, it is
    /// `None`: the request of the job that failed is for this to answer. `on_timer` is not called
    /// again for [`PANIC_DELAY`]. A panic in here ends the session.
    ///
    /// # Errors
    /// End the session.
    fn on_panic(
        &mut self,
        request: Option<RequestHandle>,
        ctx: &mut Context<'_, '_, N, S>,
    ) -> Result<(), Error> {
        let _ = (request, ctx);
        Ok(())
    }

    /// When [`on_timer`](Self::on_timer) is to be called.
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// The time that [`next_timer`](Self::next_timer) said has come.
    ///
    /// # Errors
    /// End the session.
    fn on_timer(&mut self, ctx: &mut Context<'_, '_, N, S>) -> Result<(), Error> {
        let _ = ctx;
        Ok(())
    }
}

impl<F, const N: usize, const S: usize> Handler<N, S> for F
where
    F: FnMut(ServerEvent<'_>, &mut Context<'_, '_, N, S>) -> Result<(), Error>,
{
    fn on_event(
        &mut self,
        event: ServerEvent<'_>,
        ctx: &mut Context<'_, '_, N, S>,
    ) -> Result<(), Error> {
        self(event, ctx)
    }
}

/// Serves this process's standard input and output until the input ends.
///
/// Nothing else may write to standard output meanwhile. A client that has gone away is an end like
/// any other, no error.
///
/// # Errors
/// Of reading, of writing, or the handler's.
pub fn serve(config: &ServerConfig<'_>, handler: impl Handler) -> Result<(), Error> {
    #[cfg(unix)]
    {
        use std::fs::File;
        use std::os::fd::AsFd;
        // The descriptors themselves: the buffers of `std::io::Stdin` and `Stdout` would hold back
        // what `poll` and the client wait for.
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        serve_on(config, Polled(input), output, handler)
    }
    #[cfg(not(unix))]
    serve_on(config, Threaded::new(io::stdin()), io::stdout(), handler)
}

/// Serves any input and output until the input ends. `N` requests may be in flight, and `S` URIs
/// subscribed to.
///
/// # Errors
/// Of reading, of writing, or the handler's.
pub fn serve_on<const N: usize, const S: usize>(
    config: &ServerConfig<'_>,
    mut input: impl Input,
    mut output: impl Write,
    mut handler: impl Handler<N, S>,
) -> Result<(), Error> {
    let mut server = Box::new(Server::<N, S>::with_table_sizes(config));
    let mut rx = RxBuffer::with_limit(Vec::new(), MAX_LINE);
    let mut tx = TxBuffer::with_limit(Vec::new(), MAX_PENDING);
    let clock = std::time::Instant::now();
    let mut ctx = Context::new(&mut server, &mut tx, &mut output, clock);
    let ended = run(&mut ctx, &mut rx, &mut input, &mut handler);
    ctx.close();
    match ended {
        Err(error) if error.is_closed() => Ok(()),
        ended => ended,
    }
}

fn run<const N: usize, const S: usize>(
    ctx: &mut Context<'_, '_, N, S>,
    rx: &mut RxBuffer<Vec<u8>>,
    input: &mut impl Input,
    handler: &mut impl Handler<N, S>,
) -> Result<(), Error> {
    let mut ended = false;
    // The earliest that `on_timer` may be called.
    let mut wakeable = Instant::from_millis(0);
    loop {
        ctx.tick();
        while let Some(frame) = rx.next_frame() {
            let mut messages = Messages::new(frame);
            while let Some(event) = ctx.next_event(&mut messages)? {
                happened(event, ctx, handler)?;
            }
        }
        while let Some(event) = ctx.handle_timeout()? {
            happened(event, ctx, handler)?;
        }
        if handler.next_timer().is_some_and(|wake| wake.max(wakeable) <= ctx.now()) {
            match catch(|| handler.on_timer(ctx)) {
                Some(done) => done?,
                None => {
                    wakeable = ctx.now().saturating_add(PANIC_DELAY);
                    ctx.broken_off()?;
                    handler.on_panic(None, ctx)?;
                }
            }
        }
        ctx.drain()?;
        if ended {
            return Ok(());
        }
        let due = [ctx.poll_timeout(), handler.next_timer().map(|wake| wake.max(wakeable))]
            .into_iter()
            .flatten()
            .min();
        if let Some(due) = due
            && !input.wait(due.saturating_duration_since(ctx.now()))?
        {
            continue;
        }
        // A turn reads a limited number of bytes, however much room a long line has made, so that
        // deadlines are looked at.
        let spare = rx.spare();
        let most = spare.len().min(MOST_READ);
        let read = match input.read(spare.get_mut(..most).unwrap_or_default()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            // A last line without an end is a line.
            ended = true;
            if let Some(byte) = rx.spare().first_mut() {
                *byte = b'\n';
                rx.commit(1);
            }
        }
        rx.commit(read);
    }
}

/// Hands an event over. A handler that panics ends the request that the event brought, and nothing
/// else.
fn happened<const N: usize, const S: usize>(
    event: ServerEvent<'_>,
    ctx: &mut Context<'_, '_, N, S>,
    handler: &mut impl Handler<N, S>,
) -> Result<(), Error> {
    let request =
        if let ServerEvent::Request(request) = &event { Some(request.handle) } else { None };
    if let Some(done) = catch(|| handler.on_event(event, ctx)) {
        return done;
    }
    ctx.broken_off()?;
    if let Some(request) = request {
        ctx.respond_error(request, &RpcError::internal("The handler panicked"))?;
    }
    handler.on_panic(request, ctx)
}

/// The pause of [`Handler::on_timer`] after it has panicked, so that one that fails each time does not
/// fill the log.
pub const PANIC_DELAY: Duration = Duration::from_secs(1);
/// Bytes that are read in one turn.
const MOST_READ: usize = 64 << 10;
/// The longest line accepted, in bytes. A longer one is refused; memory is taken as lines need it.
pub const MAX_LINE: usize = 16 << 20;
/// The most that is held back for the client, in bytes. A longer answer is written in pieces.
pub const MAX_PENDING: usize = 1 << 20;
/// Requests in flight, unless the type says otherwise.
pub const IN_FLIGHT: usize = 64;
/// Subscribed URIs, unless the type says otherwise.
pub const SUBSCRIPTIONS: usize = 64;
