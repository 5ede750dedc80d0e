//! Parts shared by all client programs: the load and the CPU clock.

use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures, Json, RawJson};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// The configuration of our clients.
pub static CONFIG: ClientConfig =
    ClientConfig::new(Implementation::new("client", "1"), ClientFeatures::NONE);

#[derive(Serialize)]
struct Params<'a> {
    name: &'a str,
    arguments: Arguments<'a>,
}

#[derive(Serialize)]
struct Arguments<'a> {
    text: &'a str,
}

/// Returns the parameters of a call of `echo`.
pub fn params(text: &str) -> Json<impl Serialize> {
    Json(Params { name: "echo", arguments: Arguments { text } })
}

/// Returns whether this is the result of a call with this text.
pub fn is_echo(result: RawJson<'_>, text: &str) -> bool {
    let content = result.get("content").and_then(|content| content.elements().next());
    let echoed = content.and_then(|block| block.get("text")).and_then(RawJson::as_string);
    echoed.and_then(|echoed| echoed.as_plain()) == Some(text)
}

/// `PROGRAM SERVER CALLS WINDOW LENGTH`: starts a server, calls its tool `echo`, and prints the
/// cost.
pub struct Load {
    pub server: String,
    pub calls: u64,
    /// Calls in flight.
    pub window: u64,
    filler: String,
}

/// Calls before the measurement.
pub const WARM_UP: u64 = 2_000;

impl Load {
    /// # Panics
    /// If the arguments are invalid.
    pub fn from_arguments() -> Self {
        let arguments: Vec<_> = std::env::args().skip(1).collect();
        let [server, calls, window, length] = &arguments[..] else {
            panic!("SERVER CALLS WINDOW LENGTH")
        };
        let number = |text: &String| text.parse().expect("a number");
        let length = number(length) as usize;
        let filler = "the quick brown fox jumps over the lazy dog "
            .chars()
            .cycle()
            .take(length - TAG)
            .collect();
        Self { server: server.clone(), calls: number(calls), window: number(window), filler }
    }

    /// Starts the server. Returns its pipes, too.
    pub fn start(&self) -> io::Result<(Child, ChildStdin, ChildStdout)> {
        let mut command = Command::new(&self.server);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        Ok((child, input, output))
    }

    /// Returns the text of call number `call`, which no other call has.
    pub fn text(&self, call: u64) -> String {
        format!("{call:0TAG$}{}", self.filler)
    }
}

/// Number of digits at the start of every text.
const TAG: usize = 16;

/// Clock of this process's CPU time: user and system, all threads, without its children.
pub struct Clock(Duration);

impl Clock {
    pub fn start() -> Self {
        Self(now())
    }

    /// Prints nanoseconds per call and the peak resident set in KiB.
    pub fn stop(&self, load: &Load) {
        let took = now() - self.0;
        println!("{} {}", took.as_nanos() / u128::from(load.calls), peak_kib());
    }
}

fn now() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("it is not negative")
}

/// Returns the peak resident set of this process in KiB; 0 where there is no `/proc`.
fn peak_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB")?.trim().parse().ok());
    value.unwrap_or(0)
}
