//! The blocking adapter against peers that misbehave, and the streams of a process.

mod asking;
mod client;
mod memory;
mod observer;
#[path = "../../../std-adapters/tests/recorder/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod recorder;
mod server;
mod shared_catalog;
mod skill_folder;
mod skills;
mod streams;
mod tools;
mod typed_calls;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, ServerConfig, ServerFeatures};
use serde_json::json;

static SERVER: ServerConfig =
    ServerConfig::new(Implementation::new("server", "1"), ServerFeatures::TOOLS);
static CLIENT: ClientConfig =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::NONE);

/// Returns a line with a call of 2026-07-28.
fn call(id: u32, tool: &str) -> String {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let params = json!({"name": tool, "arguments": {}, "_meta": meta});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}
