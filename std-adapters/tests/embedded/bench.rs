//! A port that reads what the test says, byte by byte or not at all, and a handler that writes down
//! what it is told.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use embedded_io::{ErrorKind, ErrorType, Read, ReadReady, Write};
use mcp_sansio::types::{Implementation, Text, TextResult};
use mcp_sansio::{
    Instant, Progress, RawJson, RequestHandle, ServerConfig, ServerEvent, ServerFeatures,
};
use mcp_sansio_adapters::embedded::{Connection, Context, Error, Handler, PollResult};

pub(crate) const RX: usize = 256;
pub(crate) const TX: usize = 128;

pub(crate) static CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("b", "1"), ServerFeatures::TOOLS)
        .request_timeout(Duration::from_secs(60))
        .peer_can_reconnect(true);

/// A server on a port, and the other end of the line.
pub(crate) struct Bench {
    connection: Connection<'static, Port, RX, TX>,
    pub(crate) notes: Notes,
    line: Rc<RefCell<Line>>,
}

/// What the handler was told, and what it works on.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) events: Vec<String>,
    job: Option<(RequestHandle, u32)>,
    steps: u32,
    /// Ends the session on any fault.
    pub(crate) strict: bool,
}

impl Bench {
    /// Reads and writes move at most so many bytes.
    pub(crate) fn new(chunk: usize) -> Self {
        NOW.set(0);
        let line = Rc::new(RefCell::new(Line {
            input: VecDeque::new(),
            output: Vec::new(),
            chunk,
            deaf: false,
        }));
        let connection =
            Connection::new(Port(line.clone()), &CONFIG, now).line_timeout(Duration::from_secs(2));
        Self { connection, notes: Notes::default(), line }
    }

    /// Bytes arrive.
    pub(crate) fn hears(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.line.borrow_mut().input.extend(bytes.as_ref().iter().map(|byte| Ok(*byte)));
        self
    }

    /// The receiver reports an error at this place of the input.
    pub(crate) fn fails(&mut self, kind: ErrorKind) -> &mut Self {
        self.line.borrow_mut().input.push_back(Err(kind));
        self
    }

    /// The transmitter takes nothing any more.
    pub(crate) fn goes_deaf(&mut self) -> &mut Self {
        self.line.borrow_mut().deaf = true;
        self
    }

    /// Another peer is connected to the same port, with nothing of the last one left in it.
    pub(crate) fn reconnects(&mut self) -> &mut Self {
        self.connection.close();
        let mut line = self.line.borrow_mut();
        line.input.clear();
        line.output.clear();
        line.deaf = false;
        drop(line);
        self
    }

    /// Everything that has arrived is dealt with, then so much time passes.
    pub(crate) fn waits(&mut self, ms: u64) -> &mut Self {
        let _ = self.turns().expect("no end");
        NOW.set(NOW.get() + ms);
        self
    }

    /// Turns until there is nothing to do.
    pub(crate) fn turns(&mut self) -> Result<PollResult, Error<Fault>> {
        for _ in 0..1_000_000 {
            match self.connection.poll(&mut self.notes)? {
                PollResult::Active => {}
                end => return Ok(end),
            }
        }
        panic!("it never comes to rest");
    }

    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.connection.poll_timeout().map(Instant::as_millis)
    }

    /// What was written since the last time, once everything is dealt with.
    pub(crate) fn said(&mut self) -> String {
        let _ = self.turns().expect("no end");
        String::from_utf8(std::mem::take(&mut self.line.borrow_mut().output)).expect("UTF-8")
    }

    /// The events since the last time.
    pub(crate) fn events(&mut self) -> String {
        std::mem::take(&mut self.notes.events).join(", ")
    }

    /// With a legacy session, and nothing to be seen of how it was opened.
    pub(crate) fn opened(mut self) -> Self {
        self.hears(line(r#""id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#));
        self.hears(line(r#""method":"notifications/initialized""#));
        self.said();
        self.events();
        self
    }
}

/// A message's line.
pub(crate) fn line(members: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",{members}}}\n")
}

/// A call of `echo`, and its answer.
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

pub(crate) const PARSE_ERROR: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not JSON"}}"#;
pub(crate) const NOT_UTF8: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: the message is not UTF-8"}}"#;

type Line4<'s, 'c> = &'s mut Context<'c, Port, TX, 4, 4>;

impl Handler<Port, TX, 4, 4> for Notes {
    fn on_event(
        &mut self,
        event: ServerEvent<'_>,
        session: Line4<'_, '_>,
    ) -> Result<(), Error<Fault>> {
        match event {
            ServerEvent::Request(request) => {
                match request.name().and_then(|name| name.as_plain()) {
                    Some("slow") => self.job = Some((request.handle, 0)),
                    _ => {
                        let text = request.arguments().get("text").and_then(RawJson::as_string);
                        let result = text.map_or(TextResult::error("no text"), |text| {
                            TextResult::from(Text::from(text))
                        });
                        let _ = session
                            .send(|server, tx| server.respond(request.handle, &result, tx))?;
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

    /// Three steps, one in each turn. A job of 60 s and more waits for ever.
    fn on_poll(&mut self, session: Line4<'_, '_>) -> Result<bool, Error<Fault>> {
        let Some((request, step)) = &mut self.job else { return Ok(false) };
        if self.steps == u32::MAX {
            return Ok(false);
        }
        *step += 1;
        let (request, step, now) = (*request, *step, session.now());
        let _ = session.send(|server, tx| {
            server.progress(now, request, &Progress::of(step).total(3u32), tx)
        })?;
        if step == 3 {
            self.job = None;
            let _ =
                session.send(|server, tx| server.respond(request, &TextResult::new("done"), tx))?;
        }
        Ok(true)
    }

    fn on_read_error(&mut self, error: Fault, _: Line4<'_, '_>) -> Result<(), Error<Fault>> {
        self.events.push(format!("fault {:?}", error.0));
        if self.strict || error.0 == ErrorKind::NotConnected {
            Err(Error::Io(error))
        } else {
            Ok(())
        }
    }
}

impl Notes {
    /// Jobs stand still.
    pub(crate) fn sleep(&mut self) {
        self.steps = u32::MAX;
    }
}

struct Line {
    input: VecDeque<Result<u8, ErrorKind>>,
    output: Vec<u8>,
    chunk: usize,
    deaf: bool,
}

pub(crate) struct Port(Rc<RefCell<Line>>);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault(pub(crate) ErrorKind);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl std::error::Error for Fault {}

impl embedded_io::Error for Fault {
    fn kind(&self) -> ErrorKind {
        self.0
    }
}

impl ErrorType for Port {
    type Error = Fault;
}

impl ReadReady for Port {
    fn read_ready(&mut self) -> Result<bool, Fault> {
        Ok(!self.0.borrow().input.is_empty())
    }
}

impl Read for Port {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Fault> {
        assert!(!into.is_empty(), "a read into nothing looks like an end");
        let mut line = self.0.borrow_mut();
        let mut read = 0;
        while read < into.len().min(line.chunk) {
            match line.input.front() {
                Some(Ok(byte)) => into[read] = *byte,
                Some(Err(kind)) if read == 0 => {
                    let fault = Fault(*kind);
                    line.input.pop_front();
                    return Err(fault);
                }
                _ => break,
            }
            line.input.pop_front();
            read += 1;
        }
        Ok(read)
    }
}

impl Write for Port {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        let mut line = self.0.borrow_mut();
        let len = if line.deaf { 0 } else { bytes.len().min(line.chunk) };
        line.output.extend_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

fn now() -> Instant {
    Instant::from_millis(NOW.get())
}
