//! A server ([`Connection`]) and a client ([`Client`]) on a serial line, or on any port that
//! implements the traits of [embedded-io](::embedded_io). Without an allocator; the main loop of a
//! firmware calls them again and again.
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
//!             // Until bytes come, or until `connection.poll_timeout()`.
//!             PollResult::Idle => sleep(),
//!             PollResult::Closed => return Ok(()),
//!         }
//!     }
//! }
//! ```
//!
//! # Serial lines
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
//! - **A peer that starts again**: detected by `initialize`, or by ids that are in use. See
//!   [`ServerConfig::peer_can_reconnect`](mcp_sansio::ServerConfig::peer_can_reconnect).
//!
//! Each [`Connection::poll`] handles one line and then the timeouts, also if the peer never pauses.
//! After a panic of the handler, where panics unwind, the message is half handled and the
//! connection can be used; the caller decides whether to continue.
//!
//! Output blocks, as [`Write`](::embedded_io::Write) does. If the peer never reads, the timeout of
//! the driver ends the call with [`Error::Io`]; pending bytes stay, and the next call continues
//! with them. Nothing is read while a long response is written, so the driver needs room for the
//! bytes that come meanwhile: a ring buffer that its interrupt fills, or flow control.

mod client;
mod connection;
mod context;

pub use client::{Client, ClientContext, ClientHandler};
pub use connection::{Connection, PollResult};
pub use context::{Context, Error, Handler};
