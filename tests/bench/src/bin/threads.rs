//! Compares a server over HTTP on one thread and on several, with connections in memory: without
//! sockets and without a driver, so that a second core is free for a second thread.

use std::io;
use std::num::NonZeroUsize;

use mcp_sansio_bench::threads::{Run, run};

const USAGE: &str = "\
usage: threads [MOST] [CALLS]

Serves CALLS (4000) calls of 64 B on each of 64 connections a thread, by one thread, two, four and
so on up to MOST (2), five times in turn. Prints medians: calls in a second, CPU time of a call, and
their ratios to those of one thread.

example: cargo run --release --bin threads -- 2";

fn main() -> io::Result<()> {
    let numbers: Result<Vec<usize>, _> = std::env::args().skip(1).map(|it| it.parse()).collect();
    let (most, calls) = match numbers.as_deref() {
        Ok([]) => (2, 4000),
        Ok([most]) => (*most, 4000),
        Ok([most, calls]) => (*most, *calls),
        _ => {
            println!("{USAGE}");
            return Ok(());
        }
    };
    let powers = (0..).map(|power| 1usize << power).take_while(|threads| *threads <= most);
    let threads: Vec<_> = powers.filter_map(NonZeroUsize::new).collect();
    println!(
        "{:11} {:>7} {:>10} {:>8} {:>7} {:>7}",
        "", "threads", "calls/s", "CPU us", "calls", "CPU"
    );
    for (era, legacy) in [("2025-11-25", true), ("2026-07-28", false)] {
        let mut runs = vec![Vec::new(); threads.len()];
        for _ in 0..5 {
            for (runs, threads) in runs.iter_mut().zip(&threads) {
                runs.push(run(*threads, legacy, calls)?);
            }
        }
        for (at, threads) in threads.iter().enumerate() {
            let of = |value: fn(&Run) -> f64| median(runs[at].iter().map(value));
            let ratio = |value: fn(&Run) -> f64| {
                median(runs[at].iter().zip(&runs[0]).map(|(run, one)| value(run) / value(one)))
            };
            println!(
                "{era:11} {threads:7} {:10.0} {:8.2} {:7.2} {:7.2}",
                of(|run| run.rate),
                of(|run| run.cpu),
                ratio(|run| run.rate),
                ratio(|run| run.cpu)
            );
        }
    }
    Ok(())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
