//! A server on a thread of its own, and clients.

use std::cell::Cell;
use std::future::Future;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_io::Timer;
use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::{
    ElicitParams, Implementation, InputRequest, RequestedSchema, TextResult, Tool,
};
use mcp_sansio::{
    Catalog, NoOutput, Progress, RawJson, ServerConfig, ServerFeatures, ToolContext, ToolResult,
    entries,
};
use mcp_sansio_adapters::asynchronous::http::{HttpOptions, Principal, serve_on_threads};
use mcp_sansio_adapters::asynchronous::{App, Broadcaster, Context, HandlerResult, Limits};

use crate::pump;
use crate::recorder::Recorder;

pub(crate) static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("test", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::LOGGING),
);
static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    tool("echo"),
    tool("who"),
    tool("steps"),
    tool("wait"),
    tool("ask"),
    tool("long"),
    tool("later"),
    tool("go"),
    tool("silent"),
    tool("flood"),
    tool("slow"),
    tool("early"),
    tool("late"),
]);

pub(crate) fn principal(subject: &str) -> Principal {
    Principal::new("https://auth.example.com", subject)
}

pub(crate) const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object"}"#))
}

/// Number of handlers that were started, and of those that were dropped or have ended.
#[derive(Default)]
pub(crate) struct Counts {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Counts {
    pub(crate) fn get(&self) -> (usize, usize) {
        (self.begun.load(Ordering::SeqCst), self.ended.load(Ordering::SeqCst))
    }
}

pub(crate) struct Counted(Arc<Counts>);

impl Counted {
    pub(crate) fn new(counts: Arc<Counts>) -> Self {
        counts.begun.fetch_add(1, Ordering::SeqCst);
        Self(counts)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

async fn handle(ctx: Context, counts: Arc<Counts>) -> HandlerResult {
    let request = ctx.request()?;
    let tool = ctx.tool(&request);
    let _counted = Counted::new(counts);
    match ctx.name() {
        "who" => {
            return ctx.reply(&TextResult::new(ctx.principal().map_or("nobody", |it| &it.subject)));
        }
        "steps" => {
            for step in 1..=3 {
                tool.progress(&Progress::of(step)).await?;
                Timer::after(Duration::from_millis(5)).await;
            }
        }
        "wait" => {
            tool.progress(&Progress::of(0)).await?;
            std::future::pending().await
        }
        "ask" => {
            let form = ElicitParams::form("Who?", RequestedSchema::new(&[]));
            let answer = tool.request_input("who", InputRequest::Elicit(form)).await?;
            return ctx.reply(&TextResult::new(answer.as_json().as_str()));
        }
        "flood" => return crate::memory::flood(&ctx).await,
        "long" => return ctx.reply(&TextResult::new(&"0123456789".repeat(1_200_000))),
        "silent" => std::future::pending().await,
        "slow" => drop(Timer::after(Duration::from_millis(5)).await),
        "late" => {
            Timer::after(Duration::from_millis(1)).await;
            panic!("in the future");
        }
        "later" => {
            let is_gone = tool.release_connection();
            Timer::after(Duration::from_millis(50)).await;
            return ctx.reply(&TextResult::new(if is_gone { "let go" } else { "kept" }));
        }
        "go" => return ctx.call_tool(&Mutex::new(Releasing)).await,
        _ => {}
    }
    ctx.reply(&TextResult::new("done"))
}

/// A tool as a type.
#[derive(Tools)]
enum Typed {
    /// Releases the connection.
    Go,
}

struct Releasing;

impl ToolHandler for Releasing {
    type Tools = Typed;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, _: Typed, ctx: ToolContext<'a>) -> ToolResult<'a> {
        Ok(if ctx.release_connection() { "let go" } else { "kept" }.into())
    }
}

type Answering = Pin<Box<dyn Future<Output = HandlerResult>>>;

thread_local! {
    /// Number of threads of each server.
    pub(crate) static THREADS: Cell<usize> = const { Cell::new(1) };
}

pub(crate) struct Site {
    /// One for each of its threads; connections take turns.
    pub(crate) addresses: Vec<SocketAddr>,
    connected: AtomicUsize,
    pub(crate) hub: Broadcaster,
    pub(crate) counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
}

/// Some handlers never end.
pub(crate) fn limits() -> Limits {
    let shutdown_timeout = Duration::from_millis(200);
    Limits { max_line: 100_000, address_share: 100, shutdown_timeout, ..Limits::new() }
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(HttpOptions::new())
    }

    pub(crate) fn with(options: HttpOptions) -> Self {
        Self::start(options, limits(), None)
    }

    pub(crate) fn start(options: HttpOptions, limits: Limits, observer: Option<Recorder>) -> Self {
        let (tell, told) = std::sync::mpsc::channel();
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        let threads = THREADS.get();
        let thread = std::thread::spawn(move || {
            let handler = move |ctx: Context| -> Answering {
                assert!(ctx.name() != "early", "before there is a future");
                Box::pin(handle(ctx, Arc::clone(&counted)))
            };
            let mut app = App::new(&CONFIG, handler).catalog(&CATALOG).limits(limits);
            if let Some(observer) = observer {
                app = app.observer(observer);
            }
            let listen = |_| TcpListener::bind(("127.0.0.1", 0)).unwrap();
            let mut listeners: Vec<_> = (0..threads).map(listen).collect();
            let addresses = listeners.iter().map(|it| it.local_addr().unwrap()).collect();
            tell.send((addresses, app.broadcaster().clone())).unwrap();
            match threads {
                1 => pump::serve(&app, listeners.remove(0), options),
                _ => serve_on_threads(&app, listeners, options).unwrap(),
            }
        });
        let (addresses, hub) = told.recv().unwrap();
        let connected = AtomicUsize::new(0);
        Self { addresses, connected, hub, counts, thread: Some(thread) }
    }

    pub(crate) fn connect(&self) -> Client {
        let number = self.connected.fetch_add(1, Ordering::SeqCst);
        Client::to(self.addresses[number % self.addresses.len()])
    }

    /// Begins a request on a connection of its own.
    pub(crate) fn begin(&self, request: &str) -> Client {
        let mut client = self.connect();
        client.write(request);
        client
    }

    /// As [`begin`](Self::begin), up to the body of a response with status 200.
    pub(crate) fn stream(&self, request: &str) -> Client {
        let mut client = self.begin(request);
        assert_eq!(client.head().status, 200);
        client
    }

    /// Sends one request on a connection of its own.
    pub(crate) fn send(&self, request: &str) -> Answer {
        self.begin(request).answer()
    }

    pub(crate) fn call(&self, session: &str, id: u32, tool: &str) -> Answer {
        self.send(&call(session, id, tool))
    }

    /// Opens a session.
    pub(crate) fn open(&self, version: &str) -> String {
        let answer = self.send(&initialize(version));
        let id = answer.field("mcp-session-id").unwrap_or_else(|| panic!("{answer:?}")).to_owned();
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.send(&in_session(&id, ready)).status, 202);
        id
    }

    pub(crate) fn delete(&self, session: &str) {
        let delete = request("DELETE", "/mcp", &[("Mcp-Session-Id", session)], "");
        assert_eq!(self.send(&delete).status, 204);
    }

    /// Waits until this many handlers have started and ended.
    pub(crate) fn wait_for(&self, begun: usize, ended: usize) {
        let end = Instant::now() + Duration::from_secs(60);
        while self.counts.get() != (begun, ended) {
            assert!(Instant::now() < end, "{:?} and not {:?}", self.counts.get(), (begun, ended));
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Shuts the server down, and checks that it ends cleanly.
    pub(crate) fn shut_down(&mut self) {
        self.hub.shut_down();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.shut_down();
        }
    }
}

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns the text of a tool's result, from JSON or an event.
    pub(crate) fn text(&self) -> String {
        let json = self.body.rsplit("data: ").next().unwrap();
        let json: serde_json::Value =
            serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        json["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{self:?}"))
            .to_owned()
    }
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, read: Vec::new() }
    }

    pub(crate) fn write(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).unwrap();
    }

    fn more(&mut self) -> usize {
        let mut chunk = [0; 65536];
        let read = self.stream.read(&mut chunk).unwrap();
        self.read.extend_from_slice(&chunk[..read]);
        read
    }

    fn until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.read.windows(end.len()).position(|window| window == end) {
                return self.read.drain(..at + end.len()).collect();
            }
            assert!(
                self.more() > 0,
                "ended before {:?}: {:?}",
                String::from_utf8_lossy(end),
                String::from_utf8_lossy(&self.read)
            );
        }
    }

    pub(crate) fn exactly(&mut self, len: usize) -> Vec<u8> {
        while self.read.len() < len {
            assert!(self.more() > 0, "ended early");
        }
        self.read.drain(..len).collect()
    }

    /// Returns whether the server has closed the connection, with nothing left to read.
    pub(crate) fn is_closed(&mut self) -> bool {
        self.read.is_empty() && self.more() == 0
    }

    /// Returns everything up to the end of the connection.
    pub(crate) fn rest(&mut self) -> String {
        while self.more() > 0 {}
        String::from_utf8(std::mem::take(&mut self.read)).unwrap()
    }

    /// Reads the head of a response.
    pub(crate) fn head(&mut self) -> Answer {
        let head = String::from_utf8(self.until(b"\r\n\r\n")).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let fields = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        Answer { status, fields, body: String::new() }
    }

    /// Reads the next chunk of a body; `None` at its end.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let size = String::from_utf8(self.until(b"\r\n")).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let chunk = self.exactly(size + 2);
        (size > 0).then(|| String::from_utf8(chunk[..size].to_vec()).unwrap())
    }

    /// Reads a whole response.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        if answer.field("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                answer.body += &chunk;
            }
        } else if let Some(len) = answer.field("content-length").map(|len| len.parse().unwrap()) {
            answer.body = String::from_utf8(self.exactly(len)).unwrap();
        }
        answer
    }
}

pub(crate) fn post(fields: &[(&str, &str)], body: &str) -> String {
    request("POST", "/mcp", fields, body)
}

/// As [`post`], in a session.
pub(crate) fn in_session(session: &str, body: &str) -> String {
    post(&[("Mcp-Session-Id", session)], body)
}

pub(crate) fn request(method: &str, target: &str, fields: &[(&str, &str)], body: &str) -> String {
    let mut request = format!("{method} {target} HTTP/1.1\r\n");
    let usual = [("Host", "localhost"), ("Accept", "application/json, text/event-stream")];
    let usual = usual.iter().filter(|(name, _)| !fields.iter().any(|(other, _)| other == name));
    for (name, value) in usual.chain(fields) {
        request += &format!("{name}: {value}\r\n");
    }
    if method == "POST" {
        request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    }
    request + "\r\n" + body
}

pub(crate) fn get(session: &str, fields: &[(&str, &str)]) -> String {
    let fields: Vec<_> =
        [("Mcp-Session-Id", session)].into_iter().chain(fields.iter().copied()).collect();
    request("GET", "/mcp", &fields, "")
}

pub(crate) fn initialize(version: &str) -> String {
    post(&[], &initialize_body(version))
}

pub(crate) fn initialize_body(version: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A call in a session.
pub(crate) fn call(session: &str, id: u32, tool: &str) -> String {
    in_session(session, &call_body(id, tool))
}

pub(crate) fn call_body(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"progressToken":"p{id}"}}}}}}"#
    )
}

/// A stateless call.
pub(crate) fn modern(tool: &str) -> String {
    modern_with(tool, &[])
}

/// The fields of a stateless call.
pub(crate) fn fields_of(tool: &str) -> [(&'static str, &str); 3] {
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)]
}

pub(crate) fn modern_with(tool: &str, more: &[(&str, &str)]) -> String {
    post(&[&fields_of(tool), more].concat(), &modern_body(7, tool))
}

pub(crate) fn modern_body(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":"p"}}}}}}"#
    )
}
