//! A scripted server, and the driver that runs a client against it.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_lite::io::{BufWriter, ReadHalf, WriteHalf, split};
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _, future};
use mcp_sansio::{ClientConfig, OwnedJson, RawJson};
use mcp_sansio_adapters::asynchronous::JoinedIo;
use mcp_sansio_adapters::asynchronous::client::http::{Connect, Dial, HttpTransport};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, ConnectionEnd, Connector};
#[cfg(feature = "blocking")]
use mcp_sansio_adapters::blocking::client as blocking;
use mcp_sansio_http1::{BodyLength, ChunkHeader, HeadWriter, LAST_CHUNK, Part, RequestReader};
use serde_json::{Value, json};
use smol::Executor;
use tokio::time::{sleep, timeout};

use crate::pipe::{Pipe, pipe};

/// A request as the server has received it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut all = self.fields.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        let value = all.next().map(|(_, value)| value.as_str());
        assert!(all.next().is_none(), "duplicate {name}: {self:?}");
        value
    }

    /// Returns the method of the message; `answer` for a response.
    pub(crate) fn message(&self) -> &str {
        if self.body.is_null() { "-" } else { self.body["method"].as_str().unwrap_or("answer") }
    }

    /// Returns one line: method and target, message, and the revision and session of the head.
    fn line(&self) -> String {
        let (version, session) = (
            self.field("mcp-protocol-version").unwrap_or("-"),
            self.field("mcp-session-id").unwrap_or("-"),
        );
        format!("{} {} {} {version} {session}", self.method, self.target, self.message())
    }
}

/// A response, and what happens to the connection after it.
#[derive(Debug)]
pub(crate) struct Response {
    status: u16,
    fields: Vec<(&'static str, String)>,
    body: String,
    is_chunked: bool,
    end: Then,
    takes: Duration,
}

#[derive(Debug)]
enum Then {
    /// The next request follows.
    Next,
    /// The connection is closed before the body has ended.
    Cut,
    /// The body is left open.
    Hold,
}

impl Response {
    pub(crate) fn status(status: u16) -> Self {
        let (fields, body, takes) = (Vec::new(), String::new(), Duration::ZERO);
        Self { status, fields, body, is_chunked: false, end: Then::Next, takes }
    }

    /// Nothing is sent, not even a head.
    pub(crate) fn silence() -> Self {
        Self::status(0).hold()
    }

    pub(crate) fn json(body: &Value) -> Self {
        Self::status(200).field("Content-Type", "application/json").body(&body.to_string())
    }

    /// The result of a request.
    pub(crate) fn result(seen: &Seen, result: &Value) -> Self {
        Self::json(&answer(seen, result))
    }

    pub(crate) fn events(body: &str) -> Self {
        let reply =
            Self::status(200).field("content-type", "text/event-stream; charset=utf-8").body(body);
        Self { is_chunked: true, ..reply }
    }

    /// The same message as an event.
    pub(crate) fn into_event(self) -> Self {
        Self::events(&format!("data: {}\n\n", self.body))
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn field(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.to_owned()));
        self
    }

    pub(crate) fn body(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }

    pub(crate) fn cut(self) -> Self {
        Self { end: Then::Cut, is_chunked: true, ..self }
    }

    /// It is sent only after these milliseconds.
    pub(crate) fn takes(self, millis: u64) -> Self {
        Self { takes: Duration::from_millis(millis), ..self }
    }

    pub(crate) fn hold(self) -> Self {
        Self { end: Then::Hold, is_chunked: true, ..self }
    }
}

pub(crate) fn answer(seen: &Seen, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": result})
}

/// An SSE event with this message.
pub(crate) fn event(message: &Value) -> String {
    format!("data: {message}\n\n")
}

/// The response of any modern server.
pub(crate) fn modern(seen: &Seen) -> Response {
    match seen.message() {
        "server/discover" => Response::result(
            seen,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "resources": {}, "prompts": {}}}),
        ),
        "tools/call" => Response::result(seen, &text("called")),
        "tools/list" => Response::result(seen, &json!({"resultType": "complete", "tools": []})),
        _ => Response::result(seen, &json!({"resultType": "complete"})),
    }
}

/// The response of any server of 2025-11-25 with sessions and without a GET stream.
pub(crate) fn legacy(seen: &Seen) -> Response {
    match (seen.method.as_str(), seen.message()) {
        ("GET", _) => Response::status(405),
        ("DELETE", _) => Response::status(200),
        (_, "server/discover") => Response::status(400).body("no session"),
        (_, "initialize") => {
            Response::result(seen, &initialized("2025-11-25")).field("Mcp-Session-Id", "s-1")
        }
        (_, "tools/call") => Response::result(seen, &text("called")),
        (_, "tools/list") => Response::result(seen, &json!({"tools": []})),
        (_, "answer") => Response::status(202),
        (_, notification) if notification.starts_with("notifications/") => Response::status(202),
        _ => Response::result(seen, &json!({})),
    }
}

/// The stream of a server of 2024-11-05, with its response to `initialize`.
pub(crate) fn older() -> Response {
    let result = json!({"jsonrpc": "2.0", "id": 2, "result": initialized("2024-11-05")});
    Response::events(&format!("event: endpoint\ndata: /m\n\n{}", event(&result)))
}

fn initialized(revision: &str) -> Value {
    json!({"protocolVersion": revision, "capabilities": {"tools": {}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "s", "version": "1"}})
}

/// A tool result with this text.
pub(crate) fn text(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}

/// Outcome of a run.
pub(crate) struct Played<R> {
    pub(crate) result: R,
    /// Reason why the connection ended.
    pub(crate) end: std::io::Result<ConnectionEnd>,
    pub(crate) seen: Vec<Seen>,
    /// All requests as lines, and the connections that were closed in the middle of a body.
    pub(crate) trace: Vec<String>,
    pub(crate) notices: Vec<String>,
    /// Purpose and URL of each connection.
    pub(crate) dials: Vec<String>,
}

impl<R> Played<R> {
    /// Asserts that this line is in the trace.
    #[track_caller]
    pub(crate) fn has(&self, line: &str) {
        assert!(self.trace.iter().any(|other| other == line), "{:?}", self.trace);
    }
}

/// Script of a server.
type Answering = dyn FnMut(&Seen) -> Response + Send;

#[derive(Clone)]
struct World {
    executor: Arc<Executor<'static>>,
    log: Arc<Mutex<(Vec<Seen>, Vec<String>)>>,
    answer: Arc<Mutex<Answering>>,
    dials: Arc<Mutex<Vec<String>>>,
    chunk: usize,
}

impl World {
    fn new(chunk: usize, answer: impl FnMut(&Seen) -> Response + Send + 'static) -> Self {
        Self {
            executor: Arc::new(Executor::new()),
            log: Arc::default(),
            answer: Arc::new(Mutex::new(answer)),
            dials: Arc::default(),
            chunk,
        }
    }
}

impl Connect for World {
    /// Keeps what is written until it is flushed.
    type Stream = JoinedIo<ReadHalf<Pipe>, BufWriter<WriteHalf<Pipe>>>;

    async fn connect(&self, dial: Dial) -> std::io::Result<Self::Stream> {
        let port = if dial.is_secure { 443 } else { 80 };
        assert_eq!((dial.host.as_str(), dial.port), ("server", port));
        self.dials.lock().unwrap().push(format!("{:?} {}", dial.purpose, dial.url));
        let (ours, theirs) = pipe(1 << 16, self.chunk);
        self.executor.spawn(serve(theirs, self.clone())).detach();
        // A message is not sent in the moment in which it is written.
        future::yield_now().await;
        let (reader, writer) = split(ours);
        Ok(JoinedIo::new(reader, BufWriter::new(writer)))
    }
}

async fn serve(mut pipe: Pipe, world: World) {
    let mut reader = RequestReader::with_limit(Vec::new(), 1 << 16);
    let mut seen = None;
    let mut body = Vec::new();
    loop {
        match reader.next_part().expect("the client speaks HTTP") {
            Some(Part::Head(head)) => {
                let fields = head.fields.iter().map(|(name, value)| {
                    (name.to_owned(), String::from_utf8(value.to_vec()).unwrap())
                });
                let (method, target) = (head.method.to_owned(), head.target.to_owned());
                seen = Some(Seen { method, target, fields: fields.collect(), body: Value::Null });
                body.clear();
            }
            Some(Part::Body(piece)) => body.extend_from_slice(piece),
            Some(Part::End) => {
                let mut seen = seen.take().unwrap();
                assert_eq!(seen.field("host"), Some("server"));
                if seen.field("content-type") == Some("application/x-www-form-urlencoded") {
                    seen.body = Value::String(String::from_utf8(body.clone()).unwrap());
                } else if !body.is_empty() {
                    seen.body = serde_json::from_slice(&body).expect("a body is a message");
                    assert!(seen.body.is_object(), "the body must be one message, not a batch");
                }
                let line = seen.line();
                {
                    let mut log = world.log.lock().unwrap();
                    log.1.push(line.clone());
                    log.0.push(seen.clone());
                }
                let reply = (world.answer.lock().unwrap())(&seen);
                if !reply.takes.is_zero() {
                    sleep(reply.takes).await;
                }
                if !say(&mut pipe, reply).await {
                    let mut rest = Vec::new();
                    let _ = pipe.read_to_end(&mut rest).await;
                    world.log.lock().unwrap().1.push(format!("closed: {line}"));
                    return;
                }
                if !reader.next_request() {
                    return;
                }
            }
            None => {
                let read = pipe.read(reader.spare()).await.unwrap();
                if read == 0 {
                    return;
                }
                reader.commit(read);
            }
        }
    }
}

/// Writes a response. Returns `false` if the body is left open.
async fn say(pipe: &mut Pipe, reply: Response) -> bool {
    if reply.status == 0 {
        return false;
    }
    let mut head = [0; 4096];
    let mut writer = HeadWriter::response(&mut head, reply.status);
    for (name, value) in &reply.fields {
        writer = writer.field(name, value);
    }
    let length = if reply.is_chunked {
        BodyLength::Chunked
    } else {
        BodyLength::Known(reply.body.len() as u64)
    };
    let len = writer.finish(length).unwrap();
    let mut bytes = head[..len].to_vec();
    if !reply.is_chunked {
        bytes.extend(reply.body.as_bytes());
    } else {
        if !reply.body.is_empty() {
            bytes.extend(ChunkHeader::new(reply.body.len()).as_bytes());
            bytes.extend(reply.body.as_bytes());
            bytes.extend(ChunkHeader::END);
        }
        if matches!(reply.end, Then::Next) {
            bytes.extend(LAST_CHUNK);
        }
    }
    let _ = pipe.write_all(&bytes).await;
    if matches!(reply.end, Then::Cut) {
        let _ = pipe.close().await;
        return true;
    }
    matches!(reply.end, Then::Next)
}

/// Runs a client against a server with this script.
pub(crate) fn play<R>(
    config: &'static ClientConfig<'static>,
    chunk: usize,
    answer: impl FnMut(&Seen) -> Response + Send + 'static,
    work: impl AsyncFnOnce(Client) -> R,
) -> Played<R> {
    play_with(Connector::new(config), |http| http, chunk, answer, work)
}

pub(crate) fn play_with<R>(
    connector: Connector,
    set: impl FnOnce(HttpTransport) -> HttpTransport,
    chunk: usize,
    answer: impl FnMut(&Seen) -> Response + Send + 'static,
    work: impl AsyncFnOnce(Client) -> R,
) -> Played<R> {
    play_at("http://server/mcp", connector, set, chunk, answer, work)
}

/// Does the same at this URL. There is no TLS.
pub(crate) fn play_at<R>(
    url: &str,
    connector: Connector,
    set: impl FnOnce(HttpTransport) -> HttpTransport,
    chunk: usize,
    answer: impl FnMut(&Seen) -> Response + Send + 'static,
    work: impl AsyncFnOnce(Client) -> R,
) -> Played<R> {
    let world = World::new(chunk, answer);
    let notices = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&notices);
    let http = HttpTransport::with_connector(url, world.clone()).unwrap();
    let http = http.on_diagnostic(move |notice| kept.lock().unwrap().push(notice.to_string()));
    let stream = set(http);
    let executor = Arc::clone(&world.executor);
    let (client, connection) = connector.connect(stream);
    let all = async {
        let played = future::zip(work(client), connection).await;
        // Requests that the server has not read yet.
        while executor.try_tick() {}
        future::yield_now().await;
        while executor.try_tick() {}
        played
    };
    let (result, end) = run(world.executor.run(all));
    let (seen, trace) = world.log.lock().unwrap().clone();
    let notices = notices.lock().unwrap().clone();
    let dials = world.dials.lock().unwrap().clone();
    Played { result, end, seen, trace, notices, dials }
}

/// Runs a blocking client against a server with this script, which has a thread of its own.
#[cfg(feature = "blocking")]
pub(crate) fn play_blocking<R>(
    connector: blocking::Connector<'_>,
    set: impl FnOnce(HttpTransport) -> HttpTransport,
    answer: impl FnMut(&Seen) -> Response + Send + 'static,
    work: impl FnOnce(&mut blocking::Client<'_>) -> R,
) -> (R, Vec<Seen>) {
    let world = World::new(1 << 16, answer);
    let http = HttpTransport::with_connector("http://server/mcp", world.clone()).unwrap();
    let (stop, stopped) = smol::channel::bounded::<()>(1);
    let executor = Arc::clone(&world.executor);
    let server = std::thread::spawn(move || smol::block_on(executor.run(stopped.recv())));
    let transport = blocking::BlockingHttpTransport::new(set(http));
    let mut client = connector.connect(transport).unwrap();
    let result = work(&mut client);
    // This sends what waits; dropping the client ends the session, as closing it does.
    let _ = client.run_for(Duration::ZERO);
    drop(client);
    drop(stop);
    server.join().unwrap().unwrap_err();
    let seen = world.log.lock().unwrap().0.clone();
    (result, seen)
}

/// Runs in virtual time, and fails a test that hangs.
pub(crate) fn run<R>(work: impl Future<Output = R>) -> R {
    crate::virtual_time::block_on(async { timeout(Duration::from_secs(20), work).await })
        .expect("the test ends in time")
}

/// Calls a tool. Returns the text of the result.
pub(crate) async fn call(client: &Client, tool: &str) -> Result<String, CallError> {
    client.call_tool(tool, &RawJson::EMPTY).await.map(|result| said(&result))
}

pub(crate) fn said(result: &OwnedJson) -> String {
    let content = result.as_json().get("content").and_then(|content| content.elements().next());
    content
        .and_then(|block| block.get("text"))
        .and_then(RawJson::as_string)
        .map(|text| text.to_string())
        .unwrap_or_default()
}
