//! A conversation between a client and a server in both eras of the protocol: `cargo run --bin
//! quickstart`
//!
//! The server, `server.rs`, is a second process of the same executable, connected by lines of JSON.
//! `script.rs` is what the client does. Both have the blocking adapter, and every line is printed.

mod line;
mod person;
mod screen;
mod script;
mod server;

use std::process::{Command, ExitCode};
use std::time::Instant;

use mcp_sansio::Printable;
use mcp_sansio_adapters::blocking::client::{
    ConnectionEnd, Process, Shutdown, Stderr, Transport as _,
};

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        return match server::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let begun = Instant::now();
    match play() {
        Ok(()) => {
            screen::end(begun.elapsed());
            ExitCode::SUCCESS
        }
        Err(unexpected) => {
            eprintln!(
                "\nThat is not what should have happened: {}",
                Printable::new(unexpected).with_line_breaks()
            );
            ExitCode::FAILURE
        }
    }
}

/// Runs three clients in turn against one process.
fn play() -> Result<(), Unexpected> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SERVE);
    let mut server = Process::new(command);
    server.stderr = Stderr::Inherit;
    script::modern(&mut server)?;
    script::mistakes(&mut server)?;
    script::legacy(&mut server)?;
    match server.close()? {
        ConnectionEnd { how: Shutdown::Graceful, status: Some(status), .. } if status.success() => {
            Ok(())
        }
        ended => Err(ended.to_string().into()),
    }
}

/// The reason why the conversation failed.
type Unexpected = Box<dyn std::error::Error>;

/// The argument that makes this executable the server.
const SERVE: &str = "__serve";
