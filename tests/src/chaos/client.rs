//! Random input for a client.

use std::io::Read as _;
use std::time::Duration;

use mcp_sansio::types::{Implementation, SubscriptionFilter, TextResult};
use mcp_sansio::{
    CallOptions, CallOutcome, Client, ClientConfig, ClientEvent, ClientState, Era, Instant,
    RawJson, RequestHandle, Revision, Revisions, RxBuffer,
};

use crate::chaos::script::Script;
use crate::frames::record;
use crate::pair::{Application, CLIENT_FEATURES, End, Port};

/// Feeds `data` to a client in one of several states: connecting, or connected in either era with
/// calls, subscriptions and input requests open. The first bytes choose the state, the sizes of the
/// buffers, and the chunks.
///
/// These must hold:
/// - Each line written is a JSON object, and not a response if the server is modern.
/// - Each call ends once: with an event, or with [`Client::close`].
/// - Handling a frame ends, and after `close` nothing is open.
pub fn client_survives(data: &[u8]) {
    let script = Script::new(data);
    let state = script.below(8);
    let room = *script.pick(&[4096, 4096, 200, 64, 16, 3]);
    let size = *script.pick(&[4096, 4096, 1000, 300, 64, 8]);
    let chunk = *script.pick(&[usize::MAX, 100, 7, 1]);
    let mut memory = ClientState::<4>::new();
    let mut end = ClientEnd::new(memory.client(&CONFIGS[state % 4]), room, App::default());
    end.bring_into(state);
    end.rx = RxBuffer::new(vec![0; size]);
    let mut now = 2;
    while !script.is_over() {
        let bytes = input(&script);
        record("Server", bytes.escape_ascii());
        for chunk in bytes.chunks(chunk) {
            end.hear(chunk, now);
        }
        match script.below(12) {
            0 => now += 300,
            1 => now += 100_000,
            2 => end.answer(),
            _ => {}
        }
        end.handle_timeouts(Instant::from_millis(now));
        end.check_output();
    }
    end.finish();
}

/// A message, perhaps with a wrong byte, or random bytes.
fn input(script: &Script<'_>) -> Vec<u8> {
    const IDS: [&str; 11] =
        ["1", "2", "3", "4", "5", "6", "\"1\"", "1.0", "null", "4294967295", "\"x\""];
    let kind = script.below(4);
    if kind == 0 {
        return script.take(40).to_vec();
    }
    let line = *script.pick(&LINES);
    let id = *script.pick(&IDS);
    let mut line = line.replace('#', id).into_bytes();
    if kind == 1 {
        let at = (script.below(256) * 7) % line.len();
        line[at] = script.byte();
    }
    line.push(b'\n');
    line
}

type ClientEnd<'c> = End<Client<'c>, App>;

#[derive(Default)]
struct App {
    /// Number of calls that have not ended.
    calls: usize,
    /// Requests of the server that have no response.
    requests: Vec<RequestHandle>,
}

impl ClientEnd<'_> {
    /// Brings the client into a state: 0 to 3 is connecting; 4 to 7 is connected, with calls open.
    fn bring_into(&mut self, state: usize) {
        let at = Instant::from_millis(1);
        if state % 4 == 1 {
            self.machine.set_era(Some(Era::Modern));
        }
        self.send(|client, tx| client.connect(at, tx)).expect("connecting starts");
        if state < 4 {
            return;
        }
        let revision = if state % 4 == 3 { "2025-03-26" } else { "2025-11-25" };
        if state == 4 {
            self.hear(format!("{DISCOVERED}\n").as_bytes(), 1);
        } else if state > 5 {
            self.hear(format!("{INITIALIZED}\n").replace("REVISION", revision).as_bytes(), 1);
        }
        assert!(self.machine.is_open());
        let options = CallOptions::new().progress(true);
        for (method, params) in [
            ("tools/call", RawJson::from_static(r#"{"name":"t"}"#)),
            ("resources/read", RawJson::from_static(r#"{"uri":"m://1"}"#)),
        ] {
            self.send(|client, tx| client.request(at, method, &params, options, tx)).expect("room");
        }
        let filter = SubscriptionFilter::new().tools_list_changed(true);
        let listens = self.send(|client, tx| client.listen(at, &filter, options, tx));
        self.app.calls = 2 + usize::from(listens.is_ok());
    }

    fn hear(&mut self, mut bytes: &[u8], now: u64) {
        while !bytes.is_empty() {
            let n = bytes.read(self.rx.spare()).expect("a slice is read");
            assert!(n > 0, "the buffer is full, but has no complete frame");
            self.rx.commit(n);
            self.receive(Instant::from_millis(now));
        }
    }

    fn answer(&mut self) {
        let Some(request) = self.app.requests.pop() else { return };
        let result = TextResult::new("an \"answer\"");
        self.send(|client, tx| client.respond(request, &result, tx)).expect("an object");
    }

    fn check_output(&mut self) {
        self.line.drain();
        let modern = self.machine.revision() == Some(Revision::LATEST);
        for line in self.line.lines() {
            record("Client", line.escape_ascii());
            let message: serde_json::Value = serde_json::from_slice(&line)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)));
            assert!(message.is_object() && message["jsonrpc"] == "2.0", "{message}");
            assert!(
                !modern || message.get("method").is_some(),
                "a response to a modern server: {message}"
            );
        }
    }

    fn finish(mut self) {
        self.check_output();
        assert!(self.line.is_whole() && self.line.tx.is_idle());
        while let Some(event) = self.machine.close() {
            assert!(
                matches!(event, ClientEvent::CallFinished { outcome: CallOutcome::Closed, .. }),
                "{event:?}"
            );
            self.app.end_call();
        }
        let client = &self.machine;
        let open = (client.open_calls(), client.open_requests(), client.poll_timeout());
        assert_eq!((self.app.calls, open), (0, (0, 0, None)));
    }
}

impl<'c> Application<Client<'c>> for App {
    fn event(&mut self, port: &mut Port<'_, Client<'c>>, event: &ClientEvent<'_>) {
        let client = &mut *port.machine;
        match event {
            ClientEvent::CallFinished { call, outcome } => {
                assert!(!client.is_call_open(*call));
                self.end_call();
                if let CallOutcome::InputRequired(input) = outcome {
                    _ = (input.requests().iter().count(), input.state(), input.round());
                }
            }
            ClientEvent::Progress { call, .. } | ClientEvent::Listening { call, .. } => {
                assert!(client.is_call_open(*call))
            }
            ClientEvent::Request(request) => {
                assert!(client.is_request_open(request.handle));
                _ = request.input_request();
                self.requests.push(request.handle);
            }
            ClientEvent::RequestCancelled { request, .. }
            | ClientEvent::RequestTimedOut { request } => {
                assert!(!client.is_request_open(*request));
                self.requests.retain(|open| open != request);
            }
            ClientEvent::Connected(opened) => _ = (opened.server_info(), opened.instructions()),
            other => _ = format!("{other:?}"),
        }
        assert_eq!(client.open_requests(), self.requests.len());
        assert!(client.open_calls() <= self.calls + 1);
    }
}

impl App {
    fn end_call(&mut self) {
        self.calls = self.calls.checked_sub(1).expect("each call ends once");
    }
}

const FULL: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("noise", "0.0.0"), CLIENT_FEATURES)
        .result_types(&["own"])
        .call_timeout(Duration::from_millis(500));

/// By state: probing, known to be modern, legacy, the revision with batches.
static CONFIGS: [ClientConfig<'static>; 4] = [
    FULL,
    FULL.max_rounds(1),
    FULL.revisions(Revisions::LEGACY)
        .request_timeout(Duration::from_millis(700))
        .ping_interval(Duration::from_millis(200)),
    FULL.revisions(Revisions::only(Revision::V2025_03_26)),
];

const DISCOVERED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{}},"resultType":"complete"}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"REVISION","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}}"#;

/// Messages of servers; `#` is an id.
const LINES: [&str; 34] = [
    DISCOVERED,
    r#"{"jsonrpc":"2.0","id":#,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"protocolVersion":"1999-01-01","capabilities":{}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"supportedVersions":["2024-11-05",7],"capabilities":[]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"error":{"code":-32022,"message":"no","data":{"supported":["2025-03-26","2024-11-05"]}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"error":{"code":-32602,"message":"no","data":{"supported":["2026-07-28","2025-06-18"]}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"error":{"code":-32601,"message":"no"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"error":"no"}"#,
    r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"content":[{"type":"text","text":"t"}]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resultType":"complete","content":[]}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resultType":"own"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resultType":"nobody's"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":[]}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{},"error":{}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resultType":"input_required","requestState":"s","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resultType":"input_required","inputRequests":{"k":{"method":"own/question"},"l":7}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"result":{"resultType":"input_required","requestState":7}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":#,"progress":1,"total":0}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":null}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":#,"reason":"because"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":#}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":#}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"m://1"}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":7}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"roots/list","params":{"_meta":{"progressToken":#}}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"elicitation/create","params":{"mode":"url","url":"x"}}"#,
    r#"{"jsonrpc":"2.0","id":#,"method":"own/question","params":[]}"#,
    r#"[{"jsonrpc":"2.0","id":#,"method":"ping"},{"jsonrpc":"2.0","id":2,"result":{}},7,{"jsonrpc":"2.0","id":3,"method":"roots/list"}]"#,
    "[]",
    "{",
    "Listening on stdio",
];
