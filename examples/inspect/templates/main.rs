//! A server with one tool, on standard input and output. Logs go to standard error: `eprintln!`.

use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::Implementation;
use mcp_sansio::{Catalog, NoOutput, ServerConfig, ToolContext, ToolResult};
use mcp_sansio_adapters::blocking::{App, Error};

static CONFIG: ServerConfig = ServerConfig::new(
    Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
    CATALOG.features(),
);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();

// A variant is a tool, its fields are the arguments. A model reads the comments.
#[derive(Tools)]
enum Call {
    /// Adds a note and returns all notes.
    Add {
        /// One line of text
        #[arg(length = 1..=80)]
        text: String,
    },
}

#[derive(Default)]
struct Notes(Vec<String>);

impl ToolHandler for Notes {
    type Tools = Call;
    type Output<'a> = NoOutput;

    fn call<'a>(&mut self, call: Call, _: ToolContext<'a>) -> ToolResult<'a> {
        let Call::Add { text } = call;
        self.0.push(text);
        Ok(self.0.join("\n").into())
    }
}

fn main() -> Result<(), Error> {
    let mut notes = Notes::default();
    App::new(&CONFIG).catalog(&CATALOG).serve(|ctx| ctx.call_tool(&mut notes))
}

#[cfg(test)]
mod tests {
    use mcp_sansio::{ClientConfig, ClientFeatures, Era, RawJson};

    use super::*;

    static CLIENT: ClientConfig =
        ClientConfig::new(Implementation::new("test", "0.1.0"), ClientFeatures::NONE);

    #[test]
    fn a_note_is_added_and_needs_a_text() {
        // Clients up to 2025-11-25, and those of 2026-07-28.
        for era in Era::ALL {
            let mut notes = Notes::default();
            let app = App::new(&CONFIG).catalog(&CATALOG);
            let server = app.memory(move |ctx| ctx.call_tool(&mut notes));
            let mut client = server.connect(&CLIENT, era).unwrap();

            let milk = RawJson::parse(r#"{"text": "Buy milk"}"#).unwrap();
            let result = client.call_tool("add", &milk).unwrap();
            assert!(result.as_json().as_str().contains(r#""text":"Buy milk""#));

            let result = client.call_tool("add", &RawJson::EMPTY).unwrap();
            assert!(result.as_json().as_str().contains("text: is missing"));
        }
    }
}
