//! The engine: what a client answers a handler, and what a server asks and tells a client.

use std::hint::black_box;
use std::io::Read as _;
use std::sync::Mutex;
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{
    CallOptions, ClientConfig, ClientFeatures, Frame, Instant, Messages, RawJson, ServerConfig,
    ServerEvent, ServerFeatures, TxBuffer,
};
use mcp_sansio_engine::internal::{NextRound, Round, Shared, StateSeal};
use mcp_sansio_engine::{Cache, ClientEngine, Driver, InputResponse, Layers, Limits, Question};

use super::{Table, Work, join};
use crate::memory::new_server;

pub(super) const CASES: &Table = &[
    ("rounds: long keys with escapes", |n| {
        let responses = long_keys(n / 4, "{}");
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","inputResponses":{responses},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        Work::new(request.len(), move || {
            let (mut server, mut tx) = (new_server::<1, 0>(&SERVER), TxBuffer::new([0; 1024]));
            let mut messages = Messages::new(Frame::Complete(request.as_bytes()));
            let event = server.next_event(Instant::from_millis(0), &mut messages, &mut tx);
            let Ok(Some(ServerEvent::Request(request))) = event else { panic!("{event:?}") };
            let seal = || StateSeal { keys: None, now: Duration::ZERO, owner: None };
            let round = Round::<Next>::of(&request, seal).expect("not too many");
            black_box(round.finish(&request, seal));
        })
    }),
    ("engine: long keys of the questions of a task", |n| {
        let asks = long_keys(n / 16, r#"{"method":"roots/list"}"#);
        let asks = task("complete", "input_required", &format!(r#","inputRequests":{asks}"#));
        let mut client = Playing::new();
        client.calls("tools/call", r#"{"name":"a"}"#, &task("task", "working", ""));
        client.polls(&asks);
        // The application has not answered, and is asked nothing more.
        Work::new(asks.len(), move || client.polls(&asks))
    }),
    ("engine: changes of as many resources as are cached", |n| {
        let mut client = Playing::new();
        client.app.layers.push(Cache::new(usize::MAX));
        for at in 0..n {
            let params = format!(r#"{{"uri":"file:///{at}"}}"#);
            client.calls("resources/read", &params, r#"{"contents":[],"ttlMs":100000}"#);
        }
        let changes: Vec<String> = (0..n)
            .map(|at| format!(r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"file:///other/{at}"}}}}"#))
            .collect();
        let bytes = changes.iter().map(String::len).sum();
        Work::new(bytes, move || changes.iter().for_each(|change| client.hears(change)))
    }),
];

static SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("s", "1"), ServerFeatures::TOOLS);
static CLIENT: ClientConfig = ClientConfig::new(
    Implementation::new("c", "1"),
    ClientFeatures::ROOTS.with(ClientFeatures::TASKS),
);

#[derive(Default)]
struct Next(Mutex<NextRound>);

impl Shared<NextRound> for Next {
    fn with<R>(&self, call: impl FnOnce(&mut NextRound) -> R) -> R {
        call(&mut self.0.lock().expect("one thread"))
    }
}

/// Returns an object whose keys differ at their end, behind an escape.
fn long_keys(n: usize, value: &str) -> String {
    let long = "a".repeat(250);
    format!("{{{}}}", join(n, |at| format!(r#""{long}\u0061{at:03}":{value}"#)))
}

fn task(kind: &str, status: &str, more: &str) -> String {
    format!(
        r#"{{"resultType":"{kind}","taskId":"t","status":"{status}","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":100{more}}}"#
    )
}

/// A client that has connected to a server, whose part is played.
struct Playing {
    engine: ClientEngine<'static>,
    app: Application,
    now: Instant,
    /// Number of requests of the client.
    asked: usize,
}

/// An application that does not answer at once.
#[derive(Default)]
struct Application {
    layers: Layers<'static>,
}

impl Driver for Application {
    fn unix_ms(&mut self) -> u64 {
        0
    }

    fn random(&mut self) -> u32 {
        0
    }

    fn asked(&mut self, _: Question<'_>) -> Option<InputResponse> {
        None
    }

    fn middleware(&mut self) -> Option<&mut dyn mcp_sansio_engine::Middleware> {
        self.layers.as_middleware()
    }
}

impl Playing {
    fn new() -> Self {
        let (engine, app) = (ClientEngine::new(&CLIENT, Limits::new()), Application::default());
        let mut playing = Self { engine, app, now: Instant::from_millis(0), asked: 0 };
        playing.engine.connect(playing.now, &mut playing.app).expect("room");
        playing.gets(
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"resources":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#,
        );
        playing
    }

    fn calls(&mut self, method: &str, params: &str, result: &str) {
        let (params, options) = (RawJson::parse(params).expect("JSON"), CallOptions::new());
        self.engine.call(self.now, method, &params, options, &mut self.app).expect("room");
        self.gets(result);
        self.engine.take_any();
    }

    /// Lets time pass until the client asks for the state of its task.
    fn polls(&mut self, result: &str) {
        self.now = self.now.saturating_add(Duration::from_millis(200));
        self.engine.handle_timeout(self.now, false, &mut self.app).expect("room");
        self.gets(result);
    }

    /// Responds to the next request.
    fn gets(&mut self, result: &str) {
        self.asked += 1;
        let sent = self.engine.io(|output, _| output.len());
        assert_ne!(sent, 0, "the client has asked nothing");
        self.engine.written(sent);
        self.hears(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.asked));
    }

    fn hears(&mut self, message: &str) {
        let line = format!("{message}\n");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            let read = self.engine.io(|_, into| rest.read(into)).expect("bytes in memory");
            self.engine.received(read);
        }
        while self.engine.step(self.now, &mut self.app) {}
    }
}
