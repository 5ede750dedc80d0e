//! A small client: lists the tools of a server and calls one.
//!
//! `cargo run --bin call-tool -- echo '{"text": "hello"}' target/debug/echo-server`

use std::process::Command;

use mcp_sansio::types::{CallToolResult, ContentBlock, Implementation};
use mcp_sansio::{ClientConfig, ClientFeatures, Printable, RawJson};
use mcp_sansio_adapters::blocking::client::Client;

static CONFIG: ClientConfig<'static> =
    ClientConfig::new(Implementation::new("call-tool", "0.1.0"), ClientFeatures::NONE);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, arguments, program, rest @ ..] = words.as_slice() else {
        return Err("usage: call-tool TOOL ARGUMENTS SERVER [ARGUMENT ...]".into());
    };
    let mut command = Command::new(program);
    command.args(rest);
    let mut server = Client::spawn(&CONFIG, command)?;
    for tool in server.list_tools()?.iter() {
        let tool = tool?;
        println!(
            "{}: {}",
            Printable::new(tool.name),
            Printable::new(tool.description.unwrap_or_default())
        );
    }
    let answer = server.call_tool(name, &RawJson::parse(arguments)?)?;
    for block in answer.to::<CallToolResult<'_>>()?.content {
        match block? {
            ContentBlock::Text(text) => {
                println!("{}", Printable::new(text.text).with_line_breaks())
            }
            other => println!("{}", Printable::new(format_args!("{other:?}"))),
        }
    }
    server.close()?;
    Ok(())
}
