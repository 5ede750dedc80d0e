//! A small application for the examples that show how connections are served. Each connection is
//! one value; the loops around it are the examples.

use std::thread;
use std::time::Duration;

use mcp_sansio::types::{Implementation, Tool};
use mcp_sansio::{
    Catalog, CatalogResponse, Connection, RawJson, RequestHandle, RxBuffer, Server, ServerConfig,
    ServerEvent, ServerFeatures, ServerState, Target, ToolResult, Turn, TxBuffer, entries,
};

/// A connection with up to eight requests in flight. Lines are up to 64 KiB long, and responses
/// longer than any buffer: they leave in pieces of 512 bytes.
pub(crate) type Session<'c> = Connection<'c, ServerState<8, 0>, Vec<u8>, [u8; 512], Reply, 8>;

/// Creates a connection.
#[must_use]
pub(crate) fn session<'c>(config: &'c ServerConfig<'c>) -> Session<'c> {
    let rx = RxBuffer::with_limit(Vec::new(), MAX_LINE);
    Connection::new(config, ServerState::new(), rx, TxBuffer::new([0; 512]))
}

/// Returns the configuration of a server whose calls take no longer than that.
pub(crate) const fn config(timeout: Duration) -> ServerConfig<'static> {
    ServerConfig::new(Implementation::new("small-server", "0.1.0"), ServerFeatures::TOOLS)
        .request_timeout(timeout)
}

/// The outcome of a request: the result of a tool, or the response of the catalog to all others.
/// Owns its data, so that it can wait until the client reads.
pub(crate) type Reply = Result<ToolResult<'static>, CatalogResponse<'static>>;

/// A call that takes long and is run elsewhere, while its connection goes on.
pub(crate) struct Job {
    pub(crate) request: RequestHandle,
    seconds: f64,
}

impl Job {
    /// Runs the tool.
    pub(crate) fn run(self) -> Reply {
        thread::sleep(Duration::from_secs_f64(self.seconds));
        Ok(Ok(format!("waited {} s", self.seconds).into()))
    }
}

/// Handles an event. Returns the job of a slow tool.
pub(crate) fn handle(
    event: &ServerEvent<'_>,
    turn: &mut Turn<'_, Server<'_>, Reply>,
) -> Option<Job> {
    let ServerEvent::Request(request) = event else { return None };
    let arguments = request.arguments();
    let number = |name| arguments.get(name).and_then(|value: RawJson<'_>| value.to::<f64>().ok());
    let Ok(Target::Tool(tool)) = CATALOG.target(request) else {
        return hand_in(turn, request.handle, Err(CATALOG.response(request)));
    };
    if tool.key() == "wait" {
        let seconds = number("seconds").unwrap_or(1.0).clamp(0.0, 3600.0);
        return Some(Job { request: request.handle, seconds });
    }
    let result = if tool.key() == "add" {
        let sum = number("a").zip(number("b")).map(|(a, b)| (a + b).to_string());
        Ok(sum.unwrap_or_default().into())
    } else {
        let text = arguments.get("text").and_then(RawJson::as_string);
        let text = text.map(|text| text.to_string()).unwrap_or_default();
        let times = number("times").unwrap_or(1.0).max(0.0) as usize;
        // A few bytes of a client may not take all memory.
        if text.len().saturating_mul(times) > MAX_ECHO {
            Err("The result would be longer than 16 MiB".into())
        } else {
            Ok(text.repeat(times).into())
        }
    };
    hand_in(turn, request.handle, Ok(result))
}

/// Hands in the only outcome of a request, for which there is always a place.
fn hand_in(
    turn: &mut Turn<'_, Server<'_>, Reply>,
    request: RequestHandle,
    reply: Reply,
) -> Option<Job> {
    let _ = turn.answer(request, reply);
    None
}

static CATALOG: Catalog<'_> = Catalog::new().tools(entries![
    Tool::new("echo", RawJson::from_static(r#"{"type":"object","properties":{"text":{"type":"string"},"times":{"type":"integer"}},"required":["text"]}"#))
        .description("Echoes the text, so many times"),
    Tool::new(
        "add",
        RawJson::from_static(
            r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}"#,
        ),
    )
    .description("Adds two numbers"),
    Tool::new("wait", RawJson::from_static(r#"{"type":"object","properties":{"seconds":{"type":"number"}}}"#))
        .description("Waits so many seconds"),
]);

const MAX_LINE: usize = 64 << 10;
const MAX_ECHO: usize = 16 << 20;
