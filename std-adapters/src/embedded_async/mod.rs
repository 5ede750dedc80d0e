//! A server with async handlers, without an allocator, on any port that implements the traits of
//! [embedded-io-async](::embedded_io_async), under any executor.
//!
//! ```no_run
//! use core::future::Future;
//! use core::time::Duration;
//!
//! use embedded_io_async::{Read, Write};
//! use mcp_sansio::types::{Implementation, TextResult, Tool};
//! use mcp_sansio::*;
//! use mcp_sansio_adapters::embedded_async::{Response, Action, Clock, Context, Handler, Connection};
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("kettle", "0.1.0"), ServerFeatures::TOOLS);
//! static CATALOG: Catalog = Catalog::new().tools(&[Tool::new(
//!     "boil",
//!     RawJson::from_static(
//!         r#"{"type":"object","properties":{"cups":{"type":"integer"}},"required":["cups"]}"#,
//!     ),
//! )]);
//!
//! struct Kettle<C>(C);
//! struct Boil {
//!     cups: u32,
//! } // what is kept of a request
//! struct Said(&'static str); // what it is answered with
//!
//! impl<C: Clock, const N: usize, const S: usize> Handler<N, S> for Kettle<C> {
//!     type Job = Boil;
//!     type Response<'f> = Said;
//!
//!     fn on_request(&self, request: &Request<'_>, _: Target<'_>) -> Action<Boil, Said> {
//!         match request.arguments().get("cups").and_then(|cups| cups.to().ok()) {
//!             Some(cups @ 1..=9) => Action::Run(Boil { cups }),
//!             _ => Action::Respond(Said("cups must be 1 to 9")),
//!         }
//!     }
//!
//!     async fn run(&self, job: Boil, ctx: Context<'_>) -> Said {
//!         for cup in 0..job.cups {
//!             ctx.progress(&Progress::of(cup).total(job.cups)).await;
//!             self.0.sleep_until(self.0.now().saturating_add(Duration::from_secs(20))).await;
//!         }
//!         Said("It boils")
//!     }
//! }
//!
//! impl<const N: usize, const S: usize> Response<N, S> for Said {
//!     fn send(
//!         &mut self,
//!         server: &mut Server<'_, N, S>,
//!         request: RequestHandle,
//!         tx: &mut Tx<'_>,
//!     ) -> Result<(), SendError> {
//!         server.respond(request, &TextResult::new(self.0), tx)
//!     }
//! }
//!
//! async fn serve(rx: impl Read, tx: impl Write, clock: impl Clock + Copy) {
//!     let connection: Connection<'_, _, 1024, 512> = Connection::new(&CONFIG, Kettle(clock)).catalog(&CATALOG);
//!     let _ = connection.serve(rx, tx, &clock).await;
//! }
//! ```
//!
//! The clock is six lines around the executor's own; for embassy:
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
//! [`Handler::on_request`] looks at a request while its line is in the receive buffer. It answers at
//! once, or keeps what it needs: the [`Handler::Job`]. [`Handler::run`] is a future, and takes as
//! long as it likes; up to `N` of them run beside each other, and beside ping, cancellation and
//! everything else. It returns the [`Handler::Response`], which the connection then sends. **A future never
//! sends its own answer**, so it may be dropped at any time, and it is: when its request is
//! cancelled, when it expires
//! ([`ServerConfig::request_timeout`](mcp_sansio::ServerConfig::request_timeout)), when the
//! connection ends. What must be tidied up belongs into a `Drop`.
//!
//! # The port
//!
//! Reading and writing never wait for each other. What goes in and out passes through 64 bytes of
//! the future's own, so no read or write is ever given up half done: the driver's futures need not
//! be safe to cancel.
//!
//! What a serial line brings beside messages is survived, and each time the application is told:
//!
//! - **Noise, log lines, half a line after a reset**: refused with a parse error,
//!   [`ServerEvent::Violation`](mcp_sansio::ServerEvent::Violation); the next line is read as if
//!   nothing had been.
//! - **A line longer than the receive buffer**: refused with its id, where that is in what is kept
//!   of it; the rest of it is skipped.
//! - **A read error** (overrun, framing, noise): [`Handler::on_read_error`]. Bytes are missing, so the line
//!   that they are missing from is refused whatever it looks like; it could be valid and mean
//!   something else. Lines that were whole before and after it are served.
//! - **Half a line, then silence**: the sender was reset or unplugged. After [`Connection::line_timeout`]
//!   the line is ended where it is, so that the first line of the next peer is not glued to it.
//!
//! A client that never reads holds up its own answers, and the connection with them, for as long as a
//! write takes: the port's own time limit (that of a socket, for example) ends [`Connection::serve`] with
//! [`Error::Write`]. Handlers, cancellations and their deadlines go on meanwhile as far as nothing
//! is to be sent.
//!
//! # Memory
//!
//! A [`Connection`] holds both buffers and the core's [`Server`](mcp_sansio::Server), about a kilobyte
//! for four requests in flight. The future of [`Connection::serve`] holds `N` of the handler's
//! futures and two chunks of 64 bytes. Neither is `Send`: they stay on one executor, as a `RefCell`
//! does.

mod connection;
mod error;
mod handler;
mod io;
mod read_buffer;
mod serve;

pub use connection::Connection;
pub use error::Error;
pub use handler::{Action, Clock, Context, Handler, Response};
pub use serve::ConnectionEnd;
