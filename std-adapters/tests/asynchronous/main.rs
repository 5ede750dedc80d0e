//! Tests of the asynchronous server: over pipes in memory, where every order of events can be
//! arranged, and over sockets.

mod asking;
mod catalog;
mod chaos;
mod client;
mod fair;
mod filling_in;
mod handlers;
mod limits;
mod many;
mod observer;
mod panics;
mod pipe;
#[path = "../recorder/mod.rs"]
mod recorder;
mod shutdown;
mod sockets;
#[path = "../virtual_time/mod.rs"]
mod virtual_time;

use mcp_sansio::types::{Implementation, Resource, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};

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

const fn tool(name: &'static str) -> Tool<'static> {
    Tool::new(name, RawJson::from_static(r#"{"type":"object"}"#))
}
