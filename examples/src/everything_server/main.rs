//! `everything-server --stdio`, `--tcp ADDRESS`, `--unix PATH`, `--http ADDRESS`

use std::io::Write as _;
use std::process::ExitCode;

use mcp_sansio::Printable;
use mcp_sansio_examples::everything_server;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let served = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--stdio"] => everything_server::serve_stdio(),
        [how @ ("--tcp" | "--http"), address] => match address.parse() {
            Ok(address) if how == "--tcp" => everything_server::serve_tcp(address, |address| {
                eprintln!("everything-server: listening on {address}")
            }),
            Ok(address) => everything_server::serve_http(address, |address| {
                eprintln!(
                    "everything-server: listening on http://{address}/mcp, and for HTTP+SSE on http://{address}/sse"
                );
            }),
            Err(_) => {
                return misused(&format!(
                    "{address:?} is no address, as 127.0.0.1:8080 or [::1]:0 are"
                ));
            }
        },
        #[cfg(unix)]
        ["--unix", path] => everything_server::serve_unix(path.as_ref(), |path| {
            eprintln!("everything-server: listening on {}", path.display());
        }),
        #[cfg(not(unix))]
        ["--unix", _] => return misused("--unix is only offered on Unix: use --tcp"),
        ["--help" | "-h"] => {
            // Whoever reads only the beginning (`| head`) has what they want.
            let _ = writeln!(std::io::stdout(), "{HELP}");
            Ok(())
        }
        [] => {
            return misused(&format!(
                "say how to serve: --stdio, --tcp, --unix or --http\n\n{HELP}"
            ));
        }
        _ => {
            let unknown = arguments
                .iter()
                .find(|argument| argument.starts_with('-') && !KNOWN.contains(&argument.as_str()));
            return match unknown {
                Some(unknown) => {
                    misused(&format!("unknown argument {unknown:?}; --help lists what there is"))
                }
                None => misused(
                    "one way to serve is enough, and --tcp, --unix and --http need to know where; --help lists what there is",
                ),
            };
        }
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard output belongs to the protocol.
            eprintln!("everything-server: {}", Printable::new(error));
            ExitCode::FAILURE
        }
    }
}

fn misused(how: &str) -> ExitCode {
    eprintln!("everything-server: {}", Printable::new(how));
    ExitCode::from(2)
}

const KNOWN: [&str; 6] = ["--stdio", "--tcp", "--unix", "--http", "--help", "-h"];

const HELP: &str = r#"A Model Context Protocol server with one of everything, for all revisions from 2024-11-05 to 2026-07-28.

Usage: everything-server --stdio | --tcp ADDRESS | --unix PATH | --http ADDRESS

  --stdio         serve standard input and output: one JSON message a line, until the input ends
  --tcp ADDRESS   serve everybody who connects there, in the same way; with port 0, standard error says which it is
  --unix PATH     serve everybody who connects to this socket
  --http ADDRESS  serve Streamable HTTP at /mcp, and HTTP+SSE (2024-11-05) at /sse, to programs on this machine
  --help          say this

Example, without a client and without a handshake:

  echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_simple_text","_meta":{
    "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' |
    tr -d '\n' | everything-server --stdio

In the configuration of a client:

  { "mcpServers": { "everything": { "command": "everything-server", "args": ["--stdio"] } } }

Over HTTP, with a session (the answer's head says which):

  everything-server --http 127.0.0.1:8080 &
  curl -i http://127.0.0.1:8080/mcp --json '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
    "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"8"}}}' \
    -H 'Accept: application/json, text/event-stream'"#;
