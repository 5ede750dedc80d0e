//! A client that writes and reads lines, and the applications that it tests.

use std::future::Future;
use std::ops::Deref;

use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};
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
pub(crate) fn talk<A, H, F, T>(
    app: A,
    (capacity, chunk): (usize, usize),
    client: impl AsyncFnOnce(Client<Pipe>) -> T,
) -> (T, ConnectionEnd)
where
    A: Deref<Target = App<H>> + Unpin,
    H: Fn(Context) -> F,
    F: Future<Output = HandlerResult>,
{
    let (server, end) = pipe(capacity, chunk);
    let connection = Connection::new(app, server);
    let both = future::zip(client(Client::new(end)), connection);
    let (output, ended) = super::virtual_time::block_on(both);
    (output, ended.unwrap())
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

pub(crate) fn legacy(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn cancel(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

/// Buffer size that never delays a test.
pub(crate) const WIDE: (usize, usize) = (1 << 20, 1 << 20);
