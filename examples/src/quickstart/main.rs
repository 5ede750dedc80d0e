//! A real conversation with the everything server, in both eras of the protocol: `cargo run --bin quickstart`
//!
//! The server is a process of its own, this executable once more; only lines of JSON pass between the two. The client's lines are
//! written by hand in `script.rs`, so that you see what travels.

mod client;
mod screen;
mod script;

use std::process::ExitCode;

use client::Client;
use mcp_sansio_examples::everything_server;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        return match everything_server::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let played = Client::start(SERVE).and_then(|mut client| {
        script::play(&mut client)?;
        client.finish()
    });
    match played {
        Ok(summary) => {
            screen::end(&summary);
            ExitCode::SUCCESS
        }
        Err(unexpected) => {
            eprintln!("\nThat is not what should have happened: {unexpected}");
            ExitCode::FAILURE
        }
    }
}

/// The argument that makes this executable the server.
const SERVE: &str = "__serve";
