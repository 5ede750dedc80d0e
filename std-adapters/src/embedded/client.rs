//! A client: calls, one after the other, and what a server says in between.

use core::time::Duration;

use ::embedded_io::{Error as _, ErrorKind, Read, ReadReady, Write};
use mcp_sansio::types::{PaginatedParams, Text};
use mcp_sansio::{
    CallOptions, CallOutcome, ClientConfig, ClientEvent, ConnectError, Connected, Instant,
    Messages, RawJson, RxBuffer, SendError, Tx, TxBuffer,
};
use serde::Serialize;

use super::Error;
use super::context::is_the_end;

/// A client on a port: `RX` bytes for the longest line it takes, `TX` bytes to write through, `N`
/// requests in flight.
///
/// Each call waits for its answer, and calls a closure with it while it is in the receive buffer.
/// What comes in between, and the waiting, is the [`ClientHandler`]'s.
///
/// ```no_run
/// use embedded_io::{Read, ReadReady, Write};
/// use mcp_sansio::types::{CallToolResult, Implementation};
/// use mcp_sansio::{ClientFeatures, ClientConfig, Instant, CallOutcome};
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
/// /// Whether the house says that it is cold.
/// fn is_cold<U: Read + ReadReady + Write>(
///     uart: U,
///     clock: fn() -> Instant,
/// ) -> Result<bool, Error<U::Error>> {
///     let mut house: Client<'_, U, (), 2048, 256> = Client::new(uart, &CONFIG, clock, ());
///     house.connect(|opened| opened.is_ok())?;
///     house.call_tool("temperature", &Arguments { room: "hall" }, |outcome| match outcome {
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

/// What an application does while it waits for an answer. `()` does nothing.
pub trait ClientHandler<P: Write, const TX: usize, const N: usize> {
    /// Something came that is not the answer: progress, a log message, a change, a request of a
    /// legacy server's (only of kinds that the configuration declares; it is for this to
    /// answer), or something wrong.
    ///
    /// # Errors
    /// End the call that waits: what the calls of the context return, as a rule.
    fn on_event(
        &mut self,
        event: &ClientEvent<'_>,
        ctx: &mut ClientContext<'_, P, TX, N>,
    ) -> Result<(), Error<P::Error>> {
        let _ = (event, ctx);
        Ok(())
    }

    /// There is nothing to do until bytes come, or until that time: sleep, or do something else for
    /// a moment. The default returns at once.
    fn on_idle(&mut self, wake: Option<Instant>) {
        let _ = wake;
        core::hint::spin_loop();
    }

    /// Reading failed; what was lost by it is skipped. The default rides out everything but the end
    /// of a connection.
    ///
    /// # Errors
    /// End the call that waits: the error itself, where there is no going on.
    fn on_read_error(&mut self, error: P::Error) -> Result<(), Error<P::Error>> {
        if is_the_end(&error) { Err(Error::Io(error)) } else { Ok(()) }
    }
}

impl<P: Write, const TX: usize, const N: usize> ClientHandler<P, TX, N> for () {}

/// A client with the port that it writes to.
#[derive(Debug)]
pub struct ClientContext<'c, P, const TX: usize, const N: usize> {
    client: mcp_sansio::Client<'c, N>,
    tx: TxBuffer<[u8; TX]>,
    port: P,
    clock: fn() -> Instant,
}

impl<'c, P, H, const RX: usize, const TX: usize, const N: usize> Client<'c, P, H, RX, TX, N>
where
    P: Read + ReadReady + Write,
    H: ClientHandler<P, TX, N>,
{
    /// A client with this configuration on this port. The clock counts from anywhere, and does not
    /// go backwards.
    #[must_use]
    pub const fn new(
        port: P,
        config: &'c ClientConfig<'c>,
        clock: fn() -> Instant,
        handler: H,
    ) -> Self {
        let client = mcp_sansio::Client::with_table_sizes(config);
        Self {
            rx: RxBuffer::new([0; RX]),
            ctx: ClientContext { client, tx: TxBuffer::new([0; TX]), port, clock },
            handler,
        }
    }

    /// The core's client with its port: for calls that are not here.
    pub const fn context(&mut self) -> &mut ClientContext<'c, P, TX, N> {
        &mut self.ctx
    }

    /// What was given as the handler.
    pub const fn handler(&mut self) -> &mut H {
        &mut self.handler
    }

    /// Finds out what the server speaks, and opens. `opened` is not called where the server was
    /// [assumed](mcp_sansio::Client::set_era) to be modern, since then there is nothing to find
    /// out; that is `None`.
    ///
    /// # Errors
    /// The port's, or the handler's. That the server cannot be spoken with is what `opened` is
    /// told.
    pub fn connect<R>(
        &mut self,
        mut opened: impl FnMut(Result<Connected<'_>, ConnectError<'_>>) -> R,
    ) -> Result<Option<R>, Error<P::Error>> {
        self.ctx.send(|client, now, tx| client.connect(now, tx))?;
        if self.ctx.client.is_open() {
            return Ok(None);
        }
        self.wait(|event| match event {
            ClientEvent::Connected(ctx) => Some(opened(Ok(*ctx))),
            ClientEvent::ConnectFailed(error) => Some(opened(Err(*error))),
            _ => None,
        })
        .map(Some)
    }

    /// Sends a request, waits for its end, and calls `ended` with it. `params` is anything that
    /// serializes as a JSON object, `RawJson::EMPTY` for none.
    ///
    /// # Errors
    /// The port's, or the handler's, or that the request cannot be made. That it failed is what
    /// `ended` is told.
    pub fn call<A: Serialize + ?Sized, R>(
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

    /// Calls a tool. A [`CallToolResult`](mcp_sansio::types::CallToolResult) is its result; that
    /// the tool failed is in it.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn call_tool<A: Serialize + ?Sized, R>(
        &mut self,
        name: &str,
        arguments: &A,
        ended: impl FnMut(CallOutcome<'_>) -> R,
    ) -> Result<R, Error<P::Error>> {
        self.call("tools/call", &Named { name, arguments }, CallOptions::new(), ended)
    }

    /// Asks for a list, page by page. `Some` of what `page` returns ends it before its end. A
    /// cursor of more than 256 bytes, or one that leads nowhere, ends it too, and so do more than
    /// 10,000 pages: [`Error::NotSent`] with [`SendError::TooLarge`] says so. Each page has the time
    /// limit of a call; `page` can end a list that takes too long.
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

    /// Attends to whatever comes for so long: changes that are
    /// [listened](mcp_sansio::Client::listen) for.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn run_for(&mut self, duration: Duration) -> Result<(), Error<P::Error>> {
        let until = self.ctx.now().saturating_add(duration);
        while self.ctx.now() < until {
            self.turn(&mut |_| None::<()>, Some(until))?;
        }
        Ok(())
    }

    /// Turns until there is what is looked for.
    fn wait<R>(
        &mut self,
        mut look: impl FnMut(&ClientEvent<'_>) -> Option<R>,
    ) -> Result<R, Error<P::Error>> {
        loop {
            if let Some(found) = self.turn(&mut look, None)? {
                return Ok(found);
            }
        }
    }

    /// Once around: a line, what is due, and then what the port has.
    fn turn<R>(
        &mut self,
        look: &mut impl FnMut(&ClientEvent<'_>) -> Option<R>,
        until: Option<Instant>,
    ) -> Result<Option<R>, Error<P::Error>> {
        let Self { rx, ctx, handler } = self;
        let mut found = None;
        let mut happened = |event: ClientEvent<'_>, ctx: &mut ClientContext<'c, P, TX, N>| {
            match look(&event) {
                Some(value) => found = Some(value),
                None => handler.on_event(&event, ctx)?,
            }
            Ok(())
        };
        if let Some(frame) = rx.next_frame() {
            let mut messages = Messages::new(frame);
            while let Some(event) =
                ctx.send(|client, now, tx| client.next_event(now, &mut messages, tx))?
            {
                happened(event, ctx)?;
            }
            return Ok(found);
        }
        while let Some(event) = ctx.send(|client, now, tx| client.handle_timeout(now, tx))? {
            happened(event, ctx)?;
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
                handler.on_idle([until, ctx.client.poll_timeout()].into_iter().flatten().min())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                // Stands for what is missing: no text has such a byte, so the line that it is in is
                // not taken for what it is not.
                if rx.unfinished() > 0
                    && let Some(spare) = rx.spare().first_mut()
                {
                    *spare = 0xff;
                    rx.commit(1);
                }
                handler.on_read_error(error)?;
            }
        }
        Ok(())
    }
}

impl<'c, P: Write, const TX: usize, const N: usize> ClientContext<'c, P, TX, N> {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    /// The client, to ask or to tell it something.
    pub const fn client(&mut self) -> &mut mcp_sansio::Client<'c, N> {
        &mut self.client
    }

    /// The port. What is written to it directly stands between two messages, or in the middle of
    /// one.
    pub const fn port(&mut self) -> &mut P {
        &mut self.port
    }

    /// Any call of the client that sends: repeated after each drain, until it is through.
    ///
    /// # Errors
    /// The port's, or what the core refuses; after the latter the connection can go on.
    pub fn send<R>(
        &mut self,
        mut call: impl FnMut(
            &mut mcp_sansio::Client<'c, N>,
            Instant,
            &mut Tx<'_>,
        ) -> Result<R, SendError>,
    ) -> Result<R, Error<P::Error>> {
        let now = self.now();
        loop {
            match call(&mut self.client, now, &mut self.tx) {
                Err(error) if error.is_full() => self.drain()?,
                result => return result.map_err(Error::NotSent),
            }
        }
    }

    /// Writes everything out. Done before each wait.
    ///
    /// # Errors
    /// The port's.
    pub fn drain(&mut self) -> Result<(), Error<P::Error>> {
        super::context::drain(&mut self.port, &mut self.tx)
    }
}

/// `{"name":"x","arguments":{..}}`
#[derive(Serialize)]
struct Named<'a, A: ?Sized> {
    name: &'a str,
    arguments: &'a A,
}

/// Pages of a list.
const MAX_PAGES: u32 = 10_000;
/// The longest cursor, as JSON.
const CURSOR: usize = 256;
