//! A server or a client on a serial line, or on any port that implements the traits of
//! [embedded-io](::embedded_io): the core's [`Connection`](mcp_sansio::Connection) with its reading
//! and writing ([`Port`]), and calls that wait for their results ([`Client`]). Without an
//! allocator; the main loop of a firmware makes one step after the other.
//!
//! ```no_run
//! use embedded_io::{Read, ReadReady, Write};
//! use mcp_sansio::types::{Implementation, TextResult, Tool};
//! use mcp_sansio::{
//!     Catalog, Connection, Instant, RawJson, RxBuffer, ServerConfig, ServerEvent, ServerFeatures,
//!     ServerState, Target, TxBuffer, entries,
//! };
//! use mcp_sansio_adapters::embedded::{Error, Port, Step};
//!
//! static CONFIG: ServerConfig =
//!     ServerConfig::new(Implementation::new("lamp", "1.0.0"), ServerFeatures::TOOLS)
//!         .peer_can_reconnect(true);
//! static CATALOG: Catalog = Catalog::new().tools(entries![Tool::new(
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
//!     sleep: fn(Option<Instant>),
//!     lamp: fn(bool),
//! ) -> Result<(), Error<U::Error>> {
//!     let state: ServerState<4, 4> = ServerState::new(); // open requests, subscribed URIs
//!     let (rx, tx) = (RxBuffer::new([0; 1024]), TxBuffer::new([0; 512]));
//!     let connection: Connection<_, _, _> = Connection::new(&CONFIG, state, rx, tx);
//!     let mut port = Port::new(uart, connection);
//!     loop {
//!         match port.next(clock())? {
//!             Step::Event(ServerEvent::Request(request), mut turn) => {
//!                 let target = turn.send(|server, tx| CATALOG.respond(server, &request, tx))?;
//!                 let Target::Tool(_) = target else { continue };
//!                 let result = match request.arguments().get("on").and_then(RawJson::as_bool) {
//!                     Some(on) => {
//!                         lamp(on);
//!                         TextResult::new(if on { "The lamp is on" } else { "The lamp is off" })
//!                     }
//!                     None => TextResult::error("on must be true or false"),
//!                 };
//!                 turn.send(|server, tx| server.respond(request.handle, &result, tx))?;
//!             }
//!             Step::Event(..) | Step::Again | Step::ReadError(_) => {}
//!             Step::Idle(until) => sleep(until), // or until bytes come
//!             Step::Closed => return Ok(()),
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
//! - **A read error** (overrun, framing, noise): [`Step::ReadError`]. The line with the gap
//!   is rejected whatever it contains, since it could be valid and mean something else. Complete
//!   lines before and after it are handled.
//! - **Half a line, then silence**: the sender was reset or unplugged. The line is ended after
//!   [`Port::line_timeout`], so that the next peer's first line is not appended to it.
//! - **A peer that starts again**: detected by `initialize`, or by ids that are in use. See
//!   [`ServerConfig::peer_can_reconnect`](mcp_sansio::ServerConfig::peer_can_reconnect).
//!
//! # Tools as types
//!
//! `Turn::call_tool` takes the place of look-up, arguments and response: it calls a `ToolHandler`
//! of the core, which every adapter serves unchanged. `Turn::call_async_tool` does the same for an
//! `AsyncToolHandler`, one call at a time.
//!
//! # Long work
//!
//! A handler that cannot respond at once keeps the parsed arguments and the
//! [`RequestHandle`](mcp_sansio::RequestHandle). The loop does a piece of the work whenever there
//! is no event, with [`Port::turn`] if it has something to send, so other requests are handled
//! between two pieces. The response is sent by such a turn, or handed in as an
//! [`Outcome`](mcp_sansio::Outcome) ([`Connection::answer`](mcp_sansio::Connection::answer)), which
//! goes out when there is room.
//!
//! After a panic of a handler, where panics unwind, the message is half handled and the connection
//! can be used; the caller decides whether to continue.
//!
//! # Output
//!
//! Output blocks, as [`Write`] does. If the peer never reads, the timeout of
//! the driver ends the step or [`Turn::send`] with [`Error::Io`]; pending bytes stay, and the next
//! step goes on with them. What comes meanwhile is read before each write, so the driver needs room
//! for the bytes that come while one transmit buffer is written: a ring buffer that its interrupt
//! fills, or flow control. While the receive buffer is full, or as many requests are open as the
//! server's state has entries, input waits in the driver.

mod client;
mod port;

pub use client::{Client, ClientHandler, ClientPort};
pub use port::{Port, Step, Turn};

use core::fmt;

use ::embedded_io::{Error as _, ErrorKind, ErrorType, Read, ReadReady, Write};
use mcp_sansio::{SendError, Spare};

// Errors of a port.

/// An error of a connection on a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error<E> {
    /// Reading or writing failed.
    Io(E),
    /// The port accepts no more bytes.
    WriteZero,
    /// The input ended while a call was waiting.
    ConnectionClosed,
    /// The core rejected the message and nothing was sent. The connection can continue.
    NotSent(SendError),
}

impl<E> From<SendError> for Error<E> {
    fn from(error: SendError) -> Self {
        Self::NotSent(error)
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::WriteZero => f.write_str("the port accepts no more bytes"),
            Self::ConnectionClosed => f.write_str("the peer has closed the connection"),
            Self::NotSent(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error> core::error::Error for Error<E> {}

/// Returns whether an error is permanent: further reads would fail too.
fn is_closed(error: &impl ::embedded_io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}

// Reading from a driver and writing to it, while an event may borrow the connection.

/// The driver, and what the connection does not know yet, since a step had lent it.
#[derive(Debug)]
struct Line<D: ErrorType> {
    driver: D,
    /// Number of bytes that were written.
    written: usize,
    is_flushed: bool,
    /// Result of the last read.
    input: Option<Input<D::Error>>,
}

/// Result of a read.
#[derive(Debug)]
enum Input<E> {
    Bytes,
    End,
    Error(E),
}

impl<D: ErrorType> Line<D> {
    const fn new(driver: D) -> Self {
        Self { driver, written: 0, is_flushed: true, input: None }
    }
}

impl<D: Read + ReadReady + Write> Line<D> {
    fn is_ready(&mut self) -> bool {
        !matches!(self.driver.read_ready(), Ok(false))
    }

    /// Reads what has come, up to an end or an error. Returns whether there was anything.
    fn read(&mut self, into: &mut Spare<'_>) -> bool {
        if into.spare().is_empty() || !matches!(self.input, None | Some(Input::Bytes)) {
            return false;
        }
        let read = match self.driver.read_ready() {
            Ok(false) => return false,
            Ok(true) => self.driver.read(into.spare()),
            Err(error) => Err(error),
        };
        match read {
            Ok(0) => self.input = Some(Input::End),
            Ok(read) => {
                into.commit(read);
                self.input = Some(Input::Bytes);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => self.input = Some(Input::Error(error)),
        }
        true
    }

    /// Writes some of the bytes and returns their number. Reads what has come before, so that two
    /// peers that both write long messages do not wait for each other.
    fn exchange(&mut self, bytes: &[u8], into: &mut Spare<'_>) -> Result<usize, Error<D::Error>> {
        self.read(into);
        match self.driver.write(bytes).map_err(Error::Io)? {
            0 => Err(Error::WriteZero),
            written => {
                self.is_flushed = false;
                Ok(written)
            }
        }
    }

    /// Waits until the driver has sent everything.
    fn flush(&mut self) -> Result<(), Error<D::Error>> {
        if !self.is_flushed {
            self.driver.flush().map_err(Error::Io)?;
            self.is_flushed = true;
        }
        Ok(())
    }
}
