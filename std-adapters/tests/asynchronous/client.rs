//! A client that writes and reads lines, and the applications that it tests.

use std::future::Future;

use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
use mcp_sansio::types::{
    ElicitParams, ElicitResult, Field, InputRequest, RequestedSchema, StringSchema,
};
use mcp_sansio::{OwnedInputResponse, RawJson, ToolError};
use mcp_sansio_adapters::asynchronous::{App, Connection, ConnectionEnd, Context, HandlerResult};
use serde_json::{Value, json};

use super::pipe::{Pipe, pipe};

/// A client on any stream.
pub(crate) struct Client<T> {
    pub(crate) stream: T,
    read: Vec<u8>,
}

impl<T: AsyncRead + AsyncWrite + Unpin> Client<T> {
    pub(crate) fn new(stream: T) -> Self {
        Self { stream, read: Vec::new() }
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.stream.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Reads the beginning of the next message.
    pub(crate) async fn begin(&mut self) {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).await.unwrap();
        self.read.extend_from_slice(&byte);
    }

    /// Returns the next message; `None` at the end.
    pub(crate) async fn line(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let mut chunk = [0; 4096];
            let len = self.stream.read(&mut chunk).await.unwrap_or(0);
            if len == 0 {
                assert!(self.read.is_empty(), "an incomplete message");
                return None;
            }
            self.read.extend_from_slice(&chunk[..len]);
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        self.line().await.expect("the server has closed the connection")
    }

    pub(crate) async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        self.next().await
    }

    /// As [`ask`](Self::ask), for a message whose exact text matters.
    pub(crate) async fn ask_text(&mut self, message: &str) -> Value {
        self.stream.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        self.next().await
    }

    /// Responds to a request of the server.
    pub(crate) async fn respond(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
    }

    /// `initialize` at 2025-11-25, with all capabilities for input requests.
    pub(crate) async fn initialize(&mut self) {
        let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}});
        let answer = self
            .ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
            .await;
        assert!(answer["result"].is_object(), "{answer}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    }
}

/// Runs a client against one connection of the application, in virtual time. Returns how the
/// connection ended.
pub(crate) fn talk<F: Future<Output = HandlerResult>, T>(
    app: &App<impl Fn(Context) -> F>,
    (capacity, chunk): (usize, usize),
    client: impl AsyncFnOnce(Client<Pipe>) -> T,
) -> (T, ConnectionEnd) {
    let (server, end) = pipe(capacity, chunk);
    let connection = Connection::new(app, server);
    let both = future::zip(client(Client::new(end)), connection);
    let (output, ended) = super::virtual_time::block_on(both);
    (output, ended.unwrap())
}

/// As [`talk`], with a client that has opened a session of 2025-11-25.
pub(crate) fn in_session<F: Future<Output = HandlerResult>, T>(
    app: &App<impl Fn(Context) -> F>,
    sizes: (usize, usize),
    client: impl AsyncFnOnce(Client<Pipe>) -> T,
) -> (T, ConnectionEnd) {
    talk(app, sizes, async |mut opened| {
        opened.initialize().await;
        client(opened).await
    })
}

/// Calls the tool `ask`, and answers what it asks. Returns the last response, and the keys of the
/// requests of each round.
pub(crate) fn converse<F: Future<Output = HandlerResult>>(
    app: &App<impl Fn(Context) -> F>,
    sizes: (usize, usize),
    is_modern: bool,
    mut answer: impl FnMut(&Value) -> Value,
) -> (Value, Vec<String>) {
    let conversation = async |mut client: Client<Pipe>| {
        let mut rounds = Vec::new();
        if !is_modern {
            client.initialize().await;
            client.send(&legacy_call(1, "ask")).await;
            loop {
                let message = client.next().await;
                if message["method"].is_null() {
                    return (message, rounds);
                }
                client.respond(&message, answer(&message)).await;
            }
        }
        let mut params = json!({"name": "ask"});
        loop {
            let id = u32::try_from(rounds.len()).unwrap() + 1;
            let response = client.ask(&modern(id, "tools/call", params)).await;
            let Some(asked) = response["result"]["inputRequests"].as_object() else {
                return (response, rounds);
            };
            rounds.push(asked.keys().cloned().collect::<Vec<_>>().join(" "));
            let answers: Value =
                asked.iter().map(|(key, question)| (key.clone(), answer(question))).collect();
            params = json!({"name": "ask", "inputResponses": answers});
            // The client sends the state back, if there is one, and never repeats responses.
            if let Some(state) = response["result"].get("requestState") {
                params["requestState"] = state.clone();
            }
        }
    };
    talk(app, sizes, conversation).0
}

/// Returns `1 text`, `1 error -32603`, or the whole of another message.
pub(crate) fn short(message: &Value) -> String {
    let id = &message["id"];
    match (&message["error"]["code"], &message["result"]["content"][0]["text"]) {
        (Value::Number(code), _) => format!("{id} error {code}"),
        (_, Value::String(text)) => format!("{id} {text}"),
        _ => message.to_string(),
    }
}

/// A modern request, with all capabilities for input requests.
pub(crate) fn modern(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}, "roots": {}},
        "progressToken": id,
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn call(id: u32, tool: &str, arguments: Value) -> Value {
    modern(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A modern request of a client that supports tasks.
pub(crate) fn task_request(id: u32, method: &str, params: Value) -> Value {
    let mut request = modern(id, method, params);
    let meta = &mut request["params"]["_meta"];
    meta["io.modelcontextprotocol/clientCapabilities"]["extensions"] =
        json!({"io.modelcontextprotocol/tasks": {}});
    request
}

pub(crate) fn task_call(id: u32, tool: &str, arguments: Value) -> Value {
    task_request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

pub(crate) fn legacy(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A call of a tool of 2025-11-25.
pub(crate) fn legacy_call(id: u32, tool: &str) -> Value {
    legacy(id, "tools/call", json!({"name": tool}))
}

pub(crate) fn cancel(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

const FORM: RequestedSchema<'_> =
    RequestedSchema::new(&[Field::required("name", StringSchema::new().schema())]);

/// A form with a name.
pub(crate) fn form(message: &str) -> InputRequest<'_> {
    InputRequest::Elicit(ElicitParams::form(message, FORM))
}

/// The answer of a person who has filled in a [`form`].
pub(crate) fn filled_in(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

/// Returns what was filled into a [`form`].
pub(crate) fn name(answer: &OwnedInputResponse) -> Result<String, ToolError<'static>> {
    let content = answer.to::<ElicitResult<'_>>()?.content.ok_or("declined")?;
    let name = content.get("name").and_then(RawJson::as_string);
    Ok(name.ok_or(ToolError::invalid_input_response("no name"))?.to_string())
}

/// Buffer size that never delays a test.
pub(crate) const WIDE: (usize, usize) = (1 << 20, 1 << 20);
