//! A server with async handlers, without an allocator, on any port that implements the traits of
//! [embedded-io-async](::embedded_io_async), under any executor.
//!
//! ```no_run
//! use core::future::Future;
//! use core::time::Duration;
//!
//! use embedded_io_async::{Read, Write};
//! use mcp_sansio::typed::Tools;
//! use mcp_sansio::types::Implementation;
//! use mcp_sansio::*;
//! use mcp_sansio_adapters::embedded_async::{
//!     Action, Clock, Connection, Context, Handler,
//! };
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("kettle", "0.1.0"), ServerFeatures::TOOLS);
//! static CATALOG: Catalog = Catalog::new().calls::<Call>();
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
//! impl<C: Clock> Handler for Kettle<C> {
//!     type Job = Call; // kept of a request
//!     type Response<'f> = ToolResult<'f>;
//!
//!     fn on_request<'f>(
//!         &self,
//!         request: &Request<'f>,
//!         _: Target<'f>,
//!     ) -> Action<Call, ToolResult<'f>> {
//!         Action::of_tool(request)
//!     }
//!
//!     async fn run(&self, Call::Boil { cups }: Call, ctx: Context<'_>) -> ToolResult<'static> {
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
//! [`Handler::on_request`] gets a request while its line is in the receive buffer. It responds at
//! once, or keeps what it needs as a [`Handler::Job`]. [`Handler::run`] is a future that may take
//! any time; up to `N` of them run concurrently, beside ping, cancellation and other messages. A
//! further request waits in the receive buffer until one of them ends. The future returns the
//! [`Handler::Response`], an [`Outcome`](mcp_sansio::Outcome) that the connection then sends. **A
//! future never sends its own response**, so it can be dropped at any time. That happens when its
//! request is cancelled or times out
//! ([`ServerConfig::request_timeout`](mcp_sansio::ServerConfig::request_timeout)), and when the
//! connection ends. Clean up in a `Drop`.
//!
//! Notifications leave before the response: progress and log messages that the future has awaited,
//! and changes that it has published.
//!
//! The `ToolHandler` and `AsyncToolHandler` of the core are not served here: their results borrow
//! from the request, and here its line is gone before the future runs. Read the call of an enum of
//! tools in [`Handler::on_request`] (`Tools::from_request`), and keep what the job needs of it.
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
//!   [`ServerEvent::Violation`](mcp_sansio::ServerEvent::Violation). The next line is read as
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
//! cancellations and timeouts continue meanwhile as long as they send nothing; while a response
//! that borrows from its request waits, or a list, only handlers do.
//!
//! # Memory
//!
//! A [`Connection`] contains the core's [`Connection`](mcp_sansio::Connection), which is both
//! buffers and about a kilobyte for four requests in flight, a [`Handler::Job`], and `N`
//! [responses](Handler::Response) that wait for room. The future of [`Connection::serve`] contains
//! `N` futures of the handler. It is not `Send`, because it shares the connection through
//! `RefCell`s: it stays on one executor.

mod chunk;
mod connection;
mod error;
mod handler;
mod io;
mod serve;

pub use connection::Connection;
pub use error::Error;
pub use handler::{Action, Clock, Context, Handler};
pub use serve::ConnectionEnd;
