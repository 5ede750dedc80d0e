//! A client that makes one call after the other.

use core::time::Duration;

use ::embedded_io::{Error as _, ErrorKind, Read, ReadReady, Write};
use mcp_sansio::types::{PaginatedParams, Text};
use mcp_sansio::{
    CallOptions, CallOutcome, ClientConfig, ClientEvent, ClientState, ConnectError, Connected,
    Encode, Encoder, Instant, RawJson, RxBuffer, SendError, Tx, TxBuffer,
};

use super::Error;
use super::context::is_closed;

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
pub struct Client<'c, P, H, const RX: usize, const TX: usize, const N: usize = 2> {
    rx: RxBuffer<[u8; RX]>,
    ctx: ClientContext<'c, P, TX, N>,
    handler: H,
}

/// Handles what happens while a call waits. `()` ignores everything.
pub trait ClientHandler<P: Write, const TX: usize, const N: usize> {
    /// Handles an event other than the end of the call: progress, a log message, a change, a
    /// violation, or a request of a legacy server. Requests are only of kinds that the
    /// configuration declares, and this function must respond to them.
    ///
    /// # Errors
    /// An error ends the call that waits. Usually that of a call of the context.
    fn on_event(
        &mut self,
        event: &ClientEvent<'_>,
        ctx: &mut ClientContext<'_, P, TX, N>,
    ) -> Result<(), Error<P::Error>> {
        let _ = (event, ctx);
        Ok(())
    }

    /// Called when there is nothing to do until bytes come, or until `wake`. Sleeps, or does
    /// something else for a moment. The default returns at once.
    fn on_idle(&mut self, wake: Option<Instant>) {
        let _ = wake;
        core::hint::spin_loop();
    }

    /// Called when reading failed. The line with the gap is rejected. The default ignores all
    /// errors but those that end the connection.
    ///
    /// # Errors
    /// An error ends the call that waits. Return the error if the port cannot recover.
    fn on_read_error(&mut self, error: P::Error) -> Result<(), Error<P::Error>> {
        if is_closed(&error) { Err(Error::Io(error)) } else { Ok(()) }
    }
}

impl<P: Write, const TX: usize, const N: usize> ClientHandler<P, TX, N> for () {}

/// The core's client and its port.
#[derive(Debug)]
pub struct ClientContext<'c, P, const TX: usize, const N: usize> {
    memory: ClientState<N>,
    config: &'c ClientConfig<'c>,
    tx: TxBuffer<[u8; TX]>,
    port: P,
    clock: fn() -> Instant,
}

impl<'c, P, H, const RX: usize, const TX: usize, const N: usize> Client<'c, P, H, RX, TX, N>
where
    P: Read + ReadReady + Write,
    H: ClientHandler<P, TX, N>,
{
    /// Creates a client on a port. The clock must be monotonic; its zero is arbitrary.
    #[must_use]
    pub const fn new(
        port: P,
        config: &'c ClientConfig<'c>,
        clock: fn() -> Instant,
        handler: H,
    ) -> Self {
        Self {
            rx: RxBuffer::new([0; RX]),
            ctx: ClientContext {
                memory: ClientState::new(),
                config,
                tx: TxBuffer::new([0; TX]),
                port,
                clock,
            },
            handler,
        }
    }

    /// Returns the core's client and its port, for calls that have no method here.
    pub const fn context(&mut self) -> &mut ClientContext<'c, P, TX, N> {
        &mut self.ctx
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
    ) -> Result<Option<R>, Error<P::Error>> {
        self.ctx.send(|client, now, tx| client.connect(now, tx))?;
        if self.ctx.client().is_open() {
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
    ) -> Result<R, Error<P::Error>> {
        let this =
            self.ctx.send(|client, now, tx| client.request(now, method, params, options, tx))?;
        self.wait(|event| match event {
            ClientEvent::CallFinished { call, outcome } if *call == this => Some(ended(*outcome)),
            _ => None,
        })
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
    ) -> Result<R, Error<P::Error>> {
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
    ) -> Result<Option<R>, Error<P::Error>> {
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
    pub fn run_for(&mut self, duration: Duration) -> Result<(), Error<P::Error>> {
        let until = self.ctx.now().saturating_add(duration);
        while self.ctx.now() < until {
            self.step(&mut |_| None::<()>, Some(until))?;
        }
        Ok(())
    }

    /// Runs the loop until `look` returns a value.
    fn wait<R>(
        &mut self,
        mut look: impl FnMut(&ClientEvent<'_>) -> Option<R>,
    ) -> Result<R, Error<P::Error>> {
        loop {
            if let Some(found) = self.step(&mut look, None)? {
                return Ok(found);
            }
        }
    }

    /// Runs one iteration: a line, the timeouts that are due, and then reading.
    fn step<R>(
        &mut self,
        look: &mut impl FnMut(&ClientEvent<'_>) -> Option<R>,
        until: Option<Instant>,
    ) -> Result<Option<R>, Error<P::Error>> {
        let Self { rx, ctx, handler } = self;
        let mut found = None;
        let mut handle = |event: ClientEvent<'_>, ctx: &mut ClientContext<'c, P, TX, N>| {
            match look(&event) {
                Some(value) => found = Some(value),
                None => handler.on_event(&event, ctx)?,
            }
            Ok(())
        };
        if let Some(mut messages) = rx.next_messages() {
            while let Some(event) =
                ctx.send(|client, now, tx| client.next_event(now, &mut messages, tx))?
            {
                handle(event, ctx)?;
            }
            return Ok(found);
        }
        while let Some(event) = ctx.send(|client, now, tx| client.handle_timeout(now, tx))? {
            handle(event, ctx)?;
        }
        ctx.drain()?;
        if found.is_none() {
            self.read(until)?;
        }
        Ok(found)
    }

    fn read(&mut self, until: Option<Instant>) -> Result<(), Error<P::Error>> {
        let Self { rx, ctx, handler } = self;
        let port = &mut ctx.port;
        match port
            .read_ready()
            .and_then(|ready| if ready { port.read(rx.spare()).map(Some) } else { Ok(None) })
        {
            Ok(Some(0)) => return Err(Error::ConnectionClosed),
            Ok(Some(read)) => rx.commit(read),
            Ok(None) => {
                handler.on_idle([until, ctx.client().poll_timeout()].into_iter().flatten().min())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                rx.lost();
                handler.on_read_error(error)?;
            }
        }
        Ok(())
    }
}

impl<'c, P: Write, const TX: usize, const N: usize> ClientContext<'c, P, TX, N> {
    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    /// Returns the core's client, for its state.
    pub fn client(&mut self) -> mcp_sansio::Client<'_> {
        self.memory.client(self.config)
    }

    /// Returns the port. Bytes that are written to it directly may come in the middle of a message.
    pub const fn port(&mut self) -> &mut P {
        &mut self.port
    }

    /// Makes any call of the core's client. Repeats it after writing pending bytes out, as long as
    /// the buffer is full.
    ///
    /// # Errors
    /// Errors of the port, and [`Error::NotSent`]. The connection can continue after the latter.
    pub fn send<R, F>(&mut self, mut call: F) -> Result<R, Error<P::Error>>
    where
        F: FnMut(&mut mcp_sansio::Client<'_>, Instant, &mut Tx<'_>) -> Result<R, SendError>,
    {
        let now = self.now();
        loop {
            match call(&mut self.memory.client(self.config), now, &mut self.tx) {
                Err(SendError::Full) => self.drain()?,
                result => return result.map_err(Error::NotSent),
            }
        }
    }

    /// Writes all pending bytes out. This happens before each wait anyway.
    ///
    /// # Errors
    /// Errors of the port.
    pub fn drain(&mut self) -> Result<(), Error<P::Error>> {
        super::context::drain(&mut self.port, &mut self.tx)
    }
}

/// Parameters of `tools/call`.
struct Named<'a, A: ?Sized> {
    name: &'a str,
    arguments: &'a A,
}

impl<A: Encode + ?Sized> Encode for Named<'_, A> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.begin_object();
        to.member("name", self.name);
        to.member("arguments", self.arguments);
        to.end_object();
    }
}

/// Maximum number of pages of a list.
const MAX_PAGES: u32 = 10_000;
/// Maximum length of a cursor, as JSON text in bytes.
const CURSOR: usize = 256;
