//! Tests of the asynchronous server: over pipes in memory, where every order of events can be
//! arranged, and over sockets.

mod asking;
mod catalog;
mod chaos;
#[allow(dead_code, reason = "other tests use the rest")]
mod client;
mod door;
mod fair;
mod filling_in;
mod handlers;
mod hooked;
mod hostile_stream;
mod limits;
mod many;
mod observer;
mod panics;
mod pipe;
#[path = "../random/mod.rs"]
mod random;
#[path = "../recorder/mod.rs"]
mod recorder;
mod shutdown;
mod sockets;
#[path = "../virtual_time/mod.rs"]
mod virtual_time;

use std::future::Future;

use mcp_sansio::types::{Implementation, Resource, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult};

static CONFIG: ServerConfig<'_> = ServerConfig::new(
    Implementation::new("test", "1"),
    ServerFeatures::TOOLS_LIST_CHANGED
        .with(ServerFeatures::PROMPTS)
        .with(ServerFeatures::RESOURCES_SUBSCRIBE)
        .with(ServerFeatures::LOGGING),
);

static CATALOG: Catalog<'_> = Catalog::new()
    .tools(entries![
        tool("echo"),
        tool("wait"),
        tool("steps"),
        tool("ask"),
        tool("fail"),
        tool("change")
    ])
    .resources(entries![Resource::new("test://r", "r")]);

/// A server that has nothing but tools.
const TOOLS: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("test", "1"), ServerFeatures::TOOLS);

/// An application with these tools.
fn serving<F: Future<Output = HandlerResult>, H: Fn(Context) -> F>(handler: H) -> App<H> {
    App::new(&CONFIG, handler).catalog(&CATALOG)
}

const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object"}"#))
}
