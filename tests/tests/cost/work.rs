//! The work for a peer's input is at most proportional to its length: a byte of a long input costs
//! about as many instructions as one of a short input.
//!
//! Valgrind counts the instructions: the test runs itself under `callgrind`, which counts only the
//! measured function. Times would differ from run to run. Without valgrind these tests pass, unless
//! the environment variable `MCP_SANSIO_MUST_COUNT` is set.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use mcp_sansio_tests::cost::{cases, measured};

/// Numbers of parts. With the first one no budget is used up, and with the last one all are.
const PARTS: [usize; 3] = [1 << 6, 1 << 8, 1 << 10];
/// Limits for the ratio of the instructions for a byte, from each length to the next, which is four
/// times as long: 4 is quadratic. Of short inputs names have fewer digits, and fit into registers.
const GROWTH: [f64; 2] = [1.75, 1.35];
/// Limit for the instructions for a byte of input, without optimization.
const PER_BYTE: usize = 12_000;
/// The cases whose work is quadratic up to a budget (`docs/limits.md`), with a limit for the
/// instructions for a byte that it allows to read: 1 MiB, and 128 for each byte of input. Without
/// the budget the longest input would exceed it.
const BUDGETED: [(&str, usize); 7] = [
    ("form: a selection of several choices", 400),
    ("form: a choice that is filled in again and again", 400),
    ("schema: required members that come last", 150),
    ("schema: properties and members in another order", 150),
    ("schema: rows and members in another order", 150),
    ("schema: members that it does not have", 150),
    ("schema: choices for elements", 400),
];
/// Environment variable of the counted process.
const CHILD: &str = "MCP_SANSIO_COUNTED";

#[test]
fn w1_every_collection_of_a_peer_costs_linear_work() {
    costs_linear_work("w1_every_collection_of_a_peer_costs_linear_work", |name| {
        !["schema", "replay", "pieces"].iter().any(|other| name.starts_with(other))
    });
}

#[test]
fn r3_w1_a_schema_and_validation_by_it_cost_work_within_their_budget() {
    costs_linear_work(
        "r3_w1_a_schema_and_validation_by_it_cost_work_within_their_budget",
        |name| name.starts_with("schema"),
    );
}

#[test]
fn w1_a_message_in_pieces_costs_linear_work() {
    costs_linear_work("w1_a_message_in_pieces_costs_linear_work", |name| {
        name.starts_with("pieces")
    });
}

#[test]
fn s4b_recording_events_costs_linear_work() {
    costs_linear_work("s4b_recording_events_costs_linear_work", |name| name.starts_with("replay"));
}

/// `test` is the name of the calling test, which runs alone in the counted process.
fn costs_linear_work(test: &str, is_chosen: fn(&str) -> bool) {
    let cases: Vec<_> = cases().into_iter().filter(|case| is_chosen(case.name)).collect();
    if env::var_os(CHILD).is_some() {
        for case in &cases {
            PARTS.iter().for_each(|parts| measured(&mut (case.prepare)(*parts)));
        }
        return;
    }
    let folder = env::temp_dir().join(format!("mcp-sansio-{test}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let counts = count(test, &folder);
    fs::remove_dir_all(&folder).unwrap();
    let Some(counts) = counts else {
        assert!(env::var_os("MCP_SANSIO_MUST_COUNT").is_none(), "valgrind is not installed");
        // Written past the test harness, which would hide it, as in the ledger's test.
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: the work of the core was NOT counted: no valgrind"
        );
        return;
    };
    let mut failed = Vec::new();
    assert!(!cases.is_empty());
    assert_eq!(counts.len(), PARTS.len() * cases.len(), "a count for each case and length");
    for (case, counts) in cases.iter().zip(counts.chunks(PARTS.len())) {
        let bytes = PARTS.map(|parts| (case.prepare)(parts).bytes);
        let per_byte: Vec<f64> =
            counts.iter().zip(bytes).map(|(count, bytes)| *count as f64 / bytes as f64).collect();
        println!("{per_byte:9.0?}  {counts:12?}  {}", case.name);
        let budgeted = BUDGETED.iter().find(|(name, _)| *name == case.name);
        let most = bytes.map(|bytes| match budgeted {
            Some((_, most)) => most * ((1 << 20) + 128 * bytes),
            None => PER_BYTE * bytes,
        });
        let is_dear = counts.iter().zip(most).any(|(count, most)| *count > most as u64);
        let grows = per_byte.windows(2).zip(GROWTH).any(|(two, most)| two[1] / two[0] >= most);
        if is_dear || grows && budgeted.is_none() {
            failed.push(format!("{} {per_byte:.0?}", case.name));
        }
    }
    assert!(failed.is_empty(), "instructions for a byte, by length: {failed:#?}");
}

/// Returns the number of instructions of each piece of work, in order.
fn count(test: &str, folder: &Path) -> Option<Vec<u64>> {
    let out = folder.join("counted");
    let module = module_path!().split_once("::").map_or("", |(_, module)| module);
    let path = format!("{module}::{test}");
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--toggle-collect=mcp_sansio_tests::cost::measured",
            "--dump-after=mcp_sansio_tests::cost::measured",
        ])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe().unwrap())
        .args(["--exact", &path, "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut counts = Vec::new();
    while let Ok(text) = fs::read_to_string(format!("{}.{}", out.display(), counts.len() + 1)) {
        let total = text
            .lines()
            .find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
        counts.push(total.and_then(|total| total.trim().parse().ok()).expect("a count"));
    }
    // The last dump, at the end of the program, contains no work.
    Some(counts.into_iter().filter(|count| *count > 0).collect())
}
