//! A server with async handlers, without an allocator, on any port that implements the traits of
//! [embedded-io-async](::embedded_io_async), under any executor.
//!
//! ```no_run
//! use core::time::Duration;
//!
//! use embedded_io_async::{Read, Write};
//! use mcp_sansio::typed::{AsyncToolHandler, Tools};
//! use mcp_sansio::types::Implementation;
//! use mcp_sansio::*;
//! use mcp_sansio_adapters::embedded_async::{Clock, Connection};
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("kettle", "0.1.0"), ServerFeatures::TOOLS);
//! static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
//!
//! #[derive(Tools)]
//! enum Call {
//!     /// Boils water.
//!     Boil {
//!         #[arg(range = 1..=9)]
//!         cups: u32,
//!     },
//! }
//!
//! struct Kettle<C>(C);
//!
//! impl<C: Clock> AsyncToolHandler for Kettle<C> {
//!     type Tools = Call;
//!     type Output<'a>
//!         = NoOutput
//!     where
//!         C: 'a;
//!
//!     async fn call<'a>(
//!         &'a self,
//!         Call::Boil { cups }: Call,
//!         ctx: ToolContext<'a>,
//!     ) -> ToolResult<'a> {
//!         for cup in 0..cups {
//!             ctx.progress(&Progress::of(cup).total(cups)).await?;
//!             self.0.sleep_until(self.0.now().saturating_add(Duration::from_secs(20))).await;
//!         }
//!         Ok("The water boils".into())
//!     }
//! }
//!
//! async fn serve(rx: impl Read, tx: impl Write, clock: impl Clock + Copy) {
//!     let connection: Connection<'_, _, 1024, 512> =
//!         Connection::new(&CONFIG, Kettle(clock)).catalog(&CATALOG);
//!     let _ = connection.serve(rx, tx, &clock).await;
//! }
//! ```
//!
//! The clock is a thin wrapper of the timer of the executor. For embassy:
//!
//! ```ignore
//! impl Clock for Embassy {
//!     fn now(&self) -> Instant {
//!         Instant::from_millis(embassy_time::Instant::now().as_millis())
//!     }
//!     fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> {
//!         embassy_time::Timer::at(embassy_time::Instant::from_millis(at.as_millis()))
//!     }
//! }
//! ```
//!
//! # Handlers
//!
//! The handler is an [`AsyncToolHandler`], as above; a
//! [`ToolHandler`](mcp_sansio::typed::ToolHandler) in
//! [`SyncTools`](mcp_sansio::typed::SyncTools); or a [`Handler`], for a server that has more than
//! tools.
//!
//! A request is copied out of the receive buffer, so its handler is a future that may take any time
//! and borrow from the request. Up to `N` of them run concurrently, beside ping, cancellation and
//! other messages; a further request waits in the receive buffer until one of them ends. The future
//! returns the [`Handler::Response`], an [`Outcome`] that the connection then
//! sends. **A future never sends its own response**, so it can be dropped at any time. That happens
//! when its request is cancelled or times out
//! ([`ServerConfig::request_timeout`](mcp_sansio::ServerConfig::request_timeout)), and when the
//! connection ends. Clean up in a `Drop`.
//!
//! Messages that a future sends by its [`ToolContext`] leave before its
//! response, as do changes that it has [published](Connection::publish). Input cannot be requested:
//! that needs an allocator.
//!
//! # The port
//!
//! Reading and writing never wait for each other. Input and output pass through 64 bytes of their
//! own, so no read or write is ever dropped before it completes: the futures of the driver need not
//! be cancel safe.
//!
//! A serial line brings more than messages. The connection survives all of this, and the
//! application is notified each time:
//!
//! - **Noise, log lines, half a line after a reset**: rejected with a parse error and
//!   [`ServerEvent::Violation`]. The next line is read as
//!   usual.
//! - **A line longer than the receive buffer**: rejected with its id, if the id is in the part that
//!   is kept. The rest of the line is skipped.
//! - **A read error** (overrun, framing, noise): [`Handler::on_read_error`]. The line with the gap
//!   is rejected whatever it contains, since it could be valid and mean something else. Complete
//!   lines before and after it are handled.
//! - **Half a line, then silence**: the sender was reset or unplugged. The line is ended after
//!   [`Connection::line_timeout`], so that the next peer's first line is not appended to it.
//!
//! A client that never reads blocks all output for as long as a write takes: the timeout of the
//! port (e.g. of a socket) ends [`Connection::serve`] with [`Error::Write`]. Handlers,
//! cancellations and timeouts continue meanwhile as long as they send nothing.
//!
//! A link that changes or loses bytes without an error needs a checksum: [`CheckedReader`] and
//! [`CheckedWriter`] are put around its port, and the other end does the same. It begins with an
//! empty line, as the `serial-bridge` of this library does, so that its first line is not taken for
//! the rest of one that the peer before has left unfinished.
//!
//! # Memory
//!
//! A [`Connection`] contains the core's [`Connection`](mcp_sansio::Connection), which is both
//! buffers and about a kilobyte for four requests in flight, and `N` copies of requests of
//! `REQUEST` bytes each. The longest request fits if `REQUEST` is `RX`, the default; one that does
//! not fit is rejected (-32600). The future of [`Connection::serve`] contains `N` futures of the
//! handler. It is not `Send`, because it shares the connection through `RefCell`s: it stays on one
//! executor.

mod checked;
#[cfg(feature = "embedded-http")]
pub mod http;
mod serve;
mod wire;

pub use checked::{CheckedError, CheckedReader, CheckedWriter};
pub use serve::{Connection, ConnectionEnd};

use core::fmt;
use core::future::Future;

use ::embassy_futures::select::{Either, select};
use ::embedded_io_async::ErrorKind;
use mcp_sansio::internal::typed::checked;
use mcp_sansio::typed::{AsyncToolHandler, CallOf, Tools as _};
use mcp_sansio::{
    Catalog, ErrorCode, Instant, Link, Outcome, Request, RequestHandle, RpcError, SendError,
    Server, ServerEvent, Target, ToolContext, ToolResult, Tx,
};
use wire::until;

// Errors of a connection.

/// An error of a connection. `R` and `W` are the errors of its reader and its writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error<R, W> {
    /// Reading failed permanently.
    Read(R),
    /// Writing failed.
    Write(W),
    /// The writer accepts no more bytes.
    WriteZero,
    /// The connection serves another port already.
    InUse,
}

impl<R: fmt::Display, W: fmt::Display> fmt::Display for Error<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
            Self::WriteZero => f.write_str("the port accepts no more bytes"),
            Self::InUse => f.write_str("a connection serves one port at a time"),
        }
    }
}

impl<R: core::error::Error, W: core::error::Error> core::error::Error for Error<R, W> {}

// The trait that an application implements.

/// Handles requests. An [`AsyncToolHandler`] is one, for a
/// server of tools only; [`SyncTools`](mcp_sansio::typed::SyncTools) makes one of a
/// [`ToolHandler`](mcp_sansio::typed::ToolHandler).
pub trait Handler {
    /// The response to a request, as a value. May borrow from the request.
    type Response<'a>: for<'m> Outcome<Server<'m>>
    where
        Self: 'a;

    /// Handles the request of the context. If the connection has a catalog, list requests, unknown
    /// names and invalid arguments have got their response already, and `target` is the entry of
    /// the catalog.
    ///
    /// The future is dropped when its request is cancelled or times out, or the connection ends.
    fn on_request<'a>(
        &'a self,
        target: Target<'a>,
        ctx: ToolContext<'a>,
    ) -> impl Future<Output = Self::Response<'a>>;

    /// Sees every event before it is handled.
    fn on_event(&self, event: &ServerEvent<'_>) {
        let _ = event;
    }

    /// Called when reading failed. The line with the gap is rejected. A permanent error, and any
    /// over HTTP, ends [`serve`](Connection::serve) with [`Error::Read`] instead.
    fn on_read_error(&self, error: ErrorKind) {
        let _ = error;
    }

    /// Called when the core rejects a response, because its `Serialize` fails or the protocol does
    /// not allow it. The client gets an internal error (-32603).
    fn on_send_error(&self, error: SendError) {
        let _ = error;
    }
}

/// Calls tools. Any other request that the catalog leaves is a method that is not found.
impl<H: AsyncToolHandler> Handler for H {
    type Response<'a>
        = ToolResult<'a, H::Output<'a>>
    where
        Self: 'a;

    async fn on_request<'a>(
        &'a self,
        _: Target<'a>,
        ctx: ToolContext<'a>,
    ) -> ToolResult<'a, H::Output<'a>> {
        let request = ctx.request();
        match CallOf::<'a, H::Tools>::from_request(request) {
            Some(Ok(call)) => checked::<H::Tools, _>(request, self.call(call, ctx).await),
            Some(Err(faults)) => Err(faults.into()),
            None => Err(RpcError::new(ErrorCode::MethodNotFound, "Method not found").into()),
        }
    }
}

/// The time, and waiting for it. A thin wrapper of the timer of the executor.
pub trait Clock {
    /// Returns the time. Must be monotonic; the zero is arbitrary.
    fn now(&self) -> Instant;
    /// Completes at this time or soon after it. May be dropped before.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()>;
}

// The way of a request to its handler, wherever its connection comes from.

/// Where a request is handled.
trait Seat: Link {
    fn is_open(&self, request: RequestHandle) -> bool;

    /// Sends a response, after what waits to be sent before it. Completes without it once the
    /// request is over.
    fn respond(
        &self,
        request: RequestHandle,
        call: &mut dyn FnMut(&mut Server<'_>, &mut Tx<'_>) -> Result<(), SendError>,
    ) -> impl Future<Output = Result<(), SendError>>;
}

/// Handles a request until its response is sent or it is over.
async fn handle<H: Handler>(
    handler: &H,
    catalog: Option<&Catalog<'_>>,
    request: &Request<'_>,
    seat: &impl Seat,
) {
    let handle = request.handle;
    let target = match catalog {
        None => Target::Other,
        Some(catalog) => match catalog.target(request) {
            // It begins even if there is no room for a response.
            Ok(target @ Target::Tool(_)) => target,
            _ => {
                let mut target = Target::Responded;
                let mut respond = |server: &mut Server<'_>, tx: &mut Tx<'_>| {
                    target = catalog.respond(server, request, tx)?;
                    Ok(())
                };
                match (seat.respond(handle, &mut respond).await, target) {
                    (Err(_), _) | (_, Target::Responded) => return,
                    (Ok(()), target) => target,
                }
            }
        },
    };
    let work = handler.on_request(target, ToolContext::new(request, seat));
    let is_over = until(|| (!seat.is_open(handle)).then_some(()));
    let Either::Second(response) = select(is_over, work).await else { return };
    let mut send = |server: &mut Server<'_>, tx: &mut Tx<'_>| response.send(server, handle, tx);
    if let Err(error) = seat.respond(handle, &mut send).await {
        handler.on_send_error(error);
        fail(seat, handle, &RpcError::internal("The response cannot be sent")).await;
    }
}

/// Sends an error in place of a response.
async fn fail(seat: &impl Seat, request: RequestHandle, error: &RpcError<'_>) {
    let mut fail = |server: &mut Server<'_>, tx: &mut Tx<'_>| server.fail(request, error, tx);
    // It is valid.
    let _ = seat.respond(request, &mut fail).await;
}
