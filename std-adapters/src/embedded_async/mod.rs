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
//! use mcp_sansio_adapters::embedded_async::{Answer, Begun, Clock, Context, Handler, Link};
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
//!     type Answer<'f> = Said;
//!
//!     fn begin(&self, request: &Request<'_>, _: Target<'_>) -> Begun<Boil, Said> {
//!         match request.arguments().get("cups").and_then(|cups| cups.to().ok()) {
//!             Some(cups @ 1..=9) => Begun::Job(Boil { cups }),
//!             _ => Begun::Answer(Said("cups must be 1 to 9")),
//!         }
//!     }
//!
//!     async fn work(&self, job: Boil, ctx: Context<'_>) -> Said {
//!         for cup in 0..job.cups {
//!             ctx.progress(&Progress::of(cup).total(job.cups)).await;
//!             self.0.until(self.0.now().saturating_add(Duration::from_secs(20))).await;
//!         }
//!         Said("It boils")
//!     }
//! }
//!
//! impl<const N: usize, const S: usize> Answer<N, S> for Said {
//!     fn send(
//!         &mut self,
//!         server: &mut Server<'_, N, S>,
//!         request: RequestHandle,
//!         tx: &mut Tx<'_>,
//!     ) -> Result<Delivery, SendError> {
//!         server.respond(request, &TextResult::new(self.0), tx)
//!     }
//! }
//!
//! async fn serve(rx: impl Read, tx: impl Write, clock: impl Clock + Copy) {
//!     let link: Link<'_, _, 1024, 512> = Link::new(&CONFIG, Kettle(clock)).catalog(&CATALOG);
//!     let _ = link.serve(rx, tx, &clock).await;
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
//!     fn until(&self, at: Instant) -> impl Future<Output = ()> {
//!         embassy_time::Timer::at(embassy_time::Instant::from_millis(at.as_millis()))
//!     }
//! }
//! ```
//!
//! # Handlers
//!
//! [`Handler::begin`] looks at a request while its line is in the receive buffer. It answers at
//! once, or keeps what it needs: the [`Handler::Job`]. [`Handler::work`] is a future, and takes as
//! long as it likes; up to `N` of them run beside each other, and beside ping, cancellation and
//! everything else. It returns the [`Handler::Answer`], which the link then sends. **A future never
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
//! - **A read error** (overrun, framing, noise): [`Handler::fault`]. Bytes are missing, so the line
//!   that they are missing from is refused whatever it looks like; it could be valid and mean
//!   something else. Lines that were whole before and after it are served.
//! - **Half a line, then silence**: the sender was reset or unplugged. After [`Link::line_timeout`]
//!   the line is ended where it is, so that the first line of the next peer is not glued to it.
//!
//! A client that never reads holds up its own answers, and the link with them, for as long as a
//! write takes: the port's own time limit (that of a socket, for example) ends [`Link::serve`] with
//! [`Error::Write`]. Handlers, cancellations and their deadlines go on meanwhile as far as nothing
//! is to be sent.
//!
//! # Memory
//!
//! A [`Link`] holds both buffers and the core's [`Server`](mcp_sansio::Server), about a kilobyte
//! for four requests in flight. The future of [`Link::serve`] holds `N` of the handler's
//! futures and two chunks of 64 bytes. Neither is `Send`: they stay on one executor, as a `RefCell`
//! does.

mod error;
mod handler;
mod inbox;
mod link;
mod port;
mod serve;

pub use error::Error;
pub use handler::{Answer, Begun, Clock, Context, Handler};
pub use link::Link;
pub use serve::End;
