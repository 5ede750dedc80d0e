//! A small server: one tool, on standard input and output.
//!
//! `cargo run --bin echo-server`

use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::{Implementation, Text};
use mcp_sansio::{Catalog, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult};
use mcp_sansio_adapters::blocking::{App, Error};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("echo-server", "0.1.0"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

#[derive(Tools)]
enum Call<'a> {
    /// Echoes the text
    Echo { text: Text<'a> },
}

struct Echo;

impl ToolHandler for Echo {
    type Tools = Call<'static>;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, Call::Echo { text }: Call<'a>, _: ToolContext<'a>) -> ToolResult<'a> {
        Ok(text.into())
    }
}

fn main() -> Result<(), Error> {
    App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| ctx.call_tool(&mut Echo))
}
