//! A client and any bytes.

use std::time::Duration;

use mcp_sansio::types::{Implementation, SubscriptionFilter, TextResult};
use mcp_sansio::{
    CallOptions, Client, ClientConfig, ClientEvent, ClientFeatures, Era, Frame, Instant, Messages,
    Outcome, RawJson, RequestHandle, Revision, Revisions, RxBuffer,
};

use crate::chaos::script::Script;
use crate::pair::Line;

/// Reads `data` as a client in one of several states would: before it is open, in the middle of its
/// opening, and in either era with requests, subscriptions and questions in flight. The first bytes
/// decide which state, the sizes of the buffers, and the chunks.
///
/// # Panics
/// When a promise is broken:
/// - each line out is a JSON object, and none is an answer where the server is a modern one;
/// - each request ends once: with an event, or with [`Client::close`];
/// - every frame comes to an end, and after `close` nothing is in flight.
pub fn client_survives(data: &[u8]) {
    let mut script = Script::new(data);
    let state = script.below(8);
    let room = *script.pick(&[4096, 4096, 200, 64, 16, 3]);
    let size = *script.pick(&[4096, 4096, 1000, 300, 64, 8]);
    let chunk = *script.pick(&[usize::MAX, 100, 7, 1]);
    let mut noise = Noise {
        client: Client::with_table_sizes(&CONFIGS[state % 4]),
        line: Line::new(room),
        waiting: 0,
        asked: Vec::new(),
    };
    let mut rx = RxBuffer::new(vec![0; size]);
    noise.bring_into(state);
    let mut now = 2;
    while !script.is_over() {
        // A line that means something, or whatever comes.
        let bytes = match script.below(4) {
            0 => script.take(40).to_vec(),
            n => {
                let line = *script.pick(&LINES);
                let id = *script.pick(&[
                    "1",
                    "2",
                    "3",
                    "4",
                    "5",
                    "6",
                    "\"1\"",
                    "1.0",
                    "null",
                    "4294967295",
                    "\"x\"",
                ]);
                let mut line = line.replace('#', id).into_bytes();
                if n == 1 {
                    let at = (script.below(256) * 7) % line.len();
                    line[at] = script.byte();
                }
                line.push(b'\n');
                line
            }
        };
        for chunk in bytes.chunks(chunk) {
            noise.hear(&mut rx, chunk, now);
        }
        match script.below(12) {
            0 => now += 300,
            1 => now += 100_000,
            2 => noise.answer(),
            _ => {}
        }
        noise.timeouts(now);
    }
    noise.end();
}

struct Noise {
    client: Client<'static, 4>,
    line: Line,
    /// Requests that have not ended.
    waiting: usize,
    asked: Vec<RequestHandle>,
}

impl Noise {
    /// 0 to 3: as soon as it begins; 4 to 7: open, and busy.
    fn bring_into(&mut self, state: usize) {
        let at = Instant::from_millis(1);
        if state % 4 == 1 {
            self.client.set_era(Some(Era::Modern));
        }
        let Self { client, line, .. } = self;
        line.send(|tx| client.connect(at, tx)).expect("a beginning");
        if state < 4 {
            return;
        }
        let revision = if state % 4 == 3 { "2025-03-26" } else { "2025-11-25" };
        let mut rx = RxBuffer::new(vec![0; 4096]);
        if state == 4 {
            self.hear(&mut rx, &[DISCOVERED.as_bytes(), b"\n"].concat(), 1);
        } else if state > 5 {
            self.hear(
                &mut rx,
                &[INITIALIZED.replace("REVISION", revision).as_bytes(), b"\n"].concat(),
                1,
            );
        }
        assert!(self.client.is_open());
        let options = CallOptions::new().progress();
        let Self { client, line, .. } = self;
        line.send(|tx| {
            client.request(at, "tools/call", &RawJson::from_static(r#"{"name":"t"}"#), options, tx)
        })
        .expect("room");
        line.send(|tx| {
            client.request(
                at,
                "resources/read",
                &RawJson::from_static(r#"{"uri":"m://1"}"#),
                options,
                tx,
            )
        })
        .expect("room");
        self.waiting = 2;
        let listens = line.send(|tx| {
            client.listen(at, &SubscriptionFilter::new().tools_list_changed(true), options, tx)
        });
        self.waiting += usize::from(listens.is_ok());
    }

    fn hear(&mut self, rx: &mut RxBuffer<Vec<u8>>, mut bytes: &[u8], now: u64) {
        while !bytes.is_empty() {
            let spare = rx.spare();
            let n = spare.len().min(bytes.len());
            assert!(n > 0, "no room, though no frame waits");
            spare[..n].copy_from_slice(&bytes[..n]);
            rx.commit(n);
            bytes = &bytes[n..];
            while let Some(frame) = rx.next_frame() {
                self.take(frame, now);
            }
        }
    }

    fn take(&mut self, frame: Frame<'_>, now: u64) {
        let mut messages = Messages::new(frame);
        for _ in 0..10_000 {
            let Self { client, line, .. } = self;
            let event = line
                .send(|tx| client.next_event(Instant::from_millis(now), &mut messages, tx))
                .expect("only Full");
            let Some(event) = event else { return };
            self.event(&event);
        }
        panic!("a frame without end");
    }

    fn timeouts(&mut self, now: u64) {
        for _ in 0..100 {
            let Self { client, line, .. } = self;
            let event = line
                .send(|tx| client.handle_timeout(Instant::from_millis(now), tx))
                .expect("only Full");
            let Some(event) = event else { return self.read() };
            self.event(&event);
        }
        panic!("time does not end");
    }

    fn event(&mut self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::CallFinished { call, outcome } => {
                assert!(!self.client.is_call_open(*call));
                self.waiting = self.waiting.checked_sub(1).expect("it ends twice");
                if let Outcome::InputRequired(input) = outcome {
                    _ = (input.requests().iter().count(), input.state(), input.round());
                }
            }
            ClientEvent::Progress { call, .. } | ClientEvent::Listening { call, .. } => {
                assert!(self.client.is_call_open(*call))
            }
            ClientEvent::Request(request) => {
                assert!(self.client.is_request_open(request.handle));
                _ = request.question();
                self.asked.push(request.handle);
            }
            ClientEvent::RequestCancelled { request, .. }
            | ClientEvent::RequestTimedOut { request } => {
                assert!(!self.client.is_request_open(*request));
                self.asked.retain(|asked| asked != request);
            }
            ClientEvent::Connected(opened) => _ = (opened.server_info(), opened.instructions()),
            other => _ = format!("{other:?}"),
        }
        assert_eq!(self.client.open_requests(), self.asked.len());
        assert!(self.client.open_calls() <= self.waiting + 1);
    }

    /// The application answers what it was asked.
    fn answer(&mut self) {
        let Some(request) = self.asked.pop() else { return };
        let Self { client, line, .. } = self;
        _ = line
            .send(|tx| client.respond(request, &TextResult::new("an \"answer\""), tx))
            .expect("an object");
    }

    /// Reads what was said.
    fn read(&mut self) {
        self.line.drain(usize::MAX);
        let modern = self.client.revision() == Some(Revision::LATEST);
        for line in std::mem::take(&mut self.line.said) {
            let message: serde_json::Value = serde_json::from_slice(&line)
                .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&line)));
            assert!(message.is_object() && message["jsonrpc"] == "2.0", "{message}");
            assert!(
                !modern || message.get("method").is_some(),
                "an answer to a modern server: {message}"
            );
        }
    }

    fn end(mut self) {
        self.read();
        assert!(self.line.is_whole() && self.line.tx.is_idle());
        while let Some(event) = self.client.close() {
            assert!(
                matches!(event, ClientEvent::CallFinished { outcome: Outcome::Closed, .. }),
                "{event:?}"
            );
            self.waiting = self.waiting.checked_sub(1).expect("it ends twice");
        }
        let in_flight =
            (self.client.open_calls(), self.client.open_requests(), self.client.poll_timeout());
        assert_eq!((self.waiting, in_flight), (0, (0, 0, None)));
    }
}

const FULL: ClientConfig<'static> = ClientConfig::new(
    Implementation::new("noise", "0.0.0"),
    ClientFeatures::ROOTS_LIST_CHANGED
        .and(ClientFeatures::SAMPLING)
        .and(ClientFeatures::ELICITATION_FORM),
)
.result_types(&["own"])
.call_timeout(Duration::from_millis(500));

/// By state: finds out, modern for certain, legacy, the revision with batches.
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

/// What servers say; `#` is an id.
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
