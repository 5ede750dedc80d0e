//! Command line options.

use std::path::PathBuf;

use crate::scenario::{LONG, Mode, SHORT};
use crate::wire::Era;

pub const HELP: &str = "\
Measures echo servers over stdio: ours, a floor that is not MCP, and the official Rust SDK.

usage: cargo run --release -p driver -- [options]

  --ours PATH              our echo server (default: target/release/echo-server of the library's
                           workspace)
  --era legacy|modern      2025-11-25 with a handshake (default), or 2026-07-28 with _meta in each
                           request
  --mode pipelined|ping-pong, --text 64|65536
                           only these loads (default: all four)
  --runs N                 runs of each server, interleaved; the report shows medians (default: 5)
  --quick                  a tenth of the calls
  --no-rmcp                without the SDK
  --tcp                    over TCP on this machine: the smol adapter and the SDK's (no floor)
  --http                   Streamable HTTP, one request at a time on each connection: a floor,
                           the smol adapter and the SDK's
  --memory                 with --http: what a server keeps for each of 500 connections and 100 open
                           streams

example: quick measurement of the small messages, about ten seconds
  cargo run --release -p driver -- --quick --text 64
";

pub struct Options {
    pub ours: PathBuf,
    pub era: Era,
    pub mode: Option<Mode>,
    pub text: Option<usize>,
    pub runs: usize,
    pub quick: bool,
    pub rmcp: bool,
    pub transport: Transport,
    pub memory: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Transport {
    Stdio,
    Tcp,
    Http,
}

/// Returns `None` if `--help` is given.
pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        ours: concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/release/echo-server").into(),
        era: Era::Legacy,
        mode: None,
        text: None,
        runs: 5,
        quick: false,
        rmcp: true,
        transport: Transport::Stdio,
        memory: false,
    };
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--quick" => options.quick = true,
            "--no-rmcp" => options.rmcp = false,
            "--tcp" => options.transport = Transport::Tcp,
            "--http" => options.transport = Transport::Http,
            "--memory" => options.memory = true,
            "--ours" | "--era" | "--mode" | "--text" | "--runs" => {
                let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
                set(&mut options, &name, &value)
                    .ok_or_else(|| format!("{name} cannot be {value}"))?;
            }
            _ => return Err(format!("unknown option {name}")),
        }
    }
    Ok(Some(options))
}

fn set(options: &mut Options, name: &str, value: &str) -> Option<()> {
    match (name, value) {
        ("--ours", path) => options.ours = path.into(),
        ("--era", "legacy") => options.era = Era::Legacy,
        ("--era", "modern") => options.era = Era::Modern,
        ("--mode", "pipelined") => options.mode = Some(Mode::Pipelined),
        ("--mode", "ping-pong") => options.mode = Some(Mode::PingPong),
        ("--text", "64") => options.text = Some(SHORT),
        ("--text", "65536") => options.text = Some(LONG),
        ("--runs", number) => options.runs = number.parse().ok().filter(|&runs| runs > 0)?,
        _ => return None,
    }
    Some(())
}
