//! A server on a serial line ([`Connection`]), a client on one ([`Client`]), or either on any port that
//! implements the traits of [embedded-io](::embedded_io). Without an allocator and without
//! blocking: what a firmware's main loop calls again and again.
//!
//! ```no_run
//! use embedded_io::{Read, ReadReady, Write};
//! use mcp_sansio::types::{Implementation, TextResult, Tool};
//! use mcp_sansio::{
//!     Catalog, Instant, RawJson, ServerFeatures, ServerConfig, ServerEvent, Target,
//! };
//! use mcp_sansio_adapters::embedded::{Error, Connection, Context, PollResult};
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("lamp", "1.0.0"), ServerFeatures::TOOLS)
//!         .peer_can_reconnect(true);
//! static CATALOG: Catalog = Catalog::new().tools(&[Tool::new(
//!     "lamp",
//!     RawJson::from_static(
//!         r#"{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}"#,
//!     ),
//! )
//! .description("Switches the lamp on or off")]);
//!
//! fn serve<U: Read + ReadReady + Write>(
//!     uart: U,
//!     clock: fn() -> Instant,
//!     sleep: fn(),
//!     lamp: fn(bool),
//! ) -> Result<(), Error<U::Error>> {
//!     let mut connection: Connection<'_, U, 1024, 512> = Connection::new(uart, &CONFIG, clock);
//!     let mut handler = |event: ServerEvent<'_>, ctx: &mut Context<'_, U, 512, 4, 4>| {
//!         let ServerEvent::Request(request) = event else { return Ok(()) };
//!         let target = ctx.send(|server, tx| CATALOG.respond(server, &request, tx))?;
//!         let Target::Tool(_) = target else { return Ok(()) };
//!         let result = match request.arguments().get("on").and_then(RawJson::as_bool) {
//!             Some(on) => {
//!                 lamp(on);
//!                 TextResult::new(if on { "The lamp is on" } else { "The lamp is off" })
//!             }
//!             None => TextResult::error("on must be true or false"),
//!         };
//!         ctx.send(|server, tx| server.respond(request.handle, &result, tx))
//!     };
//!     loop {
//!         match connection.poll(&mut handler)? {
//!             PollResult::Active => {}
//!             PollResult::Idle => sleep(), // until bytes come, or until `connection.poll_timeout()`
//!             PollResult::Closed => return Ok(()),
//!         }
//!     }
//! }
//! ```
//!
//! # A line is not a pipe
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
//! - **A peer that starts again** says so with `initialize`, or by using ids that are in use: see
//!   [`ServerConfig::peer_can_reconnect`](mcp_sansio::ServerConfig::peer_can_reconnect).
//!
//! A peer that never pauses gets one line a turn, and deadlines are looked at in each. A panic of
//! the handler, where panics unwind, leaves [`Connection::poll`] with the message half handled and the
//! connection usable; whether to go on is the caller's decision.
//!
//! Output blocks, as [`Write`](::embedded_io::Write) does: against a peer that never reads, the
//! driver's own time limit ends the turn, with [`Error::Io`]. What was not written stays, and the
//! next turn goes on with it. While a long answer is written nothing is read, so the driver needs
//! room for what a client sends meanwhile: a ring buffer that its interrupt fills, or flow control.

mod client;
mod connection;
mod context;

pub use client::{Client, ClientContext, ClientHandler};
pub use connection::{Connection, PollResult};
pub use context::{Context, Error, Handler};
