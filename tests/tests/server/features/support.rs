//! A server with helpers for its input and output.

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    Catalog, Change, Entry, Frame, Instant, Messages, Remaining, Request, Revision, SendResult,
    Server, ServerConfig, ServerEvent, ServerFeatures, Target, Tx, TxBuffer,
};
use mcp_sansio_tests::line::Line;
use mcp_sansio_tests::memory::new_server;
use serde_json::{Value, json};

pub(crate) use mcp_sansio_tests::json::{REVISIONS, lines, raw};

pub(crate) const EVERYTHING: ServerFeatures = ServerFeatures::TOOLS_LIST_CHANGED
    .with(ServerFeatures::RESOURCES_LIST_CHANGED)
    .with(ServerFeatures::RESOURCES_SUBSCRIBE)
    .with(ServerFeatures::PROMPTS_LIST_CHANGED)
    .with(ServerFeatures::COMPLETIONS)
    .with(ServerFeatures::LOGGING);

pub(crate) static CONFIG: ServerConfig<'static> =
    ServerConfig::new(Implementation::new("s", "1"), EVERYTHING).send_server_info(false);

/// Returns the entries for these tools, resources, templates or prompts. They are never freed.
pub(crate) fn entries<'c, T>(values: &'c [T]) -> &'c [Entry<'c>]
where
    Entry<'c>: From<&'c T>,
{
    values.iter().map(Entry::from).collect::<Vec<_>>().leak()
}

/// Capabilities of a client that declares everything.
pub(crate) fn can_do_everything() -> Value {
    json!({"roots": {}, "sampling": {"tools": {}, "context": {}}, "elicitation": {"form": {}, "url": {}}})
}

/// A connection; with a legacy revision, its session is open.
pub(crate) struct Peer {
    pub(crate) server: Server<'static>,
    pub(crate) revision: Revision,
    capabilities: Value,
    ids: u32,
}

impl Peer {
    pub(crate) fn new(revision: Revision) -> Self {
        Self::that_can(revision, can_do_everything())
    }

    pub(crate) fn that_can(revision: Revision, capabilities: Value) -> Self {
        Self::with_config(revision, &CONFIG, capabilities)
    }

    pub(crate) fn with_config(
        revision: Revision,
        config: &'static ServerConfig<'static>,
        capabilities: Value,
    ) -> Self {
        let mut peer = Self {
            server: new_server::<8, 8>(config),
            revision,
            capabilities: capabilities.clone(),
            ids: 0,
        };
        if !revision.is_modern() {
            let answer = peer.say(&initialize(revision, &capabilities), |_, _, _| {});
            assert_eq!(answer[0]["result"]["protocolVersion"], revision.as_str());
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            assert!(peer.say(&initialized, |_, _, _| {}).is_empty());
        }
        peer
    }

    /// A request in the peer's revision, with a new id.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.ids += 1;
        if self.revision.is_modern() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        json!({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params})
    }

    /// Handles a message; returns the output.
    pub(crate) fn say(
        &mut self,
        message: &Value,
        handle: impl FnMut(&mut Server<'static>, ServerEvent<'_>, &mut Tx<'_>),
    ) -> Vec<Value> {
        self.say_text(&message.to_string(), handle)
    }

    /// Does the same for a text.
    pub(crate) fn say_text(
        &mut self,
        line: &str,
        mut handle: impl FnMut(&mut Server<'static>, ServerEvent<'_>, &mut Tx<'_>),
    ) -> Vec<Value> {
        let mut tx = TxBuffer::with_limit(Vec::new(), 1 << 20);
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        while let Some(event) =
            self.server.next_event(NOW, &mut messages, &mut tx).expect("the buffer has room")
        {
            handle(&mut self.server, event, &mut tx);
        }
        lines(tx.pending())
    }

    /// Handles a request with `answer`; returns the one message sent.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        params: Value,
        mut answer: impl FnMut(&mut Server<'static>, &Request<'_>, &mut Tx<'_>),
    ) -> Value {
        let message = self.request(method, params);
        let mut sent = self.say(&message, |server, event, tx| match event {
            ServerEvent::Request(request) => answer(server, &request, tx),
            other => panic!("{other:?}"),
        });
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert_eq!(sent[0]["id"], message["id"]);
        sent.remove(0)
    }

    /// Handles a call of a tool with `answer`; returns the one message sent.
    pub(crate) fn call(
        &mut self,
        answer: impl FnMut(&mut Server<'static>, &Request<'_>, &mut Tx<'_>),
    ) -> Value {
        self.ask("tools/call", json!({"name": "t"}), answer)
    }

    /// Returns what a catalog responds to a request.
    pub(crate) fn look_up(&mut self, catalog: &Catalog<'_>, method: &str, params: Value) -> Value {
        self.ask(method, params, |server, request, tx| {
            let found = catalog.respond(server, request, tx);
            assert!(matches!(found, Ok(Target::Responded)), "{found:?}");
        })
    }

    /// Handles a request with `answer` through a buffer of `size` bytes; returns the one message
    /// sent.
    pub(crate) fn ask_through(
        &mut self,
        size: usize,
        method: &str,
        params: Value,
        mut answer: impl FnMut(&mut Server<'static>, &Request<'_>, &mut Tx<'_>) -> SendResult,
    ) -> Value {
        let line = self.request(method, params).to_string();
        let mut messages = Messages::new(Frame::Complete(line.as_bytes()));
        let (event, _) = through(64, |tx| self.server.next_event(NOW, &mut messages, tx));
        let Some(ServerEvent::Request(request)) = event else { panic!("{event:?}") };
        let ((), sent) = through(size, |tx| answer(&mut self.server, &request, tx));
        lines(&sent).remove(0)
    }
}

/// The request that opens a session.
pub(crate) fn initialize(revision: Revision, capabilities: &Value) -> Value {
    let params = json!({"protocolVersion": revision.as_str(), "capabilities": capabilities,
        "clientInfo": {"name": "c", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params})
}

/// Returns the capabilities that a server declares in a revision.
pub(crate) fn declared(revision: Revision, config: &'static ServerConfig<'static>) -> Value {
    let mut peer = Peer::with_config(Revision::LATEST, config, can_do_everything());
    let request = match revision.is_modern() {
        true => peer.request("server/discover", json!({})),
        false => initialize(revision, &json!({})),
    };
    peer.say(&request, |_, _, _| {})[0]["result"]["capabilities"].take()
}

/// Writes through a buffer of `size` bytes; returns the output.
pub(crate) fn through<R>(
    size: usize,
    call: impl FnMut(&mut Tx<'_>) -> SendResult<R>,
) -> (R, Vec<u8>) {
    let mut line = Line::new(size);
    let result = line.send(call).expect("it is sent");
    (result, line.take().into_bytes())
}

/// Publishes a change through a buffer of `size` bytes; returns the output.
pub(crate) fn published(
    server: &mut Server<'static>,
    change: &mut Change<'_>,
    size: usize,
) -> Vec<Value> {
    in_frames(size, |tx| server.publish(change, tx))
}

/// Writes all frames of what may be several through a buffer of `size` bytes; returns the output.
pub(crate) fn in_frames(
    size: usize,
    mut call: impl FnMut(&mut Tx<'_>) -> SendResult<Remaining>,
) -> Vec<Value> {
    let mut output = Vec::new();
    loop {
        let (remaining, sent) = through(size, &mut call);
        output.extend(lines(&sent));
        if !remaining.is_more() {
            return output;
        }
    }
}

pub(crate) const NOW: Instant = Instant::from_millis(0);

/// Asserts that arguments were refused with these words, which are for the model from 2025-11-25
/// on.
pub(crate) fn assert_refused(revision: Revision, refused: &Value, words: &str) {
    if revision < Revision::V2025_11_25 {
        assert_eq!(refused["error"], json!({"code": -32602, "message": words}));
    } else {
        assert_eq!(refused["result"]["isError"], true);
        assert_eq!(refused["result"]["content"], json!([{"type": "text", "text": words}]));
    }
}
