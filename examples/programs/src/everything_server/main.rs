//! `everything-server --stdio`, `--legacy`, `--tcp ADDRESS`, `--unix PATH`, `--http ADDRESS`

use std::io::Write as _;
use std::process::ExitCode;

use mcp_sansio::Printable;
use mcp_sansio_programs::everything_server;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let served = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--stdio"] => everything_server::serve_stdio(),
        ["--legacy"] => everything_server::serve_legacy_stdio(),
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
                    "invalid address {address:?}: expected IP:PORT, e.g. 127.0.0.1:8080 or [::1]:0"
                ));
            }
        },
        #[cfg(unix)]
        ["--unix", path] => everything_server::serve_unix(path.as_ref(), |path| {
            eprintln!("everything-server: listening on {}", path.display());
        }),
        #[cfg(not(unix))]
        ["--unix", _] => return misused("--unix is supported only on Unix: use --tcp"),
        ["--help" | "-h"] => {
            // A closed pipe (`| head`) is not an error.
            let _ = writeln!(std::io::stdout(), "{HELP}");
            Ok(())
        }
        [] => {
            return misused(&format!(
                "missing option: --stdio, --legacy, --tcp, --unix or --http\n\n{HELP}"
            ));
        }
        _ => {
            let unknown = arguments
                .iter()
                .find(|argument| argument.starts_with('-') && !KNOWN.contains(&argument.as_str()));
            return match unknown {
                Some(unknown) => misused(&format!("unknown argument {unknown:?}; see --help")),
                None => misused(
                    "exactly one of --stdio, --legacy, --tcp, --unix and --http is required, the last three with an address; see --help",
                ),
            };
        }
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard output carries protocol messages only.
            eprintln!("everything-server: {}", Printable::new(error));
            ExitCode::FAILURE
        }
    }
}

fn misused(how: &str) -> ExitCode {
    eprintln!("everything-server: {}", Printable::new(how).with_line_breaks());
    ExitCode::from(2)
}

const KNOWN: [&str; 7] = ["--stdio", "--legacy", "--tcp", "--unix", "--http", "--help", "-h"];

const HELP: &str = r#"A Model Context Protocol server with all features, for all revisions from 2024-11-05 to 2026-07-28.

Usage: everything-server --stdio | --legacy | --tcp ADDRESS | --unix PATH | --http ADDRESS

  --stdio         serve standard input and output, one JSON message per line, until the input ends
  --legacy        the same without 2026-07-28, to try a client with a server of before
  --tcp ADDRESS   serve TCP connections in the same way; standard error shows the port chosen for
                  port 0
  --unix PATH     serve connections to this Unix socket
  --http ADDRESS  serve Streamable HTTP at /mcp, and HTTP+SSE (2024-11-05) at /sse, to programs on
                  this machine
  --help          print this text

Example (2026-07-28, without a client or a handshake):

  echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_simple_text","_meta":{
    "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' |
    tr -d '\n' | everything-server --stdio

In the configuration of a client:

  { "mcpServers": { "everything": { "command": "/path/to/everything-server", "args": ["--stdio"] } } }

Over HTTP, with a session (see the response header Mcp-Session-Id):

  everything-server --http 127.0.0.1:8080 &
  curl -i http://127.0.0.1:8080/mcp --json '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
    "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"8"}}}' \
    -H 'Accept: application/json, text/event-stream'"#;
