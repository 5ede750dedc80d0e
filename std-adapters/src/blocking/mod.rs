//! A server on blocking input and output: standard input and output, a serial port, any
//! [`Read`](std::io::Read) and [`Write`]. The client is in [`client`].
//!
//! ```no_run
//! use mcp_sansio::types::Implementation;
//! use mcp_sansio::{RpcError, ServerConfig, ServerEvent, ServerFeatures};
//! use mcp_sansio_adapters::blocking::{self, Context};
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("nothing", "0.1.0"), ServerFeatures::TOOLS);
//!
//! fn main() -> Result<(), blocking::Error> {
//!     blocking::serve(&CONFIG, |event: ServerEvent<'_>, ctx: &mut Context<'_>| match event {
//!         ServerEvent::Request(request) => {
//!             ctx.respond_error(request.handle, &RpcError::internal("Not implemented"))
//!         }
//!         _ => Ok(()),
//!     })
//! }
//! ```
//!
//! A server that only responds to requests is shorter with [`App`].
//!
//! # Connection
//!
//! Nothing has to be set up: the first line may be a modern request, `server/discover`, or
//! `initialize`. Both eras may share the stream.
//!
//! # Framing
//!
//! One JSON-RPC message per line, in UTF-8. `\r\n` ends a line too, and blank lines are skipped. A
//! line longer than [`MAX_LINE`] is rejected, invalid text is answered with a parse error, and the
//! lines after it are read as usual. Nothing but messages is ever written to the output. Reading
//! stops while the output blocks, so a client must read while it writes, as all SDKs do.
//!
//! # Time and memory
//!
//! Each iteration of the loop reads at most 30 KiB, handles the lines in it and then the timeouts,
//! so a client that never pauses cannot suspend them. A client that reads nothing blocks the
//! session in a write. Over a pipe only the process of that client waits. Give a socket a write
//! timeout ([`set_write_timeout`](std::net::TcpStream::set_write_timeout)), which ends the session
//! with [`Error::Io`]. Memory is at most [`MAX_LINE`] (16 MiB) for input, [`MAX_PENDING`] (1 MiB)
//! for output, and four chunks of 64 KiB with [`Threaded`]. [`IN_FLIGHT`] requests can be open and
//! [`SUBSCRIPTIONS`] URIs subscribed to; while so many requests are open, further ones wait unread.
//!
//! # Tasks
//!
//! Tools are executed as calls, also those that may be tasks: do not declare
//! `ServerFeatures::TASKS`. The asynchronous adapters execute them as tasks.
//!
//! # Panics
//!
//! A handler that panics ends the request that it was called with, which gets an internal error as
//! its response. The session continues: see [`Handler::on_panic`].
//!
//! # Cancellation
//!
//! A client cancels a request by `notifications/cancelled` with its id, in both eras. Timeouts are
//! handled while no input comes.
//!
//! # End
//!
//! The end of the input ends the session: responses that exist are written out, requests without
//! one are dropped, as the specification requires of a server on stdio (2025-11-25,
//! basic/lifecycle). A client that stops reading ends the session too, without an error.

mod app;
pub mod client;
mod context;
mod input;
mod memory;
#[cfg(unix)]
mod polled;

pub use crate::rounds::MAX_INPUT_RESPONSES;
pub use app::{App, RequestContext};
pub use context::{Context, Error, Handler};
use input::waker;
pub use input::{Input, Threaded};
pub use memory::Memory;
#[cfg(unix)]
pub use polled::Polled;

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant as StdInstant};

use mcp_sansio::{
    Connection, GrowingServerState, Instant, RpcError, RxBuffer, ServerConfig, ServerEvent, Step,
    TxBuffer,
};
use mcp_sansio_engine::internal::Answered;

use crate::panics::caught;
use crate::rounds::Asking;
use crate::stdio::StandardStreams;
#[cfg(unix)]
use crate::waiting::Waiting;

/// Serves this process's standard input and output until the input ends. If the client closes its
/// end, the function returns without an error.
///
/// Until it returns, also by a panic, standard input is empty for everything else in the process
/// and for its children, and what they write to standard output goes to standard error: a
/// `println!` cannot break the stream. On Windows that is not so for code in C, whose runtime keeps
/// the handles with which the program began.
///
/// # Errors
/// Errors of reading and of writing, and those that the handler returns;
/// [`ResourceBusy`](io::ErrorKind::ResourceBusy) if the process serves them already.
pub fn serve(config: &ServerConfig<'_>, mut handler: impl Handler) -> Result<(), Error> {
    serve_stdio(config, &mut handler)
}

fn serve_stdio(config: &ServerConfig<'_>, handler: &mut impl Handler) -> Result<(), Error> {
    let streams = StandardStreams::take()?;
    #[cfg(unix)]
    let (input, output) = (Polled::new(&streams.input), Waiting(&streams.output));
    #[cfg(not(unix))]
    let (input, output) = (Threaded::new(streams.input.try_clone()?), &streams.output);
    run(config, input, output, handler)
}

/// Serves any input and output until the input ends.
///
/// # Errors
/// As [`serve`].
pub fn serve_on(
    config: &ServerConfig<'_>,
    input: impl Input,
    output: impl Write,
    mut handler: impl Handler,
) -> Result<(), Error> {
    run(config, input, output, &mut handler)
}

fn run(
    config: &ServerConfig<'_>,
    input: impl Input,
    output: impl Write,
    handler: &mut impl Handler,
) -> Result<(), Error> {
    match run_until_end(config, input, output, handler) {
        // The client has closed its end.
        Err(Error::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

fn run_until_end(
    config: &ServerConfig<'_>,
    mut input: impl Input,
    mut output: impl Write,
    handler: &mut impl Handler,
) -> Result<(), Error> {
    let mut connection: Connection<'_, _, _, _> = Connection::new(
        config,
        GrowingServerState::new(IN_FLIGHT, SUBSCRIPTIONS),
        RxBuffer::with_limit(vec![0; INPUT], MAX_LINE),
        TxBuffer::with_limit(Vec::new(), MAX_PENDING),
    );
    let begun = StdInstant::now();
    let clock =
        || Instant::from_millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
    // The clock is read once for all lines of one read.
    let mut now = clock();
    // Whether the lines of the last read have not all been handled, and the timer after them.
    let mut is_fresh = true;
    // Earliest time at which `on_timer` may be called.
    let mut timer_not_before = now;
    let mut is_ended = false;
    let mut asking = Asking::default();
    handler.on_start(&mut || {
        // It waits for input or, while no more fits, for its handler.
        let (input, server) = (input.waker()?, thread::current());
        Ok(waker(move || {
            input.wake_by_ref();
            server.unpark();
        }))
    })?;
    loop {
        let mut step = if is_fresh { connection.catch_up(now) } else { connection.next(now) };
        let (write, mut read, until) = match step {
            Step::Event(ref event, ref mut turn) => {
                let mut ctx = Context::new(turn, &mut output, &clock, &mut asking);
                handle_event(event, &mut ctx, handler)?;
                continue;
            }
            Step::Again => continue,
            Step::Io { write, read, until } => (write, read, until),
            Step::Closed => return Ok(()),
        };
        let timer = handler.next_timer().map(|due| due.max(timer_not_before));
        let due = until.into_iter().chain(timer).min();
        if std::mem::take(&mut is_fresh) && due.is_some_and(|due| due <= now) {
            if timer.is_some_and(|due| due <= now) {
                let mut turn = connection.turn(now);
                let mut ctx = Context::new(&mut turn, &mut output, &clock, &mut asking);
                timer_not_before = call_timer(&mut ctx, handler)?;
            }
            continue;
        }
        if !write.is_empty() {
            let written = write_all(&mut output, write)?;
            connection.wrote(written);
            continue;
        }
        let left = due.map(|due| due.saturating_duration_since(clock()));
        // Limited although a long line may have grown the buffer, so that timeouts are handled.
        let most = read.spare().len().min(MAX_READ);
        let spare = read.spare().get_mut(..most).unwrap_or_default();
        if is_ended {
            // Nothing would send the responses that are missing.
            return Ok(());
        } else if spare.is_empty() {
            // The table is full and so is the buffer: only the handler can end a request.
            match left {
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
        } else if input.wait(left)? {
            match input.read(spare) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) => {
                    is_ended = true;
                    connection.end_of_input();
                }
                n => read.commit(n?),
            }
        }
        (now, is_fresh) = (clock(), true);
    }
}

/// Passes an event to the handler. If the handler panics, the request of the event gets an internal
/// error; nothing else ends.
fn handle_event(
    event: &ServerEvent<'_>,
    ctx: &mut Context<'_>,
    handler: &mut impl Handler,
) -> Result<(), Error> {
    match event {
        ServerEvent::CallFinished { call, outcome } => match ctx.asking.finish(*call, outcome) {
            Answered::Other => {}
            Answered::Waiting => return Ok(()),
            Answered::Again(request) => {
                let again = ServerEvent::Request(request.as_request());
                return handle_event(&again, ctx, handler);
            }
        },
        ServerEvent::RequestCancelled { request, .. }
        | ServerEvent::RequestTimedOut { request } => ctx.asking.remove(*request),
        _ => {}
    }
    let request =
        if let ServerEvent::Request(request) = event { Some(request.handle) } else { None };
    if let Ok(done) = caught(|| handler.on_event(*event, ctx)) {
        return done;
    }
    ctx.abort_line()?;
    if let Some(request) = request {
        ctx.respond_error(request, &RpcError::internal("The handler panicked"))?;
    }
    handler.on_panic(request, ctx)
}

/// Calls the timer of the handler. Returns the earliest time at which it may be called again.
fn call_timer(ctx: &mut Context<'_>, handler: &mut impl Handler) -> Result<Instant, Error> {
    match caught(|| handler.on_timer(ctx)) {
        Ok(done) => done.map(|()| Instant::from_millis(0)),
        Err(_) => {
            ctx.abort_line()?;
            handler.on_panic(None, ctx)?;
            Ok(ctx.now().saturating_add(PANIC_DELAY))
        }
    }
}

fn write_all(output: &mut (impl Write + ?Sized), bytes: &[u8]) -> Result<usize, Error> {
    output.write_all(bytes)?;
    output.flush()?;
    Ok(bytes.len())
}

/// Pause of [`Handler::on_timer`] after it has panicked, so that a handler that always panics does
/// not fill the log.
pub const PANIC_DELAY: Duration = Duration::from_secs(1);
/// Initial size of the input buffer, in bytes.
const INPUT: usize = 64 << 10;
/// Maximum number of bytes per read: less than half of the buffer, together with the beginning of a
/// line before it, so that lines are seldom moved while they are handled.
const MAX_READ: usize = 30 << 10;
/// Maximum length of a line, in bytes. Longer ones are rejected. Memory is allocated as lines need
/// it.
pub const MAX_LINE: usize = 16 << 20;
/// Maximum number of bytes buffered for the client. Longer messages are written in pieces.
pub const MAX_PENDING: usize = 1 << 20;
/// Maximum number of requests in flight. Memory is allocated as they need it, about 200 bytes
/// each.
pub const IN_FLIGHT: u16 = 1024;
/// Maximum number of subscribed URIs, 8 bytes each.
pub const SUBSCRIPTIONS: usize = 64;
