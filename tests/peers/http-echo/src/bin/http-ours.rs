//! An echo server on the asynchronous adapter's Streamable HTTP: `http-ours smol` or `http-ours
//! tokio`. Prints its port, and serves all connections on one thread; `tokio:2` on two.

use std::io;
use std::net::TcpListener;

use async_io::Async;
use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, ToolError, entries};
use mcp_sansio_adapters::asynchronous::http::{self, HttpOptions};
use mcp_sansio_adapters::asynchronous::{App, Context, HandlerResult, Limits};

static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new("echo-server", "0.1.0"),
    ServerFeatures::TOOLS.with(ServerFeatures::TOOLS_LIST_CHANGED),
);
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
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let argument = std::env::args().nth(1).unwrap_or_default();
    let (runtime, threads) = argument.split_once(':').unwrap_or((&argument, ""));
    if let Ok(threads) = threads.parse() {
        let tokio = tokio::runtime::Builder::new_current_thread().build()?;
        // Of both runtimes the threads have that in which this is.
        let _tokio = (runtime == "tokio").then(|| tokio.enter());
        let listeners = http::listeners(address, threads)?;
        println!("{}", listeners[0].local_addr()?.port());
        return http::serve_on_threads(&app, listeners, HttpOptions::new());
    }
    if runtime == "tokio" {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        return runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind(address).await?;
            println!("{}", listener.local_addr()?.port());
            http::serve(&app, listener, HttpOptions::new()).await
        });
    }
    let listener = Async::<TcpListener>::bind(address)?;
    println!("{}", listener.get_ref().local_addr()?.port());
    async_io::block_on(http::serve(&app, listener, HttpOptions::new()))
}
