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
use std::sync::{Arc, Mutex, OnceLock};

use async_io::Async;
use futures_lite::future;
use mcp_sansio::typed::SyncTools;
use mcp_sansio::types::{ElicitResult, Implementation};
use mcp_sansio::{ClientConfig, ClientFeatures, Era, RawJson, ServerConfig, ServerFeatures};
use mcp_sansio_adapters::asynchronous::client::http::HttpTransport;
use mcp_sansio_adapters::asynchronous::client::{Client, Connector, OwnedInputRequest, Transport};
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions, HttpServer};
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
fn beside<T>(served: impl Future<Output: std::fmt::Debug>, client: impl Future<Output = T>) -> T {
    let served = async { panic!("the server has ended: {:?}", served.await) };
    future::block_on(future::or(client, served))
}

fn listen() -> (Async<TcpListener>, SocketAddr) {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).unwrap();
    let address = listener.get_ref().local_addr().unwrap();
    (listener, address)
}

fn over_a_socket<F: Future<Output = HandlerResult>>(handler: impl Fn(Context) -> F) -> Messages {
    let app = App::new(&CONFIG, handler).catalog(&CATALOG);
    let (listener, address) = listen();
    let client = smol::unblock(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let call = |call: Value| {
            stream.write_all(format!("{call}\n").as_bytes()).unwrap();
            messages(&mut lines, 1).remove(0)
        };
        calls().into_iter().map(call).collect()
    });
    beside(serve(&app, &listener), client)
}

fn over_http<F: Future<Output = HandlerResult>>(handler: impl Fn(Context) -> F) -> Messages {
    let app = App::new(&CONFIG, handler).catalog(&CATALOG);
    let server = HttpServer::new(&app, HttpOptions::new()).unwrap();
    let client = async {
        let mut all = Vec::new();
        for call in calls() {
            let tool = call["params"]["name"].as_str().unwrap();
            let version = ("MCP-Protocol-Version", "2026-07-28");
            let fields = [version, ("Mcp-Method", "tools/call"), ("Mcp-Name", tool)];
            let mut exchange = send(&server, head("POST", &fields), &call.to_string()).await;
            all.push(exchange::messages(&mut exchange).await);
        }
        all
    };
    beside(server.run(&app), client)
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

static CLIENT: ClientConfig<'_> =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::ELICITATION_FORM);

/// A user who is asked by the tool `greet`: returns the forms and the response of the tool.
async fn talk(transport: impl Transport, era: Era) -> (Vec<Value>, Value) {
    let (forms, client) = (Arc::<Mutex<Vec<Value>>>::default(), Arc::<OnceLock<Client>>::default());
    let (kept, other) = (Arc::clone(&forms), Arc::clone(&client));
    let fill_in = move |form: OwnedInputRequest| {
        let (kept, other) = (Arc::clone(&kept), Arc::clone(&other));
        async move {
            // Others are served while the user thinks.
            let text = RawJson::from_static(r#"{"text":"a"}"#);
            let split = other.get().unwrap().call_tool("split", &text).await.unwrap();
            assert!(split.as_json().get("isError").is_none());
            let asked: Value = serde_json::from_str(form.as_json().as_str()).unwrap();
            assert_eq!(asked["method"], "elicitation/create");
            let content = match asked["params"]["message"].as_str().unwrap() {
                "Who are you?" => r#"{"name":"Ada"}"#,
                _ => r#"{"town":"London"}"#,
            };
            kept.lock().unwrap().push(asked);
            form.respond(&ElicitResult::accept(RawJson::from_static(content)))
        }
    };
    let connector = Connector::new(&CLIENT).era(era).on_input_request(fill_in);
    let (connected, connection) = connector.connect(transport);
    let client = client.get_or_init(|| connected);
    let greeted = connection.drive(client.call_tool("greet", &RawJson::EMPTY)).await.unwrap();
    let greeted: Value = serde_json::from_str(greeted.as_json().as_str()).unwrap();
    (std::mem::take(&mut forms.lock().unwrap()), greeted["content"][0]["text"].clone())
}

/// The same over a socket.
async fn talk_at(address: SocketAddr, era: Era) -> (Vec<Value>, Value) {
    talk(Async::<TcpStream>::connect(address).await.unwrap(), era).await
}

fn ask_blocking(
    on_request: impl FnMut(&mut blocking::RequestContext<'_, '_>) -> Result<(), blocking::Error>,
    era: Era,
) -> (Vec<Value>, Value) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = std::thread::spawn(move || future::block_on(talk_at(address, era)));
    let (server, _) = listener.accept().unwrap();
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
    let lines = beside(serve(&app, &listener), talk_at(address, era));
    let (listener, address) = listen();
    let transport = HttpTransport::new(&format!("http://{address}/mcp")).unwrap();
    let served = http::serve(&app, &listener, HttpOptions::new());
    [lines, beside(served, talk(transport, era))]
}

#[test]
fn a_tool_asks_the_user_on_every_transport_in_both_eras() {
    for era in Era::ALL {
        let mut fast = Fast::default();
        let stdio = ask_blocking(|ctx| ctx.call_tool(&mut fast), era);
        let messages = stdio.0.iter().map(|form| &form["params"]["message"]).collect::<Vec<_>>();
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
