//! `one_tool` over HTTP: the codec and the rules of Streamable HTTP, for clients of 2026-07-28. The
//! serial port stands in for a socket.
#![no_std]
#![no_main]

use mcp_sansio::http::server::{Endpoint, HostPolicy, OutgoingResponse, Refusal, Route};
use mcp_sansio::http::{Fields, RequestHead};
use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{
    Catalog, ErrorCode, ExchangeId, Frame, Messages, RawJson, Revisions, SendError, ServerConfig,
    ServerEvent, ServerFeatures, ServerState, Target, Tx, TxBuffer, entries,
};
use mcp_sansio_http1::{
    BodyLength, CONTINUE, ChunkHeader, HeadWriter, HttpError, IncomingRequest, LAST_CHUNK, Part,
    RequestReader,
};
use size::{board, uart::Uart};

const BYTES: usize = 512;
const READ: usize = 1024;
size::figure!("buffer rx", READ);
size::figure!("buffer head", BYTES);
size::figure!("buffer body", BYTES);
size::figure!("size of ServerState<1, 1>", size_of::<ServerState<1, 1>>());

const REVISIONS: Revisions = Revisions::MODERN;
static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("lamp", "1.0.0"), ServerFeatures::TOOLS)
        .revisions(REVISIONS);
static CATALOG: Catalog = Catalog::new()
    .tools(entries![
        Tool::new(
            "lamp",
            RawJson::from_static(
                r#"{"type":"object","properties":{"on":{"type":"boolean"}},"required":["on"]}"#,
            ),
        )
        .description("Switches the lamp")
    ])
    .unchecked();
const ENDPOINT: Endpoint<'static> = Endpoint::new(REVISIONS).host_policy(HostPolicy::ANY_HOST);

#[size::entry]
fn main() -> ! {
    static mut READER: RequestReader<[u8; READ]> = RequestReader::new([0; READ]);
    static mut HEAD: Kept = Kept::EMPTY;
    static mut BODY: Kept = Kept::EMPTY;

    board::open();
    let mut port = Uart::open();
    loop {
        match READER.next_part() {
            Ok(Some(Part::Head(head))) => {
                BODY.len = 0;
                HEAD.keep(&head);
                if head.expects_continue {
                    port.write(CONTINUE);
                }
            }
            Ok(Some(Part::Body(piece))) => BODY.push(piece),
            Ok(Some(Part::End)) => {
                answer(HEAD, BODY, &mut port);
                READER.next_request();
            }
            Ok(None) => {
                let read = port.read(READER.spare());
                READER.commit(read);
            }
            Err(fault) => {
                refuse(fault, &mut port);
                *READER = RequestReader::new([0; READ]);
            }
        }
    }
}

fn answer(head: &Kept, body: &Kept, port: &mut Uart) {
    // On the stack, because it lives only for one exchange.
    let mut tx = TxBuffer::for_http_response([0; BYTES], 0);
    let mut sender = Sender { port, has_begun: false };
    let (method, target) = head.line();
    let head_of = RequestHead::new(method, target, head);
    let mut messages =
        Messages::over_http(Frame::Complete(body.bytes()), &head_of, ExchangeId::new(1));
    let admitted = ENDPOINT.check_head(&head_of).map(|_| ());
    let route = match admitted {
        _ if target != "/mcp" => {
            Route::Refused(Refusal::new(404, ErrorCode::InvalidRequest, "There is nothing here"))
        }
        _ if head.is_cut || body.is_cut => Route::Refused(Refusal::content_too_large()),
        Err(refused) => Route::Refused(refused),
        Ok(()) => ENDPOINT.route(&head_of, &messages),
    };
    match route {
        Route::Stateless => serve(&mut messages, &mut tx, &mut sender),
        Route::Refused(refused) => drop(refused.write(&mut tx)),
        // Sessions and their routes belong to older revisions.
        _ => {}
    }
    sender.end(&mut tx);
}

fn serve(messages: &mut Messages<'_>, tx: &mut TxBuffer<[u8; BYTES]>, sender: &mut Sender<'_>) {
    let mut state: ServerState<1, 1> = ServerState::new();
    let mut server = state.server(&CONFIG);
    while let Ok(Some(event)) = sender.send(tx, |tx| server.next_event(board::now(), messages, tx))
    {
        let ServerEvent::Request(request) = event else { continue };
        let Ok(Target::Tool(_)) = sender.send(tx, |tx| CATALOG.respond(&mut server, &request, tx))
        else {
            continue;
        };
        let result = match request.arguments().get("on").and_then(RawJson::as_bool) {
            Some(on) => {
                board::set_lamp(on);
                TextResult::new(if on { "The lamp is on" } else { "The lamp is off" })
            }
            None => TextResult::error("on must be true or false"),
        };
        let _ = sender.send(tx, |tx| server.respond(request.handle, &result, tx));
    }
}

/// Responds to a malformed request.
fn refuse(fault: HttpError, port: &mut Uart) {
    let mut out = [0; 128];
    let len = HeadWriter::response(&mut out, fault.status())
        .field("connection", "close")
        .finish(BodyLength::Known(0));
    port.write(out.get(..len.unwrap_or(0)).unwrap_or_default());
}

/// Writer of the response, in chunks if it is longer than the buffer.
struct Sender<'p> {
    port: &'p mut Uart,
    has_begun: bool,
}

impl Sender<'_> {
    fn send<R>(
        &mut self,
        tx: &mut TxBuffer<[u8; BYTES]>,
        mut call: impl FnMut(&mut Tx<'_>) -> Result<R, SendError>,
    ) -> Result<R, SendError> {
        loop {
            match call(tx) {
                Err(SendError::Full) => self.chunk(tx),
                result => return result,
            }
        }
    }

    fn chunk(&mut self, tx: &mut TxBuffer<[u8; BYTES]>) {
        if !self.has_begun {
            self.head(
                tx.http_response().unwrap_or(OutgoingResponse::ACCEPTED),
                BodyLength::Chunked,
            );
        }
        self.has_begun = true;
        self.port.write(ChunkHeader::new(tx.pending().len()).as_bytes());
        self.port.write(tx.pending());
        self.port.write(ChunkHeader::END);
        tx.advance(usize::MAX);
    }

    fn end(&mut self, tx: &mut TxBuffer<[u8; BYTES]>) {
        if self.has_begun {
            if !tx.pending().is_empty() {
                self.chunk(tx);
            }
            self.port.write(LAST_CHUNK);
            return;
        }
        self.head(
            tx.http_response().unwrap_or(OutgoingResponse::ACCEPTED),
            BodyLength::Known(tx.pending().len() as u64),
        );
        self.port.write(tx.pending());
    }

    fn head(&mut self, reply: OutgoingResponse, length: BodyLength) {
        let mut out = [0; 256];
        let mut writer = HeadWriter::response(&mut out, reply.status);
        for (name, value) in reply.fields() {
            writer = writer.field(name, value);
        }
        let len = writer.finish(length).unwrap_or(0);
        self.port.write(out.get(..len).unwrap_or_default());
    }
}

/// Buffer of a body, or of a head: method, target, names and values, each followed by a line end.
struct Kept {
    bytes: [u8; BYTES],
    len: usize,
    is_cut: bool,
}

impl Kept {
    const EMPTY: Self = Self { bytes: [0; BYTES], len: 0, is_cut: false };

    fn keep(&mut self, head: &IncomingRequest<'_>) {
        (self.len, self.is_cut) = (0, false);
        self.line_of(head.method.as_bytes());
        self.line_of(head.target.as_bytes());
        for (name, value) in head.fields.iter() {
            self.line_of(name.as_bytes());
            self.line_of(value);
        }
    }

    fn line_of(&mut self, part: &[u8]) {
        self.push(part);
        self.push(b"\n");
    }

    fn push(&mut self, bytes: &[u8]) {
        match self.bytes.get_mut(self.len..).and_then(|rest| rest.get_mut(..bytes.len())) {
            Some(place) => {
                place.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
                self.len += bytes.len();
            }
            None => self.is_cut = true,
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes().split(|byte| *byte == b'\n')
    }

    fn line(&self) -> (&str, &str) {
        let mut lines = self.lines().map(|line| core::str::from_utf8(line).unwrap_or_default());
        (lines.next().unwrap_or_default(), lines.next().unwrap_or_default())
    }
}

impl Fields for Kept {
    fn nth(&self, name: &str, n: usize) -> Option<&[u8]> {
        let mut lines = self.lines().skip(2);
        let mut left = n;
        loop {
            let (other, value) = (lines.next()?, lines.next()?);
            if other.eq_ignore_ascii_case(name.as_bytes()) {
                left = match left.checked_sub(1) {
                    None => return Some(value),
                    Some(left) => left,
                };
            }
        }
    }
}
