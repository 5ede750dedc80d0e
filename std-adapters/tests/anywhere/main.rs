//! One file of tools behind several transports: the same conversation has the same messages.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "../exchange/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod exchange;
#[path = "../embedded_async/port.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod port;
#[path = "../embedded/received.rs"]
mod received;
mod tools;
#[path = "../virtual_time/mod.rs"]
mod virtual_time;

use std::future::Future;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;

use async_io::Async;
use futures_lite::future;
use mcp_sansio::typed::SyncTools;
use mcp_sansio::types::Implementation;
use mcp_sansio::{Era, ServerConfig, ServerFeatures};
use mcp_sansio_adapters::asynchronous::http::{HttpExchange, HttpOptions, HttpServer};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, serve};
use mcp_sansio_adapters::{blocking, embedded_async};
use serde_json::{Value, json};

use exchange::{head, send};
use port::{Player, Port, Time};
use tools::{CATALOG, Fast, Slow};

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("test", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::LOGGING),
);

/// The calls of a client of 2026-07-28.
fn calls() -> Vec<Value> {
    let calls = [
        ("split", json!({"text": "a \u{e9}"})),
        ("split", json!({"text": ""})),
        ("copy", json!({"blocks": 2})),
        ("copy", json!({"block": 2})),
        ("fail", json!({"how": "failed"})),
        ("fail", json!({"how": "arguments"})),
        ("fail", json!({"how": "internal"})),
        ("fail", json!({"how": "protocol"})),
        ("count", json!({})),
        ("unknown", json!({})),
    ];
    let request = |(id, (name, arguments)): (usize, (&str, Value))| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": name,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/logLevel": "info",
                "progressToken": id,
            },
        }})
    };
    calls.into_iter().enumerate().map(request).collect()
}

/// The messages of the server for each call: its notifications, then the response.
type Messages = Vec<Vec<Value>>;

/// Takes the messages of each call from the lines of a stream.
fn messages(lines: &mut dyn Iterator<Item = String>, calls: usize) -> Messages {
    let mut message = || serde_json::from_str::<Value>(&lines.next().unwrap()).unwrap();
    let mut of_call = || {
        let mut messages = vec![message()];
        while messages.last().unwrap().get("id").is_none() {
            messages.push(message());
        }
        messages
    };
    (0..calls).map(|_| of_call()).collect()
}

fn over_stdio(
    on_request: impl FnMut(&mut blocking::RequestContext<'_, '_>) -> Result<(), blocking::Error>,
) -> Messages {
    let input: String = calls().iter().map(|call| format!("{call}\n")).collect();
    let mut output = Vec::new();
    let app = blocking::App::new(&CONFIG).catalog(&CATALOG);
    let input = blocking::Threaded::new(std::io::Cursor::new(input.into_bytes()));
    app.serve_on(input, &mut output, on_request).unwrap();
    messages(&mut output.lines().map(Result::unwrap), calls().len())
}

/// Serves a line without an allocator.
fn over_a_line(handler: impl embedded_async::Handler) -> Messages {
    let (port, time) = (Port::new(usize::MAX), Time::default());
    let connection: embedded_async::Connection<'_, _, 1024, 256> =
        embedded_async::Connection::new(&CONFIG, handler).catalog(&CATALOG);
    let mut player = Player::new(connection.serve(port.clone(), port.clone(), &time));
    for call in calls() {
        port.bytes(format!("{call}\n"));
        assert_eq!(player.run(), None);
    }
    messages(&mut port.lines().lines().map(Result::unwrap), calls().len())
}

/// Runs a server until the client has its responses.
fn beside<T: Send + 'static>(
    served: impl Future<Output: std::fmt::Debug>,
    client: impl FnOnce() -> T + Send + 'static,
) -> T {
    let served = async { panic!("the server has ended: {:?}", served.await) };
    future::block_on(future::or(smol::unblock(client), served))
}

fn listen() -> (Async<TcpListener>, SocketAddr) {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    (listener, address)
}

fn over_a_socket<F: Future<Output = HandlerResult>>(handler: impl Fn(Context) -> F) -> Messages {
    let app = App::new(&CONFIG, handler).catalog(&CATALOG);
    let (listener, address) = listen();
    beside(serve(&app, &listener), move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let call = |call: Value| {
            stream.write_all(format!("{call}\n").as_bytes()).unwrap();
            messages(&mut lines, 1).remove(0)
        };
        calls().into_iter().map(call).collect()
    })
}

fn over_http<F: Future<Output = HandlerResult>>(handler: impl Fn(Context) -> F) -> Messages {
    let app = App::new(&CONFIG, handler).catalog(&CATALOG);
    let server = HttpServer::new(&app, HttpOptions::new()).unwrap();
    let client = server.clone();
    beside(server.run(&app), move || calls().iter().map(|call| post(&client, call)).collect())
}

/// Sends a request of 2026-07-28; returns the messages of its response.
fn post(server: &HttpServer, call: &Value) -> Vec<Value> {
    let tool = call["params"]["name"].as_str().unwrap();
    let mut response = Response::of(server, &modern(tool), call);
    std::iter::from_fn(|| response.next()).collect()
}

/// The fields of a call of 2026-07-28.
fn modern(tool: &str) -> [(&'static str, &str); 3] {
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)]
}

/// The response to a POST: a message, a stream of them, or none.
struct Response {
    exchange: HttpExchange,
    session: Option<String>,
    read: String,
}

impl Response {
    fn of(server: &HttpServer, fields: &[(&'static str, &str)], body: &Value) -> Self {
        future::block_on(async {
            let mut exchange = send(server, head("POST", fields), &body.to_string()).await;
            let mut fields = exchange.response().await.fields.into_iter();
            let session = fields.find(|(name, _)| *name == "mcp-session-id");
            Self { exchange, session: session.map(|(_, id)| id), read: String::new() }
        })
    }

    fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.read.split_once('\n') {
                let data = line.strip_prefix("data: ").unwrap_or(line);
                let message = data.starts_with('{').then(|| serde_json::from_str(data).unwrap());
                self.read = rest.to_owned();
                if message.is_some() {
                    return message;
                }
                continue;
            }
            match future::block_on(self.exchange.next_piece()) {
                Some(piece) => self.read += str::from_utf8(&piece.unwrap()).unwrap(),
                None if self.read.is_empty() => return None,
                // A message that is no event ends with its response.
                None => self.read.push('\n'),
            }
        }
    }
}

/// Returns the text, structured content or error of each response, one line for each call.
fn seen(messages: &Messages) -> Vec<String> {
    let response = |messages: &Vec<Value>| {
        let response = messages.last().unwrap();
        let result = &response["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        match (&response["error"], result.get("isError"), result.get("structuredContent")) {
            (Value::Null, Some(_), None) => format!("failed: {text}"),
            (Value::Null, None, Some(content)) => format!("structured: {content}"),
            (Value::Null, None, None) => text.to_owned(),
            (error, ..) => format!("{} {}", error["code"], error["message"]),
        }
    };
    messages.iter().map(response).collect()
}

const SEEN: [&str; 10] = [
    r#"structured: {"characters":3,"whole":"a é"}"#,
    "failed: text: must be a string of 1 to 200 characters, has 0",
    "2 blocks are copied",
    "failed: block: is unknown, must be one of blocks\nblocks: is missing, must be an integer from 0 to 4294967295",
    "failed: The disk is full",
    "failed: how: is not possible today",
    r#"-32603 "Internal error""#,
    r#"7 "Busy""#,
    "7",
    r#"-32602 "Unknown tool: unknown""#,
];

#[test]
fn tools_that_return_at_once_give_the_same_messages_on_every_transport() {
    let mut fast = Fast::default();
    let stdio = over_stdio(|ctx| ctx.call_tool(&mut fast));
    assert_eq!(seen(&stdio), SEEN);
    let fast = Mutex::new(Fast::default());
    assert_eq!(over_a_socket(|ctx| ctx.call_tool(&fast)), stdio);
    let fast = Mutex::new(Fast::default());
    assert_eq!(over_http(|ctx| ctx.call_tool(&fast)), stdio);
    assert_eq!(over_a_line(SyncTools::new(Fast::default())), stdio);
}

#[test]
fn tools_that_take_time_give_the_same_messages_on_every_transport() {
    let slow = Slow::default();
    let stdio = over_stdio(|ctx| ctx.call_async_tool(&slow));
    assert_eq!(seen(&stdio), SEEN);
    let methods = stdio[2].iter().map(|message| message["method"].as_str().unwrap_or("response"));
    let (progress, log) = ("notifications/progress", "notifications/message");
    assert_eq!(methods.collect::<Vec<_>>(), [progress, log, progress, log, "response"]);
    let slow = Slow::default();
    assert_eq!(over_a_socket(|ctx| ctx.call_async_tool(&slow)), stdio);
    let slow = Slow::default();
    assert_eq!(over_http(|ctx| ctx.call_async_tool(&slow)), stdio);
    assert_eq!(over_a_line(Slow::default()), stdio);
}

/// A client's end of a connection.
trait Wire {
    fn send(&mut self, message: &Value);
    /// Returns the next message for the request that was sent first.
    fn next(&mut self) -> Value;
    /// Sends a request while another one is open; returns the response.
    fn beside(&mut self, request: &Value) -> Value;
}

struct Lines(BufReader<TcpStream>);

impl Wire for Lines {
    fn send(&mut self, message: &Value) {
        self.0.get_mut().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn beside(&mut self, request: &Value) -> Value {
        self.send(request);
        self.next()
    }
}

struct Posts {
    server: HttpServer,
    session: Option<String>,
    response: Option<Response>,
}

impl Posts {
    fn post(&mut self, message: &Value) -> Response {
        let session = self.session.as_deref().unwrap_or_default();
        let of_session = [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", session)];
        let fields = match message["params"]["_meta"].is_object() {
            true => &modern("greet")[..],
            false if session.is_empty() => &[],
            false => &of_session,
        };
        Response::of(&self.server, fields, message)
    }
}

impl Wire for Posts {
    fn send(&mut self, message: &Value) {
        let response = self.post(message);
        self.session = self.session.take().or(response.session.clone());
        if message["method"].is_string() && message["id"].is_string() {
            self.response = Some(response);
        }
    }

    fn next(&mut self) -> Value {
        self.response.as_mut().unwrap().next().unwrap()
    }

    fn beside(&mut self, request: &Value) -> Value {
        self.post(request).next().unwrap()
    }
}

/// A user who is asked by the tool `greet`: returns the forms and the response of the tool.
fn talk(mut wire: impl Wire, era: Era) -> (Vec<Value>, Value) {
    let mut forms = Vec::new();
    let mut fill_in = |form: &Value| {
        assert_eq!(form["method"], "elicitation/create");
        forms.push(json!([form["params"]["message"], form["params"]["requestedSchema"]]));
        let content = match form["params"]["message"].as_str().unwrap() {
            "Who are you?" => json!({"name": "Ada"}),
            _ => json!({"town": "London"}),
        };
        json!({"action": "accept", "content": content})
    };
    let call = |id: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    let result = match era {
        Era::Modern => {
            let mut params = json!({"name": "greet", "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            }});
            loop {
                wire.send(&call("c", params.clone()));
                let result = wire.next()["result"].take();
                let Some(inputs) = result["inputRequests"].as_object() else { break result };
                let responses = inputs.iter().map(|(key, form)| (key.clone(), fill_in(form)));
                params["inputResponses"] = responses.collect();
                params["requestState"] = result["requestState"].clone();
                params.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            }
        }
        Era::Legacy => {
            wire.send(&json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"elicitation": {}},
                "clientInfo": {"name": "c", "version": "1"},
            }}));
            assert_eq!(wire.next()["id"], "i");
            wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
            wire.send(&call("c", json!({"name": "greet"})));
            loop {
                let mut message = wire.next();
                if message["id"] == "c" {
                    break message["result"].take();
                }
                // Others are served while the user thinks.
                let other =
                    wire.beside(&call("o", json!({"name": "split", "arguments": {"text": "a"}})));
                assert_eq!(
                    (&other["id"], &other["result"]["isError"]),
                    (&json!("o"), &Value::Null)
                );
                let response = fill_in(&message);
                wire.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": response}));
            }
        }
    };
    (forms, result["content"][0]["text"].clone())
}

fn ask_blocking(
    on_request: impl FnMut(&mut blocking::RequestContext<'_, '_>) -> Result<(), blocking::Error>,
    era: Era,
) -> (Vec<Value>, Value) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    let client = std::thread::spawn(move || talk(Lines(BufReader::new(client)), era));
    let app = blocking::App::new(&CONFIG).catalog(&CATALOG);
    let input = blocking::Threaded::new(server.try_clone().unwrap());
    app.serve_on(input, server, on_request).unwrap();
    client.join().unwrap()
}

fn ask_asynchronous<F: Future<Output = HandlerResult>>(
    handler: impl Fn(Context) -> F,
    era: Era,
) -> [(Vec<Value>, Value); 2] {
    let app = App::new(&CONFIG, handler).catalog(&CATALOG);
    let (listener, address) = listen();
    let lines = beside(serve(&app, &listener), move || {
        talk(Lines(BufReader::new(TcpStream::connect(address).unwrap())), era)
    });
    let server = HttpServer::new(&app, HttpOptions::new()).unwrap();
    let posts = Posts { server: server.clone(), session: None, response: None };
    let posts = beside(server.run(&app), move || talk(posts, era));
    [lines, posts]
}

#[test]
fn a_tool_asks_the_user_on_every_transport_in_both_eras() {
    for era in [Era::Legacy, Era::Modern] {
        let mut fast = Fast::default();
        let stdio = ask_blocking(|ctx| ctx.call_tool(&mut fast), era);
        let messages = stdio.0.iter().map(|form| &form[0]).collect::<Vec<_>>();
        assert_eq!(messages, ["Who are you?", "Where do you live?"], "{era:?}");
        assert_eq!(stdio.1, "Hello, Ada of London", "{era:?}");
        let slow = Slow::default();
        assert_eq!(ask_blocking(|ctx| ctx.call_async_tool(&slow), era), stdio, "{era:?}");
        let fast = Mutex::new(Fast::default());
        let [lines, posts] = ask_asynchronous(|ctx| ctx.call_tool(&fast), era);
        assert_eq!((&lines, &posts), (&stdio, &stdio), "{era:?}");
        let [lines, posts] = ask_asynchronous(|ctx| ctx.call_async_tool(&slow), era);
        assert_eq!((&lines, &posts), (&stdio, &stdio), "{era:?}");
    }
}
