//! The smallest useful server: one tool, on standard input and output. `cargo run --bin
//! echo-server`

use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerEvent, ServerFeatures, Target};
use mcp_sansio_adapters::blocking;

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("echo-server", "0.1.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools(&[Tool::new(
    "echo",
    RawJson::from_static(
        r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    ),
)
.description("Says what you say")]);

fn main() -> Result<(), blocking::Error> {
    blocking::serve(&CONFIG, |event: ServerEvent<'_>, ctx: &mut blocking::Context<'_, '_>| {
        let ServerEvent::Request(request) = event else { return Ok(()) };
        let Target::Tool(_) = ctx.respond_from(&CATALOG, &request)? else { return Ok(()) };
        match request.arguments().get("text").and_then(RawJson::as_string) {
            Some(text) => ctx.respond(request.handle, &TextResult::from(Text::from(text))),
            None => ctx.respond(request.handle, &TextResult::error("text must be a string")),
        }
    })
}
