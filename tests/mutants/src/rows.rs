//! Rows of the ledger: which mutant do the tests that a row names detect?

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use crate::find::Mutant;
use crate::run::{self, Case};
use crate::tree::Program;

/// A row, and those of its tests that the programs have.
pub struct Row {
    id: String,
    cases: Vec<Case>,
}

/// Draws rows of level MUST. Rows whose tests are all in other programs are counted and left out.
pub fn draw(ledger: &str, transcripts: &Path, cases: &[Case], count: usize, seed: u64) -> Vec<Row> {
    let name_of = |case: &Case| case.name.rsplit("::").next().map(str::to_owned);
    let by_name: BTreeMap<_, _> = cases.iter().map(|case| (name_of(case), case)).collect();
    let player = by_name.get(&Some(PLAYER.into())).expect("a test plays the transcripts");
    let mut stems = BTreeSet::new();
    collect(transcripts, &mut stems);
    let case = |name: &str| {
        let stem = name.replace('_', "-");
        match by_name.get(&Some(name.into())) {
            Some(case) => Some((*case).clone()),
            None if stems.contains(&stem) => {
                Some(Case { transcript: Some(stem), ..(*player).clone() })
            }
            None => None,
        }
    };
    let (mut rows, mut elsewhere) = (Vec::new(), 0);
    for line in ledger.lines() {
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, "MUST" | "MUST NOT", _, _, _, _, state] = columns[..] else { continue };
        let Some(names) = state.strip_prefix("tests: ") else { continue };
        let cases: Vec<Case> = names.split(", ").filter_map(case).collect();
        if cases.is_empty() {
            elsewhere += 1;
        } else {
            rows.push(Row { id: id.to_owned(), cases });
        }
    }
    eprintln!("{} rows of level MUST; {elsewhere} more have tests in other programs", rows.len());
    crate::shuffle(&mut rows, seed);
    rows.truncate(count);
    rows
}

fn collect(directory: &Path, stems: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, stems);
        } else if let Some(stem) = path.file_stem() {
            stems.insert(stem.to_string_lossy().into_owned());
        }
    }
}

/// Prints a mutant for each row that its tests detect; `false` if a row has none.
///
/// Mutants that few of these tests reach are tried first: they say the most about a row.
pub fn check(
    programs: &[Program],
    rows: &[Row],
    scratch: &Path,
    mutants: &[Mutant],
    chosen: &[u32],
) -> bool {
    let cases: BTreeSet<&Case> = rows.iter().flat_map(|row| &row.cases).collect();
    let cases: Vec<Case> = cases.into_iter().cloned().collect();
    let tests = run::tests(programs, &cases, scratch);
    let mut reached: BTreeMap<u32, usize> = chosen.iter().map(|id| (*id, 0)).collect();
    for id in tests.iter().flat_map(|test| &test.reaches) {
        if let Some(count) = reached.get_mut(id) {
            *count += 1;
        }
    }
    let mut rarest: Vec<u32> = chosen.to_vec();
    rarest.sort_by_key(|id| reached[id]);
    let failed = Mutex::new(Vec::new());
    run::side_by_side(rows.len(), |n| {
        let row = &rows[n];
        let own: Vec<_> = tests.iter().filter(|test| row.cases.contains(&test.case)).collect();
        match run::first_detected(programs, &own, &rarest, TRIED) {
            Some((id, test)) => {
                let by = test.case.transcript.as_ref().unwrap_or(&test.case.name);
                println!("{}\t{}\tdetected by {by}", row.id, mutants[id as usize]);
            }
            None => failed.lock().expect("no panic").push(row.id.as_str()),
        }
    });
    let failed = failed.into_inner().expect("no panic");
    println!("{} of {} rows have a mutant", rows.len() - failed.len(), rows.len());
    if !failed.is_empty() {
        println!("without one: {}", failed.join(", "));
    }
    failed.is_empty()
}

/// The test that plays the transcripts.
const PLAYER: &str = "all_transcripts_go_as_they_are_written";

/// Mutants that are tried with each test of a row.
const TRIED: usize = 60;
