//! Medians, ratios and the table.

use std::fmt;

use crate::load::Run;
use crate::scenario::{Limits, Mode, Scenario};

#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    Floor,
    Ours,
    /// Ours in another way, which no target is for.
    Other,
    Rival,
}

/// All runs of one server under one load, in the order in which the rounds took place.
pub struct Runs {
    pub name: &'static str,
    pub role: Role,
    pub runs: Vec<Run>,
}

type Figure = fn(&Run) -> f64;

/// Prints the table of one load and whether its targets are met.
pub fn print(scenario: &Scenario, servers: &[Runs]) {
    let floor = find(servers, Role::Floor);
    let ours = find(servers, Role::Ours);
    let ping_pong = scenario.mode == Mode::PingPong;

    let mut head = vec!["", "req/s", "CPU us/req", "syscalls/req"];
    if ping_pong {
        head.extend(["p50 us", "p99 us"]);
    }
    head.extend(["peak MiB", "CPU / floor", "CPU / ours"]);
    let mut rows = vec![head.into_iter().map(String::from).collect::<Vec<_>>()];
    for server in servers {
        let mut row =
            vec![server.name.into(), Spread::of(server, |run| run.calls_per_second).grouped()];
        row.push(Spread::of(server, |run| run.cpu).to_string());
        let syscalls = Spread::of(server, |run| run.syscalls.unwrap_or(f64::NAN)).median;
        row.push(if syscalls.is_nan() { "-".into() } else { format!("{syscalls:.2}") });
        if ping_pong {
            row.push(Spread::of(server, |run| run.p50).to_string());
            row.push(Spread::of(server, |run| run.p99).to_string());
        }
        row.push(format!("{:.1}", Spread::of(server, |run| run.peak_kib / 1024.0).median));
        // Ours is compared with the floor, and the rivals with ours.
        let against = |base: Option<&Runs>, wanted: bool| match base {
            Some(base) if wanted => {
                Spread::compared(server, base, |run, base| run.cpu / base.cpu).to_string()
            }
            _ => "-".into(),
        };
        row.push(against(floor, server.role != Role::Floor));
        row.push(against(ours, matches!(server.role, Role::Other | Role::Rival)));
        rows.push(row);
    }
    print_columns(&rows);

    targets(scenario, servers);
    println!();
}

fn targets(scenario: &Scenario, servers: &[Runs]) {
    let (ours, floor) = (find(servers, Role::Ours), find(servers, Role::Floor));
    let Limits { floor: of_floor, syscalls, rival } = scenario.limits;
    if let Some(limit) = of_floor {
        let mut figures: Vec<(&str, Figure)> = vec![("CPU per request", |run| run.cpu)];
        if scenario.mode == Mode::PingPong {
            figures.push(("p50", |run| run.p50));
        }
        for (what, figure) in figures {
            let ratio = compared(ours, floor, |ours, floor| figure(ours) / figure(floor));
            verdict(&format!("{what} within {limit} times the floor's"), ratio, limit);
        }
    }
    if let Some(limit) = syscalls {
        let calls = |run: &Run| run.syscalls.unwrap_or(f64::NAN);
        let more = compared(ours, floor, |ours, floor| calls(ours) - calls(floor));
        verdict(&format!("system calls per request within the floor's and {limit}"), more, limit);
    }
    if let Some((at, limit)) = rival {
        let rival = servers.iter().filter(|server| server.role == Role::Rival).nth(at);
        let name = rival.map_or("the SDK", |rival| rival.name);
        let ratio = compared(ours, rival, |ours, rival| ours.cpu / rival.cpu);
        verdict(&format!("CPU per request within {limit} times that of {name}"), ratio, limit);
    }
}

fn compared(
    ours: Option<&Runs>,
    base: Option<&Runs>,
    with: impl Fn(&Run, &Run) -> f64,
) -> Option<Spread> {
    ours.zip(base).map(|(ours, base)| Spread::compared(ours, base, with))
}

fn verdict(what: &str, found: Option<Spread>, limit: f64) {
    let verdict = match found {
        Some(found) if found.median.is_nan() => "not measured".into(),
        Some(found) => {
            format!("{}: {found}", if found.median <= limit { "met" } else { "MISSED" })
        }
        None => "not measured".into(),
    };
    println!("target: our {what}: {verdict}");
}

fn find(servers: &[Runs], role: Role) -> Option<&Runs> {
    servers.iter().find(|server| server.role == role)
}

/// Aligns names to the left and figures to the right.
fn print_columns(rows: &[Vec<String>]) {
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0))
        .collect();
    for row in rows {
        print!("{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            print!("  {cell:>width$}");
        }
        println!();
    }
}

/// A median with the smallest and the largest value.
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn of(server: &Runs, figure: impl Fn(&Run) -> f64) -> Self {
        Self::from(server.runs.iter().map(figure).collect())
    }

    /// Run by run, so that a slowdown of a whole round does not count.
    fn compared(server: &Runs, base: &Runs, with: impl Fn(&Run, &Run) -> f64) -> Self {
        Self::from(server.runs.iter().zip(&base.runs).map(|(run, base)| with(run, base)).collect())
    }

    fn from(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            (values[middle - 1] + values[middle]) / 2.0
        };
        Self { median, min: values[0], max: values[values.len() - 1] }
    }

    /// Formats large figures: no decimals, with a thousands separator.
    fn grouped(&self) -> String {
        format!("{} ({}-{})", grouped(self.median), grouped(self.min), grouped(self.max))
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let decimals = if self.median < 100.0 { 2 } else { 1 };
        write!(f, "{:.decimals$} ({:.decimals$}-{:.decimals$})", self.median, self.min, self.max)
    }
}

/// Formats a number with a thousands separator.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
