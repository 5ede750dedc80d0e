//! The echo servers: ours, and one on the official Rust SDK, written as in its documentation. Each
//! program serves one of them over one transport.

use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, ToolError, entries};
use mcp_sansio_adapters::asynchronous::{Context, HandlerResult, Limits};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{schemars, tool, tool_router};

pub static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("echo-server", "0.1.0"),
    ServerFeatures::TOOLS.with(ServerFeatures::TOOLS_LIST_CHANGED),
);
pub static CATALOG: Catalog = Catalog::new().tools(entries![
    Tool::new(
        "echo",
        RawJson::from_static(
            r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
        ),
    )
    .description("Sends the text back")
]);

pub async fn echo(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let text = request
        .arguments()
        .get("text")
        .and_then(RawJson::as_string)
        .ok_or(ToolError::invalid_arguments("no text"))?;
    ctx.reply(&TextResult::from(Text::from(text)))
}

pub const LIMITS: Limits = Limits { max_connections: 10_000, address_share: 100, ..Limits::new() };

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub struct EchoArguments {
    /// The text to send back.
    text: String,
}

/// The SDK's server.
#[derive(Clone)]
pub struct Echo;

#[tool_router(server_handler)]
impl Echo {
    #[tool(description = "Sends the text back")]
    async fn echo(&self, Parameters(arguments): Parameters<EchoArguments>) -> String {
        arguments.text
    }
}
