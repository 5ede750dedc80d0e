//! Parts shared by all client programs: the load and the CPU clock.

use std::process::Command;
use std::time::Duration;

use mcp_sansio::Json;
use mcp_sansio::types::Implementation;
use mcp_sansio::{ClientConfig, ClientFeatures};
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

/// `PROGRAM SERVER CALLS WINDOW LENGTH`: starts a server, calls its tool `echo`, and prints the
/// cost.
pub struct Load {
    pub server: String,
    pub calls: u64,
    /// Calls in flight.
    pub window: u64,
    pub length: usize,
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
        Self {
            server: server.clone(),
            calls: number(calls),
            window: number(window),
            length,
            filler,
        }
    }

    pub fn command(&self) -> Command {
        Command::new(&self.server)
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
        println!("{} {}", took.as_nanos() / u128::from(load.calls), memory_kib("VmHWM:"));
    }
}

fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns a field of this process in `/proc`, in KiB; 0 where there is none.
pub fn memory_kib(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_suffix("kB")?.trim().parse().ok());
    value.unwrap_or(0)
}
