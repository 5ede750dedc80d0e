//! An echo server on the smol adapter. Prints its port, and serves all connections on one thread.

use std::io;
use std::net::TcpListener;

use async_io::Async;
use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, ToolError, entries};
use mcp_sansio_adapters::asynchronous::{self, App, Context, HandlerResult, Limits};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("echo-server", "0.1.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools(entries![
    Tool::new(
        "echo",
        RawJson::from_static(
            r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
        ),
    )
    .description("Sends the text back")
]);

async fn echo(ctx: Context) -> HandlerResult {
    let request = ctx.request()?;
    let text = request
        .arguments()
        .get("text")
        .and_then(RawJson::as_string)
        .ok_or(ToolError::invalid_arguments("no text"))?;
    ctx.reply(&TextResult::from(Text::from(text)))
}

fn main() -> io::Result<()> {
    let app = App::new(&CONFIG, echo).catalog(&CATALOG).limits(Limits {
        max_connections: 10_000,
        address_share: 100,
        ..Limits::new()
    });
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
    println!("{}", listener.get_ref().local_addr()?.port());
    async_io::block_on(asynchronous::serve(&app, &listener))
}
