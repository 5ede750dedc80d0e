//! Connects an MCP client on this computer with a server on a serial port. `serial-bridge --help`

#[path = "../../inspect/src/completions.rs"]
mod completions;
mod device;
mod journal;
mod options;
mod pump;
mod trouble;

use std::io::{self, Write as _};
use std::process::ExitCode;

use journal::Journal;
use options::{HELP, Stop};

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let parsed = match completions::print(&words) {
        Some(Ok(())) => return ExitCode::SUCCESS,
        Some(Err(why)) => Err(Stop::Wrong(why)),
        None => options::parse(words),
    };
    let options = match parsed {
        Ok(options) => options,
        Err(Stop::Help) => {
            // A closed pipe is not an error.
            let _ = write!(io::stdout(), "{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(Stop::Wrong(why)) => {
            eprintln!("serial-bridge: {why}\n(serial-bridge --help shows examples)");
            return ExitCode::from(2);
        }
    };
    let journal = match Journal::open(options.log.as_ref()) {
        Ok(journal) => journal,
        Err(why) => {
            eprintln!("serial-bridge: {why}");
            return ExitCode::from(2);
        }
    };
    match pump::run(options, journal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("serial-bridge: standard input: {error}");
            ExitCode::FAILURE
        }
    }
}
