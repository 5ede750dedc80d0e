//! A client over HTTP in a loop of its own, on blocking sockets and without an adapter: prints the
//! tools of a server, and the result of a call.

use std::error::Error;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant as SystemInstant};

use mcp_sansio::http::client::Origin;
use mcp_sansio::types::{CallToolParams, Implementation};
use mcp_sansio::{
    CallOptions, ClientConfig, ClientFeatures, Encode, Instant, OwnedJson, Printable, RawJson,
};
use mcp_sansio_engine::{
    ClientEngine, ConnectState, Driver, HttpClient, HttpError, HttpExchangeId, HttpLimits,
    HttpRequest, HttpStep, InputResponse, Limits, Question, Reading,
};
use mcp_sansio_http1::{BodyLength, HeadWriter, Part, ResponseReader};

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("call-url", "0.1.0"), ClientFeatures::NONE);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, tool, arguments] = words.as_slice() else {
        return Err("usage: call-url URL TOOL ARGUMENTS".into());
    };
    let (origin, target) = Origin::parse(url)?;
    let mut client = ClientEngine::new(&CONFIG, Limits::new());
    client.set_over_http(true);
    let http = HttpClient::new(&origin, target, HttpLimits::new());
    let began = SystemInstant::now();
    let mut server = Server { client, http, connections: Vec::new(), origin, began };
    server.client.connect(server.now(), &mut System)?;
    while matches!(server.client.connect_state(), ConnectState::Connecting) {
        server.turn()?;
    }
    let tools = server.call("tools/list", &RawJson::EMPTY)?;
    println!("{}", Printable::new(tools.as_json()));
    let params = CallToolParams::new(tool).arguments(RawJson::parse(arguments)?);
    let result = server.call("tools/call", &params)?;
    println!("{}", Printable::new(result.as_json()));
    server.http.close(server.now());
    while !server.http.is_closed() {
        server.turn()?;
    }
    Ok(())
}

/// A server, and the connections to it: one for each exchange.
struct Server<'u> {
    client: ClientEngine<'static>,
    http: HttpClient,
    connections: Vec<Connection>,
    origin: Origin<'u>,
    began: SystemInstant,
}

struct Connection {
    exchange: HttpExchangeId,
    stream: TcpStream,
    reader: ResponseReader<Vec<u8>>,
}

impl Server<'_> {
    fn now(&self) -> Instant {
        Instant::from_millis(self.began.elapsed().as_millis() as u64)
    }

    fn call(&mut self, method: &str, params: &impl Encode) -> Result<OwnedJson, Box<dyn Error>> {
        let options = CallOptions::new();
        let call = self.client.call(self.now(), method, params, options, &mut System)?;
        loop {
            self.turn()?;
            if let Some(finished) = self.client.take(call) {
                return Ok(finished.result?);
            }
        }
    }

    /// Sends what is to be sent, reads from each connection, and handles what came.
    fn turn(&mut self) -> Result<(), Box<dyn Error>> {
        let now = self.now();
        while self.client.step(now, &mut System) {}
        self.http.take_posts(now, &mut self.client);
        while let Some(step) = self.http.next_step(now) {
            match step {
                HttpStep::Send { exchange, method, target } => {
                    if let Err(error) = self.open(exchange, method, &target) {
                        self.http.end(now, exchange, Err(error));
                    }
                }
                HttpStep::Close(exchange) => {
                    self.connections.retain(|one| one.exchange != exchange)
                }
                HttpStep::Report(diagnostic) => eprintln!("{diagnostic}"),
            }
        }
        self.connections.retain_mut(|connection| {
            if let Some(end) = connection.read(&mut self.http, now) {
                self.http.end(now, connection.exchange, end);
            }
            self.http.reading(connection.exchange) != Reading::Over
        });
        while let Some(received) = self.http.next_received() {
            received.hand_to(&mut self.client, now, &mut System);
        }
        self.http.handle_timeout(now);
        Ok(self.client.handle_timeout(now, true, &mut System)?)
    }

    fn open(&mut self, id: HttpExchangeId, method: &str, target: &str) -> Result<(), HttpError> {
        let now = self.now();
        let Some(HttpRequest { fields, body }) = self.http.request(now, id) else { return Ok(()) };
        let mut bytes = vec![0; 16 << 10];
        let mut head = HeadWriter::request(&mut bytes, method, target)
            .field("host", self.origin.authority)
            .field("connection", "close");
        for (name, value) in &fields {
            head = head.field(name, value);
        }
        let length = body.map_or(BodyLength::Absent, |body| BodyLength::Known(body.len() as u64));
        let len = head.finish(length).map_err(|error| HttpError::Invalid(error.to_string()))?;
        let mut stream = TcpStream::connect((self.origin.host, self.origin.port))
            .map_err(|error| HttpError::NotConnected(error.to_string()))?;
        stream.set_read_timeout(Some(Duration::from_millis(5)))?;
        stream.write_all(&[&bytes[..len], body.unwrap_or_default()].concat())?;
        let mut reader = ResponseReader::with_limit(vec![0; 16 << 10], 64 << 10);
        reader.expect_response(method);
        self.connections.push(Connection { exchange: id, stream, reader });
        Ok(())
    }
}

impl Connection {
    /// Reads once. Returns how the exchange has ended, if it has.
    fn read(&mut self, http: &mut HttpClient, now: Instant) -> Option<Result<(), HttpError>> {
        let Self { exchange, stream, reader } = self;
        match stream.read(reader.spare()) {
            Ok(0) if reader.end_of_input().is_err() => return Some(Err(HttpError::ConnectionLost)),
            Ok(n) => reader.commit(n),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Some(Err(error.into())),
        }
        loop {
            match reader.next_part() {
                Ok(Some(Part::Head(head))) => http.response(now, *exchange, &head.as_head()),
                Ok(Some(Part::Body(piece))) => http.body(now, *exchange, piece),
                Ok(Some(Part::End)) => return Some(Ok(())),
                Ok(None) => return None,
                Err(error) => return Some(Err(HttpError::Invalid(error.to_string()))),
            }
        }
    }
}

/// The system, which needs no calendar here, and the application, which is asked nothing.
struct System;

impl Driver for System {
    fn unix_ms(&mut self) -> u64 {
        0
    }

    fn random(&mut self) -> u32 {
        0
    }

    fn asked(&mut self, _: Question<'_>) -> Option<InputResponse> {
        None
    }
}
