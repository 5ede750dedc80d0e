//! A small server: one tool, on standard input and output.
//!
//! `cargo run --bin echo-server`

use mcp_sansio::types::{Implementation, Text, TextResult, Tool};
use mcp_sansio::{Catalog, RawJson, ServerConfig, ServerFeatures, Target};
use mcp_sansio_adapters::blocking::{App, Error};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("echo-server", "0.1.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools(&[Tool::new(
    "echo",
    RawJson::from_static(
        r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    ),
)
.description("Echoes the text")]);

fn main() -> Result<(), Error> {
    App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| match ctx.target() {
        Target::Tool(_) => match ctx.argument("text").and_then(RawJson::as_string) {
            Some(text) => ctx.respond(&TextResult::from(Text::from(text))),
            None => ctx.respond(&TextResult::error("text must be a string")),
        },
        _ => Ok(()),
    })
}
