//! The work for a peer's input is at most proportional to its length: four times the input takes
//! four times the instructions, not sixteen.
//!
//! Valgrind counts the instructions: the test runs itself under `callgrind`, which counts only the
//! measured function. Times would differ from run to run. Without valgrind these tests pass, unless
//! the environment variable `MCP_SANSIO_MUST_COUNT` is set.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use mcp_sansio_tests::cost::{cases, measured};

/// Limit for the ratio of `4n` to `n` parts: a little over 4, since memory that grows is cleared.
const LIMIT: f64 = 5.0;
const PARTS: usize = 1 << 9;
/// Environment variable of the counted process.
const CHILD: &str = "MCP_SANSIO_COUNTED";

#[test]
fn w1_every_collection_of_a_peer_costs_linear_work() {
    costs_linear_work("w1_every_collection_of_a_peer_costs_linear_work", |name| {
        !["schema", "replay", "pieces"].iter().any(|other| name.starts_with(other))
    });
}

#[test]
fn w1_a_schema_and_validation_by_it_cost_linear_work() {
    costs_linear_work("w1_a_schema_and_validation_by_it_cost_linear_work", |name| {
        name.starts_with("schema")
    });
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
            measured(&mut (case.prepare)(PARTS));
            measured(&mut (case.prepare)(4 * PARTS));
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
    assert_eq!(counts.len(), 2 * cases.len(), "two counts for each case");
    for (case, counts) in cases.iter().zip(counts.chunks(2)) {
        let ratio = counts[1] as f64 / counts[0] as f64;
        println!("{ratio:5.2}  {:12} {:12}  {}", counts[0], counts[1], case.name);
        if ratio >= LIMIT {
            failed.push(format!("{} ({ratio:.2})", case.name));
        }
    }
    assert!(
        failed.is_empty(),
        "four times the input takes more than {LIMIT} times the instructions: {failed:#?}"
    );
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
