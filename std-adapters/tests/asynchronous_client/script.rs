//! A scripted server, and the driver that runs it against a client.

use std::future::Future;
use std::time::Duration;

use futures_lite::{AsyncReadExt, AsyncWriteExt, future};
use mcp_sansio::types::{CallToolParams, TextResult};
use mcp_sansio::{
    CallOptions, Instant, OwnedJson, RawJson, Request, RequestHandle, RxBuffer, Server,
    ServerConfig, ServerEvent, ServerState, TxBuffer,
};
use mcp_sansio_adapters::asynchronous::client::{CallError, Client, ConnectionEnd, Connector};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::pipe::{Pipe, pipe};
use crate::task_script::{content, ok};

/// The server of a script. Its output grows as needed, so no call has to be repeated.
pub(crate) struct Session {
    pub(crate) server: Server<'static>,
    pub(crate) tx: TxBuffer<Vec<u8>>,
}

/// Virtual time of all scripts.
pub(crate) const NOW: Instant = Instant::from_millis(0);

impl Session {
    pub(crate) fn new(config: &'static ServerConfig<'static>) -> Self {
        Self {
            server: Box::leak(Box::new(ServerState::<8, 8>::new())).server(config),
            tx: TxBuffer::with_limit(Vec::new(), 64 << 20),
        }
    }

    pub(crate) fn text(&mut self, request: RequestHandle, text: &str) {
        self.server.respond(request, &TextResult::new(text), &mut self.tx).unwrap();
    }

    /// Processes all input.
    fn take(
        &mut self,
        rx: &mut RxBuffer<Vec<u8>>,
        script: &mut impl FnMut(&ServerEvent<'_>, &mut Self),
    ) {
        while let Some(mut messages) = rx.next_messages() {
            while let Some(event) =
                self.server.next_event(NOW, &mut messages, &mut self.tx).unwrap()
            {
                script(&event, self);
            }
        }
        while let Some(event) = self.server.handle_timeout(NOW, &mut self.tx).unwrap() {
            script(&event, self);
        }
    }
}

/// Returns the name of the tool that is called.
pub(crate) fn tool(request: &Request<'_>) -> String {
    request.name().map_or_else(String::new, |name| name.to_string())
}

/// Responds with the name of the tool.
pub(crate) fn echo(event: &ServerEvent<'_>, session: &mut Session) {
    if let ServerEvent::Request(request) = event {
        session.text(request.handle, &tool(request));
    }
}

/// Reads, responds and writes in turn, until the client closes.
pub(crate) async fn serve(
    mut pipe: Pipe,
    config: &'static ServerConfig<'static>,
    mut script: impl FnMut(&ServerEvent<'_>, &mut Session),
) {
    let mut session = Session::new(config);
    let mut rx = RxBuffer::with_limit(Vec::new(), 64 << 20);
    loop {
        let read = pipe.read(rx.spare()).await.unwrap();
        if read == 0 {
            return;
        }
        rx.commit(read);
        session.take(&mut rx, &mut script);
        if pipe.write_all(session.tx.pending()).await.is_err() {
            return;
        }
        session.tx.advance(usize::MAX);
    }
}

/// A server of lines, which says this to each message until the client closes.
pub(crate) async fn speak(mut pipe: Pipe, mut answer: impl FnMut(&Value) -> Vec<Value>) {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = pipe.read(&mut buffer).await.unwrap();
        if read == 0 {
            return;
        }
        text.extend_from_slice(&buffer[..read]);
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            for said in answer(&serde_json::from_slice(&line).unwrap()) {
                if pipe.write_all(format!("{said}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// The response to the first call, as a line.
pub(crate) fn first_response(text: &str) -> Vec<u8> {
    format!("{}\n", ok(&json!({"id": 1}), content(text))).into_bytes()
}

/// Runs a client against a script, until it drops its arguments. Returns how the connection ended.
pub(crate) fn play<R>(
    connector: Connector,
    config: &'static ServerConfig<'static>,
    script: impl FnMut(&ServerEvent<'_>, &mut Session),
    work: impl AsyncFnOnce(Client) -> R,
) -> (R, ConnectionEnd) {
    play_on(connector, pipe(1 << 20, 1 << 20), |pipe| serve(pipe, config, script), work)
}

pub(crate) fn play_on<R, F: Future<Output = ()>>(
    connector: Connector,
    (ours, theirs): (Pipe, Pipe),
    server: impl FnOnce(Pipe) -> F,
    work: impl AsyncFnOnce(Client) -> R,
) -> (R, ConnectionEnd) {
    let (client, connection) = connector.connect(ours);
    let all = future::zip(future::zip(work(client), connection), server(theirs));
    let ((result, end), ()) = run(all);
    (result, end.unwrap())
}

/// Runs in virtual time, and fails a test that hangs.
pub(crate) fn run<R>(work: impl Future<Output = R>) -> R {
    crate::virtual_time::block_on(async { timeout(Duration::from_secs(30), work).await })
        .expect("the test ends in time")
}

/// Runs with sockets, processes or threads, in the time of the machine.
pub(crate) fn run_in_real_time<R>(work: impl Future<Output = R>) -> R {
    smol::block_on(future::or(async { Some(work.await) }, async {
        async_io::Timer::after(Duration::from_secs(60)).await;
        None
    }))
    .expect("the test ends in time")
}

/// Calls a tool.
pub(crate) async fn call(client: &Client, tool: &str) -> Result<OwnedJson, CallError> {
    client.request("tools/call", &CallToolParams::new(tool), CallOptions::new()).await
}

/// Returns the text of a tool's result.
pub(crate) fn text(result: &OwnedJson) -> String {
    let content = result.as_json().get("content").and_then(|content| content.elements().next());
    content.and_then(|block| block.get("text")).and_then(RawJson::as_string).unwrap().to_string()
}
