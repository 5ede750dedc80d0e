//! Sessions of a blocking server, from the first line to the end of the input.

use std::hint::black_box;
use std::io::{self, Read};
use std::time::Duration;

use mcp_sansio::typed::{ToolHandler, Tools};
use mcp_sansio::types::{Implementation, Text};
use mcp_sansio::{Catalog, NoOutput, ServerConfig, ServerFeatures, ToolContext, ToolResult};
use mcp_sansio_adapters::blocking::{App, Input};

use crate::{Case, messages};

static CONFIG: ServerConfig =
    ServerConfig::new(Implementation::new("bench", "1"), ServerFeatures::TOOLS);
static CATALOG: Catalog = Catalog::new().tools_of::<Call>();
/// Calls of a session: so many that its memory, which is zeroed, is a small part of the figure.
const CALLS: usize = 512;

pub(crate) fn cases() -> [Case; 2] {
    [("legacy", true), ("modern", false)].map(|(era, legacy)| {
        let opening = if legacy { [messages::INITIALIZE, messages::INITIALIZED] } else { [""; 2] };
        let calls = (1..=CALLS).map(|id| messages::call_of_id(id, legacy, 64));
        let lines = opening.map(String::from).into_iter().chain(calls).collect::<String>();
        let mut output = Vec::new();
        Case {
            name: format!("app-{era}-{CALLS}-calls"),
            bytes: lines.len(),
            run: Box::new(move || {
                output.clear();
                let app = App::new(&CONFIG).catalog(&CATALOG);
                let input = Lines(black_box(lines.as_bytes()));
                app.serve_on(input, &mut output, |ctx| ctx.call_tool(&mut Echo))
                    .expect("memory can be read and written");
                output.len()
            }),
        }
    })
}

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

/// Input that is there at once.
struct Lines<'b>(&'b [u8]);

impl Read for Lines<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Input for Lines<'_> {
    fn wait(&mut self, _: Option<Duration>) -> io::Result<bool> {
        Ok(true)
    }
}
