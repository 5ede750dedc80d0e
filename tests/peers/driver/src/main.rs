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

use load::{Cpus, Run};
use options::{Options, Transport};
use process::Candidate;
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

fn candidates(options: &Options) -> Result<Vec<(Role, Candidate)>, Box<dyn Error>> {
    match options.transport {
        Transport::Stdio => stdio_candidates(options),
        Transport::Tcp => tcp_candidates(options),
        Transport::Http => http_candidates(options),
    }
}

fn stdio_candidates(options: &Options) -> Result<Vec<(Role, Candidate)>, Box<dyn Error>> {
    let mut packages = vec!["floor"];
    packages.extend(options.rmcp.then_some("echo"));
    let peers = build_peers(&packages)?;
    let candidate = |name, program, argument| Candidate { name, program, argument, listens: false };
    let mut all = vec![(Role::Floor, candidate("floor (not MCP)", peers.join("floor"), None))];
    if options.ours.is_file() {
        all.push((Role::Ours, candidate("ours", options.ours.clone(), None)));
    } else {
        eprintln!(
            "OUR SERVER IS MISSING: there is no {}\nBuild it in the library's workspace (`cargo build --release --bin \
             echo-server`) or name it with --ours PATH. Measuring the others.\n",
            options.ours.display()
        );
    }
    if options.rmcp {
        let rmcp = peers.join("rmcp-echo");
        let rivals = [
            ("rmcp stdio(), multi-thread", "stdio"),
            ("rmcp stdio_pipes(), current-thread", "pipes"),
        ];
        all.extend(
            rivals.map(|(name, argument)| {
                (Role::Rival, candidate(name, rmcp.clone(), Some(argument)))
            }),
        );
    }
    Ok(all)
}

/// Returns the TCP servers; both serve all connections on one thread.
fn tcp_candidates(options: &Options) -> Result<Vec<(Role, Candidate)>, Box<dyn Error>> {
    let peers = build_peers(&["echo"])?;
    let candidate = |name, program| Candidate {
        name,
        program: peers.join(program),
        argument: None,
        listens: true,
    };
    let mut all = vec![(Role::Ours, candidate("ours, smol", "tcp-ours"))];
    if options.rmcp {
        all.push((Role::Rival, candidate("rmcp over TCP, current-thread", "tcp-rmcp")));
    }
    Ok(all)
}

/// Returns the HTTP servers, which serve all connections on one thread. The SDK's is measured as
/// its documentation shows it, and in its fastest configuration.
fn http_candidates(options: &Options) -> Result<Vec<(Role, Candidate)>, Box<dyn Error>> {
    let peers = build_peers(&["floor", "echo"])?;
    let candidate = |name, program, argument| Candidate {
        name,
        program: peers.join(program),
        argument,
        listens: true,
    };
    let mut all = vec![
        (Role::Floor, candidate("floor (not MCP)", "http-floor", None)),
        (Role::Ours, candidate("ours, smol", "http-ours", Some("smol"))),
        (Role::Other, candidate("ours, tokio", "http-ours", Some("tokio"))),
        (Role::Other, candidate("ours, tokio, two threads", "http-ours", Some("tokio:2"))),
        (Role::Other, candidate("ours, smol, two threads", "http-ours", Some("smol:2"))),
    ];
    if options.rmcp {
        let rivals = [("rmcp, sessions and SSE", "sessions"), ("rmcp, no sessions, JSON", "json")];
        all.extend(
            rivals.map(|(name, argument)| {
                (Role::Rival, candidate(name, "http-rmcp", Some(argument)))
            }),
        );
    }
    Ok(all)
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
