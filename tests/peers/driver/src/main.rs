//! Measures echo servers side by side; `--help` lists the options.

mod http;
mod load;
mod options;
mod process;
mod report;
mod scenario;
mod server;
mod sys;
mod wire;

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use load::Run;
use options::{Options, Transport};
use process::{Candidate, Cpus};
use report::{Role, Runs, grouped};
use scenario::{Mode, Scenario};
use wire::Era;

fn main() -> ExitCode {
    let done = match options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => measure(&options),
        Ok(None) => {
            print!("{}", options::HELP);
            Ok(())
        }
        Err(wrong) => Err(format!("{wrong}; see --help").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(options: &Options) -> Result<(), Box<dyn Error>> {
    let candidates = candidates(options)?;
    let run: Load = match options.transport {
        Transport::Http => http::run,
        Transport::Stdio | Transport::Tcp => load::run,
    };
    let cpus = sys::allowed_cpus()?;
    let (first, second) = (cpus[0], *cpus.get(1).unwrap_or(&cpus[0]));
    if first == second {
        println!("Only one CPU: driver and server share it, in pipelined runs too.\n");
    }
    println!(
        "{} era, {} runs of each server, interleaved: median (min-max)\n",
        if options.era == Era::Legacy {
            "2025-11-25 (handshake)"
        } else {
            "2026-07-28 (_meta in each request)"
        },
        options.runs
    );

    if options.quick {
        println!("Quick run: only a run without --quick decides about the targets.\n");
    }
    if options.memory {
        let cpus = Cpus { driver: first, server: second };
        return memory(&candidates, options.era, &cpus);
    }
    for mut scenario in scenario::all(options.era, options.transport) {
        let skipped = options.mode.is_some_and(|mode| mode != scenario.mode)
            || options.text.is_some_and(|length| length != scenario.text_length);
        if skipped {
            continue;
        }
        if options.quick {
            scenario.calls /= 10;
        }
        let cpus = match scenario.mode {
            Mode::Pipelined => Cpus { driver: first, server: second },
            Mode::PingPong => Cpus { driver: second, server: second },
        };
        println!(
            "{}, {} B of text: {} calls, {} in flight, driver on CPU {}, server on CPU {}",
            scenario.mode,
            scenario.text_length,
            grouped(scenario.calls as f64),
            scenario.mode.window(),
            cpus.driver,
            cpus.server
        );
        report::print(&scenario, &rounds(run, &candidates, &scenario, &cpus, options.runs)?);
    }
    Ok(())
}

/// Prints the resident memory of the HTTP servers.
fn memory(candidates: &[(Role, Candidate)], era: Era, cpus: &Cpus) -> Result<(), Box<dyn Error>> {
    println!(
        "KiB of resident memory: idle, for each of {} kept-alive connections, for each of {} open streams",
        http::memory::CONNECTIONS,
        http::memory::STREAMS
    );
    for (_, candidate) in candidates {
        let memory = http::memory::measure(candidate, era, cpus)
            .map_err(|e| format!("{}: {e}", candidate.name))?;
        let stream =
            memory.each_stream.map_or_else(|e| format!("- ({e})"), |kib| format!("{kib:.1}"));
        println!(
            "{:<24}  {:>7.0}  {:>6.1}  {stream:>6}",
            candidate.name, memory.idle, memory.each_connection
        );
    }
    Ok(())
}

/// Function that makes one run of a server.
type Load = fn(&Candidate, &Scenario, &Cpus) -> io::Result<Run>;

/// Runs every server once in each round, so that other load on the machine affects all of them.
fn rounds(
    run: Load,
    candidates: &[(Role, Candidate)],
    scenario: &Scenario,
    cpus: &Cpus,
    count: usize,
) -> Result<Vec<Runs>, Box<dyn Error>> {
    let mut servers: Vec<Runs> = candidates
        .iter()
        .map(|(role, candidate)| Runs { name: candidate.name, role: *role, runs: Vec::new() })
        .collect();
    for _ in 0..count {
        for ((_, candidate), server) in candidates.iter().zip(&mut servers) {
            let run =
                run(candidate, scenario, cpus).map_err(|e| format!("{}: {e}", candidate.name))?;
            server.runs.push(run);
        }
    }
    Ok(servers)
}

/// Returns the servers of a transport. Those over TCP and HTTP serve all connections on one thread,
/// unless they say otherwise. The SDK's is measured as its documentation shows it, and in its
/// fastest configuration.
fn candidates(options: &Options) -> Result<Vec<(Role, Candidate)>, Box<dyn Error>> {
    let ours = std::path::absolute(&options.ours)?;
    let ours = ours.to_str().ok_or("the path of our server is not UTF-8")?;
    let all: &[(Role, &'static str, &str, Option<&'static str>)] = match options.transport {
        Transport::Stdio => &[
            (Role::Floor, "floor (not MCP)", "floor", None),
            (Role::Ours, "ours", ours, None),
            (Role::Rival, "rmcp stdio(), multi-thread", "rmcp-echo", Some("stdio")),
            (Role::Rival, "rmcp stdio_pipes(), current-thread", "rmcp-echo", Some("pipes")),
        ],
        Transport::Tcp => &[
            (Role::Ours, "ours, smol", "tcp-ours", None),
            (Role::Rival, "rmcp over TCP, current-thread", "tcp-rmcp", None),
        ],
        Transport::Http => &[
            (Role::Floor, "floor (not MCP)", "http-floor", None),
            (Role::Ours, "ours, smol", "http-ours", Some("smol")),
            (Role::Other, "ours, tokio", "http-ours", Some("tokio")),
            (Role::Other, "ours, tokio, two threads", "http-ours", Some("tokio:2")),
            (Role::Other, "ours, smol, two threads", "http-ours", Some("smol:2")),
            (Role::Rival, "rmcp, sessions and SSE", "http-rmcp", Some("sessions")),
            (Role::Rival, "rmcp, no sessions, JSON", "http-rmcp", Some("json")),
        ],
    };
    let listens = options.transport != Transport::Stdio;
    let mut packages = vec!["floor"];
    packages.extend((options.rmcp || listens).then_some("echo"));
    let peers = build_peers(&packages)?;
    let mut candidates = Vec::new();
    for &(role, name, program, argument) in all {
        let program = peers.join(program);
        if role == Role::Ours && !program.is_file() {
            eprintln!(
                "OUR SERVER IS MISSING: there is no {}\nBuild it in the library's workspace (`cargo build --release --bin \
                 echo-server`) or name it with --ours PATH. Measuring the others.\n",
                program.display()
            );
        } else if role != Role::Rival || options.rmcp {
            candidates.push((role, Candidate { name, program, argument, listens }));
        }
    }
    Ok(candidates)
}

/// Builds the servers of this workspace and returns their directory. If the driver was started
/// without cargo, it uses the programs that exist.
fn build_peers(packages: &[&str]) -> io::Result<PathBuf> {
    if let Some(cargo) = std::env::var_os("CARGO") {
        let mut build = Command::new(cargo);
        build.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--release", "--quiet"]);
        for package in packages {
            build.args(["--package", package]);
        }
        if !build.status()?.success() {
            return Err(io::Error::other("the build of the peers failed"));
        }
    }
    let driver = std::env::current_exe()?;
    Ok(driver.parent().unwrap_or(Path::new(".")).into())
}
