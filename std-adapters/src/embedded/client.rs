//! A client that makes one call after the other.

use core::time::Duration;

use ::embedded_io::{ErrorType, Read, ReadReady, Write};
use mcp_sansio::internal::Named;
use mcp_sansio::types::{PaginatedParams, Text};
use mcp_sansio::{
    CallOptions, CallOutcome, Client as CoreClient, ClientConfig, ClientEvent, ClientState,
    ConnectError, Connected, Connection, Encode, Instant, RawJson, RxBuffer, SendError, Tx,
    TxBuffer,
};

use super::Error;
use super::port::{Port, Step, Turn};

/// A client on a port. Parameters: `RX` is the maximum length of a line and `TX` the size of the
/// transmit buffer, in bytes, `N` the maximum number of calls in flight.
///
/// Each call waits for its result and passes it to a closure while it is in the receive buffer. The
/// [`ClientHandler`] gets all other events, and idles or sleeps meanwhile.
///
/// ```no_run
/// use embedded_io::{Read, ReadReady, Write};
/// use mcp_sansio::types::{CallToolResult, Implementation};
/// use mcp_sansio::{CallOutcome, ClientConfig, ClientFeatures, Instant, Json};
/// use mcp_sansio_adapters::embedded::{Client, Error};
///
/// static CONFIG: ClientConfig =
///     ClientConfig::new(Implementation::new("thermostat", "0.1.0"), ClientFeatures::NONE);
///
/// #[derive(serde::Serialize)]
/// struct Arguments {
///     room: &'static str,
/// }
///
/// /// Returns whether the house reports that it is cold.
/// fn is_cold<U: Read + ReadReady + Write>(
///     uart: U,
///     clock: fn() -> Instant,
/// ) -> Result<bool, Error<U::Error>> {
///     let mut house: Client<'_, U, (), 2048, 256> = Client::new(uart, &CONFIG, clock, ());
///     house.connect(|opened| opened.is_ok())?;
///     house.call_tool("temperature", &Json(&Arguments { room: "hall" }), |outcome| match outcome {
///         CallOutcome::Result(result) => result
///             .get("structuredContent")
///             .and_then(|data| data.get("celsius")?.as_f64())
///             .is_some_and(|t| t < 18.0),
///         _ => false,
///     })
/// }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Client<'c, D: ErrorType, H, const RX: usize, const TX: usize, const N: usize = 2> {
    port: ClientPort<'c, D, RX, TX, N>,
    clock: fn() -> Instant,
    handler: H,
}

/// The port of a [`Client`].
pub type ClientPort<'c, D, const RX: usize, const TX: usize, const N: usize> =
    Port<D, Connection<'c, ClientState<N>, [u8; RX], [u8; TX]>>;

/// Handles what happens while a call waits. `()` ignores everything.
pub trait ClientHandler<D: ErrorType> {
    /// Handles an event other than the end of the call: progress, a log message, a change, a
    /// violation, or a request of a legacy server. Requests are only of kinds that the
    /// configuration declares, and this function must respond to them.
    ///
    /// # Errors
    /// An error ends the call that waits. Usually that of a call of the turn.
    fn on_event(
        &mut self,
        event: &ClientEvent<'_>,
        turn: &mut Turn<'_, D, mcp_sansio::Client<'_>>,
    ) -> Result<(), Error<D::Error>> {
        let _ = (event, turn);
        Ok(())
    }

    /// Called when there is nothing to do until bytes come, or until `wake`. Sleeps, or does
    /// something else for a moment. The default returns at once.
    fn on_idle(&mut self, wake: Option<Instant>) {
        let _ = wake;
        core::hint::spin_loop();
    }

    /// Called when reading failed. The line with the gap is rejected. The default ignores the
    /// error; one that ends the connection ends the call that waits instead.
    ///
    /// # Errors
    /// An error ends the call that waits. Return the error if the port cannot recover.
    fn on_read_error(&mut self, error: D::Error) -> Result<(), Error<D::Error>> {
        let _ = error;
        Ok(())
    }
}

impl<D: ErrorType> ClientHandler<D> for () {}

impl<'c, D, H, const RX: usize, const TX: usize, const N: usize> Client<'c, D, H, RX, TX, N>
where
    D: Read + ReadReady + Write,
    H: ClientHandler<D>,
{
    /// Creates a client on a port. The clock must be monotonic; its zero is arbitrary.
    pub const fn new(
        driver: D,
        config: &'c ClientConfig<'c>,
        clock: fn() -> Instant,
        handler: H,
    ) -> Self {
        let (rx, tx) = (RxBuffer::new([0; RX]), TxBuffer::new([0; TX]));
        let port = Port::new(driver, Connection::new(config, ClientState::new(), rx, tx));
        Self { port, clock, handler }
    }

    /// Returns the port, to reset it for the next server.
    pub const fn port(&mut self) -> &mut ClientPort<'c, D, RX, TX, N> {
        &mut self.port
    }

    /// Returns the handler.
    pub const fn handler(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Finds out the era of the server and connects. Returns what `opened` returns, or `None`
    /// without calling it if the era was [set](mcp_sansio::Client::set_era) to modern: then nothing
    /// is sent.
    ///
    /// # Errors
    /// Errors of the port and of the handler. `opened` gets a failure to connect.
    pub fn connect<R>(
        &mut self,
        mut opened: impl FnMut(Result<Connected<'_>, ConnectError<'_>>) -> R,
    ) -> Result<Option<R>, Error<D::Error>> {
        let is_open = |client: &mut CoreClient<'_>, now, tx: &mut Tx<'_>| {
            client.connect(now, tx).map(|()| client.is_open())
        };
        if self.send(is_open)? {
            return Ok(None);
        }
        self.wait(|event| match event {
            ClientEvent::Connected(ctx) => Some(opened(Ok(*ctx))),
            ClientEvent::ConnectFailed(error) => Some(opened(Err(*error))),
            _ => None,
        })
        .map(Some)
    }

    /// Sends a request, waits for its end and passes it to `ended`. `params` is any value that
    /// serializes as a JSON object, `RawJson::EMPTY` for no parameters.
    ///
    /// # Errors
    /// Errors of the port and of the handler, and of sending the request. `ended` gets a failure of
    /// the call.
    pub fn call<A: Encode + ?Sized, R>(
        &mut self,
        method: &str,
        params: &A,
        options: CallOptions,
        mut ended: impl FnMut(CallOutcome<'_>) -> R,
    ) -> Result<R, Error<D::Error>> {
        let this = self.send(|client, now, tx| client.request(now, method, params, options, tx))?;
        let ended = self.wait(|event| match event {
            ClientEvent::CallFinished { call, outcome } if *call == this => Some(match outcome {
                CallOutcome::Closed => None,
                outcome => Some(ended(*outcome)),
            }),
            _ => None,
        })?;
        ended.ok_or(Error::ConnectionClosed)
    }

    /// Makes any call of the core's client, for what has no method here. Repeats it after writing
    /// pending bytes, as long as the buffer is full.
    ///
    /// # Errors
    /// Errors of the port and of the handler, and [`Error::NotSent`]. The connection can continue
    /// after the latter.
    pub fn send<A>(
        &mut self,
        mut call: impl FnMut(&mut CoreClient<'_>, Instant, &mut Tx<'_>) -> Result<A, SendError>,
    ) -> Result<A, Error<D::Error>> {
        loop {
            let now = (self.clock)();
            if let Some(mut turn) = self.port.turn(now) {
                return turn.send(|client, tx| call(client, now, tx));
            }
            // Another message is not written completely.
            self.step(&mut |_| None::<()>, None)?;
        }
    }

    /// Calls a tool. The result is a [`CallToolResult`](mcp_sansio::types::CallToolResult), also if
    /// the tool failed (`isError`).
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_tool<A: Encode + ?Sized, R>(
        &mut self,
        name: &str,
        arguments: &A,
        ended: impl FnMut(CallOutcome<'_>) -> R,
    ) -> Result<R, Error<D::Error>> {
        self.call("tools/call", &Named { name, arguments }, CallOptions::new(), ended)
    }

    /// Requests a list page by page. Stops early when `page` returns `Some`. Fails with
    /// [`Error::NotSent`] of [`SendError::TooLarge`] on a cursor of more than 256 bytes, a cursor
    /// that repeats, and more than 10,000 pages. Each page has the timeout of a call; `page` can
    /// stop a list that takes too long.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn list<R>(
        &mut self,
        method: &str,
        mut page: impl FnMut(CallOutcome<'_>) -> Option<R>,
    ) -> Result<Option<R>, Error<D::Error>> {
        let mut cursor = [0; CURSOR];
        let mut len = 0;
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedParams::new();
            let text = cursor
                .get(..len)
                .and_then(|json| core::str::from_utf8(json).ok())
                .unwrap_or_default();
            params.cursor =
                RawJson::parse(text).ok().and_then(RawJson::as_string).map(Text::from_json);
            let mut next = [0; CURSOR];
            let (ended, next_len) = self.call(method, &params, CallOptions::new(), |outcome| {
                let json = match outcome {
                    CallOutcome::Result(result) => {
                        result.get("nextCursor").filter(|cursor| cursor.as_string().is_some())
                    }
                    _ => None,
                };
                let json = json.map_or("", RawJson::as_str).as_bytes();
                if let Some(place) = next.get_mut(..json.len()) {
                    place.copy_from_slice(json);
                }
                (page(outcome), json.len())
            })?;
            if ended.is_some() || next_len == 0 {
                return Ok(ended);
            }
            if next_len > CURSOR || next == cursor {
                return Err(Error::NotSent(SendError::TooLarge));
            }
            (cursor, len) = (next, next_len);
        }
        Err(Error::NotSent(SendError::TooLarge))
    }

    /// Handles events for this time, e.g. changes of a [`listen`](mcp_sansio::Client::listen).
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn run_for(&mut self, duration: Duration) -> Result<(), Error<D::Error>> {
        let until = (self.clock)().saturating_add(duration);
        while (self.clock)() < until {
            self.step(&mut |_| None::<()>, Some(until))?;
        }
        Ok(())
    }

    /// Runs the loop until `look` returns a value.
    fn wait<R>(
        &mut self,
        mut look: impl FnMut(&ClientEvent<'_>) -> Option<R>,
    ) -> Result<R, Error<D::Error>> {
        loop {
            if let Some(found) = self.step(&mut look, None)? {
                return Ok(found);
            }
        }
    }

    /// Makes one step of the port.
    fn step<R>(
        &mut self,
        look: &mut impl FnMut(&ClientEvent<'_>) -> Option<R>,
        until: Option<Instant>,
    ) -> Result<Option<R>, Error<D::Error>> {
        match self.port.next((self.clock)())? {
            Step::Event(event, mut turn) => match look(&event) {
                None => self.handler.on_event(&event, &mut turn)?,
                found => return Ok(found),
            },
            Step::Again => {}
            Step::ReadError(error) => self.handler.on_read_error(error)?,
            Step::Idle(wake) => self.handler.on_idle([until, wake].into_iter().flatten().min()),
            Step::Closed => return Err(Error::ConnectionClosed),
        }
        Ok(None)
    }
}

/// Maximum number of pages of a list.
const MAX_PAGES: u32 = 10_000;
/// Maximum length of a cursor, as JSON text in bytes.
const CURSOR: usize = 256;
