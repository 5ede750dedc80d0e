//! A port whose input is scripted, byte by byte or not at all, and a handler that records its
//! events.

use std::cell::Cell;
use std::time::Duration;

use embedded_io::ErrorKind;
use mcp_sansio::types::{Implementation, Text, TextResult};
use mcp_sansio::{
    Connection, Instant, Progress, RawJson, RequestHandle, RxBuffer, Server, ServerConfig,
    ServerEvent, ServerFeatures, ServerState, TxBuffer,
};
use mcp_sansio_adapters::embedded::{Error, Port, Step, Turn};

use crate::uart::Uart;

pub(crate) const RX: usize = 256;
pub(crate) const TX: usize = 128;

pub(crate) static CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("b", "1"), ServerFeatures::TOOLS)
        .request_timeout(Duration::from_secs(60))
        .peer_can_reconnect(true);

/// A server on a port, and the other end of the line.
pub(crate) struct Bench {
    port: Port<Uart, Connection<'static, ServerState<4, 4>, [u8; RX], [u8; TX]>>,
    due: Option<Instant>,
    pub(crate) notes: Notes,
    uart: Uart,
}

/// Events of the handler, and its jobs.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) events: Vec<String>,
    job: Option<(RequestHandle, u32)>,
    steps: u32,
    /// Whether any fault ends the session.
    pub(crate) strict: bool,
}

impl Bench {
    /// Limits reads and writes to this many bytes.
    pub(crate) fn new(chunk: usize) -> Self {
        NOW.set(0);
        let uart = Uart::new(chunk);
        let (rx, tx) = (RxBuffer::new([0; RX]), TxBuffer::new([0; TX]));
        let connection = Connection::new(&CONFIG, ServerState::new(), rx, tx);
        let port = Port::new(uart.clone(), connection).line_timeout(Duration::from_secs(2));
        Self { port, due: None, notes: Notes::default(), uart }
    }

    /// Adds input.
    pub(crate) fn hears(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.uart.says(bytes);
        self
    }

    /// Adds an error of the receiver at this position of the input.
    pub(crate) fn fails(&mut self, kind: ErrorKind) -> &mut Self {
        self.uart.fails(kind);
        self
    }

    /// Makes the transmitter accept no more bytes.
    pub(crate) fn goes_deaf(&mut self) -> &mut Self {
        self.uart.line().is_deaf = true;
        self
    }

    /// Returns the maximum number of bytes that waited while something was written.
    pub(crate) fn unread(&self) -> usize {
        self.uart.line().unread
    }

    /// Connects another peer to the same port, which has no bytes of the last one.
    pub(crate) fn reconnects(&mut self) -> &mut Self {
        self.port.reset();
        self.uart.line().input.clear();
        self.uart.line().output.clear();
        self.uart.line().is_deaf = false;
        self
    }

    /// Handles all input, then advances the clock.
    pub(crate) fn waits(&mut self, ms: u64) -> &mut Self {
        self.turns().expect("the input has not ended");
        NOW.set(NOW.get() + ms);
        self
    }

    /// Makes steps until no work is left.
    pub(crate) fn turns(&mut self) -> Result<(), Error<ErrorKind>> {
        for _ in 0..1_000_000 {
            let mut is_idle = false;
            match self.port.next(now())? {
                Step::Event(event, turn) => self.notes.on_event(event, turn)?,
                Step::Again => {}
                Step::ReadError(error) => self.notes.on_read_error(error)?,
                Step::Idle(due) => (self.due, is_idle) = (due, true),
                Step::Closed => panic!("the input has ended"),
            }
            let has_worked = match self.port.turn(now()) {
                Some(turn) => self.notes.work(turn)?,
                None => false,
            };
            if is_idle && !has_worked {
                return Ok(());
            }
        }
        panic!("the loop never becomes idle");
    }

    /// Returns when the next step must be made, although no bytes come.
    pub(crate) fn due(&mut self) -> Option<u64> {
        assert_eq!(self.turns(), Ok(()));
        self.due.map(Instant::as_millis)
    }

    /// Handles all input, and returns the output since the last call.
    pub(crate) fn said(&mut self) -> String {
        self.turns().expect("the input has not ended");
        String::from_utf8(std::mem::take(&mut self.uart.line().output)).expect("UTF-8")
    }

    /// Returns the events since the last call.
    pub(crate) fn events(&mut self) -> String {
        std::mem::take(&mut self.notes.events).join(", ")
    }

    /// Opens a legacy session, and clears the output and events of that.
    pub(crate) fn opened(mut self) -> Self {
        self.hears(line(r#""id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#));
        self.hears(line(r#""method":"notifications/initialized""#));
        self.said();
        self.events();
        self.uart.line().unread = 0;
        self
    }
}

/// Returns the line of a message.
pub(crate) fn line(members: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",{members}}}\n")
}

/// Returns a call of `echo`, and its response.
pub(crate) fn echo(id: u32) -> (String, String) {
    (
        line(&format!(
            r#""id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"number {id}"}}}}"#
        )),
        line(&format!(
            r#""id":{id},"result":{{"content":[{{"type":"text","text":"number {id}"}}]}}"#
        )),
    )
}

pub(crate) const PARSE_ERROR: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON: on a stream it takes one line"}}"#;
pub(crate) const NOT_UTF8: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not UTF-8"}}"#;

type Sending<'p> = Turn<'p, Uart, Server<'p>>;

impl Notes {
    fn on_event(
        &mut self,
        event: ServerEvent<'_>,
        mut turn: Sending<'_>,
    ) -> Result<(), Error<ErrorKind>> {
        match event {
            ServerEvent::Request(request) => {
                match request.name().and_then(|name| name.as_plain()) {
                    Some("slow") => self.job = Some((request.handle, 0)),
                    _ => {
                        let text = request.arguments().get("text").and_then(RawJson::as_string);
                        let result = text.map_or(TextResult::error("no text"), |text| {
                            TextResult::from(Text::from(text))
                        });
                        turn.send(|server, tx| server.respond(request.handle, &result, tx))?;
                    }
                }
            }
            ServerEvent::RequestCancelled { request, .. } => {
                self.events.push("cancelled".into());
                self.job.take_if(|(job, _)| *job == request);
            }
            ServerEvent::RequestTimedOut { .. } => {
                self.events.push("expired".into());
                self.job = None;
            }
            ServerEvent::Violation(violation) => self.events.push(format!("{violation:?}")),
            ServerEvent::Initialize { revision, .. } => {
                self.events.push(format!("initialize {revision:?}"))
            }
            _ => {}
        }
        Ok(())
    }

    /// Does one of the three steps of a job. Returns whether there was one.
    fn work(&mut self, mut turn: Sending<'_>) -> Result<bool, Error<ErrorKind>> {
        let Some((request, step)) = &mut self.job else { return Ok(false) };
        if self.steps == u32::MAX {
            return Ok(false);
        }
        *step += 1;
        let (request, step, now) = (*request, *step, turn.now());
        let _ = turn.send(|server, tx| {
            server.progress(now, request, &Progress::of(step).total(3u32), tx)
        })?;
        if step == 3 {
            self.job = None;
            turn.send(|server, tx| server.respond(request, &TextResult::new("done"), tx))?;
        }
        Ok(true)
    }

    fn on_read_error(&mut self, error: ErrorKind) -> Result<(), Error<ErrorKind>> {
        self.events.push(format!("fault {:?}", error));
        if self.strict { Err(Error::Io(error)) } else { Ok(()) }
    }

    /// Stops all jobs.
    pub(crate) fn sleep(&mut self) {
        self.steps = u32::MAX;
    }
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

fn now() -> Instant {
    Instant::from_millis(NOW.get())
}
