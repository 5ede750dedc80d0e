//! One file of tools behind three transports: the same conversation has the same messages.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod tools;

use std::future::Future;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::Duration;

use async_io::Async;
use futures_lite::future;
use mcp_sansio::types::Implementation;
use mcp_sansio::{ServerConfig, ServerFeatures};
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, serve};
use mcp_sansio_adapters::blocking;
use serde_json::{Value, json};

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

/// Runs a server until the client has its responses.
fn beside<T: Send + 'static>(
    served: impl Future<Output = std::io::Result<()>>,
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
    let (listener, address) = listen();
    beside(http::serve(&app, listener, HttpOptions::new()), move || {
        calls().iter().map(|call| post(address, call)).collect()
    })
}

/// Sends a request; returns the messages of its response.
fn post(address: SocketAddr, call: &Value) -> Vec<Value> {
    let (body, tool) = (call.to_string(), call["params"]["name"].as_str().unwrap());
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = BufReader::new(stream);
    let mut length = None;
    for line in response.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()) {
        length = length.or(line.strip_prefix("content-length: ").map(|len| len.parse().unwrap()));
    }
    if let Some(length) = length {
        let mut body = vec![0; length];
        response.read_exact(&mut body).unwrap();
        return vec![serde_json::from_slice(&body).unwrap()];
    }
    let mut events = String::new();
    loop {
        let mut size = String::new();
        response.read_line(&mut size).unwrap();
        let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).unwrap() + "\r\n".len()];
        response.read_exact(&mut chunk).unwrap();
        events += std::str::from_utf8(&chunk).unwrap().strip_suffix("\r\n").unwrap();
        if chunk == b"\r\n" {
            break;
        }
    }
    let data = events.lines().filter_map(|line| line.strip_prefix("data: {"));
    data.map(|data| serde_json::from_str(&format!("{{{data}")).unwrap()).collect()
}

/// What there is to see in the responses, one line for each call.
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
    "failed: text: must have at least 1 character, has 0",
    "2 blocks are copied",
    "failed: block: is unknown, must be one of blocks\nblocks: is missing, must be an integer from 0 to 4294967295",
    "failed: The disk is full",
    "failed: how: is not possible today",
    r#"-32603 "Internal error""#,
    r#"7 "Busy""#,
    "7",
    r#"-32602 "Unknown tool""#,
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
}

/// Sends lines, each after a message with an id: a response to a request without an id of its own
/// gets that of the message before. Returns the messages with an id.
fn exchange(address: SocketAddr, lines: Vec<Value>) -> Vec<Value> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answers = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
    let mut seen: Vec<Value> = Vec::new();
    for mut line in lines {
        let is_notification = line.get("id").is_none();
        if line["id"].is_null() && !is_notification {
            line["id"] = seen.last().unwrap()["id"].clone();
        }
        stream.write_all(format!("{line}\n").as_bytes()).unwrap();
        if is_notification {
            continue;
        }
        seen.push(messages(&mut answers, 1).remove(0).pop().unwrap());
    }
    seen
}

#[test]
fn a_tool_asks_the_user_in_both_eras() {
    let modern = |more: Value| {
        let mut call = calls().remove(0);
        let capabilities = "io.modelcontextprotocol/clientCapabilities";
        call["params"]["name"] = json!("greet");
        call["params"]["arguments"] = json!({});
        call["params"]["_meta"][capabilities] = json!({"elicitation": {"form": {}}});
        call["params"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call
    };
    let accepted = json!({"action": "accept", "content": {"name": "Ada"}});
    let rounds = [modern(json!({})), modern(json!({"inputResponses": {"guest": accepted}}))];
    let first = rounds[0].clone();
    let legacy = [
        json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "c", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": "greet"}}),
        json!({"jsonrpc": "2.0", "id": null, "result": accepted}),
    ];
    let slow = Slow::default();
    let app = App::new(&CONFIG, |ctx| ctx.call_async_tool(&slow)).catalog(&CATALOG);
    let (listener, address) = listen();
    let [modern, legacy] = beside(serve(&app, &listener), move || {
        [exchange(address, rounds.into()), exchange(address, legacy.into())]
    });
    let asked = &modern[0]["result"]["inputRequests"]["guest"];
    assert_eq!(
        (&asked["method"], &legacy[1]["method"]),
        (&json!("elicitation/create"), &asked["method"])
    );
    for params in [&asked["params"], &legacy[1]["params"]] {
        assert_eq!(params["message"], "Who are you?");
        assert_eq!(params["requestedSchema"]["required"], json!(["name"]));
    }
    assert_eq!(modern[1]["result"]["content"][0]["text"], "Hello, Ada");
    assert_eq!(legacy[2]["result"]["content"], modern[1]["result"]["content"]);

    // One call at a time leaves nothing that could read the response.
    let stdio = blocking::App::new(&CONFIG).catalog(&CATALOG);
    let mut output = Vec::new();
    let line = format!("{first}\n");
    let input = blocking::Threaded::new(std::io::Cursor::new(line.into_bytes()));
    stdio.serve_on(input, &mut output, |ctx| ctx.call_async_tool(&slow)).unwrap();
    let refused: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(refused["error"]["code"], -32603);
}
