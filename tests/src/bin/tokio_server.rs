//! A server on tokio's standard input and output, for the tests.

use std::time::Duration;

use mcp_sansio::types::{Implementation, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, entries};
use mcp_sansio_adapters::asynchronous::{App, Connection, Context, HandlerResult, tokio_stdio};

static CONFIG: ServerConfig<'_> =
    ServerConfig::new(Implementation::new("tokio-server", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog<'_> =
    Catalog::new().tools(entries![Tool::new("wait", RawJson::from_static(r#"{"type":"object"}"#))]);

async fn wait(ctx: Context) -> HandlerResult {
    tokio::time::sleep(Duration::from_millis(10)).await;
    ctx.reply(&TextResult::new("waited"))
}

fn main() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let app = App::new(&CONFIG, wait).catalog(&CATALOG);
    let ended = runtime.block_on(Connection::new(&app, tokio_stdio())).map(|_| ());
    // A thread may still read standard input.
    runtime.shutdown_background();
    ended
}
