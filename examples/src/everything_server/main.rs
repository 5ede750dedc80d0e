//! `everything-server --stdio`

use std::io::Write as _;
use std::process::ExitCode;

use mcp_sansio_examples::everything_server;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--stdio"] => match everything_server::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                // Standard output belongs to the protocol.
                eprintln!("everything-server: {error}");
                ExitCode::FAILURE
            }
        },
        ["--help" | "-h"] => {
            // Whoever reads only the beginning (`| head`) has what they want.
            let _ = writeln!(std::io::stdout(), "{HELP}");
            ExitCode::SUCCESS
        }
        [] => {
            eprintln!("everything-server: say how to serve: --stdio\n\n{HELP}");
            ExitCode::from(2)
        }
        _ => {
            let known = |argument: &&String| matches!(argument.as_str(), "--stdio" | "--help" | "-h");
            match arguments.iter().find(|argument| !known(argument)) {
                Some(unknown) => eprintln!("everything-server: unknown argument {unknown:?}; --help lists what there is"),
                None => eprintln!("everything-server: one argument is enough; --help lists what there is"),
            }
            ExitCode::from(2)
        }
    }
}

const HELP: &str = r#"A Model Context Protocol server with one of everything, for all revisions from 2024-11-05 to 2026-07-28.

Usage: everything-server --stdio

  --stdio   serve standard input and output: one JSON message a line, until the input ends
  --help    say this

Example, without a client and without a handshake:

  echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_simple_text","_meta":{
    "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' |
    tr -d '\n' | everything-server --stdio

In the configuration of a client:

  { "mcpServers": { "everything": { "command": "everything-server", "args": ["--stdio"] } } }"#;
