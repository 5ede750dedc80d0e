//! The requirement ledger, `tests/ledger.tsv`: a row for each requirement of the specification,
//! with its state.
//!
//! The last column, `state`, is one of
//!
//! | state | meaning |
//! | --- | --- |
//! | `todo`, `todo: HINT` | still to be proven, which is a fault |
//! | `tests: a, b` | proven by these tests |
//! | `application: WHY` | a duty that no library can fulfil |
//!
//! A test's name carries, in lower case, the id of each row that it proves:
//! `rpc_07_rpc_25_ids_are_echoed_by_spelling`. A transcript is a test too; its name is its file's
//! stem, with `_` for `-`.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use super::{files, text_of};

const LEDGER: &str = include_str!("../../ledger.tsv");
const DEFECTS: &str = include_str!("../../defects.tsv");
const HEADER: &str = "id\tlevel\tversions\trole\trequirement\tsource\tstate";
/// SHA-256 of what the ledger says that the specification requires: the first five columns of all
/// rows. A requirement that is changed so that a test proves it does not pass unseen.
const REQUIREMENTS: &str = "f0553e4029c2e8af21aee61323470f17221932f95e35e2b6fc99963c506c6375";

#[test]
fn ledger_is_well_formed() {
    report("tests/ledger.tsv is malformed", &read(LEDGER).faults);
}

#[test]
fn ledger_names_tests_that_exist_and_carry_the_id() {
    report(
        "tests/ledger.tsv has invalid test names",
        &wrong_proofs(&read(LEDGER).rows, &Tests::find()),
    );
}

#[test]
fn ledger_equals_the_requirements() {
    let digest = digest(&read(LEDGER).rows);
    assert_eq!(
        digest, REQUIREMENTS,
        "a row of tests/ledger.tsv has another id, level, versions, role or text, or is gone: undo \
         that, or write the left digest into REQUIREMENTS if the specification wants the change"
    );
}

/// `tests/defects.tsv` has a row for each defect, or class of defects, that a review by others
/// found. The names of a row's tests begin with its id, in lower case.
#[test]
fn every_defect_has_tests_that_carry_its_id() {
    report(
        "tests/defects.tsv has defects without a test",
        &unproven_defects(DEFECTS, &Tests::find()),
    );
}

struct Ledger<'l> {
    rows: Vec<Row<'l>>,
    faults: Vec<String>,
}

struct Row<'l> {
    /// Id, level, versions, role and requirement.
    fields: [&'l str; 5],
    /// The tests that prove it; none of what is a duty of the application.
    tests: Vec<&'l str>,
}

impl Row<'_> {
    fn id(&self) -> &str {
        self.fields[0]
    }
}

/// Returns the valid rows, and the faults of the others.
fn read(text: &str) -> Ledger<'_> {
    let (mut rows, mut faults, mut seen) = (Vec::new(), Vec::new(), BTreeMap::new());
    if text.lines().next() != Some(HEADER) {
        faults.push(format!("line 1: the header must be {HEADER:?}"));
    }
    for (number, line) in (2..).zip(text.lines().skip(1)) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [id, level, versions, role, requirement, source, state] = columns[..] else {
            faults.push(format!("line {number}: {} columns instead of 7: {line:?}", columns.len()));
            continue;
        };
        if let Some(first) = seen.insert(id, number) {
            faults.push(format!("line {number}: {id} repeats line {first}"));
        }
        if !is_id(id) {
            faults.push(format!("line {number}: {id:?} is no id such as RPC-07"));
        }
        let fields = [id, level, versions, role, requirement];
        if fields.iter().chain([&source]).any(|field| field.is_empty() || field.trim() != *field) {
            faults.push(format!("line {number}: {id} has an empty or padded column"));
        }
        match parse_state(state) {
            Ok(tests) => rows.push(Row { fields, tests }),
            Err(fault) => faults.push(format!("line {number}: {id}: {fault}: {state:?}")),
        }
    }
    Ledger { rows, faults }
}

fn is_id(id: &str) -> bool {
    id.split_once('-').is_some_and(|(area, number)| {
        !area.is_empty()
            && area.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.len() >= 2
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Returns the tests that a state names.
fn parse_state(text: &str) -> Result<Vec<&str>, String> {
    if text.trim() != text || text.chars().any(char::is_control) {
        return Err("white space around it, or a control character".into());
    }
    if let Some(list) = text.strip_prefix("tests: ") {
        let names: Vec<&str> = list.split(", ").collect();
        if let Some(bad) = names.iter().find(|name| !is_identifier(name)) {
            return Err(format!("{bad:?} is not a test name"));
        }
        if names.iter().collect::<BTreeSet<_>>().len() != names.len() {
            return Err("a test is named twice".into());
        }
        Ok(names)
    } else if let Some(why) = text.strip_prefix("application: ") {
        if why.trim().is_empty() { Err("no reason".into()) } else { Ok(Vec::new()) }
    } else if text == "todo" || text.starts_with("todo: ") {
        Err("still to be proven".into())
    } else {
        Err("none of todo, tests: NAMES, application: WHY".into())
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `rpc_07_ids_are_echoed` carries `RPC-07`; `rpc_070` and `RPC_07` do not.
fn carries(name: &str, id: &str) -> bool {
    format!("_{name}_").contains(&format!("_{}_", id.to_ascii_lowercase().replace('-', "_")))
}

/// The names of all tests, and whether each runs: an `#[ignore]`d test proves nothing.
#[derive(Default)]
struct Tests(BTreeMap<String, bool>);

impl Tests {
    fn find() -> Tests {
        let mut tests = Tests::default();
        for directory in ["core", "std-adapters", "examples", "tests"] {
            files(directory, "rs").iter().for_each(|path| tests.add_functions(&text_of(path)));
        }
        for path in files("tests/transcripts", "txt") {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            tests.0.insert(stem.replace('-', "_"), true);
        }
        tests
    }

    /// Reads line by line, as formatted by rustfmt: `#[test]`, perhaps other attributes and
    /// comments, then `fn name`.
    fn add_functions(&mut self, source: &str) {
        let (mut test, mut runs, mut comment) = (false, true, false);
        for line in source.lines() {
            let mut line = line.trim_start();
            if comment || line.starts_with("/*") {
                comment = !line.contains("*/");
                continue;
            }
            if line.starts_with("//") {
                continue;
            }
            while line.starts_with("#[") {
                let (attribute, rest) =
                    line.split_at(line.find(']').map_or(line.len(), |end| end + 1));
                test |= attribute == "#[test]" || attribute == "#[tokio::test]";
                runs &= !attribute.starts_with("#[ignore");
                line = rest.trim_start();
            }
            let mut words = line
                .split_whitespace()
                .skip_while(|word| word.starts_with("pub") || *word == "async");
            if words.next() == Some("fn") {
                if let (true, Some(word)) = (test, words.next()) {
                    let name = word.split(['(', '<']).next().unwrap_or_default();
                    *self.0.entry(name.into()).or_default() |= runs;
                }
                (test, runs) = (false, true);
            } else if line.starts_with("mod ") || line.ends_with('}') {
                (test, runs) = (false, true);
            }
        }
    }
}

fn wrong_proofs(rows: &[Row<'_>], tests: &Tests) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        for &name in &row.tests {
            let fault = match tests.0.get(name) {
                None => "there is no test",
                Some(false) => "it is ignored, so it proves nothing",
                Some(true) if !carries(name, row.id()) => "it does not carry the id, in lower case",
                Some(true) => continue,
            };
            faults.push(format!("{}: {name}: {fault}", row.id()));
        }
    }
    faults
}

fn unproven_defects(text: &str, tests: &Tests) -> Vec<String> {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, line) in (1..).zip(text.lines()).skip(1) {
        let Some((id, _)) = line.split_once('\t') else {
            faults.push(format!("line {number}: there is no tab in {line:?}"));
            continue;
        };
        if !seen.insert(id) {
            faults.push(format!("line {number}: {id} stands twice"));
        }
        let prefix = format!("{}_", id.to_ascii_lowercase().replace('-', "_"));
        if !tests.0.iter().any(|(name, runs)| *runs && name.starts_with(&prefix)) {
            faults.push(format!("{id}: no test that runs has a name that begins with {prefix}"));
        }
    }
    faults
}

fn digest(rows: &[Row<'_>]) -> String {
    let text: String = rows.iter().map(|row| row.fields.join("\t") + "\n").collect();
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn report(title: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{title} ({}):\n  {}", faults.len(), faults.join("\n  "));
}

mod the_checks_themselves {
    use super::*;

    fn ledger(rows: &[&str]) -> String {
        let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
        format!("{HEADER}\n{rows}")
    }

    fn row(id: &str, state: &str) -> String {
        format!("{id}\tMUST\tA-E\tCS\ttext\tsource\t{state}")
    }

    fn faults(rows: &[&str]) -> String {
        read(&ledger(rows)).faults.join("; ")
    }

    fn proofs(id: &str, state: &str, source: &str) -> String {
        let mut tests = Tests::default();
        tests.add_functions(source);
        wrong_proofs(&read(&ledger(&[&row(id, state)])).rows, &tests).join("; ")
    }

    #[test]
    fn states_are_read() {
        for (good, tests) in [
            ("tests: rpc_01_a", &["rpc_01_a"][..]),
            ("tests: rpc_01_a, rpc_01_b", &["rpc_01_a", "rpc_01_b"]),
            ("application: why", &[]),
        ] {
            assert_eq!(parse_state(good).as_deref(), Ok(tests), "{good}");
        }
        for bad in [
            "",
            "tests:",
            "tests: ",
            "tests: a,b",
            "tests: a, ",
            "tests: a, a",
            "tests: a b",
            "tests: a; later: client",
            "application",
            "application: ",
            "later: client",
            " tests: a",
            "tests: a\r",
        ] {
            assert!(parse_state(bad).is_err(), "{bad}");
        }
        for open in ["todo", "todo: a: hint, with; marks"] {
            assert_eq!(parse_state(open), Err("still to be proven".into()));
        }
    }

    #[test]
    fn malformed_ledgers_are_refused() {
        let (first, second) = (row("RPC-01", "tests: a"), row("RPC-02", "tests: a"));
        assert_eq!(faults(&[&first, &second]), "");
        assert!(faults(&[&first, &second, &first]).contains("line 4: RPC-01 repeats line 2"));
        assert!(faults(&[&row("RPC-01", "done")]).contains("none of todo, tests"));
        assert!(faults(&["RPC-01\tMUST"]).contains("2 columns instead of 7"));
        assert!(faults(&[&first, "", &second]).contains("line 3: 1 columns"));
        assert!(faults(&[&row("rpc-1", "tests: a")]).contains("is no id"));
        assert!(read("id\tlevel\n").faults[0].contains("header"));
    }

    #[test]
    fn tests_are_found() {
        let mut tests = Tests::default();
        tests.add_functions("#[test]\nfn one() {}\nfn helper() {}\n    #[test] // why\n    #[should_panic]\n    fn two() {\n");
        tests.add_functions("#[test] fn three() {}\n#[ignore = \"slow\"]\n#[test]\nfn four() {}\n// #[test]\nfn five() {}\n");
        tests.add_functions(
            "/* #[test]\nfn six() {}\n*/\n#[test]\n// fn {other}\npub fn seven<T>() {}\n#[test]\n",
        );
        let found: Vec<(&str, bool)> =
            tests.0.iter().map(|(name, runs)| (name.as_str(), *runs)).collect();
        assert_eq!(
            found,
            [("four", false), ("one", true), ("seven", true), ("three", true), ("two", true)]
        );
    }

    #[test]
    fn names_are_checked() {
        let source =
            "#[test]\nfn rpc_07_rpc_25_ids() {}\n#[test]\n#[ignore]\nfn rpc_08_slow() {}\n";
        assert_eq!(proofs("RPC-07", "tests: rpc_07_rpc_25_ids", source), "");
        assert_eq!(proofs("RPC-25", "tests: rpc_07_rpc_25_ids", source), "");
        assert!(proofs("RPC-02", "tests: rpc_07_rpc_25_ids", source).contains("does not carry"));
        assert!(
            proofs("RPC-07", "tests: rpc_07_other", source)
                .contains("rpc_07_other: there is no test")
        );
        assert!(proofs("RPC-07", "tests: RPC_07_rpc_25_ids", source).contains("there is no test"));
        assert!(proofs("RPC-08", "tests: rpc_08_slow", source).contains("ignored"));
        for (name, is_of) in [
            ("rpc_07", true),
            ("a_rpc_07_b", true),
            ("rpc_070_x", false),
            ("xrpc_07_x", false),
            ("RPC_07_x", false),
        ] {
            assert_eq!(carries(name, "RPC-07"), is_of, "{name}");
        }
    }

    #[test]
    fn defects_without_a_test_are_found() {
        let mut tests = Tests::default();
        tests.add_functions(
            "#[test]\nfn s1_x() {}\n#[test]\n#[ignore]\nfn s2_x() {}\n#[test]\nfn s33_x() {}\n",
        );
        let of = |rows: &str| unproven_defects(&format!("id\tdefect\n{rows}"), &tests).join("; ");
        assert_eq!(of("S1\twhat\n"), "");
        assert!(of("S2\twhat\n").contains("S2: no test that runs has a name that begins with s2_"));
        assert!(of("S3\twhat\n").contains("S3: no test"));
        assert!(of("S1\twhat\nS1\twhat\n").contains("line 3: S1 stands twice"));
        assert!(of("S1\n").contains("line 2: there is no tab"));
    }

    #[test]
    fn differences_are_found() {
        let of = |rows: &[&str]| digest(&read(&ledger(rows)).rows);
        let (first, second) = (row("RPC-01", "tests: a"), row("RPC-02", "tests: a"));
        let same = of(&[&first, &second]);
        assert_eq!(of(&[&first, &row("RPC-02", "tests: rpc_02_x")]), same);
        assert_ne!(of(&[&first, &second.replace("MUST", "MAY")]), same);
        assert_ne!(of(&[&first]), same);
    }
}
