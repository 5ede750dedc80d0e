//! A small server: one tool, on standard input and output.
//!
//! `cargo run --bin echo-server`

use mcp_sansio::typed::Tools;
use mcp_sansio::types::{Implementation, Text, TextResult};
use mcp_sansio::{Catalog, ServerConfig, ServerFeatures};
use mcp_sansio_adapters::blocking::{App, Error};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("echo-server", "0.1.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().calls::<Call>();

#[derive(Tools)]
enum Call<'a> {
    /// Echoes the text
    Echo { text: Text<'a> },
}

fn main() -> Result<(), Error> {
    App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| match Call::from_request(ctx.request()) {
        Some(Ok(Call::Echo { text })) => ctx.respond(&TextResult::from(text)),
        // The catalog has responded to everything else.
        _ => Ok(()),
    })
}
