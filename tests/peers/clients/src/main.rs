//! Measures clients against the same echo server, side by side: `cargo run --release -p clients [--
//! RUNS]`
//!
//! Each client starts the server, makes 2,000 calls to warm up, and reports the CPU time of its own
//! process for the calls after that. Client and server share a CPU. Long texts go one at a time:
//! the blocking client writes all before it reads, and its pipe holds no more.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

const CLIENTS: [(&str, &str); 3] = [
    ("ours, blocking", "client-ours"),
    ("ours, smol", "client-smol"),
    ("rmcp, current-thread", "client-rmcp"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let runs: usize = std::env::args().nth(1).map_or(Ok(5), |runs| runs.parse())?;
    let programs = std::env::current_exe()?;
    let programs = programs.parent().unwrap_or(Path::new("."));
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/release/echo-server");
    pin()?;
    for (window, length, calls) in [(64, 64, 100_000), (1, 64, 30_000), (1, 65_536, 3_000)] {
        println!("{length} B of text, {calls} calls, {window} in flight");
        let mut all = [const { Vec::new() }; CLIENTS.len()];
        let mut peak = [0.0_f64; CLIENTS.len()];
        for _ in 0..runs {
            for ((client, all), peak) in CLIENTS.iter().zip(&mut all).zip(&mut peak) {
                let output = Command::new(programs.join(client.1))
                    .arg(server)
                    .args([calls, window, length].map(|number: u64| number.to_string()))
                    .output()?;
                let text = String::from_utf8(output.stdout)?;
                let Some((cost, kib)) = text.trim().split_once(' ') else {
                    let why = String::from_utf8_lossy(&output.stderr);
                    return Err(format!("{}: {why}", client.0).into());
                };
                all.push(cost.parse::<f64>()? / 1000.0);
                *peak = peak.max(kib.parse::<f64>()? / 1024.0);
            }
        }
        let ours = all[0].clone();
        for ((client, runs), peak) in CLIENTS.iter().zip(&all).zip(peak) {
            // Run by run, so that a slowdown of a whole round does not count.
            let ratio = median(runs.iter().zip(&ours).map(|(run, ours)| run / ours).collect());
            let (cost, least) =
                (median(runs.clone()), runs.iter().copied().fold(f64::MAX, f64::min));
            println!(
                "  {:<22} {cost:>8.2} us CPU/call (least {least:.2})  {ratio:>6.2} times ours  {peak:>6.1} MiB",
                client.0
            );
        }
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Pins this process, and all that it starts from now on, to the last CPU that it may use.
fn pin() -> rustix::io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let mut last = CpuSet::new();
    last.set((0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu)).unwrap_or(0));
    sched_setaffinity(None, &last)
}
