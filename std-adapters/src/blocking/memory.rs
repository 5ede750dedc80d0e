//! A server in the memory of its client, in virtual time: for tests.

use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcp_sansio::{
    ClientConfig, Connection, Era, GrowingServerState, Instant, RxBuffer, ServerConfig, Step,
    TxBuffer,
};

use super::client::{
    Client, ConnectionEnd, Connector, Error as ClientError, Transferred, Transport,
};
use super::{
    Context, Error, Handler, IN_FLIGHT, MAX_LINE, MAX_PENDING, SUBSCRIPTIONS, call_timer,
    handle_event,
};
use crate::rounds::Asking;

/// A server without a process, a thread or a pipe, for tests. It runs while its client waits.
///
/// ```
/// # use mcp_sansio::types::{Implementation, TextResult, Tool};
/// # use mcp_sansio::{Catalog, ClientConfig, ClientFeatures, Era, RawJson, entries};
/// # use mcp_sansio::{ServerConfig, ServerFeatures};
/// # use mcp_sansio_adapters::blocking::{App, client::Error};
/// # static SERVER: ServerConfig =
/// #     ServerConfig::new(Implementation::new("clock", "0.1.0"), ServerFeatures::TOOLS);
/// # static CATALOG: Catalog = Catalog::new()
/// #     .tools(entries![Tool::new("time", RawJson::from_static(r#"{"type":"object"}"#))]);
/// # static CLIENT: ClientConfig =
/// #     ClientConfig::new(Implementation::new("test", "0.1.0"), ClientFeatures::NONE);
/// // Responds to each call with the text "noon".
/// let server = App::new(&SERVER).catalog(&CATALOG);
/// for era in Era::ALL {
///     let memory = server.memory(|ctx| ctx.respond(&TextResult::new("noon")));
///     let mut client = memory.connect(&CLIENT, era)?;
///     let result = client.call_tool("time", &RawJson::EMPTY)?;
///     assert!(result.as_json().as_str().contains("noon"));
/// }
/// # Ok::<(), Error>(())
/// ```
///
/// The bytes are those of a real connection. Time is virtual: it stands still while there is
/// anything to do, and then goes on to the next timeout at once. The first error that the handler
/// returns ends the connection, as it would end the process.
pub struct Memory<'c, H> {
    connection: Connection<'c, GrowingServerState, Vec<u8>, Vec<u8>>,
    handler: H,
    /// Bytes that the client has not read yet.
    output: VecDeque<u8>,
    asking: Asking,
    /// Milliseconds, which the clock of the client shares.
    now: Arc<AtomicU64>,
    timer_not_before: Instant,
}

impl<'c, H: Handler + Send + 'c> Memory<'c, H> {
    /// Creates a server. [`App::memory`](super::App::memory) makes one of an application.
    pub fn new(config: &'c ServerConfig<'c>, handler: H) -> Self {
        Self {
            connection: Connection::new(
                config,
                GrowingServerState::new(IN_FLIGHT, SUBSCRIPTIONS),
                RxBuffer::with_limit(Vec::new(), MAX_LINE),
                TxBuffer::with_limit(Vec::new(), MAX_PENDING),
            ),
            handler,
            output: VecDeque::new(),
            asking: Asking::default(),
            now: Arc::default(),
            timer_not_before: Instant::from_millis(0),
        }
    }

    /// Connects a client of this era. For a handler of the client or a trace use a [`Connector`]
    /// with the [`clock`](Self::clock).
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub fn connect(
        self,
        config: &'c ClientConfig<'c>,
        era: Era,
    ) -> Result<Client<'c>, ClientError> {
        Connector::new(config).era(era).clock(self.clock()).connect(self)
    }

    /// Returns the virtual clock, for [`Connector::clock`].
    pub fn clock(&self) -> impl Fn() -> Instant + Send + use<H> {
        let now = Arc::clone(&self.now);
        move || Instant::from_millis(now.load(Ordering::Relaxed))
    }

    /// Handles all messages in `input` and in the connection. Returns the number of bytes of
    /// `input` that were read, and the time of the next timeout.
    fn run(&mut self, input: &[u8]) -> Result<(usize, Option<Instant>), Error> {
        let (clock, mut rest) = (self.clock(), input);
        loop {
            match self.connection.next(clock()) {
                Step::Event(event, mut turn) => {
                    let mut ctx =
                        Context::new(&mut turn, &mut self.output, &clock, &mut self.asking);
                    handle_event(&event, &mut ctx, &mut self.handler)?;
                }
                Step::Again => {}
                Step::Io { write: [], mut read, until } => {
                    let taken = rest.read(read.spare())?;
                    if taken == 0 {
                        return Ok((input.len() - rest.len(), until));
                    }
                    read.commit(taken);
                }
                Step::Io { write, .. } => {
                    self.output.extend(write);
                    let written = write.len();
                    self.connection.wrote(written);
                }
                Step::Closed => return Ok((input.len() - rest.len(), None)),
            }
        }
    }

    /// Goes on to the next timeout, at most to `limit`, and handles it.
    fn pass_time(
        &mut self,
        timeout: Option<Instant>,
        limit: Option<Instant>,
    ) -> Result<(), io::Error> {
        let clock = self.clock();
        let timer = self.handler.next_timer().map(|due| due.max(self.timer_not_before));
        let Some(next) = timeout.into_iter().chain(timer).chain(limit).min() else {
            return Err(io::Error::other(
                "the client waits for a response that the server has nothing left to wait for",
            ));
        };
        self.now.fetch_max(next.as_millis(), Ordering::Relaxed);
        if timer.is_some_and(|due| due <= clock()) {
            let mut turn = self.connection.turn(clock());
            let mut ctx = Context::new(&mut turn, &mut self.output, &clock, &mut self.asking);
            self.timer_not_before =
                call_timer(&mut ctx, &mut self.handler).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

impl<'c, H: Handler + Send + 'c> Transport for Memory<'c, H> {
    fn name(&self) -> String {
        "server in memory".to_owned()
    }

    fn open(&mut self) -> io::Result<()> {
        self.connection.reset();
        self.output.clear();
        self.asking = Asking::default();
        Ok(())
    }

    fn transfer(
        &mut self,
        out: &[u8],
        into: &mut [u8],
        timeout: Option<Duration>,
    ) -> io::Result<Transferred> {
        let now = Instant::from_millis(self.now.load(Ordering::Relaxed));
        let limit = timeout.map(|timeout| now.saturating_add(timeout));
        let mut written = 0;
        loop {
            let rest = out.get(written..).unwrap_or_default();
            let (taken, until) = self.run(rest).map_err(io::Error::other)?;
            written += taken;
            let read = self.output.read(into)?;
            let is_over = limit.is_some_and(|limit| (self.clock())() >= limit);
            if written > 0 || read > 0 || is_over {
                return Ok(Transferred { written, read, ended: false });
            }
            self.pass_time(until, limit)?;
        }
    }

    fn close(&mut self) -> io::Result<ConnectionEnd> {
        self.connection.end_of_input();
        self.run(&[]).map_err(io::Error::other)?;
        Ok(ConnectionEnd::new(self.name()))
    }
}

mcp_sansio::opaque_debug!([H] Memory<'_, H> { connection });
