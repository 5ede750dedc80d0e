//! A small application with slow tools.

use std::cell::Cell;
use std::future::Future;
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use embedded_io_async::ErrorKind;
use mcp_sansio::types::{Implementation, LoggingLevel, Resource, Text, TextResult, Tool};
use mcp_sansio::{
    Catalog, Change, Json, JsonStr, LogMessage, Outcome, Progress, RawJson, RequestHandle,
    SendError, Server, ServerConfig, ServerEvent, ServerFeatures, Target, ToolContext, Tx, entries,
};
use mcp_sansio_adapters::embedded_async::{Clock as _, Connection, Handler};
use serde::{Serialize, Serializer, ser};
use serde_json::{Value, json};
use smol::LocalExecutor;

use crate::port::Player;
use crate::stage::Stage;

pub(crate) static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("test", "1"),
    ServerFeatures::TOOLS.with(ServerFeatures::RESOURCES_SUBSCRIBE).with(ServerFeatures::LOGGING),
)
.request_timeout(Duration::from_secs(60))
.peer_can_reconnect(true);

pub(crate) static CATALOG: Catalog<'_> = Catalog::new()
    .tools(entries![
        tool("echo"),
        tool("wait"),
        tool("steps"),
        tool("log"),
        tool("long"),
        tool("bad"),
        tool("change"),
        tool("again"),
        tool("group"),
    ])
    .resources(entries![Resource::new("test://r", "r")]);

const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(
        name,
        RawJson::from_static(r#"{"type":"object","properties":{"text":{"type":"string"}}}"#),
    )
    .description("One of the tools that this application has")
}

pub(crate) struct App {
    stage: Stage,
    /// Number of running handlers.
    pub(crate) running: Cell<u32>,
}

pub(crate) enum Said<'f> {
    Text(String),
    /// Borrowed from the request.
    Again(JsonStr<'f>),
    /// Nothing that can be written.
    Nothing,
}

impl App {
    pub(crate) fn new(stage: &Stage) -> Self {
        Self { stage: stage.clone(), running: Cell::new(0) }
    }

    async fn pause(&self, ms: u64) {
        self.stage
            .time
            .sleep_until(self.stage.time.now().saturating_add(Duration::from_millis(ms)))
            .await;
    }
}

/// Counts its instances.
struct Guard<'a>(&'a Cell<u32>);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Handler for App {
    type Response<'a> = Said<'a>;

    async fn on_request<'a>(&'a self, target: Target<'a>, ctx: ToolContext<'a>) -> Said<'a> {
        let tool = match target {
            Target::Tool(tool) => tool.key().as_plain(),
            _ => None,
        };
        let arguments = ctx.request().arguments();
        let n = arguments.get("n").and_then(RawJson::as_u64).unwrap_or_default();
        let text = arguments.get("text").and_then(RawJson::as_string);
        self.running.set(self.running.get() + 1);
        let _guard = Guard(&self.running);
        match tool.unwrap_or_default() {
            "again" => text.map_or(Said::Nothing, Said::Again),
            "wait" => {
                self.pause(n).await;
                Said::Text(format!("waited {n}"))
            }
            "steps" => {
                for step in 1..=n {
                    let _ = ctx.progress(&Progress::of(step).total(n)).await;
                    self.pause(10).await;
                }
                Said::Text("done".into())
            }
            "group" => {
                // In a set each future is polled when it was woken itself, and not when the set
                // was.
                let progress = Progress::of(1u32);
                let set = LocalExecutor::new();
                let _ = set.run(set.spawn(ctx.progress(&progress))).await;
                Said::Text("done".into())
            }
            "log" => {
                let text = text.map(|text| text.to_string()).unwrap_or_default();
                let said = ctx.log(&LogMessage::new(LoggingLevel::Info, &*text)).await;
                Said::Text(said.map_or_else(|error| error.to_string(), |()| "logged".into()))
            }
            "change" => {
                let told = ctx.publish(Change::resource("test://r")).await;
                Said::Text(told.is_ok().to_string())
            }
            "long" => Said::Text("x".repeat(n as usize)),
            "bad" => Said::Nothing,
            _ => Said::Text(text.map(|text| text.to_string()).unwrap_or_default()),
        }
    }

    fn on_event(&self, event: &ServerEvent<'_>) {
        match event {
            ServerEvent::Violation(violation) => self.stage.note(format!("{violation:?}")),
            ServerEvent::RequestCancelled { .. } => self.stage.note("cancelled"),
            ServerEvent::RequestTimedOut { .. } => self.stage.note("expired"),
            _ => {}
        }
    }

    fn on_read_error(&self, error: ErrorKind) {
        self.stage.note(format!("fault {error:?}"));
    }

    fn on_send_error(&self, error: SendError) {
        self.stage.note(format!("refused {error:?}"));
    }
}

impl Outcome<Server<'_>> for Said<'_> {
    fn send(
        &self,
        server: &mut Server<'_>,
        request: RequestHandle,
        tx: &mut Tx<'_>,
    ) -> Result<(), SendError> {
        match self {
            Self::Text(text) => server.respond(request, &TextResult::new(text), tx),
            Self::Again(text) => server.respond(request, &TextResult::from(Text::from(*text)), tx),
            Self::Nothing => server.respond(request, &Json(&Unwritable), tx),
        }
    }
}

struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(ser::Error::custom("no"))
    }
}

pub(crate) type TestConnection<const RX: usize, const TX: usize, const N: usize> =
    Connection<'static, App, RX, TX, N, 4>;

/// A connection with any handler and buffers.
pub(crate) trait Serves {
    fn serve(self: Rc<Self>, stage: Stage) -> impl Future<Output = crate::Served> + 'static;
}

impl<H: Handler + 'static, const RX: usize, const TX: usize, const N: usize, const REQUEST: usize>
    Serves for Connection<'static, H, RX, TX, N, 4, REQUEST>
{
    async fn serve(self: Rc<Self>, stage: Stage) -> crate::Served {
        Self::serve(&self, stage.port.clone(), stage.port.clone(), &stage.time).await
    }
}

/// A connection on a stage. Whoever looks at it lets it go on first.
pub(crate) struct Scene<C> {
    pub(crate) stage: Stage,
    pub(crate) connection: Rc<C>,
    pub(crate) player: Player<'static, crate::Served>,
}

/// Sets the application on a stage whose port moves at most `chunk` bytes at once.
pub(crate) fn scene<const RX: usize, const TX: usize, const N: usize>(
    chunk: usize,
) -> Scene<TestConnection<RX, TX, N>> {
    scene_with(chunk, &CONFIG, |connection| connection.catalog(&CATALOG))
}

/// As [`scene`], with these settings.
pub(crate) fn scene_with<const RX: usize, const TX: usize, const N: usize>(
    chunk: usize,
    config: &'static ServerConfig<'static>,
    set: impl FnOnce(TestConnection<RX, TX, N>) -> TestConnection<RX, TX, N>,
) -> Scene<TestConnection<RX, TX, N>> {
    let stage = Stage::new(chunk);
    Scene::new(&stage, Rc::new(set(Connection::new(config, App::new(&stage)))))
}

impl<C: Serves> Scene<C> {
    pub(crate) fn new(stage: &Stage, connection: Rc<C>) -> Self {
        let player = Player::new(Rc::clone(&connection).serve(stage.clone()));
        Self { stage: stage.clone(), connection, player }
    }

    pub(crate) fn run(&mut self) -> Option<crate::Served> {
        self.player.run()
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, ms: u64) -> Option<crate::Served> {
        self.run();
        self.stage.time.pass(ms);
        self.run()
    }

    /// Summarizes the output since the last call.
    pub(crate) fn log(&mut self) -> Vec<String> {
        self.run();
        self.stage.log()
    }

    /// Returns the events since the last call.
    pub(crate) fn notes(&mut self) -> Vec<String> {
        self.run();
        self.stage.notes()
    }

    pub(crate) fn unread(&mut self) -> usize {
        self.run();
        self.stage.unread()
    }
}

impl<const RX: usize, const TX: usize, const N: usize> Scene<TestConnection<RX, TX, N>> {
    /// Returns the number of running handlers.
    pub(crate) fn running(&mut self) -> u32 {
        self.run();
        self.connection.handler().running.get()
    }
}

impl<C> Deref for Scene<C> {
    type Target = Stage;

    fn deref(&self) -> &Stage {
        &self.stage
    }
}

pub(crate) fn call(id: u32, tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments,
        "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": id,
            "io.modelcontextprotocol/logLevel": "debug"}}})
}

pub(crate) fn list(id: u32) -> Value {
    let mut list = call(id, "", json!({}));
    list["method"] = "tools/list".into();
    list
}

pub(crate) fn cancel(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

pub(crate) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}})
}

/// The messages with which a client begins a session.
pub(crate) fn hello() -> [Value; 2] {
    [initialize(), json!({"jsonrpc": "2.0", "method": "notifications/initialized"})]
}

pub(crate) fn legacy(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}
