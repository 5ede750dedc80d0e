//! One run: starts a server, greets it, warms it up, measures it.

use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::process::{Candidate, Cpus, Process};
use crate::scenario::{Mode, Scenario};
use crate::server::{Server, unexpected};
use crate::wire::Wire;

const WARM_UP: u64 = 2_000;

/// Results of one run.
pub struct Run {
    pub calls_per_second: f64,
    /// The server's CPU time per request, in microseconds.
    pub cpu: f64,
    /// Microseconds from the write to the response; 0 when pipelined, where it would only reflect
    /// the window.
    pub p50: f64,
    pub p99: f64,
    /// The server's system calls per request, while it warms up.
    pub syscalls: Option<f64>,
    pub peak_kib: f64,
}

pub fn run(candidate: &Candidate, scenario: &Scenario, cpus: &Cpus) -> io::Result<Run> {
    Process::with(candidate, cpus, |process, input, output| {
        let mut server = Server::new(candidate, input, output)?;
        let wire = Wire::new(scenario.era, scenario.text_length);
        greet(&mut server, &wire)?;
        measure(process, scenario, |ids, latencies| {
            call(&mut server, &wire, ids, scenario.mode, latencies)
        })
    })
}

/// Warms a server up, and measures it. `call` makes the calls with these ids.
pub fn measure(
    process: &Process,
    scenario: &Scenario,
    mut call: impl FnMut(Range<u64>, &mut Vec<Duration>) -> io::Result<()>,
) -> io::Result<Run> {
    let warm = 1 + WARM_UP;
    let mut latencies = Vec::with_capacity(scenario.calls as usize);
    process.count_syscalls()?;
    call(1..warm, &mut latencies)?;
    let syscalls = process.syscalls()?;
    latencies.clear();

    let cpu = process.cpu()?;
    let start = Instant::now();
    call(warm..warm + scenario.calls, &mut latencies)?;
    let took = start.elapsed();
    let cpu = process.cpu()? - cpu;

    latencies.sort_unstable();
    Ok(Run {
        calls_per_second: scenario.calls as f64 / took.as_secs_f64(),
        cpu: micros(cpu) / scenario.calls as f64,
        p50: percentile(&latencies, 50),
        p99: percentile(&latencies, 99),
        syscalls: syscalls.map(|count| count as f64 / WARM_UP as f64),
        peak_kib: process.peak_memory()? as f64,
    })
}

fn greet(server: &mut Server, wire: &Wire) -> io::Result<()> {
    send(server, &wire.greeting())?;
    loop {
        server.receive()?;
        if let Some(line) = server.line() {
            if !wire.is_greeting_answer(line) {
                return Err(unexpected("not a response to the greeting", line));
            }
            return wire.after_greeting().map_or(Ok(()), |line| send(server, line));
        }
    }
}

fn send(server: &mut Server, line: &str) -> io::Result<()> {
    if let Some(out) = server.outgoing() {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    server.send()
}

/// Makes the calls with these ids and checks that each gets one response, with its own text.
fn call(
    server: &mut Server,
    wire: &Wire,
    ids: Range<u64>,
    mode: Mode,
    latencies: &mut Vec<Duration>,
) -> io::Result<()> {
    let mut answered = vec![false; (ids.end - ids.start) as usize];
    let mut next = ids.start;
    let mut waiting = 0;
    let mut written = Instant::now();
    while next < ids.end || waiting > 0 {
        // Bytes that are still waiting for the pipe come first: the window is refilled after them.
        if next < ids.end
            && waiting < mode.window()
            && let Some(out) = server.outgoing()
        {
            while next < ids.end && waiting < mode.window() {
                wire.push_call(next, out);
                out.push(b'\n');
                next += 1;
                waiting += 1;
            }
            written = Instant::now();
            server.send()?;
        }

        server.receive()?;
        // Measured before the response is checked: the check is not the server's time.
        let latency = written.elapsed();
        while let Some(line) = server.line() {
            let id = wire.echoed(line).filter(|id| (ids.start..next).contains(id));
            let id = id.ok_or_else(|| unexpected("not the echo of a request", line))?;
            if std::mem::replace(&mut answered[(id - ids.start) as usize], true) {
                return Err(unexpected("a second response", line));
            }
            waiting -= 1;
            if mode == Mode::PingPong {
                latencies.push(latency);
            }
        }
    }
    Ok(())
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).map_or(0.0, |&duration| micros(duration))
}
